import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * Copies classes of java.base out of the image of the JVM that runs this: those named behind the
 * folder to copy to, or all.
 */
public final class DumpBase {
    public static void main(String[] args) throws IOException {
        Path base = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules/java.base");
        List<Path> files;
        if (args.length > 1) {
            files = Stream.of(args).skip(1).map(it -> base.resolve(it + ".class")).toList();
        } else {
            try (Stream<Path> all = Files.walk(base)) {
                files = all.filter(it -> it.toString().endsWith(".class")).toList();
            }
        }
        for (Path file : files) {
            Path copy = Path.of(args[0]).resolve(base.relativize(file).toString());
            Files.createDirectories(copy.getParent());
            Files.write(copy, Files.readAllBytes(file));
        }
    }
}
