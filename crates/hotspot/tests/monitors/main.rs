//! Who has a monitor, read from the memory of real JVMs by a library of the test's own (`library.rs`), against
//! what the program knows (`MonitorOwners`).
#![forbid(unsafe_code)]

use perk_testkit::{JavaRun, fixture, jdk, native_library, workspace};
use tempfile::TempDir;

/// The rounds of each case.
const ROUNDS: &str = "40";

/// What a JVM with certain options does not say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    None,
    /// How often monitors were entered.
    Counts,
    /// The monitors that no thread waits for, once they have been waited for.
    Unawaited,
}

/// Whether a monitor of a kind, held by a virtual thread or not, has no answer.
fn is_unknown(version: u32, gap: Gap, kind: &str, is_virtual: bool) -> bool {
    // The thread's stack of locks is in the heap while it has no carrier.
    let is_in_heap = version >= 24
        && is_virtual
        && gap != Gap::Counts
        && ["PLAIN", "HASHED", "CONTENDED", "CONTENDED_HASHED"].contains(&kind);
    let is_in_table = gap == Gap::Unawaited
        && (["WAITED", "FREE_USED"].contains(&kind) || kind == "NOTICE" && is_virtual);
    is_in_heap || is_in_table
}

#[test]
fn owners_are_those_that_the_program_knows() {
    let folder = TempDir::new().expect("a folder");
    let library = native_library::compile_optimized(
        "crates/hotspot/tests/monitors/library.rs",
        folder.path(),
    );
    let source = workspace().join("crates/hotspot/tests/java/MonitorOwners.java");
    let classes = fixture::compile_files(&[&source]);
    for (version, options, gap) in [
        (17, &["-XX:+UseSerialGC"][..], Gap::Counts),
        (17, &["-XX:+UseShenandoahGC"], Gap::Counts),
        (21, &["-XX:+UseParallelGC"], Gap::Counts),
        (21, &["-XX:+UseZGC"], Gap::Counts),
        (21, &["-XX:+UseZGC", "-XX:+ZGenerational", "-XX:LockingMode=2"], Gap::None),
        (25, &["-XX:+UseG1GC"], Gap::None),
        (25, &["-XX:+UseZGC"], Gap::None),
        (25, &["-XX:+UseSerialGC", "-XX:LockingMode=1"], Gap::Counts),
        (25, &["-XX:+UseShenandoahGC", "-XX:+UseCompactObjectHeaders"], Gap::Unawaited),
    ] {
        jdk::on(version, |jdk| {
            let mut run = JavaRun::new(jdk).classes(&classes).jvm_arg("-Xmx64m");
            for option in [
                "-XX:+IgnoreUnrecognizedVMOptions",
                "-XX:+UnlockExperimentalVMOptions",
                "--add-opens",
            ] {
                run = run.jvm_arg(option);
            }
            run = run.jvm_arg("java.base/java.lang=ALL-UNNAMED");
            for option in options {
                run = run.jvm_arg(option);
            }
            let outcome = run.main("MonitorOwners").args([&library, ROUNDS]).run();
            outcome.assert_success();
            let report = format!("{version} {options:?}\n{}", outcome.report());
            assert!(!outcome.stdout.contains("wrong"), "{report}");
            let answers = outcome.stdout.lines().filter_map(|line| line.strip_prefix("answers "));
            let mut case_count = 0;
            for answer in answers {
                let words: Vec<&str> = answer.split(' ').collect();
                let number = |index: usize| words[index].parse::<u32>().expect("a number");
                let (kind, is_virtual) = (words[0], words[1] == "true");
                let (all, known, counted) = (number(2), number(3), number(4));
                let is_unknown = is_unknown(version, gap, kind, is_virtual);
                // A collector can be at work.
                let least = if is_unknown { 0 } else { all / 2 };
                assert!(known >= least, "{answer}: {report}");
                let has_owner = !kind.starts_with("FREE") && kind != "NOTICE";
                let has_count = has_owner && gap != Gap::Counts;
                assert_eq!(counted, if has_count { known } else { 0 }, "{answer}: {report}");
                case_count += 1;
            }
            assert_eq!(case_count, if version < 21 { 10 } else { 20 }, "{report}");
        });
    }
}
