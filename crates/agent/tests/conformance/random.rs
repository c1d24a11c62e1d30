//! Programs made at random, whose calls and allocations are known by arithmetic. `xtask conform`
//! runs more of them, side by side with the original.

use std::collections::BTreeMap;

use perk_testkit::hprof::Recording;
use perk_testkit::random_program::{CALLS_OPTIONS, OBJECTS_OPTIONS, TIMES_OPTIONS};
use perk_testkit::{JavaRun, Jdk, RandomProgram, fixture, jdk};

const FILE: &str = "o.txt";
const SEEDS: u64 = 6;

fn recording(jdk: &Jdk, program: &RandomProgram, options: &str) -> Recording {
    let classes = fixture::compile_text_for(8, &program.class, &program.source);
    let run = JavaRun::new(jdk).agent(&format!("{options},file={FILE}"));
    let outcome = run.classes(classes).main(&program.class).run();
    outcome.assert_success();
    assert_eq!(outcome.stdout, "end\n");
    Recording::read(outcome.bytes(FILE)).unwrap_or_else(|what| panic!("{what}"))
}

#[track_caller]
fn assert_counts(
    found: &BTreeMap<(String, String), u64>,
    expected: &BTreeMap<(String, String), u64>,
    program: &RandomProgram,
) {
    let differs = |key: &&(String, String)| found.get(*key) != expected.get(*key);
    let keys = expected.keys().chain(found.keys()).filter(differs);
    let lines = keys.map(|key| format!("{key:?}: {:?}, {:?}", found.get(key), expected.get(key)));
    let lines: Vec<String> = lines.collect();
    assert!(lines.is_empty(), "{}\n{}", lines.join("\n"), program.source);
}

#[test]
fn calls_are_counted_as_arithmetic_has_them() {
    jdk::each(|jdk| {
        for program in (1..=SEEDS).map(RandomProgram::new) {
            for options in [CALLS_OPTIONS, TIMES_OPTIONS] {
                let recording = recording(jdk, &program, options);
                assert_counts(&program.recorded_calls(&recording), &program.calls, &program);
            }
        }
    });
}

#[test]
fn objects_are_counted_as_arithmetic_has_them() {
    jdk::each(|jdk| {
        for program in (1..=SEEDS).map(RandomProgram::new) {
            let recording = recording(jdk, &program, OBJECTS_OPTIONS);
            assert_counts(&program.recorded_objects(&recording), &program.objects, &program);
        }
    });
}
