package com.acme.till;

import java.util.HashMap;
import java.util.Map;

/** The prices of articles. */
final class Prices {
    private final Map<String, Long> cents = new HashMap<>();

    Prices(int articles) {
        for (int i = 0; i < articles; i++) {
            cents.put("article-" + i, 99L + i);
        }
    }

    long cents(String article) {
        return cents.get(article);
    }
}
