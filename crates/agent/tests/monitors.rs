//! `monitor=y` on programs whose waits are known by arithmetic and by clocks of their own.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use perk_profile::{
    Event, HolderRow, LockKind, Metric, MonitorDump, MonitorRow, Profile, Status, WaitEvent,
    WaitKind, Waits,
};
use perk_testkit::{JavaRun, Jdk, Outcome, Signal, jdk, native_library};
use tempfile::TempDir;

const MS_NS: u64 = 1_000_000;
/// Both formats that contain monitors.
const FORMATS: [(&str, &str); 2] = [("a", "o.txt"), ("p", "o.hprof")];
/// Both, and samples of waits by their duration: those of a millisecond are all recorded.
const WAYS: [(&str, &str, &str); 3] =
    [("a", "o.txt", ""), ("p", "o.hprof", ""), ("p", "o.hprof", ",budget=y")];
/// As many carriers as blocked threads: before JDK 24, a blocked thread keeps its carrier.
const CARRIERS: [&str; 2] =
    ["-Djdk.virtualThreadScheduler.parallelism=12", "-Djdk.virtualThreadScheduler.maxPoolSize=12"];

fn monitored(jdk: &Jdk, format: &str, file: &str, options: &str) -> JavaRun {
    JavaRun::new(jdk).agent(&format!("monitor=y,cutoff=0,format={format},file={file}{options}"))
}

#[track_caller]
fn read(outcome: &Outcome, file: &str) -> Profile {
    outcome.assert_success();
    match perk_hprof::read(outcome.bytes(file)) {
        Ok(profile) => profile,
        Err(error) => panic!("{file}: {error}\n{}", outcome.report()),
    }
}

/// Returns the rows of all sections below `method`.
fn rows(profile: &Profile, method: &str) -> Vec<MonitorRow> {
    let is_in = |row: &MonitorRow| {
        profile.frames(row.trace).any(|frame| {
            let frame = profile.symbols.get_frame(frame);
            profile.symbols.method_name(frame.method) == method
        })
    };
    profile.monitor_times().flat_map(|section| section.rows).filter(is_in).collect()
}

fn sum(rows: &[MonitorRow]) -> Waits {
    let mut sum = Waits::default();
    rows.iter().for_each(|row| sum.add(row.waits));
    sum
}

/// Fails unless `ns` agrees with the program's own clocks, except for the time of a few calls.
#[track_caller]
fn assert_time(ns: u64, counted_ns: u64, count: u64, what: &str) {
    let limit_ns = counted_ns / 50 + count * 2 * MS_NS;
    let off_ns = ns.abs_diff(counted_ns);
    assert!(off_ns <= limit_ns, "{what}: {ns} ns, the program says {counted_ns}");
}

/// As [`assert_time`], of waits to be notified. The program's clocks also have the time until the thread runs again and has
/// the monitor, which may be long on a busy machine: at least what the program asked for was waited.
#[track_caller]
fn assert_waited(ns: u64, least_ns: u64, counted_ns: u64, count: u64, what: &str) {
    let most_ns = counted_ns + counted_ns / 50 + count * 2 * MS_NS;
    assert!((least_ns..=most_ns).contains(&ns), "{what}: {ns} ns, the program says {counted_ns}");
}

/// Fails unless the times of waits add up to them, and no more than `most_threads` waited at once.
#[track_caller]
fn assert_series(profile: &Profile, most_threads: u64, what: &str) {
    for (metric, total_ns) in [
        (
            Metric::BlockedTime,
            profile.monitor_times().map(|it| sum(&it.rows).blocked_ns).sum::<u64>(),
        ),
        (Metric::WaitedTime, profile.monitor_times().map(|it| sum(&it.rows).waited_ns).sum()),
    ] {
        let series: Vec<_> = profile.time_series().filter(|it| it.metric == metric).collect();
        let numbers = || series.iter().flat_map(|it| it.numbers.values());
        assert_eq!(numbers().sum::<u64>(), total_ns, "{what} {metric:?}: {series:?}");
        // Each thread has its own waits.
        let by_thread = || series.iter().flat_map(|it| &it.numbers);
        assert!(by_thread().all(|(it, _)| it.1.thread.is_some()), "{what}: {series:?}");
        if metric == Metric::BlockedTime {
            let (most_ns, mut ticks) = (most_threads * series[0].tick_ns, BTreeMap::new());
            by_thread().for_each(|(&(tick, _), &ns)| *ticks.entry(tick).or_default() += ns);
            assert!(ticks.values().all(|&ns: &u64| ns <= most_ns), "{what}: {series:?}");
        }
    }
}

/// Whether a program for virtual threads had any.
fn has_virtual(outcome: &Outcome) -> bool {
    !outcome.stdout.contains("virtual=no")
}

#[test]
fn blocked_threads_are_counted_and_timed() {
    const THREADS: u64 = 6;
    const HOLD_MS: u64 = 30;
    jdk::each(|jdk| {
        for (kind, method, class) in [
            ("object", "Contention.enterObject", "Contention$Lock"),
            ("static", "Contention.holdStatic", "java.lang.Class"),
        ] {
            for threads in ["platform", "virtual"] {
                for (format, file, budget) in WAYS {
                    let what = format!("{} {kind} {threads} {format}{budget}", jdk.version);
                    let args = [kind, &THREADS.to_string(), &HOLD_MS.to_string(), "5", threads];
                    let by_thread = if format == "p" { ",thread=y" } else { "" };
                    let options = format!(",depth=16{budget}{by_thread}");
                    let run = monitored(jdk, format, file, &options).main("Contention");
                    let run = CARRIERS.iter().fold(run, |run, flag| run.jvm_arg(flag));
                    let outcome = run.args(args).run();
                    let profile = read(&outcome, file);
                    if !has_virtual(&outcome) {
                        continue;
                    }
                    let mut rows = rows(&profile, method);
                    rows.retain(|row| profile.symbols.class_name(row.class) == class);
                    let Waits { blocked_count, blocked_ns, wait_count, .. } = sum(&rows);
                    assert_eq!((blocked_count, wait_count), (THREADS, 0), "{what}");
                    // The k-th thread waits for k - 1 others.
                    let least_ns = HOLD_MS * MS_NS * THREADS * (THREADS - 1) / 2;
                    assert!(blocked_ns >= least_ns * 98 / 100, "{what}: {blocked_ns}");
                    assert_time(blocked_ns, outcome.number("blocked_ns"), THREADS, &what);
                    if format == "p" {
                        assert_series(&profile, THREADS, &what);
                    }
                    for row in rows {
                        assert_eq!(row.kind, LockKind::Monitor);
                    }
                }
            }
        }
    });
}

#[test]
fn locks_of_java_util_concurrent_are_counted_and_timed() {
    const THREADS: u64 = 6;
    const HOLD_MS: u64 = 30;
    jdk::each(|jdk| {
        for threads in ["platform", "virtual"] {
            for (format, file, budget) in WAYS {
                let what = format!("{} {threads} {format}{budget}", jdk.version);
                let args = ["lock", &THREADS.to_string(), &HOLD_MS.to_string(), "5", threads];
                let options = format!(",locks=y,depth=16{budget}");
                let run = monitored(jdk, format, file, &options).main("Contention");
                let run = CARRIERS.iter().fold(run, |run, flag| run.jvm_arg(flag));
                let outcome = run.args(args).run();
                let profile = read(&outcome, file);
                if !has_virtual(&outcome) {
                    continue;
                }
                let mut rows = rows(&profile, "Contention.enterLock");
                // A virtual thread that sleeps parks, too, for nothing known.
                let class = |row: &MonitorRow| profile.symbols.class_name(row.class);
                let unknown = "java.util.concurrent.locks.LockSupport";
                rows.retain(|row| row.kind == LockKind::Parking && class(row) != unknown);
                let waits = sum(&rows);
                // A thread that is woken too late parks again.
                let count = waits.blocked_count;
                let most = if budget.is_empty() { 2 * THREADS } else { u64::MAX };
                assert!((THREADS..most).contains(&count), "{what}: {count}");
                let sampled = profile.accounting.as_ref().map_or(0, |it| it.sampled_wait_count);
                assert_eq!(sampled > 0, !budget.is_empty(), "{what}: {sampled}");
                assert_time(waits.blocked_ns, outcome.number("blocked_ns"), THREADS, &what);
                for row in rows {
                    let class = profile.symbols.class_name(row.class);
                    assert_eq!(class, "java.util.concurrent.locks.ReentrantLock$NonfairSync");
                }
            }
        }
    });
}

/// The sums of the blocked threads' times and of the holders' are the same, lock by lock, and each method of
/// a holder has the time for which the others waited meanwhile.
#[test]
fn holders_have_the_time_of_those_who_wait() {
    const THREADS: u64 = 3;
    const ROUNDS: u64 = 2;
    jdk::each(|jdk| {
        for (kind, threads, class) in [
            ("object", "platform", "Holding$Lock"),
            ("object", "virtual", "Holding$Lock"),
            ("lock", "platform", "java.util.concurrent.locks.ReentrantLock$NonfairSync"),
            ("lock", "virtual", "java.util.concurrent.locks.ReentrantLock$NonfairSync"),
        ] {
            let what = format!("{} {kind} {threads}", jdk.version);
            let args = [kind, &THREADS.to_string(), "400", "200", &ROUNDS.to_string(), threads];
            let run = monitored(jdk, "p", "o.hprof", ",locks=y,depth=32").jvm_arg("-Xcheck:jni");
            let run = CARRIERS.iter().fold(run.main("Holding"), |run, flag| run.jvm_arg(flag));
            let outcome = run.args(args).run();
            let profile = read(&outcome, "o.hprof");
            if !has_virtual(&outcome) {
                continue;
            }
            assert!(!outcome.stdout.contains("WARNING"), "{}", outcome.report());
            let of_class = |id| profile.symbols.class_name(id) == class;
            let blocked = profile.monitor_times().flat_map(|section| section.rows);
            let blocked: u64 =
                blocked.filter(|row| of_class(row.class)).map(|row| row.waits.blocked_ns).sum();
            let holders: Vec<_> = profile.sections().flat_map(HolderRow::all_of).collect();
            let holders: Vec<_> = holders.into_iter().filter(|row| of_class(row.class)).collect();
            let blocking: u64 = holders.iter().map(|row| row.blocking_ns).sum();
            assert_eq!(blocking, blocked, "{what}");
            let below = |name: &str| {
                let is_in = |row: &&HolderRow| {
                    profile.frames(row.trace).any(|frame| {
                        let method = profile.symbols.get_frame(frame).method;
                        profile.symbols.method_name(method) == name
                    })
                };
                let rows = holders.iter().filter(is_in);
                rows.fold((0, 0), |(ns, count), row| {
                    (ns + row.blocking_ns, count + row.sample_count)
                })
            };
            for (name, number) in [("Holding.sleep", "sleep_ns"), ("Holding.work", "work_ns")] {
                let (ns, samples) = below(name);
                let counted_ns = outcome.number(number);
                // The looks are some ms apart, and more where the machine is busy.
                let off_ns = ns.abs_diff(counted_ns);
                assert!(off_ns < counted_ns / 4, "{what}: {name} has {ns} of {counted_ns} ns");
                assert!(samples > THREADS * ROUNDS, "{what}: {name} has {samples} samples");
            }
            let (known, _) = below("Holding.whileOthersWait");
            assert!(known > blocked / 100 * 95, "{what}: {known} of {blocked} ns are known");
        }
    });
}

/// A thread of the program that attaches to the JVM is in its list of threads before it has an object.
#[test]
fn threads_that_attach_do_no_harm() {
    let folder = TempDir::new().expect("a folder");
    let library = native_library::compile("crates/agent/tests/monitors/attacher.rs", folder.path());
    jdk::each(|jdk| {
        let run = monitored(jdk, "p", "o.hprof", ",depth=8").main("AttachingThreads");
        let run = run.jvm_arg("-Xmx24m").jvm_arg("-XX:-CreateCoredumpOnCrash");
        let outcome = run.args([&library, "3000"]).run();
        let profile = read(&outcome, "o.hprof");
        assert!(outcome.stdout.contains("attached"), "{}", outcome.report());
        // perk looked at the lock meanwhile.
        let holders = profile.sections().flat_map(HolderRow::all_of);
        let pauses = holders.into_iter().any(|row| {
            profile.frames(row.trace).any(|frame| {
                let method = profile.symbols.get_frame(frame).method;
                profile.symbols.method_name(method) == "AttachingThreads.pause"
            })
        });
        assert!(pauses, "{}", outcome.report());
    });
}

/// The short waits of many threads are divided among the holders that were met.
#[test]
fn short_waits_have_holders_too() {
    jdk::each(|jdk| {
        let run = monitored(jdk, "p", "o.hprof", ",locks=y,depth=16").main("LockStorm");
        let outcome = run.args(["2"]).run();
        let profile = read(&outcome, "o.hprof");
        let blocked = Metric::BlockedTime.rows(&profile).total;
        assert_eq!(Metric::BlockingTime.rows(&profile).total, blocked, "{}", jdk.version);
    });
}

#[test]
fn deadlocks_of_locks_are_in_the_dump() {
    jdk::each(|jdk| {
        let run = monitored(jdk, "p", "o.hprof", ",locks=y").main("Deadlock").args(["100"]);
        let outcome = run.run();
        let profile = read(&outcome, "o.hprof");
        let dump = profile.monitor_dumps().next().unwrap();
        let circles: Vec<Vec<String>> = dump
            .deadlocks()
            .iter()
            .map(|circle| {
                let mut names: Vec<_> =
                    circle.iter().map(|link| name(&profile, link.thread)).collect();
                names.sort();
                names
            })
            .collect();
        assert_eq!(circles.len(), 2, "{circles:?}");
        let locks = dump.monitors.iter().filter(|it| it.kind == LockKind::Parking);
        let owned: Vec<u32> =
            locks.filter(|it| it.owner.is_some()).map(|it| it.entry_count).collect();
        assert_eq!(owned, [1, 1]);
        assert!(circles.iter().any(|circle| circle == &["locker-0", "locker-1"]), "{circles:?}");
    });
}

/// Without `locks=y` the output has no locks, and no other number changes.
#[test]
fn plain_output_has_no_locks() {
    jdk::each(|jdk| {
        let run = monitored(jdk, "a", "o.txt", "").main("Contention").args(["lock", "3", "5"]);
        let outcome = run.run();
        let profile = read(&outcome, "o.txt");
        assert!(!outcome.text("o.txt").contains("    LOCK L"));
        let rows = profile.monitor_times().flat_map(|section| section.rows);
        assert!(rows.into_iter().all(|row| row.kind == LockKind::Monitor));
    });
}

fn wait_events(profile: &Profile) -> Vec<WaitEvent> {
    let events = profile.events.iter().filter_map(|event| match event {
        Event::Wait(wait) => Some(*wait),
        _ => None,
    });
    let is_bell = |wait: &WaitEvent| {
        wait.class.is_some_and(|class| profile.symbols.class_name(class) == "WaitNotify$Bell")
    };
    events.filter(is_bell).collect()
}

#[test]
fn waits_are_counted_and_reported() {
    const THREADS: u64 = 5;
    const FIRST_MS: u64 = 40;
    const PAUSE_MS: u64 = 100;
    // Times in the text are whole milliseconds.
    const LEAST_NS: u64 = THREADS * (FIRST_MS + PAUSE_MS - 2) * MS_NS;
    jdk::each(|jdk| {
        for threads in ["platform", "virtual"] {
            let (first_ms, pause_ms) = (FIRST_MS.to_string(), PAUSE_MS.to_string());
            let args = [&THREADS.to_string(), &first_ms, &pause_ms, threads];
            let run = |format, file| {
                let run = monitored(jdk, format, file, ",depth=16").main("WaitNotify");
                CARRIERS.iter().fold(run, |run, flag| run.jvm_arg(flag)).args(args).run()
            };
            let what = format!("{} {threads}", jdk.version);
            let outcome = run("p", "o.hprof");
            let profile = read(&outcome, "o.hprof");
            if !has_virtual(&outcome) {
                continue;
            }
            assert_eq!(outcome.number("wait_count"), 2 * THREADS);
            let waits = sum(&rows(&profile, "WaitNotify.waitTwice"));
            assert_eq!(waits.wait_count, 2 * THREADS, "{what}");
            assert_waited(waits.waited_ns, LEAST_NS, outcome.number("waited_ns"), THREADS, &what);

            let outcome = run("a", "o.txt");
            let profile = read(&outcome, "o.txt");
            let events = wait_events(&profile);
            let of = |kind| events.iter().filter(move |wait| wait.kind == kind);
            assert_eq!(of(WaitKind::Wait).count() as u64, 2 * THREADS, "{what}");
            assert_eq!(of(WaitKind::Waited).count() as u64, 2 * THREADS, "{what}");
            let timeouts = of(WaitKind::Wait).filter(|wait| wait.time_ms == FIRST_MS).count();
            assert_eq!(timeouts as u64, THREADS, "{what}");
            let counted_ns = of(WaitKind::Waited).map(|wait| wait.time_ms * MS_NS).sum();
            let said_ns = outcome.number("waited_ns");
            assert_waited(counted_ns, LEAST_NS, said_ns, 2 * THREADS, &what);
            let mut serials: Vec<_> = of(WaitKind::Wait).map(|wait| wait.thread.unwrap()).collect();
            serials.sort_unstable();
            serials.dedup();
            assert_eq!(serials.len() as u64, THREADS, "{what}");
            let known: Vec<_> = profile.threads.iter().map(|thread| thread.serial).collect();
            assert!(serials.iter().all(|serial| known.contains(serial)), "{what}");
        }
    });
}

/// Runs a program that gets SIGQUIT when it is ready. Returns the outcome with its file, and the
/// time that the dump took.
fn dumped(run: &JavaRun, file: &str, ready: &str) -> (Outcome, Duration) {
    let mut running = run.spawn();
    running.wait_for_stdout(ready);
    let begun = Instant::now();
    running.signal(Signal::QUIT);
    let path = running.dir().join(file);
    running.wait_until("a dump", |_| std::fs::metadata(&path).is_ok());
    let took = begun.elapsed();
    (running.wait(), took)
}

fn name(profile: &Profile, serial: u32) -> String {
    let thread = profile.threads.iter().find(|thread| thread.serial == serial);
    let thread = thread.unwrap_or_else(|| panic!("no thread {serial}"));
    profile.symbols.strings.get(thread.name).to_owned()
}

fn status(profile: &Profile, dump: &MonitorDump, thread: &str) -> Status {
    let state = dump.threads.iter().find(|state| name(profile, state.serial) == thread);
    state.unwrap_or_else(|| panic!("no thread {thread}")).status
}

#[test]
fn deadlocks_are_in_the_dump() {
    jdk::each(|jdk| {
        for (format, file) in FORMATS {
            let run = monitored(jdk, format, file, "").main("Deadlock").args(["1500"]);
            let (outcome, _) = dumped(&run, file, "deadlocked");
            let profile = read(&outcome, file);
            let dumps: Vec<_> = profile.monitor_dumps().collect();
            assert_eq!(dumps.len(), 2, "{}", outcome.report());
            for dump in dumps {
                let circles = dump.deadlocks();
                assert_eq!(circles.len(), 1);
                let mut names: Vec<_> =
                    circles[0].iter().map(|link| name(&profile, link.thread)).collect();
                for link in &circles[0] {
                    let monitor = &dump.monitors[link.monitor];
                    assert_eq!(profile.symbols.class_name(monitor.class), "Deadlock$Fork");
                    assert_eq!(monitor.entry_count, 1);
                }
                names.sort();
                assert_eq!(names, ["philosopher-0", "philosopher-1", "philosopher-2"]);
                for thread in ["philosopher-0", "philosopher-1", "philosopher-2", "guest"] {
                    assert_eq!(status(&profile, dump, thread), Status::Blocked, "{thread}");
                }
                let wants = |monitor: &perk_profile::Monitor| monitor.blocked.len();
                assert_eq!(dump.monitors.iter().map(wants).max(), Some(2));
            }
            // Waits that last are counted when they begin, and timed up to the dump.
            let waits = sum(&rows(&profile, "Deadlock.dine"));
            assert_eq!(waits.blocked_count, 3, "{format}");
            let least_ns = 3 * 1500 * MS_NS * 9 / 10;
            assert!(waits.blocked_ns >= least_ns, "{format}: {waits:?}");
        }
    });
}

#[test]
fn a_monitor_that_is_only_waited_for_is_in_the_dump() {
    jdk::each(|jdk| {
        for threads in ["platform", "virtual"] {
            let args = ["3", "10", "1500", threads];
            let run = monitored(jdk, "p", "o.hprof", "").main("WaitNotify").args(args);
            let run = CARRIERS.iter().fold(run, |run, flag| run.jvm_arg(flag));
            if threads == "virtual" && jdk.version < 21 {
                continue;
            }
            let (outcome, _) = dumped(&run, "o.hprof", "all wait");
            let profile = read(&outcome, "o.hprof");
            let dump = profile.monitor_dumps().next().unwrap();
            let bells: Vec<_> = dump
                .monitors
                .iter()
                .filter(|it| profile.symbols.class_name(it.class) == "WaitNotify$Bell")
                .collect();
            assert_eq!(bells.len(), 3, "{} {threads}", jdk.version);
            let mut waiting: Vec<_> = bells.iter().map(|bell| bell.waiting[0]).collect();
            for bell in &bells {
                assert_eq!((bell.owner, bell.blocked.len(), bell.waiting.len()), (None, 0, 1));
            }
            waiting.sort_unstable();
            waiting.dedup();
            assert_eq!(waiting.len(), 3);
            for serial in waiting {
                let state = dump.threads.iter().find(|it| it.serial == serial).unwrap();
                assert_eq!(state.status, Status::Waiting, "{} {threads}", jdk.version);
                let is_there = profile.frames(state.trace).any(|frame| {
                    let method = profile.symbols.get_frame(frame).method;
                    profile.symbols.method_name(method) == "WaitNotify.waitTwice"
                });
                assert!(is_there, "{} {threads}", jdk.version);
            }
            let mut identities: Vec<_> = bells.iter().map(|bell| bell.identity.unwrap()).collect();
            identities.sort_unstable();
            identities.dedup();
            assert_eq!(identities.len(), 3);
        }
    });
}

#[test]
fn virtual_threads_are_in_the_dump() {
    jdk::each(|jdk| {
        if jdk.version < 21 {
            return;
        }
        let args = ["object", "8", "1", "1500", "virtual"];
        let run = monitored(jdk, "p", "o.hprof", "").main("Contention").args(args);
        let run = CARRIERS.iter().fold(run, |run, flag| run.jvm_arg(flag));
        let (outcome, _) = dumped(&run, "o.hprof", "all wait");
        let profile = read(&outcome, "o.hprof");
        let dump = profile.monitor_dumps().next().unwrap();
        let lock = dump
            .monitors
            .iter()
            .find(|it| profile.symbols.class_name(it.class) == "Contention$Lock")
            .unwrap();
        assert_eq!(lock.owner.map(|owner| name(&profile, owner)).as_deref(), Some("main"));
        assert_eq!(lock.blocked.len(), 8, "{}", jdk.version);
        for serial in &lock.blocked {
            let state = dump.threads.iter().find(|it| it.serial == *serial).unwrap();
            assert_eq!(state.status, Status::Blocked, "{}", jdk.version);
        }
    });
}

#[test]
fn a_thousand_threads_are_dumped_soon() {
    const THREADS: usize = 1000;
    jdk::each(|jdk| {
        let args = ["object", &THREADS.to_string(), "0", "3000"];
        let run = monitored(jdk, "p", "o.hprof", ",depth=2048").main("Contention").args(args);
        let (outcome, took) = dumped(&run, "o.hprof", "all wait");
        assert!(took < Duration::from_secs(10), "{took:?}");
        let profile = read(&outcome, "o.hprof");
        let dump = profile.monitor_dumps().next().unwrap();
        let most = dump.monitors.iter().map(|monitor| monitor.blocked.len()).max();
        assert_eq!(most, Some(THREADS), "{}", jdk.version);
        let mut rows = rows(&profile, "Contention.enterObject");
        // Class loaders have monitors as well.
        rows.retain(|row| profile.symbols.class_name(row.class) == "Contention$Lock");
        let waits = sum(&rows);
        assert_eq!(waits.blocked_count, THREADS as u64);
        assert_time(waits.blocked_ns, outcome.number("blocked_ns"), THREADS as u64, "1000 threads");
    });
}

#[test]
fn threads_are_distinguished() {
    jdk::each(|jdk| {
        for threads in ["platform", "virtual"] {
            let args = ["object", "4", "10", "0", threads];
            let run = monitored(jdk, "p", "o.hprof", ",thread=y").main("Contention").args(args);
            let run = CARRIERS.iter().fold(run, |run, flag| run.jvm_arg(flag));
            let outcome = run.run();
            let profile = read(&outcome, "o.hprof");
            if !has_virtual(&outcome) {
                continue;
            }
            let rows = rows(&profile, "Contention.enterObject");
            let mut known: Vec<_> =
                rows.iter().map(|row| profile.get_trace(row.trace).thread.unwrap()).collect();
            known.sort_unstable();
            known.dedup();
            assert_eq!((rows.len(), known.len()), (4, 4), "{} {threads}", jdk.version);
        }
    });
}

#[test]
fn the_program_does_not_notice() {
    jdk::each(|jdk| {
        for (main, args) in [("ManyThreads", vec!["200"]), ("VirtualChurn", vec![])] {
            for options in [
                "",
                ",locks=y",
                ",locks=y,thread=y,depth=64",
                ",cpu=samples,heap=sites",
                ",cpu=times,locks=y",
            ] {
                let agent = format!("monitor=y,verbose=n,file=o.txt{options}");
                let run = JavaRun::new(jdk).agent(&agent).jvm_arg("-Xcheck:jni").main(main);
                let outcome = run.args(&args).run();
                outcome.assert_success();
                assert_eq!(outcome.stderr, "", "{main} {options}");
                assert!(!outcome.stdout.contains("WARNING"), "{}", outcome.report());
                assert!(outcome.text("o.txt").contains("MONITOR DUMP END"), "{main} {options}");
            }
        }
    });
}

/// Dumps during heavy contention: threads continue while they are examined, and the result must not
/// contain an invalid reference or a false deadlock.
#[test]
fn dumps_in_a_storm_do_no_harm() {
    jdk::each(|jdk| {
        let options = ",locks=y,verbose=n";
        let run = monitored(jdk, "p", "o.hprof", options).main("LockStorm").args(["4"]);
        let mut running = run.jvm_arg("-Xcheck:jni").spawn();
        running.wait_for_stdout("begun");
        for _ in 0..25 {
            running.signal(Signal::QUIT);
            std::thread::sleep(Duration::from_millis(100));
        }
        let outcome = running.wait();
        let profile = read(&outcome, "o.hprof");
        assert!(outcome.stdout.contains("ended"), "{}", outcome.report());
        assert!(!outcome.stdout.contains("WARNING in native"), "{}", outcome.report());
        let dumps: Vec<_> = profile.monitor_dumps().collect();
        assert!(dumps.len() > 5, "{} dumps", dumps.len());
        for dump in dumps {
            let circles = dump.deadlocks();
            assert!(circles.is_empty(), "{circles:?} in {dump:?}");
            for monitor in &dump.monitors {
                let waits_for_itself = monitor.blocked.iter().any(|&it| monitor.has_let_in(it));
                assert!(!waits_for_itself, "{monitor:?}");
            }
        }
        assert_eq!(profile.accounting.unwrap().fault_count, 0);
    });
}
