package java.lang;

/**
 * What probes call in tests. Counts for all threads, which may lose counts; for one thread at a time
 * it follows the calls by the position that the probes store, and writes them down. A position is
 * the number of open calls, and the line above that.
 */
public final class PerkProbes {
    private static final int MAX_DEPTH = 4096;
    private static final int LINE_SHIFT = 48;

    /** The state of the recorded thread, and that of all others. */
    private static final PerkProbes OWN = new PerkProbes();
    private static final PerkProbes OTHERS = new PerkProbes();

    public long context;
    public long caller;
    public volatile int fence;

    public static long entered;
    public static long left;
    public static long leaves;
    public static long objects;
    public static long arrays;
    public static long mounted;
    public static long unmounted;

    /** Objects and arrays that the recorded thread has made. */
    public static long made;
    public static int depth;

    private static Thread recorded;
    private static StringBuilder log;
    private static Class<?> counted;
    /** Whether the caller counts the next array made by reflection. */
    private static boolean withheld;
    private static final int[] methods = new int[MAX_DEPTH];
    private static final int[] callLines = new int[MAX_DEPTH];

    private PerkProbes() {
    }

    /** Begins to follow the current thread; `log` says whether to write it all down. */
    public static void start(boolean writes) {
        recorded = null;
        depth = 0;
        OWN.context = 0;
        log = writes ? new StringBuilder() : null;
        recorded = Thread.currentThread();
    }

    /** Ends the recording; returns the text. */
    public static String stop() {
        recorded = null;
        follow();
        return log == null ? "" : log.toString();
    }

    /** Counts in `made` the objects of a class that the current thread makes from now on. */
    public static void count(Class<?> type) {
        counted = type;
        made = 0;
    }

    public static PerkProbes enter(int method) {
        entered++;
        if (!begins()) {
            return OTHERS;
        }
        push("enter", method);
        ends();
        return OWN;
    }

    public static void touch(int method) {
        entered++;
        if (begins()) {
            note("touch", method);
            ends();
        }
    }

    public static void enterLeaf(int method) {
        leaves++;
        if (begins()) {
            push("leaf", method);
            ends();
        }
    }

    public static void leave(PerkProbes state, long position) {
        left++;
        state.context = position;
        if (state == OWN && begins()) {
            ends();
        }
    }

    public static void allocated(Object object) {
        objects++;
        made("object", object);
    }

    public static void made(Object object) {
        made("made", object);
    }

    public static void arrays(Object array) {
        arrays++;
        made("arrays", array);
    }

    public static void array(Object[] array) {
        arrays++;
        made("array", array);
    }

    public static void array(boolean[] array) {
        arrays++;
        made("array", array);
    }

    public static void array(char[] array) {
        arrays++;
        made("array", array);
    }

    public static void array(float[] array) {
        arrays++;
        made("array", array);
    }

    public static void array(double[] array) {
        arrays++;
        made("array", array);
    }

    public static void array(byte[] array) {
        arrays++;
        made("array", array);
    }

    public static void array(short[] array) {
        arrays++;
        made("array", array);
    }

    public static void array(int[] array) {
        arrays++;
        made("array", array);
    }

    public static void array(long[] array) {
        arrays++;
        made("array", array);
    }

    /** Tests do not count the objects that the JVM makes for an exception. */
    public static void traced(Throwable exception) {
    }

    public static void withhold() {
        if (isRecorded()) {
            withheld = true;
        }
    }

    public static void reflected(Object array) {
        if (isRecorded() && withheld) {
            withheld = false;
        } else {
            made("reflected", array);
        }
    }

    public static void cloned(Object from, Object clone) {
        cloned(from.getClass(), clone);
    }

    public static void clonedAbove(Object clone, Class<?> type) {
        cloned(type.getSuperclass(), clone);
    }

    public static void mounted(Thread thread) {
        if (Thread.currentThread() == thread) {
            mounted++;
        }
    }

    public static void unmounted(Thread thread) {
        if (Thread.currentThread() == thread) {
            unmounted++;
        }
    }

    private static boolean isRecorded() {
        return recorded != null && Thread.currentThread() == recorded;
    }

    /** Whether the current thread is the one; probes of methods called from here do nothing then. */
    private static boolean begins() {
        if (!isRecorded()) {
            return false;
        }
        recorded = null;
        follow();
        return true;
    }

    private static void ends() {
        recorded = Thread.currentThread();
    }

    private static void push(String what, int method) {
        note(what, method);
        methods[depth] = method;
        depth++;
        callLines[depth] = 0;
        OWN.caller = OWN.context;
        OWN.context = depth;
    }

    /** Leaves the calls that have ended. */
    private static void follow() {
        int open = (int) OWN.context;
        while (depth > open) {
            depth--;
            note("exit", methods[depth]);
        }
        callLines[depth] = (int) (OWN.context >>> LINE_SHIFT);
    }

    /** The clone() of a class has returned something, which it has made if it is that of Object. */
    private static void cloned(Class<?> type, Object clone) {
        if (clone != null && begins()) {
            boolean isMade = inheritsClone(type);
            ends();
            if (isMade) {
                made("cloned", clone);
            }
        }
    }

    private static boolean inheritsClone(Class<?> type) {
        for (Class<?> it = type; it != Object.class; it = it.getSuperclass()) {
            try {
                it.getDeclaredMethod("clone");
                return false;
            } catch (NoSuchMethodException e) {
                // It is inherited.
            }
        }
        return true;
    }

    private static void made(String what, Object object) {
        if (begins()) {
            if (object.getClass() == counted) {
                made++;
            }
            if (log != null && isOwn(object.getClass().getName())) {
                indent().append(what).append(' ').append(object.getClass().getName());
                line();
            }
            ends();
        }
    }

    /** Other objects depend on how the JVM loads a class. */
    private static boolean isOwn(String name) {
        return name.startsWith("[") || name.startsWith("Scenario") && !name.contains("$$Lambda");
    }

    private static void note(String what, int method) {
        if (log != null) {
            indent().append(what).append(" #").append(method);
            line();
        }
    }

    private static StringBuilder indent() {
        for (int i = 0; i < depth; i++) {
            log.append("  ");
        }
        return log;
    }

    private static void line() {
        if (callLines[depth] != 0) {
            log.append(" at ").append(callLines[depth]);
        }
        log.append('\n');
    }
}
