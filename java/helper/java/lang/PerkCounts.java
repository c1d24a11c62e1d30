package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Stable;

/**
 * The methods that perk's probes of executed bytecodes call, and the state of a thread, which is an
 * object of this class. The agent defines the class in java.base before the first Java code runs,
 * and starts it when the JVM is up. The bytes of the class are part of the agent.
 *
 * Each platform thread has counters of its own in the agent's native memory, so that it counts without
 * locks. A virtual thread counts in those of its carrier: probes read {@link #counters} each time, and
 * JIT compilers keep what they have read until the next call, before which no thread is unmounted.
 */
public final class PerkCounts extends PerkHeaders {
    /** The number of bits of the size of a counter. */
    private static final int COUNTER_SHIFT = 3;

    /** Represents the address of counters that are not read: the agent replaces it in the class file. */
    private static final long UNREAD = 0x5065726b436e7473L;
    /** The state of methods that were entered before {@link #start}, and of threads without counters. */
    private static final PerkCounts NONE = new PerkCounts();

    // The JIT compilers treat a stable field as a constant once it is not zero.

    /** Null until the agent has called {@link #start}. */
    @Stable private static Unsafe U;
    @Stable private static long STATE_FIELD;

    /** The address of the counters that the thread uses at present. */
    private long counters = UNREAD;

    private PerkCounts() {}

    /** Starts counting. Before, the probes do nothing, because the JVM is starting. */
    private static long start() {
        Unsafe unsafe = Unsafe.getUnsafe();
        STATE_FIELD = unsafe.objectFieldOffset(Thread.class, "$perkCounts");
        U = unsafe;
        return 0;
    }

    /**
     * Gives a thread its state. The counters are those of a virtual thread's carrier, or 0: the thread
     * gets its own. Returns null if that is not possible.
     */
    private static native PerkCounts begin(Thread thread, long counters);

    /** Returns the state of the calling thread. A method with probes is entered. */
    public static PerkCounts state() {
        if (U == null) {
            return NONE;
        }
        Thread thread = Thread.currentThread();
        PerkCounts state = stateOf(thread);
        return state == null ? begun(thread, 0) : state;
    }

    @ForceInline
    private static PerkCounts stateOf(Thread thread) {
        return (PerkCounts) U.getReference(thread, STATE_FIELD);
    }

    @DontInline
    private static PerkCounts begun(Thread thread, long counters) {
        PerkCounts state = begin(thread, counters);
        return state == null ? NONE : state;
    }

    /** The calling thread is about to run a virtual thread. */
    public static void mounting(Thread thread) {
        if (U == null) {
            return;
        }
        long counters = state().counters;
        PerkCounts state = stateOf(thread);
        if (state == null) {
            begun(thread, counters);
        } else {
            state.counters = counters;
        }
    }

    /** Counts an execution. The condition is constant in compiled code. */
    @ForceInline
    public static void count(PerkCounts state, int counter) {
        if (U != null) {
            long address = state.counters + ((long) counter << COUNTER_SHIFT);
            U.putLong(null, address, U.getLong(null, address) + 1);
        }
    }

    /**
     * Counts an execution where the carrier may be another one than that of {@link #counters}: a virtual
     * thread leaves its carrier, and comes to the next, in the middle of methods.
     */
    public static void countMoving(PerkCounts state, int counter) {
        if (U != null) {
            U.getAndAddLong(null, state.counters + ((long) counter << COUNTER_SHIFT), 1);
        }
    }
}
