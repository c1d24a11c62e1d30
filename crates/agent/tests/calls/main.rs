//! The exact engine in real JVMs: programs whose calls are known by arithmetic, by method and
//! caller.

#![forbid(unsafe_code)]

mod cache;
mod classes;
mod counts;
mod crowds;
mod flat;
mod jvms;
mod late;
mod natives;
mod output;
mod over_budget;
mod overflow;
mod tables;
mod times;
mod together;
mod transformers;

use std::collections::BTreeMap;

use perk_hprof::Format;
use perk_profile::{Accounting, MethodId, Profile, TraceId};
use perk_testkit::{JavaRun, Jdk, Outcome};

use tables::Pairs;

/// The file that runs write.
const FILE: &str = "o.perk";
/// A depth greater than that of any program's calls: paths are distinguished whole.
const WHOLE: &str = ",depth=20000";
/// A depth that records callees and their callers only.
const PAIRS: &str = ",depth=2";

/// Returns a run that writes [`FILE`] with `cpu=times` and more options, which begin with a comma.
fn counted(jdk: &Jdk, options: &str) -> JavaRun {
    JavaRun::new(jdk).agent(&format!("cpu=times,format=p,cutoff=0,file={FILE}{options}"))
}

/// Returns a run of parts of the fixture `Calls`.
fn of_parts(run: JavaRun, parts: &[&str]) -> JavaRun {
    run.main("Calls").args(parts)
}

/// Returns the profile in a file of perk.
#[track_caller]
fn profile(outcome: &Outcome) -> Profile {
    read(outcome, FILE)
}

#[track_caller]
fn read(outcome: &Outcome, file: &str) -> Profile {
    let bytes = outcome.bytes(file);
    if file == FILE {
        assert_eq!(perk_hprof::recognise(bytes), Some(Format::Extended), "{}", outcome.report());
    }
    perk_hprof::read(bytes).unwrap_or_else(|e| panic!("{file}: {e}\n{}", outcome.report()))
}

fn accounting(profile: &Profile) -> &Accounting {
    profile.accounting.as_ref().expect("an account")
}

/// Returns the methods on a trace, from the innermost outward.
fn methods(profile: &Profile, trace: TraceId) -> impl Iterator<Item = MethodId> {
    profile.frames(trace).map(|frame| profile.symbols.get_frame(frame).method)
}

/// Returns the calls by the names of callee and caller, over all sections; the caller of a thread's
/// first method is "".
fn pairs(profile: &Profile) -> Pairs {
    let symbols = &profile.symbols;
    let mut by_method: BTreeMap<(Option<MethodId>, Option<MethodId>), u64> = BTreeMap::new();
    for row in profile.call_times().flat_map(|times| times.rows) {
        let mut path = methods(profile, row.trace);
        *by_method.entry((path.next(), path.next())).or_default() += row.count;
    }
    let name =
        |method: Option<MethodId>| method.map_or(String::new(), |id| symbols.method_name(id));
    let mut pairs = Pairs::new();
    for ((callee, caller), count) in by_method {
        *pairs.entry((name(callee), name(caller))).or_default() += count;
    }
    pairs
}

/// Returns the calls of the fixtures' methods; all other callers are "".
fn own(pairs: &Pairs) -> Pairs {
    let mut own = Pairs::new();
    for ((callee, caller), count) in pairs {
        if *count > 0 && callee.starts_with("Calls") {
            let caller = if caller.starts_with("Calls") { caller.as_str() } else { "" };
            *own.entry((callee.clone(), caller.to_owned())).or_default() += count;
        }
    }
    own
}

/// Returns the calls by the name of the method.
fn by_method(pairs: &Pairs) -> BTreeMap<&str, u64> {
    let mut counts = BTreeMap::new();
    for ((callee, _), count) in pairs {
        *counts.entry(callee.as_str()).or_default() += count;
    }
    counts
}

/// Fails unless both are equal, and reports the differences.
#[track_caller]
fn assert_pairs(found: &Pairs, expected: &Pairs, what: &str) {
    let keys = found.keys().chain(expected.keys());
    let differs = |key: &&(String, String)| found.get(*key) != expected.get(*key);
    let mut lines: Vec<String> = keys
        .filter(differs)
        .map(|key| {
            format!("{} <- {}: {:?}, not {:?}", key.0, key.1, found.get(key), expected.get(key))
        })
        .collect();
    lines.dedup();
    assert!(lines.is_empty(), "{what}:\n{}", lines.join("\n"));
}

/// Fails unless the program ends and prints as it does without perk; `plain` is such a run. perk's
/// own messages are one line on stderr, and one about methods without probes.
#[track_caller]
fn assert_same(outcome: &Outcome, plain: &Outcome) {
    assert_eq!(outcome.status, plain.status, "{}", outcome.report());
    assert_eq!(outcome.stdout, plain.stdout, "{}", outcome.report());
    let own = |line: &&str| {
        !line.starts_with("Dumping CPU usage ")
            && !line.contains(" without probes are not counted: ")
    };
    let lines: Vec<&str> = outcome.stderr.lines().filter(own).collect();
    assert_eq!(lines, plain.stderr.lines().collect::<Vec<_>>(), "{}", outcome.report());
}
