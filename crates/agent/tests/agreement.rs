//! Samples, call times and the program's own clock agree on the shares of large methods.

#![forbid(unsafe_code)]

mod support;

use perk_profile::{Profile, TraceId};
use perk_testkit::{JavaRun, jdk};

use support::{FILE, assert_near};

/// The method that calls the others.
const ROUND: &str = "LargeMethods.round";
/// C2 does not describe all instructions of the loops that it inlines; see `docs/measuring.md`.
const APART: &str = "-XX:CompileCommand=dontinline,LargeMethods::*";
const METHODS: [&str; 5] = ["reads", "changes", "divides", "mixes", "round"];

/// Returns a method's share of [`ROUND`] in thousandths: its own, and with its callees.
fn shares(profile: &Profile, rows: &[(TraceId, u64)], method: &str) -> [u64; 2] {
    let (mut whole, mut own, mut total) = (0, 0, 0);
    for &(trace, number) in rows {
        let methods = profile.frames(trace).map(|id| profile.symbols.get_frame(id).method);
        let names: Vec<_> = methods.map(|id| profile.symbols.method_name(id)).collect();
        let is_it = |name: &String| name.strip_prefix("LargeMethods.") == Some(method);
        if names.iter().any(|name| name == ROUND) {
            whole += number;
            own += if names.first().is_some_and(is_it) { number } else { 0 };
            total += if names.iter().any(is_it) { number } else { 0 };
        }
    }
    [own, total].map(|number| number * 1000 / whole)
}

/// Each against the clock of its own run, as the JIT and a busy machine change the shares from run to
/// run. Call times have a wider limit: where others take the CPU, the agent's thread that books them
/// at its ticks is late.
#[test]
fn large_methods_have_the_same_shares_by_samples_and_by_call_times() {
    jdk::each(|jdk| {
        for (analysis, limit) in [("cpu=samples,engine=signal,interval=1", 10), ("cpu=times", 50)] {
            let options = format!("{analysis},format=p,depth=300,cutoff=0,file={FILE}");
            let run = JavaRun::new(jdk).agent(&options).jvm_arg(APART).main("LargeMethods");
            let outcome = run.args(["50"]).run();
            outcome.assert_success();
            let profile = &perk_hprof::read(outcome.bytes(FILE)).unwrap();
            let mut rows = profile.total_cpu_samples().rows;
            let timed = profile.call_times().flat_map(|times| times.rows);
            rows.extend(timed.map(|row| (row.trace, row.self_ns)));
            for method in METHODS {
                let by_clock = ["own", "total"].map(|part| {
                    let ns = outcome.number(&format!("{method}_{part}"));
                    ns * 1000 / outcome.number("round_total")
                });
                let found = shares(profile, &rows, method);
                for (found, by_clock) in found.into_iter().zip(by_clock) {
                    assert_near(found, by_clock, 0, limit, &format!("{method}: {analysis}"));
                }
            }
        }
    });
}
