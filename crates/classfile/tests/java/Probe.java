/** Counts what instrumented code does. */
public class Probe {
    static long entered, returned, unwound, called, calledBack, allocated, caught, blocks;
    /** Local variables that did not keep the values of their call. */
    static long wrong;

    public final long call = entered;

    public static Probe enter() {
        entered++;
        return new Probe();
    }

    public static void exit(Probe probe, long call) {
        returned++;
        check(probe, call);
    }

    public static void unwind(Probe probe, long call) {
        unwound++;
        check(probe, call);
    }

    private static void check(Probe probe, long call) {
        if (probe.call != call) {
            wrong++;
        }
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

    public static void caught(Probe probe, long call) {
        caught++;
        check(probe, call);
    }

    public static void block() {
        blocks++;
    }
}
