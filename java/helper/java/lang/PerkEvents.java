package java.lang;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;
import jdk.internal.vm.annotation.Stable;

/**
 * The methods that perk's probes of JVMPI's events call. The agent defines the class in java.base before
 * the first Java code runs, and sets its fields. The bytes of the class are part of the agent.
 *
 * A method that the agent is told of gets a number, which is not 0 and stands for the thread and the
 * depth of the call. The number is passed back at the exit.
 */
public final class PerkEvents {
    /** Whether entries are told. */
    private static boolean isOn;
    /** Whether entries are told with their object. */
    private static boolean isOnWithObjects;

    /** The class of virtual threads; null if there are none. The JIT compilers treat it as a constant. */
    @Stable private static Class<?> virtualThread;

    private PerkEvents() {}

    private static native long entered(int method);

    private static native long entered(int method, Object object);

    private static native void left(long entry);

    private static native void kept(long entry);

    /** A method of a virtual thread was entered, of which the agent is not told. */
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
        if (Thread.currentThread().getClass() == virtualThread) {
            return pass();
        }
        return entered(method);
    }

    @ForceInline
    @Hidden
    private static long tell(int method, Object object) {
        if (Thread.currentThread().getClass() == virtualThread) {
            return pass();
        }
        return entered(method, object);
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
}
