//! Programs whose stacks are always new: `memlimit` bounds the memory of call traces, and nothing is
//! lost.

#![forbid(unsafe_code)]

mod support;

use std::collections::BTreeMap;

use perk_profile::{Accounting, Metric, Profile, TraceId};
use perk_testkit::{Jdk, Outcome, jdk};

use support::{FILE, assert_near, assert_quiet, run, samples_where};

const LIMIT: u64 = 256 << 10;
const CUT: &str = "perk.[memory limit reached]";
/// The memory of the agent that does not depend on the stacks.
const OTHER_BYTES: u64 = 4 << 20;
const THREADS: [&str; 2] = ["worker-0", "worker-1"];

/// Runs the program with `format=p`.
#[track_caller]
fn profiled(jdk: &Jdk, options: &str, ms: &str, wait_ns: &str) -> (Outcome, Profile) {
    let options = format!("depth=100,cutoff=0,format=p,file={FILE},{options}");
    let run = perk_testkit::JavaRun::new(jdk).agent(&options).main("EverNewStacks");
    let outcome = run.args([ms, "2", wait_ns]).run();
    outcome.assert_success();
    let profile = perk_hprof::read(outcome.bytes(FILE)).unwrap();
    (outcome, profile)
}

fn accounting(profile: &Profile) -> &Accounting {
    profile.accounting.as_ref().unwrap()
}

fn names(profile: &Profile, trace: TraceId) -> Vec<String> {
    let methods = profile.frames(trace).map(|id| profile.symbols.get_frame(id).method);
    methods.map(|method| profile.symbols.method_name(method)).collect()
}

fn is_cut(profile: &Profile, trace: TraceId) -> bool {
    names(profile, trace).first().is_some_and(|name| name == CUT)
}

fn by_thread(profile: &Profile, rows: &[(TraceId, u64)]) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for &(trace, number) in rows {
        let thread = profile.get_trace(trace).thread.expect("a thread");
        *sums.entry(profile.thread_name(thread).to_owned()).or_default() += number;
    }
    sums
}

/// Fails unless the cut is reported and the memory bounded, with `least` samples on cut traces.
#[track_caller]
fn assert_bounded(outcome: &Outcome, profile: &Profile, least: u64) {
    let Accounting { folded_count, perk_peak_bytes, .. } = *accounting(profile);
    let line = format!(
        "HPROF WARNING: {folded_count} samples are booked on call traces that are cut at {CUT}: \
         memlimit is {LIMIT} bytes\n"
    );
    assert!(outcome.stderr.contains(&line), "{}", outcome.report());
    assert!(folded_count >= least, "{folded_count} of {least}");
    assert!(perk_peak_bytes <= LIMIT + OTHER_BYTES, "{perk_peak_bytes}");
    // A trace is cut at its inner end alone, and no deeper than it was walked.
    for index in 0..profile.traces().len() {
        let names = names(profile, TraceId::new(index));
        assert!(names.len() <= 101 && !names.iter().skip(1).any(|name| name == CUT), "{names:?}");
    }
}

#[test]
fn samples_of_each_thread_are_all_there() {
    jdk::each(|jdk| {
        for engine in ["signal", "polling"] {
            let options =
                format!("cpu=samples,thread=y,interval=1,engine={engine},memlimit={LIMIT}");
            let (outcome, profile) = profiled(jdk, &options, "2000", "0");
            let all = profile.total_cpu_samples();
            let sums = by_thread(&profile, &all.rows);
            for thread in THREADS {
                assert_near(
                    sums[thread] * 1_000_000,
                    outcome.number(thread),
                    5,
                    20_000_000,
                    thread,
                );
            }
            let account = accounting(&profile);
            assert_eq!(account.sample_count, all.total);
            assert_eq!(sums.values().sum::<u64>(), all.total);
            let cut = all.rows.iter().filter(|row| is_cut(&profile, row.0)).map(|row| row.1);
            assert_eq!(account.folded_count, cut.sum::<u64>());
            assert_bounded(&outcome, &profile, all.total / 2);
            // Each sample has a time, on its thread.
            let timed = profile.timelines().flat_map(|timeline| &timeline.rows);
            let timed: Vec<_> = timed.map(|row| (row.trace, row.count)).collect();
            assert_eq!(by_thread(&profile, &timed), sums, "{engine}");
        }
    });
}

#[test]
fn wall_clock_time_of_each_thread_is_all_there() {
    jdk::each(|jdk| {
        let options = format!("wall=1ms,thread=y,memlimit={LIMIT}");
        let (outcome, profile) = profiled(jdk, &options, "2000", "1000000");
        let rows = Metric::WallTime.rows(&profile).by_trace();
        let sums = by_thread(&profile, &rows);
        for thread in THREADS {
            let lived_ns = outcome.number(&format!("{thread}_lived"));
            // The thread's own clock begins a moment later, and ends a moment earlier.
            assert!(sums[thread] >= lived_ns, "{} of {lived_ns}", sums[thread]);
            assert_near(sums[thread], lived_ns, 5, 500_000_000, thread);
        }
        assert_eq!(sums.values().sum::<u64>(), accounting(&profile).wall_thread_ns);
        let cut_ns: u64 = rows.iter().filter(|row| is_cut(&profile, row.0)).map(|row| row.1).sum();
        assert!(cut_ns > 1_000_000_000, "{cut_ns}");
        assert_bounded(&outcome, &profile, accounting(&profile).wall_walk_count / 4);
    });
}

#[test]
fn each_form_says_where_traces_are_cut() {
    let jdk = jdk::compiler();
    let engine = ",interval=1,depth=100,cutoff=0";
    for form in ["", ",thread=y"] {
        let options = format!("{engine}{form},memlimit={LIMIT}");
        let (outcome, text) = run(jdk, &options, "EverNewStacks", &["1000", "2", "0"]);
        let cut = samples_where(&text, |trace| {
            trace.frames.first().is_some_and(|frame| frame.method == CUT)
        });
        let line = format!("HPROF WARNING: {cut} samples are booked on call traces");
        assert!(outcome.stderr.contains(&line), "{cut}: {}", outcome.report());
        let all: u64 = text.samples_by_trace().values().sum();
        let total_ns: u64 = THREADS.iter().map(|thread| outcome.number(thread)).sum();
        assert!(all * 1_000_000 >= total_ns * 95 / 100, "{all} samples of {total_ns}");
        let run = support::sampled(jdk, &format!("{options},format=b")).main("EverNewStacks");
        let outcome = run.args(["1000", "2", "0"]).run();
        outcome.assert_success();
        let records = support::read_records(outcome.bytes(FILE)).unwrap();
        let cut = samples_where(&records, |trace| {
            trace.frames.first().is_some_and(|frame| frame.method == CUT)
        });
        let line = format!("HPROF WARNING: {cut} samples are booked on call traces");
        assert!(outcome.stderr.contains(&line), "{cut}: {}", outcome.report());
    }
}

#[test]
fn below_the_limit_nothing_is_cut() {
    let jdk = jdk::compiler();
    for options in ["cpu=samples,engine=signal,interval=1", "cpu=samples,interval=1,memlimit=64m"] {
        let (outcome, profile) = profiled(jdk, options, "500", "0");
        assert_quiet(&outcome);
        assert_eq!(accounting(&profile).folded_count, 0);
        let traces = 0..profile.traces().len();
        assert!(!traces.into_iter().any(|index| is_cut(&profile, TraceId::new(index))));
    }
}
