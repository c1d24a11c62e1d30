//! Exceptions within a probe: a stack overflow where the program itself has none, and the exception
//! of `Thread.stop`.

use perk_testkit::jdk;

use crate::{FILE, PAIRS, accounting, counted, profile};

/// The ways to run code, whose frames differ.
const WAYS: [&str; 3] = ["-Xint", "-XX:TieredStopAtLevel=1", "-Xshare:auto"];

/// Code without calls cannot overflow the stack: it must run, however little of the stack is left.
#[test]
fn the_program_stays_in_order() {
    jdk::each(|jdk| {
        for way in WAYS {
            let run = counted(jdk, PAIRS).jvm_arg(way).main("OverflowKeepsOrder");
            let outcome = run.args(["150", "192"]).run();
            outcome.assert_success();
            let kinds: Vec<_> = outcome.stdout.lines().collect();
            assert_eq!(kinds.len(), 8, "{}", outcome.report());
            for kind in kinds {
                assert!(kind.ends_with(": 0"), "{way}: {}", outcome.report());
            }
            let profile = profile(&outcome);
            assert_eq!(accounting(&profile).fault_count, 0, "{FILE}, {way}");
        }
    });
}

/// JDK 17 is the last that has `Thread.stop`.
#[test]
fn threads_are_stopped_within_probes() {
    jdk::each(|jdk| {
        if jdk.version > 17 {
            return;
        }
        for way in WAYS {
            let outcome = counted(jdk, PAIRS).jvm_arg(way).main("Stopped").args(["150"]).run();
            outcome.assert_success();
            assert_eq!(outcome.stdout, "stopped\n", "{way}: {}", outcome.report());
            assert_eq!(accounting(&profile(&outcome)).fault_count, 0, "{way}");
        }
    });
}
