import java.util.Arrays;

/**
 * Calls methods and makes objects in compiled code, with each event of JVMPI that they cause and without
 * any. The profiler {@code xtask/src/bench/jvmpi/speed.c}, whose library is the argument, has the native
 * methods; the handler of its events is empty.
 */
public class JvmpiSpeed {
    static final int METHOD_ENTRY = 1;
    static final int METHOD_ENTRY2 = 2;
    static final int METHOD_EXIT = 3;
    static final int OBJECT_ALLOC = 4;

    /** Methods that are called so often are compiled. */
    static final int COMPILED_COUNT = 100_000;

    static final int WARM_UP_COUNT = 10;
    static final int TIMED_COUNT = 9;
    static final int OUTER_COUNT = 1000;
    static final int INNER_COUNT = 1000;

    /** The last object, so that the JVM cannot do without it. */
    static Object last;

    int added = 1;

    static native void enable(int event, boolean on);

    static native long cpuNs();

    /** Does nothing without an object. */
    static native void functions(Object object);

    interface Loop {
        int run(JvmpiSpeed it, int value);
    }

    public static void main(String[] args) {
        System.load(args[0]);
        for (int i = 0; i < COMPILED_COUNT; i++) {
            first(null);
        }
        first(new JvmpiSpeed());
        // Objects come first: the probes of methods stay in their constructors.
        events("OBJECT_ALLOC", JvmpiSpeed::objects, OBJECT_ALLOC);
        events("METHOD_ENTRY", JvmpiSpeed::calls, METHOD_ENTRY);
        events("METHOD_EXIT", JvmpiSpeed::calls, METHOD_EXIT);
        events("both", JvmpiSpeed::calls, METHOD_ENTRY, METHOD_EXIT);
        events("METHOD_ENTRY2", JvmpiSpeed::calls, METHOD_ENTRY2);
    }

    /** Has stacks of four frames. */
    static void first(JvmpiSpeed object) {
        second(object);
    }

    static void second(JvmpiSpeed object) {
        functions(object);
    }

    /** Prints what the events add to an operation. */
    static void events(String name, Loop loop, int... events) {
        double without = ns(loop);
        for (int event : events) {
            enable(event, true);
        }
        double with = ns(loop);
        for (int event : events) {
            enable(event, false);
        }
        System.out.println(name + "=" + (with - without));
        System.out.println(name + ".without=" + without);
    }

    static double ns(Loop loop) {
        JvmpiSpeed it = new JvmpiSpeed();
        int sum = 0;
        for (int i = 0; i < WARM_UP_COUNT; i++) {
            sum += many(loop, it);
        }
        long[] times = new long[TIMED_COUNT];
        for (int i = 0; i < TIMED_COUNT; i++) {
            long start = cpuNs();
            sum += many(loop, it);
            times[i] = cpuNs() - start;
        }
        it.added = sum;
        Arrays.sort(times);
        return (double) times[TIMED_COUNT / 2] / (OUTER_COUNT * INNER_COUNT);
    }

    static int many(Loop loop, JvmpiSpeed it) {
        int value = 0;
        for (int i = 0; i < OUTER_COUNT; i++) {
            value = loop.run(it, value);
        }
        return value;
    }

    static int calls(JvmpiSpeed it, int value) {
        for (int i = 0; i < INNER_COUNT; i++) {
            value = it.called(value);
        }
        return value;
    }

    int called(int value) {
        return value ^ added;
    }

    static int objects(JvmpiSpeed it, int value) {
        for (int i = 0; i < INNER_COUNT; i++) {
            last = new JvmpiSpeed();
        }
        return value;
    }
}
