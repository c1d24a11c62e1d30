/**
 * Starts n idle threads, then does the given number of steps of work in the main thread, then
 * sleeps for the given ms. The work is fixed, not its time, so that a profiler that slows it down
 * is seen.
 */
public class Idle {
    public static void main(String[] args) throws InterruptedException {
        IdleThreads.main(new String[] {args[0], "0"});
        long steps = Work.argument(args, 1, 0);
        long x = 1;
        for (long i = 0; i < steps; i++) {
            x = step(x);
        }
        Work.sink += x;
        Thread.sleep(Work.argument(args, 2, 0));
    }

    /** About a millisecond. */
    static long step(long x) {
        for (int i = 0; i < 1_000_000; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
        }
        return x;
    }
}
