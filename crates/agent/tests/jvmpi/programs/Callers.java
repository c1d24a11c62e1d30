import java.util.ArrayList;
import java.util.List;

/** Computes numbers while the handlers of a profiler call its methods. */
public class Callers {
    static native void arm();

    static native void natives(Object object);

    static long helped, endlessDepth;
    static volatile Object kept;

    static void helper() {
        List<Integer> list = new ArrayList<>();
        for (int i = 0; i < 10; i++) list.add(1000 + i);
        helped += list.size();
    }

    static void endless() {
        endlessDepth++;
        endless();
    }

    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

    static int deep(int n) { return n == 0 ? 0 : 1 + deep(n - 1); }

    static int overflow(int depth) { return overflow(depth + 1) + 1; }

    static int caught(int n) {
        try {
            if (n % 3 == 0) throw new IllegalStateException("" + n);
            return n;
        } catch (IllegalStateException e) {
            return e.getMessage().length();
        }
    }

    static class Late {
        static int value = fib(5);
    }

    static long turn(int round) throws Exception {
        long sum = fib(12) + deep(500);
        for (int i = 0; i < 300; i++) sum += caught(i);
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < 300; i++) texts.add("text " + i);
        for (String text : texts) sum += text.hashCode();
        int[] done = new int[1];
        Thread thread = new Thread(() -> done[0] = fib(10) + deep(200));
        thread.start();
        thread.join();
        synchronized (texts) { texts.wait(1); }
        natives(texts);
        kept = new int[1000];
        System.gc();
        try {
            overflow(0);
        } catch (StackOverflowError e) {
            sum += 7;
        }
        return sum + done[0] + Late.value;
    }

    public static void main(String[] arguments) throws Exception {
        System.load(arguments[0]);
        // What the handlers need is loaded before.
        helper();
        arm();
        long sum = 0;
        for (int round = 0; round < 5; round++) sum += turn(round);
        System.out.println("sum=" + sum);
        System.out.println("helped=" + (helped > 1000));
        System.out.println("endless=" + (endlessDepth > 1000));
    }
}
