//! `--cpu counts`: exact calls of each method and call site, beside samples of the same run.

use std::fs;

use perk_profile::Metric;
use perk_testkit::jdk;

use super::exact::{assert_calls, read, run};
use crate::util::{Folder, stderr, stdout};

const N: u64 = 1000;

/// The calls of a method by another one.
const EDGES: [(&str, &str, u64); 6] = [
    ("CallCounts.catches", "CallCounts.raises", N),
    ("CallCounts.raises", "CallCounts.raises", 5 * N),
    ("CallCounts.outer", "CallCounts.inner", 10 * N),
    ("CallCounts.main", "CallCounts.outer", 10),
    ("CallCounts.threaded", "CallCounts.byThread", 3 * N),
    ("CallCounts.halves", "CallCounts.halves", N - 1),
];

/// Returns the fields of a line of CSV, methods without their descriptors.
fn fields(line: &str) -> Vec<&str> {
    line.split(',').map(|field| field.split('(').next().unwrap_or(field)).collect()
}

#[test]
fn methods_and_call_sites_are_counted_beside_samples() {
    jdk::each(|jdk| {
        let folder = Folder::new();
        let options =
            ["--cpu", "counts", "-o", "o.hprof", "-o", "o.txt", "-o", "o.html", "-o", "o.pb.gz"];
        run(&folder, jdk, &options, &["CallCounts", &N.to_string()]);
        let profile = read(&folder, "o.hprof");
        assert_calls(&profile, N);
        assert!(profile.has(&[Metric::Samples]));
        let edges = folder.run(&["report", "--edges", "--csv", "o.hprof"]);
        let text = stdout(&edges);
        let mut lines = text.lines().map(fields);
        let heads = lines.next().unwrap();
        let column = |name: &str| {
            let place = heads.iter().position(|head| *head == name);
            place.unwrap_or_else(|| panic!("no {name} in {heads:?}"))
        };
        let [caller, callee, count] = ["caller", "callee", "call_count"].map(column);
        let rows: Vec<_> = lines.collect();
        for (by, of, expected) in EDGES {
            let row = rows.iter().find(|row| row[caller] == by && row[callee] == of);
            let found = row.map(|row| row[count]);
            assert_eq!(found, Some(expected.to_string().as_str()), "{by} calls {of}\n{text}");
        }
        let text = fs::read_to_string(folder.join("o.txt")).unwrap();
        for part in ["\nCPU SAMPLES BEGIN", "\nCPU TIME (ms) BEGIN (total = 0)"] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        assert!(
            fs::read_to_string(folder.join("o.html")).unwrap().contains("\"calls\":{\"count\"")
        );
        let pprof = folder.run(&["report", "--json", "o.pb.gz"]);
        assert!(stdout(&pprof).contains("\"calls\""), "{}", stdout(&pprof));
    });
}

#[test]
fn the_report_says_what_is_counted_and_what_is_estimated() {
    let folder = Folder::new();
    let options = ["--cpu", "counts", "--interval", "1ms", "-o", "o.hprof"];
    run(&folder, jdk::compiler(), &options, &["CallCounts", "5000"]);
    let all = stdout(&folder.run(&["report", "--all", "o.hprof"]));
    assert!(all.contains("\nTop methods by self: calls counted, times estimated from "), "{all}");
    let calls = stdout(&folder.run(&["report", "--json", "o.hprof"]));
    for key in ["\"self_margin_ns\":", "\"sampled_self_ns\":", "\"estimated_call_count\":"] {
        assert!(calls.contains(key), "{key} is not in\n{calls}");
    }
    // A call of `Shape.area` runs one of two methods.
    let edges = stdout(&folder.run(&["report", "--method", "CallCounts.area", "o.hprof"]));
    assert!(edges.contains("estimated"), "{edges}");
}

#[test]
fn a_limit_on_calls_holds_for_equal_runs_alone() {
    let folder = Folder::new();
    for (file, n) in [("a.hprof", N), ("b.hprof", N), ("c.hprof", N + 1)] {
        let options = ["--cpu", "counts", "--include", "CallCounts*", "-q", "-o", file];
        run(&folder, jdk::compiler(), &options, &["CallCounts", &n.to_string()]);
    }
    let diff = |after| folder.run(&["diff", "a.hprof", after, "--fail-on", "calls>0%"]);
    let same = diff("b.hprof");
    assert_eq!(same.status.code(), Some(0), "{}{}", stdout(&same), stderr(&same));
    let other = diff("c.hprof");
    assert_eq!(other.status.code(), Some(1), "{}{}", stdout(&other), stderr(&other));
    assert!(stdout(&other).contains("EXCEEDED  calls>0%: "), "{}", stdout(&other));
}
