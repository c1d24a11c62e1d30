//! Clusters that are not there, or not any more, and queries that they cannot run.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use super::processes::{Executor, Processes, command};
use super::{LONG, ask, rows, sql, store, wait_until};
use crate::store::{SUMS, StoreFolder};

/// The one line of a failure.
#[track_caller]
fn fault(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("perk: ") && said.len() < 400, "{said}");
    said
}

#[test]
fn a_cluster_that_is_not_there_is_one_line() {
    let store = StoreFolder::of_tools();
    let path = store.path();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let said = fault(&ask(&path, &format!("ballista://{free}"), SUMS));
    assert!(
        said.contains("no scheduler answers") && said.contains("perk-fleet scheduler"),
        "{said}"
    );
    assert!(fault(&ask(&path, "http://h:1", SUMS)).contains("ballista://HOST:PORT"));
    let file = perk_testkit::workspace().join("testdata/collapsed/signatures.collapsed");
    assert!(fault(&ask(&file, "ballista://h:1", "SELECT 1")).contains("asks a store"));
    let said = fault(&sql::run(
        &[&path],
        &[&format!("EXPLAIN ANALYZE {SUMS}"), "--cluster", &format!("ballista://{free}")],
    ));
    assert!(said.contains("--cluster"), "{said}");
}

#[test]
fn faults_of_queries_are_one_line() {
    let store = store();
    let path = store.path();
    let cluster = Processes::start(1);
    let ask = |query: &str| fault(&ask(&path, &cluster.address, query));
    let said = ask("SELECT nothing FROM samples");
    assert!(said.contains("nothing"), "{said}");
    let said = ask("SELECT stack_contains(stack, '') FROM samples WHERE stack IS NOT NULL");
    assert!(said.ends_with(": no pattern of names: ''\n"), "{said}");
    let said = ask("SELECT CAST(metric AS BIGINT) FROM samples");
    assert!(said.contains(": Cannot cast"), "{said}");
}

#[test]
fn a_cluster_that_disappears_is_one_line() {
    let store = store();
    let path = store.path();
    let mut cluster = Processes::start(2);
    let asked = command(&path, LONG, &cluster.address).spawn().unwrap();
    wait_until("an executor works", || cluster.executors.iter().any(Executor::has_results));
    let begin = Instant::now();
    cluster.scheduler.kill();
    cluster.executors.iter_mut().for_each(Executor::kill);
    let said = fault(&asked.wait_with_output().unwrap());
    assert!(said.contains("the scheduler was lost") && said.contains(&cluster.address), "{said}");
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
}

#[test]
fn a_cluster_without_executors_is_one_line() {
    let store = store();
    let path = store.path();
    let mut cluster = Processes::start(1);
    let asked = command(&path, LONG, &cluster.address).spawn().unwrap();
    wait_until("an executor works", || cluster.executors[0].has_results());
    let begin = Instant::now();
    cluster.executors[0].kill();
    let said = fault(&asked.wait_with_output().unwrap());
    assert!(said.contains("executor"), "{said}");
    assert!(begin.elapsed() < Duration::from_secs(100), "{:?}", begin.elapsed());
    // One that comes later is taken.
    let place = cluster.address.strip_prefix("ballista://").unwrap();
    let _executor = Executor::start(place);
    let here = rows(SUMS, &sql::run(&[&path], &[SUMS, "--json"]));
    assert_eq!(rows(SUMS, &ask(&path, &cluster.address, SUMS)), here);
}

/// A query that runs for hours.
const ENDLESS: &str = "SELECT count(*) AS n FROM (SELECT value, unnest(range(0, 3000)) AS n FROM samples) a \
                       CROSS JOIN (SELECT value, unnest(range(0, 3000)) AS n FROM samples) b \
                       WHERE a.value * a.n < b.value * b.n";

#[test]
fn a_query_that_is_cancelled_makes_room() {
    let store = store();
    let path = store.path();
    let cluster = Processes::start(1);
    let asked = command(&path, ENDLESS, &cluster.address).spawn().unwrap();
    wait_until("an executor works", || cluster.executors[0].has_worked());
    std::thread::sleep(Duration::from_secs(5));
    // It has all of the executor.
    let mut other = command(&path, SUMS, &cluster.address).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(5));
    assert!(other.try_wait().unwrap().is_none());
    let signalled = Command::new("kill").args(["-INT", &asked.id().to_string()]).status().unwrap();
    assert!(signalled.success());
    let said = fault(&asked.wait_with_output().unwrap());
    assert!(said.contains("cancelled"), "{said}");
    let here = rows(SUMS, &sql::run(&[&path], &[SUMS, "--json"]));
    wait_until("the other query", || other.try_wait().unwrap().is_some());
    assert_eq!(rows(SUMS, &other.wait_with_output().unwrap()), here);
}
