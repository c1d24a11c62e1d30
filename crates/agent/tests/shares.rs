//! The shares of programs that are in step with the samples, by the programs' own clocks.

#![forbid(unsafe_code)]

mod support;

use std::os::unix::fs::MetadataExt;

use perk_testkit::jdk;

use support::{checked, sampled, samples_where};

/// Whether the system permits events, without which samples are taken at the kernel's ticks.
fn permits_events() -> bool {
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let paranoid = paranoid.ok().and_then(|text| text.trim().parse::<i32>().ok());
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0);
    let permits = paranoid.is_some_and(|it| it < 2 || is_root);
    if !permits {
        eprintln!("NOT TESTED: kernel.perf_event_paranoid forbids events");
    }
    permits
}

/// Runs [`Phases`] on each JDK: each phase has its share, within five deviations of independent samples.
fn assert_shares(options: &str, interval_ms: u64, args: &[&str]) {
    jdk::each(|jdk| {
        let options = format!(",interval={interval_ms},cutoff=0,depth=1000{options}");
        // Code that C2 inlines has samples at other places.
        let run = sampled(jdk, &options).jvm_arg("-XX:CompileCommand=quiet");
        let run = run.jvm_arg("-XX:CompileCommand=dontinline,Phases.*").jvm_arg("-XX:+UseSerialGC");
        let outcome = run.main("Phases").args(args).run();
        outcome.assert_success();
        let text = checked(&outcome);
        let names = ["a", "b", "c"];
        let ns = names.map(|name| outcome.number(&format!("{name}_ns")));
        let samples =
            names.map(|name| samples_where(&text, |trace| trace.has(&format!("Phases.{name}"))));
        let (all_ns, all) = (ns.iter().sum::<u64>() as f64, samples.iter().sum::<u64>() as f64);
        // Sums are those of the clock; a few samples have no complete stack.
        let expected = all_ns / (interval_ms * 1_000_000) as f64;
        assert!((all - expected).abs() <= 5.0 + expected / 20.0, "{jdk:?}: {all}, not {expected}");
        for (samples, ns) in samples.into_iter().zip(ns) {
            let share = ns as f64 / all_ns;
            // A long walk represents more than one interval.
            let deviation = (share * (1.0 - share) * 2.0 / all).sqrt();
            let error = samples as f64 / all - share;
            assert!(
                error.abs() <= 5.0 * deviation,
                "{jdk:?}{options} {args:?}: {samples} of {all}, where the clock has {share}"
            );
        }
    });
}

/// The kernel's ticks are 4 ms apart, or a part of that.
#[test]
fn phases_in_step_with_the_ticks_have_their_shares() {
    if permits_events() {
        assert_shares(",engine=signal", 4, &["1200", "2000", "2000"]);
    }
}

#[test]
fn phases_in_step_with_the_interval_have_their_shares() {
    if permits_events() {
        assert_shares(",engine=signal", 1, &["800", "500/600", "300", "200"]);
    }
}

#[test]
fn phases_in_step_with_polling_have_their_shares() {
    assert_shares(",engine=polling", 4, &["1200", "2000", "2000"]);
}

/// C2 describes instructions of loops that it has rewritten as those of the call that it inlined last, the
/// boxing of `box`, which had 74 % of the samples on JDK 17, not 25. A loop of which no instruction has
/// its own description may be shown beside it.
#[test]
fn inlined_loops_are_not_those_of_the_last_call() {
    jdk::each(|jdk| {
        let run = sampled(jdk, ",engine=signal,interval=1,cutoff=0,depth=64");
        let run = run.jvm_arg("-XX:+UseSerialGC").main("InlinedLoops").args(["2000"]);
        let outcome = run.run();
        outcome.assert_success();
        let text = checked(&outcome);
        let names = ["dot", "box", "sieve", "fields", "text"];
        let ns = names.map(|name| outcome.number(&format!("{name}_ns")));
        let samples = names
            .map(|name| samples_where(&text, |trace| trace.has(&format!("InlinedLoops.{name}"))));
        let (all_ns, all): (u64, u64) = (ns.iter().sum(), samples.iter().sum());
        for (samples, ns) in samples.into_iter().zip(ns) {
            let points = (samples * 100 / all).abs_diff(ns * 100 / all_ns);
            assert!(
                points <= 15,
                "{jdk:?}: {samples} of {all}, where the clock has {ns} of {all_ns}"
            );
        }
    });
}
