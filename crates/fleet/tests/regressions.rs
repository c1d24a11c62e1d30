//! `perk-fleet regressions` over versions of a real program.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use perk_testkit::{JavaRun, fixture, jdk};
use serde_json::Value;

use crate::store::StoreFolder;

/// A program with three methods that works for some CPU time, however busy the machine is; the argument says how much of its work is in one of them.
const PROGRAM: &str = "
public class Till {
    static long sink;
    static void price(int n) { for (int i = 0; i < n; i++) sink += Long.hashCode(sink * 31 + i) % 7; }
    static void tax(int n) { for (int i = 0; i < n; i++) sink += (sink ^ i) % 11; }
    static void print(int n) { for (int i = 0; i < n; i++) sink += (sink + i) % 13; }
    public static void main(String[] args) {
        int part = Integer.parseInt(args[0]);
        var threads = java.lang.management.ManagementFactory.getThreadMXBean();
        while (threads.getCurrentThreadCpuTime() < 900_000_000L) {
            price(20_000 * part);
            tax(60_000);
            print(60_000);
        }
    }
}";

/// The JVMs of a version.
const JVMS: usize = 6;

/// A store with two versions of the program, the second of which has a slower method.
pub(crate) fn of_two_versions() -> StoreFolder {
    let classes = fixture::compile_text("Till", PROGRAM);
    let store = StoreFolder::new();
    for (version, part) in [("1.4.1", "1"), ("1.4.2", "9")] {
        let folder = tempfile::tempdir().unwrap();
        let file = |at: usize| folder.path().join(format!("{at}.hprof"));
        let start = |at: usize| {
            let options = format!("cpu=samples,interval=3ms,format=b,file={}", file(at).display());
            let run = JavaRun::new(jdk::compiler()).classes(&classes).main("Till").args([part]);
            run.agent(&options).spawn()
        };
        let runs: Vec<_> = (0..JVMS).map(start).collect();
        for (at, running) in runs.into_iter().enumerate() {
            running.wait();
            let file = file(at);
            let labels =
                ["service=till".to_owned(), format!("version={version}"), format!("host=h{at}")];
            let mut arguments: Vec<_> = labels.iter().flat_map(|it| ["--label", it]).collect();
            arguments.push(file.to_str().unwrap());
            store.print("add", &arguments);
        }
    }
    store
}

pub(crate) fn regressions(store: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_perk-fleet"));
    command.arg("regressions").arg(store).args(arguments).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_slower_method_is_found_and_no_other_grew() {
    let store = of_two_versions();
    // A test that fails by chance in one run of a thousand is enough.
    let found = regressions(&store.path(), &["--json", "--false-alarms", "0.1"]);
    let all = || {
        let all = regressions(&store.path(), &["--false-alarms", "99"]);
        String::from_utf8_lossy(&all.stdout).into_owned()
    };
    assert_eq!(found.status.code(), Some(1), "{}", all());
    let rows: Vec<Value> = serde_json::from_slice(&found.stdout).unwrap();
    let grew: Vec<_> = rows.iter().filter(|it| it["change_percent"].as_f64() > Some(0.0)).collect();
    let [row] = &grew[..] else { panic!("{rows:?}") };
    assert_eq!(row["method"], "Till.price");
    assert_eq!((&row["base"], &row["new"]), (&"1.4.1".into(), &"1.4.2".into()));
    // The share is that of the samples.
    let shares = store.rows(
        "SELECT labels['version'] AS version, 100.0 * sum(value) FILTER (WHERE stack_contains(stack, 'Till.price')) / sum(value) \
         AS share FROM samples WHERE metric = 'samples' GROUP BY 1 ORDER BY 1",
    );
    for (row_share, of_sql) in ["base_percent", "new_percent"].iter().zip(&shares) {
        let (share, of_sql) =
            (row[*row_share].as_f64().unwrap(), of_sql["share"].as_f64().unwrap());
        assert!((share - of_sql).abs() < 0.01, "{row} {shares:?}");
    }
    let text = regressions(&store.path(), &["--service", "till"]);
    let text = String::from_utf8(text.stdout).unwrap();
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("1.4.2 of till takes") && first.ends_with("Till.price"), "{text}");
    assert!(text.contains("--base version=1.4.1 --new version=1.4.2"), "{text}");
    // One JVM says nothing of how much JVMs differ.
    let same = regressions(&store.path(), &["--label", "version=1.4.1", "--by", "host"]);
    let said = String::from_utf8_lossy(&same.stdout);
    assert_eq!(same.status.code(), Some(0), "{said}");
    assert!(said.starts_with("nothing can be compared"), "{said}");
    assert!(said.contains("is known only of several JVMs or hours"), "{said}");
    // Nothing is older than the recordings.
    let time = regressions(&store.path(), &["--by", "none"]);
    assert!(String::from_utf8_lossy(&time.stdout).contains("too few samples to compare"));
}

#[test]
fn faults_are_one_line() {
    let store = StoreFolder::of_tools();
    for (arguments, words) in [
        (vec!["--service", "none"], "nothing was recorded of this"),
        (vec!["--since", "1h", "--until", "2h"], "--since is not before --until"),
        (vec!["--false-alarms", "0"], "use a share above 0"),
        (
            vec!["--metric", "none", "--since", "2026-11-27", "--until", "2026-11-29"],
            "nothing was recorded",
        ),
    ] {
        let output = regressions(&store.path(), &arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.lines().count() == 1 && said.contains(words), "{arguments:?}: {said}");
    }
}
