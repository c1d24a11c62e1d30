package com.acme.shop;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;

/**
 * A web shop with four faults, for {@code make demo}. {@code /orders} asks the database for the customer of each order
 * by itself; {@code /stock} sleeps while it holds a lock; {@code /prices} formats and compiles regular expressions in
 * a loop; {@code /checkout} waits for a partner that answers after 120 ms.
 */
public final class Shop {
    record Order(int id, int customer, String sku, long cents) {}

    /** The connection of a thread to the database of {@link Outside}. */
    static final class Database {
        private static final ThreadLocal<Database> CURRENT = new ThreadLocal<>();
        private static int port;
        private final Socket socket;
        private final BufferedReader answers;

        private Database() throws IOException {
            socket = new Socket("127.0.0.1", port);
            socket.setTcpNoDelay(true);
            answers = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        }

        static String query(String text) throws IOException {
            Database database = CURRENT.get();
            if (database == null) {
                database = new Database();
                CURRENT.set(database);
            }
            database.socket.getOutputStream().write((text + "\n").getBytes(StandardCharsets.UTF_8));
            return database.answers.readLine();
        }
    }

    static final class Orders {
        private static final int PAGE = 25;

        String list(int page) throws IOException {
            StringBuilder text = new StringBuilder();
            for (Order order : page(page)) {
                text.append(order.id()).append(' ').append(customerOf(order)).append('\n');
            }
            return text.toString();
        }

        private List<Order> page(int page) throws IOException {
            List<Order> orders = new ArrayList<>();
            for (String row : Database.query("orders " + page * PAGE + " " + PAGE).split(";")) {
                String[] columns = row.split(",");
                orders.add(new Order(Integer.parseInt(columns[0]), Integer.parseInt(columns[1]), columns[2],
                    Long.parseLong(columns[3])));
            }
            return orders;
        }

        private String customerOf(Order order) throws IOException {
            return Database.query("customer " + order.customer());
        }
    }

    static final class Inventory {
        private final int[] stock = new int[1000];

        synchronized int reserve(int item) throws InterruptedException {
            Thread.sleep(20); // the label printer
            return stock[item % stock.length]++;
        }
    }

    static final class Prices {
        String list(int count) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < count; i++) {
                text.append(line(new Order(i, i, "SKU-" + i % 97 + "-" + i, i * 37L))).append('\n');
            }
            return text.toString();
        }

        private String line(Order order) {
            if (!order.sku().matches("[A-Z]{3}-\\d+-\\d+")) {
                throw new IllegalArgumentException(order.sku());
            }
            return String.format("%-20s %10.2f EUR", order.sku().replaceAll("-", "/"), order.cents() / 100.0);
        }
    }

    static final class Rates {
        private final HttpClient client = HttpClient.newHttpClient();
        private final HttpRequest request;

        Rates(int port) {
            request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/rate")).build();
        }

        String euro() throws IOException, InterruptedException {
            return client.send(request, HttpResponse.BodyHandlers.ofString()).body();
        }
    }

    private interface Page {
        String of(int number) throws IOException, InterruptedException;
    }

    private Shop() {}

    private static void serve(HttpServer server, String path, Page page) {
        server.createContext(path, exchange -> answer(exchange, page));
    }

    private static void answer(HttpExchange exchange, Page page) throws IOException {
        byte[] body;
        int code = 200;
        try {
            String query = exchange.getRequestURI().getQuery();
            body = page.of(query == null ? 0 : Integer.parseInt(query)).getBytes(StandardCharsets.UTF_8);
        } catch (IOException | InterruptedException | RuntimeException e) {
            body = e.toString().getBytes(StandardCharsets.UTF_8);
            code = 500;
        }
        exchange.sendResponseHeaders(code, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    /** Starts the shop; the arguments are the ports of the database and of the partner. Prints its own port. */
    public static void main(String[] args) throws IOException {
        System.setProperty("sun.net.httpserver.nodelay", "true");
        Database.port = Integer.parseInt(args[0]);
        Orders orders = new Orders();
        Inventory inventory = new Inventory();
        Prices prices = new Prices();
        Rates rates = new Rates(Integer.parseInt(args[1]));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.setExecutor(Executors.newFixedThreadPool(16));
        serve(server, "/orders", number -> orders.list(number % 40));
        serve(server, "/stock", number -> inventory.reserve(number) + "\n");
        serve(server, "/prices", number -> prices.list(1000));
        serve(server, "/checkout", number -> rates.euro() + "\n");
        server.start();
        System.out.println(server.getAddress().getPort());
    }
}
