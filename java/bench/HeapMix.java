import java.lang.ref.SoftReference;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

/**
 * A heap like those of services: customers with orders in lists of both directions, sessions that
 * are never closed, forgotten listeners, caches, trees, boxed numbers, empty collections, and 40
 * threads with locals. Its argument is the size in MB. Prints {@code READY}, and waits to be killed.
 */
public class HeapMix {
    static final List<Listener> LISTENERS = new ArrayList<>();
    static final Map<String, Session> SESSIONS = new ConcurrentHashMap<>();
    static final ThreadLocal<Map<String, byte[]>> BUFFERS = ThreadLocal.withInitial(HashMap::new);
    static final Map<Long, Order> RECENT = new LinkedHashMap<>(16, .75f, true);
    static final Queue<Object> BACKLOG = new LinkedList<>();
    static final List<SoftReference<byte[]>> SOFT = new ArrayList<>();
    static final Map<Object, String> WEAK = new WeakHashMap<>();
    static final Map<String, Integer> INDEX = new TreeMap<>();
    static final ArrayDeque<int[]> RING = new ArrayDeque<>();
    static final List<Object> KEPT = new ArrayList<>();
    static final Random RANDOM = new Random(42);
    static final int THREADS = 40;

    static Object[] sparse;
    static Product[] products;

    public static void main(String[] args) throws InterruptedException {
        long target = Long.parseLong(args[0]) * 1_000_000L;
        products = new Product[20_000];
        for (int i = 0; i < products.length; i++) {
            products[i] = new Product(i);
        }
        sparse = new Object[500_000];
        for (int i = 0; i < sparse.length; i += 97) {
            sparse[i] = new Object();
        }
        int blocks = 0;
        do {
            block(blocks++);
            block(blocks++);
            if (blocks % 32 == 0) {
                System.gc();
            }
        } while (usedBytes() <= target || collectedBytes() <= target);
        CountDownLatch ready = new CountDownLatch(THREADS);
        for (int i = 0; i < THREADS; i++) {
            int id = i;
            Thread thread = new Thread(() -> work(id, ready), "worker-" + id);
            thread.setDaemon(true);
            thread.start();
        }
        ready.await();
        System.out.println("READY blocks=" + blocks);
        Thread.sleep(Long.MAX_VALUE);
    }

    private static long usedBytes() {
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    private static long collectedBytes() {
        System.gc();
        return usedBytes();
    }

    /** Makes about 10 MB. */
    private static void block(int number) {
        List<Customer> customers = new ArrayList<>();
        Order last = null;
        for (int i = 0; i < 2000; i++) {
            Customer customer = new Customer(number * 100_000L + i);
            if (i % 10 == 0) {
                customer.attributes.put("note", word(60));
            }
            int orders = 1 + RANDOM.nextInt(5);
            for (int j = 0; j < orders; j++) {
                Order order = new Order(customer, j % 2 == 0 ? new ArrayList<>() : new LinkedList<>());
                order.previous = last;
                if (last != null) {
                    last.next = order;
                }
                last = order;
                customer.orders.add(order);
                if (RANDOM.nextInt(4) == 0) {
                    RECENT.put(order.id, order);
                }
            }
            customers.add(customer);
            publish(customer, i);
        }
        KEPT.add(number % 2 == 0 ? customers : Collections.unmodifiableList(customers));
        KEPT.add(tree(13));
        Map<Integer, Integer> boxes = new HashMap<>();
        for (int i = 0; i < 8000; i++) {
            boxes.put(RANDOM.nextInt(), RANDOM.nextInt());
        }
        KEPT.add(boxes);
        for (int i = 0; i < 600; i++) {
            KEPT.add(new ArrayList<Object>(32));
            KEPT.add(new HashMap<Object, Object>(64));
        }
        RING.add(new int[65_536]);
        KEPT.add(new double[16_384]);
        KEPT.add(new char[20_000]);
        KEPT.add(new long[128][128]);
        SOFT.add(new SoftReference<>(new byte[32_768]));
        Object key = new Object();
        KEPT.add(key);
        WEAK.put(key, word(20));
        KEPT.add((Runnable) () -> System.out.println(customers.size()));
    }

    /** Puts a customer into what others hold. */
    private static void publish(Customer customer, int number) {
        if (number % 20 == 0) {
            LISTENERS.add(new Listener(customer));
        }
        if (number % 10 == 0) {
            Session session = new Session(UUID.randomUUID().toString());
            session.attributes.put("customer", customer);
            session.attributes.put("cart", new ArrayList<>(customer.orders));
            session.attributes.put("token", new byte[256]);
            SESSIONS.put(session.id, session);
        }
        if (number % 7 == 0) {
            INDEX.put(customer.email, number);
        }
        if (number % 5 == 0) {
            BACKLOG.add(new Object[] {customer, number, word(10)});
        }
    }

    private static String word(int length) {
        StringBuilder text = new StringBuilder(length);
        for (int i = 0; i < length; i++) {
            text.append((char) ('a' + RANDOM.nextInt(26)));
        }
        return text.toString();
    }

    private static Node tree(int depth) {
        Node node = new Node();
        node.key = RANDOM.nextInt();
        boolean isEven = depth % 2 == 0;
        node.payload = isEven ? Integer.valueOf(RANDOM.nextInt()) : new String("same-" + depth % 7);
        if (depth > 0) {
            node.left = tree(depth - 1);
            node.right = tree(depth - 1);
        }
        return node;
    }

    private static void work(int id, CountDownLatch ready) {
        Map<String, byte[]> buffers = BUFFERS.get();
        for (int i = 0; i < 200; i++) {
            buffers.put("k" + id + "-" + i, new byte[1024]);
        }
        List<String> requests = new ArrayList<>();
        for (int i = 0; i < 3000; i++) {
            requests.add("request-" + id + "-" + i);
        }
        descend(id % 30 + 5, requests, ready);
    }

    private static void descend(int depth, Object local, CountDownLatch ready) {
        long[] own = new long[depth * 100];
        if (depth > 0) {
            descend(depth - 1, local, ready);
        } else {
            synchronized (local) {
                ready.countDown();
                try {
                    Thread.sleep(Long.MAX_VALUE);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        }
        System.out.println(own.length + " " + local);
    }

    enum Status {
        NEW,
        PAID,
        SHIPPED,
        CANCELLED
    }

    static class Address {
        final String street = word(12);
        final String city = new String("Berlin");
        final String code = new String("10115");
    }

    static class Customer {
        final long id;
        final String name = word(6) + " " + word(9);
        final String email = name.replace(' ', '.') + "@example.com";
        final Address address = new Address();
        final List<Order> orders = new ArrayList<>();
        final Map<String, Object> attributes = new HashMap<>();

        Customer(long id) {
            this.id = id;
            attributes.put("tier", "gold");
            attributes.put("score", RANDOM.nextInt(100_000));
        }
    }

    static class Order {
        final long id = RANDOM.nextLong();
        final Date created = new Date(RANDOM.nextLong());
        final Status status = Status.values()[RANDOM.nextInt(4)];
        final Customer customer;
        final List<Line> lines;
        Order previous;
        Order next;
        byte flag;
        boolean isOpen;
        short count;

        Order(Customer customer, List<Line> lines) {
            this.customer = customer;
            this.lines = lines;
            int size = 1 + RANDOM.nextInt(4);
            for (int i = 0; i < size; i++) {
                lines.add(new Line(this, i));
            }
        }
    }

    static class Line {
        final int quantity;
        final double price = RANDOM.nextDouble();
        final Product product = products[RANDOM.nextInt(products.length)];
        final String note = RANDOM.nextInt(8) == 0 ? word(30) : null;
        final Order order;

        Line(Order order, int quantity) {
            this.order = order;
            this.quantity = quantity;
        }
    }

    static class Product {
        final int id;
        final String sku;
        final String title = word(24);
        final byte[] thumbnail = new byte[RANDOM.nextInt(400)];
        final Set<String> tags = new HashSet<>();
        float weight;
        char grade;

        Product(int id) {
            this.id = id;
            this.sku = "SKU-" + id;
            int count = RANDOM.nextInt(4);
            for (int i = 0; i < count; i++) {
                tags.add("tag" + RANDOM.nextInt(50));
            }
        }
    }

    static class Node {
        Node left;
        Node right;
        int key;
        Object payload;
    }

    static class Session {
        final String id;
        final Map<String, Object> attributes = new ConcurrentHashMap<>();
        final long[] hits = new long[64];
        final Session self = this;

        Session(String id) {
            this.id = id;
        }
    }

    static class Listener {
        final Object owner;
        final byte[] buffer = new byte[2048];

        Listener(Object owner) {
            this.owner = owner;
        }
    }
}
