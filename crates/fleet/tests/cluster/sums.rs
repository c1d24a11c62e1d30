//! Reports, comparisons and served stores, whose sums a cluster makes.

use std::process::{Command, Output, Stdio};

use super::processes::Processes;
use super::{Executor, sql, store};
use crate::pyroscope_api::ApiServer;
use crate::record::counterparts;
use crate::regressions;
use crate::store::StoreFolder;
use crate::store::questions::printed;

/// Everything that an exported file says of its numbers.
const BY_ALL: &str = "SELECT time, metric, unit, thread, array_to_string(frames(stack), ';') AS path, subject, labels['version'] AS version, \
                      labels['host'] AS host, sum(value) AS value FROM samples GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 \
                      ORDER BY 1, 2, 3, 4, 5, 6, 7, 8";

fn perk_fleet(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_perk-fleet"));
    command.args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// The rows of a part of a store, by way of a file.
#[track_caller]
fn exported(store: &StoreFolder, arguments: &[&str]) -> Vec<serde_json::Value> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("part.hprof");
    store.print("export", &[arguments, &["-o", file.to_str().unwrap()]].concat());
    sql::rows_of(&[&file], BY_ALL)
}

#[test]
fn sums_of_a_cluster_are_those_of_one_machine() {
    let store = store();
    let cluster = Processes::start(2);
    let there = ["--cluster", &cluster.address];
    for part in [
        &[][..],
        &["--without", "times,threads,labels"],
        &["--without", "threads", "--label", "version=1.4.*"],
        &["--without", "labels,times", "--keep-label", "version"],
        &["--service", "shop", "--until", "2026-11-28T10:20:00Z"],
        &["--since", "2026-11-28T10:20:00Z", "--service", "shop", "--without", "times"],
    ] {
        let here = exported(&store, part);
        assert!(!here.is_empty(), "{part:?}");
        assert_eq!(exported(&store, &[part, &there].concat()), here, "{part:?}");
    }
    assert!(cluster.executors.iter().any(Executor::has_worked));
    let path = store.path();
    let path = path.to_str().unwrap();
    let sides = ["--base", "version=1.4.1", "--new", "version=1.4.2", "--normalize", "--csv"];
    for arguments in [
        &["report", path, "--csv"][..],
        &["report", path, "--by", "version", "--csv"],
        &["report", path, "--method", "Shop.*"],
        &[&["diff", path][..], &sides].concat(),
    ] {
        let lines = |arguments: &[&str]| {
            let text = printed(arguments).replace(&format!(" {} {}", there[0], there[1]), "");
            let mut lines: Vec<_> = text.lines().map(ToOwned::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(lines(&[arguments, &there].concat()), lines(arguments), "{arguments:?}");
    }
    let nothing = perk_fleet(
        &[&["store", "export", path, "--label", "version=none", "-o", "-"], &there[..]].concat(),
    );
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("nothing was recorded of this"));
    let lost = ["--cluster", "ballista://127.0.0.1:1"];
    let lost = perk_fleet(&[&["store", "export", path, "-o", "-"], &lost[..]].concat());
    let said = String::from_utf8_lossy(&lost.stderr);
    assert!(said.contains("no scheduler answers") && said.lines().count() == 1, "{said}");
    if counterparts::are_here() {
        let sums = |more: &[&str]| {
            let served = ApiServer::start(&store.path(), more);
            let id = "process_cpu:samples:count:cpu:nanoseconds";
            (served.sum(id, "{}"), served.sum(id, "{version=\"1.4.2\"}"))
        };
        let here = sums(&[]);
        assert!(here.0 > here.1 && here.1 > 0, "{here:?}");
        assert_eq!(sums(&there), here);
    }
}

#[test]
fn regressions_of_a_cluster_are_those_of_one_machine() {
    let store = regressions::of_two_versions();
    let path = store.path();
    let cluster = Processes::start(2);
    let here = regressions::regressions(&path, &["--json"]);
    let there = regressions::regressions(&path, &["--json", "--cluster", &cluster.address]);
    assert_eq!(here.status.code(), Some(1));
    let texts = [&here, &there].map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
    assert_eq!(texts[1], texts[0], "{}", String::from_utf8_lossy(&there.stderr));
    assert!(cluster.executors.iter().any(Executor::has_worked));
}
