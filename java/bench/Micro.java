import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.function.LongSupplier;

/**
 * Measures the CPU time of one call and of one allocation, and writes a line of name and ns for
 * each to the file given. Every operation is repeated for the JVM to compile it, then timed some
 * times: the median counts. An operation's time has its share of the loop's, an object's those of
 * its constructors; the garbage collector, on threads of its own, is left out.
 */
public class Micro {
    static final int WARM_UP_COUNT = 5;
    static final int TIMED_COUNT = 5;
    static final int OPERATION_COUNT = 1_000_000;

    /** fib(18) makes this number of calls. */
    static final int FIB_CALL_COUNT = 8361;
    static final int FIB_COUNT = OPERATION_COUNT / FIB_CALL_COUNT;

    /** What is allocated is kept here for a while, so that the JVM cannot do without it. */
    static final Point[] POINTS = new Point[16];
    static final int[][] ARRAYS = new int[16][];

    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    static long sink;

    static final class Point {
        private final int x;

        Point(int x) {
            this.x = x;
        }

        int x() {
            return x;
        }
    }

    public static void main(String[] args) throws IOException {
        Point point = new Point(args.length);
        String lines =
                measure("call, recursive fib", (long) FIB_COUNT * FIB_CALL_COUNT, Micro::fibs)
                        + measure("call, getter", OPERATION_COUNT, () -> getter(point))
                        + measure("new object", OPERATION_COUNT, Micro::objects)
                        + measure("new int[4]", OPERATION_COUNT, Micro::arrays);
        Files.writeString(Path.of(args[0]), lines);
    }

    static String measure(String name, long operationCount, LongSupplier operations) {
        for (int i = 0; i < WARM_UP_COUNT; i++) {
            sink += operations.getAsLong();
        }
        long[] times = new long[TIMED_COUNT];
        for (int i = 0; i < TIMED_COUNT; i++) {
            long start = THREADS.getCurrentThreadCpuTime();
            sink += operations.getAsLong();
            times[i] = THREADS.getCurrentThreadCpuTime() - start;
        }
        Arrays.sort(times);
        return name + "\t" + (double) times[TIMED_COUNT / 2] / operationCount + "\n";
    }

    static long fibs() {
        long sum = 0;
        for (int i = 0; i < FIB_COUNT; i++) {
            sum += fib(18);
        }
        return sum;
    }

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static long getter(Point point) {
        long sum = 0;
        for (int i = 0; i < OPERATION_COUNT; i++) {
            sum += point.x() ^ i;
        }
        return sum;
    }

    static long objects() {
        for (int i = 0; i < OPERATION_COUNT; i++) {
            POINTS[i & 15] = new Point(i);
        }
        return POINTS[0].x();
    }

    static long arrays() {
        for (int i = 0; i < OPERATION_COUNT; i++) {
            ARRAYS[i & 15] = new int[4];
        }
        return ARRAYS[0].length;
    }
}
