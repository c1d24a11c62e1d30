//! Programs made at random, whose accesses are known in two other ways: by arithmetic, and by the
//! field watches of JVMTI in the same run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use perk_testkit::{Jdk, RandomAccesses, fixture, jdk, native_library};

use crate::{Record, counted, read};

/// The number of programs. More of them are tried if the variable has their number.
const SEEDS: u64 = 5;
const SEEDS_VARIABLE: &str = "PERK_FIELD_SEEDS";

/// Returns the class of a record and those of its fields for which `condition` holds.
fn text(record: &Record, condition: impl Fn(&str, [u64; 4]) -> bool) -> String {
    let mut text = record.class.clone();
    for ([class, name, _], counts) in &record.fields {
        let field = format!("{class}.{name}");
        if condition(&field, *counts) {
            let [own_reads, other_reads, own_writes, other_writes] = counts;
            let _ = write!(text, ", {field} {own_reads} {other_reads} {own_writes} {other_writes}");
        }
    }
    text
}

/// Returns the lines with different numbers.
fn differences(a: &BTreeMap<String, u64>, b: &BTreeMap<String, u64>) -> Vec<String> {
    let lines = a.keys().chain(b.keys()).filter(|line| a.get(*line) != b.get(*line));
    lines.map(|line| format!("{:?} {:?} {line}", a.get(line), b.get(line))).collect()
}

/// Returns a line with the fields in the order of their names, as the watcher has them.
fn sorted(line: &str) -> String {
    let mut parts: Vec<&str> = line.split(", ").collect();
    parts[1..].sort_unstable();
    parts.join(", ")
}

fn check(jdk: &Jdk, program: &RandomAccesses, watcher: &str, options: &str) {
    let classes = fixture::compile_text(&program.class, &program.source);
    let watched = "watched.txt";
    let run = counted(jdk, options).classes(classes).main(&program.class);
    let outcome = run.jvm_arg(format!("-agentpath:{watcher}={},{watched}", program.class)).run();
    assert_eq!(outcome.stdout, "end\n", "{}", outcome.report());
    let (mut counted, mut of_fields) = (BTreeMap::new(), BTreeMap::new());
    for (record, count) in &read(&outcome) {
        let is_of_phase = |name: &str| name.starts_with('t') && name.contains('p');
        if !record.is_of(&program.class) || !is_of_phase(record.method()) {
            continue;
        }
        let line = format!("{} {}", record.method(), text(record, |_, _| true));
        *counted.entry(line).or_default() += count;
        if !record.class.starts_with('[') {
            let line = sorted(&text(record, |_, counts| counts != [0; 4]));
            *of_fields.entry(line).or_default() += count;
        }
    }
    let what = format!("{} {} {options}", jdk.version, program.class);
    let wrong = differences(&counted, &program.records);
    assert!(wrong.is_empty(), "{what}: perk, arithmetic\n{}\n{}", wrong.join("\n"), program.source);
    let mut watched_objects = BTreeMap::new();
    // The program's threads are objects of its main class.
    let nested = format!("{}$", program.class);
    for line in outcome.text(watched).lines().filter(|line| line.starts_with(&nested)) {
        *watched_objects.entry(line.to_owned()).or_default() += 1;
    }
    assert!(!watched_objects.is_empty());
    let wrong = differences(&of_fields, &watched_objects);
    assert!(wrong.is_empty(), "{what}: perk, watches\n{}\n{}", wrong.join("\n"), program.source);
}

#[test]
fn random_programs() {
    let folder = tempfile::tempdir().unwrap();
    let watcher = native_library::compile("crates/agent/tests/fields/watcher.rs", folder.path());
    let seeds = std::env::var(SEEDS_VARIABLE).ok();
    let seeds = seeds.map_or(SEEDS, |seeds| seeds.parse().expect("a number of seeds"));
    for seed in 1..=seeds {
        let program = RandomAccesses::new(seed);
        jdk::each(|jdk| {
            check(jdk, &program, &watcher, [",aggregate=site", ""][seed as usize % 2]);
        });
    }
}
