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
