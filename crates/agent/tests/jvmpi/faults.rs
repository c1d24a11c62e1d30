//! What profilers do that should not be done: ends of the process in handlers, calls of Java there,
//! arguments that mean nothing, locks that are held. The program continues, or ends as the profiler wants.

use std::path::PathBuf;
use std::time::Duration;

use perk_testkit::{JavaRun, Jdk, Outcome, fixture, jdk};

use crate::support::{library, profiled};

/// Whether a case is one of this JDK's: each is tried on one of three.
fn is_turn(jdk: &Jdk, case: usize) -> bool {
    let turn = match jdk.version {
        17 => 0,
        21 => 1,
        _ => 2,
    };
    case % 3 == turn
}

/// Completes a run of a program of the folder `programs` that loads the profiler for its natives.
fn program(run: JavaRun, agent: &str, class: &str, classes: PathBuf) -> JavaRun {
    let run = run.jvm_arg("--enable-native-access=ALL-UNNAMED").classes(classes).main(class);
    run.args([library(agent)]).timeout(Duration::from_secs(120))
}

/// Returns a run that does something in the handler of a kind of event.
fn ends(jdk: &Jdk, action: &str, kind: u32, rounds: u32) -> JavaRun {
    let classes = fixture::compile_text("Ends", include_str!("programs/Ends.java"));
    let more = if kind == 9 { "instructions=y," } else { "" };
    let run = profiled(jdk, more, "ends", &format!("{action},{kind}"));
    program(run, "ends", "Ends", classes).args([rounds.to_string()])
}

/// The rounds of a program that is to be ended before.
const MANY: u32 = 1000;

#[test]
fn the_program_exits_in_handlers() {
    // Methods, objects, threads, classes, references, monitors, brackets.
    const KINDS: [u32; 14] = [1, 3, 4, 5, 33, 34, 35, 38, 42, 50, 51, 55, 58, 61];
    jdk::each(|jdk| {
        for (case, kind) in KINDS.into_iter().enumerate() {
            if is_turn(jdk, case) {
                let outcome = ends(jdk, "exit", kind, MANY).run();
                outcome.assert_code(7);
                let value = |name| outcome.value(name);
                assert_eq!((value("handled"), value("returned")), (&*kind.to_string(), "0"));
                assert_eq!((value("shut.downs"), value("after")), ("1", "0"), "{kind}");
            }
        }
    });
}

#[test]
fn the_profiler_exits_in_handlers() {
    const KINDS: [u32; 29] = [
        1, 2, 3, 4, 5, 7, 9, 33, 34, 35, 37, 38, 39, 40, 41, 42, 43, 50, 51, 52, 53, 54, 55, 56,
        57, 58, 59, 60, 61,
    ];
    jdk::each(|jdk| {
        let check = |kind: u32, rounds: u32| {
            let outcome = ends(jdk, "profiler", kind, rounds).run();
            outcome.assert_code(9);
            let value = |name| outcome.value(name);
            assert_eq!((value("handled"), value("returned")), (&*kind.to_string(), "0"));
            let shut_downs = if kind == 47 { "1" } else { "0" };
            assert_eq!((value("shut.downs"), value("after")), (shut_downs, "0"), "{kind}");
        };
        for (case, kind) in KINDS.into_iter().enumerate() {
            if is_turn(jdk, case) {
                check(kind, MANY);
            }
        }
        check(47, 1);
    });
}

#[test]
fn handlers_make_processes() {
    jdk::each(|jdk| {
        let outcome = ends(jdk, "fork", 0, 10).run();
        outcome.assert_success();
        assert_eq!(outcome.number("bad.children"), 0);
        assert!(outcome.number("kinds") >= 18, "{}", outcome.report());
        assert_eq!((outcome.value("shut.downs"), outcome.value("after")), ("1", "0"));
    });
}

#[test]
fn programs_make_processes() {
    jdk::each(|jdk| {
        let of = |run: JavaRun| run.main("StormChildren").args(["1"]);
        let plain = of(JavaRun::new(jdk)).run();
        let outcome = of(profiled(jdk, "", "everything", "counts.txt")).run();
        plain.assert_success();
        outcome.assert_success();
        assert_eq!(outcome.stdout, plain.stdout);
    });
}

#[test]
fn a_crash_of_the_profiler_names_it() {
    jdk::each(|jdk| {
        for (case, kind) in [1, 4, 33, 61, 42, 55].into_iter().enumerate() {
            if is_turn(jdk, case) {
                let run = ends(jdk, "crash", kind, MANY).jvm_arg("-XX:-CreateCoredumpOnCrash");
                let outcome = run.run();
                assert!(!outcome.status.success(), "{}", outcome.report());
                let name = outcome.files.keys().find(|name| name.starts_with("hs_err"));
                let text = outcome.text(name.expect("the JVM writes its file"));
                assert!(text.contains("# Problematic frame:\n# C  [libends.so+"), "{kind}: {text}");
            }
        }
    });
}

/// Runs the program whose handlers call Java or functions. `source` is the option of perk.
#[track_caller]
fn callers(jdk: &Jdk, source: &str, letters: &str) -> Outcome {
    // With the JVM's own events the object of each call takes a pause of the JVM.
    let entry2 = if source.contains("vm") { "" } else { "2" };
    let run = profiled(jdk, source, "callers", &format!("{letters}{entry2}"));
    let outcome = plain_callers(run);
    assert_eq!(outcome.number("silent"), 0, "{}", outcome.report());
    outcome
}

/// Completes a run of that program.
#[track_caller]
fn plain_callers(run: JavaRun) -> Outcome {
    let classes = fixture::compile_text("Callers", include_str!("programs/Callers.java"));
    let outcome = program(run.jvm_arg("-Xss512k"), "callers", "Callers", classes).run();
    outcome.assert_success();
    outcome
}

const SOURCES: [&str; 2] = ["methods=probes,", "methods=vm,"];

#[test]
fn calls_of_java_and_endless_recursion_in_handlers_are_not_the_programs() {
    let plain = plain_callers(JavaRun::new(jdk::compiler()));
    jdk::each(|jdk| {
        for (case, letters) in ["je", "jek"].into_iter().enumerate() {
            for (index, source) in SOURCES.into_iter().enumerate() {
                // Exceptions that are left are tried with both sources on each JDK.
                if letters == "jek" || is_turn(jdk, case + index) {
                    let outcome = callers(jdk, source, letters);
                    assert_eq!(outcome.value("sum"), plain.value("sum"), "{}", outcome.report());
                    assert_eq!(
                        (outcome.value("helped"), outcome.value("endless")),
                        ("true", "true")
                    );
                    assert!(outcome.number("overflows") > 10, "{}", outcome.report());
                }
            }
        }
    });
}

#[test]
fn handlers_call_functions() {
    let plain = plain_callers(JavaRun::new(jdk::compiler()));
    jdk::each(|jdk| {
        for source in SOURCES {
            let outcome = callers(jdk, source, "f");
            assert_eq!(outcome.value("sum"), plain.value("sum"), "{}", outcome.report());
            assert_eq!(outcome.number("refused"), 0, "{source}: {}", outcome.report());
            assert_eq!(outcome.value("dumps"), "1,1,1");
        }
    });
}

#[test]
fn what_means_nothing_does_nothing() {
    let classes = fixture::compile_text("Misuse", include_str!("programs/Misuse.java"));
    jdk::each(|jdk| {
        let run = profiled(jdk, "", "misuse", "");
        let outcome = program(run, "misuse", "Misuse", classes.clone()).run();
        outcome.assert_success();
        assert_eq!(
            (outcome.number("wrong"), outcome.number("done")),
            (0, 1),
            "{}",
            outcome.report()
        );
        // A thread ended in each dump's handler.
        assert_eq!(outcome.number("dumped"), 3);
        assert_eq!(outcome.stderr, "");
    });
}

#[test]
fn a_lock_of_the_handlers_is_held_in_run_gc() {
    let classes = fixture::compile_text("Holds", include_str!("programs/Holds.java"));
    jdk::each(|jdk| {
        let run = profiled(jdk, "", "holds", "");
        let outcome = program(run, "holds", "Holds", classes.clone()).run();
        outcome.assert_success();
        assert_eq!(outcome.number("done"), 1);
        for name in ["overlaps", "unbalanced", "open"] {
            assert_eq!(outcome.number(name), 0, "{name}: {}", outcome.report());
        }
        for name in ["brackets", "frees", "others"] {
            assert_eq!(outcome.number(name), 1, "{name}: {}", outcome.report());
        }
    });
}

#[test]
fn the_bridge_takes_no_lock_of_the_class_loaders() {
    let classes = fixture::compile_text("Standing", include_str!("programs/Standing.java"));
    jdk::each(|jdk| {
        let run = profiled(jdk, "", "standing", "");
        let run = run.jvm_arg("-Djava.system.class.loader=Standing");
        let outcome = program(run, "standing", "Standing", classes.clone()).run();
        outcome.assert_success();
        let values = ["classes", "dumps", "done"].map(|name| outcome.number(name));
        assert_eq!(values, [1, 3, 1], "{}", outcome.report());
    });
}
