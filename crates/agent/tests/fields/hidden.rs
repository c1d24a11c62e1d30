//! Accesses in hidden classes: lambdas, hidden classes of the program, the forms of method handles.

use perk_testkit::{JavaRun, Jdk, Outcome, jdk};

use crate::{Counts, FILE, Record, counted, parse};

const PROGRAM: &str = "FieldHidden";
const TEMPLATE: &str = "FieldHidden$Template";
const TIMES: u64 = 177;
/// So often lambdas and a handle are called: the JIT compiles them.
const CALLS: u64 = 500 * TIMES;
const COPIES: u64 = 40;

fn run(run: JavaRun, flags: &[&str]) -> Outcome {
    let run = flags.iter().fold(run, |run, flag| run.jvm_arg(flag));
    run.main(PROGRAM).args([TIMES.to_string()]).run()
}

/// Returns the program's output without the numbers of classes.
fn stable(outcome: &Outcome) -> Vec<&str> {
    let text = outcome.stdout.lines();
    text.map(|line| line.split_once("/0x").map_or(line, |(name, _)| name)).collect()
}

/// Returns what follows the words of a line that begins with them.
fn after<'a>(outcome: &'a Outcome, words: &str) -> &'a str {
    let mut found = outcome.stdout.lines().filter_map(|line| line.strip_prefix(words));
    found.next().unwrap_or_else(|| panic!("{words}: {}", outcome.report()))
}

fn counts(record: &Record, field: &str) -> Counts {
    let found = record.fields.iter().find(|([_, name, _], _)| name == field);
    found.unwrap_or_else(|| panic!("{field}: {record:?}")).1
}

fn assert_counted(jdk: &Jdk, flags: &[&str]) {
    let plain = run(JavaRun::new(jdk), flags);
    let outcome = run(counted(jdk, ""), flags);
    outcome.assert_success();
    assert_eq!(stable(&outcome), stable(&plain), "{}", outcome.report());
    assert_eq!(outcome.stderr, plain.stderr, "{}", outcome.report());
    let records = parse(outcome.bytes(FILE)).unwrap();
    let of_class = |class: &str| {
        let mut found = records.iter().filter(|(record, _)| record.class == class);
        let (record, &count) = found.next().unwrap_or_else(|| panic!("{class} {flags:?}"));
        assert_eq!((count, found.count()), (1, 0), "{class}");
        record
    };
    // The allocation of a lambda is not seen, so all threads are others.
    for (lambda, fields) in [("one ", &["arg$1"][..]), ("two ", &["arg$1", "arg$2"])] {
        let record = of_class(after(&outcome, lambda));
        assert_eq!(record.fields.len(), fields.len());
        for field in fields {
            assert_eq!(counts(record, field), [0, CALLS, 0, 1], "{} {field}", record.class);
        }
    }
    // Classes of one name, each with its own counts.
    let template = |record: &Record, times| {
        assert_eq!(counts(record, "count"), [times, 0, times, 0], "{flags:?}");
        assert_eq!(counts(record, "sum"), [2 * times, 0, times + 1, 0], "{flags:?}");
        assert_eq!(counts(record, "cells"), [2 * times, 0, 1, 0], "{flags:?}");
    };
    for times in TIMES..TIMES + COPIES {
        let copy = of_class(after(&outcome, &format!("copy {times} ")));
        assert!(copy.class.starts_with("FieldHidden$Template/0x"), "{}", copy.class);
        template(copy, times);
        // The constructor of the hidden class makes an array, which its method uses.
        let expected = [2 * times, 0, times, 0];
        let is_cells = |record: &&Record| {
            record.class == "[I" && record.is_of(TEMPLATE) && record.fields[1].1 == expected
        };
        assert!(records.keys().any(|record| is_cells(&record)), "{times} {flags:?}");
    }
    template(of_class(TEMPLATE), TIMES);
    let bound = records.keys().filter(|record| {
        let argument = record.fields.iter().find(|([_, name, _], _)| name.starts_with("argJ"));
        argument.is_some_and(|(_, counts)| *counts == [CALLS, 0, 1, 0])
    });
    assert_eq!(bound.count(), 1, "{flags:?}");
}

#[test]
fn every_access_is_counted() {
    jdk::each(|jdk| assert_counted(jdk, &[]));
}

#[test]
fn the_verifier_and_the_checks_of_jni_find_nothing() {
    jdk::each(|jdk| {
        let verified = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+BytecodeVerificationLocal"];
        assert_counted(jdk, &verified);
        assert_counted(jdk, &["-Xcheck:jni"]);
    });
}

#[test]
fn by_every_compiler() {
    jdk::each(|jdk| {
        for flag in ["-Xint", "-XX:TieredStopAtLevel=1"] {
            assert_counted(jdk, &[flag]);
        }
    });
}

/// The JVM compiles and customises the forms of method handles at once, late, or never.
#[test]
fn every_form_of_method_handles() {
    jdk::each(|jdk| {
        for [compile, customise] in [["0", "0"], ["50", "-1"]] {
            let flag = |what, value| format!("-Djava.lang.invoke.MethodHandle.{what}={value}");
            let compile = flag("COMPILE_THRESHOLD", compile);
            let customise = flag("CUSTOMIZE_THRESHOLD", customise);
            let flags = [compile.as_str(), customise.as_str()];
            let plain = run(JavaRun::new(jdk), &flags);
            let outcome = run(counted(jdk, ""), &flags);
            outcome.assert_success();
            assert_eq!(stable(&outcome), stable(&plain), "{flags:?} {}", outcome.report());
            parse(outcome.bytes(FILE)).unwrap();
        }
    });
}

/// The names in `include` and `exclude` are those that the class files have.
#[test]
fn names_leave_out_hidden_classes() {
    jdk::each(|jdk| {
        let outcome = run(counted(jdk, ",exclude=FieldHidden$Template"), &[]);
        outcome.assert_success();
        let records = parse(outcome.bytes(FILE)).unwrap();
        let copies = records.iter().filter(|(it, _)| it.class.starts_with(TEMPLATE));
        let copies: Vec<_> = copies.collect();
        let is_untouched = |record: &Record| record.fields.iter().all(|(_, it)| *it == [0; 4]);
        assert_eq!(copies.len() as u64, COPIES + 1);
        assert!(copies.iter().all(|(record, _)| is_untouched(record)), "{copies:#?}");
    });
}

/// A field that a hidden class writes outside of its constructors cannot be `final`.
#[test]
fn the_modifiers_of_fields() {
    jdk::on(17, |jdk| {
        let outcome = run(counted(jdk, ",aggregate=site"), &[]);
        outcome.assert_success();
        let class = after(&outcome, &format!("copy {TIMES} "));
        let text = outcome.text(FILE);
        for (field, word) in [("count", "assigned"), ("sum", "assigned"), ("cells", "final")] {
            let begin = format!("{class}\x1c{field}\x1c");
            let line = text.lines().find(|line| line.starts_with(&begin)).unwrap();
            assert!(line.ends_with(&format!("\t{word}")), "{line}");
        }
    });
}
