import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * Threads have monitors in all ways that HotSpot has, while the collector moves objects. What the native
 * library reads of each is compared with what the program knows, and with what the JVM's own bean says.
 *
 * <p>Prints each wrong answer, and by case the answers, those that were known, and those with a count.
 *
 * <p>Arguments: the library, the rounds.
 */
public class MonitorOwners {
    private static final ThreadMXBean BEAN = ManagementFactory.getThreadMXBean();
    private static volatile Object garbage;
    private static volatile boolean stops;
    private static Field address;
    private static Method startVirtual;
    private static Method isVirtual;

    static native void owner(Object monitor, long[] threads, long[] found);

    /** How the monitor is made before and while it is held. */
    enum Kind { FREE, FREE_USED, PLAIN, HASHED, WAITED, CONTENDED, CONTENDED_HASHED, NOTICE, BUSY, BUSY_CONTENDED }

    public static void main(String[] args) throws Exception {
        System.load(args[0]);
        int rounds = Integer.parseInt(args[1]);
        address = Thread.class.getDeclaredField("eetop");
        address.setAccessible(true);
        try {
            startVirtual = Thread.class.getMethod("startVirtualThread", Runnable.class);
            isVirtual = Thread.class.getMethod("isVirtual");
        } catch (NoSuchMethodException e) {
            // Before JDK 21.
        }
        Thread mover = new Thread(() -> {
            while (!stops) {
                byte[][] some = new byte[64][];
                for (int i = 0; i < 4096; i++) {
                    some[i % 64] = new byte[512];
                }
                garbage = some;
                Thread.yield();
            }
        });
        mover.setDaemon(true);
        mover.start();
        for (Kind kind : Kind.values()) {
            for (boolean virtual : new boolean[] {false, true}) {
                if (!virtual || startVirtual != null) {
                    check(kind, virtual, rounds);
                }
            }
        }
        stops = true;
    }

    private static void check(Kind kind, boolean virtual, int rounds) throws Exception {
        int known = 0;
        int counted = 0;
        int all = 0;
        for (int n = 1; n <= 3; n++) {
            Object lock = new Object();
            CountDownLatch held = new CountDownLatch(1);
            CountDownLatch done = new CountDownLatch(1);
            int times = n;
            List<Thread> waiters = new ArrayList<>();
            if (kind == Kind.HASHED || kind == Kind.CONTENDED_HASHED) {
                lock.hashCode();
            }
            if (kind == Kind.FREE_USED) {
                synchronized (lock) {
                    lock.wait(1);
                }
            }
            boolean isFree = kind == Kind.FREE || kind == Kind.FREE_USED || kind == Kind.NOTICE;
            Thread holder = start(virtual, () -> {
                if (kind == Kind.NOTICE) {
                    synchronized (lock) {
                        held.countDown();
                        pause(() -> lock.wait());
                    }
                } else if (isFree) {
                    held.countDown();
                    pause(done::await);
                } else {
                    hold(lock, times, () -> {
                        if (kind == Kind.WAITED) {
                            pause(() -> lock.wait(1));
                        }
                        held.countDown();
                        while (isBusy(kind) && done.getCount() > 0) {
                            Thread.onSpinWait();
                        }
                        pause(done::await);
                    });
                }
            });
            held.await();
            if (kind == Kind.NOTICE) {
                await(holder, Thread.State.WAITING);
            }
            if (kind.name().contains("CONTENDED")) {
                Thread waiter = new Thread(() -> {
                    synchronized (lock) {
                        garbage = null;
                    }
                });
                waiter.start();
                await(waiter, Thread.State.BLOCKED);
                waiters.add(waiter);
                long owner = BEAN.getThreadInfo(waiter.getId()).getLockOwnerId();
                // It does not always know.
                if (!virtual && owner != -1 && owner != holder.getId()) {
                    System.out.println("wrong: the bean says " + owner);
                }
            }
            Thread[] threads = new Thread[256];
            int count = Thread.enumerate(threads);
            ThreadGroup group = Thread.currentThread().getThreadGroup();
            while (group.getParent() != null) {
                group = group.getParent();
            }
            count = group.enumerate(threads, true);
            List<Thread> listed = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                listed.add(threads[i]);
            }
            // The carriers are in no group of the program's.
            for (Thread thread : Thread.getAllStackTraces().keySet()) {
                if (!listed.contains(thread)) {
                    listed.add(thread);
                }
            }
            long[] addresses = new long[listed.size()];
            long[] found = new long[4];
            for (int round = 0; round < rounds; round++) {
                for (int i = 0; i < addresses.length; i++) {
                    addresses[i] = address.getLong(listed.get(i));
                }
                owner(lock, addresses, found);
                all++;
                if (found[0] == 0) {
                    continue;
                }
                known++;
                if (isFree ? found[1] != -2 : !isHolder(holder, virtual, listed, found)) {
                    System.out.println("wrong: " + kind + " " + n + " virtual=" + virtual + " place=" + found[1]
                        + " id=" + found[2] + (found[1] < 0 ? "" : " " + listed.get((int) found[1])));
                }
                if (found[3] != 0) {
                    counted++;
                    if (found[3] != n) {
                        System.out.println("wrong: " + kind + " virtual=" + virtual + " count=" + found[3]
                            + " and not " + n);
                    }
                }
            }
            done.countDown();
            if (kind == Kind.NOTICE) {
                synchronized (lock) {
                    lock.notifyAll();
                }
            }
            holder.join();
            for (Thread waiter : waiters) {
                waiter.join();
            }
        }
        System.out.println("answers " + kind + " " + virtual + " " + all + " " + known + " " + counted);
    }

    private static boolean isHolder(Thread holder, boolean virtual, List<Thread> listed, long[] found) {
        if (found[2] != 0 && found[2] != holder.getId()) {
            return false;
        }
        if (found[1] == -1) {
            return virtual && found[2] != 0;
        }
        Thread thread = listed.get((int) found[1]);
        return virtual ? thread.getName().contains("ForkJoinPool") : thread == holder;
    }

    private static boolean isBusy(Kind kind) {
        return kind == Kind.BUSY || kind == Kind.BUSY_CONTENDED;
    }

    private static void hold(Object lock, int times, Runnable body) {
        if (times == 0) {
            body.run();
            return;
        }
        synchronized (lock) {
            hold(lock, times - 1, body);
        }
    }

    interface Pause {
        void run() throws InterruptedException;
    }

    private static void pause(Pause pause) {
        try {
            pause.run();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void await(Thread thread, Thread.State state) throws InterruptedException {
        while (thread.getState() != state) {
            Thread.sleep(1);
        }
    }

    private static Thread start(boolean virtual, Runnable body) throws Exception {
        if (virtual) {
            return (Thread) startVirtual.invoke(null, body);
        }
        Thread thread = new Thread(body, "holder");
        thread.start();
        return thread;
    }
}
