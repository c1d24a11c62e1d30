//! CPU samples by signals where much else happens: the program runs as without perk, and the samples
//! are right.

#![forbid(unsafe_code)]

mod support;

use std::collections::BTreeSet;

use perk_profile::Profile;
use perk_testkit::{JavaRun, Jdk, Outcome, fixture, jdk};

use support::{FILE, assert_near, run_by_threads};

const SIGNALS: &str = "cpu=samples,engine=signal,interval=1,format=p";
/// The interval of samples.
const INTERVAL_NS: u64 = 1_000_000;

/// Returns the lines of a program, without times.
fn lines(outcome: &Outcome) -> Vec<&str> {
    outcome.stdout.lines().filter(|line| !line.contains("_ns=")).collect()
}

/// Runs a program with and without perk: it must print the same. Returns the outcome under perk and
/// its profile.
#[track_caller]
fn as_without(jdk: &Jdk, flags: &[&str], main: &str, args: &[&str]) -> (Outcome, Profile) {
    let with = |run: JavaRun| flags.iter().fold(run, |run, flag| run.jvm_arg(flag));
    let plain = with(JavaRun::new(jdk)).main(main).args(args).run();
    plain.assert_success();
    let run = JavaRun::new(jdk).agent(&format!("{SIGNALS},depth=512,file={FILE}"));
    let outcome = with(run).main(main).args(args).run();
    outcome.assert_success();
    assert_eq!(lines(&outcome), lines(&plain), "{}", outcome.report());
    let complaint = ["HPROF WARNING", "HPROF ERROR", "# A fatal", "SIGSEGV"];
    let is_quiet = complaint.iter().all(|word| !outcome.stderr.contains(word));
    assert!(is_quiet, "{}", outcome.report());
    let profile = profile(&outcome);
    let accounting = profile.accounting.as_ref().unwrap();
    assert_eq!(accounting.engine, "signal");
    assert_eq!(accounting.fault_count, 0, "{}", outcome.report());
    (outcome, profile)
}

fn profile(outcome: &Outcome) -> Profile {
    perk_hprof::read(outcome.bytes(FILE)).unwrap()
}

/// Returns the samples whose stacks, as `class.method` with the innermost first, are selected.
fn samples(profile: &Profile, wanted: impl Fn(&[String]) -> bool) -> u64 {
    let symbols = &profile.symbols;
    let rows = profile.total_cpu_samples().rows;
    let is_wanted = |trace| {
        let frames = profile.frames(trace);
        let names: Vec<_> =
            frames.map(|frame| symbols.method_name(symbols.get_frame(frame).method)).collect();
        wanted(&names)
    };
    rows.iter().filter(|(trace, _)| is_wanted(*trace)).map(|(_, count)| count).sum()
}

fn has(names: &[String], method: &str) -> bool {
    names.iter().any(|name| name == method)
}

/// Fails unless stacks are whole but for a part in fifty, and some: a sample represents 4 ms.
#[track_caller]
fn assert_whole(profile: &Profile) {
    let accounting = profile.accounting.as_ref().unwrap();
    let (broken, all) = (accounting.failed_walk_count, accounting.sample_count);
    assert!(broken <= all / 50 + 12, "{broken} of {all}");
}

#[test]
fn classes_keep_their_names_after_they_are_unloaded() {
    jdk::each(|jdk| {
        for flags in [&[][..], &["-XX:+UseZGC"], &["-XX:+UseSerialGC", "-Xmx64m"]] {
            let (_, profile) = as_without(jdk, flags, "StormClasses", &["200", "4", "5"]);
            let number = |name: &String| {
                let digits = name.strip_prefix("StormClasses$Named")?.split_once('.')?.0;
                Some(digits.to_owned())
            };
            let inside = samples(&profile, |names| has(names, "StormClasses.inside"));
            let named = samples(&profile, |names| {
                names.iter().any(|name| number(name).is_some() && name.ends_with(".run"))
            });
            assert!(inside >= 300 && named * 100 >= inside * 98, "{named} of {inside}");
            let mixed = samples(&profile, |names| {
                let numbers: BTreeSet<_> = names.iter().filter_map(number).collect();
                numbers.len() > 1
            });
            assert_eq!(mixed, 0);
            assert_whole(&profile);
        }
    });
}

#[test]
fn classes_are_redefined_while_their_methods_run() {
    let folder = tempfile::tempdir().unwrap();
    let jar = fixture::agent_jar(folder.path(), "StormRedefine", &[fixture::fixtures().join("")]);
    let agent = format!("-javaagent:{jar}");
    jdk::each(|jdk| {
        let (_, profile) = as_without(jdk, &[&agent], "StormRedefine", &["60"]);
        // What a redefinition undoes, such as links of calls, is done again in the caller.
        let below = samples(&profile, |names| has(names, "StormRedefine.work"));
        let inside = samples(&profile, |names| {
            names.iter().any(|name| name.starts_with("StormRedefine$Changing."))
        });
        assert!(below > 50 && inside * 100 >= below * 80, "{inside} of {below}");
        assert_whole(&profile);
    });
}

#[test]
fn flight_recorder_samples_at_the_same_time() {
    jdk::each(|jdk| {
        let args = ["1500"];
        let (outcome, profile) = as_without(jdk, &["-Xlog:disable"], "RecordedSamples", &args);
        let burned = samples(&profile, |names| has(names, "RecordedSamples.burn"));
        assert_near(burned * INTERVAL_NS, outcome.number("burned_cpu_ns"), 5, 0, "burned");
        assert_eq!(outcome.value("recorded"), "most");
    });
}

#[test]
fn children_are_started_and_behave() {
    jdk::each(|jdk| {
        let (outcome, profile) = as_without(jdk, &[], "StormChildren", &["10"]);
        assert_eq!(outcome.value("good"), "20");
        assert_whole(&profile);
    });
}

#[test]
fn threads_by_the_thousand_are_all_reported() {
    jdk::each(|jdk| {
        let options = ",engine=signal,interval=1,depth=16";
        let (outcome, _, samples) =
            run_by_threads(jdk, options, "ManyThreads", &["5000", "1"], "short-");
        assert_eq!(outcome.value("threads"), "5000");
        // The JVM's work before it reports a thread's start is in the program's number only: some
        // 0.1 ms for each.
        let threads_ns = outcome.number("threads_cpu_ns");
        assert_near(samples * INTERVAL_NS, threads_ns, 5, 500_000_000, "threads");
    });
}

#[test]
fn compiled_code_becomes_invalid_all_the_time() {
    jdk::each(|jdk| {
        for flags in [&[][..], &["-XX:TieredStopAtLevel=1"], &["-XX:-TieredCompilation"]] {
            let (_, profile) = as_without(jdk, flags, "StormDeopt", &["150"]);
            assert_whole(&profile);
        }
    });
}

#[test]
fn stacks_overflow() {
    jdk::each(|jdk| {
        for flags in [&[][..], &["-Xint"], &["-Xcomp"]] {
            let (_, profile) = as_without(jdk, flags, "StormOverflow", &["24"]);
            assert_whole(&profile);
        }
    });
}

#[test]
fn virtual_threads_yield_and_pin() {
    jdk::each(|jdk| {
        for flags in [&[][..], &["-Xint"], &["-XX:+UseZGC"]] {
            let (_, profile) = as_without(jdk, flags, "StormVirtual", &["20"]);
            // A switch runs in the stub between the two stacks.
            let accounting = profile.accounting.as_ref().unwrap();
            let (broken, all) = (accounting.failed_walk_count, accounting.sample_count);
            assert!(broken <= all / 20 + 10, "{broken} of {all}");
        }
    });
}

#[test]
fn each_collector_is_kept_busy() {
    const COLLECTORS: [&[&str]; 5] = [
        &["-XX:+UseSerialGC", "-Xmx64m"],
        &["-XX:+UseParallelGC", "-Xmx64m"],
        &["-XX:+UseG1GC", "-Xmx64m"],
        &["-XX:+UseZGC"],
        &["-XX:+UseShenandoahGC"],
    ];
    jdk::each(|jdk| {
        for flags in COLLECTORS {
            if jdk.version == 21 && flags[0] == "-XX:+UseShenandoahGC" {
                // Not every build has it; the others show it.
                continue;
            }
            let (_, profile) = as_without(jdk, flags, "StormGarbage", &["200"]);
            assert_whole(&profile);
        }
    });
}

#[test]
fn compact_headers_are_known() {
    jdk::on(25, |jdk| {
        for more in ["-XX:+UseG1GC", "-XX:+UseZGC"] {
            let flags = ["-XX:+UseCompactObjectHeaders", more];
            as_without(jdk, &flags, "StormVirtual", &["10"]);
            for (main, args) in [("StormGarbage", &["600"]), ("StormDeopt", &["100"])] {
                let (_, profile) = as_without(jdk, &flags, main, args);
                let whole = samples(&profile, |names| has(names, &format!("{main}.storm")));
                let all = profile.accounting.as_ref().unwrap().sample_count;
                assert!(whole * 10 >= all * 3, "{main}: {whole} of {all}");
            }
        }
    });
}

/// Null pointers that compiled code finds by the fault, a mapped file that became shorter, handlers
/// of the program's own.
/// With `-Xcheck:jni` each word that is read takes a system call, so a walk of a deep stack takes many
/// intervals.
#[test]
fn a_program_gets_on_where_walks_take_longer_than_intervals() {
    jdk::each(|jdk| {
        let options = format!("{SIGNALS},depth=4096,file={FILE}");
        let run = JavaRun::new(jdk).agent(&options).jvm_arg("-Xcheck:jni");
        let outcome = run.main("DeepRecursion").args(["20000", "300"]).run();
        outcome.assert_success();
        assert!(outcome.stdout.contains("depth=20000"), "{}", outcome.report());
        let profile = profile(&outcome);
        let below = samples(&profile, |names| has(names, "DeepRecursion.down"));
        assert!(below >= 280, "{below}");
    });
}

#[test]
fn faults_and_signals_of_the_program_stay_its_own() {
    jdk::each(|jdk| {
        for flags in [&[][..], &["-Xint"], &["-XX:TieredStopAtLevel=1"]] {
            let (outcome, _) = as_without(jdk, flags, "StormSignals", &["30"]);
            assert_eq!(outcome.value("mapped"), "3");
        }
        let run = JavaRun::new(jdk).agent(&format!("{SIGNALS},file={FILE}"));
        let outcome = run.jvm_arg("-Xcheck:jni").main("StormSignals").args(["30"]).run();
        outcome.assert_success();
        assert_eq!(outcome.value("nulls"), "60000");
        assert!(!outcome.stdout.contains("handler"), "{}", outcome.stdout);
    });
}
