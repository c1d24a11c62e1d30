/** Has the profiler pass what means nothing, and dumps during which a thread ends. */
public class Misuse {
    static native void dead();

    static native void watch(Object object);

    static native boolean isFreed();

    static native void misuse();

    static native void awaitDump(int number);

    static native void dump(int level);

    static void end() throws Exception {
        Thread thread = new Thread(Misuse::dead);
        thread.start();
        thread.join();
    }

    public static void main(String[] arguments) throws Exception {
        System.load(arguments[0]);
        end();
        watch(new int[5]);
        while (!isFreed()) Thread.sleep(1);
        misuse();
        for (int level = 0; level < 3; level++) {
            Thread[] threads = new Thread[3];
            for (int i = 0; i < threads.length; i++) {
                int number = level;
                threads[i] = new Thread(() -> awaitDump(number));
                threads[i].start();
            }
            dump(level);
            for (Thread thread : threads) thread.join();
        }
        System.out.println("done=1");
    }
}
