package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Stable;

/**
 * The methods that perk's probes call. The agent defines this class in java.base before the first
 * Java code runs, and starts it when the JVM is up. The bytes of the class are part of the agent.
 *
 * Each thread has a tree of calling contexts and a stack in the agent's native memory; a field of
 * java.lang.Thread holds the address of the stack's top. A virtual thread has them while a platform
 * thread carries it. A probe reads and writes a few words of them. It does not take locks, call
 * other code or allocate. The child of a node is the node that came next at the previous time, or
 * is found in the tree's hash table, or is made by the agent, in this order.
 *
 * The layouts of node, frame and tree are defined in the agent's exact/tree.rs.
 */
public final class PerkProbes {
    private static final int METHOD = 0;
    private static final int SITE = 4;
    /** The parent's address, and above {@link #LINE_SHIFT} the calling line. */
    private static final int CALLER = 8;
    private static final int LINE_SHIFT = 48;
    private static final int CONTEXT = 16;
    private static final int COUNT = 24;
    private static final int FIRST = 32;
    private static final int NEXT = 40;
    private static final int SELF = 48;
    private static final int TOTAL = 56;

    private static final int FRAME_NODE = 0;
    /** The node that the next call is expected to enter. */
    private static final int FRAME_NEXT = 8;
    /** The node that the last call entered. */
    private static final int FRAME_LAST = 16;
    private static final int FRAME_START = 24;
    private static final int FRAME_CALLEES = 32;
    private static final int FRAME_LINE = 40;
    /** 1 in the last frame that fits on the stack, else 0. */
    private static final int FRAME_LIMIT = 44;
    private static final int FRAME_BYTES = 48;

    private static final int TREE_CPU_NS = 0;
    private static final int TREE_TABLE = 8;
    private static final int TREE_MASK = 16;
    private static final int TREE_STACK = 24;
    private static final int TREE_SITES = 32;
    private static final int TREE_SITES_MASK = 40;
    /** 1 while the next array that is made by reflection is counted elsewhere. */
    private static final int TREE_WITHHELD = 48;

    private static final int RECORD_CLASS = 0;
    private static final int RECORD_LINE = 4;
    private static final int RECORD_NODE = 8;
    private static final int RECORD_COUNT = 16;
    private static final int RECORD_BYTES = 24;
    private static final int RECORD_SHIFT = 5;

    /**
     * The value in place of a tree if the thread has ended and is no longer counted. A virtual
     * thread without a carrier has an odd number there, and does not have a stack.
     */
    private static final long ENDED = -1;

    private static final int CLOCK_NONE = 1;
    private static final int CLOCK_CPU_TICK = 2;
    private static final int CLOCK_WALL_TICK = 3;

    // The JIT compilers treat a stable field as a constant once it is not zero.

    /** Null until the agent has called {@link #start}. */
    @Stable private static Unsafe U;
    @Stable private static long STACK_FIELD;
    @Stable private static long TREE_FIELD;
    @Stable private static int CLOCK;
    /** 2 if lines are recorded, else 1. */
    @Stable private static int LINES;
    /** The address of the word that holds the wall time. */
    @Stable private static long WALL_NS;
    /** The node that is not a child of any node. */
    @Stable private static long NIL;
    /**
     * The frame of threads without a stack. Thread's field holds the difference from this address,
     * so that 0 means this frame, in which no method runs.
     */
    @Stable private static long UNBORN;

    /** The beginning of the allocation records. The first one has no site; its counts are ignored. */
    @Stable private static long RECORDS;
    /**
     * The offset in classes of their number, and above {@link #OFFSET_SHIFT} the offset in their
     * objects of the record's index; 0 if the objects do not have a field for it. The field is
     * stable and written once: where the JIT compilers know the class, they know both.
     */
    @Stable private static long RECORDS_FIELD;
    private static final int OFFSET_SHIFT = 32;
    /** 2 if live objects are looked for, else 1. */
    @Stable private static int LIVENESS;
    /** The alignment of sizes, minus one. */
    @Stable private static long ALIGNMENT_MASK;
    /** The offset of the elements in an array, for elements of up to four bytes, or of eight. */
    @Stable private static long BASE;
    @Stable private static long BASE8;
    /** The size of a reference, in bytes. */
    @Stable private static int REFERENCE;
    /** The offset of the backtrace in an exception. */
    @Stable private static long BACKTRACE_FIELD;
    /** A byte per class by its number: 0 until it is known whether the class inherits clone(). */
    @Stable private static long CLONES;
    @Stable private static int CLONES_COUNT;

    private static final byte INHERITS = 1;
    private static final byte OVERRIDES = 2;

    private PerkProbes() {}

    /** Starts counting. Before, the probes do nothing, because the JVM is starting. */
    private static long start(int clock, int lines, long wall, long nil, long unborn) {
        Unsafe unsafe = Unsafe.getUnsafe();
        STACK_FIELD = unsafe.objectFieldOffset(Thread.class, "$perkStack");
        TREE_FIELD = unsafe.objectFieldOffset(Thread.class, "$perkTree");
        CLOCK = clock;
        LINES = lines;
        WALL_NS = wall;
        NIL = nil;
        UNBORN = unborn;
        U = unsafe;
        return 0;
    }

    /**
     * Starts counting allocations; called before {@link #start}. To find the live ones, objects
     * hold the index of their record, and the agent keeps weak references to arrays and to objects
     * without a field for it. The agent passes the offsets of array elements, because Unsafe
     * returns an int before JDK 25 and a long since then.
     */
    private static long startSites(
            long records, int liveness, int alignment, int base, int base8, int reference) {
        Unsafe unsafe = Unsafe.getUnsafe();
        RECORDS_FIELD = unsafe.objectFieldOffset(Class.class, "$perkRecords");
        LIVENESS = liveness;
        ALIGNMENT_MASK = alignment - 1;
        BASE = base;
        BASE8 = base8;
        REFERENCE = reference;
        RECORDS = records;
        return 0;
    }

    /** Sets the fields for backtraces and clones; called before {@link #startSites}. */
    private static long startClones(long clones, int count) {
        BACKTRACE_FIELD = Unsafe.getUnsafe().objectFieldOffset(Throwable.class, "backtrace");
        CLONES = clones;
        CLONES_COUNT = count;
        return 0;
    }

    /** Returns the offset of the record's field in the objects of a class that declares it. */
    private static long offset(Class<?> type) {
        return Unsafe.getUnsafe().objectFieldOffset(type, "$perkRecord");
    }

    /** Returns the top of the calling thread's new stack; {@link #UNBORN} if it is not counted. */
    private static native long begin(Thread thread);

    /** Makes the child of a context for a method called from a line. */
    private static native long grow(long tree, long context, int method, int line);

    /** Makes the stack larger and returns its new top. */
    private static native long extend(long tree, long top);

    /** Returns the frame to continue with if a method returns or catches, from the top outward. */
    private static native long unwind(long tree, long top, int method, boolean leave, long now);

    /** Gives a number to a class without one and returns it; 0 if the class does not get one. */
    private static native int number(Class<?> type);

    /** Whether the clone() of a class is that of Object. */
    private static native boolean inherits(Class<?> type);

    /** Makes a record and returns its index. */
    private static native int record(long tree, long node, int number, int line);

    /** Has the agent watch whether an object or array is live. */
    private static native void keep(long tree, Object object, int index, long bytes);

    /** Lets the calling virtual thread continue with the tree of a platform thread. */
    private static native void mount(Thread thread);

    /** Detaches the calling virtual thread from the tree of its platform thread. */
    private static native void unmount(Thread thread);

    /** A method begins. */
    public static void enter(int method) {
        if (U == null) {
            return;
        }
        Thread thread = Thread.currentThread();
        long top = U.getLong(thread, STACK_FIELD) ^ UNBORN;
        long node = U.getLong(null, top + FRAME_NEXT);
        int unexpected = U.getInt(null, node + METHOD) ^ method | U.getInt(null, top + FRAME_LIMIT);
        if (LINES == 2) {
            unexpected |= U.getChar(null, node + CALLER + 6) ^ U.getChar(null, top + FRAME_LINE);
        }
        if (unexpected != 0) {
            enterSlowly(thread, top, method);
            return;
        }
        U.putLong(null, top + FRAME_NEXT, U.getLong(null, node + NEXT));
        U.putLong(null, top + FRAME_LAST, node);
        U.putLong(null, node + COUNT, U.getLong(null, node + COUNT) + 1);
        top += FRAME_BYTES;
        U.putLong(null, top + FRAME_NODE, node);
        U.putLong(null, top + FRAME_NEXT, U.getLong(null, node + FIRST));
        U.putLong(null, top + FRAME_LAST, NIL);
        if (LINES == 2) {
            U.putChar(null, top + FRAME_LINE, (char) 0);
        }
        if (CLOCK != CLOCK_NONE) {
            U.putLong(null, top + FRAME_START, now(thread));
            U.putLong(null, top + FRAME_CALLEES, 0);
        }
        U.putLong(thread, STACK_FIELD, top ^ UNBORN);
    }

    /** A method begins in which nothing happens that would have to be reported. */
    public static void touch(int method) {
        if (U == null) {
            return;
        }
        Thread thread = Thread.currentThread();
        long top = U.getLong(thread, STACK_FIELD) ^ UNBORN;
        long node = U.getLong(null, top + FRAME_NEXT);
        int unexpected = U.getInt(null, node + METHOD) ^ method;
        if (LINES == 2) {
            unexpected |= U.getChar(null, node + CALLER + 6) ^ U.getChar(null, top + FRAME_LINE);
        }
        if (unexpected != 0) {
            touchSlowly(thread, top, method);
            return;
        }
        U.putLong(null, top + FRAME_NEXT, U.getLong(null, node + NEXT));
        U.putLong(null, top + FRAME_LAST, node);
        U.putLong(null, node + COUNT, U.getLong(null, node + COUNT) + 1);
    }

    /** A method that cannot hold probes is about to be called. */
    public static void enterLeaf(int method) {
        enter(method);
    }

    /** A method returns or is unwound. */
    public static void exit(int method) {
        if (U == null) {
            return;
        }
        Thread thread = Thread.currentThread();
        long top = U.getLong(thread, STACK_FIELD) ^ UNBORN;
        long node = U.getLong(null, top + FRAME_NODE);
        if (U.getInt(null, node + METHOD) != method) {
            repair(thread, top, method, true);
            return;
        }
        if (CLOCK != CLOCK_NONE) {
            long took = now(thread) - U.getLong(null, top + FRAME_START);
            long own = took - U.getLong(null, top + FRAME_CALLEES);
            U.putLong(null, node + SELF, U.getLong(null, node + SELF) + own);
            U.putLong(null, node + TOTAL, U.getLong(null, node + TOTAL) + took);
            long outer = top - FRAME_BYTES + FRAME_CALLEES;
            U.putLong(null, outer, U.getLong(null, outer) + took);
        }
        // The top is set before the frame is cleared: Thread.stop (JDK 17) can end this anywhere,
        // and the frames below the top must be whole.
        U.putLong(thread, STACK_FIELD, top - FRAME_BYTES ^ UNBORN);
        if (CLOCK != CLOCK_NONE) {
            U.putLong(null, top + FRAME_NODE, 0);
        }
    }

    /** A method continues in one of its exception handlers. */
    public static void caught(int method) {
        if (U == null) {
            return;
        }
        Thread thread = Thread.currentThread();
        long top = U.getLong(thread, STACK_FIELD) ^ UNBORN;
        if (U.getInt(null, U.getLong(null, top + FRAME_NODE) + METHOD) != method) {
            repair(thread, top, method, false);
        }
    }

    /** The running method is now at a line. */
    public static void line(int line) {
        if (U != null) {
            long top = U.getLong(Thread.currentThread(), STACK_FIELD) ^ UNBORN;
            U.putChar(null, top + FRAME_LINE, (char) line);
        }
    }

    /** The calling virtual thread now runs on a platform thread. */
    public static void mounted(Thread thread) {
        if (U != null && U.getLong(thread, TREE_FIELD) > 0) {
            mount(thread);
        }
    }

    /** The calling virtual thread is about to leave its platform thread. */
    public static void unmounted(Thread thread) {
        if (U != null && U.getLong(thread, TREE_FIELD) > 0) {
            unmount(thread);
        }
    }

    /** The constructor of Object runs, which all other constructors call. */
    public static void allocated(Object object) {
        if (U != null) {
            Thread thread = Thread.currentThread();
            Class<?> type = object.getClass();
            int index = site(thread, type);
            long record = RECORDS + ((long) index << RECORD_SHIFT);
            U.putLong(null, record + RECORD_COUNT, U.getLong(null, record + RECORD_COUNT) + 1);
            if (LIVENESS == 2) {
                long offset = U.getLong(type, RECORDS_FIELD) >>> OFFSET_SHIFT;
                if (offset != 0) {
                    U.putInt(object, offset, index);
                } else {
                    keepSafely(thread, object, index, 0);
                }
            }
        }
    }

    /** An object or array has been made without a constructor. */
    public static void made(Object object) {
        if (object instanceof Object[] array) {
            array(array);
        } else if (object instanceof byte[] array) {
            array(array);
        } else if (object instanceof int[] array) {
            array(array);
        } else if (object instanceof long[] array) {
            array(array);
        } else if (object instanceof char[] array) {
            array(array);
        } else if (object instanceof short[] array) {
            array(array);
        } else if (object instanceof boolean[] array) {
            array(array);
        } else if (object instanceof double[] array) {
            array(array);
        } else if (object instanceof float[] array) {
            array(array);
        } else if (object != null) {
            allocated(object);
        }
    }

    /** The next array that the running method makes by reflection is counted at the method's call. */
    public static void withhold() {
        if (U != null) {
            Thread thread = Thread.currentThread();
            if (born(thread, U.getLong(thread, STACK_FIELD) ^ UNBORN) != UNBORN) {
                U.putInt(null, U.getLong(thread, TREE_FIELD) + TREE_WITHHELD, 1);
            }
        }
    }

    /** An array has been made by reflection. */
    public static void reflected(Object array) {
        if (U == null) {
            return;
        }
        Thread thread = Thread.currentThread();
        if ((U.getLong(thread, STACK_FIELD) ^ UNBORN) != UNBORN) {
            long withheld = U.getLong(thread, TREE_FIELD) + TREE_WITHHELD;
            if (U.getInt(null, withheld) != 0) {
                U.putInt(null, withheld, 0);
                return;
            }
        }
        made(array);
    }

    /** A clone() was called on an object and has returned another object. */
    public static void cloned(Object from, Object clone) {
        if (U != null && clone != null && inheritsClone(from.getClass())) {
            made(clone);
        }
    }

    /** A method of a class has called the clone() of the superclass. */
    public static void clonedAbove(Object clone, Class<?> type) {
        if (U != null && clone != null && inheritsClone(type.getSuperclass())) {
            made(clone);
        }
    }

    private static boolean inheritsClone(Class<?> type) {
        int number = numberOf(type);
        if (number == 0 || number >= CLONES_COUNT) {
            return inherits(type);
        }
        byte known = U.getByte(null, CLONES + number);
        if (known == 0) {
            known = inherits(type) ? INHERITS : OVERRIDES;
            U.putByte(null, CLONES + number, known);
        }
        return known == INHERITS;
    }

    /**
     * An exception has got its backtrace: chunks of arrays, each of which holds the next. The next
     * chunk differs from the other Object[], of classes, in that it contains arrays.
     */
    public static void traced(Throwable exception) {
        if (U == null) {
            return;
        }
        Object[] next = null;
        if (U.getReference(exception, BACKTRACE_FIELD) instanceof Object[] first) {
            next = first;
        }
        while (next != null) {
            Object[] chunk = next;
            next = null;
            array(chunk);
            Object methods = chunk[0];
            for (Object part : chunk) {
                if (part instanceof int[] array) {
                    array(array);
                } else if (part instanceof long[] array) {
                    array(array);
                } else if (part instanceof Object[] array) {
                    if (array.length > 0 && array[0] instanceof short[]) {
                        next = array;
                    } else {
                        array(array);
                    }
                }
            }
            // This array may be in the chunk twice, as a mark.
            if (methods instanceof short[] array) {
                array(array);
            }
        }
    }

    /** An array has been made together with the arrays in it. */
    public static void arrays(Object array) {
        made(array);
        if (array instanceof Object[] inner) {
            for (Object it : inner) {
                if (it != null) {
                    arrays(it);
                }
            }
        }
    }

    public static void array(Object[] array) {
        count(array, (REFERENCE == 8 ? BASE8 : BASE) + (long) array.length * REFERENCE);
    }

    public static void array(boolean[] array) {
        count(array, BASE + array.length);
    }

    public static void array(byte[] array) {
        count(array, BASE + array.length);
    }

    public static void array(char[] array) {
        count(array, BASE + ((long) array.length << 1));
    }

    public static void array(short[] array) {
        count(array, BASE + ((long) array.length << 1));
    }

    public static void array(int[] array) {
        count(array, BASE + ((long) array.length << 2));
    }

    public static void array(float[] array) {
        count(array, BASE + ((long) array.length << 2));
    }

    public static void array(long[] array) {
        count(array, BASE8 + ((long) array.length << 3));
    }

    public static void array(double[] array) {
        count(array, BASE8 + ((long) array.length << 3));
    }

    /** Counts an array whose last element ends at an offset. */
    @ForceInline
    private static void count(Object array, long end) {
        if (U == null) {
            return;
        }
        Thread thread = Thread.currentThread();
        int index = site(thread, array.getClass());
        long record = RECORDS + ((long) index << RECORD_SHIFT);
        long bytes = end + ALIGNMENT_MASK & ~ALIGNMENT_MASK;
        U.putLong(null, record + RECORD_COUNT, U.getLong(null, record + RECORD_COUNT) + 1);
        U.putLong(null, record + RECORD_BYTES, U.getLong(null, record + RECORD_BYTES) + bytes);
        if (LIVENESS == 2) {
            keepSafely(thread, array, index, bytes);
        }
    }

    @ForceInline
    private static void keepSafely(Thread thread, Object object, int index, long bytes) {
        if (index != 0) {
            keep(U.getLong(thread, TREE_FIELD), object, index, bytes);
        }
    }

    /** Returns the record's index for a class at the thread's current place; 0 if not counted. */
    @ForceInline
    private static int site(Thread thread, Class<?> type) {
        long top = U.getLong(thread, STACK_FIELD) ^ UNBORN;
        int index = U.getInt(null, U.getLong(null, top + FRAME_NODE) + SITE);
        long record = RECORDS + ((long) index << RECORD_SHIFT);
        int number = (int) U.getLong(type, RECORDS_FIELD);
        int differs = U.getInt(null, record + RECORD_CLASS) ^ number;
        if (LINES == 2) {
            differs |= U.getChar(null, record + RECORD_LINE) ^ U.getChar(null, top + FRAME_LINE);
        }
        return differs == 0 ? index : findSite(thread, top, type);
    }

    /** Finds a record that was not the expected one. */
    @DontInline
    private static int findSite(Thread thread, long top, Class<?> type) {
        top = born(thread, top);
        if (top == UNBORN) {
            return 0;
        }
        int number = numberOf(type);
        if (number == 0) {
            return 0;
        }
        int line = LINES == 2 ? U.getChar(null, top + FRAME_LINE) : 0;
        long node = U.getLong(null, top + FRAME_NODE);
        long tree = U.getLong(thread, TREE_FIELD);
        long table = U.getLong(null, tree + TREE_SITES);
        long mask = U.getLong(null, tree + TREE_SITES_MASK);
        long at = (((node >>> 4) * 31 + number) * 31 + line) * 0x9E3779B97F4A7C15L >>> 30;
        int index;
        for (;; at += 4) {
            at &= mask;
            index = U.getInt(null, table + at);
            if (index == 0) {
                index = record(tree, node, number, line);
                break;
            }
            long record = RECORDS + ((long) index << RECORD_SHIFT);
            if (U.getLong(null, record + RECORD_NODE) == node
                    && U.getInt(null, record + RECORD_CLASS) == number
                    && U.getChar(null, record + RECORD_LINE) == line) {
                break;
            }
        }
        U.putInt(null, node + SITE, index);
        return index;
    }

    /** Returns the number of a class; 0 if the class does not get one. */
    private static int numberOf(Class<?> type) {
        int number = (int) U.getLong(type, RECORDS_FIELD);
        return number == 0 ? number(type) : number;
    }

    @ForceInline
    private static long now(Thread thread) {
        if (CLOCK == CLOCK_CPU_TICK) {
            return U.getLong(null, U.getLong(thread, TREE_FIELD) + TREE_CPU_NS);
        }
        return CLOCK == CLOCK_WALL_TICK ? U.getLong(null, WALL_NS) : System.nanoTime();
    }

    /** Compares a node with a method called from here: 0 if the node is for this call. */
    @ForceInline
    private static int differs(long node, long top, int method) {
        int differs = U.getInt(null, node + METHOD) ^ method;
        if (LINES == 2) {
            differs |= U.getChar(null, node + CALLER + 6) ^ U.getChar(null, top + FRAME_LINE);
        }
        return differs;
    }

    /** Counts a call of a node. The next expected node is the one that followed it the last time. */
    @ForceInline
    private static void count(long top, long node) {
        U.putLong(null, top + FRAME_NEXT, U.getLong(null, node + NEXT));
        U.putLong(null, top + FRAME_LAST, node);
        U.putLong(null, node + COUNT, U.getLong(null, node + COUNT) + 1);
    }

    @ForceInline
    private static void push(Thread thread, long top, long node, long start) {
        U.putLong(null, top + FRAME_NODE, node);
        U.putLong(null, top + FRAME_NEXT, U.getLong(null, node + FIRST));
        U.putLong(null, top + FRAME_LAST, NIL);
        if (LINES == 2) {
            U.putChar(null, top + FRAME_LINE, (char) 0);
        }
        if (CLOCK != CLOCK_NONE) {
            U.putLong(null, top + FRAME_START, start);
            U.putLong(null, top + FRAME_CALLEES, 0);
        }
        U.putLong(thread, STACK_FIELD, top ^ UNBORN);
    }

    /** A method begins that was not expected, or for which there is no room on the stack. */
    @DontInline
    private static void enterSlowly(Thread thread, long top, int method) {
        top = born(thread, top);
        if (top == UNBORN) {
            return;
        }
        long node = find(thread, top, method);
        long start = CLOCK == CLOCK_NONE ? 0 : now(thread);
        if (U.getInt(null, top + FRAME_LIMIT) != 0) {
            top = extend(U.getLong(thread, TREE_FIELD), top);
        }
        count(top, node);
        push(thread, top + FRAME_BYTES, node, start);
    }

    @DontInline
    private static void touchSlowly(Thread thread, long top, int method) {
        top = born(thread, top);
        if (top == UNBORN) {
            return;
        }
        long node = find(thread, top, method);
        count(top, node);
    }

    /** Returns the top of a stack, creating the stack if needed; {@link #UNBORN} if not counted. */
    @ForceInline
    private static long born(Thread thread, long top) {
        return top == UNBORN ? bottom(thread) : top;
    }

    /** Returns the top of a thread's new stack, or {@link #UNBORN} if it is not counted. */
    @DontInline
    private static long bottom(Thread thread) {
        return U.getLong(thread, TREE_FIELD) == ENDED ? UNBORN : begin(thread);
    }

    /** Finds a child that was not the expected one. */
    private static long find(Thread thread, long top, int method) {
        long next = U.getLong(null, top + FRAME_NEXT);
        if (differs(next, top, method) == 0) {
            return next;
        }
        int line = LINES == 2 ? U.getChar(null, top + FRAME_LINE) : 0;
        long parent = U.getLong(null, top + FRAME_NODE);
        long context = U.getLong(null, parent + CONTEXT);
        long caller = context | (long) line << LINE_SHIFT;
        long tree = U.getLong(thread, TREE_FIELD);
        long table = U.getLong(null, tree + TREE_TABLE);
        long mask = U.getLong(null, tree + TREE_MASK);
        long at = (((context >>> 4) * 31 + method) * 31 + line) * 0x9E3779B97F4A7C15L >>> 29;
        long node;
        for (;; at += 8) {
            at &= mask;
            node = U.getLong(null, table + at);
            if (node == 0) {
                node = grow(tree, context, method, line);
                break;
            }
            if (U.getLong(null, node + CALLER) == caller && U.getInt(null, node + METHOD) == method) {
                break;
            }
        }
        long last = U.getLong(null, top + FRAME_LAST);
        if (last != NIL) {
            U.putLong(null, last + NEXT, node);
        } else {
            U.putLong(null, parent + FIRST, node);
        }
        return node;
    }

    /** Returns to the right frame if callees were left without a report. */
    @DontInline
    private static void repair(Thread thread, long top, int method, boolean leave) {
        if (top != UNBORN) {
            long now = CLOCK == CLOCK_NONE ? 0 : now(thread);
            long tree = U.getLong(thread, TREE_FIELD);
            long kept = unwind(tree, top, method, leave, now);
            U.putLong(thread, STACK_FIELD, kept ^ UNBORN);
            for (long left = top; left > kept; left -= FRAME_BYTES) {
                U.putLong(null, left + FRAME_NODE, 0);
            }
        }
    }

    /**
     * Calls the probes of a method {@code count} times, in a tree of their own, and returns the
     * elapsed nanoseconds.
     */
    private static long calibrate(long tree, int method, int count) {
        Thread thread = Thread.currentThread();
        long ownTree = U.getLong(thread, TREE_FIELD);
        long ownTop = U.getLong(thread, STACK_FIELD);
        U.putLong(thread, TREE_FIELD, tree);
        U.putLong(thread, STACK_FIELD, U.getLong(null, tree + TREE_STACK) ^ UNBORN);
        long begin = System.nanoTime();
        for (int i = 0; i < count; i++) {
            enter(method);
            exit(method);
        }
        long end = System.nanoTime();
        U.putLong(thread, TREE_FIELD, ownTree);
        U.putLong(thread, STACK_FIELD, ownTop);
        return end - begin;
    }
}
