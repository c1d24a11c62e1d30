package java.lang;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Stable;

/**
 * The methods that perk's probes of field accesses call, and the state of a thread, which is an
 * object of this class. The agent defines the class in java.base before the first Java code runs,
 * and starts it when the JVM is up. The bytes of the class are part of the agent.
 *
 * Each object has a record in the agent's native memory: the thread that allocated it, its class,
 * its site, and four counters per field; then four more per field if accesses without an
 * instruction are counted. Objects hold the index of their record in a field that perk adds to the
 * class right below Object; arrays, and the objects of the few classes without that field, have an
 * identity hash that leads to it.
 *
 * A thread takes the memory of records from a slab of its own, without locks. Only the owner of an
 * object writes the owner's counters; others add to theirs atomically.
 *
 * The layouts of records and states are defined in the agent's analyses/fields.
 */
public final class PerkFields extends PerkHeaders {
    /** The number of the thread that allocated the object; 0 if that is not known. */
    private static final int OWNER = 0;
    /** The number of the class; negative if the object is found by its header. */
    private static final int CLASS = 4;
    private static final int SITE = 8;
    /** In the first unit, in place of the site: the number of units that there are. */
    private static final int COUNT = 8;
    /** The number of the record's units. */
    private static final int SIZE = 12;
    /** The counters of the first field. */
    private static final int COUNTS = 16;
    /** The number of bits of the size of a record's unit, and of a field's counters. */
    private static final int UNIT_SHIFT = 4;

    /** The offsets among the counters of a field. */
    private static final int READS = 0;
    private static final int WRITES = 8;
    /** The distance from the owner's counter to that of all others. */
    private static final int OTHERS = 4;

    /** The counters of an array. */
    private static final int LENGTH = COUNTS;
    private static final int COMPONENTS = COUNTS + 16;

    /** The data about a class: its number, then the units of a record, then the field's offset. */
    private static final int NUMBER_BITS = 24;
    private static final int UNITS_BITS = 20;
    private static final long NUMBER_MASK = (1L << NUMBER_BITS) - 1;
    private static final long UNITS_MASK = (1L << UNITS_BITS) - 1;
    private static final int OFFSET_SHIFT = NUMBER_BITS + UNITS_BITS;

    /** The data about a field: where its counters are in a record, and the offset in objects. */
    private static final int FIELD_SHIFT = 3;
    private static final int PLACE_SHIFT = 32;
    /** Represents the offset in objects that are found by their header. */
    private static final int BY_HEADER = 1;

    /** The kinds of an access without an instruction, and the logarithm of its bytes above them. */
    private static final int IS_READ = 1;
    private static final int IS_WRITE = 2;
    private static final int IS_OF_LENGTH = 4;
    private static final int WIDTH_SHIFT = 3;

    /**
     * The fields by class and offset: words in a table with a place for each hash. A word has the
     * class's number, the offset, and the number of the unit with the counters in a record.
     */
    private static final int HASH_MASK = (1 << 16) - 1;
    private static final int CLASS_SHIFT = 40;
    private static final int OFFSET_BITS = 20;
    private static final int UNIT_MASK = (1 << OFFSET_BITS) - 1;
    /** Replaces the unit if objects of the class do not have a field there. */
    private static final int NO_FIELD = UNIT_MASK;

    // The JIT compilers treat a stable field as a constant once it is not zero.

    /** Null until the agent has called {@link #start}. */
    @Stable private static Unsafe U;
    @Stable private static long STATE_FIELD;
    /** The offset in classes of the data about them. */
    @Stable private static long CLASS_FIELD;
    @Stable private static long RECORDS;
    @Stable private static long FIELDS;
    /** 0 unless accesses without an instruction are counted. */
    @Stable private static long OFFSETS;
    /** The state of threads that are not counted, such as those that have ended. */
    private static final PerkFields ENDED = new PerkFields();

    /** The number of the thread; -1 if it is not counted. */
    private int owner;
    /** The first free unit of the slab, and the unit after its last. */
    private int free;
    private int end;
    /** The first unit of the slab; the agent reads it. */
    private int begin;

    private PerkFields() {}

    /** Starts counting. Before, the probes do nothing, because the JVM is starting. */
    private static long start(long records, long fields, long offsets, int hashShift) {
        Unsafe unsafe = Unsafe.getUnsafe();
        STATE_FIELD = unsafe.objectFieldOffset(Thread.class, "$perkState");
        CLASS_FIELD = unsafe.objectFieldOffset(Class.class, "$perkRecords");
        RECORDS = records;
        FIELDS = fields;
        OFFSETS = offsets;
        HASH_SHIFT = hashShift;
        ENDED.owner = -1;
        U = unsafe;
        return 0;
    }

    /** Returns the offset of the record's field in the objects of a class that declares it. */
    private static long offset(Class<?> type) {
        return Unsafe.getUnsafe().objectFieldOffset(type, "$perkRecord");
    }

    /** Returns the offset of a field in objects. */
    private static long offset(Field field) {
        return Unsafe.getUnsafe().objectFieldOffset(field);
    }

    /** Returns the state of the calling thread, which gets one; {@link #ENDED} if it is not counted. */
    private static native PerkFields begin(Thread thread);

    /** Gives a thread a slab with room for a record, and takes it. Returns 0 if there is no room. */
    private static native int refill(PerkFields state, int units);

    /** Gives a class its data and returns it. */
    private static native long known(Class<?> type);

    /** Returns the data about a field of an object, which is 0 if the object does not have it. */
    private static native long resolve(Object object, int field);

    /** Returns the unit of the field at an offset in objects of a class; perhaps NO_FIELD. */
    private static native int resolveOffset(Class<?> type, long offset);

    /**
     * Returns the index of the record of an object whose header cannot lead to it, which is the
     * given one if it has none yet; 0 if both are missing.
     */
    private static native int tag(Object object, int index);

    /** A counter at an address has passed its largest value. */
    private static native void carry(long counter);

    /** Counts an access to an object without a record. */
    private static native void lost();

    /** A field of an object is about to be read. */
    public static void read(Object object, int field) {
        if (U != null && object != null) {
            access(object, field, READS);
        }
    }

    /** A field of an object is about to be written. */
    public static void write(Object object, int field) {
        if (U != null && object != null) {
            access(object, field, WRITES);
        }
    }

    @ForceInline
    private static void access(Object object, int field, int kind) {
        long place = U.getLong(null, FIELDS + ((long) field << FIELD_SHIFT));
        long record = recordOf(object, (int) (place >>> PLACE_SHIFT));
        if (record != RECORDS) {
            count(record, record + (int) place + kind);
        } else {
            accessFirst(object, field, kind);
        }
    }

    /** A component of an array is about to be read. */
    public static void readComponent(Object array) {
        if (U != null && array != null) {
            accessArray(array, COMPONENTS + READS);
        }
    }

    /** A component of an array is about to be written. */
    public static void writeComponent(Object array) {
        if (U != null && array != null) {
            accessArray(array, COMPONENTS + WRITES);
        }
    }

    /** The length of an array is about to be read. */
    public static void readLength(Object array) {
        if (U != null && array != null) {
            accessArray(array, LENGTH + READS);
        }
    }

    @ForceInline
    private static void accessArray(Object array, int place) {
        long record = recordOf(array, BY_HEADER);
        if (record != RECORDS) {
            count(record, record + place);
        } else {
            accessArrayFirst(array, place);
        }
    }

    /** Returns the record of an object with the field at an offset; the first one if it has none. */
    @ForceInline
    private static long recordOf(Object object, int offset) {
        int index = 0;
        if (offset > BY_HEADER) {
            index = U.getInt(object, offset);
        } else if (offset == BY_HEADER && HASH_SHIFT != 0) {
            long header = U.getLong(object, 0);
            if ((header & (FREE_MASK | mark())) == (FREE | mark())) {
                index = seedOf((int) (header >>> HASH_SHIFT) & MOST_HASH);
            }
        }
        return address(index);
    }

    /** Returns the class of the record to which a hash leads; 0 if there is no memory there. */
    @ForceInline
    private static int classAt(int index) {
        return index < U.getInt(null, RECORDS + COUNT) ? U.getInt(null, address(index) + CLASS) : 0;
    }

    /** Counts an access to an object with a record. */
    @ForceInline
    private static void count(long record, long counter) {
        PerkFields state = stateOf(Thread.currentThread());
        if (state != null && U.getInt(null, record + OWNER) == state.owner) {
            int count = U.getInt(null, counter) + 1;
            U.putInt(null, counter, count);
            if (count == 0) {
                carry(counter);
            }
        } else {
            countOther(state, counter + OTHERS);
        }
    }

    @DontInline
    private static void countOther(PerkFields state, long counter) {
        if (state == null) {
            state = begun();
        }
        if (state != ENDED && U.getAndAddInt(null, counter, 1) == -1) {
            carry(counter);
        }
    }

    /** Counts an access to an object, or to a field, that perhaps was not accessed before. */
    @DontInline
    private static void accessFirst(Object object, int field, int kind) {
        if (state() == ENDED) {
            return;
        }
        long place = U.getLong(null, FIELDS + ((long) field << FIELD_SHIFT));
        if (place == 0) {
            place = resolve(object, field);
        }
        if (place != 0) {
            int offset = (int) (place >>> PLACE_SHIFT);
            long record = recordOf(object, offset);
            if (record == RECORDS) {
                record = unknown(object);
            }
            countFirst(record, record + (int) place + kind);
        }
    }

    @DontInline
    private static void accessArrayFirst(Object array, int place) {
        if (state() != ENDED) {
            long record = unknown(array);
            countFirst(record, record + place);
        }
    }

    private static void countFirst(long record, long counter) {
        if (record != RECORDS) {
            count(record, counter);
        } else {
            lost();
        }
    }

    /** Returns the record of an object that perhaps has none, and then gets one without an owner. */
    private static long unknown(Object object) {
        Class<?> type = object.getClass();
        long known = data(type);
        int offset = (int) (known >>> OFFSET_SHIFT);
        int units = (int) (known >>> NUMBER_BITS & UNITS_MASK);
        int number = (int) (known & NUMBER_MASK);
        PerkFields state = state();
        if (offset != 0) {
            int index = state.take(units);
            if (index == 0) {
                return RECORDS;
            }
            begin(index, 0, number, units);
            // If another thread was faster, the record stays unused.
            if (!U.compareAndSetInt(object, offset, 0, index)) {
                index = U.getInt(object, offset);
            }
            return address(index);
        }
        return address(unknownByHeader(object, state, units, number | Integer.MIN_VALUE));
    }

    /** Does this for an object without a field. Returns the index. */
    private static int unknownByHeader(Object object, PerkFields state, int units, int number) {
        if (HASH_SHIFT == 0 || !isFree(U.getLong(object, 0))) {
            int index = identifiedIndex(object, number);
            if (index == 0) {
                index = tag(object, 0);
            }
            if (index != 0) {
                return index;
            }
        }
        int index = state.take(units);
        if (index == 0) {
            return 0;
        }
        begin(index, 0, number, units);
        while (HASH_SHIFT != 0) {
            long header = U.getLong(object, 0);
            if (!isFree(header)) {
                break;
            }
            if (U.compareAndSetLong(object, 0, header, identified(header, index))) {
                return index;
            }
        }
        // Another thread was faster, or the header has no room. Then the record may stay unused.
        int other = identifiedIndex(object, number);
        return other != 0 ? other : tag(object, index);
    }

    /** Returns the index of the record of a class to which the hash of an object leads; 0 if there is none. */
    private static int identifiedIndex(Object object, int number) {
        if (HASH_SHIFT == 0) {
            return 0;
        }
        long header = U.getLong(object, 0);
        if ((header & mark()) == 0 && (header & FREE_MASK) == FREE) {
            // The hash is one of the JVM's.
            return 0;
        }
        if ((header & FREE_MASK) != FREE) {
            // A locked object has its hash elsewhere, and the place does not show whose it is.
            int tagged = tag(object, 0);
            if (tagged != 0) {
                return tagged;
            }
        }
        int index = seedOf(System.identityHashCode(object));
        return index != 0 && classAt(index) == number ? index : 0;
    }

    /** The constructor of Object runs, which all other constructors call. */
    public static void allocated(Object object) {
        if (U != null) {
            PerkFields state = state();
            long known = data(object.getClass());
            int index = state.own(known);
            if (index != 0) {
                int offset = (int) (known >>> OFFSET_SHIFT);
                if (offset != 0) {
                    U.putInt(object, offset, index);
                    // C2 does not scalarize an object whose header is written: its record must
                    // have an object in the heap.
                    U.putLong(object, 0, U.getLong(object, 0));
                } else {
                    identify(object, index);
                }
            }
        }
    }

    /** An object has been made by an instruction. */
    public static void created(Object object, int site) {
        if (U != null) {
            long record = recordOf(object, data(object.getClass()));
            if (record != RECORDS && U.getInt(null, record + SITE) == 0) {
                U.putInt(null, record + SITE, site);
            }
        }
    }

    /** An array has been made by an instruction. */
    public static void array(Object array, int site) {
        if (U != null) {
            PerkFields state = state();
            long known = data(array.getClass());
            int index = state.own(known);
            if (index != 0) {
                U.putInt(null, address(index) + SITE, site);
                identify(array, index);
            }
        }
    }

    /** An array has been made together with the arrays in it. */
    public static void arrays(Object array, int site) {
        array(array, site);
        if (array instanceof Object[] inner) {
            for (Object it : inner) {
                if (it != null) {
                    arrays(it, site);
                }
            }
        }
    }

    /** An object or array has been made by reflection. */
    public static void reflected(Object object, int site) {
        if (U != null && object != null) {
            long record = recordOf(object, data(object.getClass()));
            if (record != RECORDS) {
                U.putInt(null, record + SITE, site);
            } else if (object.getClass().isArray()) {
                array(object, site);
            }
        }
    }

    /** An array has been made by reflection together with the arrays in it. */
    public static void reflectedArrays(Object array, int site) {
        if (U != null && array != null) {
            arrays(array, site);
        }
    }

    /** A clone() has returned another object, which has the record of the first in its field. */
    public static void cloned(Object from, Object clone) {
        if (U != null && clone != null && clone != from) {
            int offset = (int) (data(clone.getClass()) >>> OFFSET_SHIFT);
            if (offset != 0 && from.getClass() == clone.getClass()) {
                int index = U.getInt(clone, offset);
                if (index != 0 && index == U.getInt(from, offset)) {
                    U.putInt(clone, offset, 0);
                    if (OFFSETS != 0) {
                        copiedFields(address(index), clone);
                    }
                }
            } else if (OFFSETS != 0 && from.getClass().isArray()) {
                copiedArray(from, clone, Array.getLength(from));
            }
        }
    }

    /** A clone() of an object is about to be called. */
    public static void cloning(Object from) {
        if (U != null && from != null) {
            // By its record, cloned() knows the call that has made the clone.
            recordOrUnknown(from);
        }
    }

    /** A method of Unsafe is about to access an object at an offset. */
    public static void accessedAt(Object object, long offset, int access) {
        if (U != null && object != null) {
            if (object.getClass().isArray()) {
                accessComponents(object, access, 1 << (access >> WIDTH_SHIFT) >> shiftOf(object));
            } else {
                accessOffset(object, offset, access);
            }
        }
    }

    /** A method of Unsafe is about to copy memory to or from an array. */
    public static void copiedMemory(Object from, long at, Object to, long toAt, long bytes) {
        if (U != null && bytes > 0) {
            accessMemory(from, IS_READ, bytes);
            accessMemory(to, IS_WRITE, bytes);
        }
    }

    /** A method of Unsafe is about to fill the memory of an array. */
    public static void filledMemory(Object array, long offset, long bytes) {
        if (U != null && bytes > 0) {
            accessMemory(array, IS_WRITE, bytes);
        }
    }

    /** System.arraycopy has copied components. */
    public static void copiedArray(Object from, Object to, int count) {
        if (U != null && count > 0) {
            accessComponents(from, IS_READ, count);
            accessComponents(to, IS_WRITE, count);
        }
    }

    /** A method of java.lang.reflect.Array is about to access an array. */
    public static void accessedArray(Object array, int access) {
        if (U != null && array != null && array.getClass().isArray()) {
            accessComponents(array, access, 1);
        }
    }

    /** Native code is about to access a field, whose counters are in a unit of the record. */
    private static long accessedUnit(Object object, int unit, int access) {
        accessUnit(object, unit, access, 1);
        return 0;
    }

    /** Native code is about to access components of an array. */
    private static long accessedComponents(Object array, int access, int count) {
        accessComponents(array, access, count);
        return 0;
    }

    private static void accessMemory(Object array, int access, long bytes) {
        if (array != null && array.getClass().isArray()) {
            accessComponents(array, access, (int) (bytes >> shiftOf(array)));
        }
    }

    private static void accessComponents(Object array, int access, int count) {
        // The units before are the head, and the accesses by instructions.
        int unit = (access & IS_OF_LENGTH) != 0 ? 3 : 4;
        accessUnit(array, unit, access, Math.max(count, 1));
    }

    @DontInline
    private static void accessOffset(Object object, long offset, int access) {
        Class<?> type = object.getClass();
        long key = data(type) << CLASS_SHIFT | offset << OFFSET_BITS;
        int hash = (int) ((key ^ key >>> CLASS_SHIFT - OFFSET_BITS) >>> OFFSET_BITS) & HASH_MASK;
        long place = OFFSETS + ((long) hash << FIELD_SHIFT);
        long word = U.getLong(null, place);
        if ((word ^ key) >>> OFFSET_BITS != 0 || offset >>> OFFSET_BITS != 0) {
            word = key & -1L << OFFSET_BITS | resolveOffset(type, offset);
            if (offset >>> OFFSET_BITS == 0) {
                U.putLong(null, place, word);
            }
        }
        int unit = (int) word & UNIT_MASK;
        if (unit != NO_FIELD) {
            accessUnit(object, unit, access, 1);
        }
    }

    /** Counts accesses by the counters in a unit of the object's record. */
    @DontInline
    private static void accessUnit(Object object, int unit, int access, int count) {
        if (state() == ENDED) {
            return;
        }
        long record = recordOrUnknown(object);
        if (record == RECORDS) {
            lost();
            return;
        }
        long counter = record + ((long) unit << UNIT_SHIFT);
        if ((access & IS_READ) != 0) {
            add(record, counter + READS, count);
        }
        if ((access & IS_WRITE) != 0) {
            add(record, counter + WRITES, count);
        }
    }

    private static void add(long record, long counter, int count) {
        PerkFields state = state();
        int before;
        if (U.getInt(null, record + OWNER) == state.owner) {
            before = U.getInt(null, counter);
            U.putInt(null, counter, before + count);
        } else {
            counter += OTHERS;
            before = U.getAndAddInt(null, counter, count);
        }
        if (Integer.compareUnsigned(before + count, before) < 0) {
            carry(counter);
        }
    }

    /** The JVM has copied all fields of an object with a record to its clone. */
    @DontInline
    private static void copiedFields(long from, Object clone) {
        if (state() == ENDED) {
            return;
        }
        long record = recordOrUnknown(clone);
        if (record == RECORDS) {
            lost();
            return;
        }
        int units = U.getInt(null, from + SIZE);
        for (int unit = (units + 1) >> 1; unit < units; unit++) {
            long counter = (long) unit << UNIT_SHIFT;
            add(from, from + counter + READS, 1);
            add(record, record + counter + WRITES, 1);
        }
    }

    /** Returns the record of an object; the first one if there is no room. */
    private static long recordOrUnknown(Object object) {
        long record = recordOf(object, data(object.getClass()));
        return record == RECORDS && state() != ENDED ? unknown(object) : record;
    }

    /** Returns the logarithm of the bytes of an array's component; 3 for references. */
    private static int shiftOf(Object array) {
        if (array instanceof byte[] || array instanceof boolean[]) {
            return 0;
        }
        if (array instanceof char[] || array instanceof short[]) {
            return 1;
        }
        return array instanceof int[] || array instanceof float[] ? 2 : 3;
    }

    /** Returns the state of a thread; null if it does not have one yet. */
    @ForceInline
    private static PerkFields stateOf(Thread thread) {
        return (PerkFields) U.getReference(thread, STATE_FIELD);
    }

    /** Returns the state of the calling thread, which gets one if it has none. */
    @ForceInline
    private static PerkFields state() {
        PerkFields state = stateOf(Thread.currentThread());
        return state == null ? begun() : state;
    }

    @DontInline
    private static PerkFields begun() {
        PerkFields state = begin(Thread.currentThread());
        // After a fault of the agent.
        return state == null ? ENDED : state;
    }

    /** Returns the data about a class. */
    @ForceInline
    private static long data(Class<?> type) {
        long known = U.getLong(type, CLASS_FIELD);
        return known == 0 ? known(type) : known;
    }

    /** Returns the record of an object of a class; the first one if it has none. */
    private static long recordOf(Object object, long known) {
        int offset = (int) (known >>> OFFSET_SHIFT);
        return recordOf(object, offset == 0 ? BY_HEADER : offset);
    }

    @ForceInline
    private static long address(int index) {
        return RECORDS + ((long) index << UNIT_SHIFT);
    }

    /** Makes a record for an object that this thread has allocated; 0 if there is no room. */
    @ForceInline
    private int own(long known) {
        if (this == ENDED) {
            return 0;
        }
        int units = (int) (known >>> NUMBER_BITS & UNITS_MASK);
        int index = take(units);
        if (index != 0) {
            int number = (int) (known & NUMBER_MASK);
            boolean isByHeader = known >>> OFFSET_SHIFT == 0;
            begin(index, owner, isByHeader ? number | Integer.MIN_VALUE : number, units);
        }
        return index;
    }

    /** Returns the index of the next record of that many units; 0 if there is no room. */
    @ForceInline
    private int take(int units) {
        int index = free;
        if (end - index < units) {
            return refillSafely(this, units);
        }
        free = index + units;
        return index;
    }

    @DontInline
    private static int refillSafely(PerkFields state, int units) {
        return state == ENDED ? 0 : refill(state, units);
    }

    @ForceInline
    private static void begin(int index, int owner, int number, int units) {
        long record = address(index);
        U.putLong(null, record + OWNER, (long) number << 32 | owner);
        U.putLong(null, record + SITE, (long) units << 32);
    }

    /** Writes the identity hash that leads to a record into the header of a new object or array. */
    @ForceInline
    private static void identify(Object object, int index) {
        long header = U.getLong(object, 0);
        if (HASH_SHIFT != 0 && isFree(header)) {
            U.putLong(object, 0, identified(header, index));
        } else {
            identifySafely(object, index);
        }
    }

    @DontInline
    private static void identifySafely(Object object, int index) {
        tag(object, index);
    }
}
