package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Stable;

/**
 * The methods that perk's probes of executed code call. The agent defines the class in java.base
 * before the first Java code runs, and starts it when the JVM is up. The bytes of the class are part of
 * the agent.
 *
 * Each platform thread has counters of its own in the agent's native memory, so that it counts without
 * locks. A virtual thread counts in those of its carrier: probes read where they are each time, and
 * JIT compilers keep what they have read until the next call, before which no thread is unmounted.
 *
 * A probe has no branch in compiled code: each one that may be taken would keep the values of all
 * methods around it for a return to the interpreter. So a thread that does not have counters has an
 * offset of 0, to counters that are not read.
 */
public final class PerkCounts extends PerkHeaders {
    /** The number of bits of the size of a counter. */
    private static final int COUNTER_SHIFT = 3;

    /** Represents the address of counters that are not read: the agent replaces it in the class file. */
    private static final long UNREAD = 0x5065726b436e7473L;

    // The JIT compilers treat a stable field as a constant once it is not zero.

    /** Null until the agent has called {@link #start}. */
    @Stable private static Unsafe U;
    /** The place in a thread of the address of its counters, less {@link #UNREAD}. */
    @Stable private static long COUNTERS_FIELD;

    private PerkCounts() {}

    /** Starts counting. Before, the probes do nothing, because the JVM is starting. */
    private static long start() {
        Unsafe unsafe = Unsafe.getUnsafe();
        COUNTERS_FIELD = unsafe.objectFieldOffset(Thread.class, "$perkCounters");
        U = unsafe;
        return 0;
    }

    /** The calling thread is about to run a virtual thread. */
    public static void mounting(Thread thread) {
        if (U != null) {
            U.putLong(thread, COUNTERS_FIELD, U.getLong(Thread.currentThread(), COUNTERS_FIELD));
        }
    }

    /** Counts an execution. The condition is constant in compiled code. */
    @ForceInline
    public static void count(int counter) {
        if (U != null) {
            long address = address(counter);
            U.putLong(null, address, U.getLong(null, address) + 1);
        }
    }

    /**
     * Counts an execution where the carrier may be another one than that of the counters: a virtual
     * thread leaves its carrier, and comes to the next, in the middle of methods.
     */
    public static void countMoving(int counter) {
        if (U != null) {
            U.getAndAddLong(null, address(counter), 1);
        }
    }

    @ForceInline
    private static long address(int counter) {
        long place = UNREAD + ((long) counter << COUNTER_SHIFT);
        return place + U.getLong(Thread.currentThread(), COUNTERS_FIELD);
    }
}
