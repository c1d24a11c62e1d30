import java.lang.ref.WeakReference;
import java.lang.reflect.Constructor;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;

/** Programs whose objects are known by arithmetic. The first argument is the profiler's library. */
public class Heap {
    static class Begin {}
    static class End {}
    static class Plain implements Cloneable {
        int a;
        long b;

        public Plain() {}

        Plain copy() throws CloneNotSupportedException {
            return (Plain) clone();
        }
    }
    static class Made {
        public Made() {}
    }
    static class Dead {
        int a, b, c;
    }
    static class Kept {
        long a;
    }

    static native long id(Object object);
    static native Object object(long id);
    static native int request(int kind, long id);
    static native void runGC();
    static native void disableGC();
    static native void enableGC();
    static native void held(boolean held);
    static native void holdBracket(long id);
    static native void awaitBracket();
    static native void enable(int kind, boolean on);
    static native long count(int what);
    static native void references(Object object, int count);

    static volatile Object kept;

    interface Source {
        int get();
    }

    static void allocate(int times) throws Exception {
        Plain plain = new Plain();
        Constructor<?> constructor = Made.class.getConstructor();
        for (int i = 0; i < 100 * times; i++) kept = new Plain();
        for (int i = 0; i < 11 * times; i++) kept = plain.copy();
        for (int i = 0; i < 13 * times; i++) kept = constructor.newInstance();
        for (int i = 0; i < 4 * times; i++) kept = new boolean[9];
        for (int i = 0; i < 5 * times; i++) kept = new char[9];
        for (int i = 0; i < 6 * times; i++) kept = new float[9];
        for (int i = 0; i < 7 * times; i++) kept = new double[9];
        for (int i = 0; i < 9 * times; i++) kept = new short[9];
        for (int i = 0; i < 10 * times; i++) kept = new int[9];
        for (int i = 0; i < 11 * times; i++) kept = new long[9];
        for (int i = 0; i < 3 * times; i++) kept = new Plain[9];
        for (int i = 0; i < 2 * times; i++) kept = new int[4][5];
        for (int i = 0; i < 8 * times; i++) kept = Long.valueOf(100000 + i);
        for (int i = 0; i < 12 * times; i++) {
            int captured = i;
            kept = (Source) () -> captured;
        }
        for (int i = 0; i < 14 * times; i++) kept = "i=" + i;
    }

    static void kinds() throws Exception {
        // Reflection makes classes after some calls; the JVM loads each class at its first use.
        allocate(40);
        kept = new End();
        kept = new Begin();
        allocate(10);
        kept = new End();
        // The code is compiled now.
        for (int i = 0; i < 30; i++) allocate(10);
    }

    static void frees() throws Exception {
        List<Kept> all = new ArrayList<>();
        long[] ids = new long[2000];
        for (int i = 0; i < ids.length; i++) {
            for (int k = 0; k < 50; k++) kept = new Dead();
            all.add(new Kept());
            ids[i] = id(all.get(i));
        }
        Thread[] threads = new Thread[3];
        for (int t = 0; t < threads.length; t++) {
            threads[t] = new Thread(() -> {
                for (int k = 0; k < 40000; k++) {
                    kept = new Dead();
                    if (k % 10000 == 0) System.gc();
                }
            });
            threads[t].start();
        }
        for (Thread thread : threads) thread.join();
        kept = null;
        System.gc();
        runGC();
        long same = 0;
        for (int i = 0; i < ids.length; i++) if (id(all.get(i)) == ids[i]) same++;
        System.out.println("same=" + same);
        long found = 0;
        for (int i = 0; i < 20; i++) if (object(ids[i]) == all.get(i)) found++;
        System.out.println("found=" + found);
        System.out.println("request.live=" + request(4, ids[0]));
        System.out.println("after.run=" + count(1) + "," + count(2));
        all.subList(1000, 2000).clear();
        runGC();
        System.out.println("request.freed=" + request(4, ids[1999]));
        System.out.println("object.freed=" + object(ids[1999]));
        System.out.println("request.wild=" + request(4, 1L << 40) + "," + request(4, 7) + "," + request(4, 0)
            + "," + request(4, -16));
        System.out.println("class=" + (object(id(Kept.class)) == Kept.class));
        System.out.println("thread=" + (object(id(Thread.currentThread())) == Thread.currentThread()));
        System.out.println("older=" + request(4, id(Object.class)) + "," + request(4, id(Class.class)));
        System.out.println("kept=" + all.size());
    }

    /** Each RunGC ends the objects of its round, also if the JVM marks a large heap meanwhile. */
    static void rounds() {
        Object[] living = new Object[200_000];
        for (int i = 0; i < living.length; i++) living[i] = new Object[] {i};
        int left = 0;
        for (int round = 0; round < 25; round++) {
            long[] ids = new long[100];
            for (int i = 0; i < ids.length; i++) ids[i] = id(new Kept());
            runGC();
            for (long id : ids) if (request(4, id) == 0) left++;
        }
        System.out.println("left=" + left + " " + living.length);
    }

    static void unload(String classes) throws Exception {
        URL url = new java.io.File(classes).toURI().toURL();
        List<WeakReference<Class<?>>> loaded = new ArrayList<>();
        for (int i = 0; i < 25; i++) {
            URLClassLoader loader = new URLClassLoader(new URL[] {url}, null);
            Class<?> type = Class.forName("Heap$Plain", true, loader);
            kept = java.lang.reflect.Array.newInstance(type, 3);
            loaded.add(new WeakReference<>(type));
        }
        kept = null;
        runGC();
        long gone = 0;
        for (WeakReference<Class<?>> it : loaded) if (it.get() == null) gone++;
        System.out.println("gone=" + gone);
    }

    static void hold() throws Exception {
        enableGC();
        for (int i = 0; i < 1000; i++) kept = new Dead();
        kept = null;
        disableGC();
        disableGC();
        held(true);
        Thread other = new Thread(System::gc);
        other.start();
        other.join();
        runGC();
        enableGC();
        Thread.sleep(300);
        System.out.println("during=" + count(1));
        held(false);
        enableGC();
        runGC();
        System.out.println("after=" + (count(0) >= 1000) + "," + (count(1) > 0));
        // A thread that ends without EnableGC.
        Thread careless = new Thread(() -> {
            disableGC();
            disableGC();
        });
        careless.start();
        careless.join();
        long before = count(1);
        runGC();
        System.out.println("careless=" + (count(1) > before));
    }

    static void drop() {
        kept = null;
        System.gc();
    }

    static void dropped() {
        kept = new Kept();
        long id = id(kept);
        holdBracket(id);
        System.gc();
        awaitBracket();
        System.out.println("dump=" + request(50, id));
        runGC();
        System.out.println("after=" + request(50, id));
    }

    static void race() throws Exception {
        Thread garbage = new Thread(() -> {
            for (int i = 0; i < 60; i++) {
                for (int k = 0; k < 2000; k++) kept = new Dead();
                System.gc();
            }
        });
        garbage.start();
        long rounds = 0;
        while (garbage.isAlive() || rounds < 10) {
            disableGC();
            held(true);
            Thread.sleep(0, 300000);
            held(false);
            enableGC();
            Thread.sleep(0, 200000);
            rounds++;
        }
        System.out.println("rounds=" + (rounds >= 10));
        kept = null;
        runGC();
    }

    static void late() {
        for (int i = 0; i < 1000; i++) kept = new Plain();
        enable(4, true);
        kept = new Begin();
        for (int i = 0; i < 5000; i++) kept = new Plain();
        kept = new End();
        enable(4, false);
        for (int i = 0; i < 1000; i++) kept = new Plain();
    }

    public static void main(String[] arguments) throws Exception {
        System.load(arguments[0]);
        switch (arguments[1]) {
            case "kinds": kinds(); break;
            case "frees": frees(); break;
            case "rounds": rounds(); break;
            case "unload": unload(arguments[2]); break;
            case "hold": hold(); break;
            case "race": race(); break;
            case "dropped": dropped(); break;
            case "late": late(); break;
            case "references":
                references(arguments, 400);
                break;
        }
    }
}
