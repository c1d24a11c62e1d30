//! Classes of javac and classes made by hand, run by real JVMs before and after they are edited.
#![forbid(unsafe_code)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use perk_classfile::{ClassFile, SkipReason};
use perk_testkit::{JavaRun, Jdk, Outcome, fixture, jdk};
use support::{Assembler, Body, probe_all};

fn source(name: &str) -> PathBuf {
    perk_testkit::workspace().join("crates/classfile/tests/java").join(name)
}

/// The classes of the runner, which runs a class and counts.
fn runner() -> PathBuf {
    fixture::compile_files(&[&source("Probe.java"), &source("RunProbed.java")])
}

/// Puts probes into the classes of a folder.
fn probed(classes: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(classes).unwrap() {
        let path = entry.unwrap().path();
        let edited = probe_all(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(edited.skipped, [], "{}", path.display());
        fs::write(folder.path().join(path.file_name().unwrap()), edited.bytes).unwrap();
    }
    folder
}

fn run(jdk: &Jdk, classes: &Path, args: &[&str]) -> Outcome {
    let class_path = format!("{}:{}", classes.display(), runner().display());
    let run = JavaRun::new(jdk).jvm_arg("-Xverify:all").classes(class_path);
    let outcome = run.main("RunProbed").args(args).run();
    outcome.assert_success();
    outcome
}

fn counts(outcome: &Outcome) -> BTreeMap<&str, u64> {
    let pairs = outcome.stderr.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(name, count)| (name, count.parse().unwrap())).collect()
}

/// Runs with and without probes; returns the counts of the former.
#[track_caller]
fn same_output(jdk: &Jdk, classes: &Path, args: &[&str]) -> BTreeMap<String, u64> {
    let plain = run(jdk, classes, args);
    let folder = probed(classes);
    let outcome = run(jdk, folder.path(), args);
    assert_eq!(outcome.stdout, plain.stdout);
    assert_eq!(counts(&plain)["entered"], 0);
    assert_eq!(counts(&outcome)["wrong"], 0);
    counts(&outcome).into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

#[test]
fn everything_runs_as_before_and_is_counted() {
    let classes = fixture::compile_files(&[&source("Everything.java")]);
    let mut known = None;
    jdk::each(|jdk| {
        let counts = same_output(jdk, &classes, &["Everything"]);
        // Each entry of a method has an exit; constructors are also left by unwinding.
        assert_eq!(counts["entered"], counts["returned"] + counts["unwound"], "{counts:?}");
        assert!(counts["unwound"] > 5 && counts["caught"] > 10, "{counts:?}");
        assert!(counts["called"] > counts["calledBack"], "{counts:?}");
        assert!(counts["allocated"] > 50 && counts["blocks"] > 1000, "{counts:?}");
        // The counts of a single-threaded program in its own classes are the same on each JDK.
        assert_eq!(*known.get_or_insert(counts.clone()), counts);
    });
}

#[test]
fn the_counts_of_a_recursion_are_those_of_arithmetic() {
    let text = "public class Fib {
        public static int run(int n) {
            return n < 2 ? n : run(n - 1) + run(n - 2);
        }
    }";
    let classes = fixture::compile_text("Fib", text);
    jdk::each(|jdk| {
        let counts = same_output(jdk, &classes, &["Fib", "20"]);
        // fib(21) * 2 - 1
        assert_eq!((counts["entered"], counts["returned"]), (21_891, 21_891));
        assert_eq!((counts["called"], counts["calledBack"]), (21_890, 21_890));
        assert_eq!((counts["unwound"], counts["allocated"]), (0, 0));
    });
}

#[test]
fn code_before_the_call_of_another_constructor() {
    let Some(jdk) = jdk::all().iter().find(|jdk| jdk.version >= 25 && jdk.has_javac) else {
        return eprintln!("*** NOT TESTED: no JDK 25 with javac ***");
    };
    let folder = tempfile::tempdir().unwrap();
    let mut javac = Command::new(jdk.javac());
    javac.arg("-d").arg(folder.path()).arg(source("EarlyCode.java"));
    assert!(javac.status().unwrap().success());
    let counts = same_output(jdk, folder.path(), &["EarlyCode"]);
    // Of 4, the constructor and the method that throws are left by unwinding. Of 3, the constructor
    // is left before `this` is initialised, where no handler can be.
    assert_eq!(counts["unwound"], 2, "{counts:?}");
    assert_eq!(counts["entered"], counts["returned"] + counts["unwound"] + 1, "{counts:?}");
}

/// A class `Made` with a method `int run(int)`, in a folder.
fn made(version: u16, body: &Body) -> tempfile::TempDir {
    let mut class = Assembler::new(version, "Made");
    class.method("run", "(I)I", body);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("Made.class"), class.finish()).unwrap();
    folder
}

#[test]
fn subroutines_of_old_classes() {
    let body = Body {
        max_stack: 1,
        max_locals: 2,
        // 0: jsr 9; 3: jsr 9; 6: iload_0; 7: ireturn; 8: nop; 9: astore_1; 10: iinc 0 10; 13: ret 1
        code: vec![168, 0, 9, 168, 0, 6, 26, 172, 0, 76, 132, 0, 10, 169, 1],
        ..Body::default()
    };
    let classes = made(48, &body);
    jdk::each(|jdk| {
        let counts = same_output(jdk, classes.path(), &["Made", "1", "5"]);
        // Both jumps have caused a probe before their target.
        assert_eq!((counts["entered"], counts["returned"], counts["blocks"]), (2, 2, 8));
    });
}

/// `run(n)`: `if (n != 0) goto far; return 1; [nops]; far: return 2`, where the condition is near
/// its target and a `goto` leads far. The code between is a branch target that is never reached.
fn far(nops: u16) -> Body {
    // 0: iload_0; 1: ifne 6; 4: iconst_1; 5: ireturn; 6: goto far; 9: goto 12; 12: nops;
    // far: iconst_2; ireturn
    let far = 12 + nops;
    let mut code = vec![26, 154, 0, 5, 4, 172, 167];
    code.extend((far - 6).to_be_bytes());
    code.extend([167, 0, 3]);
    code.resize(far.into(), 0);
    code.extend([5, 172]);
    let mut frames = vec![0, 4, 6, 2, 2, 251];
    frames.extend((far - 13).to_be_bytes());
    let attributes = vec![("StackMapTable", frames)];
    Body { max_stack: 1, max_locals: 1, code, attributes, ..Body::default() }
}

#[test]
fn a_goto_that_becomes_wide() {
    let classes = made(52, &far(32_761));
    let folder = probed(classes.path());
    let bytes = fs::read(folder.path().join("Made.class")).unwrap();
    let class = ClassFile::parse(&bytes).unwrap();
    let code = class.method(0).unwrap().code().unwrap().unwrap();
    assert!(code.instructions().any(|it| it.unwrap().opcode == perk_classfile::opcode::GOTO_W));
    jdk::each(|jdk| {
        let counts = same_output(jdk, classes.path(), &["Made", "0", "1"]);
        assert_eq!((counts["entered"], counts["returned"], counts["blocks"]), (2, 2, 2));
    });
}

#[test]
fn a_method_of_the_greatest_length_is_left_alone_and_runs() {
    let mut body = far(32_000);
    // After the last return: unreachable code, with a frame of its own.
    body.attributes[0].1[1] = 5;
    body.attributes[0].1.extend([251, 0, 1]);
    body.code.resize(perk_classfile::MAX_CODE_BYTES - 2, 0);
    body.code.extend([5, 172]);
    assert_eq!(body.code.len(), 65_535);
    let classes = made(52, &body);
    let bytes = fs::read(classes.path().join("Made.class")).unwrap();
    let edited = probe_all(&bytes).unwrap();
    assert!(matches!(edited.skipped[0].reason, SkipReason::TooLarge { limit: 65_535, .. }));
    jdk::each(|jdk| {
        assert_eq!(run(jdk, classes.path(), &["Made", "0", "1"]).stdout, "1\n2\n");
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("Made.class"), &edited.bytes).unwrap();
        assert_eq!(run(jdk, folder.path(), &["Made", "0", "1"]).stdout, "1\n2\n");
    });
}

#[test]
fn a_broken_probe_is_found_by_the_verifier() {
    let classes = made(52, &far(10));
    let bytes = fs::read(classes.path().join("Made.class")).unwrap();
    let edited = support::edit(&bytes, |edit| edit.insert(0, perk_classfile::Reach::All, &[87]));
    fs::write(classes.path().join("Made.class"), edited.bytes).unwrap();
    jdk::each(|jdk| {
        let class_path = format!("{}:{}", classes.path().display(), runner().display());
        let run = JavaRun::new(jdk).jvm_arg("-Xverify:all").classes(class_path);
        let outcome = run.main("RunProbed").args(["Made", "0"]).run();
        outcome.assert_code(1);
        assert!(outcome.stderr.contains("VerifyError"), "{}", outcome.report());
    });
}
