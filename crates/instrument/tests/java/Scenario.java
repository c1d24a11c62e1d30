/** Prints the calls that the probes have seen of a scenario. Lines matter: tests know them. */
public final class Scenario implements Cloneable {
    static int sum;

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static void fall(int n) {
        if (n == 0) {
            throw new IllegalStateException();
        }
        fall(n - 1);
    }

    static void exceptions() {
        try {
            fall(2);
        } catch (IllegalStateException e) {
            sum++;
        }
    }

    static class Base {
        Base(int n) {
            if (n == 2) {
                throw new IllegalStateException();
            }
        }
    }

    static final class Derived extends Base {
        Derived(int n) {
            super(check(n));
            if (n == 3) {
                throw new IllegalStateException();
            }
        }

        static int check(int n) {
            if (n == 1) {
                throw new IllegalStateException();
            }
            return n;
        }
    }

    static void constructors() {
        for (int i = 0; i < 4; i++) {
            try {
                new Derived(i);
            } catch (IllegalStateException e) {
                sum++;
            }
        }
    }

    static void reference() {
        java.util.function.IntFunction<Base> maker = Derived::new;
        try {
            maker.apply(1);
        } catch (IllegalStateException e) {
            sum += fib(0);
        }
    }

    static void leaves() {
        sum += Math.abs(-1);
        try {
            System.arraycopy(null, 0, "", 0, 1);
        } catch (NullPointerException e) {
            sum += Math.abs(-2);
        }
    }

    static void arrays() throws CloneNotSupportedException {
        sum += new boolean[1].length + new char[1].length + new float[1].length;
        sum += new double[1].length + new byte[1].length + new short[1].length;
        sum += new int[1].length + new long[1].length + new String[1][].length;
        sum += new int[1][2].length;
        sum += new int[0].clone().length;
        new Scenario().copy();
    }

    Object copy() throws CloneNotSupportedException {
        return super.clone();
    }

    static void lines(int n) {
        fib(0); fib(0);
        if (n > 0) {
            sum = fib(
                fib(1));
        }
        fib(0);
        for (int i = 0; i < 2; i++)
            fib(0);
        sum += Elsewhere.value;
    }

    static synchronized int sync(int n) {
        synchronized (Scenario.class) {
            return fib(n);
        }
    }

    static int finals(int n) {
        try {
            return fib(n);
        } finally {
            sum++;
        }
    }

    static final class Elsewhere {
        static int value = fib(1);
    }

    interface Part {
        void run() throws Exception;
    }

    static void log(String name, Part part) throws Exception {
        PerkProbes.start(true);
        part.run();
        String log = PerkProbes.stop();
        System.out.println("== " + name);
        System.out.print(log);
        System.out.println("depth=" + PerkProbes.depth);
    }

    public static void main(String[] args) throws Exception {
        log("calls", () -> fib(3));
        log("exceptions", () -> exceptions());
        log("constructors", () -> constructors());
        log("reference", () -> reference());
        log("leaves", () -> leaves());
        log("arrays", () -> arrays());
        log("lines", () -> lines(1));
        log("returns", () -> sum += sync(0) + finals(1));
    }
}
