//! The times of calls.

use std::collections::BTreeMap;

use perk_profile::Profile;
use perk_testkit::{Outcome, jdk};

use crate::{PAIRS, accounting, by_method, counted, methods, of_parts, pairs, profile};

const MS_NS: u64 = 1_000_000;
/// The time that `CallTimes` sleeps, and the time that it burns.
const MS: u64 = 400;

/// Returns the self time of a method, and the time of the traces that have it, in nanoseconds.
fn times(profile: &Profile, wanted: &str) -> (u64, u64) {
    let (mut own_ns, mut all_ns) = (0, 0);
    for row in profile.call_times().flat_map(|times| times.rows) {
        let is_wanted = |id| profile.symbols.method_name(id) == wanted;
        let place = methods(profile, row.trace).position(is_wanted);
        own_ns += if place == Some(0) { row.self_ns } else { 0 };
        all_ns += if place.is_some() { row.self_ns } else { 0 };
    }
    (own_ns, all_ns)
}

fn run(jdk: &perk_testkit::Jdk, options: &str) -> (Outcome, Profile) {
    let ms = MS.to_string();
    let outcome = counted(jdk, options).main("CallTimes").args([&ms, &ms]).run();
    outcome.assert_success();
    let profile = profile(&outcome);
    assert_eq!(by_method(&pairs(&profile))["CallTimes.burns"], 1);
    (outcome, profile)
}

#[test]
fn sleep_is_wall_time_and_no_cpu_time() {
    jdk::each(|jdk| {
        for (options, clock, timing) in [
            (",depth=8", "cpu", "tick"),
            (",depth=8,clock=wall", "wall", "tick"),
            (",depth=8,timing=exact", "wall", "exact"),
        ] {
            let (_, profile) = run(jdk, options);
            let account = accounting(&profile);
            assert_eq!((account.clock.as_str(), account.timing.as_str()), (clock, timing));
            let (_, slept_ns) = times(&profile, "CallTimes.sleeps");
            let (_, burnt_ns) = times(&profile, "CallTimes.burns");
            let (_, main_ns) = times(&profile, "CallTimes.main");
            assert!(main_ns >= slept_ns + burnt_ns, "{main_ns} of {slept_ns} + {burnt_ns}");
            if clock == "wall" {
                // On a busy machine the ticking thread is late.
                let least_ms = if timing == "tick" { MS * 3 / 4 } else { MS };
                assert!(slept_ns >= least_ms * MS_NS, "{options}: {slept_ns}");
            } else {
                assert!(slept_ns <= MS * MS_NS / 10, "{options}: {slept_ns}");
            }
            assert!(burnt_ns >= MS * MS_NS * 9 / 10, "{options}: {burnt_ns}");
            assert!(clock == "wall" || burnt_ns <= MS * MS_NS * 5 / 4, "{options}: {burnt_ns}");
        }
    });
}

#[test]
fn without_timing_calls_are_counted() {
    jdk::each(|jdk| {
        let (_, profile) = run(jdk, ",depth=2,timing=none");
        let account = accounting(&profile);
        assert_eq!((account.clock.as_str(), account.timing.as_str()), ("", "none"));
        let rows = profile.call_times().flat_map(|times| times.rows);
        assert_eq!(rows.map(|row| row.self_ns + row.total_ns).sum::<u64>(), 0);
    });
}

/// The sum of all self times is at most the CPU time of the threads, and close to it. Methods that
/// neither call nor loop are counted and not timed.
#[test]
fn cpu_times_add_up_to_what_was_burned() {
    jdk::each(|jdk| {
        let outcome = of_parts(counted(jdk, PAIRS), &["Language", "Throwing", "Threads"]).run();
        outcome.assert_success();
        let profile = profile(&outcome);
        let account = accounting(&profile);
        let self_ns: u64 = profile.call_times().map(|times| times.total_ns).sum();
        let counted_ns = self_ns + account.probe_removed_ns;
        assert!(counted_ns <= account.process_cpu_ns, "{counted_ns}: {account:?}");
        assert!(counted_ns >= account.java_cpu_ns / 2, "{counted_ns}: {account:?}");
        for method in ["CallsLanguage$Point.x", "CallsLanguage.twice", "CallsThreads.mapped"] {
            assert!(by_method(&pairs(&profile))[method] >= 1000);
            assert_eq!(times(&profile, method), (0, 0), "{method}");
        }
    });
}

/// A program of few calls ends without the measurement, which would take longer than its probes.
#[test]
fn a_program_of_few_calls_does_not_wait_for_the_cost_of_probes() {
    jdk::each(|jdk| {
        let outcome = counted(jdk, ",depth=2").main("CallTimes").args(["1", "1"]).run();
        outcome.assert_success();
        let profile = profile(&outcome);
        let account = accounting(&profile);
        assert!((1..200_000).contains(&account.call_count), "{account:?}");
        let cost = (account.probe_self_ps, account.probe_caller_ps, account.probe_removed_ns);
        assert_eq!(cost, (0, 0, 0));
    });
}

/// The account has the cost of the probes, and the time subtracted for them.
#[test]
fn the_cost_of_probes_is_reported() {
    jdk::each(|jdk| {
        for options in [",depth=2", ",depth=2,timing=exact"] {
            let outcome = of_parts(counted(jdk, options), &["Language", "Throwing"]).run();
            outcome.assert_success();
            let profile = profile(&outcome);
            let account = accounting(&profile);
            let call_ps = account.probe_self_ps + account.probe_caller_ps;
            // A call's probes take some nanoseconds, with at most two reads of the clock among
            // them; on a machine with other work, up to microseconds.
            assert!((500..20_000_000).contains(&call_ps), "{options}: {account:?}");
            let most_ns = account.call_count * call_ps / 1000;
            assert!((1..=most_ns).contains(&account.probe_removed_ns), "{options}: {account:?}");
        }
    });
}

/// The cost of probes is at most a part of what the program used, also where most calls are of methods
/// that are only counted, and about the same in equal runs.
#[test]
fn probes_take_less_than_the_program_and_the_same_again() {
    /// The number of trivial calls for each call of a method that is entered, in `TrivialCalls`.
    const TRIVIAL: u64 = 6;
    jdk::each(|jdk| {
        for options in [",depth=8", ",depth=8,timing=none", ",depth=8,timing=exact"] {
            let costs = [(); 2].map(|()| {
                let run = counted(jdk, options).main("TrivialCalls").args(["5000000"]);
                let outcome = run.run();
                outcome.assert_success();
                let profile = profile(&outcome);
                let account = accounting(&profile).clone();
                let context = format!("{options}, JDK {}: {account:?}", jdk.version);
                assert!(account.probe_call_count >= 5_000_000 * (1 + TRIVIAL), "{context}");
                assert!(account.probe_call_ns > 0, "{context}");
                // Not because a limit has made it so.
                assert!(account.probe_call_ns * 100 < account.java_cpu_ns * 95, "{context}");
                assert!(account.probe_removed_ns <= account.probe_call_ns, "{context}");
                // An entered method's own probes are not the cost of a trivial call.
                let call_ps = account.probe_self_ps + account.probe_caller_ps;
                let most_ns = account.call_count / TRIVIAL * call_ps / 1000;
                assert!(account.probe_removed_ns <= most_ns, "{context}");
                account.probe_call_ns
            });
            let (least, most) = (costs[0].min(costs[1]), costs[0].max(costs[1]));
            assert!(most <= least * 3, "{costs:?}: {options}, JDK {}", jdk.version);
        }
    });
}

/// The shares of methods of some ten nanoseconds are those of their times by themselves, however
/// they end.
#[test]
fn ticks_fall_on_short_methods_by_their_time() {
    const CALLS: &str = "8000000";
    /// The most that they may differ, in thousandths: the machine's speed changes meanwhile. On a busy
    /// machine the clock of perk ticks seldom, as does one of the program; then they may differ by five
    /// times the standard deviation of the shares that this one would find.
    const SLACK: f64 = 80.0;
    jdk::each(|jdk| {
        for virtual_thread in [false, true] {
            if virtual_thread && jdk.version < 21 {
                continue;
            }
            let run = counted(jdk, ",depth=2").main("KnownShares").args([CALLS]);
            let run = if virtual_thread { run.args(["virtual"]) } else { run };
            let outcome = run.run();
            outcome.assert_success();
            let profile = profile(&outcome);
            for caller in ["returns", "throwsSome"] {
                let (mut small_ns, mut all_ns) = (0, 0);
                for row in profile.call_times().flat_map(|times| times.rows) {
                    let names: Vec<_> = methods(&profile, row.trace)
                        .map(|id| profile.symbols.method_name(id).to_owned())
                        .collect();
                    if names.len() == 2 && names[1] == format!("KnownShares.{caller}") {
                        all_ns += row.self_ns;
                        small_ns += if names[0] == "KnownShares.small" { row.self_ns } else { 0 };
                    }
                }
                let (found, expected) = (1000 * small_ns / all_ns, outcome.number(caller));
                let share = expected as f64 / 1000.0;
                let variance = outcome.number(&format!("{caller}Variance")) as f64 / 1e6;
                let slack = SLACK.max(5000.0 * (share * (1.0 - share) * variance).sqrt());
                let context = format!("{caller}, virtual {virtual_thread}, JDK {}", jdk.version);
                let off = found.abs_diff(expected) as f64;
                assert!(off <= slack, "{found} of {expected}, {slack} allowed: {context}");
            }
        }
    });
}

/// Half of the time of each method is its callee's. The loops touch no memory: C2 must neither drop nor
/// move the stores of the context around them.
#[test]
fn ticks_fall_on_the_method_whose_loop_runs() {
    /// The most that shares may differ from 500, in thousandths. A loop that C2 books elsewhere is 400;
    /// on a machine with much other work a tick is milliseconds, and there are less than a hundred.
    const SLACK: u64 = 300;
    jdk::each(|jdk| {
        let outcome = counted(jdk, ",depth=8,include=LeafTimes").main("LeafTimes").run();
        outcome.assert_success();
        let profile = profile(&outcome);
        let mut shares: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for row in profile.call_times().flat_map(|times| times.rows) {
            let mut path = methods(&profile, row.trace).map(|id| profile.symbols.method_name(id));
            let is_caller = |name: &String| name.ends_with("Behind") || name.ends_with("Before");
            let Some((frame, caller)) = path.by_ref().enumerate().find(|it| is_caller(&it.1))
            else {
                continue;
            };
            let (callee_ns, all_ns) = shares.entry(caller).or_default();
            *callee_ns += if frame > 0 { row.self_ns } else { 0 };
            *all_ns += row.self_ns;
        }
        assert_eq!(shares.len(), 9, "{shares:?}");
        for (caller, (callee_ns, all_ns)) in shares {
            let found = 1000 * callee_ns / all_ns.max(1);
            let context = format!("{caller}, JDK {}", jdk.version);
            assert!(found.abs_diff(500) <= SLACK, "{found} of 1000: {context}");
        }
    });
}
