package java.lang;

import java.util.ArrayList;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Stable;

/**
 * The methods that perk's probes call, and the state of a thread, which is an object of this class.
 * The agent defines the class in java.base before the first Java code runs, and starts it when the
 * JVM is up; or, in a program that runs already, when a recording begins, one class for each. The
 * bytes of the class are part of the agent.
 *
 * Each thread has a tree of calling contexts in the agent's native memory; a field of
 * java.lang.Thread refers to the thread's state, which holds the context of the running method. In a
 * program that runs already Thread cannot get a field: the state is in a table by the thread's id. A
 * method that is entered makes its context the thread's, and keeps that of its caller in a local
 * variable; it stores that one when it ends. So there is no stack to keep, and nothing to repair
 * after an exception: the method that catches it stores its own context.
 *
 * A probe reads and writes a few words. It does not take locks, call other code or allocate. The
 * child of a node is the node that came next at the previous time, or at another time before, or is
 * found in the tree's hash table, or is made by the agent, in this order.
 *
 * The layouts of node and tree are defined in the agent's exact/tree.rs.
 */
public final class PerkProbes extends PerkHeaders {
    /** The method; above {@link #LINE_SHIFT} the calling line, above {@link #TREE_SHIFT} the tree. */
    private static final int KEY = 0;
    private static final int EXPECTED = 8;
    private static final int COUNT = 16;
    private static final int NEXT = 24;
    private static final int SELF = 32;
    private static final int PARENT = 40;
    /** The index of a node, as {@link #OTHER}. */
    private static final int CONTEXT = 48;
    private static final int SITE = 52;
    /** The lower half of the address of a node. */
    private static final int LAST = 56;
    private static final int OTHER = 60;
    /** The number of bits of a node's size. */
    private static final int NODE_SHIFT = 6;
    private static final int LINE_SHIFT = 32;
    private static final int TREE_SHIFT = 48;

    private static final int TREE_TABLE = 0;
    private static final int TREE_MASK = 8;
    private static final int TREE_SITES = 16;
    private static final int TREE_SITES_MASK = 24;
    private static final int TREE_LOST = 32;
    private static final int TREE_BY_SITE = 40;

    /** The class; the line and the tree are as in the key of a node. */
    private static final int RECORD_KEY = 0;
    private static final int RECORD_NODE = 8;
    private static final int RECORD_COUNT = 16;
    private static final int RECORD_BYTES = 24;
    private static final int RECORD_SHIFT = 5;

    /** A position is the address of a node, and above this the line of the method. */
    private static final int POSITION_SHIFT = 48;
    private static final long ADDRESS = (1L << POSITION_SHIFT) - 1;

    /** The number of calls that {@link #calibrate} times at once. */
    private static final int ROUND = 1024;
    /** Selects the bits of a call's index that select its method: a processor foresees less than with one. */
    private static final int SIBLINGS = 7;

    /** Selects the bits of a seed that number the hashes of a block. */
    private static final int IN_BLOCK = 63;

    // The JIT compilers treat a stable field as a constant once it is not zero.

    /** Null until the agent has called {@link #start}. */
    @Stable private static Unsafe U;
    /** The offset in threads of their state; of their id if the states are in a table. */
    @Stable private static long STATE_FIELD;
    /** 2 if the states are in a table, else 1. */
    @Stable private static int LATE;
    /** 2 if each probe reads the time, else 1. */
    @Stable private static int EXACT;
    /** 2 if the clock reads the contexts, else 1. */
    @Stable private static int FENCED;
    /** 2 if lines are recorded, else 1. */
    @Stable private static int LINES;
    /** 2 if the JVM has virtual threads, else 1. */
    @Stable private static int VIRTUAL;
    /** The node that is not a child of any node. It has index 0, and all others come after it. */
    @Stable private static long NIL;
    /** The state of all threads before {@link #start}. */
    private static final PerkProbes EARLY = new PerkProbes();
    /** The state of threads that are not counted, such as those that have ended. */
    private static final PerkProbes ENDED = new PerkProbes();

    /**
     * The states of the threads by the lower bits of their id; one whose place is taken has the next
     * free one. Those that have ended leave {@link #ENDED}. At most a quarter is in use, so that most
     * threads have their own place. A table whose content would have to move is replaced. Null if the
     * states are in a field.
     */
    private static PerkProbes[] states;
    /** The number of places of the table that are in use. */
    private static int stateCount;
    /** Whether the recording has ended: the trees are no longer there. */
    private static boolean isOver;

    /** The id of the thread, if states are in a table. */
    private long id;
    /** The position of the running method. Probes store it. */
    public long context;
    /** The position before the method that was entered last. Probes read it. */
    public long caller;
    /**
     * Read where the context has been stored and calls are timed. The JIT compilers move no store
     * past the read of a volatile field, and drop none before it, though nothing in the program reads
     * the context: without it C2 would do both around loops that touch no memory, and the clock would
     * find the thread elsewhere. On x86-64 the read takes no instruction in compiled code.
     */
    public volatile int fence;
    /** The number of the tree, above {@link #TREE_SHIFT}. */
    private long key;
    /** The address of the tree in which the thread counts. */
    private long tree;
    /** With an exact clock, the time up to which the time is booked. */
    private long since;
    /** The state of the virtual thread that this platform thread carries. */
    private PerkProbes guest;
    /** The address of the agent's data about a virtual thread without a carrier. */
    private long parked;
    /** Whether the next array that is made by reflection is counted elsewhere. */
    private boolean withheld;

    private static final int FEWEST_STATES = 64;
    /** Represents the place where the thread is. */
    private static final int NO_SITE = -1;

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
    /** The first seeds of the records' blocks; 0 for a record that does not have one. */
    @Stable private static long BLOCKS;
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
    private static long start(
            boolean exact,
            boolean fenced,
            boolean lines,
            boolean virtual,
            boolean late,
            long nil) {
        Unsafe unsafe = Unsafe.getUnsafe();
        STATE_FIELD = unsafe.objectFieldOffset(Thread.class, late ? "tid" : "$perkState");
        LATE = late ? 2 : 1;
        states = late ? new PerkProbes[FEWEST_STATES] : null;
        EXACT = exact ? 2 : 1;
        FENCED = fenced ? 2 : 1;
        LINES = lines ? 2 : 1;
        VIRTUAL = virtual ? 2 : 1;
        NIL = nil;
        ENDED.context = nil;
        ENDED.caller = nil;
        U = unsafe;
        return 0;
    }

    /** Counts nothing any more. What probes that still run do has no effect. */
    private static long end() {
        isOver = true;
        states = new PerkProbes[1];
        return 0;
    }

    /**
     * Starts counting allocations; called before {@link #start}. To find the live ones, objects
     * hold the index of their record; arrays, and objects without a field for it, hold an identity
     * hash that leads to it. The agent passes the offsets of array elements, because Unsafe returns
     * an int before JDK 25 and a long since then.
     */
    private static long startSites(
            long records,
            int liveness,
            int hashShift,
            long blocks,
            int alignment,
            int base,
            int base8,
            int reference) {
        Unsafe unsafe = Unsafe.getUnsafe();
        RECORDS_FIELD = unsafe.objectFieldOffset(Class.class, "$perkRecords");
        LIVENESS = liveness;
        HASH_SHIFT = hashShift;
        BLOCKS = blocks;
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

    /** Returns the state of the calling thread, which gets one; {@link #ENDED} if it is not counted. */
    private static native PerkProbes begin(Thread thread);

    /** Makes the child of a context for a method called from a line. */
    private static native long grow(long tree, long context, int method, int line);

    /** Returns the node of a tree that has the path of another tree's node. */
    private static native long translate(long tree, long node);

    /** Gives a number to a class without one and returns it; 0 if the class does not get one. */
    private static native int number(Class<?> type);

    /** Whether the clone() of a class is that of Object. */
    private static native boolean inherits(Class<?> type);

    /** Makes a record and returns its index. */
    private static native int record(long tree, long node, int number, int line);

    /** Returns the index of the record for objects of a class that a site makes; 0 if there is none. */
    private static native int recordOfSite(long tree, int site, int number);

    /** Gives a record the next block of seeds and returns its first seed; 0 if there is none. */
    private static native int block(int index);

    /** Has the agent watch whether an object or array is live. */
    private static native void keep(long tree, Object object, int index, long bytes);

    /** Lets the calling virtual thread continue with the tree of a platform thread. */
    private static native void mount(PerkProbes state);

    /** Detaches the calling virtual thread from its platform thread. */
    private static native void unmount(PerkProbes state);

    /** A method begins. Returns the thread's state. */
    public static PerkProbes enter(int method) {
        if (U == null) {
            return EARLY;
        }
        PerkProbes state = stateOf(Thread.currentThread());
        if (state == null) {
            return enterFirst(method);
        }
        long position = state.context;
        if (EXACT == 2) {
            state.book(position);
        }
        long node = U.getLong(null, address(position) + EXPECTED);
        if (U.getLong(null, node + KEY) != state.wanted(position, method)) {
            enterSlowly(state, method);
            return state;
        }
        count(position, node);
        state.context = node;
        int fence = FENCED == 2 ? state.fence : 0;
        // After the fence, so that the method that reads it next need not load it.
        state.caller = position;
        return state;
    }

    /** A method begins in which nothing happens that would have to be reported. */
    public static void touch(int method) {
        if (U == null) {
            return;
        }
        PerkProbes state = stateOf(Thread.currentThread());
        if (state == null) {
            touchSlowly(null, method);
            return;
        }
        long position = state.context;
        long node = U.getLong(null, address(position) + EXPECTED);
        if (U.getLong(null, node + KEY) != state.wanted(position, method)) {
            touchSlowly(state, method);
            return;
        }
        count(position, node);
    }

    /** A method that cannot hold probes is about to be called. */
    public static void enterLeaf(int method) {
        enter(method);
    }

    /** A method ends, or continues after a callee has ended, and time is read at each probe. */
    public static void leave(PerkProbes state, long position) {
        if (state != EARLY && (LATE != 2 || !isOver)) {
            state.book(state.context);
        }
        state.context = position;
    }

    /** The calling virtual thread now runs on a platform thread. */
    public static void mounted(Thread thread) {
        if (U != null) {
            PerkProbes state = stateOf(thread);
            if (state == null) {
                begin(thread);
            } else if (state != ENDED) {
                mount(state);
            }
        }
    }

    /** The calling virtual thread is about to leave its platform thread. */
    public static void unmounted(Thread thread) {
        if (U != null) {
            PerkProbes state = stateOf(thread);
            if (state != null && state != ENDED) {
                unmount(state);
            }
        }
    }

    /** Returns the state of a thread; null if it does not have one yet. */
    @ForceInline
    private static PerkProbes stateOf(Thread thread) {
        if (LATE == 2) {
            long id = U.getLong(thread, STATE_FIELD);
            PerkProbes[] all = states;
            PerkProbes state = all[(int) id & all.length - 1];
            return state == null || state.id == id ? state : stateNear(all, id);
        }
        return (PerkProbes) U.getReference(thread, STATE_FIELD);
    }

    /** Returns the state of a thread whose place in the table is another thread's. */
    @DontInline
    private static PerkProbes stateNear(PerkProbes[] all, long id) {
        for (int at = (int) id + 1; ; at++) {
            PerkProbes state = all[at & all.length - 1];
            if (state == null || state.id == id) {
                return state;
            }
        }
    }

    /** Enters the state of a thread that has none into the table. One thread at a time calls this. */
    private static long hold(Thread thread, PerkProbes state) {
        state.id = U.getLong(thread, STATE_FIELD);
        if (isOver) {
            return 0;
        }
        if ((stateCount + 1) * 4 > states.length) {
            int count = 0;
            for (PerkProbes other : states) {
                count += other == null || other == ENDED ? 0 : 1;
            }
            PerkProbes[] larger = new PerkProbes[FEWEST_STATES];
            while (larger.length < (count + 1) * 8) {
                larger = new PerkProbes[larger.length * 2];
            }
            for (PerkProbes other : states) {
                if (other != null && other != ENDED) {
                    put(larger, other);
                }
            }
            stateCount = count;
            states = larger;
        }
        put(states, state);
        stateCount++;
        return 0;
    }

    private static void put(PerkProbes[] all, PerkProbes state) {
        int at = (int) state.id;
        while (all[at & all.length - 1] != null) {
            at++;
        }
        all[at & all.length - 1] = state;
    }

    /** Removes the state of a thread that ends from the table. One thread at a time calls this. */
    private static long drop(Thread thread) {
        long id = U.getLong(thread, STATE_FIELD);
        PerkProbes[] all = states;
        for (int at = (int) id; ; at++) {
            PerkProbes state = all[at & all.length - 1];
            if (state == null) {
                return 0;
            }
            if (state.id == id) {
                all[at & all.length - 1] = ENDED;
                return 0;
            }
        }
    }

    /** Returns the state of a thread in the table; null if there is none. */
    private static PerkProbes held(Thread thread) {
        return stateOf(thread);
    }

    /** Returns the state of the calling thread, which gets one if it has none. */
    @ForceInline
    private static PerkProbes stateOfCurrent() {
        PerkProbes state = stateOf(Thread.currentThread());
        return state == null ? begun() : state;
    }

    /** Begins the calling thread. Returns its state. */
    @DontInline
    private static PerkProbes begun() {
        PerkProbes state = begin(Thread.currentThread());
        // After a fault of the agent.
        return state == null ? ENDED : state;
    }

    /** Returns the node of a position. */
    @ForceInline
    private static long address(long position) {
        return LINES == 2 ? position & ADDRESS : position;
    }

    /** Returns the line of a position, as it is in a key. */
    @ForceInline
    private static long lineKey(long position) {
        return LINES == 2 ? position >>> POSITION_SHIFT << LINE_SHIFT : 0;
    }

    /** Returns the key of a node for a method, or of a record for a class, at a position. */
    @ForceInline
    private long wanted(long position, int number) {
        long wanted = number | lineKey(position);
        return VIRTUAL == 2 ? wanted | key : wanted;
    }

    /** Books the time since the last probe. The node may be in another thread's tree. */
    @ForceInline
    private void book(long position) {
        long now = System.nanoTime();
        U.getAndAddLong(null, address(position) + SELF, now - since);
        since = now;
    }

    /**
     * Returns a position in the thread's tree. A method of a virtual thread that has changed its
     * platform thread meanwhile holds a position in the tree of the earlier one.
     */
    @ForceInline
    private long owned(long position) {
        if (VIRTUAL == 2) {
            long node = address(position);
            if ((U.getLong(null, node + KEY) ^ key) >>> TREE_SHIFT != 0) {
                return translate(tree, node) | position & ~ADDRESS;
            }
        }
        return position;
    }

    @DontInline
    private static PerkProbes enterFirst(int method) {
        PerkProbes state = begun();
        enterSlowly(state, method);
        return state;
    }

    /** A method begins that was not expected. */
    @DontInline
    private static void enterSlowly(PerkProbes state, int method) {
        if (state != ENDED) {
            long position = state.owned(state.context);
            long node = state.find(position, method);
            count(position, node);
            state.caller = position;
            state.context = node;
        }
    }

    @DontInline
    private static void touchSlowly(PerkProbes state, int method) {
        if (state == null) {
            state = begun();
        }
        if (state != ENDED) {
            long position = state.owned(state.context);
            count(position, state.find(position, method));
        }
    }

    /** Counts a call of a node. The next expected node is the one that followed it the last time. */
    @ForceInline
    private static void count(long position, long node) {
        U.putLong(null, address(position) + EXPECTED, U.getLong(null, node + NEXT));
        U.putInt(null, address(position) + LAST, (int) node);
        U.putLong(null, node + COUNT, U.getLong(null, node + COUNT) + 1);
    }

    /** Finds a child that was not the expected one. */
    private long find(long position, int method) {
        long parent = address(position);
        long wanted = wanted(position, method);
        long expected = U.getLong(null, parent + EXPECTED);
        if (U.getLong(null, expected + KEY) == wanted) {
            return expected;
        }
        // All nodes are within 4 GiB.
        long last = NIL + (U.getInt(null, parent + LAST) - NIL & 0xFFFFFFFFL);
        long other = nodeAt(U.getInt(null, last + OTHER));
        if (U.getLong(null, other + KEY) == wanted) {
            expect(last, expected, other);
            return other;
        }
        long context = nodeAt(U.getInt(null, parent + CONTEXT));
        int line = (int) (lineKey(position) >>> LINE_SHIFT);
        long node = child(context, method, line, wanted);
        if (node == 0) {
            // The agent makes no more paths: most calls that have none are known by their method.
            long lost = U.getLong(null, tree + TREE_LOST);
            node = lost == 0 ? 0 : child(lost, method, line, wanted);
            if (node == 0) {
                node = grow(tree, context, method, line);
            }
        }
        // Callers share the nodes of unknown paths, and must not find each other's children by them.
        if (last != NIL && (U.getLong(null, last + PARENT) == context || U.getLong(null, node + PARENT) != context)) {
            expect(last, expected, node);
        }
        return node;
    }

    /** Returns the child of a context that has a key; 0 if there is none. */
    private long child(long context, int method, int line, long key) {
        long table = U.getLong(null, tree + TREE_TABLE);
        long mask = U.getLong(null, tree + TREE_MASK);
        long at = (((context >>> 4) * 31 + method) * 31 + line) * 0x9E3779B97F4A7C15L >>> 30;
        for (;; at += 4) {
            at &= mask;
            int index = U.getInt(null, table + at);
            if (index == 0) {
                return 0;
            }
            long node = nodeAt(index);
            if (U.getLong(null, node + PARENT) == context && U.getLong(null, node + KEY) == key) {
                return node;
            }
        }
    }

    /** Expects a node after the last one from now on, and next to it the one that was expected. */
    private static void expect(long last, long before, long node) {
        U.putLong(null, last + NEXT, node);
        U.putInt(null, last + OTHER, (int) (before - NIL >>> NODE_SHIFT));
    }

    /** Returns the node with an index. */
    @ForceInline
    private static long nodeAt(int index) {
        return NIL + ((long) index << NODE_SHIFT);
    }

    /**
     * Calls probes in another tree, {@code rounds} times {@link #ROUND} times: those of a method, or of a
     * trivial one, or, with the method 0, that of an object. Returns the nanoseconds of the fastest
     * round. The first ones are interpreted, and in others the thread waits for a CPU.
     */
    private static long calibrate(
            long tree, long key, long root, int method, boolean isTrivial, int rounds) {
        Object object = method == 0 ? new ArrayList<Object>(0) : null;
        PerkProbes state = stateOfCurrent();
        long ownTree = state.tree;
        long ownKey = state.key;
        long ownContext = state.context;
        state.tree = tree;
        state.key = key;
        state.context = root;
        long least = Long.MAX_VALUE;
        for (int round = 0; round < rounds; round++) {
            long begin = System.nanoTime();
            if (object != null) {
                allocateRound(object);
            } else if (isTrivial) {
                touchRound(method);
            } else {
                enterRound(method);
            }
            long ns = System.nanoTime() - begin;
            least = ns < least ? ns : least;
        }
        state.context = ownContext;
        state.key = ownKey;
        state.tree = ownTree;
        return least;
    }

    // Methods by themselves, so that C2 compiles them in one way: from their beginning, and alone.

    @DontInline
    private static void enterRound(int method) {
        for (int i = 0; i < ROUND; i++) {
            PerkProbes entered = enter(method - (i & SIBLINGS));
            long caller = entered.caller;
            if (EXACT == 2) {
                leave(entered, caller);
            } else {
                entered.context = caller;
                int fence = FENCED == 2 ? entered.fence : 0;
            }
        }
    }

    @DontInline
    private static void touchRound(int method) {
        for (int i = 0; i < ROUND; i++) {
            touch(method - (i & SIBLINGS));
        }
    }

    @DontInline
    private static void allocateRound(Object object) {
        for (int i = 0; i < ROUND; i++) {
            allocated(object);
        }
    }

    /** The constructor of Object runs, which all other constructors call. */
    public static void allocated(Object object) {
        if (U != null) {
            PerkProbes state = stateOf(Thread.currentThread());
            Class<?> type = object.getClass();
            countObject(object, type, site(state, type));
        }
    }

    @ForceInline
    private static void countObject(Object object, Class<?> type, int index) {
        long record = RECORDS + ((long) index << RECORD_SHIFT);
        long count = U.getLong(null, record + RECORD_COUNT) + 1;
        U.putLong(null, record + RECORD_COUNT, count);
        if (LIVENESS == 2) {
            long offset = U.getLong(type, RECORDS_FIELD) >>> OFFSET_SHIFT;
            if (offset != 0) {
                U.putInt(object, offset, index);
            } else {
                identify(object, index, count, 0);
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
            PerkProbes state = stateOfCurrent();
            if (state != ENDED) {
                state.withheld = true;
            }
        }
    }

    /** An array has been made by reflection. */
    public static void reflected(Object array) {
        if (U == null) {
            return;
        }
        PerkProbes state = stateOf(Thread.currentThread());
        if (state != null && state.withheld) {
            state.withheld = false;
            return;
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
        traced(exception, NO_SITE);
    }

    /** The same with the number of the site. */
    public static void traced(Throwable exception, int site) {
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
            part(chunk, site);
            Object methods = chunk[0];
            for (Object part : chunk) {
                if (part instanceof int[] array) {
                    part(array, site);
                } else if (part instanceof long[] array) {
                    part(array, site);
                } else if (part instanceof Object[] array) {
                    if (array.length > 0 && array[0] instanceof short[]) {
                        next = array;
                    } else {
                        part(array, site);
                    }
                }
            }
            // This array may be in the chunk twice, as a mark.
            if (methods instanceof short[] array) {
                part(array, site);
            }
        }
    }

    /** A part of a backtrace has been made. */
    private static void part(Object array, int site) {
        if (site == NO_SITE) {
            made(array);
        } else {
            made(array, site);
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
        count(array, end(array));
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
        countArray(array, end, site(stateOf(Thread.currentThread()), array.getClass()));
    }

    @ForceInline
    private static void countArray(Object array, long end, int index) {
        long record = RECORDS + ((long) index << RECORD_SHIFT);
        long bytes = end + ALIGNMENT_MASK & ~ALIGNMENT_MASK;
        long count = U.getLong(null, record + RECORD_COUNT) + 1;
        U.putLong(null, record + RECORD_COUNT, count);
        U.putLong(null, record + RECORD_BYTES, U.getLong(null, record + RECORD_BYTES) + bytes);
        if (LIVENESS == 2) {
            identify(array, index, count, bytes);
        }
    }

    /**
     * Writes an identity hash that leads to a record into the header of a new object or array,
     * which no other thread has seen. C2 does not scalarize an object whose header is written.
     */
    @ForceInline
    private static void identify(Object object, int index, long count, long bytes) {
        if (HASH_SHIFT != 0) {
            int seed = seed(index, count);
            long header = U.getLong(object, 0);
            if (seed != 0 && isFree(header)) {
                U.putLong(object, 0, identified(header, seed));
                return;
            }
        }
        keepSafely(object, index, bytes);
    }

    /** Returns the next seed of a record with a new count; 0 if there is none. */
    @ForceInline
    private static int seed(int index, long count) {
        int block = U.getInt(null, BLOCKS + ((long) index << 2));
        int inBlock = (int) count & IN_BLOCK;
        if (block == 0 || inBlock == 0) {
            block = nextBlock(index);
        }
        return block == 0 ? 0 : block | inBlock;
    }

    @DontInline
    private static int nextBlock(int index) {
        return index == 0 ? 0 : block(index);
    }

    @DontInline
    private static void keepSafely(Object object, int index, long bytes) {
        if (index != 0) {
            keep(stateOf(Thread.currentThread()).tree, object, index, bytes);
        }
    }

    /**
     * Does the same for an object that a record has just counted and that other threads may have
     * seen. Returns 0 if that is not possible.
     */
    private static long identify(Object object, int index) {
        if (U == null) {
            return 0;
        }
        long record = RECORDS + ((long) index << RECORD_SHIFT);
        int seed = seed(index, U.getLong(null, record + RECORD_COUNT));
        long header = U.getLong(object, 0);
        long held = identified(header, seed);
        return seed != 0 && isFree(header) && U.compareAndSetLong(object, 0, header, held) ? 1 : 0;
    }

    /**
     * Returns the identity hash of an object, with the mark below it; 0 if it does not have one. A
     * locked one gets one, and always has the mark, which is elsewhere.
     */
    private static long hashOf(Object object) {
        long header = U.getLong(object, 0);
        if ((header & LOCKED_MASK) != FREE) {
            return (long) System.identityHashCode(object) << 1 | 1;
        }
        long all = 2L * MOST_HASH + 1;
        return (header & FREE_MASK) == FREE ? header >>> HASH_SHIFT - 1 & all : 0;
    }

    /** Returns the record's index for a class at the thread's position; 0 if not counted. */
    @ForceInline
    private static int site(PerkProbes state, Class<?> type) {
        if (state == null) {
            return findSite(null, type);
        }
        long position = state.context;
        int index = U.getInt(null, address(position) + SITE);
        long record = RECORDS + ((long) index << RECORD_SHIFT);
        int number = (int) U.getLong(type, RECORDS_FIELD);
        long found = U.getLong(null, record + RECORD_KEY);
        return found == state.wanted(position, number) ? index : findSite(state, type);
    }

    /** Finds a record that was not the expected one. */
    @DontInline
    private static int findSite(PerkProbes state, Class<?> type) {
        if (state == null) {
            state = begun();
        }
        if (state == ENDED) {
            return 0;
        }
        int number = numberOf(type);
        if (number == 0) {
            return 0;
        }
        long position = state.owned(state.context);
        long wanted = state.wanted(position, number);
        int line = (int) (lineKey(position) >>> LINE_SHIFT);
        long node = address(position);
        long tree = state.tree;
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
                    && U.getLong(null, record + RECORD_KEY) == wanted) {
                break;
            }
        }
        U.putInt(null, node + SITE, index);
        return index;
    }

    /** An object has been made, and its constructor has run. */
    public static void created(Object object, int site) {
        if (U != null) {
            Class<?> type = object.getClass();
            countObject(object, type, recordAt(site, type));
        }
    }

    /** A call site has made a lambda of values. */
    public static void captured(Object object, int site) {
        if (U != null && object != null && object.getClass().isHidden()) {
            made(object, site);
        }
    }

    /** Reflection or a method handle makes an object. That of a lambda is counted where the lambda is. */
    public static void constructed(Object object, int site) {
        if (U != null && object != null && !object.getClass().isHidden()) {
            made(object, site);
        }
    }

    /** An object or array has been made without a constructor, of any class. */
    public static void made(Object object, int site) {
        if (U == null || object == null) {
            return;
        }
        if (object instanceof Object[] array) {
            countArray(array, end(array), recordOf(site, array));
        } else if (object instanceof byte[] array) {
            countArray(array, BASE + array.length, recordOf(site, array));
        } else if (object instanceof int[] array) {
            countArray(array, BASE + ((long) array.length << 2), recordOf(site, array));
        } else if (object instanceof long[] array) {
            countArray(array, BASE8 + ((long) array.length << 3), recordOf(site, array));
        } else if (object instanceof char[] array) {
            countArray(array, BASE + ((long) array.length << 1), recordOf(site, array));
        } else if (object instanceof short[] array) {
            countArray(array, BASE + ((long) array.length << 1), recordOf(site, array));
        } else if (object instanceof boolean[] array) {
            countArray(array, BASE + array.length, recordOf(site, array));
        } else if (object instanceof double[] array) {
            countArray(array, BASE8 + ((long) array.length << 3), recordOf(site, array));
        } else if (object instanceof float[] array) {
            countArray(array, BASE + ((long) array.length << 2), recordOf(site, array));
        } else {
            countObject(object, object.getClass(), recordOf(site, object));
        }
    }

    /** An array has been made by reflection. */
    public static void reflected(Object array, int site) {
        if (U == null) {
            return;
        }
        PerkProbes state = stateOf(Thread.currentThread());
        if (state != null && state.withheld) {
            state.withheld = false;
            return;
        }
        made(array, site);
    }

    /** A clone() was called on an object and has returned another object. */
    public static void cloned(Object from, Object clone, int site) {
        if (U != null && clone != null && inheritsClone(from.getClass())) {
            made(clone, site);
        }
    }

    /** A method of a class has called the clone() of the superclass. */
    public static void clonedAbove(Object clone, Class<?> type, int site) {
        if (U != null && clone != null && inheritsClone(type.getSuperclass())) {
            made(clone, site);
        }
    }

    /** An array has been made together with the arrays in it. */
    public static void arrays(Object array, int site) {
        made(array, site);
        if (array instanceof Object[] inner) {
            for (Object it : inner) {
                if (it != null) {
                    arrays(it, site);
                }
            }
        }
    }

    public static void array(Object[] array, int site) {
        countAt(array, end(array), site);
    }

    public static void array(boolean[] array, int site) {
        countAt(array, BASE + array.length, site);
    }

    public static void array(byte[] array, int site) {
        countAt(array, BASE + array.length, site);
    }

    public static void array(char[] array, int site) {
        countAt(array, BASE + ((long) array.length << 1), site);
    }

    public static void array(short[] array, int site) {
        countAt(array, BASE + ((long) array.length << 1), site);
    }

    public static void array(int[] array, int site) {
        countAt(array, BASE + ((long) array.length << 2), site);
    }

    public static void array(float[] array, int site) {
        countAt(array, BASE + ((long) array.length << 2), site);
    }

    public static void array(long[] array, int site) {
        countAt(array, BASE8 + ((long) array.length << 3), site);
    }

    public static void array(double[] array, int site) {
        countAt(array, BASE8 + ((long) array.length << 3), site);
    }

    /** Returns the offset at which the last element of an array ends. */
    @ForceInline
    private static long end(Object[] array) {
        return (REFERENCE == 8 ? BASE8 : BASE) + (long) array.length * REFERENCE;
    }

    @ForceInline
    private static void countAt(Object array, long end, int site) {
        if (U != null) {
            countArray(array, end, recordAt(site, array.getClass()));
        }
    }

    /** Returns the index of the record of a site that makes objects of one class; 0 if not counted. */
    @ForceInline
    private static int recordAt(int site, Class<?> type) {
        PerkProbes state = stateOf(Thread.currentThread());
        int index = known(state, site);
        return index == 0 ? findRecord(state, site, type) : index;
    }

    /** Returns the index of the record of a site for the class of an object; 0 if not counted. */
    @ForceInline
    private static int recordOf(int site, Object object) {
        PerkProbes state = stateOf(Thread.currentThread());
        int index = known(state, site);
        long record = RECORDS + ((long) index << RECORD_SHIFT);
        int number = (int) U.getLong(object.getClass(), RECORDS_FIELD);
        boolean isRight = index != 0 && (int) U.getLong(null, record + RECORD_KEY) == number;
        return isRight ? index : findRecord(state, site, object.getClass());
    }

    /** Returns the index of the record that a thread used last at a site; 0 if there is none. */
    @ForceInline
    private static int known(PerkProbes state, int site) {
        if (state == null || state.tree == 0) {
            return 0;
        }
        long table = U.getLong(null, state.tree + TREE_BY_SITE);
        return table == 0 ? 0 : U.getInt(null, table + ((long) site << 2));
    }

    @DontInline
    private static int findRecord(PerkProbes state, int site, Class<?> type) {
        if (state == null) {
            state = begun();
        }
        int number = state.tree == 0 ? 0 : numberOf(type);
        return number == 0 ? 0 : recordOfSite(state.tree, site, number);
    }

    /** Returns the number of a class; 0 if the class does not get one. */
    private static int numberOf(Class<?> type) {
        int number = (int) U.getLong(type, RECORDS_FIELD);
        return number == 0 ? number(type) : number;
    }
}
