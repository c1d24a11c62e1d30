import java.io.InputStream;
import java.util.concurrent.locks.LockSupport;

/** Causes events of each kind until it is ended, or until the given number of rounds. */
public class Ends {
    static native void arm();

    static native void natives(Object object);

    static final Object lock = new Object();
    static volatile Object kept;

    static class Loaded extends ClassLoader {
        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("Ends$Other")) return super.loadClass(name, resolve);
            try (InputStream in = Ends.class.getResourceAsStream("Ends$Other.class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (java.io.IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    public static class Other {
        public static int sum(int n) {
            int sum = 0;
            for (int i = 0; i < n; i++) sum += i;
            return sum;
        }
    }

    static void contend() {
        while (true) {
            synchronized (lock) {
                kept = new int[10];
                LockSupport.parkNanos(100_000);
            }
            natives(kept);
        }
    }

    static int turn(int round) throws Exception {
        Class<?> other = new Loaded().loadClass("Ends$Other");
        int sum = 0;
        for (int i = 0; i < 200; i++) sum += (int) other.getMethod("sum", int.class).invoke(null, i);
        natives(lock);
        synchronized (lock) {
            lock.wait(1);
        }
        Thread.sleep(1);
        Thread thread = new Thread(() -> kept = new Object());
        thread.start();
        thread.join();
        if (round % 4 == 0) System.gc();
        return sum;
    }

    public static void main(String[] arguments) throws Exception {
        System.load(arguments[0]);
        for (int i = 0; i < 2; i++) {
            Thread thread = new Thread(Ends::contend);
            thread.setDaemon(true);
            thread.start();
        }
        arm();
        int sum = 0;
        for (int round = 0; round < Integer.parseInt(arguments[1]); round++) sum += turn(round);
        System.out.println("sum=" + sum);
    }
}
