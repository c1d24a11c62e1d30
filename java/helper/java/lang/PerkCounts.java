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
 * Each thread has counters of its own in the agent's native memory, so that it counts without locks.
 * Threads that share counters add to them atomically.
 */
public final class PerkCounts extends PerkHeaders {
    /** The number of bits of the size of a counter. */
    private static final int COUNTER_SHIFT = 3;

    // The JIT compilers treat a stable field as a constant once it is not zero.

    /**
     * Stands for the address of counters that are not read: the agent replaces it in the class file. It
     * is that of methods that were entered before {@link #start}.
     */
    private static final long UNREAD = 0x5065726b436e7473L;

    /** Null until the agent has called {@link #start}. */
    @Stable private static Unsafe U;
    @Stable private static long STATE_FIELD;

    /** The address of the thread's counters; negative if they are shared. */
    private long counters;

    private PerkCounts() {}

    /** Starts counting. Before, the probes do nothing, because the JVM is starting. */
    private static long start() {
        Unsafe unsafe = Unsafe.getUnsafe();
        STATE_FIELD = unsafe.objectFieldOffset(Thread.class, "$perkCounts");
        U = unsafe;
        return 0;
    }

    /** Gives the calling thread its counters, and returns them as {@link #counters}. */
    private static native long begin(Thread thread);

    /** Returns the counters of the calling thread. A method with probes is entered. */
    public static long counters() {
        if (U == null) {
            return UNREAD;
        }
        Thread thread = Thread.currentThread();
        PerkCounts state = (PerkCounts) U.getReference(thread, STATE_FIELD);
        return state == null ? begun(thread) : state.counters;
    }

    @DontInline
    private static long begun(Thread thread) {
        return begin(thread);
    }

    /** Counts an execution where no threads share counters. The condition is constant in compiled code. */
    @ForceInline
    public static void count(long counters, int counter) {
        if (U != null) {
            add(counters, counter);
        }
    }

    /**
     * Counts an execution where threads may share counters. The second condition has the same result
     * everywhere in a method, so that the compiler needs it once, unless it has seen threads that do.
     */
    @ForceInline
    public static void countShared(long counters, int counter) {
        if (U == null) {
            return;
        }
        if (counters > 0) {
            add(counters, counter);
        } else {
            addShared(counters, counter);
        }
    }

    @ForceInline
    private static void add(long counters, int counter) {
        long address = counters + ((long) counter << COUNTER_SHIFT);
        U.putLong(null, address, U.getLong(null, address) + 1);
    }

    @DontInline
    private static void addShared(long counters, int counter) {
        U.getAndAddLong(null, ((long) counter << COUNTER_SHIFT) - counters, 1);
    }
}
