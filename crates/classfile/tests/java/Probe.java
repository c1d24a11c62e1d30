/** Counts what instrumented code does. */
public class Probe {
    static long entered, returned, unwound, called, calledBack, allocated, caught, blocks;

    public static void enter() {
        entered++;
    }

    public static void exit() {
        returned++;
    }

    public static void unwind() {
        unwound++;
    }

    public static void beforeCall() {
        called++;
    }

    public static void afterCall() {
        calledBack++;
    }

    public static void allocate() {
        allocated++;
    }

    public static void caught() {
        caught++;
    }

    public static void block() {
        blocks++;
    }
}
