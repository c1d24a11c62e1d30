//! Recorded runs of the original agent (`testdata/hprof/recorded`), repeated with perk on each JDK:
//! exit code, messages, names of files, and every section of the files, line by line. Details that
//! may differ from one JDK to another (dates, serial numbers, the JDK's own classes, milliseconds)
//! are left out; any other difference must have a name in `docs/formats/hprof.md`.
//!
//! Each additional folder is an additional case. `PERK_RECORDED` gives more folders of cases,
//! `PERK_CASES` is a pattern of those to run.

#![forbid(unsafe_code)]

mod case;
mod combinations;
mod compare;
mod differences;
mod net;
mod others;
mod random;
mod run;

use std::collections::BTreeSet;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::{env, fs, thread};

use perk_testkit::{Jdk, jdk, workspace};

use case::Case;
use differences::{Differences, Findings, matches};

/// The number of cases that run at a time.
const WORKERS: usize = 2;

/// Runs all cases on one JDK.
fn conforms_on(jdk: &Jdk) {
    let pattern = env::var("PERK_CASES").unwrap_or_else(|_| "*".to_owned());
    let differences = Differences::read();
    let all = case::all();
    let mut wanted: Vec<&Case> = all.iter().filter(|case| matches(&pattern, &case.name)).collect();
    let is_whole = wanted.len() == all.len();
    let (mut seen, mut faults) = (BTreeSet::new(), Vec::new());
    wanted.reverse();
    let queue = Mutex::new(wanted);
    let results = Mutex::new((&mut seen, &mut faults));
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let Some(case) = queue.lock().expect("no panic").pop() else { break };
                    let mut found = Findings::new(&differences, &case.name);
                    // A panic of a run is a fault of that case alone.
                    let compared = panic::catch_unwind(AssertUnwindSafe(|| {
                        compare::case(jdk, case, &mut found);
                    }));
                    if let Err(what) = compared {
                        let text = what.downcast_ref::<String>().map_or("it panics", |it| it);
                        found.fault(text.to_owned());
                    }
                    let mut results = results.lock().expect("no panic");
                    results.0.append(&mut found.seen);
                    let faults = found.faults.iter();
                    results.1.extend(faults.map(|fault| format!("{}: {fault}", case.name)));
                }
            });
        }
    });
    faults.sort();
    // Other JDKs may behave as the original did.
    if is_whole && jdk.version == 17 {
        let unused = differences.names().filter(|name| !seen.contains(name));
        faults.extend(unused.map(|name| format!("no case shows the difference {name}")));
    }
    assert!(faults.is_empty(), "JDK {}:\n{}", jdk.version, faults.join("\n"));
}

#[test]
fn recorded_runs_on_jdk_17() {
    jdk::on(17, conforms_on);
}

#[test]
fn recorded_runs_on_jdk_21() {
    jdk::on(21, conforms_on);
}

#[test]
fn recorded_runs_on_jdk_25() {
    jdk::on(25, conforms_on);
}

/// A difference that no recorded run shows has an existing test.
#[test]
fn other_differences_have_a_test() {
    for (name, (file, function)) in &Differences::read().proved_elsewhere {
        let path = workspace().join("crates").join(file);
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(text.contains(&format!("fn {function}(")), "{name}: no {function} in {file}");
    }
}
