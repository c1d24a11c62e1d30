//! A profiler that enables everything and uses everything, on real programs: their results are those
//! without it.

use std::collections::BTreeMap;

use perk_testkit::{JavaRun, Jdk, Outcome, jdk};

use crate::support::profiled;

/// The file that the profiler writes.
const COUNTS: &str = "counts.txt";

/// The parts of the program `Calls`: lambdas, reflection, exceptions, threads, virtual threads.
const PARTS: [&str; 4] = ["Language", "Throwing", "Threads", "Virtual"];

/// Runs a program with the profiler. Returns its outcome and the numbers of the file.
#[track_caller]
fn run(jdk: &Jdk, more: &str, of: impl Fn(JavaRun) -> JavaRun) -> (Outcome, BTreeMap<String, u64>) {
    let run = of(profiled(jdk, more, "everything", COUNTS));
    let outcome = run.timeout(std::time::Duration::from_secs(240)).run();
    outcome.assert_success();
    let text = outcome.text(COUNTS);
    let numbers = text.lines().map(|line| {
        let (name, number) = line.split_once('=').unwrap();
        (name.to_owned(), number.parse().unwrap())
    });
    let numbers = numbers.collect();
    (outcome, numbers)
}

/// The output of the program without a profiler.
fn plain(jdk: &Jdk, of: impl Fn(JavaRun) -> JavaRun) -> String {
    let outcome = of(JavaRun::new(jdk)).run();
    outcome.assert_success();
    outcome.stdout.clone()
}

fn check(numbers: &BTreeMap<String, u64>) {
    let of = |kind: u32| numbers[&format!("event.{kind}")];
    // Entries and exits, objects, threads, classes and the start and the end.
    for kind in [1, 2, 3, 4, 33, 34, 35, 42, 46, 47] {
        assert!(of(kind) > 0, "no event {kind}: {numbers:?}");
    }
    assert_eq!((of(46), of(47)), (1, 1));
    assert_eq!(numbers["refused"], 0, "{numbers:?}");
}

#[test]
fn a_program_with_every_collector_and_compiler() {
    let of = |way: &'static [&'static str]| {
        move |run: JavaRun| {
            let run = way.iter().fold(run, |run, option| run.jvm_arg(option));
            run.main("Calls").args(PARTS)
        }
    };
    const WAYS: [&[&str]; 5] = [
        &["-XX:+UseSerialGC"],
        &["-XX:+UseZGC"],
        &["-XX:+UseShenandoahGC"],
        &["-Xint"],
        &["-Xcheck:jni"],
    ];
    jdk::each(|jdk| {
        for way in WAYS {
            let takes = JavaRun::new(jdk);
            let takes =
                way.iter().fold(takes, |run, option| run.jvm_arg(option)).args(["-version"]);
            if takes.run().code() != Some(0) {
                continue;
            }
            let expected = plain(jdk, of(way));
            let (outcome, numbers) = run(jdk, "", of(way));
            assert_eq!(outcome.stdout, expected, "{way:?}");
            check(&numbers);
        }
    });
}

#[test]
fn the_compiler_compiles_the_same() {
    jdk::each_of(&[17, 25], |jdk| {
        let of = |run: JavaRun| run.main("CompileInProcess").args(["60"]);
        let expected = plain(jdk, of);
        let (outcome, numbers) = run(jdk, "", of);
        assert_eq!(outcome.stdout, expected);
        check(&numbers);
    });
}
