package java.lang;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;
import jdk.internal.vm.annotation.Stable;

/**
 * The methods that perk's probes of JVMPI's events call. The agent defines the class in java.base before
 * the first Java code runs, and sets its fields. The bytes of the class are part of the agent.
 *
 * A method whose entry is sent gets a number, which is not 0 and represents the thread and the
 * depth of the call. The number is passed back at the exit.
 */
public final class PerkEvents {
    /** Whether entries are sent. */
    private static boolean isOn;
    /** Whether entries are sent with their object. */
    private static boolean isOnWithObjects;

    /** Whether instructions are sent. */
    private static boolean isStepping;
    /** Whether releases of monitors are sent. */
    private static boolean isReleasing;

    /** The class of virtual threads; null if there are none. The JIT compilers treat it as a constant. */
    @Stable private static Class<?> virtualThread;
    /**
     * The class of the threads that carry them. While such a thread exchanges its virtual thread, JVMTI's
     * functions wait for the exchange to end, also if the thread itself calls them. So nothing that it does is
     * sent.
     */
    @Stable private static Class<?> carrierThread;

    private PerkEvents() {}

    private static native long entered(int method);

    private static native long entered(int method, Object object);

    private static native void left(long entry);

    private static native void kept(long entry);

    /** Sends an instruction by its opcode, or 0, with the values that decide where it goes. */
    private static native void stepped(int method, int pc, int opcode, int a, int b, int c);

    private static native void released(Object object);

    /** A method was entered whose entry is not sent. */
    private static native void passed();

    /** A static method, or a constructor, is entered. */
    @ForceInline
    @Hidden
    public static long enter(int method) {
        return isOn ? tell(method) : 0;
    }

    /** A method is entered. */
    @ForceInline
    @Hidden
    public static long enter(int method, Object object) {
        if (!isOn) {
            return 0;
        }
        return isOnWithObjects ? tell(method, object) : tell(method);
    }

    @ForceInline
    @Hidden
    private static long tell(int method) {
        return isTold() ? entered(method) : pass();
    }

    @ForceInline
    @Hidden
    private static long tell(int method, Object object) {
        return isTold() ? entered(method, object) : pass();
    }

    @DontInline
    @Hidden
    private static long pass() {
        passed();
        return 0;
    }

    /** A method is left. */
    @ForceInline
    @Hidden
    public static void leave(long entry) {
        if (entry != 0) {
            left(entry);
        }
    }

    /** A method has caught an exception, which may have ended others. */
    @Hidden
    public static void caught(long entry) {
        if (entry != 0) {
            kept(entry);
        }
    }

    @ForceInline
    @Hidden
    private static boolean isStepping() {
        return isStepping && isTold();
    }

    /** Whether the events of the thread are sent. */
    @ForceInline
    @Hidden
    private static boolean isTold() {
        Class<?> thread = Thread.currentThread().getClass();
        return thread != virtualThread && thread != carrierThread;
    }

    /** An instruction is about to run. */
    @ForceInline
    @Hidden
    public static void step(int method, int pc) {
        if (isStepping()) {
            stepped(method, pc, 0, 0, 0, 0);
        }
    }

    /** A branch compares two numbers. */
    @Hidden
    public static void branch(int a, int b, int method, int pc, int opcode) {
        if (isStepping()) {
            stepped(method, pc, opcode, a, b, 0);
        }
    }

    /** A branch compares two references. */
    @Hidden
    public static void branch(Object a, Object b, int method, int pc, int opcode) {
        if (isStepping()) {
            stepped(method, pc, opcode, a == b ? 0 : 1, 0, 0);
        }
    }

    /** A switch is about to run: with the least and the greatest key, or with the number of its keys. */
    @Hidden
    public static void choose(int key, int method, int pc, int opcode, int a, int b) {
        if (isStepping()) {
            stepped(method, pc, opcode, key, a, b);
        }
    }

    /** A monitor is about to be released. */
    @ForceInline
    @Hidden
    public static void releasing(Object object) {
        if (isReleasing && isTold()) {
            released(object);
        }
    }
}
