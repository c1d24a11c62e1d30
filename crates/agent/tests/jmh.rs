//! The profiler of JMH, in a program that calls it as JMH does.

#![forbid(unsafe_code)]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use perk_testkit::{JavaRun, Jdk, Outcome, fixture, jdk, workspace};

/// The bytes of the array that an operation makes: its elements and its header.
const ARRAY_BYTES: f64 = 1016.0;

fn classes() -> PathBuf {
    let folder = std::fs::read_dir(workspace().join("java/fixtures/jmh")).expect("a folder");
    let stand_ins = folder.flatten().map(|entry| entry.path());
    let stand_ins = stand_ins.filter(|path| path.extension() == Some(OsStr::new("java")));
    let profiler = workspace().join("java/jmh/perk/jmh/PerkProfiler.java");
    let sources: Vec<_> = stand_ins.chain([profiler]).collect();
    let sources: Vec<&Path> = sources.iter().map(PathBuf::as_path).collect();
    fixture::compile_files(&sources)
}

fn run(jdk: &Jdk, options: &str) -> Outcome {
    let run = JavaRun::new(jdk).agent(&format!("{options},verbose=n,file=o.txt"));
    run.classes(classes()).main("JmhDriver").run()
}

/// Returns the scores of the three iterations, which have this label and unit alone.
#[track_caller]
fn scores(outcome: &Outcome, label: &str, unit: &str) -> Vec<f64> {
    outcome.assert_success();
    let score = |line: &str| {
        let (found, rest) = line.split_once('=')?;
        let (score, its_unit) = rest.split_once(' ')?;
        (found == label && its_unit == unit).then(|| score.parse().ok())?
    };
    let scores: Option<Vec<f64>> = outcome.stdout.lines().map(score).collect();
    let scores = scores.unwrap_or_else(|| panic!("{}", outcome.report()));
    assert_eq!(scores.len(), 3, "{}", outcome.report());
    scores
}

#[test]
fn calls_are_those_of_an_operation() {
    jdk::each(|jdk| {
        let outcome = run(jdk, "cpu=times,cutoff=0,include=JmhDriver.called");
        assert_eq!(scores(&outcome, "perk.calls", "calls/op"), [3.0; 3]);
    });
}

#[test]
fn allocated_bytes_are_those_of_an_operation() {
    jdk::each(|jdk| {
        let outcome = run(jdk, "heap=sites,cutoff=0,depth=1,gc=y");
        for bytes in scores(&outcome, "perk.alloc", "B/op") {
            // The profiler's own objects are few.
            assert!((bytes - ARRAY_BYTES).abs() < 2.0, "{}", outcome.report());
        }
    });
}

#[test]
fn samples_are_counted() {
    jdk::each(|jdk| {
        let outcome = run(jdk, "cpu=samples,interval=1,cutoff=0");
        let scores = scores(&outcome, "perk.samples", "samples/op");
        assert!(scores.iter().all(|score| (0.0..1.0).contains(score)), "{}", outcome.report());
        assert!(scores.iter().any(|score| *score > 0.0), "{}", outcome.report());
    });
}

#[test]
fn it_says_what_is_missing() {
    jdk::each(|jdk| {
        let outcome = run(jdk, "cpu=samples,format=p");
        outcome.assert_code(1);
        assert!(
            outcome.stderr.contains("neither samples nor calls nor sites"),
            "{}",
            outcome.report()
        );
        let without = JavaRun::new(jdk).classes(classes()).main("JmhDriver").run();
        without.assert_code(1);
        assert!(
            without.stderr.contains("there is no perk in the forked JVM"),
            "{}",
            without.report()
        );
    });
}
