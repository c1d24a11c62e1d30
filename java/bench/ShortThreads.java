/**
 * Starts n threads one after another and waits for each, which does the given number of steps of
 * work, of about a microsecond each.
 */
public class ShortThreads {
    public static void main(String[] args) throws InterruptedException {
        long threads = Work.argument(args, 0, 5000);
        long steps = Work.argument(args, 1, 0);
        for (long i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> Work.sink += work(steps));
            thread.start();
            thread.join();
        }
    }

    static long work(long steps) {
        long x = 1;
        for (long i = 0; i < steps * 1000; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
        }
        return x;
    }
}
