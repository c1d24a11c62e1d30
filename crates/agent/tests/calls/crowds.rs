//! Large numbers of threads: each of their calls is counted, and the memory they take is small and
//! is released.

use perk_profile::Profile;
use perk_testkit::{JavaRun, Jdk, Outcome, Signal, jdk};

use crate::tables::pair;
use crate::{FILE, PAIRS, accounting, by_method, counted, methods, pairs, profile};

/// The Java heap has its full size from the start, so that it does not grow.
const HEAP: [&str; 3] = ["-Xms200m", "-Xmx200m", "-XX:+AlwaysPreTouch"];

/// Returns a run of `ThreadCrowd` with numbers of waiting and of short threads.
fn crowd(run: JavaRun, waiting: u64, shorts: u64, how: &str) -> JavaRun {
    let run = HEAP.iter().fold(run, |run, option| run.jvm_arg(option));
    run.main("ThreadCrowd").args([&waiting.to_string(), &shorts.to_string(), how])
}

/// Runs it to its end, with a dump while all wait.
fn dumped_while_they_wait(run: &JavaRun) -> Outcome {
    let mut running = run.spawn();
    running.wait_for_stdout("waiting=");
    running.signal(Signal::QUIT);
    running.wait_until("a dump", |run| run.dir().join(FILE).exists());
    std::fs::write(running.dir().join("go"), "").unwrap();
    let outcome = running.wait();
    outcome.assert_success();
    outcome
}

#[track_caller]
fn assert_counts(profile: &Profile, waiting: u64, shorts: u64) {
    // Depths from 0 to 7 in turns.
    let levels = waiting / 8 * 28;
    let name = |name: &str| format!("ThreadCrowd.{name}");
    let expected = [
        ("down", "down", levels),
        ("up", "down", levels),
        ("waits", "down", waiting),
        ("arrive", "waits", waiting),
        ("up", "waits", waiting),
        ("up", "shortly", 3 * shorts),
    ];
    let found = pairs(profile);
    for (callee, caller, count) in expected {
        let (callee, caller) = (name(callee), name(caller));
        let calls = found.get(&pair(&callee, &caller)).copied().unwrap_or(0);
        assert_eq!(calls, count, "{callee} <- {caller}");
    }
    let of_jdk = pair("java.util.concurrent.CountDownLatch.await", &name("waits"));
    assert_eq!(found.get(&of_jdk).copied().unwrap_or(0), waiting);
    assert_eq!(by_method(&found).get("ThreadCrowd.shortly").copied().unwrap_or(0), shorts);
    assert_eq!(accounting(profile).call_count, found.values().sum::<u64>());
    assert_eq!(accounting(profile).fault_count, 0);
}

/// Returns how many arrays `arrive` has made.
fn arrays_made(profile: &Profile) -> u64 {
    let sites = profile.sites().expect("a section of sites");
    let is_made = |trace| {
        let method = methods(profile, trace).next();
        method.is_some_and(|it| profile.symbols.method_name(it) == "ThreadCrowd.arrive")
    };
    let made = sites.rows.iter().filter(|site| is_made(site.trace));
    made.map(|site| site.objects.allocated_count).sum()
}

/// Returns the growth in kB between two places of the program.
fn growth(outcome: &Outcome, from: &str, to: &str) -> u64 {
    outcome.number(to).saturating_sub(outcome.number(from))
}

fn with_virtual_threads(test: impl Fn(&Jdk)) {
    jdk::each_of(&[21, 25], test);
}

#[test]
fn virtual_threads_that_wait_take_little() {
    const WAITING: u64 = 20_000;
    const SHORTS: u64 = 100_000;
    with_virtual_threads(|jdk| {
        let plain = crowd(JavaRun::new(jdk), WAITING, SHORTS, "on").run();
        plain.assert_success();
        for (options, with_sites) in [(PAIRS, false), (",depth=2,heap=sites", true)] {
            let run = crowd(counted(jdk, options), WAITING, SHORTS, "until go");
            let outcome = dumped_while_they_wait(&run);
            let grown =
                |from, to| growth(&outcome, from, to).saturating_sub(growth(&plain, from, to));
            let waiting_kb = grown("before", "waiting");
            assert!(waiting_kb < 2 * WAITING, "{waiting_kb} kB\n{}", outcome.report());
            let gone_kb = grown("before", "gone");
            assert!(gone_kb < 3 * WAITING, "{gone_kb} kB\n{}", outcome.report());
            let ended_kb = grown("quarter", "end");
            // Weak references remain to the arrays that no collection has found yet.
            let most_kb = if with_sites { SHORTS / 3 } else { SHORTS / 10 };
            assert!(ended_kb < most_kb, "{ended_kb} kB\n{}", outcome.report());
            let profile = profile(&outcome);
            assert_counts(&profile, WAITING, SHORTS);
            assert_eq!(profile.call_times().count(), 2);
            if with_sites {
                assert_eq!(arrays_made(&profile), WAITING);
            }
        }
    });
}

#[test]
fn threads_that_have_ended_take_nothing() {
    const SHORTS: u64 = 10_000;
    jdk::each(|jdk| {
        let plain = crowd(JavaRun::new(jdk), 0, SHORTS, "platform").run();
        let outcome = crowd(counted(jdk, PAIRS), 0, SHORTS, "platform").run();
        outcome.assert_success();
        let ended_kb = growth(&outcome, "quarter", "end");
        let ended_kb = ended_kb.saturating_sub(growth(&plain, "quarter", "end"));
        assert!(ended_kb < SHORTS, "{ended_kb} kB\n{}", outcome.report());
        let found = pairs(&profile(&outcome));
        let found = by_method(&found);
        assert_eq!(found["ThreadCrowd.shortly"], SHORTS);
        assert_eq!(found["ThreadCrowd.up"], 3 * SHORTS);
    });
}

/// The first dump has the time up to it, the second the time after it.
#[test]
fn the_time_that_virtual_threads_wait_counts_once() {
    const WAITING: u64 = 400;
    with_virtual_threads(|jdk| {
        for options in ["clock=wall", "timing=exact", "clock=wall,thread=y"] {
            let run = counted(jdk, &format!("{PAIRS},{options}"));
            let outcome = dumped_while_they_wait(&crowd(run, WAITING, 0, "until go"));
            let profile = profile(&outcome);
            assert_counts(&profile, WAITING, 0);
            let waits = |trace| {
                let method = methods(&profile, trace).next();
                method.is_some_and(|it| {
                    profile.symbols.method_name(it) == "java.lang.VirtualThread.yieldContinuation"
                })
            };
            let dumps_ms = profile.call_times().map(|times| {
                let rows = times.rows.iter().filter(|row| waits(row.trace));
                rows.map(|row| row.self_ns).sum::<u64>() / 1_000_000
            });
            let dumps_ms: Vec<u64> = dumps_ms.collect();
            let (all_ms, waited_ms) = (dumps_ms.iter().sum::<u64>(), outcome.number("waitedMs"));
            let context = format!("{options}: {dumps_ms:?} of {waited_ms}");
            // They have waited for 200 ms at the dump.
            assert!(dumps_ms[0] >= 190 * WAITING, "{context}");
            assert!((waited_ms * 9 / 10..waited_ms * 21 / 20).contains(&all_ms), "{context}");
        }
    });
}

#[test]
fn virtual_threads_that_wait_have_calls_of_their_own() {
    const WAITING: u64 = 400;
    with_virtual_threads(|jdk| {
        let run = crowd(counted(jdk, ",depth=2,thread=y"), WAITING, 400, "until go");
        assert_counts(&profile(&dumped_while_they_wait(&run)), WAITING, 400);
    });
}

/// For virtual threads with platform threads of their own, the JVM reports only one of the two
/// ends.
#[test]
fn virtual_threads_with_platform_threads_of_their_own() {
    const SHORTS: u64 = 4000;
    with_virtual_threads(|jdk| {
        let own = |run: JavaRun| {
            run.jvm_arg("-XX:+UnlockExperimentalVMOptions").jvm_arg("-XX:-VMContinuations")
        };
        let outcome = crowd(own(counted(jdk, PAIRS)), 80, SHORTS, "on").run();
        outcome.assert_success();
        let ended_kb = growth(&outcome, "quarter", "end");
        assert!(ended_kb < 3 * SHORTS, "{ended_kb} kB\n{}", outcome.report());
        assert_counts(&profile(&outcome), 80, SHORTS);
    });
}

/// Platform threads without counted methods carry virtual threads with counted ones.
#[test]
fn virtual_threads_have_cpu_time_where_their_platform_threads_are_not_counted() {
    with_virtual_threads(|jdk| {
        let run = counted(jdk, ",depth=2,include=VirtualThreads");
        let outcome = run.main("VirtualThreads").args(["2", "2000"]).run();
        outcome.assert_success();
        let profile = profile(&outcome);
        let rows = profile.call_times().flat_map(|times| times.rows).filter(|row| {
            let method = methods(&profile, row.trace).next();
            method
                .is_some_and(|it| profile.symbols.method_name(it) == "VirtualThreads.burnInVirtual")
        });
        let (calls, self_ns) =
            rows.fold((0, 0), |(calls, ns), row| (calls + row.count, ns + row.self_ns));
        assert_eq!(calls, 2);
        assert!(self_ns > 2_000_000, "{self_ns}");
    });
}
