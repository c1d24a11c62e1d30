//! Several analyses in one run: each has the same results as alone.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use perk_hprof::aprof::{self, Table};
use perk_profile::{Allocations, Profile, TraceId};
use perk_testkit::{JavaRun, Outcome, jdk};

const N: u64 = 1000;
const FILE: &str = "o.hprof";

/// The objects that methods of `AllocationCounts` make: class, objects, bytes of each with headers
/// of 12 bytes, and whether they live to the end.
const MADE: [(&str, &str, u64, u64, bool); 8] = [
    ("keep", "AllocationCounts$Kept[]", 1, 16 + 4 * N, true),
    ("keep", "AllocationCounts$Kept", N, 24, true),
    ("drop", "AllocationCounts$Dropped", 2 * N, 16, false),
    ("arrays", "int[]", N, 56, false),
    ("nested", "byte[][]", N, 32, false),
    ("nested", "byte[]", 3 * N, 24, false),
    ("copies", "long[]", 1 + N, 40, false),
    ("throwing", "java.lang.IllegalStateException", N, 40, false),
];

/// The number of calls of methods of `AllocationCounts`, and of their classes' constructors.
const CALLED: [(&str, u64); 8] = [
    ("AllocationCounts.main", 1),
    ("AllocationCounts.keep", 1),
    ("AllocationCounts.throwing", 1),
    ("AllocationCounts$Kept.<init>", N),
    ("AllocationCounts$Dropped.<init>", 2 * N),
    ("AllocationCounts$Reflected.<init>", N),
    ("AllocationCounts$Throwing.<init>", N),
    ("java.lang.IllegalStateException.<init>", N),
];

fn run(jdk: &perk_testkit::Jdk, options: &str) -> (Outcome, Profile) {
    let options = format!("cutoff=0,depth=8,gc=y,file={FILE},{options}");
    let run = JavaRun::new(jdk).agent(&options).main("AllocationCounts").args([N.to_string()]);
    let outcome = run.run();
    let profile = read(&outcome);
    assert!(outcome.stdout.starts_with(&format!("n={N}\n")), "{}", outcome.report());
    (outcome, profile)
}

#[track_caller]
fn read(outcome: &Outcome) -> Profile {
    outcome.assert_success();
    assert!(!outcome.stderr.contains("ERROR"), "{}", outcome.report());
    perk_hprof::read(outcome.bytes(FILE)).unwrap()
}

#[track_caller]
fn engine(profile: &Profile) -> &str {
    let account = profile.accounting.as_ref().expect("an account");
    assert_eq!(account.fault_count, 0);
    &account.engine
}

/// Returns the methods on a trace, the innermost first.
fn names(profile: &Profile, trace: TraceId) -> Vec<String> {
    let frames = profile.frames(trace).map(|id| profile.symbols.get_frame(id).method);
    frames.map(|method| profile.symbols.method_name(method)).collect()
}

/// Returns the objects by the method of the fixture below which they were made, and class.
fn made(profile: &Profile) -> BTreeMap<(String, String), Allocations> {
    let mut sums: BTreeMap<_, Allocations> = BTreeMap::new();
    for site in &profile.sites().expect("sites").rows {
        let names = names(profile, site.trace);
        let own = names.iter().find_map(|name| name.strip_prefix("AllocationCounts."));
        let class = profile.symbols.class_name(site.class).to_owned();
        sums.entry((own.unwrap_or_default().to_owned(), class)).or_default().add(site.objects);
    }
    sums
}

/// Returns the calls by the name of the method.
fn calls(profile: &Profile) -> BTreeMap<String, u64> {
    let mut calls = BTreeMap::new();
    for row in profile.call_times().flat_map(|times| times.rows) {
        let top = names(profile, row.trace).swap_remove(0);
        *calls.entry(top).or_default() += row.count;
    }
    calls
}

#[track_caller]
fn assert_made(profile: &Profile, what: &str) {
    let found = made(profile);
    for (method, class, count, bytes, is_kept) in MADE {
        let live = if is_kept { count } else { 0 };
        let expected = Allocations::of([live * bytes, live, count * bytes, count]);
        let key = (method.to_owned(), class.to_owned());
        assert_eq!(found.get(&key), Some(&expected), "{what}: {method} {class}");
    }
}

#[track_caller]
fn assert_called(profile: &Profile, what: &str) {
    let calls = calls(profile);
    for (method, count) in CALLED {
        assert_eq!(calls.get(method), Some(&count), "{what}: {method}");
    }
}

#[track_caller]
fn assert_sampled(profile: &Profile, interval_ns: u64, what: &str) {
    let account = profile.accounting.as_ref().expect("an account");
    assert_eq!(profile.total_cpu_samples().total, account.sample_count, "{what}");
    // Each thread begins with a random part of an interval.
    let slack_ns = account.thread_count * interval_ns;
    let sampled_ns = (account.sample_count + account.unattributed_count) * interval_ns;
    assert!(sampled_ns.abs_diff(account.java_cpu_ns) <= slack_ns, "{what}: {account:?}");
    assert!(account.walk_count > 0, "{what}: {account:?}");
}

#[test]
fn sites_calls_and_samples() {
    jdk::each(|jdk| {
        for (options, ran) in [
            ("heap=sites,cpu=samples,interval=500us,format=p", "signal, exact"),
            ("heap=sites,cpu=times,cpu=samples,interval=500us,format=p", "signal, exact"),
            ("heap=sites,cpu=times,format=p", "exact"),
        ] {
            let (_, profile) = run(jdk, options);
            assert_eq!(engine(&profile), ran, "{options}");
            assert_made(&profile, options);
            if options.contains("cpu=times") {
                assert_called(&profile, options);
            }
            if options.contains("cpu=samples") {
                assert_sampled(&profile, 500_000, options);
            }
        }
    });
}

/// The table has the sums of the sites; a text file contains all of them.
#[test]
fn sites_calls_and_the_table_by_class() {
    jdk::each(|jdk| {
        let options = "heap=sites,cpu=times,aprof=y";
        let (outcome, profile) = run(jdk, options);
        assert_made(&profile, options);
        assert_called(&profile, options);
        // The JVM's names of generated classes are printed; in a profile they are those of any run.
        let printed = aprof::read(outcome.stdout.as_bytes()).unwrap();
        let printed = Table::of(&printed, &printed.sites().unwrap());
        assert_eq!(printed, Table::of(&profile, &profile.sites().unwrap()));
        let said = "Dumping allocation sites ... allocations by class ... \
                    CPU usage by timing methods ... done.\n";
        assert_eq!(outcome.stderr, said);
        // The table alone has the same objects, except for those without a site.
        let (alone, _) = run(jdk, "aprof=y");
        let alone = aprof::tables(alone.stdout.as_bytes()).unwrap().remove(0);
        for class in ["Kept", "Kept[]", "Dropped", "Reflected", "Throwing"] {
            let class = format!("AllocationCounts${class}");
            let row = |table: &Table| table.rows.iter().find(|row| row.class == class).cloned();
            assert!(row(&alone).is_some() && row(&alone) == row(&printed), "{class}");
        }
    });
}

/// With a sample for each byte, no number depends on chance: all objects are sampled.
#[test]
fn sampled_sites_beside_calls_samples_and_the_table() {
    const BYTES: u64 = 1_200_000;
    jdk::each(|jdk| {
        for (more, ran) in [
            ("", "allocation sampling"),
            (",cpu=samples,interval=1", "signal, allocation sampling"),
            (",cpu=times,aprof=between", "exact, allocation sampling"),
            (",cpu=times,cpu=samples,interval=1", "signal, exact, allocation sampling"),
        ] {
            let options =
                format!("heap=sites,sample=1,cutoff=0,depth=8,format=p,file={FILE}{more}");
            let run = JavaRun::new(jdk).agent(&options).jvm_arg("-Xint");
            let outcome = run.main("SampledAllocations").args([BYTES.to_string()]).run();
            let profile = read(&outcome);
            assert_eq!(engine(&profile), ran);
            assert_eq!(profile.sites().unwrap().sample_interval_bytes, Some(1));
            let by_class = Table::of(&profile, &profile.sites().unwrap());
            let small = |table: &Table| {
                let mut rows = table.rows.iter();
                rows.find(|row| row.class == "SampledAllocations$Small").map(|row| row.count)
            };
            let count = outcome.number("small_count");
            assert_eq!(small(&by_class), Some(count), "{options}");
            if more.contains("cpu=times") {
                let calls = calls(&profile);
                assert_eq!(calls["SampledAllocations$Small.<init>"], count, "{options}");
                assert_eq!(calls["SampledAllocations.print"], 8, "{options}");
                assert_eq!(calls["SampledAllocations.byThread"], 4, "{options}");
            }
            if more.contains("cpu=samples") {
                assert_sampled(&profile, 1_000_000, &options);
            }
            if more.contains("aprof") {
                // The table is counted, while the file's sites are estimates.
                let printed = aprof::tables(outcome.stdout.as_bytes()).unwrap().remove(0);
                assert_eq!(small(&printed), Some(count), "{options}");
            }
        }
    });
}
