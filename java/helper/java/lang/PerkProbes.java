package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Stable;

/**
 * What perk's probes call. The agent defines this class in java.base before the first Java code
 * runs, and starts it when the JVM is up; its bytes are part of the agent.
 *
 * Each thread has a tree of calling contexts and a stack of its own in the agent's native memory; a
 * field of java.lang.Thread holds the address of the stack's top. A probe reads and writes a few
 * words of them; it takes no lock, calls nothing and allocates nothing. A node's children are found,
 * in this order: as the one that came after the last one the time before; in the tree's hash table;
 * made by the agent.
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
    private static final int LAST = 32;
    private static final int NEXT = 40;
    private static final int SELF = 48;
    private static final int TOTAL = 56;

    private static final int FRAME_NODE = 0;
    private static final int FRAME_CONTEXT = 8;
    private static final int FRAME_START = 16;
    private static final int FRAME_CALLEES = 24;
    private static final int FRAME_LINE = 32;
    private static final int FRAME_BYTES = 40;
    /** In the place of a node: the stack ends here. */
    private static final long END = -1;

    private static final int TREE_CPU_NS = 0;
    private static final int TREE_TABLE = 8;
    private static final int TREE_MASK = 16;
    private static final int TREE_STACK = 24;

    /** In place of a tree: the thread has ended, what it still does is not counted. */
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

    private PerkProbes() {}

    /** The probes begin to count. Until now they did nothing: the JVM was starting. */
    private static long start(int clock, int lines, long wall, long nil) {
        Unsafe unsafe = Unsafe.getUnsafe();
        STACK_FIELD = unsafe.objectFieldOffset(Thread.class, "$perkStack");
        TREE_FIELD = unsafe.objectFieldOffset(Thread.class, "$perkTree");
        CLOCK = clock;
        LINES = lines;
        WALL_NS = wall;
        NIL = nil;
        U = unsafe;
        return 0;
    }

    /** A tree for the calling thread, or 0 if it gets none. */
    private static native long begin(Thread thread);

    /** Makes the child of a context for a method called from a line. */
    private static native long grow(long tree, long context, int method, int line);

    /** Makes the stack larger; answers where its top is now. */
    private static native long extend(long tree, long top);

    /** The frame to go on with where a method returns or catches, from the top outward. */
    private static native long unwind(long tree, long top, int method, boolean leave, long now);

    /** A virtual thread with this tree, or none, now uses the calling platform thread's time. */
    private static native void carry(long tree);

    /** A method begins. */
    public static void enter(int method) {
        if (U == null) {
            return;
        }
        Thread thread = Thread.currentThread();
        long top = U.getLong(thread, STACK_FIELD);
        if (top == 0) {
            top = bottom(thread);
            if (top == 0) {
                return;
            }
        }
        long context = U.getLong(top + FRAME_CONTEXT);
        long node = U.getLong(U.getLong(context + LAST) + NEXT);
        if (U.getInt(node + METHOD) != method
                || (LINES == 2 && U.getChar(node + CALLER + 6) != U.getChar(top + FRAME_LINE))) {
            node = find(thread, top, method);
        }
        U.putLong(context + LAST, node);
        U.putLong(node + COUNT, U.getLong(node + COUNT) + 1);
        top += FRAME_BYTES;
        if (U.getLong(top + FRAME_NODE) == END) {
            top = extend(U.getLong(thread, TREE_FIELD), top);
        }
        U.putLong(top + FRAME_NODE, node);
        U.putLong(top + FRAME_CONTEXT, U.getLong(node + CONTEXT));
        if (LINES == 2) {
            U.putChar(top + FRAME_LINE, (char) 0);
        }
        if (CLOCK != CLOCK_NONE) {
            U.putLong(top + FRAME_START, now(thread));
            U.putLong(top + FRAME_CALLEES, 0);
        }
        U.putLong(thread, STACK_FIELD, top);
    }

    /** A method begins in which nothing happens that would have to be told of. */
    public static void touch(int method) {
        if (U == null) {
            return;
        }
        Thread thread = Thread.currentThread();
        long top = U.getLong(thread, STACK_FIELD);
        if (top == 0) {
            top = bottom(thread);
            if (top == 0) {
                return;
            }
        }
        long context = U.getLong(top + FRAME_CONTEXT);
        long node = U.getLong(U.getLong(context + LAST) + NEXT);
        if (U.getInt(node + METHOD) != method
                || (LINES == 2 && U.getChar(node + CALLER + 6) != U.getChar(top + FRAME_LINE))) {
            node = find(thread, top, method);
        }
        U.putLong(context + LAST, node);
        U.putLong(node + COUNT, U.getLong(node + COUNT) + 1);
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
        long top = U.getLong(thread, STACK_FIELD);
        if (top == 0) {
            return;
        }
        long node = U.getLong(top + FRAME_NODE);
        if (U.getInt(node + METHOD) != method) {
            repair(thread, top, method, true);
            return;
        }
        if (CLOCK != CLOCK_NONE) {
            long took = now(thread) - U.getLong(top + FRAME_START);
            long own = took - U.getLong(top + FRAME_CALLEES);
            U.putLong(node + SELF, U.getLong(node + SELF) + own);
            U.putLong(node + TOTAL, U.getLong(node + TOTAL) + took);
            long outer = top - FRAME_BYTES + FRAME_CALLEES;
            U.putLong(outer, U.getLong(outer) + took);
        }
        U.putLong(top + FRAME_NODE, 0);
        U.putLong(thread, STACK_FIELD, top - FRAME_BYTES);
    }

    /** A method goes on in one of its exception handlers. */
    public static void caught(int method) {
        if (U == null) {
            return;
        }
        Thread thread = Thread.currentThread();
        long top = U.getLong(thread, STACK_FIELD);
        if (top != 0 && U.getInt(U.getLong(top + FRAME_NODE) + METHOD) != method) {
            repair(thread, top, method, false);
        }
    }

    /** The running method is now at a line. */
    public static void line(int line) {
        if (U == null) {
            return;
        }
        long top = U.getLong(Thread.currentThread(), STACK_FIELD);
        if (top != 0) {
            U.putChar(top + FRAME_LINE, (char) line);
        }
    }

    /** The calling virtual thread now runs on a platform thread. */
    public static void mounted(Thread thread) {
        if (U != null && CLOCK == CLOCK_CPU_TICK) {
            carry(U.getLong(thread, TREE_FIELD));
        }
    }

    /** The calling virtual thread is about to leave its platform thread. */
    public static void unmounted(Thread thread) {
        if (U != null && CLOCK == CLOCK_CPU_TICK) {
            carry(0);
        }
    }

    @ForceInline
    private static long now(Thread thread) {
        if (CLOCK == CLOCK_CPU_TICK) {
            return U.getLong(U.getLong(thread, TREE_FIELD) + TREE_CPU_NS);
        }
        return CLOCK == CLOCK_WALL_TICK ? U.getLong(WALL_NS) : System.nanoTime();
    }

    /** Where a thread begins; 0 if nothing of it is counted. */
    @DontInline
    private static long bottom(Thread thread) {
        if (U.getLong(thread, TREE_FIELD) == ENDED) {
            return 0;
        }
        long tree = begin(thread);
        if (tree == 0) {
            return 0;
        }
        U.putLong(thread, TREE_FIELD, tree);
        return U.getLong(tree + TREE_STACK);
    }

    /** The child that was not foreseen. */
    @DontInline
    private static long find(Thread thread, long top, int method) {
        int line = LINES == 2 ? U.getChar(top + FRAME_LINE) : 0;
        long context = U.getLong(top + FRAME_CONTEXT);
        long caller = context | (long) line << LINE_SHIFT;
        long tree = U.getLong(thread, TREE_FIELD);
        long table = U.getLong(tree + TREE_TABLE);
        long mask = U.getLong(tree + TREE_MASK);
        long at = (((context >>> 4) * 31 + method) * 31 + line) * 0x9E3779B97F4A7C15L >>> 29;
        long node;
        for (;; at += 8) {
            at &= mask;
            node = U.getLong(table + at);
            if (node == 0) {
                node = grow(tree, context, method, line);
                break;
            }
            if (U.getLong(node + CALLER) == caller && U.getInt(node + METHOD) == method) {
                break;
            }
        }
        long last = U.getLong(context + LAST);
        if (last != NIL) {
            U.putLong(last + NEXT, node);
        }
        return node;
    }

    /** Returns to the right frame where callees were left that nobody told of. */
    @DontInline
    private static void repair(Thread thread, long top, int method, boolean leave) {
        long now = CLOCK == CLOCK_NONE ? 0 : now(thread);
        long tree = U.getLong(thread, TREE_FIELD);
        U.putLong(thread, STACK_FIELD, unwind(tree, top, method, leave, now));
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
        U.putLong(thread, STACK_FIELD, U.getLong(tree + TREE_STACK));
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
