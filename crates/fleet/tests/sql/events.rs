//! Tables of events: of real JVMs, beside the JDK's own `jfr`.

use std::path::Path;
use std::process::Command;

use perk_testkit::{JavaRun, Jdk, fixture, jdk, workspace};
use serde_json::{Value, json};

use super::{command, rows_of, run};

/// A recording of `testdata/jfr/Orders.java`.
pub(crate) struct Orders {
    folder: tempfile::TempDir,
}

impl Orders {
    pub(crate) fn new(jdk: &Jdk) -> Self {
        let classes = fixture::compile_files(&[&workspace().join("testdata/jfr/Orders.java")]);
        let options = "-XX:StartFlightRecording=filename=orders.jfr,settings=profile";
        let outcome = JavaRun::new(jdk).jvm_arg(options).classes(classes).main("Orders").run();
        outcome.assert_success();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("orders.jfr"), outcome.bytes("orders.jfr")).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("orders.jfr")
    }

    #[track_caller]
    fn rows(&self, query: &str) -> Vec<Value> {
        rows_of(&[&self.path()], query)
    }
}

#[test]
fn events_have_all_fields() {
    jdk::each(|jdk| {
        let orders = Orders::new(jdk);
        let sums = orders.rows(
            "SELECT count(*) AS orders, sum(lines) AS lines, sum(waiting) AS waiting, sum(size) AS size, \
             count(customer) AS named, count(DISTINCT customer) AS customers, \
             count(*) FILTER (WHERE paid) AS paid, min(grade) || max(grade) AS grades, sum(price) AS price, \
             min(shop) || max(shop) AS shops, min(clerk.javaName) AS clerk, min(eventThread['javaName']) AS thread, \
             min(leaf(stackTrace)) AS method, bool_and(duration >= 0) AS has_duration FROM com.acme.shop.Order",
        );
        let expected = json!({
            "orders": 300, "lines": (0..300).map(|i| i % 7).sum::<i32>(), "waiting": 44_850_000_000_u64,
            "size": 44_850_000, "named": 200, "customers": 10, "paid": 150, "grades": "AE",
            "price": 11212.5, "shops": "Ordersint[]", "clerk": "main", "thread": "main",
            "method": "Orders.main", "has_duration": true,
        });
        assert_eq!(sums, [expected], "JDK {}", jdk.version);
        // Names with quotes, aliases and qualified names.
        let same = orders.rows(
            "SELECT o.\"eventThread\"['javaName'] AS a, com.acme.shop.Order.lines AS b FROM \"com.acme.shop.Order\" o \
             JOIN com.acme.shop.Order USING (startTime) WHERE o.lines = 6 LIMIT 1",
        );
        assert_eq!(same, [json!({"a": "main", "b": 6})]);
        let none = orders.rows("SELECT * FROM jdk.FileForce");
        assert_eq!(none, [Value::Null; 0]);
        for (query, part) in [
            ("SELECT 1 FROM com.acme.shop.Orders", "com.acme.shop.orders"),
            ("SELECT nothing FROM com.acme.shop.Order", "column 8"),
            ("SELECT eventThread['nothing'] FROM com.acme.shop.Order", "nothing"),
        ] {
            let output = run(&[&orders.path()], &[query]);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains(part) && said.lines().count() == 1, "{query}: {said}");
        }
    });
}

#[test]
fn stacks_of_events_are_those_of_the_profile() {
    jdk::each(|jdk| {
        let orders = Orders::new(jdk);
        let unknown = orders.rows(
            "SELECT count(*) AS unknown FROM (SELECT stackTrace AS stack FROM com.acme.shop.Order UNION ALL \
             SELECT stackTrace FROM jdk.ExecutionSample UNION ALL SELECT stackTrace FROM jdk.ThreadSleep) e \
             WHERE stack IS NOT NULL AND (stack NOT IN (SELECT stack FROM stacks) OR frames(stack) IS NULL)",
        );
        assert_eq!(unknown, [json!({"unknown": 0})]);
        // Each sample has the stack of its event.
        let pairs = orders.rows(
            "SELECT (SELECT sum(value) FROM samples WHERE metric = 'samples') AS samples, \
             (SELECT count(*) FROM jdk.ExecutionSample) AS events, \
             (SELECT count(*) FROM (SELECT stack, sum(value) AS n FROM samples WHERE metric = 'samples' GROUP BY 1) s \
              JOIN (SELECT stackTrace AS stack, count(*) AS n FROM jdk.ExecutionSample GROUP BY 1) e \
              ON s.stack = e.stack AND s.n = e.n) AS same, \
             (SELECT count(DISTINCT stackTrace) FROM jdk.ExecutionSample) AS stacks",
        );
        let number = |name: &str| pairs[0][name].as_u64().unwrap();
        assert!(number("events") > 10, "{pairs:?}");
        assert_eq!(number("samples"), number("events"));
        assert_eq!(number("same"), number("stacks"), "{pairs:?}");
    });
}

/// The cells of the rows that `jfr view` prints: its columns are as wide as the dashes above them.
fn viewed(jdk: &Jdk, name: &str, file: &Path) -> Vec<Vec<String>> {
    let mut jfr = Command::new(jdk.home.join("bin/jfr"));
    let output = jfr.args(["view", "--width", "2000", name]).arg(file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines().skip_while(|line| !line.starts_with("--"));
    let widths: Vec<_> = lines.next().unwrap().split(' ').map(str::len).collect();
    let cells = |line: &str| {
        let mut letters = line.chars();
        let cell = |&width: &usize| {
            let cell: String = letters.by_ref().take(width).collect();
            letters.next();
            cell.trim().to_owned()
        };
        widths.iter().map(cell).collect()
    };
    lines.take_while(|line| !line.is_empty()).map(cells).collect()
}

#[test]
fn views_are_those_of_the_jdk() {
    jdk::on(25, |jdk| {
        let orders = Orders::new(jdk);
        // The view, what of it is compared, and the same columns of the JDK's.
        for (view, columns, places) in [
            ("hot-methods", "method, samples", &[0, 1][..]),
            ("allocation-by-class", "class, percent", &[0, 1]),
            ("allocation-by-thread", "thread, percent", &[0, 1]),
            ("contention-by-class", "class, count", &[0, 1]),
            ("contention-by-thread", "thread, count", &[0, 1]),
            ("deoptimizations-by-reason", "reason, count", &[0, 1]),
            ("events-by-count", "label, events", &[0, 1]),
            ("gc", "gc_id", &[1]),
            ("gc-pause-phases", "name, count", &[1, 5]),
            ("gc-parallel-phases", "name, count", &[0, 4]),
            ("modules", "name", &[0]),
            ("system-properties", "key", &[0]),
            ("thread-allocation", "thread", &[0]),
            ("vm-operations", "operation, count", &[0, 3]),
        ] {
            let query = format!("SELECT {columns} FROM view.{}", view.replace('-', "_"));
            let output = command(&[orders.path().to_str().unwrap(), &query, "--csv"]).output();
            let answer = String::from_utf8(output.unwrap().stdout).unwrap();
            let mut own: Vec<_> = answer.lines().skip(1).map(comparable).collect();
            let theirs = viewed(jdk, view, &orders.path());
            let mut theirs: Vec<_> = theirs
                .iter()
                .map(|row| {
                    places.iter().map(|&at| row[at].replace(',', "")).collect::<Vec<_>>().join(",")
                })
                .map(|row| comparable(&row))
                .collect();
            own.sort();
            theirs.sort();
            assert!(!own.is_empty(), "{view}: {answer}");
            assert_eq!(own, theirs, "{view}");
        }
    });
}

/// Names of methods without parameters, numbers without signs of percent and zeros at the end.
fn comparable(row: &str) -> String {
    let row = row.replace('"', "");
    let row = match (row.find('('), row.rfind(')')) {
        (Some(begin), Some(end)) => format!("{}{}", &row[..begin], &row[end + 1..]),
        _ => row,
    };
    match row.rsplit_once(',') {
        Some((rest, number)) => match number.trim_end_matches('%').parse::<f64>() {
            Ok(number) => format!("{rest},{number}"),
            Err(_) => row,
        },
        None => row,
    }
}

#[test]
fn all_views_are_answered() {
    jdk::each(|jdk| {
        let orders = Orders::new(jdk);
        let names = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'view'";
        let names = orders.rows(names);
        assert!(names.len() > 55, "JDK {}: {names:?}", jdk.version);
        for name in &names {
            orders.rows(&format!("SELECT * FROM view.{}", name["table_name"].as_str().unwrap()));
        }
        if jdk.version >= 25 {
            assert_eq!(names.len(), 78, "{names:?}");
        }
    });
}

#[test]
fn events_of_several_files_are_one_table() {
    let orders = Orders::new(jdk::compiler());
    let other = workspace().join("testdata/jfr/async-profiler.jfr.gz");
    let text = workspace().join("testdata/hprof/samples-and-calls.txt");
    let counts =
        "SELECT recording, count(*) AS events FROM jdk.ExecutionSample GROUP BY 1 ORDER BY 1";
    let rows = rows_of(&[&other, &text, &orders.path()], counts);
    assert_eq!(rows[0], json!({"recording": 1, "events": 73}));
    assert_eq!((rows.len(), &rows[1]["recording"]), (2, &json!(3)), "{rows:?}");
    let swapped = rows_of(&[&orders.path(), &other], counts);
    assert_eq!(swapped[0]["events"], rows[1]["events"]);
    assert_eq!(swapped[1], json!({"recording": 2, "events": 73}));
    // Other programs have other fields.
    let samples = "SELECT sum(samples) AS samples FROM profiler.WallClockSample";
    assert_eq!(rows_of(&[&other], samples), [json!({"samples": 940})]);
}

#[test]
fn damaged_files_are_read_as_far_as_they_go() {
    let orders = Orders::new(jdk::compiler());
    let bytes = std::fs::read(orders.path()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let noise = folder.path().join("noise.jfr");
    std::fs::write(&noise, [b"FLR\0\0\x02\0\0", &[0xff; 200][..]].concat()).unwrap();
    let output = run(&[&noise], &["SELECT count(*) FROM jdk.ExecutionSample"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.lines().count() == 1, "{said}");
    let twice = folder.path().join("twice.jfr");
    std::fs::write(&twice, [&bytes[..], &bytes[..bytes.len() / 2]].concat()).unwrap();
    let rows = rows_of(&[&twice], "SELECT count(*) AS orders FROM com.acme.shop.Order");
    assert!(rows[0]["orders"].as_u64().unwrap() >= 300, "{rows:?}");
}
