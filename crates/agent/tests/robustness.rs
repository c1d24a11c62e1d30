//! Conditions that must do no harm: hostile names, deep stacks, threads and classes that come and
//! go, virtual threads, every collector, and dumps in quick succession.

#![forbid(unsafe_code)]

mod support;

use std::collections::BTreeSet;
use std::time::Duration;

use perk_hprof::Format;
use perk_profile::Profile;
use perk_testkit::hprof::Recording;
use perk_testkit::{JavaRun, Jdk, Signal, jdk};

use support::{
    FILE, assert_deepest, assert_near, assert_quiet, checked, progress, run, run_by_threads,
    sampled, samples_where,
};

/// Returns the names of threads and `class.method`s.
fn names(profile: &Profile) -> (BTreeSet<String>, BTreeSet<String>) {
    let symbols = &profile.symbols;
    let threads = profile.threads.iter().map(|thread| symbols.strings.get(thread.name).to_owned());
    let samples = profile.total_cpu_samples();
    let frames = samples.rows.iter().flat_map(|&(trace, _)| profile.frames(trace));
    let methods = frames.map(|frame| symbols.method_name(symbols.get_frame(frame).method));
    (threads.collect(), methods.collect())
}

/// A `finalize` that does nothing gets no probe: with one, the JVM would keep the objects and finalise
/// them.
#[test]
fn an_empty_finalize_stays_empty() {
    let measurements = [
        "cpu=times",
        "cpu=counts",
        "heap=sites",
        "jamaica=bytecodes",
        "fields=shared",
        "cpu=times,heap=all",
    ];
    jdk::each(|jdk| {
        for options in measurements {
            let agent = JavaRun::new(jdk).agent(&format!("{options},file=o"));
            let outcome = agent.jvm_arg("-XX:+UseSerialGC").main("EmptyFinalizers").run();
            outcome.assert_success();
            assert_eq!(outcome.number("kept"), 0, "{options} on {}", jdk.version);
        }
    });
}

/// The names of `StrangeNames`, as the agent decodes them.
#[test]
fn strange_names_stay_readable() {
    let long = "x".repeat(60_000);
    let threads = [
        "quote \" and \\ backslash",
        "tab\there",
        "line\nbreak\r",
        "nul\0byte",
        "grüße-中文-😀",
        "lone-\\uD800",
        "",
        &long,
    ];
    let methods = [
        "odd.Quote\"d.say \"hi\"",
        "odd.List$$plus$plus.$plus$plus",
        "odd.Kotlin spaces.foo bar (baz)",
        "user$_main__1234$fn._main__1234$fn",
        "odd.Größe中😀.méthode😀",
        "odd.Tab\tNewline\nNul\0.tab\tnewline\nnul\0",
        &format!("odd.{long}.short"),
        &format!("odd.LongMethod.{long}"),
    ];
    jdk::each(|jdk| {
        for format in [Format::Binary, Format::Ascii] {
            let letter = if format == Format::Binary { 'b' } else { 'a' };
            let options = format!(",format={letter},thread=y,depth=64,interval=1,cutoff=0");
            let outcome = sampled(jdk, &options).main("StrangeNames").args(["50"]).run();
            outcome.assert_success();
            let profile = perk_hprof::read(outcome.bytes(FILE)).unwrap();
            let (found_threads, found_methods) = names(&profile);
            // In text, the two characters that end lines are written as escapes.
            let shown = |name: &str| match format {
                Format::Binary => name.to_owned(),
                _ => name.replace('\n', "\\n").replace('\r', "\\r"),
            };
            for name in threads {
                assert!(found_threads.contains(&shown(name)), "{name:.40}: {found_threads:.40?}");
            }
            for name in methods {
                assert!(found_methods.contains(&shown(name)), "{name:.40}: {found_methods:.40?}");
            }
            if format == Format::Ascii {
                checked(&outcome);
            }
        }
    });
}

#[test]
fn stacks_of_any_depth_are_walked() {
    jdk::each(|jdk| {
        // The last depth is larger than any walk. A walk of the whole stack takes some 10 ms.
        for depth in [1, 4, 2048, 60_000, 2_000_000_000] {
            assert_deepest(jdk, ",interval=1", depth);
        }
    });
}

/// Two thousand threads that live for a fraction of a millisecond, and for two milliseconds.
#[test]
fn threads_that_come_and_go_fast_are_all_reported() {
    jdk::each(|jdk| {
        let (options, main) = (",interval=1,depth=16,cutoff=0", "ManyThreads");
        let (outcome, text) = run(jdk, &format!("{options},thread=y"), main, &["2000", "0"]);
        assert_quiet(&outcome);
        let threads = text.threads.iter();
        let short = threads.filter(|(_, thread)| thread.name.starts_with("short-"));
        let short: Vec<u32> = short.map(|(serial, _)| *serial).collect();
        assert_eq!(short.len(), 2000);
        assert!(short.iter().all(|serial| text.ended.contains(serial)));
        for cpu_ms in ["0", "2"] {
            let (outcome, _, samples) =
                run_by_threads(jdk, options, main, &["2000", cpu_ms], "short-");
            assert_quiet(&outcome);
            let sampled_ns = samples * 1_000_000;
            // The sum of 2000 random parts of a millisecond has a deviation of 13 ms. The JVM's
            // work before it reports a thread's start is in the program's number only: half of the
            // shortest.
            let threads_ns = outcome.number("threads_cpu_ns");
            assert!(
                sampled_ns <= threads_ns * 11 / 10 + 50_000_000,
                "{sampled_ns} of {threads_ns}"
            );
            if cpu_ms != "0" {
                assert_near(sampled_ns, threads_ns, 10, 50_000_000, "threads");
            }
        }
    });
}

fn virtual_samples(text: &Recording) -> u64 {
    samples_where(text, |trace| trace.has("VirtualThreads.burnInVirtual"))
}

#[test]
fn virtual_threads_have_their_own_frames() {
    jdk::each(|jdk| {
        let (outcome, together) =
            run(jdk, ",depth=64,interval=1", "VirtualThreads", &["8", "2000"]);
        let (_, apart) =
            run(jdk, ",depth=64,interval=1,thread=y", "VirtualThreads", &["8", "2000"]);
        if jdk.version < 21 {
            assert_eq!(outcome.value("virtual"), "no");
            assert_eq!(virtual_samples(&together), 0);
            return;
        }
        assert_eq!(outcome.value("virtual"), "yes");
        for text in [&together, &apart] {
            let burnt = virtual_samples(text);
            assert!(burnt * 2 > text.sample_count(), "{burnt} of {}", text.sample_count());
            // A virtual thread's stack ends where the thread begins; the carrier's frames are not
            // below it.
            for trace in text.traces.values().filter(|it| it.has("VirtualThreads.burnInVirtual")) {
                assert!(!trace.has("java.util.concurrent.ForkJoinWorkerThread.run"), "{trace:?}");
                assert!(trace.has("java.lang.VirtualThread.run"), "{trace:?}");
            }
        }
        assert_eight_apart(&apart);
    });
}

/// Eight threads without a name of their own, each with a THREAD START before its traces.
fn assert_eight_apart(apart: &Recording) {
    let of_virtual: BTreeSet<u32> = apart
        .traces
        .values()
        .filter(|trace| trace.has("VirtualThreads.burnInVirtual"))
        .filter_map(|trace| trace.thread)
        .collect();
    assert!((2..=8).contains(&of_virtual.len()), "{of_virtual:?}");
    for serial in of_virtual {
        assert_eq!(apart.threads[&serial].group, "VirtualThreads");
    }
}

#[test]
fn virtual_threads_are_distinguished_with_coloured_references() {
    let flags = [
        (21, vec!["-XX:+UseZGC"]),
        (21, vec!["-XX:+UseZGC", "-XX:+ZGenerational"]),
        (25, vec!["-XX:+UseZGC"]),
    ];
    for (version, flags) in flags {
        jdk::on(version, |jdk| {
            let run = sampled(jdk, ",depth=64,interval=1,thread=y,engine=signal");
            let run = flags.iter().fold(run, |run, flag| run.jvm_arg(*flag));
            let outcome = run.main("VirtualThreads").args(["8", "2000"]).run();
            outcome.assert_success();
            assert_eight_apart(&checked(&outcome));
        });
    }
}

#[test]
fn frames_of_virtual_threads_in_the_heap_are_sampled() {
    jdk::each_of(&[21, 25], |jdk| {
        let run = sampled(jdk, ",depth=1000,interval=1,engine=signal,cutoff=0");
        let outcome = run.main("HotSpots").args(["2500", "yielding"]).run();
        outcome.assert_success();
        let text = checked(&outcome);
        let yielding = samples_where(&text, |trace| trace.has("HotSpots.unwound"));
        let whole = samples_where(&text, |trace| {
            trace.has("HotSpots.unwound") && trace.has("java.lang.VirtualThread.run")
        });
        // The first samples show that there are virtual threads.
        assert!(yielding > 0 && whole * 10 >= yielding * 9, "{whole} of {yielding}");
    });
}

#[test]
fn virtual_threads_that_mount_and_unmount_all_the_time() {
    jdk::each(|jdk| {
        for options in [",interval=1,depth=64", ",interval=200us,depth=64,thread=y"] {
            let (outcome, text) = run(jdk, options, "VirtualChurn", &["20"]);
            assert_quiet(&outcome);
            if jdk.version < 21 {
                assert_eq!(outcome.value("virtual"), "no");
                continue;
            }
            assert_eq!(outcome.number("ended"), 4000);
            assert!(text.sample_count() > 0);
            assert!(text.traces.values().any(|trace| trace.has("VirtualChurn.churn")));
        }
    });
}

/// Whether the JVM starts with the options.
fn takes(jdk: &Jdk, options: &[&str]) -> bool {
    let run = options.iter().fold(JavaRun::new(jdk), |run, option| run.jvm_arg(option));
    run.args(["-version"]).run().code() == Some(0)
}

#[test]
fn every_way_to_run_the_jvm() {
    let ways: [&[&str]; 12] = [
        &["-XX:+UseSerialGC"],
        &["-XX:+UseParallelGC"],
        &["-XX:+UseG1GC"],
        &["-XX:+UseZGC"],
        &["-XX:+UseShenandoahGC"],
        &["-Xint"],
        &["-XX:TieredStopAtLevel=1"],
        &["-XX:-UseCompressedOops"],
        &["-Xshare:off"],
        &["-Xmx16m"],
        &["-XX:+UnlockExperimentalVMOptions", "-XX:+UseCompactObjectHeaders"],
        &["-XX:+UnlockDiagnosticVMOptions", "-XX:+SafepointALot"],
    ];
    jdk::each(|jdk| {
        let mut taken = 0;
        for way in ways.iter().filter(|way| takes(jdk, way)) {
            taken += 1;
            let run = sampled(jdk, ",interval=1,depth=64,cutoff=0");
            let run = way.iter().fold(run, |run, option| run.jvm_arg(option));
            let outcome = run.clone().main("CpuBound").args(["200"]).run();
            outcome.assert_success();
            assert_quiet(&outcome);
            let text = checked(&outcome);
            let below_main = samples_where(&text, support::in_main) * 1_000_000;
            let program = outcome.number("main_cpu_ns") - outcome.number("begin_cpu_ns");
            assert_near(below_main, program, 15, 0, &format!("{way:?}"));

            let outcome = run.main("ManyThreads").args(["50", "3"]).run();
            outcome.assert_success();
            assert_quiet(&outcome);
            checked(&outcome);
        }
        // The experimental collectors may be missing.
        assert!(taken >= 9, "{taken}");
    });
}

/// `-Xcheck:jni` warns of any misuse of JNI, in every callback.
#[test]
fn the_jvm_finds_no_fault_in_the_use_of_jni() {
    jdk::each(|jdk| {
        let programs: [(&str, &[&str]); 4] = [
            ("ManyThreads", &["100", "2"]),
            ("VirtualThreads", &["4", "5"]),
            ("StrangeNames", &["5"]),
            ("ClassUnloading", &["3"]),
        ];
        for (main, args) in programs {
            for format in ["a", "b"] {
                let options = format!(",interval=1,depth=64,thread=y,format={format}");
                let run = sampled(jdk, &options).jvm_arg("-Xcheck:jni");
                let outcome = run.main(main).args(args).run();
                outcome.assert_success();
                assert_quiet(&outcome);
                assert_eq!(outcome.stderr, progress(), "{}", outcome.report());
                perk_hprof::read(outcome.bytes(FILE)).unwrap();
            }
        }
    });
}

/// Method ids of unloaded classes, with collectors that run at once and with those that run beside
/// the program.
#[test]
fn classes_are_unloaded_while_they_are_sampled() {
    jdk::each(|jdk| {
        for collector in ["-XX:+UseSerialGC", "-XX:+UseG1GC", "-XX:+UseZGC"] {
            if !takes(jdk, &[collector]) {
                continue;
            }
            for format in ["a", "b"] {
                let options = format!(",interval=500us,depth=64,cutoff=0,format={format}");
                let run = sampled(jdk, &options).jvm_arg(collector).main("ClassUnloading");
                let outcome = run.args(["40"]).run();
                outcome.assert_success();
                assert_quiet(&outcome);
                // The agent must not keep the classes alive.
                assert!(outcome.number("unloaded") >= 38, "{}", outcome.report());
                let profile = perk_hprof::read(outcome.bytes(FILE)).unwrap();
                let (_, methods) = names(&profile);
                assert!(methods.contains("ClassUnloading$Payload.run"), "{methods:?}");
            }
        }
    });
}

#[test]
fn a_compiler_is_profiled() {
    jdk::each(|jdk| {
        if !jdk.has_javac {
            eprintln!("skipped: JDK {} has no compiler", jdk.version);
            return;
        }
        let run = sampled(jdk, ",interval=1,depth=2048,thread=y,cutoff=0").jvm_arg("-Xmx256m");
        let outcome = run.main("CompileInProcess").args(["300"]).run();
        outcome.assert_success();
        assert_eq!(outcome.value("compiled"), "true");
        assert_quiet(&outcome);
        let text = checked(&outcome);
        let compiler = "com.sun.tools.javac.api.JavacTaskImpl.call";
        let compiling = samples_where(&text, |trace| trace.has(compiler));
        assert!(compiling * 2 > text.sample_count(), "{compiling} of {}", text.sample_count());
        assert!(text.traces.len() > 100);
    });
}

/// Requests that come during a dump are ignored; no sample is lost or written twice.
#[test]
fn dumps_in_quick_succession() {
    jdk::each(|jdk| {
        let mut running =
            sampled(jdk, ",interval=1,depth=64,cutoff=0").main("SpinUntilStop").spawn();
        running.wait_for_stdout("ready");
        for _ in 0..150 {
            running.signal(Signal::QUIT);
            std::thread::sleep(Duration::from_millis(20));
        }
        std::fs::write(running.dir().join("stop"), "").unwrap();
        let outcome = running.wait();
        outcome.assert_success();
        let text = checked(&outcome);
        assert!(text.sections.len() >= 10, "{}", text.sections.len());
        assert_eq!(outcome.stderr, progress().repeat(text.sections.len()));
        let below_main = samples_where(&text, |trace| trace.has("SpinUntilStop.main")) * 1_000_000;
        assert_near(below_main, outcome.number("main_cpu_ns"), 10, 100_000_000, "main");
        let mut files: Vec<&str> = outcome.files.keys().map(String::as_str).collect();
        files.retain(|name| *name != "stop");
        assert_eq!(files, [FILE]);
    });
}
