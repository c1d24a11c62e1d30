//! Profiles are read as they were written, whatever the names, and readers accept any bytes.

#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;

use perk_hprof::{Error, Format};
use perk_profile::{
    Allocations, CallEdge, CallEdges, CallRow, CallTimes, CpuSamples, Event, Frame, FrameId,
    HeapClassRow, HeapHistogram, HeapRoot, HeapSummary, KnownObjects, Line, LockKind, Method,
    MethodId, Metric, Monitor, MonitorDump, MonitorRow, MonitorTimes, ObjectLayout, Profile,
    Section, SectionView, Site, SiteSelection, Sites, Status, StrId, Thread, ThreadId, ThreadState,
    Timeline, TimelineHead, TimelineRow, Timestamp, TraceId, Unit, WaitEvent, WaitKind, Waits,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const FORMATS: [Format; 4] = [Format::Ascii, Format::Binary, Format::Extended, Format::Old];

/// A profile as numbers and names, from which [`build`] makes a profile.
#[derive(Debug, Clone)]
struct Plan {
    created_s: u64,
    depth: u16,
    classes: Vec<String>,
    methods: Vec<(Index, String, Option<String>, Option<String>)>,
    frames: Vec<(Index, Line)>,
    threads: Vec<(String, Option<String>, Option<String>)>,
    /// The frames, the outermost first, and a thread.
    traces: Vec<(Vec<Index>, Option<Index>)>,
    events: Vec<Step>,
}

#[derive(Debug, Clone)]
enum Step {
    Start,
    End(Index),
    /// The counts of traces, the samples beyond them, whether they are counted again, and the
    /// seconds since the beginning.
    Samples(Vec<(Index, u64)>, u64, bool, u64),
    /// The same as for samples. The numbers are calls and self times.
    Times(Vec<(Index, u64, u64)>, u64, u64),
    /// Callee, caller and thread, calls and times, and the seconds since the beginning.
    Edges(Vec<Edge>, u64),
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
    /// A metric's name if it is not samples; the length of a tick, the begin and the end; ticks since
    /// the row before, threads, traces and numbers.
    Timed(Option<String>, [u64; 3], Vec<(u32, Option<Index>, Index, u64)>),
    /// Threads with trace, status and flags; monitors with class, whether they are parked for,
    /// identity, owner, and the threads that wait; seconds.
    Dump(Vec<(u32, Index, usize, [bool; 3])>, Vec<Held>, u64),
}

type Held = (Index, bool, Option<u32>, Option<u32>, [Vec<u32>; 2]);

type Edge = (Option<Index>, Option<Index>, Option<Index>, u64, u64);

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

fn step() -> impl Strategy<Value = Step> {
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
    prop_oneof![
        measured.prop_map(|(name, unit, rows, more)| Step::Measured(name, unit, rows, more)),
        heap.prop_map(|(rows, roots, layout, is_cut, seconds)| {
            Step::Heap(rows, roots, layout, is_cut, seconds)
        }),
        timed.prop_map(|(name, (tick, begin, end), rows)| {
            Step::Timed(name, [tick, begin, end], rows)
        }),
        wait.prop_map(|(kind, class, time_ms, thread)| Step::Wait(kind, class, time_ms, thread)),
        contention.prop_map(|(rows, seconds)| Step::Contention(rows, seconds)),
        dump.prop_map(|(states, monitors, seconds)| Step::Dump(states, monitors, seconds)),
        Just(Step::Start),
        any::<Index>().prop_map(Step::End),
        samples.prop_map(|(rows, more, is_interim, seconds)| {
            Step::Samples(rows, more, is_interim, seconds)
        }),
        times.prop_map(|(rows, more, seconds)| Step::Times(rows, more, seconds)),
        (edges, seconds).prop_map(|(rows, seconds)| Step::Edges(rows, seconds)),
        sites.prop_map(|(rows, more, interval, flags, s)| {
            Step::Sites(rows, more, interval, flags, s)
        }),
        any::<Index>().prop_map(Step::Unload),
        summary.prop_map(|(numbers, seconds)| Step::Summary(numbers, seconds)),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
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

fn allocations(
    [live_bytes, live_count, allocated_bytes, allocated_count]: [u64; 4],
) -> Allocations {
    Allocations { live_bytes, live_count, allocated_bytes, allocated_count }
}

/// Returns the plan's profile, as far as `format` holds it: its sections, and numbers of its size.
fn build(plan: &Plan, format: Format) -> Profile {
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
        let names_traces = matches!(step, Step::Times(..) | Step::Sites(..) | Step::Edges(..));
        if names_traces
            || matches!(step, Step::Contention(..) | Step::Dump(..) | Step::Measured(..))
            || matches!(step, Step::Timed(..))
        {
            profile.events.extend(to_start.by_ref().map(|thread| Event::ThreadStart(*thread)));
        }
        let event = match step {
            Step::Times(..) if format == Format::Binary => None,
            Step::Edges(..) if format != Format::Extended => None,
            Step::Times(rows, more, seconds) => {
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
            Step::Edges(rows, seconds) => {
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
            Step::Unload(_) | Step::Summary(..)
                if format == Format::Ascii || format == Format::Old =>
            {
                None
            }
            Step::Unload(class) => Some(Event::ClassUnload(*class.get(&classes))),
            Step::Summary([live_bytes, live_count, allocated_bytes, allocated_count], seconds) => {
                let most = if format == Format::Extended { u64::MAX } else { u32::MAX.into() };
                let live = [*live_bytes, *live_count].map(|number| number % most);
                let objects = allocations([live[0], live[1], *allocated_bytes, *allocated_count]);
                let written = Some(stamp(plan.created_s + seconds));
                Some(Event::HeapSummary(HeapSummary { objects, written }))
            }
            Step::Sites(rows, more, sample_interval_bytes, flags, seconds) => {
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
            Step::Measured(..) | Step::Heap(..) if format != Format::Extended => None,
            Step::Measured(name, unit, rows, more) => {
                let rows = rows.iter().map(|(trace, count)| (*trace.get(&traces), *count));
                let unit = [Unit::Count, Unit::Nanoseconds, Unit::Bytes][usize::from(*unit)];
                Some(Section::of(Metric::other(name, unit), *more, rows).into())
            }
            Step::Timed(..) if matches!(format, Format::Ascii | Format::Old) => None,
            Step::Timed(name, [tick_ns, begin_ns, end_ns], rows) => {
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
            Step::Heap(rows, roots, layout, is_cut, seconds) => {
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
            Step::Wait(..) | Step::Contention(..) | Step::Dump(..)
                if format == Format::Binary || format == Format::Old =>
            {
                None
            }
            Step::Wait(kind, class, time_ms, thread) => {
                let has_class = *kind != WaitKind::Sleep;
                Some(Event::Wait(WaitEvent {
                    kind: *kind,
                    class: has_class.then(|| *class.get(&classes)),
                    time_ms: if *kind == WaitKind::Exit { 0 } else { *time_ms },
                    thread: *thread,
                }))
            }
            Step::Contention(rows, seconds) => {
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
            Step::Dump(states, monitors, seconds) => {
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
                    |(class, parks, identity, owner, [blocked, waiting]): &Held| Monitor {
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
            Step::Start => to_start.next().map(|thread| Event::ThreadStart(*thread)),
            Step::End(index) => {
                Some(Event::ThreadEnd(profile.get_thread(*index.get(&threads)).serial))
            }
            Step::Samples(rows, more, is_interim, seconds) => {
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

fn written(profile: &Profile, format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    perk_hprof::write(profile, format, &mut bytes).unwrap();
    bytes
}

/// Returns the contents of a profile's events, with names instead of ids.
fn told(profile: &Profile) -> Vec<String> {
    let text = |id: StrId| profile.symbols.strings.get(id);
    let thread = |id: ThreadId| {
        let thread = profile.get_thread(id);
        (
            thread.serial,
            thread.object_id,
            text(thread.name),
            thread.group.map(text),
            thread.parent_group.map(text),
        )
    };
    let row = |&(id, count): &(TraceId, u64)| {
        let trace = profile.get_trace(id);
        let frames: Vec<_> = profile
            .frames(id)
            .map(|id| {
                let frame = profile.symbols.get_frame(id);
                let method = profile.symbols.get_method(frame.method);
                (
                    profile.symbols.class_name(method.class).to_owned(),
                    text(method.name),
                    method.signature.map(text),
                    method.source.map(text),
                    frame.line,
                )
            })
            .collect();
        (count, trace.serial, trace.thread.map(thread), frames)
    };
    let section = |section: &Section| match section.view(profile) {
        SectionView::CpuSamples(samples) => {
            let rows: Vec<_> = samples.rows.iter().map(row).collect();
            format!("{} {} {:?} {rows:?}", samples.total, samples.is_interim, samples.written)
        }
        SectionView::CallTimes(times) => {
            let rows: Vec<_> = times
                .rows
                .iter()
                .map(|call| (row(&(call.trace, call.count)), call.self_ns))
                .collect();
            format!("{} ns {:?} {rows:?}", times.total_ns, times.written)
        }
        SectionView::CallEdges(edges) => {
            let method = |id: MethodId| {
                let method = profile.symbols.get_method(id);
                let source = method.source.map(text);
                (profile.symbols.method_name(id), method.signature.map(text), source)
            };
            let rows: Vec<_> = edges
                .rows
                .iter()
                .map(|edge| {
                    let thread = edge.thread.map(thread);
                    let methods = (edge.callee.map(method), edge.caller.map(method));
                    (methods, thread, edge.count, edge.total_ns)
                })
                .collect();
            format!("{:?} {rows:?}", edges.written)
        }
        SectionView::Sites(sites) => {
            let rows: Vec<_> = sites
                .rows
                .iter()
                .map(|site| {
                    let class = profile.symbols.class_name(site.class);
                    (class, row(&(site.trace, 0)), site.objects)
                })
                .collect();
            let interval = sites.sample_interval_bytes;
            let selection = sites.selection;
            format!("{:?} {interval:?} {selection:?} {:?} {rows:?}", sites.total, sites.written)
        }
        SectionView::MonitorTimes(times) => {
            let rows: Vec<_> = times
                .rows
                .iter()
                .map(|it| {
                    (profile.symbols.class_name(it.class), it.kind, row(&(it.trace, 0)), it.waits)
                })
                .collect();
            format!("{} ns {:?} {rows:?}", times.total_ns, times.written)
        }
        SectionView::Other => {
            let rows = section.of_metrics([section.head.columns[0].metric.clone()]);
            let rows: Vec<_> = rows.map(|(key, [number])| row(&(key.trace, number))).collect();
            format!("{:?} {rows:?}", section.head.columns)
        }
    };
    let event = |event: &Event| match event {
        Event::ThreadStart(id) => format!("start {:?}", thread(*id)),
        Event::ThreadEnd(serial) => format!("end {serial}"),
        Event::Section(it) => section(it),
        Event::ClassUnload(class) => format!("unload {}", profile.symbols.class_name(*class)),
        Event::HeapSummary(summary) => format!("{summary:?}"),
        Event::Wait(wait) => {
            let class = wait.class.map(|class| profile.symbols.class_name(class));
            format!("{:?} {class:?} {} {:?}", wait.kind, wait.time_ms, wait.thread)
        }
        Event::Timeline(timeline) => {
            let rows: Vec<_> = timeline
                .rows
                .iter()
                .map(|it| (it.tick, it.thread.map(thread), row(&(it.trace, it.count))))
                .collect();
            format!("{:?} {rows:?}", timeline.head)
        }
        Event::FieldAccesses(accesses) => format!("{accesses:?}"),
        Event::Heap(heap) => {
            let class = |row: &HeapClassRow| {
                let name = profile.symbols.class_name(row.class);
                (name.to_owned(), row.instance_count, row.shallow_bytes)
            };
            let rows: Vec<_> = heap.rows.iter().map(class).collect();
            format!(
                "{rows:?} {:?} {:?} {} {:?}",
                heap.roots, heap.layout, heap.is_cut, heap.written
            )
        }
        Event::MonitorDump(dump) => {
            let threads: Vec<_> = dump
                .threads
                .iter()
                .map(|it| {
                    let flags = [it.is_suspended, it.is_interrupted, it.is_in_native];
                    (it.serial, row(&(it.trace, 0)), it.status, flags)
                })
                .collect();
            let monitors: Vec<_> = dump
                .monitors
                .iter()
                .map(|it| {
                    let class = profile.symbols.class_name(it.class);
                    let owned = (it.owner, it.entry_count);
                    (class, it.identity, it.kind, owned, &it.blocked, &it.waiting)
                })
                .collect();
            format!("{:?} {threads:?} {monitors:?}", dump.written)
        }
    };
    profile.events.iter().map(event).collect()
}

/// Returns the numbers of a text's sections.
fn numbers(profile: &Profile) -> Vec<String> {
    let serial = |id: TraceId| profile.get_trace(id).serial;
    let section = |section: &Section| match section.view(profile) {
        SectionView::CallTimes(times) => {
            let row = |row: &CallRow| (serial(row.trace), row.count, row.self_ns, row.total_ns);
            let rows: Vec<_> = times.rows.iter().map(row).collect();
            Some(format!("{} ns {rows:?}", times.total_ns))
        }
        SectionView::Sites(sites) => {
            let rows: Vec<_> =
                sites.rows.iter().map(|row| (serial(row.trace), row.objects)).collect();
            Some(format!("{:?} {rows:?}", sites.sample_interval_bytes))
        }
        _ => None,
    };
    profile.sections().filter_map(section).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    /// Text is written with the same bytes after one reading. (Line ends in names are written as
    /// `\n`.)
    #[test]
    fn text_is_written_as_it_was_read(plan in plan()) {
        let profile = build(&plan, Format::Ascii);
        let first = written(&profile, Format::Ascii);
        let read = perk_hprof::read(&first[..]).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(numbers(&read), numbers(&profile));
        let second = written(&read, Format::Ascii);
        prop_assert_eq!(String::from_utf8_lossy(&second), String::from_utf8_lossy(&first));
    }

    /// Records lose nothing. After one reading their ids are in the order of first use, and stay
    /// so.
    #[test]
    fn records_are_written_as_they_were_read(
        plan in plan(),
        format in select(vec![Format::Binary, Format::Extended]),
    ) {
        let profile = build(&plan, format);
        let first = written(&profile, format);
        prop_assert_eq!(perk_hprof::recognise(&first), Some(format));
        let read = perk_hprof::read(&first[..]).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(read.created, profile.created);
        prop_assert_eq!(read.depth, profile.depth);
        prop_assert_eq!(told(&read), told(&profile));
        let classes = |profile: &Profile| -> Vec<String> {
            let symbols = &profile.symbols;
            symbols.classes().map(|(id, _)| symbols.class_name(id).to_owned()).collect()
        };
        prop_assert_eq!(classes(&read), classes(&profile));
        prop_assert_eq!(read.notes.len(), 0);

        let second = written(&read, format);
        let third = written(&perk_hprof::read(&second[..]).unwrap(), format);
        prop_assert!(second == third, "{:?}", plan);
        prop_assert_eq!(second.len(), first.len());
    }

    #[test]
    fn what_is_cut_or_broken_is_an_error_or_less(
        plan in plan(),
        cuts in vec(any::<Index>(), 20),
        flips in vec((any::<Index>(), 0..8_u8), 1..20),
    ) {
        for format in FORMATS {
            let profile = build(&plan, format);
            if format.holds(&profile).is_err() {
                continue;
            }
            let bytes = written(&profile, format);
            for cut in &cuts {
                survives(&bytes[..cut.index(bytes.len())])?;
            }
            let mut broken = bytes;
            for (at, bit) in &flips {
                let at = at.index(broken.len());
                broken[at] ^= 1 << bit;
                survives(&broken)?;
            }
        }
    }

    #[test]
    fn any_bytes_are_an_error_or_a_profile(
        header in select(vec![
            &b"JAVA PROFILE 1.0.1, created Fri Nov 20 19:00:31 2026\n\n--------\n\n"[..],
            &b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0"[..],
            &b"JAVA PROFILE 1.0.1\0\0\0\0\x04\0\0\0\0\0\0\0\0"[..],
            &b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0\xF0\0\0\0\0\0\0\0\x04\0\0\0\x01"[..],
            &b"count callee caller time\n"[..],
            &b"JAVA PROFILE 1.0"[..],
            &b""[..],
        ]),
        bytes in vec(any::<u8>(), 0..400),
    ) {
        survives(&[header, &bytes].concat())?;
    }

    /// Records of any tag and length, with bytes that are meaningful more often than random ones.
    #[test]
    fn any_records_are_an_error_or_a_profile(
        id_bytes in 0..10_u8,
        extended in any::<bool>(),
        records in vec((prop_oneof![0..0x30_u8, 0xEF..=0xFF_u8], 0..40_u32, vec(0..4_u8, 0..40)), 0..10),
    ) {
        let mut bytes = b"JAVA PROFILE 1.0.1\0\0\0\0".to_vec();
        bytes.push(id_bytes);
        bytes.extend([0; 8]);
        if extended {
            bytes.extend([0xF0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1]);
        }
        for (tag, length, body) in records {
            bytes.push(tag);
            bytes.extend([0; 4]);
            bytes.extend(length.to_be_bytes());
            bytes.extend(body);
        }
        survives(&bytes)?;
    }
}

/// Reads the bytes, which must not panic. The place of an error lies inside the file.
fn survives(bytes: &[u8]) -> Result<(), TestCaseError> {
    match perk_hprof::read(bytes) {
        Ok(profile) => {
            // A profile that was read can be written.
            for format in FORMATS {
                let whole = perk_hprof::write(&profile, format, std::io::sink()).is_ok();
                prop_assert_eq!(whole, format.holds(&profile).is_ok(), "{:?}", format);
            }
        }
        Err(Error::Binary { offset, .. } | Error::Cut { offset, .. }) => {
            prop_assert!(offset <= bytes.len())
        }
        Err(Error::Ascii { line, .. }) => {
            let lines = bytes.split(|byte| *byte == b'\n').count();
            prop_assert!((1..=lines).contains(&line), "line {} of {}", line, lines);
        }
        Err(_) => {}
    }
    Ok(())
}

/// Flipped bits in the original's files, at regular steps: small ones in small files, larger ones
/// in large files.
#[test]
fn golden_files_with_a_bit_flipped_do_no_harm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/hprof");
    for (name, step) in [
        ("samples-cpu.txt", 13),
        ("samples-b-cpu.hprof", 61),
        ("times-cpu.txt", 997),
        ("sites-alloc-depth1.txt", 20_011),
        ("sites-b-arrays.hprof", 15_013),
        ("old-cpu.txt", 31_013),
    ] {
        let bytes = fs::read(folder.join(name)).unwrap();
        for bit in (0..bytes.len() * 8).step_by(step) {
            let mut broken = bytes.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            survives(&broken).unwrap_or_else(|e| panic!("{name}, bit {bit}: {e}"));
        }
    }
}

/// A small file in each format is cut at every byte.
#[test]
fn small_files_cut_anywhere_do_no_harm() {
    let bytes = fs::read(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/hprof/times-cpu-depth0.txt"),
    );
    let mut profile = perk_hprof::read(&bytes.unwrap()[..]).unwrap();
    let class = profile.symbols.new_class("int[]");
    let name = profile.symbols.strings.intern("clone");
    let method = profile.symbols.method(Method { class, name, signature: None, source: None });
    let frame = profile.symbols.frame(Frame::new(method, Line::Unknown));
    let node = profile.tree.insert([frame, frame]);
    let trace = profile.trace(node, None);
    let objects = allocations([1, 2, 3, 4]);
    let site = Site { class, trace, objects };
    let edge = CallEdge {
        callee: Some(method),
        caller: None,
        thread: None,
        count: 7,
        total_ns: 5_000_000,
    };
    let sites = Event::from(Sites {
        total: objects,
        rows: vec![site],
        sample_interval_bytes: Some(1024),
        ..Sites::default()
    });
    let edges = CallEdges { rows: vec![edge], written: None };
    let edges = Event::from(edges.section(&mut profile));
    let times = profile.events.clone();
    for (format, events) in [
        (Format::Ascii, [times.clone(), vec![sites.clone()]].concat()),
        (Format::Binary, vec![sites.clone()]),
        (Format::Extended, [times, vec![sites, edges.clone()]].concat()),
        (Format::Old, vec![edges]),
    ] {
        profile.events = events;
        let whole = written(&profile, format);
        let mut taken = 0;
        for end in 0..=whole.len() {
            survives(&whole[..end]).unwrap_or_else(|e| panic!("{format:?} cut at {end}: {e}"));
            taken += usize::from(perk_hprof::read(&whole[..end]).is_ok());
        }
        let is_as_told = match format {
            // Text is read as far as it goes.
            Format::Ascii | Format::Old => (1..whole.len()).contains(&taken),
            // Whole records are read.
            _ => taken > whole.len() / 2,
        };
        assert!(is_as_told, "{format:?}: {taken} of {} cuts were taken", whole.len());
    }
}

/// A file has the stacks of its timelines at once, and those of a second process begin later.
#[test]
fn a_thread_that_starts_after_its_stacks_keeps_its_name() {
    let mut profile = Profile::default();
    let thread = |profile: &mut Profile, serial, name: &str| {
        let name = profile.symbols.strings.intern(name);
        let (group, parent_group) = (Some(name), None);
        let thread = Thread { serial, object_id: 7, name, group, parent_group };
        profile.push_thread(thread)
    };
    let threads = [thread(&mut profile, 200_001, "A"), thread(&mut profile, 200_002, "B")];
    let class = profile.symbols.class("T");
    let name = profile.symbols.strings.intern("main");
    let method = profile.symbols.method(Method { class, name, signature: None, source: None });
    let frame = profile.symbols.frame(Frame::new(method, Line::Unknown));
    let node = profile.tree.insert([frame]);
    for id in threads {
        let trace = profile.trace(node, Some(id));
        let row = TimelineRow { tick: 0, thread: Some(id), trace, count: 1 };
        let head = TimelineHead { metric: Metric::Samples, tick_ns: 10, begin_ns: 0, end_ns: 10 };
        profile.events.push(Event::ThreadStart(id));
        profile.events.push(Event::Timeline(Timeline { head, rows: vec![row] }));
    }
    let traces = threads.map(|id| profile.trace(node, Some(id)));
    let section = Section::of(Metric::Samples, 2, traces.map(|trace| (trace, 1)));
    profile.events.push(section.into());
    let read = perk_hprof::read(&written(&profile, Format::Extended)[..]).unwrap();
    let names: Vec<_> =
        read.threads.iter().map(|thread| read.symbols.strings.get(thread.name)).collect();
    assert_eq!(names, ["A", "B"]);
    let rows = Metric::Samples.rows(&read).rows;
    let of_rows: Vec<_> =
        rows.iter().filter_map(|row| read.get_trace(row.0.trace).thread).collect();
    assert_eq!(of_rows.iter().map(|&id| read.thread_name(id)).collect::<Vec<_>>(), ["A", "B"]);
}
