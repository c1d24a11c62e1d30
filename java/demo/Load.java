package com.acme.shop;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.concurrent.atomic.LongAdder;

/** Users of the shop, each of which asks for one page after the other. */
public final class Load {
    private static final String[] PAGES = {"/stock", "/orders", "/prices", "/checkout"};
    private static final int USERS = 12;

    private Load() {}

    /** Loads the shop at a port for some seconds, and prints how many pages it has given. */
    public static void main(String[] args) throws InterruptedException {
        String shop = "http://127.0.0.1:" + args[0];
        long end = System.nanoTime() + Long.parseLong(args[1]) * 1_000_000_000;
        HttpClient client = HttpClient.newHttpClient();
        LongAdder pages = new LongAdder();
        LongAdder faults = new LongAdder();
        Thread[] users = new Thread[USERS];
        for (int user = 0; user < USERS; user++) {
            int first = user;
            users[user] = new Thread(() -> {
                for (int number = first; System.nanoTime() < end; number++) {
                    URI page = URI.create(shop + PAGES[number % PAGES.length] + "?" + number);
                    try {
                        var answer = client.send(HttpRequest.newBuilder(page).build(),
                            HttpResponse.BodyHandlers.ofString());
                        (answer.statusCode() == 200 ? pages : faults).increment();
                    } catch (IOException | InterruptedException e) {
                        faults.increment();
                    }
                }
            });
            users[user].start();
        }
        for (Thread user : users) {
            user.join();
        }
        System.out.println(pages + " pages, " + faults + " faults");
    }
}
