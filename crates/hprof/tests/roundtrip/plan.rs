//! Random profiles: their plans, and the profiles that are made of them.

use perk_hprof::Format;
use perk_profile::{
    Allocations, CallEdge, CallEdges, CallRow, CallTimes, CpuSamples, Event, Frame, FrameId,
    HeapClassRow, HeapHistogram, HeapRoot, HeapSummary, KnownObjects, Line, LockKind, Method,
    MethodId, Metric, Monitor, MonitorDump, MonitorRow, MonitorTimes, ObjectLayout, Pause,
    PauseKind, Profile, Section, SeriesSubject, Site, SiteSelection, Sites, Status, Thread,
    ThreadId, ThreadState, TimeSeries, Timeline, TimelineHead, TimelineRow, Timestamp, TraceId,
    Unit, WaitEvent, WaitKind, Waits, WallState,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// A profile as numbers and names, from which [`build`] makes a profile.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    created_s: u64,
    depth: u16,
    classes: Vec<String>,
    methods: Vec<(Index, String, Option<String>, Option<String>)>,
    frames: Vec<(Index, Line)>,
    threads: Vec<(String, Option<String>, Option<String>)>,
    /// The frames, the outermost first, and a thread.
    traces: Vec<(Vec<Index>, Option<Index>)>,
    events: Vec<PlanEvent>,
}

#[derive(Debug, Clone)]
enum PlanEvent {
    Start,
    End(Index),
    /// The counts of traces, the samples beyond them, whether they are counted again, and the
    /// seconds since the beginning.
    Samples(Vec<(Index, u64)>, u64, bool, u64),
    /// The same as for samples. The numbers are calls and self times.
    Times(Vec<(Index, u64, u64)>, u64, u64),
    /// Callee, caller and thread, calls and times, and the seconds since the beginning.
    Edges(Vec<PlanEdge>, u64),
    /// Classes, traces and four numbers; the numbers beyond them; the interval of samples; flags;
    /// seconds.
    Sites(Vec<(Index, Index, [u64; 4])>, [u64; 4], Option<u64>, u16, u64),
    Unload(Index),
    /// Four numbers, and seconds.
    Summary([u64; 4], u64),
    /// A thread's waiting, with a class, a time and a thread's number.
    Wait(WaitKind, Index, u64, Option<u32>),
    /// Classes, whether they are parked for, traces and four numbers, and seconds.
    Contention(Vec<(Index, bool, Index, [u64; 4])>, u64),
    /// A name, a unit, traces and numbers, and the sum beyond them.
    Measured(String, u8, Vec<(Index, u64)>, u64),
    /// Classes and two numbers, numbers of roots, four sizes in bytes, whether the file was cut
    /// off, and seconds.
    Heap(Vec<(Index, [u64; 2])>, Vec<u64>, Option<([u32; 4], bool)>, bool, u64),
    /// Starts and lengths, and whether garbage was collected.
    Pauses(Vec<(u32, u64, bool)>),
    /// The length of a tick, the begin, and numbers by tick.
    Series(u64, u64, Vec<(u64, Option<u32>, Option<u8>, u64)>),
    /// A metric's name if it is not samples; the length of a tick, the start and the end; ticks
    /// since the row before, threads, traces and numbers.
    Timed(Option<String>, [u64; 3], Vec<(u32, Option<Index>, Index, u64)>),
    /// Threads with trace, status and flags; monitors with class, whether they are parked for,
    /// identity, owner, and the threads that wait; seconds.
    Dump(Vec<(u32, Index, usize, [bool; 3])>, Vec<LockState>, u64),
}

type LockState = (Index, bool, Option<u32>, Option<u32>, [Vec<u32>; 2]);

type PlanEdge = (Option<Index>, Option<Index>, Option<Index>, u64, u64);

/// Names that are legal in a JVM and look like parts of a file.
fn name() -> impl Strategy<Value = String> {
    let pieces = [
        "a",
        "java.lang.",
        "\"",
        "\\",
        "\t",
        "\n",
        "\r",
        "\0",
        "(",
        ")",
        ":",
        ".",
        " ",
        "12",
        "é",
        "😀",
        "\u{FFFF}",
        "perk accounting\n",
        "\u{7FF}",
        "\u{D7FF}",
        "<empty>",
        "<init>",
        "Unknown line",
        "\\n",
        "TRACE 300001:",
        "CPU SAMPLES END\n",
        "--------",
        "\", group=\"",
        ", id = ",
        "    perk: ",
        "\u{2028}",
    ];
    let piece = prop_oneof![
        4 => select(pieces.to_vec()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => Just("x".repeat(3000)),
    ];
    vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

fn optional_name() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(name())
}

/// A method's name does not have a dot.
fn method_name() -> impl Strategy<Value = String> {
    name().prop_map(|name| name.replace('.', "-"))
}

/// In text, a parenthesis of the source cannot be distinguished from the one before it.
fn source() -> impl Strategy<Value = Option<String>> {
    optional_name().prop_map(|name| name.map(|name| name.replace('(', "[")))
}

fn line() -> impl Strategy<Value = Line> {
    prop_oneof![
        (1..=i32::MAX as u32).prop_map(Line::Number),
        Just(Line::Unknown),
        Just(Line::Compiled),
        Just(Line::Native),
    ]
}

fn step() -> impl Strategy<Value = PlanEvent> {
    // The clock of the records wraps after 71 minutes. A time stamp that lies back by more than
    // half of that is taken as one of the next round.
    let index = any::<Index>;
    let seconds = 0..2000_u64;
    let rows = vec((index(), 1..1_000_000_u64), 0..6);
    let samples = (rows, 0..10_u64, any::<bool>(), seconds.clone());
    let row = (index(), any::<u64>(), any::<u64>());
    let times = (vec(row, 0..6), 0..10_u64, seconds.clone());
    let method = || proptest::option::of(index());
    let edges = vec((method(), method(), method(), any::<u64>(), any::<u64>()), 0..6);
    let row = (index(), index(), any::<[u64; 4]>());
    let interval_bytes = proptest::option::of(1..u64::MAX);
    let sites = (vec(row, 0..6), any::<[u64; 4]>(), interval_bytes, 0..32_u16, seconds.clone());
    let summary = (any::<[u64; 4]>(), seconds.clone());
    let kinds = vec![WaitKind::Wait, WaitKind::Waited, WaitKind::Sleep, WaitKind::Exit];
    let number = || proptest::option::of(1..u32::MAX);
    let wait = (select(kinds), index(), any::<u64>(), number());
    let row = (index(), any::<bool>(), index(), any::<[u64; 4]>());
    let contention = (vec(row, 0..6), seconds.clone());
    let state = (1..u32::MAX, index(), 0..Status::ALL.len(), any::<[bool; 3]>());
    let waiting = || [vec(1..u32::MAX, 0..3), vec(1..u32::MAX, 0..3)];
    let identity = proptest::option::of(any::<u32>());
    let monitor = (index(), any::<bool>(), identity, number(), waiting());
    let dump = (vec(state, 0..4), vec(monitor, 0..4), seconds.clone());
    let row = (any::<u32>(), proptest::option::of(index()), index(), any::<u64>());
    let timed = (optional_name(), (1..u64::MAX, any::<u64>(), any::<u64>()), vec(row, 0..6));
    let measured = (name(), 0..3_u8, vec((index(), any::<u64>()), 0..6), any::<u64>());
    let rows = vec((index(), any::<[u64; 2]>()), 0..6);
    let layout = proptest::option::of(any::<([u32; 4], bool)>());
    let roots = vec(0..3_u64, HeapRoot::ALL.len());
    let heap = (rows, roots, layout, any::<bool>(), seconds.clone());
    let series_row = (any::<u64>(), option::of(1..u32::MAX), option::of(0..8_u8), any::<u64>());
    prop_oneof![
        measured.prop_map(|(name, unit, rows, more)| PlanEvent::Measured(name, unit, rows, more)),
        heap.prop_map(|(rows, roots, layout, is_cut, seconds)| {
            PlanEvent::Heap(rows, roots, layout, is_cut, seconds)
        }),
        timed.prop_map(|(name, (tick, begin, end), rows)| {
            PlanEvent::Timed(name, [tick, begin, end], rows)
        }),
        vec((any::<u32>(), any::<u64>(), any::<bool>()), 1..6).prop_map(PlanEvent::Pauses),
        (1..u64::MAX, any::<u64>(), vec(series_row, 0..6))
            .prop_map(|(tick, begin, numbers)| PlanEvent::Series(tick, begin, numbers)),
        wait.prop_map(|(kind, class, time_ms, thread)| PlanEvent::Wait(
            kind, class, time_ms, thread
        )),
        contention.prop_map(|(rows, seconds)| PlanEvent::Contention(rows, seconds)),
        dump.prop_map(|(states, monitors, seconds)| PlanEvent::Dump(states, monitors, seconds)),
        Just(PlanEvent::Start),
        any::<Index>().prop_map(PlanEvent::End),
        samples.prop_map(|(rows, more, is_interim, seconds)| {
            PlanEvent::Samples(rows, more, is_interim, seconds)
        }),
        times.prop_map(|(rows, more, seconds)| PlanEvent::Times(rows, more, seconds)),
        (edges, seconds).prop_map(|(rows, seconds)| PlanEvent::Edges(rows, seconds)),
        sites.prop_map(|(rows, more, interval, flags, s)| {
            PlanEvent::Sites(rows, more, interval, flags, s)
        }),
        any::<Index>().prop_map(PlanEvent::Unload),
        summary.prop_map(|(numbers, seconds)| PlanEvent::Summary(numbers, seconds)),
    ]
}

pub(crate) fn plan() -> impl Strategy<Value = Plan> {
    let index = any::<Index>;
    let symbols = (
        // A class's name does not have a slash, as the reader takes one for the dot of JDK 1.2's
        // agent.
        vec(name().prop_map(|name| name.replace('/', ".")), 1..4),
        vec((index(), method_name(), optional_name(), source()), 1..5),
        vec((index(), line()), 1..6),
    );
    let threads = vec((name(), optional_name(), optional_name()), 1..4);
    let traces = vec((vec(index(), 0..5), proptest::option::of(index())), 1..6);
    let rest = (0..4_000_000_000_u64, any::<u16>(), threads, traces, vec(step(), 0..6));
    (symbols, rest).prop_map(
        |((classes, methods, frames), (created_s, depth, threads, traces, events))| Plan {
            created_s,
            depth,
            classes,
            methods,
            frames,
            threads,
            traces,
            events,
        },
    )
}

fn kind(parks: bool) -> LockKind {
    if parks { LockKind::Parking } else { LockKind::Monitor }
}

fn stamp(seconds: u64) -> Timestamp {
    Timestamp { unix_ms: seconds * 1000, utc_offset_s: 0 }
}

pub(crate) fn allocations(
    [live_bytes, live_count, allocated_bytes, allocated_count]: [u64; 4],
) -> Allocations {
    Allocations { live_bytes, live_count, allocated_bytes, allocated_count }
}

/// Returns the plan's profile, as far as `format` holds it: its sections, and numbers of its size.
pub(crate) fn build(plan: &Plan, format: Format) -> Profile {
    let mut profile = Profile::default();
    profile.created = Some(stamp(plan.created_s));
    profile.depth = Some(plan.depth.into());
    let symbols = &mut profile.symbols;
    let classes: Vec<_> = plan.classes.iter().map(|name| symbols.new_class(name)).collect();
    let mut methods: Vec<MethodId> = Vec::new();
    for (class, name, signature, source) in &plan.methods {
        let mut intern = |name: &String| symbols.strings.intern(name);
        let method = Method {
            name: intern(name),
            signature: signature.as_ref().map(&mut intern),
            source: source.as_ref().map(&mut intern),
            class: *class.get(&classes),
        };
        methods.push(symbols.method(method));
    }
    let frames: Vec<FrameId> = plan
        .frames
        .iter()
        .map(|(method, line)| Frame::new(*method.get(&methods), *line))
        .map(|frame| symbols.frame(frame))
        .collect();
    let mut threads: Vec<ThreadId> = Vec::new();
    for (index, (name, group, parent_group)) in plan.threads.iter().enumerate() {
        let mut intern = |name: &String| profile.symbols.strings.intern(name);
        let thread = Thread {
            serial: 200_001 + index as u32,
            object_id: 0x5_0000_0001 + index as u64,
            name: intern(name),
            group: group.as_ref().map(&mut intern),
            parent_group: parent_group.as_ref().map(&mut intern),
        };
        threads.push(profile.push_thread(thread));
    }
    let mut traces: Vec<TraceId> = vec![profile.system_trace()];
    for (path, thread) in &plan.traces {
        let node = profile.tree.insert(path.iter().map(|index| *index.get(&frames)));
        let thread = thread.as_ref().map(|index| *index.get(&threads));
        traces.push(profile.trace(node, thread));
    }
    // The threads that a trace names have started by then.
    let mut to_start = threads.iter();
    for step in &plan.events {
        let names_traces =
            matches!(step, PlanEvent::Times(..) | PlanEvent::Sites(..) | PlanEvent::Edges(..));
        if names_traces
            || matches!(
                step,
                PlanEvent::Contention(..) | PlanEvent::Dump(..) | PlanEvent::Measured(..)
            )
            || matches!(step, PlanEvent::Timed(..))
        {
            profile.events.extend(to_start.by_ref().map(|thread| Event::ThreadStart(*thread)));
        }
        let event = match step {
            PlanEvent::Times(..) if format == Format::Binary => None,
            PlanEvent::Edges(..) if format != Format::Extended => None,
            PlanEvent::Times(rows, more, seconds) => {
                // Text has whole milliseconds and distinguishes them up to ten seconds.
                let time = |time: u64| match format {
                    Format::Ascii => time % 1000 * 1_000_000,
                    _ => time,
                };
                let rows = rows.iter().map(|(trace, count, self_ns)| CallRow {
                    trace: *trace.get(&traces),
                    count: *count,
                    self_ns: time(*self_ns),
                    total_ns: if format == Format::Extended { !*self_ns } else { 0 },
                });
                let rows: Vec<_> = rows.collect();
                let self_ns = rows.iter().map(|row| row.self_ns);
                let total_ns = self_ns.fold(time(*more), u64::saturating_add);
                let written = Some(stamp(plan.created_s + seconds));
                let mut times = CallTimes { total_ns, rows, written };
                times.rank(0.0);
                Some(Event::from(times))
            }
            PlanEvent::Edges(rows, seconds) => {
                let method = |index: &Option<Index>| index.map(|index| *index.get(&methods));
                let rows = rows.iter().map(|(callee, caller, thread, count, total_ns)| CallEdge {
                    callee: method(callee),
                    caller: method(caller),
                    thread: thread.map(|index| *index.get(&threads)),
                    count: *count,
                    total_ns: *total_ns,
                });
                let written = Some(stamp(plan.created_s + seconds));
                let edges = CallEdges { rows: rows.collect(), written };
                Some(edges.section(&mut profile).into())
            }
            PlanEvent::Unload(_) | PlanEvent::Summary(..)
                if format == Format::Ascii || format == Format::Old =>
            {
                None
            }
            PlanEvent::Unload(class) => Some(Event::ClassUnload(*class.get(&classes))),
            PlanEvent::Summary(
                [live_bytes, live_count, allocated_bytes, allocated_count],
                seconds,
            ) => {
                let most = if format == Format::Extended { u64::MAX } else { u32::MAX.into() };
                let live = [*live_bytes, *live_count].map(|number| number % most);
                let objects = allocations([live[0], live[1], *allocated_bytes, *allocated_count]);
                let written = Some(stamp(plan.created_s + seconds));
                Some(Event::HeapSummary(HeapSummary { objects, written }))
            }
            PlanEvent::Sites(rows, more, sample_interval_bytes, flags, seconds) => {
                let numbers = |numbers: [u64; 4]| match format {
                    Format::Extended => numbers,
                    _ => numbers.map(|number| number % 1_000_000),
                };
                let rows = rows.iter().map(|(class, trace, objects)| Site {
                    class: *class.get(&classes),
                    trace: *trace.get(&traces),
                    objects: allocations(numbers(*objects)),
                });
                // Text gives only the order.
                let flags = if format == Format::Ascii { *flags & 2 } else { *flags };
                let mut sites = Sites {
                    total: allocations(numbers(*more)),
                    rows: rows.collect(),
                    sample_interval_bytes: *sample_interval_bytes,
                    selection: SiteSelection::from_flags(flags),
                    known: match format {
                        Format::Extended => {
                            KnownObjects { live: flags & 8 == 0, all_sites: flags & 16 == 0 }
                        }
                        _ => KnownObjects::default(),
                    },
                    written: Some(stamp(plan.created_s + seconds)),
                };
                for row in &sites.rows {
                    sites.total.add(row.objects);
                }
                sites.rank(0.0);
                Some(Event::from(sites))
            }
            PlanEvent::Measured(..) | PlanEvent::Heap(..) if format != Format::Extended => None,
            PlanEvent::Measured(name, unit, rows, more) => {
                let rows = rows.iter().map(|(trace, count)| (*trace.get(&traces), *count));
                let unit = [Unit::Count, Unit::Nanoseconds, Unit::Bytes][usize::from(*unit)];
                Some(Section::of(Metric::other(name, unit), *more, rows).into())
            }
            PlanEvent::Timed(..) | PlanEvent::Pauses(..) | PlanEvent::Series(..)
                if matches!(format, Format::Ascii | Format::Old) =>
            {
                None
            }
            PlanEvent::Pauses(rows) => {
                let mut pauses: Vec<_> = rows
                    .iter()
                    .map(|&(begin_ns, duration_ns, is_gc)| Pause {
                        begin_ns: begin_ns.into(),
                        duration_ns,
                        kind: if is_gc { PauseKind::Collection } else { PauseKind::Safepoint },
                    })
                    .collect();
                pauses.sort_unstable();
                Some(Event::Pauses(pauses))
            }
            &PlanEvent::Series(tick_ns, begin_ns, ref numbers) => {
                let numbers = numbers.iter().map(|&(tick, thread, state, number)| {
                    let state = state.and_then(WallState::of_number);
                    ((tick, SeriesSubject { thread, state }), number)
                });
                let (metric, numbers) = (Metric::BlockedTime, numbers.collect());
                Some(Event::TimeSeries(TimeSeries { metric, tick_ns, begin_ns, numbers }))
            }
            PlanEvent::Timed(name, [tick_ns, begin_ns, end_ns], rows) => {
                let metric = match name {
                    Some(name) => Metric::other(name, Unit::Nanoseconds),
                    None => Metric::Samples,
                };
                let [tick_ns, begin_ns, end_ns] = [*tick_ns, *begin_ns, *end_ns];
                let mut tick = 0;
                let rows = rows.iter().map(|(more, thread, trace, count)| {
                    tick += u64::from(*more);
                    let thread = thread.map(|index| *index.get(&threads));
                    TimelineRow { tick, thread, trace: *trace.get(&traces), count: *count }
                });
                let head = TimelineHead { metric, tick_ns, begin_ns, end_ns };
                Some(Event::Timeline(Timeline { head, rows: rows.collect() }))
            }
            PlanEvent::Heap(rows, roots, layout, is_cut, seconds) => {
                let row = |(class, numbers): &(Index, [u64; 2])| HeapClassRow {
                    class: *class.get(&classes),
                    instance_count: numbers[0],
                    shallow_bytes: numbers[1],
                };
                let roots = HeapRoot::ALL.into_iter().zip(roots.iter().copied());
                let layout = layout.map(|(bytes, is_inferred)| ObjectLayout {
                    header_bytes: bytes[0],
                    array_header_bytes: bytes[1],
                    reference_bytes: bytes[2],
                    alignment_bytes: bytes[3],
                    is_inferred,
                });
                Some(Event::Heap(HeapHistogram {
                    rows: rows.iter().map(row).collect(),
                    roots: roots.filter(|root| root.1 > 0).collect(),
                    layout,
                    is_cut: *is_cut,
                    written: Some(stamp(plan.created_s + seconds)),
                }))
            }
            PlanEvent::Wait(..) | PlanEvent::Contention(..) | PlanEvent::Dump(..)
                if format == Format::Binary || format == Format::Old =>
            {
                None
            }
            PlanEvent::Wait(kind, class, time_ms, thread) => {
                let has_class = *kind != WaitKind::Sleep;
                Some(Event::Wait(WaitEvent {
                    kind: *kind,
                    class: has_class.then(|| *class.get(&classes)),
                    time_ms: if *kind == WaitKind::Exit { 0 } else { *time_ms },
                    thread: *thread,
                }))
            }
            PlanEvent::Contention(rows, seconds) => {
                let row = |(class, parks, trace, numbers): &(Index, bool, Index, [u64; 4])| {
                    let [blocked_count, blocked_ns, wait_count, waited_ns] = match format {
                        Format::Ascii => [numbers[0] | 1, numbers[1] % 1000 * 1_000_000, 0, 0],
                        _ => *numbers,
                    };
                    MonitorRow {
                        trace: *trace.get(&traces),
                        class: *class.get(&classes),
                        kind: kind(*parks),
                        waits: Waits { blocked_count, blocked_ns, wait_count, waited_ns },
                    }
                };
                let rows: Vec<_> = rows.iter().map(row).collect();
                let total_ns =
                    rows.iter().map(|row| row.waits.blocked_ns).fold(0, u64::saturating_add);
                let written = Some(stamp(plan.created_s + seconds));
                let mut times = MonitorTimes { total_ns, rows, written };
                times.rank(0.0);
                // Text does not have sections without rows.
                let is_written = format != Format::Ascii || !times.rows.is_empty();
                is_written.then_some(Event::from(times))
            }
            PlanEvent::Dump(states, monitors, seconds) => {
                let state = |(serial, trace, status, flags): &(u32, Index, usize, [bool; 3])| {
                    let [is_suspended, is_interrupted, is_in_native] = *flags;
                    let trace = *trace.get(&traces);
                    let (serial, status) = (*serial, Status::ALL[*status]);
                    ThreadState {
                        serial,
                        trace,
                        status,
                        is_suspended,
                        is_interrupted,
                        is_in_native,
                    }
                };
                let monitor =
                    |(class, parks, identity, owner, [blocked, waiting]): &LockState| Monitor {
                        class: *class.get(&classes),
                        identity: identity.filter(|_| format == Format::Extended),
                        kind: kind(*parks),
                        owner: *owner,
                        entry_count: owner.map_or(0, |owner| owner / 3),
                        blocked: blocked.clone(),
                        waiting: waiting.clone(),
                    };
                Some(Event::MonitorDump(MonitorDump {
                    threads: states.iter().map(state).collect(),
                    monitors: monitors.iter().map(monitor).collect(),
                    written: Some(stamp(plan.created_s + seconds)),
                }))
            }
            PlanEvent::Start => to_start.next().map(|thread| Event::ThreadStart(*thread)),
            PlanEvent::End(index) => {
                Some(Event::ThreadEnd(profile.get_thread(*index.get(&threads)).serial))
            }
            PlanEvent::Samples(rows, more, is_interim, seconds) => {
                profile.events.extend(to_start.by_ref().map(|thread| Event::ThreadStart(*thread)));
                let mut samples = CpuSamples { is_interim: *is_interim, ..CpuSamples::default() };
                for (trace, count) in rows {
                    let trace = *trace.get(&traces);
                    // Text leaves out samples without a frame.
                    let is_kept = format != Format::Ascii || profile.frames(trace).next().is_some();
                    if is_kept && !samples.rows.iter().any(|(known, _)| *known == trace) {
                        samples.rows.push((trace, *count));
                    }
                }
                samples.total = samples.rows.iter().map(|(_, count)| count).sum::<u64>() + more;
                samples.written = Some(stamp(plan.created_s + seconds));
                samples.rank(0.0);
                Some(Event::from(samples))
            }
        };
        profile.events.extend(event);
    }
    profile
}
