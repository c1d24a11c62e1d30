import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** Computes, allocates, contends and waits: a bit of all that a recording holds. */
public class Recorded {
    private static final Object MONITOR = new Object();
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static volatile long sink;

    public static void main(String[] args) throws Exception {
        long millis = Long.parseLong(args[0]);
        Thread allocating = new Thread(() -> allocate(millis), "allocating");
        Thread deep = new Thread(() -> deep(300, millis), "deep");
        allocating.start();
        deep.start();
        for (int round = 0; round < 3; round++) {
            contend();
        }
        LockSupport.parkNanos(30_000_000);
        compute(millis);
        allocating.join();
        deep.join();
    }

    private static void compute(long millis) {
        long end = System.currentTimeMillis() + millis;
        while (System.currentTimeMillis() < end) {
            for (int i = 0; i < 10_000; i++) {
                sink += i * 31L % 7;
            }
        }
    }

    private static void allocate(long millis) {
        long end = System.currentTimeMillis() + millis;
        while (System.currentTimeMillis() < end) {
            Map<Integer, int[]> map = new HashMap<>();
            for (int i = 0; i < 1000; i++) {
                map.put(i, new int[10]);
            }
            sink += map.size();
        }
    }

    private static void deep(int levels, long millis) {
        if (levels > 0) {
            deep(levels - 1, millis);
        } else {
            compute(millis);
        }
    }

    /** Another thread holds a monitor and a lock for 30 ms each, and is waited for. */
    private static void contend() throws Exception {
        CountDownLatch held = new CountDownLatch(1);
        Thread holder = new Thread(() -> hold(held), "holder");
        holder.start();
        held.await();
        synchronized (MONITOR) {
            sink++;
        }
        LOCK.lock();
        LOCK.unlock();
        synchronized (MONITOR) {
            MONITOR.wait(30);
        }
        holder.join();
    }

    private static void hold(CountDownLatch held) {
        LOCK.lock();
        try {
            synchronized (MONITOR) {
                held.countDown();
                LockSupport.parkNanos(30_000_000);
            }
            LockSupport.parkNanos(30_000_000);
        } finally {
            LOCK.unlock();
        }
    }
}
