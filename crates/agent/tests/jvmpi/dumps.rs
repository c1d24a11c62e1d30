//! HEAP_DUMP and OBJECT_DUMP. The profiler reads each dump with nothing but CLASS_LOAD's data, and stops
//! the program at the first thing that does not fit.

use std::collections::BTreeMap;
use std::time::Duration;

use perk_testkit::{JavaRun, Jdk, Outcome, fixture, jdk};

use crate::support::{library, profiled};

/// Returns a run of the program in a mode; `options` are the profiler's.
fn dumps(jdk: &Jdk, options: &str, arguments: &[&str]) -> JavaRun {
    let library = library("dumps").display().to_string();
    let run = profiled(jdk, "", "dumps", options).classes(fixture::fixtures()).main("Dumps");
    let arguments = [library.as_str()].into_iter().chain(arguments.iter().copied());
    run.args(arguments).timeout(Duration::from_secs(120))
}

#[track_caller]
fn check_end(outcome: &Outcome) {
    outcome.assert_success();
    assert_eq!(outcome.number("ended"), 1, "{}", outcome.report());
}

/// Returns the lines that begin with a word, without it, by their names.
fn lines<'a>(outcome: &'a Outcome, word: &str) -> BTreeMap<&'a str, &'a str> {
    let found = outcome.stdout.lines().filter_map(|line| line.strip_prefix(word));
    found.filter_map(|line| line.split_once('=')).collect()
}

/// Compares the values in the dump of level 2 with those that the program has by reflection, in which
/// the fields of `Throwable` that the JVM fills are missing.
#[track_caller]
fn check_values(outcome: &Outcome) {
    let (mut shown, expected) = (lines(outcome, "shown."), lines(outcome, "expected."));
    let by_jvm = ["backtrace", "depth", "stackTrace"];
    shown.retain(|name, _| !by_jvm.iter().any(|it| name.ends_with(it)));
    assert!(expected.len() > 50, "{expected:?}");
    assert_eq!(shown, expected);
    assert_eq!(expected["Dumps$ShowFields.Dumps$Base.number"], "-128");
    assert_eq!(expected["Dumps$ShowFields.Dumps$Middle.number"], "-32768");
    assert_eq!(expected["static.Dumps$ShowConstants.SEVEN"], "7");
    assert!(expected["Dumps$ShowArrays.Dumps$ShowArrays.deep"].starts_with(&"[".repeat(255)));
}

#[test]
fn values_are_those_of_the_program() {
    jdk::each(|jdk| {
        let outcome = dumps(jdk, "", &["values"]).run();
        check_end(&outcome);
        check_values(&outcome);
        assert_eq!((outcome.value("result"), outcome.value("null.level")), ("000", "0"));
        assert_eq!(outcome.value("wrong.levels"), "-1-1-1");
        for class in ["ShowFields", "ShowArrays", "ShowStatics", "ShowMore"] {
            let value = |what: &str| outcome.value(&format!("class.Dumps${class}.{what}"));
            assert_eq!((value("loader"), value("domain")), (APPLICATION_LOADER, "1"));
        }
        assert_eq!(outcome.value("class.Dumps$ShowFields.super"), "Dumps$Middle");
        assert_eq!(outcome.value("class.Dumps$ShowStatics.super"), "java.lang.Object");
        assert_eq!(outcome.value("class.Dumps$ShowConstants.super"), "null");
    });
}

const APPLICATION_LOADER: &str = "jdk.internal.loader.ClassLoaders$AppClassLoader";

#[test]
fn roots_are_in_the_frames_that_hold_them() {
    jdk::each(|jdk| {
        let outcome = dumps(jdk, "", &["values"]).run();
        check_end(&outcome);
        for (class, method) in [("RootedByFrame", "inFrame"), ("RootedBelow", "below")] {
            let frame = outcome.value(&format!("root.3.Dumps${class}"));
            let (found, line) = frame.rsplit_once(':').unwrap();
            assert_eq!(found, format!("Dumps.{method}"));
            assert!(line.parse::<u32>().unwrap() > 100, "{frame}");
        }
        assert_eq!(outcome.value("root.2.Dumps$RootedLocally"), "Dumps.dump:-3");
        assert_eq!(outcome.number("root.1.Dumps$RootedLocally"), 1);
        assert!(outcome.number("traces2") >= 4);
        for kind in ["1", "3", "5", "6", "20", "21", "22", "23"] {
            assert!(outcome.number(&format!("records2.{kind}")) > 0);
        }
    });
}

#[test]
fn objects_are_as_many_as_the_program_made() {
    jdk::each(|jdk| {
        // The JVM of a runtime without it is asked by another's.
        let own = jdk.jcmd();
        let jcmd = if own.is_file() { own } else { jdk::compiler().jcmd() };
        let outcome = dumps(jdk, "", &["counts", &jcmd.display().to_string()]).run();
        check_end(&outcome);
        for level in 0..=2 {
            let count = |of: &str| outcome.number(&of.replace('#', &level.to_string()));
            assert_eq!((count("count#.Dumps$Node"), count("count#.Dumps$Pair")), (1234, 321));
            // 45, and 6 of arrays of 0 to 5 more.
            assert_eq!(count("arrays#.Dumps$Node"), 45 + 15);
        }
        assert_eq!(outcome.number("arrays2.[LDumps$Node;"), 6);
        let histogram = |class: &str| outcome.number(&format!("histogram.{class}"));
        assert_eq!((histogram("Dumps$Node"), histogram("Dumps$Pair")), (1234, 321));
        assert_eq!((histogram("[LDumps$Node;"), histogram("[[LDumps$Node;")), (60, 6));
        assert_eq!(outcome.number("unknown"), 0, "RequestEvent(OBJECT_ALLOC) of ids of level 0");
    });
}

#[test]
fn an_object_alone_is_as_in_the_heap() {
    jdk::each(|jdk| {
        let outcome = dumps(jdk, "", &["each"]).run();
        check_end(&outcome);
        for place in ["inside", "outside"] {
            let number = |what: &str| outcome.number(&format!("{place}.{what}"));
            assert_eq!((number("different"), number("classes.different")), (0, 0));
            assert_eq!((number("instances"), number("arrays"), number("primitives")), (3, 1, 20));
            assert!(number("classes") >= 5);
            assert_eq!(number("untouched"), 1);
        }
        assert!(outcome.number("inside.classes") > 200);
        // Six that are no ids, and a freed one.
        assert_eq!((outcome.number("failures"), outcome.number("nested")), (7, 4));
    });
}

#[test]
fn threads_come_and_go_while_two_of_them_dump() {
    jdk::each(|jdk| {
        let outcome = dumps(jdk, "", &["threads"]).run();
        check_end(&outcome);
        assert_eq!(outcome.number("good"), 12);
    });
}

#[test]
fn what_a_dump_needs_is_sent_before_it() {
    jdk::each(|jdk| {
        let outcome = dumps(jdk, "late", &["late"]).run();
        check_end(&outcome);
        assert_eq!((outcome.number("before"), outcome.number("result")), (0, 0));
        assert!(outcome.number("more") > 200);
        assert_eq!(lines(&outcome, "shown.")["static.Dumps$ShowConstants.SEVEN"], "7");
    });
}

#[test]
fn every_collector_is_walked() {
    let collectors = ["SerialGC", "ParallelGC", "G1GC", "ZGC", "ShenandoahGC"];
    jdk::each(|jdk| {
        for collector in collectors {
            let run = dumps(jdk, "", &["values"]).jvm_arg(format!("-XX:+Use{collector}"));
            let outcome = run.jvm_arg("-Xcheck:jni").run();
            if outcome.stderr.contains("not supported") {
                continue;
            }
            check_end(&outcome);
            check_values(&outcome);
            let complaint = outcome.stdout.lines().find(|line| line.contains("native method"));
            assert_eq!(complaint, None);
        }
    });
}

#[test]
fn a_dump_takes_little_more_memory_than_it_has_bytes() {
    const OBJECTS: u64 = 1_000_000;
    // What the JVM itself takes meanwhile.
    const OTHER_BYTES: u64 = 32 << 20;
    jdk::each(|jdk| {
        let run = dumps(jdk, "", &["time", &OBJECTS.to_string(), "210"]).jvm_arg("-Xmx1g");
        let outcome = run.run();
        check_end(&outcome);
        // A record without values, and those of Pair: next, value, other.
        let least = [9, 21 + 8 + 8, 21 + 8 + 4 + 8];
        for (level, least) in least.into_iter().enumerate() {
            let number = |of: &str| outcome.number(&format!("{of}{level}"));
            let bytes = number("bytes");
            assert!(bytes > OBJECTS * least, "{bytes}");
            let most = bytes + 100 * OBJECTS + OTHER_BYTES;
            assert!(number("grown.kib") * 1024 <= most, "{}", outcome.report());
        }
    });
}
