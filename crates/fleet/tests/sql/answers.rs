//! What queries answer.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use perk_testkit::agent::perk_bin;
use perk_testkit::{jdk, peer, workspace};
use serde_json::Value;

use crate::record::counterparts::{output, script};

use super::events::Orders;
use super::{heap, recordings, rows, rows_of, run, sample};

/// The queries of a part of the documentation.
pub(crate) fn queries(text: &str) -> Vec<&str> {
    text.split("```sql\n").skip(1).map(|query| query.split_once("```").unwrap().0).collect()
}

/// The part of the documentation on heap dumps.
const HEAPS: &str = "## Heap dumps";
/// That on events.
const EVENTS: &str = "## Events of JFR recordings";

#[test]
fn the_queries_of_the_documentation_run() {
    let text = fs::read_to_string(workspace().join("docs/sql.md")).unwrap();
    let (of_profiles, rest) = text.split_once(HEAPS).unwrap();
    let (of_heaps, of_events) = rest.split_once(EVENTS).unwrap();
    let [of_profiles, of_heaps, of_events] = [of_profiles, of_heaps, of_events].map(queries);
    assert!(of_profiles.len() >= 40, "{} queries", of_profiles.len());
    assert!(of_heaps.len() >= 10, "{} queries", of_heaps.len());
    assert!(of_events.len() >= 15, "{} queries", of_events.len());
    of_profiles.into_iter().for_each(|query| drop(rows(query)));
    for query in of_heaps {
        assert_ne!(heap::rows(query), [Value::Null; 0], "{query}");
    }
    let orders = Orders::new(jdk::compiler());
    for query in of_events {
        assert_ne!(rows_of(&[&orders.path()], query), [Value::Null; 0], "{query}");
    }
}

#[test]
fn numbers_are_those_of_the_report() {
    for name in [
        "jfr/jdk25.jfr.gz",
        "jfr/async-profiler.jfr.gz",
        "hprof/monitor-samples.txt",
        "hprof/times-cpu-thread.txt",
    ] {
        equal_to_the_report(&workspace().join("testdata").join(name));
    }
    equal_to_the_report(&recordings()[0]);
}

#[test]
fn accesses_to_fields_are_those_of_the_report() {
    let file = workspace().join("testdata/shared-fields/seed.tsv");
    let mut command = Command::new(perk_bin());
    let output = command.args(["report", "--json"]).arg(&file).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names = [
        "class",
        "field_class",
        "field",
        "descriptor",
        "object_count",
        "shared_count",
        "owner_read_count",
        "other_read_count",
        "owner_write_count",
        "other_write_count",
    ];
    let row = |it: &Value| names.map(|name| it[name].to_string());
    let reported = report["field_accesses"]["fields"].as_array().unwrap();
    let mut reported: Vec<_> = reported.iter().map(row).collect();
    reported.sort();
    let sums: Vec<_> = names[4..].iter().map(|it| format!("sum({it}) AS {it}")).collect();
    let (keys, sums) = (names[..4].join(", "), sums.join(", "));
    let rows = rows_of(&[&file], &format!("SELECT {keys}, {sums} FROM fields GROUP BY {keys}"));
    let mut answered: Vec<_> = rows.iter().map(row).collect();
    answered.sort();
    assert!(answered.len() > 5);
    assert_eq!(answered, reported);
    let sites = rows_of(&[&file], "SELECT DISTINCT site FROM fields");
    assert_eq!(sites.len(), 2, "{sites:?}");
}

/// Compares the tables of a file with `perk report --json`.
#[track_caller]
fn equal_to_the_report(file: &Path) {
    let mut command = Command::new(perk_bin());
    let output = command.args(["report", "--json", "--no-infer"]).arg(file).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let metrics = report["metrics"].as_array().unwrap();
    let key = |row: &Value, names: &[&str]| {
        names.iter().map(|&name| row[name].to_string()).collect::<Vec<_>>().join(" ")
    };
    for (list, names) in [
        ("methods", &["metric", "class", "method", "signature", "self", "total"][..]),
        ("lines", &["metric", "line", "self", "total"]),
    ] {
        // The report has no list of numbers that another metric leads.
        let has_list = |row: &&Value| {
            metrics.iter().any(|it| it["metric"] == row["metric"] && it[list].is_array())
        };
        let answered = rows_of(&[file], &format!("SELECT * FROM {list}"));
        let answered = answered.iter().filter(has_list);
        let mut answered: Vec<_> = answered.map(|row| key(row, names)).collect();
        let mut reported = Vec::new();
        for metric in metrics {
            for row in metric[list].as_array().into_iter().flatten() {
                let mut row = row.clone();
                row["metric"] = metric["metric"].clone();
                reported.push(key(&row, names));
            }
        }
        answered.sort();
        reported.sort();
        assert!(!reported.is_empty());
        assert_eq!(answered, reported, "{}: {list}", file.display());
    }
    let sums = rows_of(&[file], "SELECT metric, sum(value) AS sum FROM samples GROUP BY 1");
    let sums: BTreeMap<_, _> =
        sums.iter().map(|row| (row["metric"].to_string(), &row["sum"])).collect();
    for metric in metrics {
        let name = metric["metric"].to_string();
        assert_eq!(sums[&name], &metric["listed"], "{}: {name}", file.display());
    }
    let totals = rows_of(&[file], "SELECT metric, total, listed FROM metrics");
    for metric in metrics {
        let own = totals.iter().find(|row| row["metric"] == metric["metric"]).unwrap();
        assert_eq!((&own["total"], &own["listed"]), (&metric["total"], &metric["listed"]));
    }
    let one = |query: &str, name: &str| rows_of(&[file], query)[0][name].clone();
    assert_eq!(
        one("SELECT count(*) AS n FROM threads", "n"),
        report["threads"].as_array().unwrap().len()
    );
    // Single waits that a text reports are not by lock.
    if report["monitors"]["reported_waits"] == Value::Array(Vec::new()) {
        let query = "SELECT coalesce(sum(blocked_count), 0) AS count, coalesce(sum(blocked_ns), 0) AS ns, \
                     coalesce(sum(wait_count), 0) AS waits FROM locks";
        assert_eq!(one(query, "count"), report["monitors"]["blocked_count"]);
        assert_eq!(one(query, "ns"), report["monitors"]["blocked_ns"]);
        assert_eq!(one(query, "waits"), report["monitors"]["wait_count"]);
    }
    if report["allocations"].is_object() {
        let query = "SELECT sum(allocated_bytes) AS bytes FROM sites";
        assert_eq!(one(query, "bytes"), report["allocations"]["allocated_bytes"]);
    }
    if report["accounting"].is_object() {
        let query = "SELECT number FROM accounting WHERE name = 'process_cpu_ns'";
        assert_eq!(one(query, "number"), report["accounting"]["process_cpu_ns"]);
    }
}

#[test]
fn samples_have_times_threads_labels_and_stacks() {
    let rows = rows(
        "SELECT recording, min(time) < max(time) AS is_later, count(*) FILTER (WHERE time IS NULL) AS untimed, \
         min(samples.labels['service']) AS service, count(*) FILTER (WHERE stack_contains(stack, 'Shop.deep')) AS deep, \
         bool_and(time >= created AND time < created + interval '10 seconds') AS is_in_time, \
         count(DISTINCT thread) AS threads \
         FROM samples JOIN recordings USING (recording) WHERE metric = 'samples' GROUP BY 1 ORDER BY 1",
    );
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row["is_later"], true, "{row}");
        assert_eq!(row["is_in_time"], true, "{row}");
        assert_eq!(row["untimed"], 0, "{row}");
        assert_eq!(row["service"], "Shop", "{row}");
        assert!(row["deep"].as_u64().unwrap() > 0 && row["threads"].as_u64().unwrap() > 0, "{row}");
    }
}

#[test]
fn one_stack_has_one_id_in_all_recordings() {
    let rows = rows(
        "SELECT count(DISTINCT stack) AS stacks, count(DISTINCT array_to_string(frames(stack), ';')) AS paths, \
         count(DISTINCT recording) AS recordings FROM stacks WHERE method = 'work'",
    );
    let number = |name: &str| rows[0][name].as_u64().unwrap();
    assert_eq!(number("recordings"), 2, "{rows:?}");
    // Stacks of equal methods can differ in lines and kinds of code.
    assert!(number("paths") > 0 && number("stacks") >= number("paths"), "{rows:?}");
    let common = super::rows(
        "SELECT count(*) AS common FROM (SELECT stack FROM stacks WHERE recording = 1 INTERSECT SELECT stack FROM stacks WHERE recording = 2) AS both",
    );
    assert!(common[0]["common"].as_u64().unwrap() > 0, "{common:?}");
}

#[test]
fn frames_are_those_of_the_stacks() {
    let rows = rows(
        "SELECT stack, array_to_string(array_agg(class || '.' || method ORDER BY depth), ';') AS joined, \
         min(array_to_string(frames(stack), ';')) AS frames, min(root(stack)) AS root, min(leaf(stack)) AS leaf \
         FROM stacks WHERE recording = 1 AND class <> '' GROUP BY stack",
    );
    let whole = rows.iter().filter(|row| row["joined"] == row["frames"]);
    assert!(whole.clone().count() >= 2, "{rows:?}");
    for row in whole {
        let frames = row["frames"].as_str().unwrap();
        assert_eq!(row["root"].as_str(), frames.split(';').next(), "{row}");
        assert_eq!(row["leaf"].as_str(), frames.split(';').next_back(), "{row}");
    }
}

#[test]
fn answers_are_text_csv_and_files() {
    let file = &*sample();
    let query = "SELECT metric, sum(value) AS sum FROM samples WHERE metric = 'samples' GROUP BY 1";
    let text = |arguments: &[&str]| {
        let output = run(&[file], arguments);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let csv = text(&[query, "--csv"]);
    let sum = csv.strip_prefix("metric,sum\nsamples,").unwrap().trim();
    assert!(sum.parse::<u64>().unwrap() > 0);
    let width = sum.len().max(3);
    assert_eq!(text(&[query]), format!("metric   {:>width$}\nsamples  {sum:>width$}\n", "sum"));
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.parquet", "a.csv", "a.json", "a.txt"] {
        let path = folder.path().join(name);
        assert_eq!(text(&[query, "-o", path.to_str().unwrap()]), "");
        let bytes = fs::read(&path).unwrap();
        match name {
            "a.parquet" => assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1")),
            "a.csv" => assert_eq!(bytes, csv.as_bytes()),
            "a.json" => assert_eq!(
                bytes,
                format!("[{{\"metric\":\"samples\",\"sum\":{sum}}}]\n").as_bytes()
            ),
            _ => assert!(bytes.starts_with(b"metric")),
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
}

/// DuckDB shares nothing with DataFusion.
#[test]
fn duckdb_reads_the_same_numbers() {
    let Some(packages) = peer("counterparts/duckdb/duckdb/__init__.py", "counterparts") else {
        return;
    };
    let packages = packages.ancestors().nth(2).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let written = folder.path().join("samples.parquet");
    let written_there =
        run(&[&recordings()[0]], &["SELECT * FROM samples", "-o", written.to_str().unwrap()]);
    assert!(written_there.status.success(), "{written_there:?}");
    let query = |table: &str| {
        format!(
            "SELECT metric, CAST(sum(value) AS BIGINT) AS sum, count(*) AS numbers, count(DISTINCT stack) AS stacks, \
             min(labels['service']) AS service, count(time) AS timed FROM {table} GROUP BY 1 ORDER BY 1"
        )
    };
    let mut python = script("query.py");
    python.arg(query(&format!("'{}'", written.display()))).env("PYTHONPATH", packages);
    let theirs: Vec<Value> = serde_json::from_str(&output(&mut python)).unwrap();
    assert!(theirs.len() >= 3, "{theirs:?}");
    assert_eq!(theirs, rows_of(&[&recordings()[0]], &query("samples")));
}

#[test]
fn the_tree_has_the_numbers_of_the_methods() {
    let rows = rows(
        "SELECT m.recording, m.class, m.method, m.self = t.self AS is_equal FROM \
         (SELECT recording, class, method, signature, sum(self) AS self FROM flame('samples') GROUP BY 1, 2, 3, 4) t \
         JOIN (SELECT * FROM methods WHERE metric = 'samples') m USING (recording, class, method, signature)",
    );
    assert!(rows.len() > 4, "{rows:?}");
    assert!(rows.iter().all(|row| row["is_equal"] == true), "{rows:?}");
    let sums = super::rows(
        "SELECT (SELECT sum(self_before) FROM diff(1, 2) WHERE metric = 'samples') AS before, \
         (SELECT sum(self) FROM methods WHERE recording = 1 AND metric = 'samples') AS first, \
         (SELECT sum(self_after) FROM diff(1, 2) WHERE metric = 'samples') AS after, \
         (SELECT sum(self) FROM methods WHERE recording = 2 AND metric = 'samples') AS second",
    );
    assert_eq!(sums[0]["before"], sums[0]["first"], "{sums:?}");
    assert_eq!(sums[0]["after"], sums[0]["second"], "{sums:?}");
}
