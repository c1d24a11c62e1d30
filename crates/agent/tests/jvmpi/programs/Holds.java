/** Allocates, waits and starts threads while others collect and disable the collection. */
public class Holds {
    static native void collect(boolean holds);

    static native void disable(boolean isFirst);

    static volatile boolean isOver;
    static volatile Object kept;

    interface Body {
        void run() throws Exception;
    }

    static Thread repeat(Body body) {
        Thread thread = new Thread(() -> {
            try {
                while (!isOver) body.run();
            } catch (Exception e) {
                System.out.println("exception=" + e);
            }
        });
        thread.start();
        return thread;
    }

    static void work() throws Exception {
        for (int i = 0; i < 50; i++) kept = new int[i];
        Thread thread = new Thread(() -> kept = new Object());
        thread.start();
        thread.join();
        synchronized (thread) {
            thread.wait(1);
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.load(arguments[0]);
        Thread[] threads = {
            repeat(Holds::work), repeat(Holds::work),
            repeat(() -> disable(true)), repeat(() -> disable(false)), repeat(System::gc),
        };
        for (int i = 0; i < 3; i++) collect(false);
        collect(true);
        collect(false);
        isOver = true;
        for (Thread thread : threads) thread.join();
        System.out.println("done=1");
    }
}
