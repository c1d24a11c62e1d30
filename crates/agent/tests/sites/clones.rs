//! Calls of `clone`: of Object, of interfaces and of other classes.

use std::collections::BTreeMap;

use perk_profile::Profile;
use perk_testkit::{JavaRun, Outcome, jdk};

use crate::{FILE, N, counted, made, read};

const PROGRAM: &str = "Clones";

/// Returns the statements of the program that begin with a word, each with its number.
fn stated<'o>(outcome: &'o Outcome, word: &str) -> Vec<([&'o str; 2], u64)> {
    let columns = outcome.stdout.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let of_word = columns.filter(|it| it[0] == word);
    let all: Vec<_> = of_word.map(|it| ([it[1], it[2]], it[3].parse().unwrap())).collect();
    assert!(all.len() > 10, "{}", outcome.report());
    all
}

/// Returns the number of calls of a method by a caller.
fn calls(profile: &Profile, [method, caller]: [&str; 2]) -> u64 {
    let name = |frame| profile.symbols.method_name(profile.symbols.get_frame(frame).method);
    let rows = profile.call_times().flat_map(|times| times.rows);
    let of_both = rows.filter(|row| {
        let mut frames = profile.frames(row.trace).map(name);
        frames.next().as_deref() == Some(method) && frames.next().as_deref() == Some(caller)
    });
    of_both.map(|row| row.count).sum()
}

fn run(run: JavaRun) -> Outcome {
    run.jvm_arg("-XX:+UseSerialGC").main(PROGRAM).args([N.to_string()]).run()
}

#[test]
fn each_object_is_counted_once_and_each_call_at_its_method() {
    jdk::each(|jdk| {
        let plain = run(JavaRun::new(jdk));
        let outcome = run(counted(jdk, ",cpu=times"));
        assert_eq!(outcome.stdout, plain.stdout, "{}", outcome.report());
        let profile = read(&outcome);
        assert_eq!(profile.accounting.as_ref().unwrap().fault_count, 0);
        let what = jdk.version;
        for ([method, class], count) in stated(&outcome, "made") {
            let (program, method) = method.rsplit_once('.').unwrap();
            let found = made(&profile, program, method, class);
            assert_eq!(found.allocated_count, count, "{what}: {method} {class}");
        }
        for (pair, count) in stated(&outcome, "called") {
            assert_eq!(calls(&profile, pair), count, "{what}: {pair:?}");
        }
    });
}

#[test]
fn each_object_is_counted_once_by_class() {
    jdk::each(|jdk| {
        let outcome = run(JavaRun::new(jdk).agent(&format!("aprof=y,cutoff=0,file={FILE}")));
        outcome.assert_success();
        let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
        for ([_, class], count) in stated(&outcome, "made") {
            if class.starts_with(PROGRAM) {
                *expected.entry(class).or_default() += count;
            }
        }
        let table = perk_hprof::aprof::tables(outcome.stdout.as_bytes()).unwrap().remove(0);
        let found =
            |class: &str| table.rows.iter().find(|row| row.class == class).map(|it| it.count);
        for (class, count) in expected {
            assert_eq!(found(class), Some(count), "{}: {class}", jdk.version);
        }
    });
}
