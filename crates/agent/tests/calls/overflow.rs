//! Stack overflows: a probe may meet one where the program itself cannot.

use perk_testkit::jdk;

use crate::{FILE, PAIRS, accounting, counted, profile};

/// The ways to run code, whose frames differ.
const WAYS: [&str; 3] = ["-Xint", "-XX:TieredStopAtLevel=1", "-Xshare:auto"];

/// What calls nothing cannot overflow the stack: it has to run, whatever is left of the stack.
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
