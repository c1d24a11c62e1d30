import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.IntBuffer;
import java.nio.file.Path;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Holds objects of all kinds in a list, and prints a line for each: the meaning that perk must find. */
public class Meanings {
    static final ArrayList<Object> OBJECTS = new ArrayList<>();
    static final Object LOCK = new Object();

    enum Planet { MERCURY, VENUS, EARTH { @Override public String toString() { return "home"; } } }

    static class OwnList extends ArrayList<Object> {
        int size = 77;
        Object elementData = "hidden";
    }

    static class OwnError extends IllegalStateException {
        OwnError(String message, Throwable cause) { super(message, cause); }
    }

    static void is(Object object, String meaning) {
        OBJECTS.add(object);
        System.out.println(meaning);
    }

    /** The program prints it itself. */
    static void plain(Object object) {
        is(object, String.valueOf(object));
    }

    static String item(Object object) {
        return object instanceof String ? '"' + object.toString() + '"'
            : object instanceof Enum<?> constant ? constant.name()
            : String.valueOf(object);
    }

    static void elements(Collection<?> elements) {
        StringJoiner items = new StringJoiner(", ");
        elements.stream().limit(10).forEach(it -> items.add(item(it)));
        int size = elements.size();
        is(elements, size + (size == 1 ? " element" : " elements")
            + (size == 0 ? "" : ": " + items) + (size > 10 ? ", ..." : ""));
    }

    static void entries(Map<?, ?> map) {
        StringJoiner items = new StringJoiner(", ");
        map.entrySet().stream().limit(10)
            .forEach(it -> items.add(item(it.getKey()) + " = " + item(it.getValue())));
        int size = map.size();
        is(map, size + (size == 1 ? " entry" : " entries")
            + (size == 0 ? "" : ": " + items) + (size > 10 ? ", ..." : ""));
    }

    /** Elements whose order is not that of the iterator; the line has them sorted. */
    static void unordered(Object object, int size, Stream<String> items) {
        String noun = (object instanceof Map ? " entr" : " element") + (object instanceof Map ? size == 1 ? "y" : "ies" : size == 1 ? "" : "s");
        is(object, "~" + size + noun + ": " + items.sorted().collect(Collectors.joining(", ")));
    }

    static void unordered(Set<?> set) {
        unordered(set, set.size(), set.stream().map(Meanings::item));
    }

    static void unordered(Map<?, ?> map) {
        unordered(map, map.size(), map.entrySet().stream().map(it -> item(it.getKey()) + " = " + item(it.getValue())));
    }

    static <C extends Collection<Object>> C filled(C elements, Object... values) {
        elements.addAll(Arrays.asList(values));
        return elements;
    }

    static <M extends Map<Object, Object>> M put(M map, Object... pairs) {
        for (int i = 0; i < pairs.length; i += 2) map.put(pairs[i], pairs[i + 1]);
        return map;
    }

    static <M extends Map<Object, Object>> M counted(M map, int count) {
        for (int i = 0; i < count; i++) map.put(i, i * i);
        return map;
    }

    static void texts() throws Exception {
        is(new String("latin \u00e9"), "\"latin \u00e9\"");
        is(new String("greek \u03b1\u03b2 \ud83d\ude00"), "\"greek \u03b1\u03b2 \ud83d\ude00\"");
        is(new String(""), "\"\"");
        is(new String("a\"b\n"), "\"a\\\"b\\n\"");
        is("x".repeat(1000), "\"" + "x".repeat(200) + "\"... (1000 characters)");
        is(new StringBuilder("built").append(1), "\"built1\"");
        is(new StringBuffer("\u03b1").append("buffer"), "\"\u03b1buffer\"");
        StringBuilder shorter = new StringBuilder("shorter");
        shorter.setLength(5);
        is(shorter, "\"short\"");
        is(new char[] {'c', 'h'}, "\"ch\"");
        is("bytes".getBytes(), "\"bytes\"");
        plain(new File("/tmp/some.file"));
        plain(Path.of("/tmp", "other"));
        plain(URI.create("http://host:80/path?query#fragment"));
        plain(new URI("http", "user", "host", 8080, "/path", "query", "fragment"));
        plain(new URL("https://host:443/file?query#ref"));
        plain(Locale.forLanguageTag("de-AT"));
        plain(Currency.getInstance("CHF"));
        plain(Pattern.compile("a+b"));
        is(InetAddress.getByAddress("host", new byte[] {10, 0, 0, 1}), "host/10.0.0.1");
        is(InetAddress.getByAddress(new byte[] {0x20, 1, 0xd, (byte) 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}),
            "2001:db8::1");
        is(new InetSocketAddress(InetAddress.getByAddress("host", new byte[] {10, 0, 0, 2}), 80), "host/10.0.0.2:80");
        is(InetSocketAddress.createUnresolved("far", 81), "far:81");
    }

    static void numbers() {
        plain(new Integer(-7));
        plain(Long.valueOf(Long.MIN_VALUE));
        plain(Short.valueOf((short) -3));
        plain(Byte.valueOf((byte) -1));
        plain(Boolean.TRUE);
        is(Character.valueOf('x'), "'x'");
        for (double it : new double[] {0.1, 1e21, -2.5e-7, 123456.789, 1e7, 0.001, Double.NaN, Double.POSITIVE_INFINITY}) {
            plain(Double.valueOf(it));
        }
        plain(Float.valueOf(3.25f));
        plain(Float.valueOf(1e10f));
        for (String it : new String[] {"0", "-1", "123456789012345678901234567890", "-18446744073709551616"}) {
            plain(new BigInteger(it));
        }
        is(BigInteger.ONE.shiftLeft(100_000), "a number of 100032 bits");
        for (String it : new String[] {"0", "1.50", "-0.001", "1E+3", "1E-10", "123456789012345678901234567890.123"}) {
            plain(new BigDecimal(it));
        }
        plain(new UUID(0x123456789abcdef0L, 0xfedcba9876543210L));
        plain(new AtomicInteger(5));
        plain(new AtomicLong(-5));
        plain(new AtomicBoolean(true));
        LongAdder adder = new LongAdder();
        adder.add(41);
        adder.increment();
        plain(adder);
        is(OptionalInt.of(3), "3");
        is(OptionalDouble.of(2.5), "2.5");
        is(OptionalLong.empty(), "empty");
        is(new int[] {1, -2, 3}, "3 elements: 1, -2, 3");
        is(new double[] {0.5}, "1 element: 0.5");
        is(new boolean[] {true, false}, "2 elements: true, false");
        is(new byte[] {0, -1}, "2 elements: 0, -1");
        is(new Object[] {null, "a", 1}, "3 elements: null, \"a\", 1");
    }

    static void times() {
        is(new Date(1_709_208_000_500L), "2024-02-29T12:00:00.500Z");
        java.sql.Timestamp timestamp = new java.sql.Timestamp(1_709_208_000_000L);
        timestamp.setNanos(123);
        is(timestamp, "2024-02-29T12:00:00.000000123Z");
        Calendar calendar = new GregorianCalendar(TimeZone.getTimeZone("UTC"));
        calendar.setTimeInMillis(-1);
        is(calendar, "1969-12-31T23:59:59.999Z");
        is(TimeZone.getTimeZone("Europe/Vienna"), "Europe/Vienna");
        ZoneId vienna = ZoneId.of("Europe/Vienna");
        LocalDateTime noon = LocalDateTime.of(2024, 2, 29, 12, 0);
        for (Object it : new Object[] {
            Instant.ofEpochSecond(1_700_000_000, 123_456_000), Instant.ofEpochSecond(-1, 1), Instant.MAX, Instant.MIN,
            LocalDate.of(-44, 3, 15), LocalDate.of(12024, 1, 1), LocalTime.of(23, 5), LocalTime.of(1, 2, 3, 4),
            noon, noon.plusNanos(1_000), OffsetDateTime.of(noon, ZoneOffset.ofHoursMinutes(-5, -30)),
            OffsetTime.of(LocalTime.NOON, ZoneOffset.UTC), ZonedDateTime.of(noon, vienna),
            ZonedDateTime.of(noon, ZoneOffset.UTC), Duration.ofMillis(5_400_500), Duration.ofMillis(-1), Duration.ZERO,
            Duration.ofSeconds(-3661, 5), Period.of(1, -2, 30), Period.ZERO, Year.of(2024), YearMonth.of(2024, 2),
            MonthDay.of(12, 31), ZoneOffset.ofTotalSeconds(3601), vienna}) {
            plain(it);
        }
        is(Month.MAY, "MAY");
    }

    static void lists() {
        Object[] few = {"a", 1, null};
        elements(filled(new ArrayList<>(), few));
        elements(new ArrayList<>());
        ArrayList<Object> many = new ArrayList<>();
        for (int i = 0; i < 1000; i++) many.add(i);
        elements(many);
        elements(many.subList(20, 40));
        elements(List.copyOf(many).subList(20, 40));
        elements(filled(new OwnList(), few));
        elements(filled(new LinkedList<>(), few));
        elements(filled(new Vector<>(), few));
        elements(filled(new Stack<>(), few));
        elements(Arrays.asList(few));
        elements(filled(new CopyOnWriteArrayList<>(), few));
        elements(filled(new CopyOnWriteArraySet<>(), few));
        elements(filled(new PriorityQueue<>(), 3, 1, 2));
        elements(filled(new PriorityBlockingQueue<>(), 3, 1, 2));
        ArrayDeque<Object> ring = new ArrayDeque<>();
        for (int i = 0; i < 100; i++) {
            ring.addLast(i);
            if (i >= 7) ring.removeFirst();
        }
        elements(ring);
        ArrayBlockingQueue<Object> bounded = new ArrayBlockingQueue<>(4);
        for (int i = 0; i < 7; i++) {
            bounded.add(i);
            if (i >= 3) bounded.remove();
        }
        elements(bounded);
        elements(filled(new LinkedBlockingQueue<>(), "a", 2));
        elements(filled(new LinkedBlockingDeque<>(), "a", 2));
        ConcurrentLinkedQueue<Object> queue = filled(new ConcurrentLinkedQueue<>(), 1, 2, 3);
        queue.poll();
        elements(queue);
        elements(filled(new ConcurrentLinkedDeque<>(), 1, 2, 3));
        elements(EnumSet.of(Planet.VENUS, Planet.EARTH));
        elements(EnumSet.noneOf(Planet.class));
        elements(EnumSet.copyOf(Arrays.asList(Character.UnicodeScript.LATIN, Character.UnicodeScript.TAI_VIET)));
        elements(filled(new HashSet<>(), few));
        elements(filled(new LinkedHashSet<>(), "z", "a", 5));
        elements(filled(new TreeSet<>(), 5, 3, 9, 1));
        elements(filled(new ConcurrentSkipListSet<>(), 5, 3, 9, 1));
        elements(filled(Collections.newSetFromMap(new IdentityHashMap<>()), "k"));
        elements(ConcurrentHashMap.newKeySet());
        elements(counted(new ConcurrentHashMap<>(), 5).keySet());
        elements(counted(new HashMap<>(), 5).keySet());
        elements(counted(new LinkedHashMap<>(), 5).values());
        elements(counted(new TreeMap<>(), 5).keySet());
        elements(List.of());
        elements(List.of(1));
        elements(List.of(1, "b"));
        elements(List.of(1, 2, 3));
        elements(Set.of());
        elements(Set.of(1));
        unordered(Set.of(1, 2));
        unordered(Set.of(1, 2, 3, 4));
        elements(Collections.emptyList());
        elements(Collections.emptySet());
        elements(Collections.singletonList("one"));
        elements(Collections.singleton("one"));
        elements(Collections.nCopies(1000, "same"));
        elements(Collections.unmodifiableList(many));
        elements(Collections.synchronizedList(Collections.unmodifiableList(filled(new LinkedList<>(), 1, 2))));
        elements(Collections.checkedList(filled(new ArrayList<>(), 1, 2), Object.class));
        elements(Collections.unmodifiableSet(filled(new TreeSet<>(), 1, 2)));
        elements(Collections.asLifoQueue(filled(new ArrayDeque<>(), 1, 2)));
        is(new AtomicIntegerArray(new int[] {4, 5}), "2 elements: 4, 5");
        is(filled(new ArrayList<>(), filled(new ArrayList<>(), 1, 2), new int[3], counted(new HashMap<>(), 4), "x".repeat(100)),
            "4 elements: ArrayList of 2, int[3], HashMap of 4, \"" + "x".repeat(60) + "\"... (100 characters)");
        ArrayList<Object> itself = new ArrayList<>();
        itself.add(itself);
        is(itself, "1 element: ArrayList of 1");
    }

    static void maps() {
        entries(counted(new HashMap<>(), 0));
        entries(put(new HashMap<>(), "k", "v"));
        entries(put(new HashMap<>(), null, null));
        entries(counted(new HashMap<>(), 1000));
        HashMap<Object, Object> late = new HashMap<>(1 << 14);
        late.put(10_000, "late");
        entries(late);
        entries(put(new LinkedHashMap<>(), "z", 1, "a", 2, null, 3));
        LinkedHashMap<Object, Object> byUse = new LinkedHashMap<>(16, 0.75f, true);
        counted(byUse, 5).get(2);
        is(byUse, "5 entries: 0 = 0, 1 = 1, 3 = 9, 4 = 16, 2 = 4");
        entries(counted(new ConcurrentHashMap<>(), 100));
        entries(put(new ConcurrentHashMap<>(), "k", "v"));
        ConcurrentHashMap<Object, Object> crowded = new ConcurrentHashMap<>();
        for (String it : collisions(6)) crowded.put(it, 1);
        is(crowded, "64 entries: \"*");
        entries(counted(new TreeMap<>(), 50));
        entries(put(new TreeMap<>(Collections.reverseOrder()), 1, "a", 2, "b"));
        entries(counted(new ConcurrentSkipListMap<>(), 50));
        entries(counted(new ConcurrentSkipListMap<>(), 0));
        entries(put(new IdentityHashMap<>(), "k", "v"));
        entries(put(new IdentityHashMap<>(), null, 1));
        entries(put(new WeakHashMap<>(), "k", "v"));
        entries(put(new WeakHashMap<>(), null, "v"));
        EnumMap<Planet, Object> byPlanet = new EnumMap<>(Planet.class);
        byPlanet.put(Planet.EARTH, 1);
        byPlanet.put(Planet.VENUS, null);
        entries(byPlanet);
        unordered(counted(new Hashtable<>(), 5));
        Properties properties = new Properties();
        properties.setProperty("name", "value");
        entries(properties);
        entries(Map.of());
        entries(Map.of("k", "v"));
        unordered(Map.of(1, 2, 3, 4, 5, 6));
        entries(Collections.emptyMap());
        entries(Collections.singletonMap("k", 1));
        entries(Collections.unmodifiableMap(counted(new TreeMap<>(), 3)));
        entries(Collections.synchronizedMap(counted(new HashMap<>(), 3)));
        entries(Collections.checkedMap(counted(new HashMap<>(), 3), Object.class, Object.class));
        is(new AbstractMap.SimpleEntry<>("k", 5), "key \"k\", value 5");
        is(counted(new ConcurrentHashMap<>(), 1).entrySet().iterator().next(), "key 0, value 0");
    }

    /** Strings of the same hash code. */
    static List<String> collisions(int length) {
        List<String> all = List.of("");
        for (int i = 0; i < length; i++) {
            List<String> longer = new ArrayList<>();
            for (String it : all) {
                longer.add(it + "Aa");
                longer.add(it + "BB");
            }
            all = longer;
        }
        return all;
    }

    static void objects() throws Exception {
        is(Planet.EARTH, "EARTH");
        is(String.class, "class java.lang.String");
        is(int[][].class, "class int[][]");
        is(Optional.empty(), "empty");
        is(Optional.of("full"), "value \"full\"");
        is(new AtomicReference<>(Planet.VENUS), "value VENUS");
        is(new AtomicReference<>(), "value null");
        is(new WeakReference<>("kept"), "referent \"kept\"");
        SoftReference<Object> cleared = new SoftReference<>(new Object());
        cleared.clear();
        is(cleared, "referent cleared");
        is(new IllegalStateException("broken"), "message \"broken\"");
        is(new OwnError(null, new RuntimeException("why")), "cause RuntimeException: \"why\"");
        is(new RuntimeException(), "without message and cause");
        is(new StackTraceElement("a.B", "m", "B.java", 12), "a.B.m (B.java:12)");
        is(String.class.getMethod("length"), "java.lang.String.length");
        is(ByteBuffer.allocate(100), "capacity 100, position 0, limit 100");
        ByteBuffer direct = ByteBuffer.allocateDirect(1024);
        direct.position(3).limit(1000);
        is(direct, "capacity 1024, position 3, limit 1000, address 0x*");
        IntBuffer view = direct.duplicate().clear().asIntBuffer();
        is(view, "capacity 256, position 0, limit 256, address 0x*");
        is(new Thread(() -> {}, "not started"), "name \"not started\", state NEW");
        Thread parked = new Thread(LockSupport::park, "parked");
        parked.setDaemon(true);
        parked.start();
        until(parked, Thread.State.WAITING);
        is(parked, "name \"parked\", state WAITING, kind daemon");
        Thread sleeps = new Thread(() -> LockSupport.parkNanos(1L << 60), "sleeps");
        sleeps.setDaemon(true);
        sleeps.start();
        until(sleeps, Thread.State.TIMED_WAITING);
        is(sleeps, "name \"sleeps\", state TIMED_WAITING, kind daemon");
        synchronized (LOCK) {
            Thread blocked = new Thread(() -> { synchronized (LOCK) { LockSupport.park(); } }, "blocked");
            blocked.setDaemon(true);
            blocked.start();
            until(blocked, Thread.State.BLOCKED);
            is(blocked, "name \"blocked\", state BLOCKED, kind daemon");
            if (Runtime.version().feature() >= 21) {
                Thread virtual = (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class)
                    .invoke(null, (Runnable) LockSupport::park);
                until(virtual, Thread.State.WAITING);
                is(virtual, "name \"\", state WAITING, kind virtual");
            }
            Thread.currentThread().setName("main thread");
            is(Thread.currentThread(), "name \"main thread\", state RUNNABLE");
            dump();
        }
    }

    static void until(Thread thread, Thread.State state) throws Exception {
        while (thread.getState() != state) Thread.sleep(1);
    }

    static String file;

    static void dump() throws Exception {
        HotSpotDiagnosticMXBean bean = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        bean.dumpHeap(file, false);
        System.out.println("end");
    }

    public static void main(String[] args) throws Exception {
        System.setOut(new java.io.PrintStream(System.out, true, "UTF-8"));
        file = args[0];
        texts();
        numbers();
        times();
        lists();
        maps();
        objects();
    }
}
