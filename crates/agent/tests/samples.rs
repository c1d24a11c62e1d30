//! The accuracy of the numbers: the CPU time that the samples represent, its threads and its
//! methods.

#![forbid(unsafe_code)]

mod support;

use perk_testkit::hprof::{Costs, Recording, Section};
use perk_testkit::jdk;

use support::{assert_near, checked, run, run_by_threads, sampled, samples_where, self_counts};

/// Returns the samples of the traces that contain a method.
fn samples_below(text: &Recording, method: &str) -> u64 {
    samples_where(text, |trace| trace.has(method))
}

/// Returns the only section.
fn samples(text: &Recording) -> &Costs {
    let [Section::CpuSamples(samples)] = &text.sections[..] else { panic!("{:?}", text.sections) };
    samples
}

/// Between VMInit and the program's first line, the main thread burns 10 to 60 ms, which are
/// sampled as well; the clock of `begin_cpu_ns` gives the upper limit.
#[test]
fn samples_add_up_to_the_cpu_time_of_a_busy_main() {
    jdk::each(|jdk| {
        for interval_ms in [1, 10] {
            let options = format!(",interval={interval_ms},cutoff=0,depth=64");
            let (outcome, text) = run(jdk, &options, "CpuBound", &["1500"]);
            let sampled_ns = text.sample_count() * interval_ms * 1_000_000;
            let whole = outcome.number("main_cpu_ns");
            let program = whole - outcome.number("begin_cpu_ns");
            assert!(program >= 1_500_000_000);
            assert!(sampled_ns >= program * 9 / 10, "{sampled_ns} of {program}");
            assert!(sampled_ns <= whole * 11 / 10, "{sampled_ns} of {whole}");
            let rows: u64 = text.samples_by_trace().values().sum();
            assert_eq!(rows, text.sample_count());
            let of_main = samples_where(&text, support::in_main) * interval_ms * 1_000_000;
            assert_near(of_main, program, 10, 0, "main");
        }
    });
}

/// The heavy method does three times the work of the light one. (A collector whose loops have no
/// safepoint polls would show the callers.)
#[test]
fn methods_get_their_shares() {
    jdk::each(|jdk| {
        let run = sampled(jdk, ",interval=1,depth=1").jvm_arg("-XX:+UseG1GC");
        let outcome = run.main("CpuBound").args(["2000"]).run();
        outcome.assert_success();
        let counts = self_counts(&checked(&outcome), false);
        let (heavy, light) = (counts["CpuBound.heavy"], counts["CpuBound.light"]);
        let (heavy_ns, light_ns) = (outcome.number("heavy_cpu_ns"), outcome.number("light_cpu_ns"));
        let expected = heavy_ns * 100 / (heavy_ns + light_ns);
        assert_near(heavy * 100 / (heavy + light), expected, 0, 8, "share of heavy");
        let all: u64 = counts.values().sum();
        assert!((heavy + light) * 10 >= all * 7, "{counts:?}");
    });
}

/// Threads of 1 ms, half of which begin and end between two ticks of 2 ms.
#[test]
fn threads_shorter_than_a_tick_are_counted() {
    jdk::each(|jdk| {
        let (options, args) = (",depth=64,cutoff=0,interval=2", ["2000", "1"]);
        let (outcome, profile, of_threads) =
            run_by_threads(jdk, options, "ManyThreads", &args, "short-");
        let threads_ns = outcome.number("threads_cpu_ns");
        assert!(threads_ns >= 2_000_000_000);
        // 2,000 random halves of an interval have a deviation of 22 samples; a thread's start and
        // end cost more than the thread itself measures.
        let slack = 5 * 22 * 2_000_000;
        assert_near(of_threads * 2_000_000, threads_ns, 10, slack, "short threads");
        let names = profile.threads.iter().map(|thread| profile.symbols.strings.get(thread.name));
        assert_eq!(names.filter(|name| name.starts_with("short-")).count(), 2000);
    });
}

#[test]
fn two_busy_threads_get_what_each_burned() {
    jdk::each(|jdk| {
        let (outcome, text) = run(jdk, ",thread=y,cutoff=0,interval=1", "Spin", &["1000", "2"]);
        let threads_ns = outcome.number("threads_cpu_ns");
        let of = |name: &str| {
            let serial = text.thread_named(name);
            samples_where(&text, |trace| trace.thread == Some(serial)) * 1_000_000
        };
        let (first, second) = (of("spin-0"), of("spin-1"));
        assert!(first > 0 && second > 0);
        assert_near(first + second, threads_ns, 10, 0, "both");
        let whole = text.sample_count() * 1_000_000;
        assert!(whole >= first + second && whole <= threads_ns * 11 / 10 + 100_000_000, "{whole}");
    });
}

/// The methods in which threads of `IdleThreads` wait, on any JDK, as the beginnings of their
/// names.
const WAITS: [&str; 7] = [
    "sun.nio.ch.Net.accept",
    "sun.nio.ch.Net.poll",
    "sun.nio.ch.NioSocketImpl.accept",
    "java.lang.Thread.sleep",
    "java.lang.Object.wait",
    "jdk.internal.misc.Unsafe.park",
    "java.util.concurrent.locks.LockSupport.park",
];

/// The original gave most of the samples to blocked accepts.
#[test]
fn idle_threads_have_no_samples() {
    jdk::each(|jdk| {
        let options = ",depth=64,thread=y,cutoff=0,interval=1";
        let (outcome, text) = run(jdk, options, "IdleThreads", &["200", "1000"]);
        let idle = text.threads.values().filter(|it| it.name.starts_with("idle-")).count();
        assert_eq!(idle, 200);
        let waits = |method: &str| WAITS.iter().any(|start| method.starts_with(start));
        let waiting: Vec<_> =
            self_counts(&text, false).into_iter().filter(|(method, _)| waits(method)).collect();
        // Beginning to wait costs CPU time too, a few microseconds per thread; and one walk can
        // represent several samples.
        assert!(waiting.iter().map(|(_, count)| count).sum::<u64>() <= 5, "{waiting:?}");
        let main_ns = samples_below(&text, "IdleThreads.burn") * 1_000_000;
        assert_near(main_ns, 1_000_000_000, 10, 0, "burn");
        assert!(outcome.number("main_cpu_ns") > 1_000_000_000);
        let threads = text.sample_count() * 1_000_000 - main_ns;
        // The start of 200 threads costs some 0.1 ms each, and main its own time.
        assert!(threads <= 600_000_000, "{threads}");
    });
}

#[test]
fn intervals_change_the_number_of_samples_not_their_sum() {
    jdk::each(|jdk| {
        for (interval, interval_ns) in
            [("1", 1_000_000), ("100", 100_000_000), ("500us", 500_000), ("20ms", 20_000_000)]
        {
            let options = format!(",cutoff=0,depth=64,interval={interval}");
            let (outcome, text) = run(jdk, &options, "CpuBound", &["1000"]);
            let program = outcome.number("main_cpu_ns") - outcome.number("begin_cpu_ns");
            let of_main = samples_where(&text, support::in_main) * interval_ns;
            assert_near(of_main, program, 10, interval_ns, interval);
        }
    });
}

#[test]
fn no_depth_means_no_samples() {
    jdk::each(|jdk| {
        for args in [["20", "10"], ["1", "100"]] {
            let (_, text) = run(jdk, ",depth=0,thread=y", "ManyThreads", &args);
            assert_eq!(text.sample_count(), 0);
            assert_eq!(text.sections.len(), 1);
            assert!(text.traces.is_empty());
        }
    });
}

#[test]
fn depth_limits_the_frames() {
    jdk::each(|jdk| {
        let deepest = |depth: u32, args: &[&str]| {
            let options = format!(",depth={depth},cutoff=0,interval=1");
            let (_, text) = run(jdk, &options, "DeepRecursion", args);
            let lengths = text.samples_by_trace();
            let lengths = lengths.keys().map(|serial| text.traces[serial].frames.len());
            (lengths.max().unwrap(), text)
        };
        assert_eq!(deepest(1, &["100", "100"]).0, 1);
        assert_eq!(deepest(4, &["100", "100"]).0, 4);
        // 100 frames of down, and those that start a thread.
        let (_, text) = deepest(2048, &["100", "100"]);
        // Where a class is loaded, its loader's frames are above those.
        let most = text.samples_by_trace().into_iter().max_by_key(|(_, count)| *count);
        let frames = &text.traces[&most.unwrap().0].frames;
        let whole = frames.len();
        assert!((102..120).contains(&whole), "{whole}");
        let outermost = &frames[whole - 1].method;
        assert!(outermost.starts_with("java.lang.Thread.run"), "{outermost}");

        let (deep, text) = deepest(2048, &["50000", "300"]);
        assert_eq!(deep, 2048);
        let at_bottom = samples_where(&text, |trace| {
            trace.has("DeepRecursion.bottom")
                && trace.frames.iter().filter(|it| it.method == "DeepRecursion.down").count() > 2000
        });
        assert_near(at_bottom, 300, 15, 0, "bottom");
    });
}

#[test]
fn the_cutoff_drops_rows_and_keeps_the_total() {
    jdk::each(|jdk| {
        let cut = |cutoff: &str| {
            let options = format!(",depth=1,interval=1,cutoff={cutoff}");
            run(jdk, &options, "IdleThreads", &["0", "500"]).1
        };
        let rows = |text: &Recording| samples(text).rows.iter().map(|row| row.count).sum::<u64>();
        let all = cut("0");
        assert_eq!(rows(&all), all.sample_count());
        assert!(samples(&all).rows.len() > 2);
        // One method has nearly all samples, at a few places; the JVM's start has the rest.
        let some = cut("0.1");
        assert!(!samples(&some).rows.is_empty() && rows(&some) < some.sample_count());
        assert!(samples(&some).rows.iter().all(|row| row.count * 10 >= some.sample_count()));
        let half = cut("0.5");
        assert!(samples(&half).rows.iter().all(|row| row.count * 2 >= half.sample_count()));
        assert!(rows(&half) < half.sample_count());
        let none = cut("2");
        assert!(samples(&none).rows.is_empty() && none.traces.is_empty());
        assert!(none.sample_count() >= 450, "{}", none.sample_count());
    });
}

#[test]
fn lines_are_written_unless_they_are_not_wanted() {
    jdk::each(|jdk| {
        let lines = |options: &str| {
            let (_, text) = run(jdk, options, "CpuBound", &["300"]);
            let frames = text.traces.values().flat_map(|trace| &trace.frames);
            let lines = frames.map(|frame| (frame.method.clone(), frame.line, frame.is_native));
            lines.collect::<Vec<_>>()
        };
        let with = lines(",depth=64,interval=1,cutoff=0");
        let own: Vec<_> =
            with.iter().filter(|(method, ..)| method.starts_with("CpuBound.")).collect();
        assert!(!own.is_empty());
        for (method, line, _) in own {
            let number = line.unwrap_or_else(|| panic!("{method} has no line"));
            let range = match method.as_str() {
                "CpuBound.main" => 10..31,
                "CpuBound.heavy" => 31..39,
                "CpuBound.light" => 39..47,
                _ => panic!("{method}"),
            };
            assert!(range.contains(&number), "{method}: {number}");
        }
        let without = lines(",depth=64,interval=1,cutoff=0,lineno=n");
        assert!(!without.is_empty());
        for (method, line, is_native) in without {
            assert_eq!((line, is_native), (None, false), "{method}");
        }
    });
}

#[test]
fn threads_are_distinguished_only_when_wanted() {
    jdk::each(|jdk| {
        let (_, together) = run(jdk, "", "Spin", &["300", "2"]);
        assert!(!together.traces.is_empty());
        assert!(together.traces.values().all(|trace| trace.thread.is_none()));
        // The checker has seen a START before each trace that has a thread.
        let (_, apart) = run(jdk, ",thread=y,cutoff=0", "Spin", &["300", "2"]);
        assert!(apart.traces.values().all(|trace| trace.thread.is_some()));
        for name in ["spin-0", "spin-1"] {
            let serial = apart.thread_named(name);
            assert!(apart.traces.values().any(|trace| trace.thread == Some(serial)), "{name}");
        }
    });
}
