import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.PrintStream;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.Array;
import java.lang.reflect.Modifier;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import jdk.internal.misc.Unsafe;

/** Asks a JVM where it has put fields, and how large objects and arrays are. */
public class Sizes {
    private static Instrumentation instrumentation;

    public static void premain(String options, Instrumentation instrumentation) {
        Sizes.instrumentation = instrumentation;
    }

    /** {@code dump FILE} or {@code measure FILE}. */
    public static void main(String[] args) throws Exception {
        if (args[0].equals("dump")) {
            dump(Path.of(args[1]));
        } else {
            PrintStream out = System.out;
            // Class initializers may print.
            System.setOut(System.err);
            measureArrays(out);
            for (String line : Files.readAllLines(Path.of(args[1]))) {
                out.println(measure(line.split(" ")));
            }
            out.flush();
            // Class initializers may have started threads.
            Runtime.getRuntime().halt(0);
        }
    }

    /** The class files of two modules of the bootstrap loader, each with its length before it. */
    private static void dump(Path file) throws Exception {
        FileSystem modules = FileSystems.getFileSystem(URI.create("jrt:/"));
        try (DataOutputStream out = new DataOutputStream(
                new BufferedOutputStream(Files.newOutputStream(file)))) {
            for (String module : List.of("java.base", "jdk.jfr")) {
                try (Stream<Path> paths = Files.walk(modules.getPath("/modules", module))) {
                    for (Path path : (Iterable<Path>) paths::iterator) {
                        String name = path.getFileName().toString();
                        if (name.endsWith(".class") && !name.equals("module-info.class")) {
                            byte[] bytes = Files.readAllBytes(path);
                            out.writeInt(bytes.length);
                            out.write(bytes);
                        }
                    }
                }
            }
        }
    }

    /** A class's name and instance fields: the size of an instance or why not, and the offsets. */
    private static String measure(String[] words) {
        StringBuilder line = new StringBuilder(words[0]).append(' ');
        Class<?> type;
        try {
            ClassLoader loader = Sizes.class.getClassLoader();
            type = Class.forName(words[0].replace('/', '.'), false, loader);
        } catch (Throwable e) {
            return line.append(e.getClass().getSimpleName()).toString();
        }
        try {
            Object instance = Unsafe.getUnsafe().allocateInstance(type);
            line.append(instrumentation.getObjectSize(instance));
        } catch (Throwable e) {
            line.append(Modifier.isAbstract(type.getModifiers())
                    ? "abstract" : e.getClass().getSimpleName());
        }
        for (int i = 1; i < words.length; i++) {
            line.append(' ').append(Unsafe.getUnsafe().objectFieldOffset(type, words[i]));
        }
        return line.toString();
    }

    private static void measureArrays(PrintStream out) {
        Class<?>[] elements = {boolean.class, byte.class, char.class, short.class, int.class,
            float.class, long.class, double.class, Object.class, int[].class};
        for (Class<?> element : elements) {
            out.print(element.descriptorString());
            for (int length = 0; length < 20; length++) {
                out.print(" " + instrumentation.getObjectSize(Array.newInstance(element, length)));
            }
            out.println();
        }
    }
}
