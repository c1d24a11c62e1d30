package java.lang;

import jdk.internal.misc.Unsafe;
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
 *
 * In a program that runs already, threads have no place for the address: they share some sets of counters,
 * and add to them atomically.
 */
public final class PerkCounts extends PerkHeaders {
    /** The number of bits of the size of a counter. */
    private static final int COUNTER_SHIFT = 3;

    /** Represents the address of counters that are not read: the agent replaces it in the class file. */
    private static final long UNREAD = 0x5065726b436e7473L;

    /** The number of shared sets of counters, less one: a mask of the numbers of threads. */
    private static final long SHARED_MASK = 15;

    // The JIT compilers treat a stable field as a constant once it is not zero.

    /** Null until the agent has called {@link #start}. */
    @Stable private static Unsafe U;
    /** The place in a thread of the address of its counters, less {@link #UNREAD}. */
    @Stable private static long COUNTERS_FIELD;
    /** The place in a thread of its number. */
    @Stable private static long NUMBER_FIELD;
    /** The address of the addresses of the shared sets of counters. */
    @Stable private static long SHARED;

    private PerkCounts() {}

    /** Starts counting. Before, the probes do nothing, because the JVM is starting. */
    private static long start() {
        Unsafe unsafe = Unsafe.getUnsafe();
        COUNTERS_FIELD = unsafe.objectFieldOffset(Thread.class, "$perkCounters");
        U = unsafe;
        return 0;
    }

    /** Starts counting in sets of counters that threads share. */
    private static long startShared(long shared) {
        Unsafe unsafe = Unsafe.getUnsafe();
        NUMBER_FIELD = unsafe.objectFieldOffset(Thread.class, "tid");
        SHARED = shared;
        U = unsafe;
        return 0;
    }

    /** The calling thread is about to run a virtual thread. */
    public static void mounting(Thread thread) {
        if (U != null) {
            U.putLong(thread, COUNTERS_FIELD, U.getLong(Thread.currentThread(), COUNTERS_FIELD));
        }
    }

    /**
     * Counts an execution. The condition is constant in compiled code. C2 inlines it where it is called often; C1
     * should not, as it would compile twice as long: at more than 35 bytes of bytecode it does not.
     */
    public static void count(int counter) {
        if (U != null) {
            long place = UNREAD + ((long) counter << COUNTER_SHIFT);
            long address = place + U.getLong(Thread.currentThread(), COUNTERS_FIELD);
            U.putLong(null, address, U.getLong(null, address) + 1);
        }
    }

    /**
     * Counts an execution where the carrier may be another one than that of the counters: a virtual
     * thread leaves its carrier, and comes to the next, in the middle of methods.
     */
    public static void countMoving(int counter) {
        if (U != null) {
            long place = UNREAD + ((long) counter << COUNTER_SHIFT);
            U.getAndAddLong(null, place + U.getLong(Thread.currentThread(), COUNTERS_FIELD), 1);
        }
    }

    /** Counts an execution in a set that threads share. The agent redirects the sets when counting is over. */
    public static void countShared(int counter) {
        if (U != null) {
            long set = U.getLong(Thread.currentThread(), NUMBER_FIELD) & SHARED_MASK;
            long counters = U.getLong(null, SHARED + (set << COUNTER_SHIFT));
            U.getAndAddLong(null, counters + ((long) counter << COUNTER_SHIFT), 1);
        }
    }
}
