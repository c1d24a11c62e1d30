import java.util.concurrent.atomic.AtomicInteger;

/** Threads that attach from native code, and classes that are met in odd ways. */
public class Order {
    static class Plain {}
    static class Kept {}
    static class Late0 extends Plain {}
    static class Late1 extends Plain {}
    /** Only arrays of these are made. */
    static class Never {}
    interface Row {}
    /** Only asked for. */
    static class Asked implements Runnable {
        int z = 42;

        public void run() {}
    }

    static final AtomicInteger calls = new AtomicInteger();
    static final Object lock = new Object();
    static volatile Object kept;
    static volatile int number;

    /** Attaches two threads at once this number of times, each of which calls {@link #step}. */
    static native void attach(int times, boolean isDaemon);
    static native String request(Object type);

    static int inner(int x) {
        calls.incrementAndGet();
        return x * 31 + 7;
    }

    static void step() throws Exception {
        for (int i = 0; i < 1000; i++) number = inner(number);
        for (int i = 0; i < 20; i++) {
            synchronized (lock) {
                kept = new Plain();
                Thread.sleep(0, 100000);
            }
        }
        synchronized (lock) {
            lock.wait(1);
        }
        kept = calls.get() % 2 == 0 ? new Late0() : new Late1();
    }

    public static void main(String[] arguments) throws Exception {
        // JNI_OnLoad attaches a thread.
        System.load(arguments[0]);
        attach(3, false);
        attach(2, true);
        kept = new Never[3];
        kept = new Row[2][3];
        kept = new int[2][3];
        kept = new Kept[2];
        kept = new Kept();
        kept = new Kept[3];
        Runnable lambda = () -> kept = new Plain[1];
        lambda.run();
        Thread worker = new Thread(() -> {
            for (int i = 0; i < 100000; i++) number = inner(i);
        });
        worker.start();
        worker.join();
        System.out.println("asked=" + request(new Asked().getClass()));
        System.out.println("asked.row=" + request(Row.class));
        System.out.println("asked.array=" + request(Asked[].class));
        System.out.println("asked.primitive=" + request(int.class));
        System.out.println("asked.object=" + request("text"));
        System.out.println("calls=" + calls.get());
    }
}
