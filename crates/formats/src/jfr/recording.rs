//! The step that fills a profile from the events of a recording.

use std::collections::{BTreeMap, BTreeSet};

use perk_profile::{
    Accounting, Allocations, ClassId, Column, CpuSamples, Event, Key, KeyedMap, KnownObjects,
    LockKind, Metric, MonitorRow, MonitorTimes, Profile, Section, SectionHead, SeriesSubject, Site,
    Sites, Subject, ThreadId, TimeSeriesBook, Timeline, Timestamp, TraceId, Unit, Waits, WallState,
};

use super::allocations::{
    AllocationSample, Allocator, ChunkAllocations, ChunkFacts, Jvm, SampledAllocations, SiteTally,
};
use super::cpu_load::CpuLoads;
use super::notes::Notes;
use super::pauses::Pauses;
use super::settings::Settings;
use super::source::JfrChunk;
use super::stacks::{ChunkIds, Paths, StackAt, Threads};
use super::view::{Events, StructAt, View};
use super::{native_samples, waiting_samples};
use crate::memory;
use crate::times::Times;

/// The type of the events with which perk's own recordings begin.
const ACCOUNTING: &str = "perk.Accounting";
/// The class of a lock that a parked thread does not name.
const NO_BLOCKER: &str = "java.util.concurrent.locks.LockSupport";
/// The class of a monitor whose class is not given.
const ANY_OBJECT: &str = "java.lang.Object";

/// The events that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventType {
    ExecutionSample,
    NativeSample,
    CpuTimeSample,
    CpuTimeSamplesLost,
    WallClockSample,
    AllocationSample,
    AllocationInNewTlab,
    AllocationOutsideTlab,
    MonitorEnter,
    MonitorWait,
    Park,
    ThreadStart,
    ThreadEnd,
    ThreadAllocations,
    CpuLoad,
    CpuInformation,
    GcCpuTime,
    PausePhase,
    Collection,
    Operation,
    Setting,
    Jvm,
    /// The recording itself, of which nothing is needed.
    Recording,
    WallTime,
    Accounting,
}

impl EventType {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "jdk.ExecutionSample" => EventType::ExecutionSample,
            "jdk.NativeMethodSample" => EventType::NativeSample,
            "jdk.CPUTimeSample" => EventType::CpuTimeSample,
            "jdk.CPUTimeSamplesLost" => EventType::CpuTimeSamplesLost,
            // This event is async-profiler's.
            "profiler.WallClockSample" => EventType::WallClockSample,
            "jdk.ObjectAllocationSample" => EventType::AllocationSample,
            "jdk.ObjectAllocationInNewTLAB" => EventType::AllocationInNewTlab,
            "jdk.ObjectAllocationOutsideTLAB" => EventType::AllocationOutsideTlab,
            "jdk.JavaMonitorEnter" => EventType::MonitorEnter,
            "jdk.JavaMonitorWait" => EventType::MonitorWait,
            "jdk.ThreadPark" => EventType::Park,
            "jdk.ThreadStart" => EventType::ThreadStart,
            "jdk.ThreadEnd" => EventType::ThreadEnd,
            "jdk.ThreadAllocationStatistics" => EventType::ThreadAllocations,
            "jdk.CPULoad" => EventType::CpuLoad,
            "jdk.CPUInformation" => EventType::CpuInformation,
            "jdk.GCCPUTime" => EventType::GcCpuTime,
            "jdk.GCPhasePause" => EventType::PausePhase,
            "jdk.GarbageCollection" => EventType::Collection,
            "jdk.ExecuteVMOperation" => EventType::Operation,
            "jdk.ActiveSetting" => EventType::Setting,
            "jdk.JVMInformation" => EventType::Jvm,
            "jdk.ActiveRecording" => EventType::Recording,
            // These events are perk's.
            "perk.WallClockSample" => EventType::WallTime,
            ACCOUNTING => EventType::Accounting,
            _ => return None,
        })
    }
}

/// Numbers by trace, and their times.
#[derive(Debug, Default)]
struct Tally {
    counts: Vec<u64>,
    total: u64,
    times: Times,
}

impl Tally {
    fn add(&mut self, trace: TraceId, count: u64) {
        if trace.index() >= self.counts.len() {
            self.counts.resize(trace.index() + 1, 0);
        }
        let sum = &mut self.counts[trace.index()];
        *sum = sum.saturating_add(count);
        self.total = self.total.saturating_add(count);
    }

    /// Adds to the number of a trace, at a time if it is known.
    fn add_at(&mut self, profile: &Profile, trace: TraceId, count: u64, time_ns: Option<u64>) {
        self.add(trace, count);
        if let Some(time_ns) = time_ns {
            self.times.add(profile, trace, count, time_ns);
        }
    }

    /// Returns the numbers, and the timeline if times are known.
    fn finish(
        self,
        metric: Metric,
        (begin_ns, end_ns): (u64, u64),
    ) -> (Vec<(TraceId, u64)>, Option<Timeline>) {
        let rows = self.counts.into_iter().enumerate().filter(|&(_, count)| count > 0);
        let rows = rows.map(|(index, count)| (TraceId::new(index), count)).collect();
        (rows, self.times.timeline(metric, begin_ns, end_ns))
    }
}

/// A profile under construction.
#[derive(Debug, Default)]
pub(super) struct Recording {
    profile: Profile,
    threads: Threads,
    paths: Paths,
    settings: Settings,
    notes: Notes,
    execution: Tally,
    native: Tally,
    /// The samples of threads that did not run.
    waiting: Tally,
    wall_clock: Tally,
    /// The times of threads by their state, in nanoseconds.
    wall_times: BTreeMap<(TraceId, WallState), u64>,
    /// The lines of the accounting of perk's own recordings.
    accounting: String,
    /// The CPU-time samples by trace and by the time that they represent, in nanoseconds.
    cpu_time: KeyedMap<(TraceId, u64), u64>,
    /// The times of the CPU-time samples, by the time that they represent.
    cpu_times: BTreeMap<u64, Times>,
    /// The start of the first chunk and the end of the last one, in nanoseconds since 1970.
    span_ns: Option<(u64, u64)>,
    sampled_sites: SampledAllocations,
    /// The allocations in the events of the current chunk.
    chunk_allocations: ChunkAllocations,
    loads: CpuLoads,
    pauses: Pauses,
    /// The allocations in the events about each thread's buffers, if those were recorded.
    buffer_sites: SiteTally,
    waits: KeyedMap<(TraceId, ClassId, LockKind), Waits>,
    /// The times of waits, and of allocations in events about buffers, since 1970.
    blocked: TimeSeriesBook,
    waited: TimeSeriesBook,
    buffers: TimeSeriesBook,
    /// Whether perk wrote a part of it, where the times of other events than samples are none that were measured.
    is_of_perk: bool,
    max_truncated_depth: usize,
    /// Whether the stacks of all events are kept, also of those without numbers.
    keeps_all_stacks: bool,
}

impl Recording {
    /// One that keeps the stacks of all events.
    pub(super) fn with_all_stacks() -> Self {
        Self { keeps_all_stacks: true, ..Self::default() }
    }

    /// Begins the numbers over time with the recording.
    fn begin_at(&mut self, begin_ns: u64) {
        let sampled = &mut self.sampled_sites.series;
        for book in [&mut self.buffers, sampled, &mut self.blocked, &mut self.waited] {
            book.begin_at(begin_ns);
        }
    }

    /// Reads a chunk whose types are known.
    pub(super) fn chunk(&mut self, chunk: &JfrChunk, view: &View<'_>) {
        if self.profile.created.is_none() {
            let utc_offset_s = view.types.utc_offset_s;
            self.profile.created =
                Some(Timestamp { unix_ms: chunk.start_ns / 1_000_000, utc_offset_s });
        }
        if self.span_ns.is_none() {
            self.begin_at(chunk.start_ns);
        }
        let span_ns = self.span_ns.get_or_insert((chunk.start_ns, 0));
        span_ns.1 = span_ns.1.max(chunk.start_ns.saturating_add(chunk.duration_ns));
        self.settings.next_chunk(&view.types);
        self.is_of_perk |= view.types.id_of(ACCOUNTING).is_some();
        self.notes.bad_checkpoint_count += view.bad_checkpoint_count;
        let mut known = ChunkIds::default();
        let mut kinds: KeyedMap<i64, Option<EventType>> = KeyedMap::default();
        let mut skipped: KeyedMap<i64, u64> = KeyedMap::default();
        let mut threads: Vec<(i64, Event)> = Vec::new();
        let events = Events::new(chunk).filter(|it| !it.is_inner());
        for event in events.take_while(|_| !memory::is_full(1)) {
            let what = *kinds.entry(event.type_id).or_insert_with(|| {
                view.types
                    .place(event.type_id)
                    .and_then(|it| EventType::of(&view.types.get(it).name))
            });
            match what {
                Some(what) => match view.event(event) {
                    Some(place) => self.event(view, &mut known, what, place, &mut threads),
                    None => self.notes.bad_event_count += 1,
                },
                None => *skipped.entry(event.type_id).or_default() += 1,
            }
        }
        if self.keeps_all_stacks {
            known.add_stacks(view, &mut self.profile, &mut self.paths);
        }
        for (type_id, count) in skipped {
            self.notes.skip(view.types.name_of(type_id), count);
        }
        let end_ns = chunk.start_ns.saturating_add(chunk.duration_ns);
        let facts = ChunkFacts {
            start_ns: chunk.start_ns,
            end_ns,
            // The JDK describes all of its events.
            is_of_jdk: view.types.id_of("jdk.ThreadAllocationStatistics").is_some(),
            is_sampled: self.settings.samples_allocations(),
        };
        let allocations = std::mem::take(&mut self.chunk_allocations);
        self.sampled_sites.chunk(allocations, facts);
        self.loads.end_chunk(chunk.start_ns, end_ns);
        // Each thread writes into its own buffer, so the events are not in order of time.
        threads.sort_by_key(|&(time, _)| time);
        self.profile.events.extend(threads.into_iter().map(|(_, event)| event));
    }

    /// Returns the notes, for faults of the file around its chunks.
    pub(super) fn notes(&mut self) -> &mut Notes {
        &mut self.notes
    }

    fn event(
        &mut self,
        view: &View<'_>,
        known: &mut ChunkIds,
        what: EventType,
        at: StructAt,
        threads: &mut Vec<(i64, Event)>,
    ) {
        match what {
            EventType::ExecutionSample => {
                let trace = self.trace(view, known, at, "sampledThread");
                let runs = known.is_running(view, at);
                let tally = if runs { &mut self.execution } else { &mut self.waiting };
                tally.add_at(&self.profile, trace, 1, view.start_ns(at));
            }
            EventType::NativeSample => {
                let trace = self.trace(view, known, at, "sampledThread");
                self.native.add_at(&self.profile, trace, 1, view.start_ns(at));
            }
            EventType::CpuTimeSample => {
                let trace = self.trace(view, known, at, "eventThread");
                let period_ns = view.time_ns(at, "samplingPeriod").unwrap_or(0);
                *self.cpu_time.entry((trace, period_ns)).or_default() += 1;
                if let Some(time_ns) = view.start_ns(at) {
                    let times = self.cpu_times.entry(period_ns).or_default();
                    times.add(&self.profile, trace, 1, time_ns);
                }
                self.notes.failed_sample_count += u64::from(view.flag(at, "failed"));
                self.notes.biased_sample_count += u64::from(view.flag(at, "biased"));
            }
            EventType::CpuTimeSamplesLost => {
                let lost = view.count(at, "lostSamples").unwrap_or(0);
                self.notes.lost_sample_count = self.notes.lost_sample_count.saturating_add(lost);
            }
            EventType::WallClockSample => {
                let trace = self.trace(view, known, at, "sampledThread");
                let count = view.count(at, "samples").unwrap_or(1);
                self.wall_clock.add_at(&self.profile, trace, count, view.start_ns(at));
            }
            EventType::AllocationSample
            | EventType::AllocationInNewTlab
            | EventType::AllocationOutsideTlab => {
                self.allocation(view, known, what, at);
            }
            EventType::MonitorEnter | EventType::MonitorWait | EventType::Park => {
                self.wait(view, known, what, at);
            }
            EventType::ThreadStart | EventType::ThreadEnd => {
                let time = view.number(at, "startTime").unwrap_or(0);
                if let (EventType::ThreadStart, Allocator::Thread(thread)) =
                    (what, allocator(view, at, "thread"))
                {
                    self.chunk_allocations.thread_start(thread);
                }
                let id = self.thread(view, known, at, "thread");
                threads.extend(id.map(|id| (time, self.thread_event(what, id))));
            }
            EventType::Setting => self.settings.set(view, at),
            EventType::ThreadAllocations => {
                if let Allocator::Thread(thread) = allocator(view, at, "thread") {
                    let time = view.number(at, "startTime").unwrap_or(0);
                    let bytes = view.count(at, "allocated").unwrap_or(0);
                    let part = view.part(at, "thread");
                    let name = part.and_then(|part| view.text(part, "javaName"));
                    let name = name.unwrap_or_default();
                    self.chunk_allocations.reading(time, thread, bytes, &name);
                }
            }
            EventType::CpuLoad => {
                let load = |field| view.float(at, field);
                if let (Some(time_ns), Some(user), Some(system)) =
                    (view.start_ns(at), load("jvmUser"), load("jvmSystem"))
                {
                    self.loads.load(time_ns, user + system);
                }
            }
            EventType::CpuInformation => {
                self.loads.cpus(view.count(at, "hwThreads").unwrap_or(0));
            }
            EventType::GcCpuTime => {
                let ns = |field| view.time_ns(at, field).unwrap_or(0);
                self.loads.gc(ns("userTime").saturating_add(ns("systemTime")));
            }
            EventType::PausePhase => self.pauses.phase(view, at),
            EventType::Collection => self.pauses.collection(view, at),
            EventType::Operation => self.pauses.operation(view, at),
            EventType::Jvm => {
                self.notes.jvm(view, at);
                let options = view.text(at, "jvmArguments").unwrap_or_default();
                self.chunk_allocations.jvm(Jvm {
                    pid: view.count(at, "pid").unwrap_or(0),
                    start: view.number(at, "jvmStartTime").unwrap_or(0),
                    records_from_start: Jvm::is_recording_from_start(&options),
                });
            }
            EventType::Recording => {}
            EventType::WallTime => {
                let trace = self.trace(view, known, at, "sampledThread");
                let state = view.text(at, "state").and_then(|name| WallState::of_name(&name));
                let time_ns = view.time_ns(at, "time").unwrap_or(0);
                let key = (trace, state.unwrap_or(WallState::Running));
                let sum = self.wall_times.entry(key).or_default();
                *sum = sum.saturating_add(time_ns);
            }
            EventType::Accounting => {
                let text = |field| view.text(at, field).unwrap_or_default();
                self.accounting += &format!("{}={}\n", text("name"), text("value"));
            }
        }
    }

    fn thread_event(&self, what: EventType, id: ThreadId) -> Event {
        match what {
            EventType::ThreadStart => Event::ThreadStart(id),
            _ => Event::ThreadEnd(self.profile.get_thread(id).serial),
        }
    }

    /// Returns the thread that a field of an event names.
    fn thread(
        &mut self,
        view: &View<'_>,
        known: &mut ChunkIds,
        at: StructAt,
        field: &str,
    ) -> Option<ThreadId> {
        let found = known.thread(view, &mut self.profile, &mut self.threads, (at, field));
        if found.is_none() && view.key(at, field).is_some_and(|key| key != 0) {
            self.notes.lost_thread_count += 1;
        }
        found
    }

    /// Returns the trace of an event. Its thread is the one that `field` names, if that is known.
    fn trace(
        &mut self,
        view: &View<'_>,
        known: &mut ChunkIds,
        at: StructAt,
        field: &str,
    ) -> TraceId {
        let thread = self.thread(view, known, at, field);
        match known.stack(view, &mut self.profile, &mut self.paths, at) {
            StackAt::Found(stack) => {
                if stack.is_truncated {
                    self.notes.truncated_count += 1;
                    self.max_truncated_depth = self.max_truncated_depth.max(stack.depth);
                }
                self.profile.trace(stack.node, thread)
            }
            stack => {
                self.notes.lost_stack_count += u64::from(matches!(stack, StackAt::Lost));
                self.profile.trace(self.profile.tree.root(), thread)
            }
        }
    }

    fn allocation(&mut self, view: &View<'_>, known: &mut ChunkIds, what: EventType, at: StructAt) {
        let trace = self.trace(view, known, at, "eventThread");
        let class = known.class(view, &mut self.profile, at, "objectClass");
        let class = class.unwrap_or_else(|| self.profile.symbols.class(""));
        let number = |field| view.count(at, field).unwrap_or(0);
        let (allocated_bytes, allocated_count) = match what {
            EventType::AllocationSample => {
                let sample = AllocationSample {
                    at_ns: view.start_ns(at),
                    time: view.number(at, "startTime").unwrap_or(0),
                    thread: allocator(view, at, "eventThread"),
                    class,
                    trace,
                    serial: self.profile.serial_of_trace(trace),
                    bytes: number("weight"),
                    // The JDK does not give the number of objects that a sample represents; perk does.
                    count: number("objectCount"),
                };
                return self.chunk_allocations.sample(sample);
            }
            EventType::AllocationInNewTlab => {
                let (object, buffer) = (number("allocationSize"), number("tlabSize"));
                let count = buffer.checked_div(object).unwrap_or(0).max(1);
                (buffer.max(object), count)
            }
            _ => (number("allocationSize"), 1),
        };
        self.chunk_allocations.buffers();
        if let Some(at_ns) = view.start_ns(at) {
            let subject = SeriesSubject::of(self.profile.serial_of_trace(trace));
            self.buffers.add(subject, (at_ns, at_ns), allocated_bytes);
        }
        let more = Allocations { allocated_bytes, allocated_count, ..Allocations::default() };
        self.buffer_sites.add(class, trace, more);
    }

    fn wait(&mut self, view: &View<'_>, known: &mut ChunkIds, what: EventType, at: StructAt) {
        let trace = self.trace(view, known, at, "eventThread");
        let (field, kind, unknown) = match what {
            EventType::Park => ("parkedClass", LockKind::Parking, NO_BLOCKER),
            _ => ("monitorClass", LockKind::Monitor, ANY_OBJECT),
        };
        let profile = &mut self.profile;
        let class = known.class(view, profile, at, field);
        let class = class.unwrap_or_else(|| profile.symbols.class(unknown));
        let time_ns = view.time_ns(at, "duration").unwrap_or(0);
        let is_blocked = match what {
            EventType::MonitorEnter => true,
            EventType::Park => match view.number(at, "forLock") {
                Some(is_for_lock) => is_for_lock != 0,
                None => is_lock(profile.symbols.class_name(class)),
            },
            _ => false,
        };
        if let Some(begin_ns) = view.start_ns(at) {
            let series = if is_blocked { &mut self.blocked } else { &mut self.waited };
            let subject = SeriesSubject::of(profile.serial_of_trace(trace));
            series.add(subject, (begin_ns, begin_ns.saturating_add(time_ns)), time_ns);
        }
        let waits = if is_blocked {
            Waits { blocked_count: 1, blocked_ns: time_ns, ..Waits::default() }
        } else {
            Waits { wait_count: 1, waited_ns: time_ns, ..Waits::default() }
        };
        self.waits.entry((trace, class, kind)).or_default().add(waits);
        self.notes.has_waits = true;
    }

    /// Returns the profile.
    pub(super) fn finish(mut self) -> Profile {
        let cpu_time = std::mem::take(&mut self.cpu_time);
        if self.settings.are_times_spread() {
            for tally in [&mut self.execution, &mut self.native, &mut self.waiting] {
                tally.times = Times::default();
            }
        }
        let execution = std::mem::take(&mut self.execution);
        if cpu_time.is_empty() {
            let interval_ns = self.settings.execution_interval_ns();
            if execution.total > 0 || self.settings.samples_execution() {
                self.samples(execution, interval_ns);
            }
        } else {
            self.cpu_samples(cpu_time);
            // The execution samples cover the same time once more.
            self.metric(Metric::other("execution samples", Unit::Count), execution);
        }
        let native = std::mem::take(&mut self.native);
        self.metric(native_samples(), native);
        let waiting = std::mem::take(&mut self.waiting);
        self.metric(waiting_samples(), waiting);
        let wall_clock = std::mem::take(&mut self.wall_clock);
        self.metric(Metric::other("wall-clock samples", Unit::Count), wall_clock);
        self.wall_times();
        self.sites();
        self.monitor_times();
        std::mem::take(&mut self.loads).finish(&mut self.profile);
        let (begin_ns, _) = self.span_ns.unwrap_or_default();
        std::mem::take(&mut self.pauses).finish(begin_ns, &mut self.profile);
        if !self.is_of_perk {
            let books = [
                (Metric::AllocatedBytes, &self.buffers),
                (Metric::AllocatedBytes, &self.sampled_sites.series),
                (Metric::BlockedTime, &self.blocked),
                (Metric::WaitedTime, &self.waited),
            ];
            let series = books.into_iter().filter_map(|(metric, it)| it.series(metric));
            self.profile.events.extend(series.map(Event::TimeSeries));
        }
        if !self.accounting.is_empty() {
            self.profile.accounting = Some(Accounting::from_text(&self.accounting));
            // The accounting names the program and the JVM.
            self.notes.forget_jvm();
        }
        if self.max_truncated_depth > 0 {
            self.profile.depth = u32::try_from(self.max_truncated_depth).ok();
        }
        self.notes.finish(&self.settings, self.max_truncated_depth, &mut self.profile.notes);
        self.profile
    }

    fn metric(&mut self, metric: Metric, tally: Tally) {
        if tally.total > 0 {
            self.section(metric, tally);
        }
    }

    fn wall_times(&mut self) {
        let rows = std::mem::take(&mut self.wall_times).into_iter();
        let rows: Vec<_> = rows
            .map(|((trace, state), ns)| (Key::new(trace, Subject::State(state)), [ns]))
            .collect();
        if !rows.is_empty() {
            let total = rows.iter().map(|row| row.1[0]).fold(0, u64::saturating_add);
            let head = SectionHead::new([Column::new(Metric::WallTime, total)]);
            self.profile.events.push(Section::with_rows(head, rows).into());
        }
    }

    fn section(&mut self, metric: Metric, tally: Tally) {
        let total = tally.total;
        let (rows, timeline) = tally.finish(metric.clone(), self.span_ns.unwrap_or_default());
        self.profile.events.push(Event::Section(Section::of(metric, total, rows)));
        self.profile.events.extend(timeline.map(Event::Timeline));
    }

    fn samples(&mut self, tally: Tally, interval_ns: Option<u64>) {
        let total = tally.total;
        let (rows, timeline) = tally.finish(Metric::Samples, self.span_ns.unwrap_or_default());
        let samples = CpuSamples { total, rows, interval_ns, ..CpuSamples::default() };
        self.profile.events.push(Event::from(samples));
        self.profile.events.extend(timeline.map(Event::Timeline));
    }

    /// Adds the CPU-time samples. Under load, the JVM lets one sample represent several periods.
    /// Such a sample counts once per period.
    fn cpu_samples(&mut self, cpu_time: KeyedMap<(TraceId, u64), u64>) {
        let periods: BTreeSet<u64> = cpu_time.keys().map(|&(_, period_ns)| period_ns).collect();
        let interval_ns = periods.first().copied().filter(|&ns| ns > 0);
        // The clock's ticks are not whole nanoseconds.
        let times_of = |period_ns: u64, ns: u64| (period_ns + ns / 2) / ns;
        let interval_ns = interval_ns.filter(|&ns| {
            let differs = |&period| (times_of(period, ns) * ns).abs_diff(period) > ns / 1000;
            !periods.iter().any(differs)
        });
        let (mut samples, mut time) = (Tally::default(), Tally::default());
        let ordered: BTreeMap<_, _> = cpu_time.into_iter().collect();
        for ((trace, period_ns), count) in ordered {
            let times = interval_ns.map_or(1, |ns| times_of(period_ns, ns));
            samples.add(trace, count.saturating_mul(times));
            time.add(trace, count.saturating_mul(period_ns));
        }
        let has_time = interval_ns.is_none() && time.total > 0;
        for (period_ns, times) in std::mem::take(&mut self.cpu_times) {
            samples.times.add_all(&times, interval_ns.map_or(1, |ns| times_of(period_ns, ns)));
            if has_time {
                time.times.add_all(&times, period_ns);
            }
        }
        self.samples(samples, interval_ns);
        if has_time {
            self.section(Metric::other("CPU time", Unit::Nanoseconds), time);
        }
    }

    fn sites(&mut self) {
        let sampled = &mut self.sampled_sites;
        self.notes.estimated_sample_count = sampled.settle();
        self.notes.before_bytes = sampled.before_bytes;
        self.notes.before_count = sampled.before_count;
        // These samples are a selection of the allocations in events about buffers.
        self.notes.skip("jdk.ObjectAllocationSample", sampled.covered_count);
        let mut tally = std::mem::take(&mut self.buffer_sites);
        tally.add_all(std::mem::take(&mut sampled.tally));
        if tally.sample_count == 0 {
            return;
        }
        let mut total = Allocations::default();
        let site = |((class, trace), objects)| Site { class, trace, objects };
        let rows: Vec<Site> = tally.sites.into_iter().map(site).collect();
        rows.iter().for_each(|row| total.add(row.objects));
        let sample_interval_bytes = match self.settings.allocation_interval_bytes() {
            Some(0) => None,
            Some(bytes) => Some(bytes),
            None => Some((total.allocated_bytes / tally.sample_count).max(1)),
        };
        let known = KnownObjects { live: false, ..KnownObjects::default() };
        let mut sites = Sites { total, rows, sample_interval_bytes, known, ..Sites::default() };
        sites.rank(0.0);
        self.profile.events.push(Event::from(sites));
    }

    fn monitor_times(&mut self) {
        if self.waits.is_empty() {
            return;
        }
        let waits = std::mem::take(&mut self.waits).into_iter();
        let row = |((trace, class, kind), waits)| MonitorRow { trace, class, kind, waits };
        let rows: Vec<MonitorRow> = waits.map(row).collect();
        let blocked_ns = rows.iter().map(|row| row.waits.blocked_ns);
        let total_ns = blocked_ns.fold(0, u64::saturating_add);
        let mut times = MonitorTimes { total_ns, rows, written: None };
        times.rank(0.0);
        self.profile.events.push(Event::from(times));
    }
}

/// Returns the thread of an event about allocations, as the JVM numbers it.
fn allocator(view: &View<'_>, at: StructAt, field: &str) -> Allocator {
    let Some(thread) = view.part(at, field) else { return Allocator::Unknown };
    if view.flag(thread, "virtual") {
        return Allocator::Virtual;
    }
    match view.number(thread, "javaThreadId") {
        Some(id @ 1..) => Allocator::Thread(id),
        _ => Allocator::Unknown,
    }
}

/// Whether threads park for an object of this class until they have a lock, and not until an event
/// happens: the synchronizers of `java.util.concurrent`.
fn is_lock(class: &str) -> bool {
    class.starts_with("java.util.concurrent.")
        && (class.ends_with("Sync") || class.ends_with(".StampedLock"))
}

/// Counts the events of each type in a chunk.
pub(super) fn count_events(chunk: &JfrChunk, view: &View<'_>, counts: &mut BTreeMap<String, u64>) {
    for event in Events::new(chunk) {
        let name = view.event_name(event);
        match counts.get_mut(name) {
            Some(count) => *count += 1,
            None => {
                counts.insert(name.to_owned(), 1);
            }
        }
    }
}
