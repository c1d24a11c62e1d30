/**
 * Calls that nest, each by one of four ways, and allocate at their end and on the way: stacks of many
 * shapes, the same ones at each run. Arguments: the greatest depth, and how many descents.
 */
public class DeepStacks {
    static volatile Object sink;
    private static long state = 88172645463325252L;

    public static void main(String[] args) {
        int depth = Integer.parseInt(args[0]);
        for (long descents = Long.parseLong(args[1]); descents > 0; descents--) {
            step(depth / 2 + number(depth / 2));
        }
    }

    /** A number from 0 to below {@code limit} (xorshift). */
    private static int number(int limit) {
        state ^= state << 13;
        state ^= state >>> 7;
        state ^= state << 17;
        return (int) Long.remainderUnsigned(state, limit);
    }

    private static void step(int depth) {
        if (depth <= 0) {
            allocate();
            return;
        }
        switch (number(4)) {
            case 0 -> first(depth - 1);
            case 1 -> second(depth - 1);
            case 2 -> third(depth - 1);
            default -> fourth(depth - 1);
        }
        if (number(8) == 0) {
            allocate();
        }
    }

    private static void first(int depth) {
        step(depth);
    }

    private static void second(int depth) {
        step(depth);
    }

    private static void third(int depth) {
        if (depth % 2 == 0) {
            step(depth);
        } else {
            first(depth);
        }
    }

    private static void fourth(int depth) {
        Runnable run = () -> step(depth);
        run.run();
    }

    private static void allocate() {
        byte[][] arrays = new byte[4][];
        for (int i = 0; i < arrays.length; i++) {
            arrays[i] = new byte[64];
        }
        sink = arrays;
    }
}
