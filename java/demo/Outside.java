package com.acme.shop;

import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** What the shop depends on: a database that answers one line to each, and a partner that answers after 120 ms. */
public final class Outside {
    private static final long ANSWER_MS = 120;

    private Outside() {}

    private static String answer(String query) {
        String[] words = query.split(" ");
        if (words[0].equals("customer")) {
            return "customer " + words[1];
        }
        int first = Integer.parseInt(words[1]);
        StringBuilder rows = new StringBuilder();
        for (int id = first; id < first + Integer.parseInt(words[2]); id++) {
            rows.append(id).append(',').append(id * 7 % 1000).append(",SKU-").append(id % 97).append('-').append(id)
                .append(',').append(id * 37L).append(';');
        }
        return rows.toString();
    }

    private static void talk(Socket socket) {
        try (socket) {
            socket.setTcpNoDelay(true);
            BufferedReader queries =
                new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
            OutputStream out = socket.getOutputStream();
            for (String query; (query = queries.readLine()) != null;) {
                Thread.sleep(1); // the disk
                out.write((answer(query) + "\n").getBytes(StandardCharsets.UTF_8));
            }
        } catch (IOException | InterruptedException e) {
            // The shop has ended.
        }
    }

    /** Prints the ports of the database and of the partner, and serves until it is killed. */
    public static void main(String[] args) throws IOException {
        System.setProperty("sun.net.httpserver.nodelay", "true");
        ExecutorService threads = Executors.newCachedThreadPool();
        ServerSocket database = new ServerSocket(0, 0, InetAddress.getLoopbackAddress());
        HttpServer partner = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        partner.setExecutor(threads);
        partner.createContext("/rate", exchange -> {
            try {
                Thread.sleep(ANSWER_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            byte[] body = "1.08".getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        partner.start();
        System.out.println(database.getLocalPort() + " " + partner.getAddress().getPort());
        while (true) {
            Socket socket = database.accept();
            threads.execute(() -> talk(socket));
        }
    }
}
