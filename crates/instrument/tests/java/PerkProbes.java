package java.lang;

/**
 * What probes call in tests. Counts for all threads, which may lose counts; for one thread at a time
 * it keeps a stack, checks it against what the probes say, and writes down what they do.
 */
public final class PerkProbes {
    private static final int MAX_DEPTH = 4096;

    public static long entered;
    public static long exited;
    public static long lines;
    public static long leaves;
    public static long objects;
    public static long arrays;
    public static long mounted;
    public static long unmounted;

    /** Methods that had not been left when one they were called by was, or caught an exception. */
    public static long repaired;
    /** Exits and handlers of methods that had not been entered. */
    public static long unknown;
    /** Objects and arrays that the recorded thread has made. */
    public static long made;
    public static int depth;

    private static Thread recorded;
    private static StringBuilder log;
    private static Class<?> counted;
    /** Whether the next array made by reflection is counted by who asked for it. */
    private static boolean withheld;
    private static final int[] methods = new int[MAX_DEPTH];
    private static final int[] callLines = new int[MAX_DEPTH];

    private PerkProbes() {
    }

    /** Begins to follow the current thread; `log` says whether to write it all down. */
    public static void start(boolean writes) {
        recorded = null;
        depth = 0;
        repaired = 0;
        unknown = 0;
        log = writes ? new StringBuilder() : null;
        recorded = Thread.currentThread();
    }

    /** Ends to follow it; gives what was written down. */
    public static String stop() {
        recorded = null;
        return log == null ? "" : log.toString();
    }

    /** Counts in `made` what the current thread makes of a class from now on. */
    public static void count(Class<?> type) {
        counted = type;
        made = 0;
    }

    public static void enter(int method) {
        entered++;
        if (begins()) {
            note("enter", method);
            push(method);
            ends();
        }
    }

    public static void touch(int method) {
        entered++;
        exited++;
        if (begins()) {
            note("touch", method);
            ends();
        }
    }

    public static void enterLeaf(int method) {
        leaves++;
        if (begins()) {
            note("leaf", method);
            push(method);
            ends();
        }
    }

    public static void exit(int method) {
        exited++;
        if (begins()) {
            unwind(method);
            depth--;
            note("exit", method);
            ends();
        }
    }

    public static void caught(int method) {
        if (begins()) {
            unwind(method);
            note("caught", method);
            ends();
        }
    }

    public static void line(int line) {
        lines++;
        if (begins()) {
            callLines[depth] = line;
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

    /** What the JVM makes for an exception is none of what tests count. */
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

    /** Whether the current thread is the one; probes of what is called from here do nothing then. */
    private static boolean begins() {
        if (!isRecorded()) {
            return false;
        }
        recorded = null;
        return true;
    }

    private static void ends() {
        recorded = Thread.currentThread();
    }

    private static void push(int method) {
        methods[depth] = method;
        depth++;
        callLines[depth] = 0;
    }

    /** Leaves what was called by the innermost call of a method, and has not been left. */
    private static void unwind(int method) {
        int at = depth - 1;
        while (at >= 0 && methods[at] != method) {
            at--;
        }
        if (at < 0) {
            unknown++;
            push(method);
            return;
        }
        repaired += depth - 1 - at;
        depth = at + 1;
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

    /** What else is made depends on what the JVM does to load a class. */
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
