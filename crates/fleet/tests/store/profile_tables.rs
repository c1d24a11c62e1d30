//! The tables of a store that are made as reports make them: methods, edges, lines, locks, sites, flame() and diff().

use serde_json::{Value, json};

use super::questions::{changes, of_two_versions};
use super::{StoreFolder, of_tools};
use crate::sql;

/// The columns of each table that say what a row is of, and its numbers.
const TABLES: [(&str, &str, &[&str]); 5] = [
    ("methods", "metric, unit, class, method, signature, owner", &["self", "total"]),
    (
        "edges",
        "metric, unit, caller_class, caller_method, caller_signature, class, method, signature",
        &["self", "total"],
    ),
    ("lines", "metric, unit, class, method, signature, source, line", &["self", "total"]),
    ("locks", "class, kind, stack", &["blocked_count", "blocked_ns", "wait_count", "waited_ns"]),
    ("sites", "class, stack, is_estimate", &["allocated_bytes", "allocated_count"]),
];

/// The sums of a table's numbers of the rows that a condition leaves, by what they are of.
fn sums(table: &str, keys: &str, numbers: &[&str], condition: &str) -> String {
    let sums: Vec<_> = numbers.iter().map(|it| format!("sum({it}) AS {it}")).collect();
    format!(
        "SELECT {keys}, {} FROM {table} WHERE {condition} GROUP BY {keys} HAVING sum({}) > 0 ORDER BY {keys}",
        sums.join(", "),
        numbers.join(" + ")
    )
}

#[test]
fn tables_have_the_numbers_of_the_files() {
    let (store, files) = of_two_versions();
    let [first, second] = &files;
    let inputs = [first.as_ref(), second.as_ref()];
    for (table, keys, numbers) in TABLES {
        let all = sums(table, keys, numbers, "TRUE");
        let of_files = sql::rows_of(&inputs, &all);
        assert!(!of_files.is_empty(), "{table}");
        assert_eq!(store.rows(&all), of_files, "{table}");
        // Those of a label, whether reading keeps to it or the query does.
        let of_second = sums(table, keys, numbers, "recording = 2");
        let of_second = sql::rows_of(&inputs, &of_second);
        for condition in ["labels['version'] = '1.4.2'", "labels['version'] LIKE '%.2'"] {
            let of_label = sums(table, keys, numbers, condition);
            assert_eq!(store.rows(&of_label), of_second, "{table} {condition}");
        }
        let by_label = format!(
            "SELECT labels['version'] AS version, sum({0}) AS number FROM {table} GROUP BY 1 ORDER BY 1",
            numbers[0]
        );
        let by_file = format!(
            "SELECT CASE recording WHEN 1 THEN '1.4.1' ELSE '1.4.2' END AS version, sum({0}) AS number FROM {table} \
             GROUP BY 1 ORDER BY 1",
            numbers[0]
        );
        let has_numbers = |rows: Vec<Value>| -> Vec<Value> {
            rows.into_iter().filter(|it| it["number"].as_i64() > Some(0)).collect()
        };
        assert_eq!(
            has_numbers(store.rows(&by_label)),
            has_numbers(sql::rows_of(&inputs, &by_file)),
            "{table}"
        );
    }
    // One metric has the numbers that it has among all, and so after a compaction.
    let of_metric = |metric: &str| {
        let (table, keys, numbers) = TABLES[0];
        sums(table, keys, numbers, &format!("metric = '{metric}'"))
    };
    let metrics = store.rows("SELECT DISTINCT metric FROM methods ORDER BY metric");
    assert!(metrics.len() > 2, "{metrics:?}");
    for metric in &metrics {
        let query = of_metric(metric["metric"].as_str().unwrap());
        assert_eq!(store.rows(&query), sql::rows_of(&inputs, &query), "{query}");
    }
    store.print("compact", &[]);
    let samples = of_metric("samples");
    assert_eq!(store.rows(&samples), sql::rows_of(&inputs, &samples));
    // Stacks are those of the store.
    let stacks =
        "SELECT count(*) AS count FROM locks WHERE stack NOT IN (SELECT stack FROM stacks)";
    assert_eq!(store.rows(stacks), [json!({"count": 0})]);
    let threads = "SELECT DISTINCT thread FROM threads WHERE thread <> '' ORDER BY thread";
    let of_samples = "SELECT DISTINCT thread FROM samples WHERE thread <> '' ORDER BY thread";
    assert_eq!(store.rows(threads), store.rows(of_samples));
}

#[test]
fn functions_have_the_numbers_of_the_files() {
    let (store, files) = of_two_versions();
    let [first, second] = &files;
    let flame = "SELECT depth, class, method, sum(self) AS self, sum(total) AS total FROM flame('samples') \
                 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";
    let of_files = sql::rows_of(&[first.as_ref(), second.as_ref()], flame);
    assert!(of_files.len() > 1, "{of_files:?}");
    assert_eq!(store.rows(flame), of_files);
    // A path follows from its parents.
    let depths = "SELECT count(*) AS count FROM flame('samples') AS a JOIN flame('samples') AS b ON a.parent = b.path \
                  WHERE a.depth <> b.depth + 1 OR a.total > b.total";
    assert_eq!(store.rows(depths), [json!({"count": 0})]);
    assert_eq!(store.rows("SELECT path FROM flame('none')"), [Value::Null; 0]);

    let columns = "metric, class, method, signature, self_before, self_after, total_before, total_after, is_significant";
    let of_files = sql::rows_of(
        &[first.as_ref(), second.as_ref()],
        &format!("SELECT {columns} FROM diff(1, 2) ORDER BY {columns}"),
    );
    let sides = "diff('version=1.4.1', 'version=1.4.2')";
    let of_store = store
        .rows(&format!("SELECT {columns} FROM {sides} WHERE service = 'Shop' ORDER BY {columns}"));
    assert_eq!(of_store, of_files);
    let path = store.path();
    let arguments = ["diff", "--json", path.to_str().unwrap(), "--base", "version=1.4.1"];
    let printed = changes(&[&arguments[..], &["--new", "version=1.4.2"]].concat());
    let count = |it: &Value| it["methods"].as_array().unwrap().len();
    // What is equal on both sides is not printed: that of a few samples can be.
    let is_equal = |it: &Value, of: &str| it[format!("{of}_before")] == it[format!("{of}_after")];
    let changed = of_store.iter().filter(|it| !(is_equal(it, "self") && is_equal(it, "total")));
    assert_eq!(changed.count(), printed.as_array().unwrap().iter().map(count).sum::<usize>());
}

#[test]
fn conditions_select_services_and_times() {
    let store = StoreFolder::of_tools();
    store.print(
        "add",
        &[
            "--label",
            "service=shop",
            "--label",
            "region=eu",
            "--time",
            "2026-11-27T08:00:00Z",
            of_tools()[0].0.to_str().unwrap(),
        ],
    );
    // What is on top of stacks are all numbers.
    for condition in [
        "TRUE",
        "service = 'shop'",
        "service IN ('shop', 'other')",
        "service LIKE '%o%'",
        "service = 'none'",
        "date = '2026-11-28'",
        "date < '2026-11-28' AND service <> 'other'",
        "date > '2026-11-28'",
        "time >= '2026-11-28T10:30:00Z'",
        "time > '2026-11-28T10:30:00Z'",
        "time < '2026-11-28T10:30:00Z' AND service = 'shop'",
        "time BETWEEN '2026-11-27T23:59:50Z' AND '2026-11-28T10:00:00Z'",
        "time >= '2026-11-28T10:00:00Z' AND time < '2026-11-28T10:00:01Z'",
        "time > '2026-11-28T11:00:00Z' AND time < '2026-11-28T10:00:00Z'",
        "labels['region'] = 'eu'",
        "labels['region'] IS NULL",
        "labels['region'] = 'eu' AND labels['region'] = 'us'",
        "labels['region'] <> 'us' OR service = 'other'",
        "hour = 23",
        "hour IN (8, 10) AND service = 'shop'",
        "date = '2026-11-28' OR hour = 8",
        "time >= now() - interval '1 hour'",
    ] {
        let sum = |table: &str, number: &str| {
            let rows = store.rows(&format!(
                "SELECT service, sum({number}) AS number FROM {table} WHERE metric = 'samples' AND ({condition}) \
                 GROUP BY service ORDER BY service"
            ));
            rows.into_iter().filter(|it| it["number"].as_i64() > Some(0)).collect::<Vec<_>>()
        };
        assert_eq!(sum("methods", "self"), sum("samples", "value"), "{condition}");
        assert_eq!(sum("lines", "self"), sum("samples", "value"), "{condition}");
    }
    // By hour and by labels.
    for keys in
        ["date, hour", "labels['region'] AS region", "service, date, labels['service'] AS label"]
    {
        let by = |table: &str, number: &str| {
            let groups = keys.split(" AS ").next().unwrap();
            store.rows(&format!(
                "SELECT {keys}, sum({number}) AS number FROM {table} WHERE metric = 'samples' GROUP BY {groups} ORDER BY {groups}"
            ))
        };
        let found = by("methods", "self");
        assert_eq!(found, by("samples", "value"), "{keys}");
        assert!(found.len() > 1, "{keys}");
    }
    let times = "SELECT min(time) AS first, max(time) AS last FROM methods WHERE service = 'shop' AND date = '2026-11-28'";
    assert_eq!(
        store.rows(times),
        [json!({"first": "2026-11-28T10:00:00Z", "last": "2026-11-28T10:00:00Z"})]
    );
    // The table of all, and of nothing.
    assert!(!store.rows("SELECT * FROM methods LIMIT 3").is_empty());
    assert_eq!(
        store.rows("SELECT count(*) AS count FROM edges WHERE time < '2000-01-01'"),
        [json!({"count": 0})]
    );
}

#[test]
fn faults_are_one_line() {
    let store = StoreFolder::of_tools();
    for (query, words) in [
        ("SELECT * FROM flame()", "flame takes the name of a metric"),
        ("SELECT * FROM diff('version=1')", "diff takes two labels"),
        ("SELECT * FROM diff('version', 'version=2')", "version is no label"),
        ("SELECT * FROM diff(1, 2)", "diff takes labels of a store"),
    ] {
        let output = sql::run(&[&store.path()], &[query]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{query}: {said}");
        assert!(said.lines().count() == 1 && said.contains(words), "{query}: {said}");
    }
    let output = sql::run(&[&store.path()], &["SELECT * FROM methods", "--memory", "1k"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.lines().count() == 1 && said.contains("ask for less time"), "{said}");
}
