//! Calls counted and threads sampled in one run.

use perk_profile::Profile;
use perk_testkit::jdk;

use crate::tables::expected;
use crate::{PAIRS, accounting, assert_pairs, counted, methods, of_parts, own, pairs, profile};

const INTERVAL_NS: u64 = 1_000_000;
const SAMPLED: &str = ",cpu=samples,interval=1";

/// Returns the CPU time of the samples below a method.
fn sampled_ns(profile: &Profile, wanted: &str) -> u64 {
    let is_wanted = |id| profile.symbols.method_name(id) == wanted;
    let samples = profile.total_cpu_samples();
    let below = samples.rows.iter().filter(|&&(trace, _)| methods(profile, trace).any(is_wanted));
    below.map(|(_, count)| count * INTERVAL_NS).sum()
}

#[test]
fn calls_are_counted_and_threads_sampled() {
    let parts = ["Language", "Throwing", "Threads"];
    jdk::each(|jdk| {
        let options = format!("{PAIRS}{SAMPLED}");
        let outcome = of_parts(counted(jdk, &options), &parts).run();
        outcome.assert_success();
        let profile = profile(&outcome);
        assert_pairs(&own(&pairs(&profile)), &expected(&parts), "with samples");
        let account = accounting(&profile);
        assert_eq!((account.engine.as_str(), account.fault_count), ("signal, exact", 0));
        assert_eq!(profile.total_cpu_samples().total, account.sample_count);
        // Each thread begins with a random part of an interval.
        let slack_ns = account.thread_count * INTERVAL_NS;
        let all_ns = (account.sample_count + account.unattributed_count) * INTERVAL_NS;
        assert!(all_ns.abs_diff(account.java_cpu_ns) <= slack_ns, "{account:?}");
        assert!(account.walk_count > 0);
    });
}

#[test]
fn both_have_the_same_time() {
    const MS: u64 = 1000;
    jdk::each(|jdk| {
        let options = format!(",depth=8{SAMPLED}");
        let args = ["0".to_owned(), MS.to_string()];
        let outcome = counted(jdk, &options).main("CallTimes").args(args).run();
        outcome.assert_success();
        let profile = profile(&outcome);
        let rows = profile.call_times().flat_map(|times| times.rows);
        let burns = rows.filter(|row| {
            let top = methods(&profile, row.trace).next();
            top.is_some_and(|id| profile.symbols.method_name(id) == "CallTimes.burns")
        });
        assert_eq!(burns.map(|row| row.count).sum::<u64>(), 1);
        let rows = profile.call_times().flat_map(|times| times.rows);
        let below = rows.filter(|row| {
            methods(&profile, row.trace)
                .any(|id| profile.symbols.method_name(id) == "CallTimes.burns")
        });
        let counted_ns: u64 = below.map(|row| row.self_ns).sum();
        let sampled_ns = sampled_ns(&profile, "CallTimes.burns");
        assert!(counted_ns >= MS * 900_000, "{counted_ns}");
        assert!(sampled_ns.abs_diff(counted_ns) <= counted_ns / 5, "{sampled_ns} of {counted_ns}");
    });
}

/// In interpreted code, probes take most of the time, which belongs to their methods.
#[test]
fn samples_show_nothing_of_probes() {
    const CALLS: u64 = 5_000;
    jdk::each(|jdk| {
        let options = format!(",depth=2,heap=sites{SAMPLED}");
        let run = counted(jdk, &options).jvm_arg("-Xint").main("CallCounts");
        let outcome = run.args([CALLS.to_string()]).run();
        outcome.assert_success();
        let profile = profile(&outcome);
        let samples = profile.total_cpu_samples();
        let mut inner_count = 0;
        for &(trace, count) in &samples.rows {
            let names: Vec<_> =
                methods(&profile, trace).map(|id| profile.symbols.method_name(id)).collect();
            assert!(!names.iter().any(|name| name.contains("PerkProbes")), "{names:?}");
            // The traces have the requested depth all the same.
            if names.first().is_some_and(|name| name == "CallCounts.inner") {
                assert_eq!(names[1..], ["CallCounts.outer"]);
                inner_count += count;
            }
        }
        assert!(inner_count > 0, "{}", outcome.report());
    });
}
