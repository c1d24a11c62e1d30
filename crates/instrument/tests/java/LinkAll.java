import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import jdk.internal.access.SharedSecrets;

/**
 * Loads and links classes, and initializes none. Each line of the file named by the argument has a
 * module, a class, and how many constants its file has: the class of the same name that has no probes
 * has fewer. Prints a line for each class that does not link, and how many do.
 */
public final class LinkAll {
    public static void main(String[] args) throws IOException {
        int linked = 0;
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] parts = line.split(" ");
            try {
                Module module = ModuleLayer.boot().findModule(parts[0]).orElseThrow();
                Class<?> type = Class.forName(module, parts[1]);
                if (type == null) {
                    throw new ClassNotFoundException("not in " + module);
                }
                // The JVM links, and so verifies, a class before it reports its methods.
                type.getDeclaredMethods();
                // It adds some for the methods that it adds to implementations of interfaces.
                int constants = SharedSecrets.getJavaLangAccess().getConstantPool(type).getSize();
                if (constants < Integer.parseInt(parts[2])) {
                    throw new IllegalStateException(constants + " constants of " + parts[2]);
                }
                linked++;
            } catch (Throwable e) {
                System.out.println("failed " + parts[1] + ": " + e);
            }
        }
        System.out.println("linked=" + linked);
    }
}
