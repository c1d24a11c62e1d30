//! `--cluster`: real schedulers and executors on this machine, against one machine.

mod faults;
mod processes;
mod stock;
mod sums;

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use perk_testkit::workspace;
use serde_json::Value;

use crate::sql::{self, answers::queries};
use crate::store::StoreFolder;
use processes::{Executor, Processes, command};

/// A query that runs for some seconds on all executors.
const LONG: &str = "SELECT a.service, b.metric, count(*) AS pairs, sum(a.value % 1000 * (b.value % 1000) % 7) AS value \
                    FROM (SELECT *, unnest(range(0, 50)) AS n FROM samples) a \
                    JOIN (SELECT *, unnest(range(0, 50)) AS n FROM samples) b ON a.metric = b.metric \
                    GROUP BY 1, 2 ORDER BY 1, 2";

/// Queries that need all that a cluster must know: functions of stacks, labels, frames, windows, joins and subqueries.
const QUERIES: [&str; 22] = [
    crate::store::SUMS,
    "SELECT stack, leaf(stack) AS leaf, root(stack) AS root, array_to_string(frames(stack), ';') AS path, owner(stack) AS owner, \
     sum(value) AS value FROM samples WHERE metric = 'samples' AND stack_contains(stack, 'Shop.*') GROUP BY stack",
    "SELECT DISTINCT stack, depth, class, method, signature, source, line, kind FROM stacks WHERE stack IN (SELECT stack FROM samples)",
    "SELECT labels['service'] AS service, labels['version'] AS version, sum(value) AS value FROM samples GROUP BY 1, 2",
    "SELECT name, value FROM accounting WHERE value NOT IN ('', '0')",
    "SELECT service, date, file, created, duration_ns, interval_ns, program, jvm, labels, notes FROM recordings",
    "SELECT metric, sum(total) AS total FROM metrics GROUP BY 1",
    "SELECT min(time) AS first, max(time) AS last FROM samples WHERE metric = 'samples'",
    "SELECT bool_and(time <= created + interval '1 hour') AS is_near FROM samples \
     CROSS JOIN (SELECT min(created) AS created FROM recordings)",
    "SELECT service, leaf(stack) AS leaf, sum(cpu_ns) AS cpu_ns FROM samples GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2",
    "SELECT service, date, hour, time, metric, stack, thread, labels, value FROM samples",
    "SELECT thread, sum(value) AS value, rank() OVER (ORDER BY sum(value) DESC) AS place FROM samples \
     WHERE metric = 'samples' GROUP BY 1",
    "WITH s AS (SELECT leaf(stack) AS leaf, sum(value) AS value FROM samples WHERE metric = 'samples' GROUP BY 1) \
     SELECT leaf, value, 100.0 * value / (SELECT sum(value) FROM s) AS share FROM s",
    "SELECT leaf(stack) AS leaf, sum(value) FILTER (WHERE labels['version'] = '1.4.1') AS before, \
     sum(value) FILTER (WHERE labels['version'] = '1.4.2') AS after FROM samples WHERE metric = 'samples' GROUP BY 1",
    "SELECT count(*) AS n FROM samples WHERE service = 'nobody'",
    "SELECT metric FROM samples WHERE stack NOT IN (SELECT stack FROM samples WHERE metric = 'wall' AND stack IS NOT NULL)",
    "SELECT 1 + 1 AS two",
    "SELECT a.metric, count(*) AS n FROM samples a JOIN recordings r ON a.source = r.source WHERE r.labels['version'] = '1.4.2' GROUP BY 1",
    "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'",
    // These run here, with sums of the cluster.
    "SELECT metric, count(*) AS n FROM samples WHERE metric NOT IN (SELECT table_name FROM information_schema.tables) GROUP BY 1",
    "SELECT service, labels['version'] AS version, class, method, self, total FROM methods WHERE metric = 'samples'",
    "SELECT s.service, s.value, m.total FROM (SELECT service, sum(value) AS value FROM samples WHERE metric = 'samples' GROUP BY 1) s \
     JOIN (SELECT service, sum(self) AS total FROM methods WHERE metric = 'samples' GROUP BY 1) m ON s.service = m.service",
];

/// A store with recordings of two versions, and those of other tools.
fn store() -> StoreFolder {
    let store = StoreFolder::of_tools();
    for (file, version) in sql::recordings().iter().zip(["1.4.1", "1.4.2"]) {
        store.print("add", &["--label", &format!("version={version}"), file.to_str().unwrap()]);
    }
    store
}

/// The rows of an answer, sorted: those of equal values have no order of their own.
#[track_caller]
fn rows(query: &str, output: &Output) -> Vec<String> {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{query}\n{said}");
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let mut rows: Vec<_> = rows.iter().map(Value::to_string).collect();
    rows.sort();
    rows
}

/// Asks a store with a cluster.
fn ask(store: &Path, address: &str, query: &str) -> Output {
    sql::run(&[store], &[query, "--json", "--cluster", address])
}

/// Waits until something is so.
#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn queries_have_the_rows_of_one_machine() {
    let store = store();
    let path = store.path();
    let cluster = Processes::start(3);
    let text = fs::read_to_string(workspace().join("docs/sql.md")).unwrap();
    let mut compared = 0;
    let is_own = |query: &&str| QUERIES.contains(query);
    for query in QUERIES.into_iter().chain(queries(&text)) {
        let here = sql::run(&[&path], &[query, "--json"]);
        // A store has some of the tables of files, and a plan names the places of files.
        if !is_own(&query) && (!here.status.success() || query.starts_with("EXPLAIN")) {
            continue;
        }
        let there = ask(&path, &cluster.address, query);
        let (here, there) = (rows(query, &here), rows(query, &there));
        let has_ties = query.contains("LIMIT");
        match has_ties {
            true => assert_eq!(there.len(), here.len(), "{query}"),
            false => assert_eq!(there, here, "{query}"),
        }
        compared += 1;
    }
    assert!(compared >= QUERIES.len() + 5, "{compared} queries");
    assert!(cluster.executors.iter().any(Executor::has_worked));
    // A file is written here.
    let file = tempfile::tempdir().unwrap();
    let file = file.path().join("sums.parquet");
    let copy = format!("COPY ({}) TO '{}'", crate::store::SUMS, file.display());
    let copied = sql::run(&[&path], &[&copy, "--write", "--cluster", &cluster.address]);
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    assert!(file.is_file());
    // Whole pieces count, and nothing else.
    store.print("compact", &[]);
    let query = crate::store::SUMS;
    let here = rows(query, &sql::run(&[&path], &[query, "--json"]));
    assert_eq!(rows(query, &ask(&path, &cluster.address, query)), here);
    // A plan is shown, and not run.
    let explained =
        sql::run(&[&path], &[&format!("EXPLAIN {query}"), "--cluster", &cluster.address]);
    assert!(String::from_utf8_lossy(&explained.stdout).contains("DataSourceExec"));
}

#[test]
fn an_executor_that_is_killed_changes_no_row() {
    let store = store();
    let path = store.path();
    let here = rows(LONG, &sql::run(&[&path], &[LONG, "--json"]));
    let mut cluster = Processes::start(3);
    let mut asked = command(&path, LONG, &cluster.address).spawn().unwrap();
    let mut killed = 0;
    wait_until("results of a part", || {
        let working = cluster.executors.iter().position(Executor::has_results);
        working.inspect(|&at| killed = at).is_some()
    });
    cluster.executors[killed].kill();
    assert!(asked.try_wait().unwrap().is_none(), "the query has ended before");
    let output = asked.wait_with_output().unwrap();
    assert_eq!(rows(LONG, &output), here);
}
