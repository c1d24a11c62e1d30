//! CPU samples by signals: the places, and the program beside them.

#![forbid(unsafe_code)]

mod support;

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;

use perk_profile::{Frame, FrameKind, MethodId, Metric, Profile, TraceId, Unit, metric};
use perk_testkit::hprof::Trace;
use perk_testkit::jdk;

use support::{
    FILE, assert_deepest, assert_near, assert_quiet, checked, run, sampled, samples_where,
    self_counts,
};

/// A walk at a safepoint cannot see any of the three. The program measures its shares itself. Each of
/// its 60 slices has 100 samples, give or take one at its ends: a deviation of less than a tenth of a
/// point, and of a quarter where the kernel's ticks of 4 ms take the samples.
#[test]
fn places_get_their_shares() {
    jdk::each(|jdk| {
        let run = sampled(jdk, ",engine=signal,interval=1,cutoff=0,depth=8");
        let run = run.jvm_arg("-XX:-UseCountedLoopSafepoints").main("KnownPlaces");
        let outcome = run.args(["6000"]).run();
        outcome.assert_success();
        let text = checked(&outcome);
        let in_main = |trace: &Trace| trace.has("KnownPlaces.main");
        let (all, tops) = (samples_where(&text, in_main), self_counts(&text, false));
        let on_top = |method: &str| tops.get(method).copied().unwrap_or(0);
        // The intrinsic's own code is a stub, or part of its caller.
        let places: [(&str, &[&str]); 3] = [
            ("counted_ns", &["KnownPlaces.counted"]),
            ("filled_ns", &["java.util.Arrays.fill", "KnownPlaces.filled"]),
            ("leaves_ns", &["KnownPlaces.leaf", "KnownPlaces.leaves"]),
        ];
        let all_ns: u64 = places.iter().map(|place| outcome.number(place.0)).sum();
        for (name, methods) in places {
            let samples: u64 = methods.iter().map(|method| on_top(method)).sum();
            // In thousandths: ten are a point.
            let expected = outcome.number(name) * 1000 / all_ns;
            assert_near(samples * 1000 / all, expected, 0, 10, name);
        }
        let fills = on_top("java.util.Arrays.fill");
        assert!(fills * 100 >= (fills + on_top("KnownPlaces.filled")) * 60, "{tops:?}");
    });
}

#[test]
fn samples_stand_for_the_cpu_time_of_a_busy_main() {
    jdk::each(|jdk| {
        for interval_ms in [1, 10] {
            let options = format!(",engine=signal,interval={interval_ms},cutoff=0,depth=64");
            let (outcome, text) = run(jdk, &options, "CpuBound", &["1500"]);
            let of_main = samples_where(&text, support::in_main) * interval_ms * 1_000_000;
            let program = outcome.number("main_cpu_ns") - outcome.number("begin_cpu_ns");
            assert_near(of_main, program, 3, 0, "main");
        }
    });
}

/// The JVM's modes and collectors: the program runs as without perk, and its stacks are whole.
#[test]
fn stacks_are_whole_in_each_mode_of_the_jvm() {
    const MODES: [&str; 8] = [
        "-Xint",
        "-Xcomp",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-XX:+UseParallelGC",
        "-XX:+UseZGC",
        "-XX:-UseCompressedOops",
        "-Xcheck:jni",
    ];
    jdk::each(|jdk| {
        for mode in MODES {
            let run = sampled(jdk, ",engine=signal,interval=1,cutoff=0").jvm_arg(mode);
            let outcome = run.main("CpuBound").args(["300"]).run();
            outcome.assert_success();
            if mode != "-Xcheck:jni" {
                assert_quiet(&outcome);
            }
            assert!(!outcome.stdout.contains("handler modified"), "{}", outcome.stdout);
            let text = checked(&outcome);
            let all: u64 = text.samples_by_trace().values().sum();
            let of_main = samples_where(&text, support::in_main);
            assert!(of_main * 10 >= all * 3, "{mode}: {of_main} of {all}");
        }
    });
}

#[test]
fn deep_stacks_are_walked() {
    jdk::each(|jdk| {
        for depth in [4, 2048, 60_000] {
            assert_deepest(jdk, ",engine=signal,interval=4", depth);
        }
    });
}

#[test]
fn threads_that_come_and_go_are_counted() {
    jdk::each(|jdk| {
        let (options, main) = (",engine=signal,interval=1,depth=16,cutoff=0", "ManyThreads");
        let (outcome, _) = run(jdk, options, main, &["2000", "2"]);
        assert_quiet(&outcome);
    });
}

/// Returns the names of native functions in a trace, and those of methods, innermost first.
fn native_and_java(profile: &Profile, trace: TraceId) -> (Vec<String>, Vec<String>) {
    let symbols = &profile.symbols;
    // Functions have no class.
    let is_native = |id: &MethodId| {
        let class = symbols.get_method(*id).class;
        symbols.class_name(class).is_empty()
    };
    let methods = profile.frames(trace).map(|id| symbols.get_frame(id).method);
    let (native, java): (Vec<_>, Vec<_>) = methods.partition(is_native);
    let names = |ids: Vec<MethodId>| ids.into_iter().map(|id| symbols.method_name(id)).collect();
    (names(native), names(java))
}

#[test]
fn the_jvms_own_threads_are_a_metric_of_their_own() {
    jdk::each(|jdk| {
        let run = sampled(jdk, ",engine=signal,format=p").jvm_arg("-Xcomp").main("CpuBound");
        let outcome = run.args(["300"]).run();
        outcome.assert_success();
        let profile = perk_hprof::read(outcome.bytes(FILE)).unwrap();
        let jvm = Metric::other(metric::JVM, Unit::Nanoseconds).rows(&profile);
        let (mut all_ns, mut named_ns) = (0, 0);
        for (key, ns) in &jvm.rows {
            let (functions, _) = native_and_java(&profile, key.trace);
            let group = functions.last().expect("a group of threads");
            if group.ends_with("CompilerThread]") {
                let is_named = functions.iter().any(|name| name.starts_with("CompileBroker::"));
                all_ns += ns;
                named_ns += ns * u64::from(is_named);
            }
        }
        // Compiling all methods takes far more than a second.
        assert!(all_ns > 500_000_000, "{all_ns} of {}", jvm.total);
        assert!(named_ns * 100 >= all_ns * 90, "{named_ns} of {all_ns}");
        // The rows of samples are Java's alone.
        for (trace, _) in profile.total_cpu_samples().rows {
            assert_eq!(native_and_java(&profile, trace).0, Vec::<String>::new());
        }
    });
}

#[test]
fn native_functions_are_above_the_method_that_called_them() {
    jdk::each(|jdk| {
        let run = sampled(jdk, ",engine=signal,format=p,native=y,depth=32,interval=1");
        let outcome = run.main("FlatProfile").args(["1500"]).run();
        outcome.assert_success();
        let profile = perk_hprof::read(outcome.bytes(FILE)).unwrap();
        let (mut inside, mut above) = (0, 0);
        for (trace, count) in profile.total_cpu_samples().rows {
            let (native, java) = native_and_java(&profile, trace);
            if java.first().is_some_and(|name| name == "java.lang.Thread.holdsLock") {
                inside += count;
                above += count * u64::from(native.iter().any(|name| name == "JVM_HoldsLock"));
            }
        }
        for id in (0..profile.symbols.method_count()).map(MethodId::new) {
            if profile.symbols.method_name(id) == "JVM_HoldsLock" {
                let library = profile.symbols.get_method(id).source;
                let library = library.map(|it| profile.symbols.strings.get(it));
                assert_eq!(library, Some("libjvm.so"));
            }
        }
        assert!(inside > 50, "{inside}");
        // The others are in the code that the JVM generates for the call.
        assert!(above * 4 >= inside, "{above} of {inside}");
    });
}

/// Whether the system shows agents the kernel's frames and their names.
fn shows_kernel() -> bool {
    let number = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?;
        text.trim().parse::<i32>().ok()
    };
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0);
    let is_shown = number("perf_event_paranoid").is_some_and(|it| it < 2 || is_root)
        && number("kptr_restrict").is_some_and(|it| it == 0 || it == 1 && is_root);
    if !is_shown {
        eprintln!("NOT TESTED: kernel.perf_event_paranoid or kernel.kptr_restrict forbids it");
    }
    is_shown
}

#[test]
fn functions_of_the_kernel_are_above_the_native_ones() {
    if !shows_kernel() {
        return;
    }
    jdk::each(|jdk| {
        // As long as the kernel's ticks, and shorter.
        for interval_ms in [10, 1] {
            let options =
                format!(",engine=signal,format=p,native=y,depth=64,interval={interval_ms}");
            let outcome = sampled(jdk, &options).main("KernelTime").args(["1500"]).run();
            outcome.assert_success();
            assert_quiet(&outcome);
            let profile = perk_hprof::read(outcome.bytes(FILE)).unwrap();
            let symbols = &profile.symbols;
            let (mut inside, mut whole) = (0, 0);
            for (trace, count) in profile.total_cpu_samples().rows {
                let frames: Vec<_> =
                    profile.frames(trace).map(|frame| symbols.get_frame(frame)).collect();
                let is_kernel = |frame: &Frame| frame.kind == FrameKind::Kernel;
                let kernel_count = frames.iter().take_while(|frame| is_kernel(frame)).count();
                let (kernel, others) = frames.split_at(kernel_count);
                assert!(!others.iter().any(is_kernel), "the kernel's frames are the innermost");
                let names = |frames: &[Frame]| {
                    frames.iter().map(|it| symbols.method_name(it.method)).collect::<Vec<_>>()
                };
                if names(others).iter().any(|name| name == "KernelTime.fill") {
                    inside += count;
                    let is_read = names(kernel).iter().any(|name| name == "vfs_read")
                        && others.first().is_some_and(|it| it.kind == FrameKind::Native);
                    whole += count * u64::from(is_read);
                }
            }
            assert!(inside * interval_ms > 700, "{inside}");
            assert!(whole * 10 >= inside * 8, "{whole} of {inside}");
        }
    });
}

#[test]
fn stubs_have_their_own_names() {
    jdk::each(|jdk| {
        let run = sampled(jdk, ",engine=signal,format=p,native=y,depth=32,interval=2");
        let outcome = run.main("Stubs").args(["1000"]).run();
        outcome.assert_success();
        let profile = perk_hprof::read(outcome.bytes(FILE)).unwrap();
        let symbols = &profile.symbols;
        let (mut all, mut copies, mut groups) = (0, 0, 0);
        for (trace, count) in profile.total_cpu_samples().rows {
            let frames = profile.frames(trace).map(|id| symbols.get_frame(id));
            let mut stubs = frames.filter(|frame| frame.kind == FrameKind::Stub);
            let Some(stub) = stubs.next() else { continue };
            let name = symbols.method_name(stub.method);
            all += count;
            copies += count * u64::from(name.starts_with("jbyte_disjoint_arraycopy"));
            groups += count * u64::from(name.starts_with("[StubRoutines"));
        }
        assert!(copies > 50 && copies * 4 > all, "{copies} of {all}");
        assert!(groups * 50 <= all, "{groups} of {all}");
    });
}

/// Each object of a lambda or of a method reference calls one method; other forms have the JVM's name.
#[test]
fn objects_of_lambdas_have_the_name_of_what_they_call() {
    jdk::each(|jdk| {
        for (form, is_named) in [("p", true), ("b", false)] {
            let options = format!(",engine=signal,format={form},depth=64,interval=1");
            let outcome = sampled(jdk, &options).main("Lambdas").args(["60000"]).run();
            outcome.assert_success();
            let profile = perk_hprof::read(outcome.bytes(FILE)).unwrap();
            let symbols = &profile.symbols;
            let name = |id: MethodId| {
                let method = symbols.get_method(id);
                (symbols.class_name(method.class), symbols.strings.get(method.name))
            };
            let mut names = BTreeSet::new();
            for (trace, _) in profile.total_cpu_samples().rows {
                let frames = profile.frames(trace).map(|id| name(symbols.get_frame(id).method));
                let frames: Vec<_> = frames.collect();
                for calls in frames.windows(2) {
                    let [(callee_class, callee), (class, name)] = calls else { continue };
                    if *class == "Lambdas$$Lambda" && *callee_class == "Lambdas" {
                        assert_eq!(name == callee, is_named, "{name} calls {callee}");
                        names.insert(*name);
                    }
                }
            }
            let expected = if is_named { "work" } else { "applyAsLong" };
            assert!(names.contains(expected), "{names:?}");
            assert!(!is_named || names.len() > 2, "{names:?}");
        }
    });
}

#[test]
fn the_engine_is_refused_where_it_means_nothing() {
    let jdk = jdk::compiler();
    let refused = |options: &str| {
        let run = perk_testkit::run::JavaRun::new(jdk).agent(options);
        let outcome = run.main("CpuBound").args(["1"]).run();
        outcome.assert_code(1);
        outcome.stderr
    };
    let text = refused("cpu=times,engine=signal");
    assert!(text.contains("engine is only supported with cpu=samples"), "{text}");
}
