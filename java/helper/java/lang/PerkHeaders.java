package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Stable;

/**
 * The headers of objects, and the identity hashes in them that lead to perk's records. The agent
 * defines the class in java.base, before the helper class that extends it.
 */
public class PerkHeaders {
    /** The greatest identity hash, and the greatest seed. */
    static final int MOST_HASH = 0x7fffffff;
    private static final int HASH_FACTOR = 0x2E3779B9;
    /** Its inverse, modulo 2^31. */
    private static final int SEED_FACTOR = 0x044CBC89;
    /** The header of an object that is not locked and does not have an identity hash. */
    static final long FREE = 1;
    static final long FREE_MASK = 7;
    /** These bits show whether an object is locked. */
    static final long LOCKED_MASK = 3;
    /** The bits of a header below the unused one: those of the lock, of biased locking and of the age. */
    private static final int USED_BITS = 7;

    /** The lowest bit of the identity hash in a header; 0 if it is not known. */
    @Stable static int HASH_SHIFT;

    PerkHeaders() {}

    /**
     * Returns the lowest bit of the identity hash in a header; 0 if headers do not have hashes of
     * 31 bits that can be written, with an unused bit below.
     */
    private static long hashShift() {
        Unsafe unsafe = Unsafe.getUnsafe();
        int shift = 0;
        int bits = 0;
        // As many hashes have each of the bits at least once.
        for (int i = 0; i < 64; i++) {
            int[] array = new int[1];
            long free = unsafe.getLong(array, 0);
            int hash = System.identityHashCode(array);
            long held = unsafe.getLong(array, 0) ^ free;
            if (i == 0) {
                shift = Long.numberOfTrailingZeros(held) - Integer.numberOfTrailingZeros(hash);
            }
            if (shift <= USED_BITS || (free & FREE_MASK) != FREE || (long) hash << shift != held) {
                return 0;
            }
            bits |= hash;
        }
        int[] array = new int[1];
        unsafe.putLong(array, 0, unsafe.getLong(array, 0) | (long) HASH_FACTOR << shift);
        synchronized (array) {
            array[0] = System.identityHashCode(array);
        }
        return bits == MOST_HASH && array[0] == HASH_FACTOR && array.hashCode() == HASH_FACTOR
                ? shift
                : 0;
    }

    /** Returns the identity hash of an object. */
    private static long identityOf(Object object) {
        return System.identityHashCode(object);
    }

    /** Whether an identity hash can be written into a header. */
    @ForceInline
    static boolean isFree(long header) {
        return (header & ((long) MOST_HASH << HASH_SHIFT | FREE_MASK)) == FREE;
    }

    /**
     * Returns the bit of headers whose hash is perk's: the JVM's own hashes lead to records of other
     * objects. It is the one below the hash, which HotSpot does not use.
     */
    @ForceInline
    static long mark() {
        return 1L << HASH_SHIFT - 1;
    }

    /** Returns a header without a hash with the hash of a seed. */
    @ForceInline
    static long identified(long header, int seed) {
        return header | (long) hash(seed) << HASH_SHIFT | mark();
    }

    /** Returns the hash of a seed. Different seeds have different hashes; only 0 has the hash 0. */
    @ForceInline
    static int hash(int seed) {
        int mixed = (seed ^ seed >>> 16) * HASH_FACTOR & MOST_HASH;
        return mixed ^ mixed >>> 15;
    }

    /** Returns the seed of a hash. */
    @ForceInline
    static int seedOf(int hash) {
        int mixed = (hash ^ hash >>> 15 ^ hash >>> 30) * SEED_FACTOR & MOST_HASH;
        return mixed ^ mixed >>> 16;
    }
}
