//! The numbers of executed bytecodes per method, compared with the single steps of JVMTI.

#![forbid(unsafe_code)]

mod faults;
mod files;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;

use perk_control::intrinsics::{self, CodeMetric};
use perk_testkit::{
    JavaRun, Jdk, Outcome, RandomProgram, compiled_at_once, fixture, jdk, native_library,
};

const FILE: &str = "Main.prof";

/// The number of random programs on each JDK.
const SEEDS: u64 = 4;

/// Returns the number of bytecodes of each method of a program's classes.
#[track_caller]
fn counted(outcome: &Outcome, program: &str) -> BTreeMap<String, u64> {
    outcome.assert_success();
    assert_eq!(outcome.stderr, "Dumping JamaicaVM's profile ... done.\n", "{}", outcome.report());
    let text = String::from_utf8(outcome.bytes(FILE).to_vec()).unwrap();
    let method = |line: &str| {
        let (count, name) = line.strip_prefix("PROFILE: ")?.split_once(" (")?;
        let (_, name) = name.split_once("%)")?;
        let (count, name) = (count.parse().unwrap(), name.trim_start());
        name.starts_with(program).then(|| (name.to_owned(), count))
    };
    text.lines().filter_map(method).collect()
}

/// The values of `jamaica`: bytecodes alone, and together with all other counts.
const MODES: [&str; 2] = ["bytecodes", "y"];

fn run(jdk: &Jdk, program: &str, mode: &str) -> JavaRun {
    with_agent(jdk, &JavaRun::new(jdk).main(program), mode)
}

fn with_agent(jdk: &Jdk, run: &JavaRun, mode: &str) -> JavaRun {
    let run = run.clone().agent(&format!("jamaica={mode},file={FILE}"));
    let off = intrinsics::jvm_options(jdk.version, CodeMetric::Bytecodes);
    off.iter().fold(run, |run, option| run.jvm_arg(option))
}

/// Returns what single stepping counts.
fn stepped(run: &JavaRun, library: &str, program: &str) -> BTreeMap<String, u64> {
    let run = run.clone().jvm_arg(format!("-agentpath:{library}={program},steps.txt"));
    // HotSpot reports one step for two instructions that it has made one.
    let run = run.jvm_arg("-XX:-RewriteFrequentPairs");
    let outcome = run.run();
    outcome.assert_success();
    let text = String::from_utf8(outcome.bytes("steps.txt").to_vec()).unwrap();
    let method = |line: &str| {
        let (count, name) = line.split_once(' ').unwrap();
        (name.to_owned(), count.parse().unwrap())
    };
    text.lines().map(method).collect()
}

#[track_caller]
fn assert_same(found: &BTreeMap<String, u64>, steps: &BTreeMap<String, u64>, what: &str) {
    let names = found.keys().chain(steps.keys()).filter(|name| !name.contains("$$Lambda"));
    let differing: Vec<_> = names
        .filter(|name| found.get(*name) != steps.get(*name))
        .map(|name| (name, found.get(name), steps.get(name)))
        .collect();
    assert!(differing.is_empty(), "{what} (name, counted, stepped): {differing:#?}");
    assert!(found.len() > 3, "{found:?}");
}

#[test]
fn bytecodes_are_those_of_single_steps() {
    let folder = tempfile::tempdir().unwrap();
    let stepper = native_library::compile("crates/agent/tests/bytecodes/stepper.rs", folder.path());
    jdk::each(|jdk| {
        let at_once = compiled_at_once("Bytecodes*");
        let at_once: Vec<&str> = at_once.iter().map(String::as_str).collect();
        let all = [&["-Xint"][..], &["-XX:TieredStopAtLevel=1"], &at_once, &["-XX:+UseSerialGC"]];
        for (arguments, all) in [(&["300"][..], &all[..]), (&["9", "exit"], &all[..1])] {
            let plain = JavaRun::new(jdk).main("Bytecodes").args(arguments);
            let steps = stepped(&plain, &stepper, "Bytecodes");
            for (flags, mode) in all.iter().flat_map(|flags| MODES.map(|mode| (flags, mode))) {
                let run = run(jdk, "Bytecodes", mode).args(arguments);
                let run = flags.iter().fold(run, |run, flag| run.jvm_arg(flag));
                let found = counted(&run.run(), "Bytecodes");
                let what = format!("{} {mode} {flags:?} {arguments:?}", jdk.version);
                assert_same(&found, &steps, &what);
            }
        }
    });
}

/// The beginnings of the names of classes that do the same in each run.
const SAME_IN_EACH_RUN: [&str; 9] = [
    "java/lang/AbstractStringBuilder",
    "java/lang/Character",
    "java/lang/Integer",
    "java/lang/Long",
    "java/lang/Math",
    "java/lang/String",
    "java/math/",
    "java/util/Arrays",
    "java/util/Base64",
];

#[test]
fn the_methods_of_the_jdk_are_counted_in_compiled_code_as_in_the_interpreter() {
    jdk::each(|jdk| {
        let [interpreted, compiled] = ["-Xint", "-Xmixed"].map(|flag| {
            let run = run(jdk, "Intrinsics", "bytecodes").args(["same"]).jvm_arg(flag);
            let mut found = counted(&run.run(), "");
            found.retain(|name, _| SAME_IN_EACH_RUN.iter().any(|begin| name.starts_with(begin)));
            found
        });
        assert_same(&compiled, &interpreted, &jdk.version.to_string());
        assert!(interpreted.len() > 200, "{}", interpreted.len());
    });
}

#[test]
fn exceptions_of_the_jvm_end_blocks_as_others_do() {
    const PROGRAM: &str = "BytecodeFaults";
    let folder = tempfile::tempdir().unwrap();
    let stepper = native_library::compile("crates/agent/tests/bytecodes/stepper.rs", folder.path());
    jdk::each(|jdk| {
        let plain = JavaRun::new(jdk).main(PROGRAM).args(["40"]);
        let mut steps = stepped(&plain, &stepper, PROGRAM);
        // HotSpot reports no steps there: `ldc` and the call that throws.
        steps.insert(format!("{PROGRAM}$Bad.<clinit>()V"), 2);
        for (flag, mode) in [("-Xint", "y"), ("-XX:TieredStopAtLevel=1", "bytecodes")] {
            let found = counted(&run(jdk, PROGRAM, mode).args(["40"]).jvm_arg(flag).run(), PROGRAM);
            assert_same(&found, &steps, &format!("{} {mode} {flag}", jdk.version));
        }
        let overflown = |run: JavaRun| run.args(["40", "overflow"]).run().stdout;
        let plain = overflown(JavaRun::new(jdk).main(PROGRAM));
        assert_eq!(overflown(run(jdk, PROGRAM, "y")), plain);
    });
}

#[test]
fn bytecodes_of_random_programs_are_those_of_single_steps() {
    let folder = tempfile::tempdir().unwrap();
    let stepper = native_library::compile("crates/agent/tests/bytecodes/stepper.rs", folder.path());
    for program in (1..=SEEDS).map(RandomProgram::new) {
        let classes = fixture::compile_text_for(8, &program.class, &program.source);
        jdk::each(|jdk| {
            let plain = JavaRun::new(jdk).classes(classes.clone()).main(&program.class);
            let steps = stepped(&plain, &stepper, &program.class);
            for mode in MODES {
                let found = counted(&with_agent(jdk, &plain, mode).run(), &program.class);
                assert_same(&found, &steps, &format!("{} {mode} {}", jdk.version, program.class));
            }
        });
    }
}
