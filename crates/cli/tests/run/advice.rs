//! What a run says at its end of a program whose time, objects, locks and waits have known places.

use perk_testkit::{fixture, jdk};

use super::{perk_run, report};
use crate::util::{Folder, stderr};

/// Why, where, and what is said of it.
const EXPECTED: [(&str, &str, &str); 2] = [
    (
        "waits for a lock (ReentrantLock)",
        "FirstScreen$Bank.pay",
        "held by FirstScreen$Bank.pay, which sleeps",
    ),
    // A busy machine leaves it with few samples.
    ("uses the CPU", "FirstScreen$UserController.list", ""),
];

/// The first row of a kind of numbers, and the line below it.
fn first<'t>(text: &'t str, kind: &str) -> (&'t str, &'t str) {
    let kind = format!(" {kind}: ");
    let mut lines = text.lines();
    let row = lines.find(|line| line.contains(" %  of ") && line.contains(&kind));
    let row = row.unwrap_or_else(|| panic!("no {kind} in {text}"));
    (row, lines.next().unwrap_or_default())
}

#[test]
fn the_end_of_a_run_names_the_programs_methods() {
    let jdk = jdk::compiler();
    let folder = Folder::new();
    let [java, classes] = [jdk.java(), fixture::fixtures()].map(|it| it.display().to_string());
    let command = [&java, "-cp", &classes, "FirstScreen", "2000"].map(str::to_owned);
    let options = ["--cpu", "samples", "--wall", "--alloc=64k", "--lock", "-o", "o.hprof"];
    let output = perk_run(&folder, &options, &command);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for text in [&said, &report(&folder, "o.hprof", &[])] {
        for (reason, method, what) in EXPECTED {
            // On a busy machine the CPU is also waited for.
            let (reason, method) =
                (format!(" %  {reason}"), format!(": {method} (FirstScreen.java:"));
            let is_row = |line: &str| line.contains(&reason) && line.contains(&method);
            let place = text.lines().position(is_row);
            let below = place.and_then(|place| text.lines().nth(place + 1));
            assert!(below.is_some_and(|below| below.contains(what)), "{reason}: {text}");
        }
        assert!(text.contains("\nThe whole process: "), "{text}");
        // `main` waits for the end of the threads.
        let waits = |line: &str| line.contains("waits ") && line.contains("FirstScreen.main");
        assert!(!text.lines().any(waits), "{text}");
        assert!(!text.contains("Unsafe."), "{text}");
    }
    let summary = report(&folder, "o.hprof", &[]);
    assert!(summary.lines().count() <= 25, "{summary}");
    let brief = report(&folder, "o.hprof", &["--brief"]);
    assert!(brief.lines().count() <= 10, "{brief}");
    let list = ": FirstScreen$UserController.list (FirstScreen.java:";
    let is_list = |line: &str| line.contains("%: uses the CPU") && line.contains(list);
    assert!(brief.lines().any(is_list), "{brief}");
    // The parts are those of the process, whose time they add up to.
    let json: serde_json::Value =
        serde_json::from_str(&report(&folder, "o.hprof", &["--json"])).unwrap();
    let parts = json["whole_process"]["parts"].as_array().unwrap();
    let sum: u64 = parts.iter().map(|part| part["cpu_ns"].as_u64().unwrap()).sum();
    let process_ns = json["accounting"]["process_cpu_ns"].as_u64().unwrap();
    assert!(sum.abs_diff(process_ns) < 1000, "{sum} of {process_ns}");
    let first = &json["limits"][0];
    assert_eq!((&first["kind"], &first["line"]), (&"lock".into(), &38.into()), "{first}");
    assert_eq!(json["working"]["verdict"], "clear");
    let cpu = json["where_to_begin"].as_array().unwrap().iter().find(|row| row["kind"] == "CPU");
    assert_eq!(cpu.unwrap()["works"][0]["what"], "sorting", "{json}");
    let cpu = json["where_to_begin"].as_array().unwrap().iter();
    let cpu: u64 =
        cpu.filter(|row| row["kind"] == "CPU").map(|row| row["number"].as_u64().unwrap()).sum();
    assert!(cpu <= json["sample_count"].as_u64().unwrap(), "{json}");
}

/// Calls `get`, which makes calls of the JDK.
const CALLED: &str = r#"
import java.util.ArrayList;

public class Called {
    static final ArrayList<Integer> numbers = new ArrayList<>();

    static int get(int i) {
        return Math.max(numbers.get(i & 7), i);
    }

    public static void main(String[] args) {
        for (int i = 0; i < 8; i++) numbers.add(i);
        long sum = 0;
        for (int i = 0; i < 20_000; i++) sum += get(i);
        System.out.println(sum);
    }
}
"#;

#[test]
fn calls_are_those_of_the_method() {
    let classes = fixture::compile_text("Called", CALLED);
    jdk::each(|jdk| {
        let folder = Folder::new();
        for selected in [&["--include", "Called*"][..], &[]] {
            let [java, classes] = [jdk.java(), classes.clone()].map(|it| it.display().to_string());
            let command = [&*java, "-cp", &*classes, "Called"].map(str::to_owned);
            let options = ["--cpu", "times", "--timing", "none", "-q", "-o", "o.hprof"];
            let output = perk_run(&folder, &[&options, selected].concat(), &command);
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            let text = report(&folder, "o.hprof", &[]);
            let (row, below) = first(&text, "calls");
            assert!(row.ends_with(" calls: Called.get"), "{text}");
            assert!(below.trim().starts_with("calls made for it: "), "{text}");
            assert!(below.contains("ArrayList.get ") && below.contains("mathematics "), "{text}");
        }
    });
}
