package com.acme.till;

import java.util.ArrayList;
import java.util.List;

/** A till: it makes baskets, prices them and prints receipts, for a time in seconds. */
public final class Till {
    private static long printed;

    public static void main(String[] args) {
        Prices prices = new Prices(300);
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
        for (int basket = 0; System.nanoTime() < end; basket++) {
            List<String> items = scan(basket);
            long cents = total(items, prices);
            print(items, cents);
        }
        System.out.println("receipts of " + printed + " characters");
    }

    private static List<String> scan(int basket) {
        List<String> items = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            items.add("article-" + Math.floorMod(basket * 31 + i * 17, 300));
        }
        return items;
    }

    private static long total(List<String> items, Prices prices) {
        long cents = 0;
        for (String item : items) {
            cents += prices.cents(item);
        }
        return cents;
    }

    private static void print(List<String> items, long cents) {
        StringBuilder receipt = new StringBuilder();
        for (String item : items) {
            receipt.append(item).append(" × 1\n");
        }
        receipt.append("total ").append(cents / 100).append('.').append(cents % 100);
        printed += receipt.toString().strip().length();
    }
}
