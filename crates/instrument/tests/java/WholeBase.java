import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.lang.reflect.Proxy;
import java.text.SimpleDateFormat;
import java.util.Arrays;
import java.util.Date;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.ForkJoinPool;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Uses many classes of java.base, and prints the counts of the probes in them. */
public final class WholeBase {
    private static final int REPEAT = 20_000;

    static Object sink;

    public static void main(String[] args) throws Throwable {
        PerkProbes.start(false);
        use();
        PerkProbes.stop();
        print("depth", PerkProbes.depth);
        allocate();
        virtualThreads();
        print("entered", PerkProbes.entered);
        print("left", PerkProbes.left);
        print("leaves", PerkProbes.leaves);
        print("objects", PerkProbes.objects);
        print("arrays", PerkProbes.arrays);
    }

    private static void print(String name, long value) {
        System.out.println(name + "=" + value);
    }

    private static void use() throws Throwable {
        TreeMap<String, Integer> counts = new TreeMap<>();
        for (String word : Pattern.compile("\\W+").split("a bc a def bc a".repeat(50))) {
            counts.merge(word, 1, Integer::sum);
        }
        List<String> words = IntStream.range(0, 500).boxed().map(it -> it + "x" + it)
            .sorted().collect(Collectors.toList());
        for (int i = 0; i < 200; i++) {
            try {
                Integer.parseInt(words.get(i));
            } catch (NumberFormatException e) {
                counts.put(e.getMessage(), i);
            }
        }
        String text = String.format("%s %08.3f %tF", words, 1.5, new Date(0));
        text += new SimpleDateFormat("yyyy-MM-dd").format(new Date(0));
        var handle = MethodHandles.lookup().findVirtual(String.class, "concat",
            MethodType.methodType(String.class, String.class));
        text = (String) handle.invokeExact(text, "!");
        Runnable proxy = (Runnable) Proxy.newProxyInstance(WholeBase.class.getClassLoader(),
            new Class<?>[] {Runnable.class}, (self, method, arguments) -> null);
        proxy.run();
        Object made = StringBuilder.class.getConstructor(String.class).newInstance(text);
        sink = ForkJoinPool.commonPool().submit(() -> made.toString().hashCode()).get();
        try {
            recurse(0);
        } catch (IllegalStateException e) {
            sink = e;
        }
    }

    private static int recurse(int n) {
        if (n == 200) {
            throw new IllegalStateException();
        }
        return n + IntStream.of(n).map(it -> recurse(it + 1)).sum();
    }

    /** An allocation that compiled code does otherwise than bytecode. */
    private interface Allocation {
        Object make() throws Throwable;
    }

    private static final class Cell implements Cloneable {
        @Override
        protected Object clone() throws CloneNotSupportedException {
            return super.clone();
        }
    }

    private static void allocate() throws Throwable {
        String[] strings = {"a", "b"};
        char[] wide = {'\u4e00', 'b'};
        byte[] bytes = {1, 2};
        Cell cell = new Cell();
        count("copyOf", String[].class, () -> Arrays.copyOf(strings, 3));
        count("copyOfRange", String[].class, () -> Arrays.copyOfRange(strings, 1, 2));
        count("copyOfBytes", byte[].class, () -> Arrays.copyOf(bytes, 2));
        count("cloneArray", String[].class, strings::clone);
        count("cloneObject", Cell.class, cell::clone);
        count("newInstance", Cell[].class, () -> Array.newInstance(Cell.class, 2));
        count("newArray", Cell[].class, () -> new Cell[2]);
        count("newObject", Cell.class, Cell::new);
        count("multiNewInstance", Cell[][].class, () -> Array.newInstance(Cell.class, 2, 2));
        // The first is to have one byte for each character.
        count("wideString", byte[].class, 2, () -> new String(wide));
        count("wideStringObject", String.class, () -> new String(wide));
        count("boxed", Integer.class, () -> Integer.valueOf(1000));
    }

    /** Prints how many more are counted than are made. */
    private static void count(String name, Class<?> type, Allocation allocation) throws Throwable {
        count(name, type, 1, allocation);
    }

    private static void count(String name, Class<?> type, int each, Allocation allocation)
            throws Throwable {
        PerkProbes.start(false);
        PerkProbes.count(type);
        for (int i = 0; i < REPEAT; i++) {
            sink = allocation.make();
        }
        PerkProbes.stop();
        print(name, PerkProbes.made - each * REPEAT);
    }

    private static void virtualThreads() throws Throwable {
        if (Runtime.version().feature() < 21) {
            return;
        }
        var start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        Thread[] threads = new Thread[20];
        for (int i = 0; i < threads.length; i++) {
            Runnable sleep = () -> {
                try {
                    Thread.sleep(5);
                    Thread.sleep(5);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            };
            threads[i] = (Thread) start.invoke(null, sleep);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        // The last one may still be about to leave its carrier.
        for (int i = 0; i < 100 && PerkProbes.mounted != PerkProbes.unmounted; i++) {
            Thread.sleep(10);
        }
        print("mounted", PerkProbes.mounted);
        print("unmounted", PerkProbes.unmounted);
    }
}
