//! Accesses that no instruction makes (`accesses=extended`).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use perk_testkit::{JavaRun, Jdk, jdk, native_library};

use crate::{Counts, Record, counted, read};

const PROGRAM: &str = "ExtendedAccesses";

/// The number of times for each access. Loops of that length are compiled.
const N: u64 = 12_000;

/// The objects: the method that made them, the class, and of each field or of all components that
/// were accessed in that way the reads by the owner, the reads by others, the writes by the owner
/// and by others, as multiples of [`N`].
const EXPECTED: [&str; 20] = [
    "arrays [D, $arraylength 1 0 0 0, $components 1 0 1 0",
    "buffers [B, $components 2 0 4 0",
    "clones $Copied, reference 1 0 0 0, number 1 0 0 0",
    "clones $CopiedAgain, reference 1 0 0 0, number 1 0 0 0, own 1 0 0 0",
    "clones [S, $components 9 0 0 0",
    "components [B, $components 8 0 8 0",
    "components [I, $components 1 0 1 0",
    "copies [C, $components 30 0 0 0",
    "copies [C, $components 0 0 30 0",
    "copies [Ljava.lang.String;, $components 2 0 2 0",
    "handles $Plain, shared 5 0 5 0",
    "methods $Plain, wide 1 0 1 0",
    "natives $Plain, reference 0 0 2 0, number 1 0 1 0",
    "natives [B, $components 12 0 6 0",
    "natives [I, $arraylength 1 0 0 0, $components 23 0 24 0",
    "natives [Ljava.lang.Object;, $components 1 0 1 0",
    "others $Plain, shared 0 1 0 1",
    "reflection $Plain, reference 1 0 1 0, number 1 0 1 0",
    // The clones themselves.
    "? $Copied, reference 0 0 0 1/N, number 0 0 0 1/N",
    "? $CopiedAgain, reference 0 0 0 1/N, number 0 0 0 1/N, own 0 0 0 1/N",
];

fn run(jdk: &Jdk, options: &str, n: u64, library: Option<&str>) -> JavaRun {
    let run = counted(jdk, options).main(PROGRAM).args([n.to_string()]);
    let Some(library) = library else { return run };
    let run = run.args([library]);
    if jdk.version < 24 { run } else { run.jvm_arg("--enable-native-access=ALL-UNNAMED") }
}

/// Returns the text of a record, as in [`EXPECTED`].
fn text(record: &Record, n: u64) -> String {
    let mut text = format!("{} {}", record.method(), record.class.replace(PROGRAM, ""));
    let extended = record.extended.as_ref().expect("numbers of their own");
    for (([_, name, _], _), counts) in record.fields.iter().zip(extended) {
        if *counts != Counts::default() {
            let times = |count: u64| match count {
                1 => "1/N".to_owned(),
                count if count % n == 0 => (count / n).to_string(),
                count => format!("{count}/N"),
            };
            let _ = write!(text, ", {name} {}", counts.map(times).join(" "));
        }
    }
    text
}

#[track_caller]
fn assert_counted(jdk: &Jdk, run: &JavaRun, n: u64, what: &str) {
    let outcome = run.run();
    let mut found = BTreeMap::<String, u64>::new();
    for (record, count) in read(&outcome).into_iter().filter(|(record, _)| record.is_of(PROGRAM)) {
        *found.entry(text(&record, n)).or_default() += count;
    }
    for expected in EXPECTED {
        let wanted = if expected.starts_with('?') { n } else { 1 };
        let count = found.get(expected).copied().unwrap_or(0);
        assert_eq!(count, wanted, "{} {what}: {expected}\n{found:#?}", jdk.version);
    }
}

#[test]
fn accesses_without_an_instruction_have_numbers_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let library = native_library::compile("crates/agent/tests/fields/accessor.rs", folder.path());
    jdk::each(|jdk| {
        let run = run(jdk, ",accesses=extended", N, Some(&library));
        assert_counted(jdk, &run, N, "");
        for flag in ["-Xint", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xcheck:jni"] {
            assert_counted(jdk, &run.clone().jvm_arg(flag), N, flag);
        }
    });
}

#[test]
fn accesses_by_instructions_are_the_same_with_them() {
    jdk::each(|jdk| {
        let direct = |options: &str| {
            let mut found = BTreeMap::<_, u64>::new();
            for (mut record, count) in read(&run(jdk, options, 100, None).run()) {
                record.extended = None;
                // An object of unknown site has a record if there is any access.
                let is_accessed = record.fields.iter().any(|(_, counts)| *counts != [0; 4]);
                let is_plain = record.is_of(PROGRAM) && !record.is_of_hidden_class();
                if is_plain && (record.site.is_some() || is_accessed) {
                    *found.entry(record).or_default() += count;
                }
            }
            found
        };
        assert_eq!(direct(",accesses=extended"), direct(",accesses=instructions"));
    });
}
