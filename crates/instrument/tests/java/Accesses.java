import java.lang.reflect.Array;
import java.lang.reflect.Constructor;

/** Prints the accesses and allocations that the probes have seen. */
public final class Accesses {
    static int count;
    static Object kept;

    static class Point {
        int x;
        long wide;
        double real;
        Object link;

        Point(int x) {
            this.x = x;
        }
    }

    static class Sub extends Point {
        boolean flag;

        Sub(int x) {
            super(x > 0 ? x : -x);
            flag = true;
        }
    }

    static class Failing {
        int before;

        Failing(int n) {
            before = n;
            if (n > 0) {
                throw new IllegalStateException();
            }
        }
    }

    static void fields() {
        Point point = new Point(1);
        point.wide = 2;
        point.real = 3;
        point.link = point;
        count += point.x + (int) point.wide + (int) point.real;
        kept = point.link;
        point.x += count;
        point.wide++;
    }

    static void inherited() {
        Sub sub = new Sub(-4);
        sub.x = 5;
        count += sub.flag ? sub.x : 0;
    }

    static void arrays() {
        boolean[] booleans = new boolean[1];
        booleans[0] = !booleans[0];
        char[] chars = {'a'};
        chars[0]++;
        float[] floats = {1};
        floats[0] += 1;
        double[] doubles = {1};
        doubles[0] += 1;
        byte[] bytes = {1};
        bytes[0] += 1;
        short[] shorts = {1};
        shorts[0] += 1;
        int[] ints = {1};
        ints[0] += 1;
        long[] longs = {1};
        longs[0] += 1;
        Object[] objects = {ints, null};
        objects[1] = objects[0];
        count += objects.length;
    }

    static void many() {
        kept = new int[2][3];
        kept = new long[2][3][];
        kept = new Point[1][];
    }

    static void captured() {
        int seen = count;
        String text = "text";
        class Inner extends Point {
            final int own = seen;

            Inner(int n) {
                super(n > 0 ? n + seen : text.length());
            }

            int sum() {
                return own + seen + text.length();
            }
        }
        Inner inner = new Inner(1);
        count += inner.sum();
    }

    int member = 6;

    class Member {
        int get() {
            return member;
        }
    }

    static void enclosed() {
        count += new Accesses().new Member().get();
    }

    static Point linked(Point first, Point second) {
        first.link = second;
        return first;
    }

    static class Pair extends Point {
        Pair(Point first, Point second) {
            super(first.x);
            link = second;
        }
    }

    static void nested(int n) {
        kept = new Pair(new Point(1), new Pair(new Point(2), null));
        kept = new Pair(n > 0 ? new Point(3) : new Sub(3), n > 1 ? null : new Point(4));
        kept = linked(new Point(5), new Point(6));
    }

    static void switched(String text) {
        kept = new Pair(new Point(1), switch (text) {
            case "a" -> new Point(2);
            case "b" -> {
                try {
                    yield new Point(Integer.parseInt(text));
                } catch (NumberFormatException e) {
                    yield new Sub(7);
                }
            }
            default -> throw new IllegalStateException();
        });
    }

    static void looped() {
        for (int i = 0; i < 2; i++) {
            kept = new Point(i == 0 ? i : new Point(i).x);
        }
    }

    /** A test removes the `dup` and `pop` of each object. */
    static void dropped(int n) {
        new Point(n);
        new Pair(new Point(n), null);
        new Point(new Failing(0).before);
    }

    static void failing() {
        try {
            kept = new Failing(1);
        } catch (IllegalStateException e) {
            count++;
        }
        kept = new Failing(0);
    }

    static void throwing() {
        Point none = null;
        int[] nothing = null;
        int[] one = new int[1];
        Object[] strings = new String[1];
        for (int i = 0; i < 6; i++) {
            try {
                switch (i) {
                    case 0 -> none.x = 1;
                    case 1 -> count += none.x;
                    case 2 -> count += nothing[0];
                    case 3 -> one[1] = 1;
                    case 4 -> strings[0] = one;
                    default -> count += nothing.length;
                }
            } catch (RuntimeException e) {
                count++;
            }
        }
    }

    @SuppressWarnings("deprecation")
    static void reflected() throws Exception {
        Constructor<Failing> constructor = Failing.class.getDeclaredConstructor(int.class);
        kept = constructor.newInstance(0);
        kept = Accesses.class.newInstance();
        kept = Array.newInstance(int.class, 1);
        kept = Array.newInstance(int.class, 1, 2);
    }

    static class Copied implements Cloneable {
        Object copy() throws CloneNotSupportedException {
            return super.clone();
        }
    }

    static void cloned() throws CloneNotSupportedException {
        kept = new int[1].clone();
        kept = new Copied().copy();
    }

    interface Part {
        void run() throws Exception;
    }

    static void record(String name, Part part) throws Exception {
        PerkFields.start();
        part.run();
        String log = PerkFields.stop();
        System.out.println("== " + name);
        System.out.print(log);
    }

    public static void main(String[] args) throws Exception {
        record("fields", () -> fields());
        record("inherited", () -> inherited());
        record("arrays", () -> arrays());
        record("many", () -> many());
        record("captured", () -> captured());
        record("enclosed", () -> enclosed());
        record("nested", () -> nested(1));
        record("switched", () -> switched("b"));
        record("looped", () -> looped());
        record("dropped", () -> dropped(1));
        record("failing", () -> failing());
        record("throwing", () -> throwing());
        record("cloned", () -> cloned());
        record("reflected", () -> reflected());
    }
}
