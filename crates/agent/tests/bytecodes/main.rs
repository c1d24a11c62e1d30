//! The numbers of executed bytecodes per method, compared with the single steps of JVMTI.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use perk_testkit::{JavaRun, Jdk, Outcome, RandomProgram, fixture, jdk, native_library};

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
    with_agent(&JavaRun::new(jdk).main(program), mode)
}

fn with_agent(run: &JavaRun, mode: &str) -> JavaRun {
    run.clone().agent(&format!("jamaica={mode},file={FILE}"))
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
    for jdk in jdk::all() {
        let all = ["-Xint", "-XX:TieredStopAtLevel=1", "-Xcomp", "-XX:+UseSerialGC"];
        for (arguments, flags) in [(&["300"][..], &all[..]), (&["9", "exit"], &all[..1])] {
            let plain = JavaRun::new(jdk).main("Bytecodes").args(arguments);
            let steps = stepped(&plain, &stepper, "Bytecodes");
            for (flag, mode) in flags.iter().flat_map(|flag| MODES.map(|mode| (flag, mode))) {
                let run = run(jdk, "Bytecodes", mode).args(arguments).jvm_arg(*flag);
                let found = counted(&run.run(), "Bytecodes");
                let what = format!("{} {mode} {flag} {arguments:?}", jdk.version);
                assert_same(&found, &steps, &what);
            }
        }
    }
}

#[test]
fn exceptions_of_the_jvm_end_blocks_as_others_do() {
    const PROGRAM: &str = "BytecodeFaults";
    let folder = tempfile::tempdir().unwrap();
    let stepper = native_library::compile("crates/agent/tests/bytecodes/stepper.rs", folder.path());
    for jdk in jdk::all() {
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
    }
}

#[test]
fn bytecodes_of_random_programs_are_those_of_single_steps() {
    let folder = tempfile::tempdir().unwrap();
    let stepper = native_library::compile("crates/agent/tests/bytecodes/stepper.rs", folder.path());
    for program in (1..=SEEDS).map(RandomProgram::new) {
        let classes = fixture::compile_text_for(8, &program.class, &program.source);
        for jdk in jdk::all() {
            let plain = JavaRun::new(jdk).classes(classes.clone()).main(&program.class);
            let steps = stepped(&plain, &stepper, &program.class);
            for mode in MODES {
                let found = counted(&with_agent(&plain, mode).run(), &program.class);
                assert_same(&found, &steps, &format!("{} {mode} {}", jdk.version, program.class));
            }
        }
    }
}
