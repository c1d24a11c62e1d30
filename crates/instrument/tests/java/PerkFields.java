package java.lang;

/** What the probes for accesses call in tests. Writes down the calls of one thread. */
public final class PerkFields {
    private static Thread recorded;
    private static StringBuilder log;

    private PerkFields() {
    }

    /** Begins to write down the calls of the current thread. */
    public static void start() {
        log = new StringBuilder();
        recorded = Thread.currentThread();
    }

    /** Ends the recording; returns the text. */
    public static String stop() {
        recorded = null;
        return log.toString();
    }

    public static void allocated(Object object) {
        note("allocated", object, 0);
    }

    public static void read(Object object, int field) {
        note("read", object, field);
    }

    public static void write(Object object, int field) {
        note("write", object, field);
    }

    public static void readComponent(Object array) {
        note("readComponent", array, 0);
    }

    public static void writeComponent(Object array) {
        note("writeComponent", array, 0);
    }

    public static void readLength(Object array) {
        note("readLength", array, 0);
    }

    public static void created(Object object, int site) {
        note("created", object, site);
    }

    public static void array(Object array, int site) {
        note("array", array, site);
    }

    public static void arrays(Object array, int site) {
        note("arrays", array, site);
    }

    public static void reflected(Object object, int site) {
        note("reflected", object, site);
    }

    public static void cloned(Object from, Object clone) {
        note("cloned", clone, from == clone ? 1 : 0);
    }

    public static void reflectedArrays(Object array, int site) {
        note("reflectedArrays", array, site);
    }

    /** Numbers begin with 1. */
    private static void note(String what, Object object, int number) {
        Thread thread = recorded;
        if (thread == null || thread != Thread.currentThread()) {
            return;
        }
        recorded = null;
        String name = object == null ? "null" : object.getClass().getName();
        if (object == null || isOwn(name)) {
            log.append(what).append(' ').append(name);
            if (number != 0) {
                log.append(" #").append(number);
            }
            log.append('\n');
        }
        recorded = thread;
    }

    /** What else is accessed depends on the JDK. */
    private static boolean isOwn(String name) {
        boolean isArray = name.startsWith("[");
        boolean isOfPrimitives = isArray && !name.endsWith(";");
        return isOfPrimitives || isArray && name.endsWith("Ljava.lang.Object;")
                || isArray && name.endsWith("Ljava.lang.String;")
                || name.contains("Accesses") && !name.contains("$$Lambda");
    }
}
