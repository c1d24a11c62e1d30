/** A heap whose objects are known: see tests/heap. */
public class HeapShape {
    static class Point {
        int x; long y; byte b; boolean z; char c; short s; float f; double d; Object self; Object none;
        Point(int i) {
            x = i; y = i * 3L; b = (byte) i; z = i % 2 == 0; c = (char) ('a' + i % 26); s = (short) -i;
            f = i / 2f; d = i / 4d; self = this;
        }
    }
    static class Child extends Point {
        String name; int x;
        Child(int i) { super(i); name = "child " + i; x = -i; }
    }
    static Point[] points = new Point[1000];
    static Object[] nullTail = {"head", null, null, null};
    static Object[] allNull = new Object[5];
    static Object[] empty = {};
    static int[] big = new int[1_000_000];
    static Object[] bigObjects = new Object[300_000];
    static boolean yes = true; static byte b = -7; static char c = '\u4e2d'; static short s = -3; static int i = 42;
    static long j = 1L << 40; static float f = 1.5f; static double d = 3.25; static final String CONST = "a constant";
    static int[][] ii = {{1, 2}, {3}, null};
    static Runnable lambda = () -> System.out.println(CONST);

    public static void main(String[] args) throws Exception {
        for (int k = 0; k < points.length; k++) points[k] = k % 10 == 0 ? new Child(k) : new Point(k);
        for (int k = 0; k < big.length; k++) big[k] = k;
        for (int k = 0; k < bigObjects.length; k += 1000) bigObjects[k] = points[k % 1000];
        Object lock = new Object();
        Thread holder = new Thread(() -> { synchronized (lock) { sleep(); } }, "holder");
        holder.setDaemon(true);
        holder.start();
        System.out.println("ready");
        sleep();
    }

    static void sleep() {
        try { Thread.sleep(1_000_000); } catch (InterruptedException e) { throw new IllegalStateException(e); }
    }
}
