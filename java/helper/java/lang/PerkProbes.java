package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Stable;

/**
 * What perk's probes call. The agent defines this class in java.base before the first Java code
 * runs, and starts it when the JVM is up; its bytes are part of the agent.
 *
 * Each thread has a tree of calling contexts and a stack in the agent's native memory; a field of
 * java.lang.Thread holds the address of the stack's top. A virtual thread has them as long as a
 * platform thread carries it. A probe reads and writes a few words of them; it takes no lock, calls nothing and allocates nothing. A node's children are found,
 * in this order: as the one that came next the time before; in the tree's hash table; made by the
 * agent.
 *
 * The layouts of node, frame and tree are those of the agent's exact/tree.rs.
 */
public final class PerkProbes {
    private static final int METHOD = 0;
    private static final int SITE = 4;
    /** The parent's address, and above {@link #LINE_SHIFT} the line that calls. */
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
    /** 1 in the last frame that the stack has room for, else 0. */
    private static final int FRAME_LIMIT = 44;
    private static final int FRAME_BYTES = 48;

    private static final int TREE_CPU_NS = 0;
    private static final int TREE_TABLE = 8;
    private static final int TREE_MASK = 16;
    private static final int TREE_STACK = 24;
    private static final int TREE_SITES = 32;
    private static final int TREE_SITES_MASK = 40;
    /** 1 while the next array that is made by reflection is counted by another. */
    private static final int TREE_WITHHELD = 48;

    private static final int RECORD_CLASS = 0;
    private static final int RECORD_LINE = 4;
    private static final int RECORD_NODE = 8;
    private static final int RECORD_COUNT = 16;
    private static final int RECORD_BYTES = 24;
    private static final int RECORD_SHIFT = 5;

    /**
     * In place of a tree: the thread has ended, what it still does is not counted. A virtual thread
     * that no platform thread carries has an odd number there, and no stack.
     */
    private static final long ENDED = -1;

    private static final int CLOCK_NONE = 1;
    private static final int CLOCK_CPU_TICK = 2;
    private static final int CLOCK_WALL_TICK = 3;

    // A stable field is a constant to the JIT compilers once it is not zero.

    /** Null until the agent has called {@link #start}. */
    @Stable private static Unsafe U;
    @Stable private static long STACK_FIELD;
    @Stable private static long TREE_FIELD;
    @Stable private static int CLOCK;
    /** 1, or 2 with lines. */
    @Stable private static int LINES;
    /** The address of the wall time. */
    @Stable private static long WALL_NS;
    /** The node that is nobody's child. */
    @Stable private static long NIL;
    /**
     * The frame of threads that have no stack. Thread's field holds the difference to it, so that
     * 0 means this frame, in which no method runs.
     */
    @Stable private static long UNBORN;

    /** Where allocation records begin. No site has the first one, and what it counts is nothing. */
    @Stable private static long RECORDS;
    /**
     * Where classes hold their number, and above {@link #OFFSET_SHIFT} where their objects hold the
     * index of their record; 0 where they have no field for it. It is written once, and stable: where
     * the JIT compilers know the class they know both.
     */
    @Stable private static long RECORDS_FIELD;
    private static final int OFFSET_SHIFT = 32;
    /** 1, or 2 where it is looked for what of all that is live. */
    @Stable private static int LIVENESS;
    /** What sizes are multiples of, less one. */
    @Stable private static long ALIGNMENT_MASK;
    /** Where the elements of an array begin that have up to four bytes, or eight. */
    @Stable private static long BASE;
    @Stable private static long BASE8;
    /** The size of a reference. */
    @Stable private static int REFERENCE;
    /** Where an exception holds its backtrace. */
    @Stable private static long BACKTRACE_FIELD;
    /** A byte for each class by its number: 0 as long as it is not known whether it inherits clone(). */
    @Stable private static long CLONES;
    @Stable private static int CLONES_COUNT;

    private static final byte INHERITS = 1;
    private static final byte OVERRIDES = 2;

    private PerkProbes() {}

    /** The probes begin to count. Until now they did nothing: the JVM was starting. */
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
     * Allocations are counted, too; called before {@link #start}. To find what of them is live,
     * objects hold the index of their record, and the agent keeps weak references to arrays and to
     * objects that have no field for it. Where arrays begin is asked of the agent: Unsafe's answer
     * was an int before JDK 25, and is a long.
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

    /** Called before {@link #startSites}. */
    private static long startClones(long clones, int count) {
        BACKTRACE_FIELD = Unsafe.getUnsafe().objectFieldOffset(Throwable.class, "backtrace");
        CLONES = clones;
        CLONES_COUNT = count;
        return 0;
    }

    /** Where the objects of a class that declares a field for their record have it. */
    private static long offset(Class<?> type) {
        return Unsafe.getUnsafe().objectFieldOffset(type, "$perkRecord");
    }

    /** The top of the calling thread's new stack, or {@link #UNBORN} if nothing of it is counted. */
    private static native long begin(Thread thread);

    /** Makes the child of a context for a method called from a line. */
    private static native long grow(long tree, long context, int method, int line);

    /** Makes the stack larger; answers where its top is now. */
    private static native long extend(long tree, long top);

    /** The frame to go on with where a method returns or catches, from the top outward. */
    private static native long unwind(long tree, long top, int method, boolean leave, long now);

    /** The number of a class that has none yet, which holds it then; 0 if it gets none. */
    private static native int number(Class<?> type);

    /** Whether the clone() of a class is Object's. */
    private static native boolean inherits(Class<?> type);

    /** The index of a new record. */
    private static native int record(long tree, long node, int number, int line);

    /** An object or array is to be looked after: is it live? */
    private static native void keep(long tree, Object object, int index, long bytes);

    /** The calling virtual thread goes on with the tree of a platform thread. */
    private static native void mount(Thread thread);

    /** The calling virtual thread leaves it. */
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

    /** A method begins in which nothing happens that would have to be told of. */
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
        // Before the frame is cleared: Thread.stop (JDK 17) can end this anywhere, and what is below
        // the top must be whole.
        U.putLong(thread, STACK_FIELD, top - FRAME_BYTES ^ UNBORN);
        if (CLOCK != CLOCK_NONE) {
            U.putLong(null, top + FRAME_NODE, 0);
        }
    }

    /** A method goes on in one of its exception handlers. */
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

    /** A constructor runs, that of Object, to which all others come. */
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

    /** What the running method makes next by reflection is counted where that method was called. */
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

    /** A clone() was called on an object, and has returned another. */
    public static void cloned(Object from, Object clone) {
        if (U != null && clone != null && inheritsClone(from.getClass())) {
            made(clone);
        }
    }

    /** A method of a class has called the clone() of the class above it. */
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
     * An exception has got its backtrace: chunks of arrays, each of which holds the next. What tells
     * that from its other Object[], of classes, is that arrays are in it.
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
            // It may be there twice, as a mark.
            if (methods instanceof short[] array) {
                array(array);
            }
        }
    }

    /** An array has been made with the arrays in it. */
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

    /** Counts an array whose last element ends there. */
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

    /** The index of the record for a class where the thread is now; 0 if it is not counted. */
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

    /** The record that was not foreseen. */
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

    /** The number of a class; 0 if it gets none. */
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

    /** Whether a node is not for a method called from here: 0 if it is. */
    @ForceInline
    private static int differs(long node, long top, int method) {
        int differs = U.getInt(null, node + METHOD) ^ method;
        if (LINES == 2) {
            differs |= U.getChar(null, node + CALLER + 6) ^ U.getChar(null, top + FRAME_LINE);
        }
        return differs;
    }

    /** Counts a call of a node, and expects next what came after it the last time. */
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

    /** A method begins that was not foreseen, or for which there is no room on the stack. */
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

    /** The top of a stack, which begins here at the latest; {@link #UNBORN} if nothing is counted. */
    @ForceInline
    private static long born(Thread thread, long top) {
        return top == UNBORN ? bottom(thread) : top;
    }

    /** The top of a thread's new stack, or {@link #UNBORN} if nothing of it is counted. */
    @DontInline
    private static long bottom(Thread thread) {
        return U.getLong(thread, TREE_FIELD) == ENDED ? UNBORN : begin(thread);
    }

    /** The child that was not foreseen. */
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

    /** Returns to the right frame where callees were left that nobody told of. */
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
     * Calls the probes of a method {@code count} times, in a tree of their own, and answers the
     * nanoseconds it took.
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
