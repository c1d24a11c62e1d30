//! Classes that are loaded, changed and unloaded while the program runs.

use std::collections::BTreeMap;
use std::process::Command;

use perk_testkit::{JavaRun, Jdk, fixture, jdk};

use crate::tables::pair;
use crate::{PAIRS, accounting, assert_same, by_method, counted, own, pairs, profile};

/// Four threads define 100 classes each, whose instances are called 50 times.
#[test]
fn classes_are_loaded_and_unloaded_in_many_threads() {
    jdk::each(|jdk| {
        let run = |run: JavaRun| run.jvm_arg("-Xmx128m").main("CallsClasses").args(["storm"]).run();
        let outcome = run(counted(jdk, PAIRS));
        assert_same(&outcome, &run(JavaRun::new(jdk)));
        assert_eq!(outcome.value("unloaded"), "most");
        let profile = profile(&outcome);
        let found = own(&pairs(&profile));
        let (copies, calls) = (400, 400 * 50);
        assert_eq!(by_method(&found)["CallsClasses$Payload.<init>"], copies);
        let applied = pair("CallsClasses$Payload.applyAsInt", "CallsClasses.copies");
        assert_eq!(found[&applied], calls);
        let added = pair("CallsClasses$Payload.add", "CallsClasses$Payload.applyAsInt");
        assert_eq!(found[&added], 3 * calls);
        assert!(accounting(&profile).instrumented_class_count >= copies);
    });
}

/// The probes of a method without handlers have at most 6 bytes at its entry and 6 at its return,
/// or 6 that only count it. HotSpot compiles no method of more than 8000 bytes, which one without a
/// loop need not be, and a class file has none of more than 65,535.
#[test]
fn huge_methods_are_counted_or_reported_as_skipped() {
    const FITS: [&str; 7] = ["7988", "7994", "7995", "8000", "8001", "65523", "65529"];
    const SKIPPED: [&str; 2] = ["65534", "65535"];
    jdk::each(|jdk| {
        let run = |run: JavaRun, sizes: &[&str]| {
            run.main("CallsClasses").args(["huge"]).args(sizes).run()
        };
        let skipped_count = |sizes: &[&str]| {
            let outcome = run(counted(jdk, PAIRS), sizes);
            assert_same(&outcome, &run(JavaRun::new(jdk), sizes));
            let profile = profile(&outcome);
            for size in sizes {
                let (method, is_skipped) = (format!("CallsHuge{size}.run"), SKIPPED.contains(size));
                let named = &accounting(&profile).skipped_methods;
                assert_eq!(named.contains(&method), is_skipped, "{size}: {named}");
                let says = |line: &str| line.contains("without probes") && line.contains(&method);
                assert_eq!(outcome.stderr.lines().any(says), is_skipped, "{}", outcome.report());
            }
            let found = pairs(&profile);
            let counts = by_method(&found);
            for size in sizes {
                let expected = if FITS.contains(size) { Some(&50) } else { None };
                assert_eq!(counts.get(format!("CallsHuge{size}.run").as_str()), expected, "{size}");
            }
            accounting(&profile).skipped_method_count
        };
        let others = skipped_count(&FITS);
        assert_eq!(skipped_count(&[&FITS[..], &SKIPPED].concat()), others + SKIPPED.len() as u64);
    });
}

/// `javac -Xjcov` adds a table of its own to the code of each method.
#[test]
fn classes_compiled_for_coverage_have_probes() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("Covered.java");
    let text = "public class Covered {\n\
                static int twice(int n) { return n < 0 ? 0 : n + n + Math.max(n, 1); }\n\
                public static void main(String[] args) {\n\
                for (int i = 0; i < 50; i++) { twice(i); }\n\
                }\n}\n";
    std::fs::write(&source, text).unwrap();
    let mut command = Command::new(jdk::compiler().home.join("bin/javac"));
    command.args(["-Xjcov", "--release", "17"]).arg(&source);
    assert!(command.status().unwrap().success());
    let bytes = std::fs::read(folder.path().join("Covered.class")).unwrap();
    let name = b"CharacterRangeTable";
    assert!(bytes.windows(name.len()).any(|it| it == name));
    jdk::each(|jdk| {
        let outcome = counted(jdk, PAIRS).classes(folder.path()).main("Covered").run();
        let profile = profile(&outcome);
        assert_eq!(by_method(&pairs(&profile))["Covered.twice"], 50);
        assert_eq!(accounting(&profile).skipped_method_count, 0);
        assert!(!outcome.stderr.contains("without probes"), "{}", outcome.report());
    });
}

/// A class file that the JVM refuses is refused with the same message; one that it takes is taken.
#[test]
fn class_files_with_any_byte_changed_fare_as_without_perk() {
    jdk::each(|jdk| {
        let run = |run: JavaRun| run.main("CallsClasses").args(["broken"]).run();
        let (plain, outcome) = (run(JavaRun::new(jdk)), run(counted(jdk, PAIRS)));
        outcome.assert_success();
        assert_eq!(plain.stdout.lines().count(), outcome.stdout.lines().count());
        let lines = plain.stdout.lines().zip(outcome.stdout.lines());
        let differences: Vec<_> = lines.filter(|(without, with)| without != with).collect();
        // A method that declares one slot too few on its operand stack gets one more.
        let is_known = |(without, with): &(&str, &str)| {
            without.ends_with("java.lang.VerifyError") && with.ends_with(" methods")
        };
        assert!(differences.len() <= 2 && differences.iter().all(is_known), "{differences:#?}");
        // There are many of both kinds.
        let lines = |part: &str| plain.stdout.lines().filter(|line| line.contains(part)).count();
        assert!(lines(" methods") > 100 && lines("ClassFormatError") > 100);
        assert_eq!(accounting(&profile(&outcome)).fault_count, 0);
    });
}

fn has_instrumentation(jdk: &Jdk) -> bool {
    let modules = Command::new(jdk.java()).arg("--list-modules").output().unwrap();
    String::from_utf8_lossy(&modules.stdout).contains("java.instrument")
}

#[test]
fn other_agents_change_classes_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let classes = fixture::fixtures().join("");
    let jar = fixture::agent_jar(folder.path(), "CallsAgent", &[classes]);
    jdk::each(|jdk| {
        if !has_instrumentation(jdk) {
            eprintln!("skipped: JDK {} has no java.instrument", jdk.version);
            return;
        }
        let run = |run: JavaRun| {
            run.jvm_arg(format!("-javaagent:{jar}"))
                .jvm_arg("-Xshare:auto")
                .main("CallsAgent")
                .run()
        };
        let plain = run(JavaRun::new(jdk));
        plain.assert_success();
        let answers: Vec<&str> = plain.stdout.lines().collect();
        assert_eq!(answers[..3], ["answer=1", "answer=2", "answer=3"]);
        assert_eq!(answers[4], "loaded=answer=4");
        let outcome = run(counted(jdk, PAIRS));
        assert_same(&outcome, &plain);
        let found = own(&pairs(&profile(&outcome)));
        let target: BTreeMap<_, _> = found
            .iter()
            .filter(|((callee, _), _)| callee.starts_with("CallsAgent$Target."))
            .map(|((callee, caller), count)| ((callee.as_str(), caller.as_str()), *count))
            .collect();
        let expected = [
            (("CallsAgent$Target.after", "CallsAgent$Target.during"), 3),
            (("CallsAgent$Target.answer", "CallsAgent.calls"), 400),
            (("CallsAgent$Target.before", "CallsAgent$Target.during"), 3),
            (("CallsAgent$Target.during", "CallsAgent.main"), 3),
            (("CallsAgent$Target.echo", "CallsAgent$Late.answer"), 1),
            (("CallsAgent$Target.echo", "CallsAgent$Target.answer"), 400),
        ];
        assert_eq!(target, BTreeMap::from(expected));
    });
}
