import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * Writes class files of the image of the JVM that runs this to standard output: those that the
 * arguments name, as modules or files of modules, or all. What is not there is skipped. Each
 * file's path comes first, from its module on and as UTF-8, and its bytes then; both behind their
 * lengths in four bytes.
 */
public final class DumpClasses {
    public static void main(String[] args) throws IOException {
        Path modules = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules");
        List<Path> roots = Stream.of(args).map(modules::resolve).toList();
        try (var output = new DataOutputStream(new BufferedOutputStream(System.out))) {
            for (Path root : roots.isEmpty() ? List.of(modules) : roots) {
                if (Files.exists(root)) {
                    write(modules, root, output);
                }
            }
        }
    }

    private static void write(Path modules, Path root, DataOutputStream output) throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.walk(root)) {
            files = all.filter(it -> it.toString().endsWith(".class")).sorted().toList();
        }
        for (Path file : files) {
            byte[] path = modules.relativize(file).toString().getBytes("UTF-8");
            byte[] bytes = Files.readAllBytes(file);
            output.writeInt(path.length);
            output.write(path);
            output.writeInt(bytes.length);
            output.write(bytes);
        }
    }
}
