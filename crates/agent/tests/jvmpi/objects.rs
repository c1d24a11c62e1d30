//! OBJECT_ALLOC, ids and records of objects.

use std::path::PathBuf;

use perk_testkit::{JavaRun, Jdk, Outcome, compiled_at_once, jdk};

use crate::support::{library, profiled};

/// Returns the class folder of the programs on the heap.
pub(crate) fn classes() -> PathBuf {
    perk_testkit::fixture::compile_text("Heap", include_str!("programs/Heap.java"))
}

/// Returns a run of one of the programs, with some groups of events.
pub(crate) fn heap(jdk: &Jdk, events: &str, program: &str) -> JavaRun {
    let library = library("heap");
    let run = profiled(jdk, "", "heap", events).classes(classes()).main("Heap");
    run.args([library.display().to_string(), program.to_owned()])
}

/// Checks that no object's events are in a wrong order.
#[track_caller]
pub(crate) fn check_order(outcome: &Outcome) {
    outcome.assert_success();
    for name in ["twice", "too.early", "again", "nested", "outside", "foreign", "unannounced"] {
        assert_eq!(outcome.number(name), 0, "{name}: {}", outcome.report());
    }
    assert_eq!(outcome.number("starts"), outcome.number("finishes"));
}

#[test]
fn each_kind_of_allocation_is_reported() {
    jdk::each(|jdk| {
        let at_once = compiled_at_once("Heap*");
        let at_once: Vec<&str> = at_once.iter().map(String::as_str).collect();
        for flags in [&["-XX:+UseG1GC"][..], &["-XX:+UseSerialGC"], &["-Xint"], &at_once] {
            let run = heap(jdk, "ac", "kinds");
            let outcome = flags.iter().fold(run, |run, flag| run.jvm_arg(flag)).run();
            check_order(&outcome);
            let check = |name: &str, count: u64| {
                assert_eq!(outcome.number(name), count, "{flags:?}: {name}\n{}", outcome.report());
            };
            check("alloc.Heap$Plain.0", 1000 + 110 + 1);
            check("bytes.Heap$Plain.0", 1111 * 24);
            check("alloc.Heap$Made.0", 130);
            check("array.4", 40);
            check("array.5", 50);
            check("array.6", 60);
            check("array.7", 70);
            check("array.9", 90);
            check("array.10", 100 + 80);
            check("array.11", 110);
            check("array.bytes.11", 110 * (16 + 72));
            // The elements of int[4][] are int[].
            check("alloc.Heap$Plain.2", 30);
            // The bridge itself may have been the first to use the class.
            check("alloc.java.lang.Long.0", 80);
            check("undefined", 0);
            // The JVM makes a few names for reflection.
            let texts = outcome.number("alloc.java.lang.String.0");
            assert!((140..160).contains(&texts), "{flags:?}: {}", outcome.report());
            let lambda = outcome.stdout.lines().find(|line| line.starts_with("alloc.Heap$$Lambda"));
            let lambda = lambda.unwrap_or_else(|| panic!("{}", outcome.report()));
            assert!(lambda.ends_with(".0=120"), "{lambda}");
        }
    });
}

#[test]
fn objects_are_reported_from_the_moment_that_the_event_is_enabled() {
    jdk::each(|jdk| {
        let outcome = heap(jdk, "c", "late").run();
        check_order(&outcome);
        assert_eq!(outcome.number("alloc.Heap$Plain.0"), 5000, "{}", outcome.report());
        assert!(outcome.number("allocs") < 6000, "{}", outcome.report());
    });
}

const SPACE: &str = "
public class Space {
    static volatile Object last;

    static native void limit(long more);
    static native void report();

    public static void main(String[] arguments) {
        System.load(arguments[0]);
        int count = Integer.parseInt(arguments[1]);
        limit(Long.parseLong(arguments[2]) << 20);
        for (int i = 0; i < count; i++) last = new Object();
        report();
    }
}
";

/// An object takes 16 bytes in perk.
#[test]
fn objects_without_room_are_counted_at_the_end() {
    const OBJECTS: u64 = 3_000_000;
    let classes = perk_testkit::fixture::compile_text("Space", SPACE);
    jdk::each(|jdk| {
        let run = |more: &str| {
            let run = profiled(jdk, "", "space", "").jvm_arg("--enable-native-access=ALL-UNNAMED");
            let flags = ["-XX:+UseSerialGC", "-Xms16m", "-Xmx16m", "-Xmn2m"];
            let run = flags.iter().fold(run, |run, flag| run.jvm_arg(flag));
            let path = library("space").display().to_string();
            let count = OBJECTS.to_string();
            let run = run.classes(classes.clone()).main("Space").args([path, count, more.into()]);
            let outcome = run.run();
            outcome.assert_success();
            outcome
        };
        let living = |outcome: &Outcome, missing: u64| {
            let (allocs, frees) = (outcome.number("allocs"), outcome.number("frees"));
            assert!(allocs >= OBJECTS, "{}", outcome.report());
            allocs.checked_sub(frees + missing).unwrap_or_else(|| panic!("{}", outcome.report()))
        };
        let plenty = run("2000");
        assert_eq!(plenty.stderr, "");
        assert!(living(&plenty, 0) < 5000, "{}", plenty.report());
        let little = run("48");
        let warning =
            "HPROF WARNING: the system refused perk more address space (ulimit -v, ulimit -d): ";
        let missing = little.stderr.strip_prefix(warning).and_then(|it| it.split_once(' '));
        let (missing, rest) = missing.unwrap_or_else(|| panic!("{}", little.report()));
        assert_eq!(rest, "objects have no OBJECT_FREE, and are not found by their ids\n");
        let missing: u64 = missing.parse().unwrap();
        assert!(missing > 100_000, "{missing}");
        assert!(living(&little, missing) < 5000, "{}", little.report());
    });
}
