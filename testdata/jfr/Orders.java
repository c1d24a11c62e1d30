import java.util.concurrent.TimeUnit;
import jdk.jfr.DataAmount;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Timespan;

/** Commits events of its own, throws, allocates, waits for a monitor and has the garbage collected. */
public class Orders {
    @Name("com.acme.shop.Order")
    @Label("Order")
    static class Order extends Event {
        @Label("Lines")
        int lines;

        @Timespan(Timespan.MILLISECONDS)
        long waiting;

        @DataAmount
        long size;

        String customer;
        boolean paid;
        char grade;
        double price;
        Class<?> shop;
        Thread clerk;
    }

    private static volatile Object kept;

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 300; i++) {
            Order order = new Order();
            order.begin();
            order.lines = i % 7;
            order.waiting = i;
            order.size = i * 1000L;
            order.customer = i % 3 == 0 ? null : "customer " + i % 10;
            order.paid = i % 2 == 0;
            order.grade = (char) ('A' + i % 5);
            order.price = i / 4.0;
            order.shop = i % 2 == 0 ? Orders.class : int[].class;
            order.clerk = Thread.currentThread();
            order.commit();
        }
        Thread holder = new Thread(Orders::hold, "holder");
        holder.start();
        TimeUnit.MILLISECONDS.sleep(20);
        synchronized (Orders.class) {
            kept = holder;
        }
        long end = System.nanoTime() + 1_500_000_000L;
        while (System.nanoTime() < end) {
            try {
                Integer.parseInt("none");
            } catch (NumberFormatException error) {
                kept = error;
            }
            for (int i = 0; i < 1000; i++) {
                kept = new byte[1000];
            }
        }
        System.gc();
    }

    private static synchronized void hold() {
        try {
            Thread.sleep(100);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }
}
