//! Sampled allocations of a program whose allocations are known: estimates must be as close to the
//! true values as chance allows, for all sizes, threads and collectors.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use perk_profile::{Accounting, Allocations, Metric, PauseKind, Profile, Site};
use perk_testkit::{JavaRun, Jdk, Outcome, jdk};

/// The bytes that `SampledAllocations` allocates in each method.
const BYTES: u64 = 200_000_000;
const INTERVAL_BYTES: u64 = 64 << 10;
/// By chance, one run in two million exceeds this deviation.
const SIGMAS: f64 = 6.0;
/// The JVM counts the ends of its buffers (TLABs), which are too small for an object, as allocated.
const JVM_BIAS: f64 = 0.03;

/// The allocation sites of `SampledAllocations`: the method that holds the `new`, the one that
/// gives the amount, class, size of an object, the share of the method's bytes, the share that
/// lives.
const SITES: [(&str, &str, &str, u64, f64, f64); 9] = [
    ("small", "small", "SampledAllocations$Small", 24, 1.0, 0.0),
    ("medium", "medium", "byte[]", 1024, 1.0, 0.0),
    ("middle", "middle", "long[]", 65_536, 1.0, 0.0),
    ("large", "large", "char[]", 1 << 20, 1.0, 0.0),
    ("mixed", "mixed", "short[]", 64, 2048.0 / 9216.0, 0.0),
    ("mixed", "mixed", "float[]", 7168, 7168.0 / 9216.0, 0.0),
    ("byThread", "threaded", "boolean[]", 32, 1.0, 0.0),
    ("keeps", "keeps", "int[]", 4096, 1.0, 1.0),
    ("keepsHalf", "keepsHalf", "double[]", 2048, 1.0, 0.5),
];

fn sampled(jdk: &Jdk, options: &str) -> JavaRun {
    let run = JavaRun::new(jdk).agent(&format!("heap=sites,cutoff=0,file=o.hprof{options}"));
    run.jvm_arg("-Xmx1g").main("SampledAllocations")
}

fn read(outcome: &Outcome) -> Profile {
    outcome.assert_success();
    perk_hprof::read(outcome.bytes("o.hprof")).unwrap()
}

/// Returns the method of `SampledAllocations` on top of a site's trace.
fn method(profile: &Profile, site: &Site) -> String {
    let Some(frame) = profile.frames(site.trace).next() else { return String::new() };
    let method = profile.symbols.get_frame(frame).method;
    let name = profile.symbols.method_name(method);
    name.strip_prefix("SampledAllocations.").unwrap_or_default().to_owned()
}

/// Returns the objects by the method on top and class.
fn by_site(profile: &Profile) -> BTreeMap<(String, String), Allocations> {
    let mut sums: BTreeMap<_, Allocations> = BTreeMap::new();
    for site in &profile.sites().expect("sites").rows {
        let class = profile.symbols.class_name(site.class).to_owned();
        sums.entry((method(profile, site), class)).or_default().add(site.objects);
    }
    sums
}

/// Fails unless `found` bytes are as close to the `expected` ones as samples of objects of
/// `size_bytes` must be.
#[track_caller]
fn assert_estimate(found: u64, expected: f64, size_bytes: u64, interval_bytes: u64, what: &str) {
    let chance = 1.0 - (-(size_bytes as f64) / interval_bytes as f64).exp();
    let samples = expected / size_bytes as f64 * chance;
    let deviation = ((1.0 - chance) / samples.max(1.0)).sqrt();
    let limit = expected * (SIGMAS * deviation + JVM_BIAS);
    let difference = (found as f64 - expected).abs();
    assert!(difference <= limit, "{what}: {found}, expected {expected:.0} +- {limit:.0}");
}

#[track_caller]
fn assert_sites(profile: &Profile, outcome: &Outcome, interval_bytes: u64, what: &str) {
    let found = by_site(profile);
    for (site, printed, class, size_bytes, share, live_share) in SITES {
        let objects = found[&(site.to_owned(), class.to_owned())];
        let bytes = outcome.number(&format!("{printed}_bytes")) as f64 * share;
        let what = format!("{what} {site} {class}");
        assert_estimate(objects.allocated_bytes, bytes, size_bytes, interval_bytes, &what);
        let live = objects.live_bytes;
        if live_share == 0.0 {
            // The latest allocations can be live at the collection.
            assert!(live as f64 <= bytes / 100.0, "{what}: {live} live");
        } else {
            assert_estimate(live, bytes * live_share, size_bytes, interval_bytes, &what);
        }
        // The numbers of objects and of bytes agree.
        let counted = objects.allocated_count * size_bytes;
        assert!(counted.abs_diff(objects.allocated_bytes) <= size_bytes, "{what}: {objects:?}");
    }
}

#[test]
fn estimates_are_near_the_truth_with_every_collector() {
    jdk::each(|jdk| {
        for collector in ["Serial", "Parallel", "G1", "Z", "Shenandoah"] {
            let flag = format!("-XX:+Use{collector}GC");
            if JavaRun::new(jdk).jvm_arg(&flag).jvm_arg("-version").run().code() != Some(0) {
                continue;
            }
            let options = format!(",sample={INTERVAL_BYTES},gc=y,format=p");
            let run = sampled(jdk, &options).jvm_arg(&flag).jvm_arg("-Xmx2g");
            let run = run.jvm_arg("-Xlog:gc*:file=gc.log:tags");
            let outcome = run.args([BYTES.to_string()]).run();
            let profile = read(&outcome);
            let sites = profile.sites().expect("sites");
            assert_eq!(sites.sample_interval_bytes, Some(INTERVAL_BYTES));
            assert_sites(&profile, &outcome, INTERVAL_BYTES, collector);

            let printed = outcome.stdout.lines().filter(|line| line.contains("_bytes="));
            let printed: u64 =
                printed.map(|line| line.split_once('=').unwrap().1).map(number).sum();
            let rows: u64 = sites.rows.iter().map(|site| site.objects.allocated_bytes).sum();
            assert_eq!(rows, sites.total.allocated_bytes);
            // The JDK allocates some as well.
            assert!(
                rows.abs_diff(printed) <= printed * 5 / 100,
                "{collector}: {rows} of {printed}"
            );

            let account = profile.accounting.as_ref().expect("an account");
            let samples = account.allocation_sample_count;
            // Each of the large objects is one sample, regardless of the number of intervals.
            let expected = (printed - outcome.number("large_bytes")) / INTERVAL_BYTES;
            assert!(samples <= expected * 11 / 10, "{samples} of {expected}");
            assert!(samples >= expected * 8 / 10, "{samples} of {expected}");
            assert_eq!(account.failed_walk_count, 0);
            assert_eq!(account.fault_count, 0);
            assert_pauses(account, &String::from_utf8_lossy(outcome.bytes("gc.log")), collector);
            assert_single_pauses(&profile, account, collector);
            // The same bytes over time, but for what rows are rounded by and the end of the program allocates.
            let series = profile.time_series().filter(|it| it.metric == Metric::AllocatedBytes);
            let timed: u64 = series.flat_map(|it| it.numbers.values()).sum();
            assert!(timed.abs_diff(rows) <= rows / 1000, "{collector}: {timed} of {rows}");
        }
    });
}

/// Fails unless each pause is there, at a time of its own. The last may have come after the account.
#[track_caller]
fn assert_single_pauses(profile: &Profile, account: &Accounting, what: &str) {
    let pauses: Vec<_> = profile.pauses().collect();
    assert!(pauses.is_sorted_by(|a, b| a.end_ns() <= b.begin_ns), "{what}: {pauses:?}");
    assert!(pauses.iter().all(|it| it.kind == PauseKind::Collection), "{what}: {pauses:?}");
    let counted = &pauses[..account.gc_count as usize];
    assert!(pauses.len() - counted.len() <= 1, "{what}: {pauses:?}");
    let lengths_ns = counted.iter().map(|it| it.duration_ns);
    assert_eq!(lengths_ns.clone().sum::<u64>(), account.gc_pause_ns, "{what}");
    assert_eq!(lengths_ns.max(), Some(account.gc_longest_pause_ns), "{what}");
    assert!(pauses.iter().all(|it| it.begin_ns < account.wall_ns + 1_000_000_000), "{what}");
}

/// Fails unless the pauses are those of the JVM's log, as far as it has them: the last may be missing there.
#[track_caller]
fn assert_pauses(account: &Accounting, log: &str, what: &str) {
    let pauses = log.lines().filter(|line| line.contains("Pause ") && line.ends_with("ms"));
    let times = pauses.filter_map(|line| line.trim_end_matches("ms").rsplit(' ').next());
    let times: Vec<f64> = times.map(|time| time.parse().unwrap()).collect();
    let (count, ns) = (times.len() as u64, times.iter().sum::<f64>() * 1e6);
    assert!(account.gc_count.abs_diff(count) <= 1 && count > 0, "{what}: {count} {account:?}");
    // The log's pauses begin some microseconds before the event, or longer on a busy machine.
    let least_ns = ns * 0.9 - count as f64 * 1e5;
    assert!(account.gc_pause_ns as f64 >= least_ns, "{what}: {ns} {account:?}");
    assert!(account.gc_longest_pause_ns * account.gc_count >= account.gc_pause_ns);
    assert!(account.gc_longest_pause_ns <= account.gc_pause_ns);
}

/// The interval grows with the number of samples, and each sample has the weight of its own interval.
#[test]
fn a_budget_keeps_the_estimates() {
    jdk::each(|jdk| {
        let options = ",sample=4k,live=n,budget=y,format=p,cpu=samples";
        let outcome = sampled(jdk, options).args([BYTES.to_string()]).run();
        let profile = read(&outcome);
        let account = profile.accounting.as_ref().expect("an account");
        let printed = outcome.stdout.lines().filter(|line| line.contains("_bytes="));
        let printed: u64 = printed.map(|line| line.split_once('=').unwrap().1).map(number).sum();
        let samples = account.allocation_sample_count;
        assert!((64..printed / 4096 / 16).contains(&samples), "{samples}");
        // Intervals double until few samples come: half of them are of the longest.
        let sites = profile.sites().expect("sites");
        let found = sites.total.allocated_bytes;
        let limit = printed as f64 * (SIGMAS / (samples as f64 / 4.0).sqrt() + JVM_BIAS);
        assert!(
            (found as f64 - printed as f64).abs() <= limit,
            "{found} of {printed}, {samples} samples"
        );
        assert!(!sites.known.live && sites.rows.iter().all(|site| site.objects.live_bytes == 0));
    });
}

fn number(text: &str) -> u64 {
    text.parse().unwrap()
}

#[test]
fn intervals_below_and_above_the_objects_sizes() {
    jdk::each(|jdk| {
        for interval_bytes in [1 << 10, 512 << 10] {
            let options = format!(",sample={interval_bytes},gc=y,format=p");
            let outcome = sampled(jdk, &options).args([BYTES.to_string()]).run();
            let what = interval_bytes.to_string();
            assert_sites(&read(&outcome), &outcome, interval_bytes, &what);
        }
    });
}

/// All objects are larger than the interval, so no number depends on chance.
#[test]
fn an_interval_of_one_byte_counts_every_object() {
    const FEW: u64 = 4_000_000;
    jdk::each(|jdk| {
        let run = sampled(jdk, ",sample=1,gc=y,format=p").jvm_arg("-Xint");
        let outcome = run.args([FEW.to_string()]).run();
        let profile = read(&outcome);
        let found = by_site(&profile);
        for (site, printed, class, size_bytes, share, live_share) in SITES {
            let objects = found[&(site.to_owned(), class.to_owned())];
            let bytes = outcome.number(&format!("{printed}_bytes")) as f64 * share;
            assert_eq!(objects.allocated_bytes, bytes.round() as u64, "{site} {class}");
            assert_eq!(objects.allocated_count, objects.allocated_bytes / size_bytes);
            if live_share > 0.0 {
                let live = (objects.allocated_count as f64 * live_share).ceil() as u64;
                assert_eq!(objects.live_count, live, "{site} {class}");
            }
        }
    });
}

#[test]
fn threads_are_distinguished() {
    jdk::each(|jdk| {
        for kind in ["platform", "virtual"] {
            let options = format!(",sample={INTERVAL_BYTES},thread=y,format=p");
            let mut args = vec![BYTES.to_string()];
            args.extend((kind == "virtual").then(|| kind.to_owned()));
            let outcome = sampled(jdk, &options).args(args).run();
            let profile = read(&outcome);
            let mut threads: BTreeMap<_, u64> = BTreeMap::new();
            for site in &profile.sites().expect("sites").rows {
                if method(&profile, site) == "byThread" {
                    let thread = profile.get_trace(site.trace).thread.expect("a thread");
                    *threads.entry(thread).or_default() += site.objects.allocated_bytes;
                }
            }
            assert_eq!(threads.len(), 4, "{kind} {threads:?}");
            for bytes in threads.values() {
                assert_estimate(*bytes, BYTES as f64 / 4.0, 32, INTERVAL_BYTES, kind);
            }
        }
    });
}

#[test]
fn the_program_does_not_notice() {
    jdk::each(|jdk| {
        let program =
            |run: JavaRun| run.jvm_arg("-Xmx1g").main("SampledAllocations").args(["9000000"]);
        let bare = program(JavaRun::new(jdk)).run();
        bare.assert_success();
        for options in ["", ",thread=y,depth=64,gc=y", ",cpu=samples", ",depth=0,lineno=n"] {
            let agent = format!("heap=sites,sample=1k,verbose=n,file=o.txt{options}");
            let run = JavaRun::new(jdk).agent(&agent).jvm_arg("-Xcheck:jni");
            let outcome = program(run).run();
            outcome.assert_success();
            assert_eq!(
                (&outcome.stdout, &outcome.stderr),
                (&bare.stdout, &bare.stderr),
                "{options}"
            );
            assert!(outcome.text("o.txt").contains("SITES BEGIN"));
        }
    });
}

/// Without an orderly end there is no collection, but still a last dump.
#[test]
fn ends_of_all_kinds_are_dumped() {
    jdk::each(|jdk| {
        for main in ["ExitByHalt", "ExitBySystemExit", "Uncaught"] {
            let agent = "heap=sites,sample=1,gc=y,format=p,cutoff=0,file=o.hprof";
            let bare = JavaRun::new(jdk).main(main).run();
            let outcome = JavaRun::new(jdk).agent(agent).main(main).run();
            outcome.assert_code(bare.code().expect("an exit code"));
            let profile = perk_hprof::read(outcome.bytes("o.hprof")).unwrap();
            assert!(profile.sites().expect("sites").total.allocated_count > 0, "{main}");
        }
    });
}
