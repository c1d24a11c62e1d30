//! Wall-clock samples of threads whose states are known.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use perk_profile::{Key, Metric, Profile, Subject, WallState};
use perk_testkit::{JavaRun, Jdk, Outcome, jdk};

const FILE: &str = "o.hprof";
const MS: u64 = 2000;
const MS_NS: u64 = 1_000_000;

fn run(jdk: &Jdk, options: &str, main: &str, args: &[&str]) -> (Outcome, Profile) {
    let options = format!("format=p,cutoff=0,depth=64,file={FILE},{options}");
    let outcome = JavaRun::new(jdk).agent(&options).main(main).args(args).run();
    outcome.assert_success();
    assert!(!outcome.stderr.contains("ERROR"), "{}", outcome.report());
    let profile = perk_hprof::read(outcome.bytes(FILE)).unwrap();
    assert_eq!(profile.accounting.as_ref().unwrap().fault_count, 0);
    (outcome, profile)
}

/// Returns the wall-clock time by name of the thread and state.
fn by_state(profile: &Profile) -> BTreeMap<(String, WallState), u64> {
    let mut sums = BTreeMap::new();
    for (Key { trace, subject, .. }, ns) in Metric::WallTime.rows(profile).rows {
        let Subject::State(state) = subject else { panic!("{subject:?}") };
        let thread = profile.get_trace(trace).thread.expect("a thread");
        *sums.entry((profile.thread_name(thread).to_owned(), state)).or_default() += ns;
    }
    sums
}

/// Returns the time of a thread in all states.
fn of_thread(states: &BTreeMap<(String, WallState), u64>, name: &str) -> u64 {
    states.iter().filter(|(key, _)| key.0 == name).map(|(_, ns)| ns).sum()
}

#[test]
fn threads_are_in_the_states_that_they_are_in() {
    jdk::each(|jdk| {
        let (outcome, profile) = run(jdk, "wall=5ms,thread=y", "WallStates", &[&MS.to_string()]);
        let states = by_state(&profile);
        for (thread, state) in [
            ("holder", &[WallState::Sleeping][..]),
            ("sleeper", &[WallState::Sleeping]),
            ("parked", &[WallState::Parked]),
            ("waiting", &[WallState::Waiting]),
            ("blocked", &[WallState::Blocked]),
            ("reader", &[WallState::Native]),
            // On a busy machine a thread that spins waits for a CPU as well.
            ("spinner", &[WallState::Running, WallState::Runnable]),
        ] {
            let lived_ns = outcome.number(thread);
            let time = |state| states.get(&(thread.to_owned(), state)).copied().unwrap_or(0);
            let in_state: u64 = state.iter().map(|&state| time(state)).sum();
            let all_ns = of_thread(&states, thread);
            // A busy machine makes threads wait for a CPU before and after.
            let limit_ns = lived_ns / 20 + 100 * MS_NS;
            assert!(
                in_state.abs_diff(lived_ns) <= limit_ns,
                "{jdk:?}: {thread}: {in_state} of {lived_ns} in {state:?}: {states:#?}"
            );
            // The thread's own clock begins a moment later, and ends a moment earlier.
            assert!(all_ns >= lived_ns, "{thread}: {all_ns} < {lived_ns}");
            assert!(all_ns - lived_ns <= 500 * MS_NS, "{thread}: {all_ns}, {lived_ns}");
        }
        // The kernel's count of the time on a CPU, and not that of looks at the thread.
        let running = states[&("spinner".to_owned(), WallState::Running)];
        let cpu_ns = outcome.number("spinner_cpu_ns");
        assert!(
            running.abs_diff(cpu_ns) <= cpu_ns / 10 + 60 * MS_NS,
            "{jdk:?}: {running} on a CPU, not {cpu_ns}: {states:#?}"
        );
        // The JDK's own threads are left out.
        for own in ["Reference Handler", "Common-Cleaner", "Signal Dispatcher"] {
            assert_eq!(of_thread(&states, own), 0, "{own}");
        }
        let main_ns = of_thread(&states, "main");
        let accounting = profile.accounting.as_ref().unwrap();
        assert!(main_ns <= accounting.wall_ns && main_ns >= MS * MS_NS, "{main_ns}");
        let all_ns: u64 = states.values().sum();
        assert_eq!(all_ns, accounting.wall_thread_ns);
        // Over time each thread has the same states.
        let serials: BTreeMap<_, _> =
            profile.threads.iter().map(|it| (it.serial, it.name)).collect();
        let mut over_time: BTreeMap<(String, WallState), u64> = BTreeMap::new();
        for series in profile.time_series().filter(|it| it.metric == Metric::WallTime) {
            for ((tick, subject), ns) in &series.numbers {
                let name = profile.symbols.strings.get(serials[&subject.thread.unwrap()]);
                let key = (name.to_owned(), subject.state.unwrap());
                *over_time.entry(key).or_default() += ns;
                assert!(
                    series.time_ns(*tick) <= accounting.wall_ns,
                    "{jdk:?}: {name}: {ns} ns in {subject:?} at {}, after the end at {}",
                    series.time_ns(*tick),
                    accounting.wall_ns
                );
            }
        }
        assert_eq!(over_time, states);
        // Most threads stand still, and are not walked each time.
        let (visits, walks) = (accounting.wall_sample_count, accounting.wall_walk_count);
        assert!(visits > 1000 && walks < visits / 2, "{visits} visits, {walks} walks");
    });
}

/// More threads than there are CPUs: most of the time they wait for one.
#[test]
fn running_is_what_the_clocks_of_threads_say() {
    jdk::each(|jdk| {
        let (outcome, profile) = run(jdk, "wall=5ms,thread=y", "BusyCrowd", &["24", "50"]);
        let states = by_state(&profile);
        let time = |state| states.get(&("burner".to_owned(), state)).copied().unwrap_or(0);
        let (running, cpu_ns) = (time(WallState::Running), outcome.number("cpu_ns"));
        // A thread's clock begins before the program reads it.
        let most_ns = cpu_ns + cpu_ns / 20 + 24 * MS_NS;
        assert!(
            (cpu_ns - cpu_ns / 20..=most_ns).contains(&running),
            "{jdk:?}: {cpu_ns}: {states:#?}"
        );
        let cpus = std::thread::available_parallelism().unwrap().get() as u64;
        let waits = time(WallState::Runnable);
        assert!(cpus > 8 || waits > running, "{jdk:?}: {cpu_ns}: {states:#?}");
    });
}

#[test]
fn each_state_is_below_the_method_that_waits() {
    let jdk = jdk::compiler();
    let (_, profile) = run(jdk, "wall=5ms", "WallStates", &["500"]);
    let mut tops: BTreeMap<WallState, BTreeMap<String, u64>> = BTreeMap::new();
    for (Key { trace, subject, .. }, ns) in Metric::WallTime.rows(&profile).rows {
        let Subject::State(state) = subject else { panic!("{subject:?}") };
        assert_eq!(profile.get_trace(trace).thread, None);
        let frames = profile.frames(trace).map(|it| profile.symbols.get_frame(it).method);
        let names = frames.map(|method| profile.symbols.method_name(method));
        let own = names.filter_map(|it| it.strip_prefix("WallStates.").map(str::to_owned)).next();
        // The wait for the ends of all threads is as long as they wait for a CPU.
        if own.as_deref() == Some("joins") {
            continue;
        }
        *tops.entry(state).or_default().entry(own.unwrap_or_default()).or_default() += ns;
    }
    for (state, method) in [
        (WallState::Parked, "parks"),
        (WallState::Waiting, "waits"),
        (WallState::Blocked, "enters"),
        (WallState::Native, "reads"),
        (WallState::Sleeping, "sleeps"),
    ] {
        let most = tops[&state].iter().max_by_key(|it| it.1).unwrap().0;
        assert_eq!(most, method, "{state:?}: {tops:#?}");
    }
}

#[test]
fn threads_are_chosen_by_name() {
    let jdk = jdk::compiler();
    let options = "wall=5ms,wall-threads=s*er:main,thread=y";
    let (_, profile) = run(jdk, options, "WallStates", &["300"]);
    let mut names: Vec<_> = by_state(&profile).into_keys().map(|key| key.0).collect();
    names.dedup();
    assert_eq!(names, ["main", "sleeper", "spinner"]);
    let (_, profile) = run(jdk, "wall=5ms,wall-threads=*,thread=y", "WallStates", &["300"]);
    let states = by_state(&profile);
    for own in ["Reference Handler", "Common-Cleaner", "main", "spinner"] {
        assert!(of_thread(&states, own) >= 250 * MS_NS, "{own}: {states:#?}");
    }
}

#[test]
fn short_threads_keep_their_time() {
    let jdk = jdk::compiler();
    let (outcome, profile) = run(jdk, "wall=y,thread=y", "ManyThreads", &["500", "1"]);
    let total = Metric::WallTime.rows(&profile);
    let accounting = profile.accounting.as_ref().unwrap();
    assert_eq!(total.total, accounting.wall_thread_ns, "{}", outcome.report());
    let listed: u64 = total.rows.iter().map(|row| row.1).sum();
    assert_eq!(listed, total.total);
    assert!(accounting.thread_count >= 500);
}

#[test]
fn several_analyses_have_one_file() {
    let jdk = jdk::compiler();
    let options = "cpu=samples,wall=y,heap=sites,sample=64k,monitor=y,locks=y";
    let (_, profile) = run(jdk, options, "WallStates", &["500"]);
    let all = Metric::all_of(&profile);
    for metric in [
        Metric::Samples,
        Metric::AllocatedBytes,
        Metric::WallTime,
        Metric::BlockedTime,
        Metric::WaitedTime,
    ] {
        assert!(all.contains(&metric), "{metric:?}: {all:?}");
    }
    // The monitor is held for the whole time, by both analyses.
    let of_state = |wanted| {
        let rows = Metric::WallTime.rows(&profile).rows.into_iter();
        rows.filter(|row| row.0.subject == Subject::State(wanted)).map(|row| row.1).sum::<u64>()
    };
    let by_event = Metric::BlockedTime.rows(&profile).total;
    let by_clock = of_state(WallState::Blocked);
    assert!(by_event.abs_diff(by_clock) <= 150 * MS_NS, "{by_event} {by_clock}");
}

#[test]
fn forms_without_a_record_for_it_say_so() {
    for options in ["wall=y", "wall=y,format=b", "cpu=samples,wall=20ms"] {
        let outcome = JavaRun::new(jdk::compiler()).agent(options).main("Sleeper").run();
        outcome.assert_code(1);
        let line = "wall is only supported with format=p: HPROF has no record for it";
        assert!(outcome.stderr.contains(line), "{}", outcome.report());
    }
}
