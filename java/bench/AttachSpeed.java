import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Does the same work again and again until a file named stop is in the working folder, and prints the CPU time
 * that each block of it took, in nanoseconds.
 */
public class AttachSpeed {
    private static final int CALLS = 200_000;
    private static long sum;

    public static void main(String[] args) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        File stop = new File("stop");
        while (!stop.exists()) {
            long begin = threads.getCurrentThreadCpuTime();
            block();
            System.out.println("block=" + (threads.getCurrentThreadCpuTime() - begin));
        }
        System.out.println("sum=" + sum);
    }

    private static void block() {
        for (int i = 0; i < CALLS; i++) {
            sum += step(i).length();
        }
    }

    /** Calls, allocates and enters a monitor. */
    private static synchronized String step(int i) {
        return Integer.toString(fib(i & 7));
    }

    private static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }
}
