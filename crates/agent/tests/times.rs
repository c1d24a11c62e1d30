//! The times of samples in the extended format.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use perk_profile::{Metric, Profile, Span, TICK_NS, Timeline, TraceId};
use perk_testkit::{JavaRun, Outcome, Signal, jdk};

const FILE: &str = "o.hprof";

fn phases(jdk: &perk_testkit::Jdk, options: &str, ms: &[&str]) -> JavaRun {
    let options = format!("cpu=samples,format=p,file={FILE}{options}");
    JavaRun::new(jdk).agent(&options).main("TwoPhases").args(ms)
}

fn profile(outcome: &Outcome) -> Profile {
    outcome.assert_success();
    perk_hprof::read(outcome.bytes(FILE)).unwrap()
}

fn has(profile: &Profile, trace: TraceId, method: &str) -> bool {
    profile.frames(trace).any(|frame| {
        let method_id = profile.symbols.get_frame(frame).method;
        profile.symbols.method_name(method_id) == method
    })
}

/// Samples of a method's traces, by the 200 ms in which they were taken.
fn by_part(profile: &Profile, method: &str) -> BTreeMap<u64, u64> {
    let mut samples = BTreeMap::new();
    for Timeline { head, rows } in profile.timelines() {
        for row in rows.iter().filter(|row| has(profile, row.trace, method)) {
            *samples.entry(head.time_ns(row.tick) / 200_000_000).or_default() += row.count;
        }
    }
    samples
}

/// Every sample has a time and a thread, whether traces are by thread or not.
#[test]
fn samples_have_times_and_threads() {
    jdk::each(|jdk| {
        for options in [
            ",engine=polling",
            ",engine=polling,thread=y,wall=y",
            ",engine=polling,interval=1",
            ",engine=signal",
            ",engine=signal,thread=y,wall=y",
            ",engine=signal,interval=1",
        ] {
            let profile = profile(&phases(jdk, options, &["400", "500"]).run());
            let timelines: Vec<_> = profile.timelines().collect();
            let [timeline] = timelines[..] else { panic!("{timelines:?}") };
            assert_eq!(timeline.head.tick_ns, TICK_NS);
            assert!(timeline.head.end_ns > 1_300_000_000, "{:?}", timeline.head);
            let total = Metric::Samples.rows(&profile).total;
            assert_eq!(timeline.total(), total);
            assert!(timeline.rows.is_sorted_by_key(|row| row.tick));
            let (mut of_program, mut of_main) = (0, 0);
            for row in &timeline.rows {
                let thread = row.thread.map(|thread| profile.thread_name(thread));
                assert!(thread.is_some(), "{options}: {row:?}");
                if ["TwoPhases.a", "TwoPhases.b"].iter().any(|it| has(&profile, row.trace, it)) {
                    of_program += row.count;
                    of_main += row.count * u64::from(thread == Some("main"));
                }
            }
            // The last samples may be read when main has ended, and another thread has its number.
            assert!(of_main * 4 > of_program * 3, "{options}: {of_main} of {of_program}");
            let [a, b] = ["TwoPhases.a", "TwoPhases.b"].map(|it| by_part(&profile, it));
            assert!(!a.is_empty() && a.keys().max() < b.keys().min(), "{a:?} {b:?}");
        }
    });
}

/// The times of each dump are those of its samples.
#[test]
fn dumps_add_up() {
    jdk::each(|jdk| {
        for options in [",engine=polling", ",engine=signal,thread=y,wall=y"] {
            check_dumps(phases(jdk, options, &["1000"]));
        }
    });
}

fn check_dumps(run: JavaRun) {
    let mut running = run.spawn();
    running.wait_for_stdout("a_to");
    running.signal(Signal::QUIT);
    let profile = profile(&running.wait());
    let sections: Vec<_> = profile.cpu_samples().filter(|it| !it.is_interim).collect();
    let timelines: Vec<_> = profile.timelines().collect();
    assert_eq!((sections.len(), timelines.len()), (2, 2));
    for (section, timeline) in sections.iter().zip(&timelines) {
        assert_eq!(timeline.total(), section.total);
        assert!(profile.sections().all(|it| it.head.span == Span::SinceLast));
    }
    let first = timelines[0].head.end_ns;
    let later = &timelines[1];
    assert!((1_000_000_000..later.head.end_ns - 1_000_000_000).contains(&first), "{timelines:?}");
    let is_later = |tick| later.head.time_ns(tick) + TICK_NS > first;
    assert!(later.rows.iter().all(|row| is_later(row.tick)));
}

/// Formats that other tools read have no record of it.
#[test]
fn other_formats_have_no_times() {
    jdk::each(|jdk| {
        let options = format!("cpu=samples,format=b,file={FILE}");
        let run = JavaRun::new(jdk).agent(&options).main("TwoPhases").args(["100"]).run();
        assert_eq!(profile(&run).timelines().count(), 0);
    });
}
