package java.lang;

/**
 * Counts what instrumented code does. In java.lang, so that every class of every module may call
 * it; it calls nothing, so that it may be called before anything else works. Threads that count at
 * once may lose counts.
 */
public final class PerkProbe {
    public static long entered;
    public static long returned;
    public static long unwound;
    public static long called;
    public static long calledBack;
    public static long allocated;
    public static long caught;
    public static long blocks;
    public static int lastMethod;
    public static long lastSite;

    private PerkProbe() {
    }

    public static void enter(int method) {
        entered++;
        lastMethod = method;
    }

    public static void exit(int method) {
        returned++;
        lastMethod = method;
    }

    public static void unwind(int method) {
        unwound++;
        lastMethod = method;
    }

    public static void beforeCall() {
        called++;
    }

    public static void afterCall() {
        calledBack++;
    }

    public static void allocate(long site) {
        allocated++;
        lastSite = site;
    }

    public static void caught() {
        caught++;
    }

    public static void block() {
        blocks++;
    }
}
