//! Recordings that are written and read back.

use std::collections::BTreeMap;

use perk_profile::{
    Allocations, CpuSamples, Event, Frame, FrameKind, Key, Line, LockKind, Method, MonitorRow,
    MonitorTimes, Section, SectionHead, Site, Sites, Subject, TICK_NS, Thread, ThreadId, Timeline,
    TimelineHead, TimelineRow, TraceId, Waits, WallState, section,
};
use proptest::prelude::*;

use super::write::plan::Plan;
use super::*;
use crate::fixture;

fn written(profile: &Profile) -> Vec<u8> {
    let mut out = Vec::new();
    write(profile, &mut out).unwrap();
    out
}

fn read_back(profile: &Profile) -> Profile {
    let read = read(&written(profile)[..]).unwrap();
    assert_eq!(read.notes, [""; 0]);
    read
}

/// Returns the numbers of a metric by thread, path with all details of the frames, and subject.
fn numbers(profile: &Profile, metric: &Metric) -> BTreeMap<String, u64> {
    let symbols = &profile.symbols;
    let mut sums = BTreeMap::new();
    for (Key { trace, subject, .. }, number) in metric.rows(profile).rows {
        let thread = profile.get_trace(trace).thread.map(|id| profile.thread_name(id));
        let frames: Vec<_> = profile
            .frames(trace)
            .map(|frame| {
                let frame = symbols.get_frame(frame);
                let method = symbols.get_method(frame.method);
                let signature = method.signature.map(|it| symbols.strings.get(it));
                let name = symbols.method_name(frame.method);
                format!("{name} {signature:?} {:?} {:?}", frame.line, frame.bci)
            })
            .collect();
        let subject = subject.label(symbols);
        // Recordings have slashes for the dots of class names.
        let text = format!("{thread:?} {frames:?} {subject:?}").replace('/', ".");
        *sums.entry(text).or_insert(0) += number;
    }
    sums
}

/// Checks that all numbers that recordings hold are the same in both profiles.
#[track_caller]
fn assert_same(profile: &Profile, read: &Profile) {
    let metrics = |profile: &Profile| -> Vec<Metric> {
        Metric::all_of(profile).into_iter().filter(|metric| Jfr.holds(metric)).collect()
    };
    assert_eq!(metrics(read), metrics(profile));
    for metric in metrics(profile) {
        let total = metric.rows(profile).total;
        assert_eq!(metric.rows(read).total, total, "{metric:?}");
        let mut expected = numbers(profile, &metric);
        let listed: u64 = expected.values().sum();
        if total > listed {
            let unlisted = if metric.is_of_locks() {
                "None [] Some(\"java.lang.Object\")"
            } else if metric.is_of_objects() {
                "None [] Some(\"\")"
            } else if metric == Metric::WallTime {
                "None [] Some(\"[running]\")"
            } else {
                "None [] None"
            };
            *expected.entry(unlisted.to_owned()).or_default() += total - listed;
        }
        assert_eq!(numbers(read, &metric), expected, "{metric:?}");
    }
}

/// Adds a path of one frame, in a thread.
fn trace(profile: &mut Profile, thread: Option<ThreadId>, method: &str, line: Line) -> TraceId {
    let class = profile.symbols.class("a.B");
    let name = profile.symbols.strings.intern(method);
    let signature = Some(profile.symbols.strings.intern("([Ljava/lang/String;)V"));
    let method = Method { class, name, signature, source: None };
    let method = profile.symbols.method(method);
    let frame = profile.symbols.frame(Frame { bci: Some(7), ..Frame::new(method, line) });
    let node = profile.tree.insert([frame]);
    profile.trace(node, thread)
}

fn thread(profile: &mut Profile, name: &str) -> ThreadId {
    let strings = &mut profile.symbols.strings;
    let (name, group) = (strings.intern(name), Some(strings.intern("workers")));
    let parent_group = Some(strings.intern("main"));
    let serial = 200_001 + profile.threads.len() as u32;
    profile.push_thread(Thread { serial, object_id: 0, name, group, parent_group })
}

fn samples(profile: &mut Profile, rows: Vec<(TraceId, u64)>, total: u64) {
    let interval_ns = Some(10_000_000);
    profile.events.push(CpuSamples { total, rows, interval_ns, ..CpuSamples::default() }.into());
}

/// Returns a profile with all that recordings hold.
fn all_kinds() -> Profile {
    let mut profile = Profile::default();
    let threads = ["w", "w", "größe"].map(|name| thread(&mut profile, name));
    let traces: Vec<_> = threads
        .iter()
        .flat_map(|&it| [("main", Line::Number(12)), ("run", Line::Unknown)].map(|at| (it, at)))
        .map(|(thread, (name, line))| trace(&mut profile, Some(thread), name, line))
        .collect();
    let system = profile.system_trace();
    // Some samples have no stack, and some are below the cutoff.
    let rows = vec![(traces[0], 5), (traces[1], 1), (traces[4], 3), (system, 2)];
    samples(&mut profile, rows, 20);
    for (metric, count) in [(native_samples(), 4), (waiting_samples(), 3)] {
        profile.events.push(Section::of(metric, count, [(traces[2], count)]).into());
    }
    let key = |trace, state| Key::new(trace, Subject::State(state));
    let times = [
        (key(traces[0], WallState::Parked), [123_456_789]),
        (key(traces[0], WallState::Running), [1]),
        (key(traces[3], WallState::Native), [60_000_000_001]),
    ];
    let total = times.iter().map(|row| row.1[0]).sum();
    let head = SectionHead::new([section::Column::new(Metric::WallTime, total)]);
    profile.events.push(Section::with_rows(head, times).into());
    let [array, point] = ["int[][]", "java.awt.Point"].map(|it| profile.symbols.class(it));
    let site = |class, trace, allocated_bytes, allocated_count| Site {
        class,
        trace,
        objects: Allocations { allocated_bytes, allocated_count, live_bytes: 8, live_count: 1 },
    };
    let mut sites = Sites {
        rows: vec![
            site(array, traces[0], 5_000_001, 7),
            site(point, traces[0], 24, 1),
            site(point, traces[5], 3_000_000, 1_250),
        ],
        sample_interval_bytes: Some(524_288),
        ..Sites::default()
    };
    sites.rows.iter().for_each(|row| sites.total.add(row.objects));
    profile.events.push(sites.into());
    let lock = profile.symbols.class("java.util.concurrent.ThreadPoolExecutor$Worker");
    let row =
        |trace, class, kind, numbers| MonitorRow { trace, class, kind, waits: Waits::of(numbers) };
    let rows = vec![
        row(traces[0], point, LockKind::Monitor, [3, 10, 2, 7_000_000_000]),
        row(traces[1], lock, LockKind::Parking, [4, 5_000_000, 1, 9]),
    ];
    profile.events.push(MonitorTimes { total_ns: 5_000_010, rows, written: None }.into());
    profile
}

#[test]
fn numbers_of_all_kinds_are_read_back() {
    let profile = all_kinds();
    let read = read_back(&profile);
    assert_same(&profile, &read);
    assert_eq!(read.sample_interval_ns(), Some(10_000_000));
    assert_eq!(read.sites().unwrap().sample_interval_bytes, Some(524_288));
    assert_eq!(read.threads.len(), 3);
    let text = |id: Option<_>| id.map(|id| read.symbols.strings.get(id));
    let groups = (text(read.threads[0].group), text(read.threads[0].parent_group));
    assert_eq!(groups, (Some("workers"), Some("main")));
    let kinds: Vec<_> = read.monitor_times().flat_map(|it| it.rows).map(|it| it.kind).collect();
    assert!(kinds.contains(&LockKind::Parking) && kinds.contains(&LockKind::Monitor));
    let losses = (&Jfr as &dyn FileFormat).losses(&file_format::View::new(&profile, ""));
    assert_eq!(losses, ["the metrics live, live_objects"]);
    // What is read back is written the same way.
    assert_same(&read, &read_back(&read));
    let counts = event_counts(&written(&profile)[..]).unwrap();
    for (name, count) in [
        ("jdk.ExecutionSample", 23),
        ("jdk.NativeMethodSample", 4),
        ("jdk.ObjectAllocationSample", 7 + 1 + 6),
        ("jdk.JavaMonitorEnter", 3),
        ("jdk.JavaMonitorWait", 2),
        ("jdk.ThreadPark", 5),
        ("perk.WallClockSample", 13 + 1 + 6001),
        ("jdk.ActiveRecording", 1),
    ] {
        assert_eq!(counts.get(name), Some(&count), "{name}: {counts:?}");
    }
}

#[test]
fn exact_allocations_stay_exact() {
    let mut profile = all_kinds();
    for event in &mut profile.events {
        if let Event::Section(section) = event {
            section.head.columns.iter_mut().for_each(|column| column.period = None);
        }
    }
    let read = read_back(&profile);
    assert_same(&profile, &read);
    assert_eq!(read.sites().unwrap().sample_interval_bytes, None);
    assert_eq!(read.sample_interval_ns(), None);
}

#[test]
fn a_time_of_waits_without_their_number_is_one_wait() {
    let mut profile = Profile::default();
    let trace = trace(&mut profile, None, "main", Line::Number(1));
    let class = profile.symbols.class("a.B");
    let waits = Waits::of([0, 70, 2, 0]);
    let rows = vec![MonitorRow { trace, class, kind: LockKind::Monitor, waits }];
    // Part of the time is below the cutoff.
    profile.events.push(MonitorTimes { total_ns: 100, rows, written: None }.into());
    let read = read_back(&profile);
    let totals = Metric::OF_LOCKS.map(|metric| metric.rows(&read).total);
    assert_eq!(totals, [2, 100, 2, 0]);
}

#[test]
fn known_times_are_kept_and_others_are_not_invented() {
    let is_cpu = |it: &&Timeline| it.head.metric == Metric::Samples;
    let mut profile = all_kinds();
    assert_eq!(read_back(&profile).timelines().find(is_cpu), None);
    let traces: Vec<_> = (0..profile.traces().len()).map(TraceId::new).collect();
    let row = |tick, index: usize, count| {
        let trace = traces[index];
        let thread = profile.get_trace(trace).thread;
        TimelineRow { tick, thread, trace, count }
    };
    let head = TimelineHead {
        metric: Metric::Samples,
        tick_ns: TICK_NS,
        begin_ns: 2 * TICK_NS,
        end_ns: 400 * TICK_NS,
    };
    // All of one trace, a part of another, and one that is below the cutoff.
    let rows = vec![row(0, 1, 5), row(7, 5, 1), row(300, 3, 4)];
    profile.events.push(Event::Timeline(Timeline { head, rows: rows.into() }));
    let read = read_back(&profile);
    assert_eq!(Metric::Samples.rows(&read).total, 20);
    let timeline = read.timelines().find(is_cpu).unwrap();
    let at = |tick| -> u64 {
        timeline.rows.iter().filter(|row| row.tick == tick).map(|row| row.count).sum()
    };
    assert!(at(2) >= 5 && at(9) >= 1 && at(302) >= 4, "{timeline:?}");
    assert_eq!(timeline.total(), 20);
    assert_eq!(timeline.head.end_ns, 400 * TICK_NS);
}

#[test]
fn more_samples_than_events_stand_for_several_each() {
    let mut profile = Profile::default();
    let traces = ["a", "b"].map(|it| trace(&mut profile, None, it, Line::Unknown));
    // 13 million: one of three.
    samples(&mut profile, vec![(traces[0], 12_000_002), (traces[1], 1_000_000)], 13_000_002);
    let losses = (&Jfr as &dyn FileFormat).losses(&file_format::View::new(&profile, ""));
    assert_eq!(losses, ["samples beyond 5 million (an event represents several)"]);
    let plan = Plan::new(&profile);
    assert_eq!(plan.sample_step, 3);
    let counts: Vec<_> = plan.rows.iter().map(|row| (row.trace, row.event_count)).collect();
    assert_eq!(counts, [(traces[0], 4_000_000), (traces[1], 333_334)]);
}

#[test]
fn each_chunk_has_what_its_events_name() {
    let profile = all_kinds();
    let mut bytes = Vec::new();
    write::write_chunks(&profile, 2_000, &mut bytes).unwrap();
    let chunks = memchr::memmem::find_iter(&bytes, b"FLR\0\0\x02\0\x01").count();
    assert!(chunks > 9, "{chunks}");
    assert_same(&profile, &read(&bytes[..]).unwrap());
}

#[test]
fn cut_off_stacks_stay_cut_off() {
    let mut profile = Profile::default();
    let trace = trace(&mut profile, None, "main", Line::Compiled);
    samples(&mut profile, vec![(trace, 1)], 1);
    profile.depth = Some(1);
    let read = read(&written(&profile)[..]).unwrap();
    assert_eq!(read.depth, Some(1));
    let frame = read.frames(Metric::Samples.rows(&read).rows[0].0.trace).next().unwrap();
    let frame = read.symbols.get_frame(frame);
    assert_eq!((frame.line, frame.kind), (Line::Compiled, FrameKind::Compiled));
}

#[test]
fn functions_keep_their_libraries() {
    let mut profile = Profile::default();
    let symbols = &mut profile.symbols;
    let (class, name) = (symbols.class(""), symbols.strings.intern("JavaThread::run"));
    let source = Some(symbols.strings.intern("libjvm.so"));
    let method = symbols.method(Method { class, name, signature: None, source });
    let frame = symbols.frame(Frame::new(method, Line::Native));
    let node = profile.tree.insert([frame]);
    let trace = profile.trace(node, None);
    samples(&mut profile, vec![(trace, 1)], 1);
    let read = read_back(&profile);
    let trace = Metric::Samples.rows(&read).rows[0].0.trace;
    let frame = read.symbols.get_frame(read.frames(trace).next().unwrap());
    let method = read.symbols.get_method(frame.method);
    assert_eq!(read.symbols.method_name(frame.method), "JavaThread::run");
    assert_eq!(method.source.map(|it| read.symbols.strings.get(it)), Some("libjvm.so"));
    assert_eq!(frame.line, Line::Native);
}

#[test]
fn the_accounting_and_the_date_are_read_back() {
    let mut profile = fixture::everything();
    let accounting = profile.accounting.as_mut().unwrap();
    accounting.jvm = "OpenJDK 64-Bit Server VM 17.0.1+2".into();
    accounting.pid = 7;
    let read = read_back(&profile);
    assert_eq!(read.accounting, profile.accounting);
    assert_eq!(read.created, profile.created);
}

proptest! {
    #[test]
    fn stacks_are_read_back(stacks in fixture::stacks()) {
        let profile = fixture::of_stacks(&stacks);
        prop_assume!(!Metric::all_of(&profile).is_empty());
        assert_same(&profile, &read_back(&profile));
    }
}
