//! Entries and exits of methods: their numbers, their brackets, their objects.

use perk_testkit::{Jdk, Outcome, jdk};

use crate::support::{library, profiled};

/// The sources of the events, as options.
const SOURCES: [&str; 2] = ["methods=probes,verbose=y,", "methods=vm,verbose=y,"];

/// Runs a program of `java/fixtures` with the profiler `methods`.
#[track_caller]
fn run(jdk: &Jdk, source: &str, options: &str, program: &str, args: &[&str]) -> Outcome {
    let options = format!("{options},{program}");
    let run = profiled(jdk, source, "methods", &options).main(program);
    let library = library("methods").display().to_string();
    let outcome = run.args(std::iter::once(library.as_str()).chain(args.iter().copied())).run();
    outcome.assert_success();
    assert!(!outcome.stdout.contains("own.class="), "{}", outcome.report());
    outcome
}

/// Returns the entries and exits of a method on a thread.
fn counts(outcome: &Outcome, thread: &str, method: &str) -> (u64, u64) {
    let name = format!("{thread}:{method}=");
    let Some(line) = outcome.stdout.lines().find_map(|line| line.strip_prefix(&name)) else {
        return (0, 0);
    };
    let (entries, exits) = line.split_once(',').expect("two numbers");
    (entries.parse().unwrap(), exits.parse().unwrap())
}

/// Checks that the brackets of a thread match, and that as many are open as are expected.
#[track_caller]
fn check_brackets(outcome: &Outcome, thread: &str, open: u64) {
    let number = |name: &str| outcome.number(&format!("{name}.{thread}"));
    assert_eq!((number("bad"), number("open")), (0, open), "{}", outcome.report());
    assert_eq!(number("entries"), number("exits") + open);
}

/// Checks the calls of `JvmpiCalls.work`.
#[track_caller]
fn check_work(outcome: &Outcome, thread: &str, times: u64) {
    let expected = [
        ("work", 1),
        // fib(n) calls itself twice the next Fibonacci number, less one.
        ("fib", times * 177),
        ("catcher", times),
        ("thrower", times * 6),
        ("construct", times),
        // After each catcher, two of three constructions, and five of ten reflective calls.
        ("after", times * 3 + 5),
        ("guarded", times),
        ("reflect", 1),
        ("reflected", 10),
        ("lambdas", 1),
        ("lambda$lambdas$0", 30),
    ];
    for (method, count) in expected {
        let method = format!("JvmpiCalls.{method}");
        assert_eq!(counts(outcome, thread, &method), (count, count), "{thread}:{method}");
    }
    let of_classes = [
        ("Derived.<init>", times * 3),
        ("Derived.argument", times * 3),
        ("Derived.method", times),
        ("Base.<init>", times * 2),
    ];
    for (method, count) in of_classes {
        let method = format!("JvmpiCalls${method}");
        assert_eq!(counts(outcome, thread, &method), (count, count), "{thread}:{method}");
    }
}

/// Returns the entries on a thread of methods in hidden classes.
fn of_hidden(outcome: &Outcome, thread: &str) -> u64 {
    let start = format!("{thread}:JvmpiCalls$$Lambda");
    let lines = outcome.stdout.lines().filter(|line| line.starts_with(&start));
    let counts = lines.filter(|line| line.contains(".applyAsInt="));
    counts.map(|line| line.rsplit_once(',').unwrap().1.parse::<u64>().unwrap()).sum()
}

#[test]
fn each_thread_has_its_calls() {
    jdk::each(|jdk| {
        for source in SOURCES {
            // With probes the JIT compilers do their work.
            let is_vm = source.contains("vm");
            let times = if is_vm { 20 } else { 400 };
            let outcome = run(jdk, source, "ex", "JvmpiCalls", &[&times.to_string()]);
            assert_eq!(outcome.value("done"), "true");
            let threads = [("main", 1), ("worker1", 1), ("worker2", 2), ("worker3", 3)];
            for (thread, share) in threads {
                check_work(&outcome, thread, times * share);
                check_brackets(&outcome, thread, 0);
                assert_eq!(of_hidden(&outcome, thread), if is_vm { 30 } else { 0 });
            }
            assert_eq!(counts(&outcome, "main", "JvmpiCalls.main"), (1, 1));
            // The account has the same numbers.
            let total = |kind: &str| -> u64 {
                let lines = outcome.stdout.lines().filter(|line| line.starts_with(kind));
                lines.map(|line| line.rsplit_once('=').unwrap().1.parse::<u64>().unwrap()).sum()
            };
            let sent = |kind: &str| -> u64 {
                let mut lines = outcome.stderr.lines();
                let line = lines.find(|line| line.ends_with(kind)).expect("the account has it");
                line.split_whitespace().nth(1).unwrap().parse().unwrap()
            };
            // Other threads of the JVM may go on after the profiler's report.
            assert!(sent(" METHOD_ENTRY") >= total("entries."), "{}", outcome.stderr);
            assert!(sent(" METHOD_ENTRY") < total("entries.") + 1000, "{}", outcome.stderr);
            assert!(sent(" METHOD_EXIT") >= total("exits."), "{}", outcome.stderr);
        }
    });
}

#[test]
fn brackets_match_when_the_stack_overflows() {
    jdk::each(|jdk| {
        for source in SOURCES {
            let outcome = run(jdk, source, "ex", "JvmpiCalls", &["3", "overflow"]);
            assert_eq!(outcome.value("overflow"), "truetrue");
            check_work(&outcome, "main", 3);
            check_brackets(&outcome, "main", 0);
            let (entries, exits) = counts(&outcome, "main", "JvmpiCalls.overflow");
            assert!(entries == exits && entries > 4000, "{entries} and {exits}");
            assert!(outcome.number("deepest.main") > 2000);
        }
    });
}

#[test]
fn brackets_match_when_events_are_switched_in_mid_run() {
    jdk::each(|jdk| {
        for (source, options) in SOURCES.into_iter().zip(["lex", "lexc"]) {
            let outcome = run(jdk, source, options, "JvmpiSwitches", &[]);
            assert_eq!(outcome.value("done"), "41024");
            let of = |method: &str| counts(&outcome, "main", &format!("JvmpiSwitches.{method}"));
            assert_eq!(of("known"), (13, 13), "{}", outcome.stdout);
            assert_eq!(of("repeat"), (2, 2));
            assert_eq!(counts(&outcome, "other", "JvmpiSwitches.known"), (11, 11));
            assert_eq!(of("early"), (0, 0));
            assert_eq!(of("between"), (0, 0));
            // The JVM's own events tell no end of what was open at a pause.
            assert_eq!(of("across"), if source.contains("vm") { (1, 0) } else { (1, 1) });
            assert_eq!(outcome.number("bad.main"), 0);
            check_brackets(&outcome, "other", 0);
        }
    });
}

#[test]
fn exits_alone_are_told() {
    jdk::each(|jdk| {
        for source in SOURCES {
            let outcome = run(jdk, source, "x", "JvmpiCalls", &["5"]);
            for thread in ["main", "worker1"] {
                let of = |method: &str| counts(&outcome, thread, &format!("JvmpiCalls.{method}"));
                assert_eq!((of("fib"), of("thrower")), ((0, 5 * 177), (0, 5 * 6)));
                assert_eq!(counts(&outcome, thread, "JvmpiCalls$Base.<init>"), (0, 10));
            }
        }
    });
}
