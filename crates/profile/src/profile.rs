//! A profile: symbols, call tree, threads, traces, and the numbers measured on them.

use std::cmp::Reverse;
use std::hash::BuildHasher;

use crate::id_table::IdTable;
use crate::keyed::KeyedState;
use crate::{
    Accounting, CallEdges, CallTimes, CallTree, ClassId, Column, FieldAccesses, FrameId,
    HeapHistogram, HeapSummary, Key, KeyedMap, LabelSets, Metric, MonitorDump, MonitorTimes,
    NamePattern, NodeId, Pause, Section, SectionHead, Shared, Sites, Span, StrId, Symbols,
    ThreadId, TimeSeries, Timeline, Timestamp, TraceId, WaitEvent,
};

/// The serial number of HPROF's system trace, the one without frames.
pub const SYSTEM_TRACE: u32 = 300_000;

/// The contents of one file, or the result of one run of the agent. A copy shares symbols, call paths and numbers
/// with the profile until one of both changes them.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Classes, methods, frames and their names.
    pub symbols: Symbols,
    /// All call paths.
    pub tree: CallTree,
    /// All threads, in the order in which they were seen.
    pub threads: Vec<Thread>,
    /// The sets of labels of rows.
    pub labels: LabelSets,
    /// The events, in the order in which they happened or were written.
    pub events: Vec<Event>,
    /// The time at which the profile began; `None` if the file has no date.
    pub created: Option<Timestamp>,
    /// The limit of the depth of stacks, if the file gives it.
    pub depth: Option<u32>,
    /// The recordings that are on from the beginning, if the file gives them.
    pub settings: Option<Settings>,
    /// The accounting of the run; only in perk's own files.
    pub accounting: Option<Accounting>,
    /// The patterns of the program's own classes, if the user gave them; otherwise analyses find
    /// them.
    pub app: Vec<NamePattern>,
    /// One line for each thing that a reader skipped, so that nothing is dropped silently.
    pub notes: Vec<String>,
    traces: Shared<Vec<Trace>>,
    /// The first trace of each node and thread.
    trace_ids: Shared<IdTable>,
    /// The traces that do not have the serial number that is the next after the one before, and those
    /// that share a number.
    trace_serials: Shared<KeyedMap<u32, TraceId>>,
    hashes: KeyedState,
    next_serial: u32,
}

/// The settings that a profile states before its measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Allocations are recorded: sites, or the heap.
    pub allocations: bool,
    /// CPU samples are taken.
    pub cpu_samples: bool,
}

/// A thread of the profiled program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// HPROF's serial number; 200001 is the main thread in the agent's files.
    pub serial: u32,
    /// The id of its `java.lang.Thread` object in the file.
    pub object_id: u64,
    /// Its name at the start.
    pub name: StrId,
    /// The name of its thread group, if it has one.
    pub group: Option<StrId>,
    /// The name of that group's parent, if it has one.
    pub parent_group: Option<StrId>,
}

/// A call trace: a path in the call tree, of one thread if the profile distinguishes threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    /// HPROF's serial number.
    pub serial: u32,
    /// The node of its innermost frame; the root if it has no frames.
    pub node: NodeId,
    /// The thread it belongs to, if the profile was made per thread.
    pub thread: Option<ThreadId>,
}

/// An event or a section of a profile, in time order.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A thread started.
    ThreadStart(ThreadId),
    /// The thread of this serial number ended. Files can name threads that they never introduced.
    ThreadEnd(u32),
    /// A class was unloaded.
    ClassUnload(ClassId),
    /// Numbers by call trace: samples, calls, allocations, waits for locks, metrics of other tools.
    Section(Section),
    /// The number of objects at one moment.
    HeapSummary(HeapSummary),
    /// A thread waits, or has waited.
    Wait(WaitEvent),
    /// The owners of monitors, and the threads that wait for them.
    MonitorDump(MonitorDump),
    /// The accesses to the fields of all objects.
    FieldAccesses(FieldAccesses),
    /// The contents of the heap, by class.
    Heap(HeapHistogram),
    /// When the samples of sections were taken.
    Timeline(Timeline),
    /// The pauses of the program since the event of this kind before it.
    Pauses(Vec<Pause>),
    /// What was measured over time, of all threads together.
    TimeSeries(TimeSeries),
}

/// CPU samples by trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuSamples {
    /// The number of all samples, including those of rows below the file's cutoff.
    pub total: u64,
    /// Samples of each trace, in the file's order.
    pub rows: Vec<(TraceId, u64)>,
    /// Whether the section was requested before the end of its span: the next section counts its
    /// samples again.
    pub is_interim: bool,
    /// The time that one sample represents, in nanoseconds, if the section gives it.
    pub interval_ns: Option<u64>,
    /// The time at which the section was written, if it is known.
    pub written: Option<Timestamp>,
}

impl CpuSamples {
    /// The samples of a section; `None` if it has none.
    pub fn of(section: &Section) -> Option<Self> {
        let column = section.head.column(&Metric::Samples)?;
        let rows = section.of_metrics([Metric::Samples]);
        Some(Self {
            total: column.total,
            rows: rows.map(|(key, [count])| (key.trace, count)).collect(),
            is_interim: section.head.span == Span::Interim,
            interval_ns: column.period,
            written: section.head.written,
        })
    }

    /// The head of their section.
    pub fn head(&self) -> SectionHead {
        let column =
            Column { period: self.interval_ns, ..Column::new(Metric::Samples, self.total) };
        let span = if self.is_interim { Span::Interim } else { Span::SinceLast };
        SectionHead { span, written: self.written, ..SectionHead::new([column]) }
    }

    /// The rows of their section.
    pub fn keyed(&self) -> impl ExactSizeIterator<Item = (Key, [u64; 1])> + Clone {
        self.rows.iter().map(|&(trace, count)| (trace.into(), [count]))
    }

    /// Orders the rows as HPROF prints them: most samples first, in order of trace where equal; and
    /// drops those below `cutoff`, a share of the total.
    pub fn rank(&mut self, cutoff: f64) {
        self.rows.sort_unstable_by_key(|&(trace, count)| (Reverse(count), trace));
        let total = self.total as f64;
        let listed = |&(_, count): &(TraceId, u64)| count > 0 && count as f64 / total >= cutoff;
        self.rows.truncate(self.rows.iter().take_while(|row| listed(row)).count());
    }
}

impl Default for Profile {
    /// A profile with only the system trace.
    fn default() -> Self {
        let mut profile = Self {
            symbols: Symbols::default(),
            tree: CallTree::default(),
            threads: Vec::new(),
            labels: LabelSets::default(),
            events: Vec::new(),
            created: None,
            depth: None,
            settings: None,
            accounting: None,
            app: Vec::new(),
            notes: Vec::new(),
            traces: Shared::default(),
            trace_ids: Shared::default(),
            trace_serials: Shared::default(),
            hashes: KeyedState::default(),
            next_serial: SYSTEM_TRACE,
        };
        let node = profile.tree.root();
        profile.push_trace(Trace { serial: SYSTEM_TRACE, node, thread: None });
        profile
    }
}

impl Profile {
    /// The trace without frames, to which samples of unknown stacks are attributed.
    pub fn system_trace(&self) -> TraceId {
        TraceId::new(0)
    }

    /// Returns the trace of `node` (of `thread`, if given). A new trace gets the next serial number
    /// after the highest.
    pub fn trace(&mut self, node: NodeId, thread: Option<ThreadId>) -> TraceId {
        if let Some(id) = self.find_trace(node, thread) {
            return id;
        }
        let serial = self.next_serial;
        self.push_trace(Trace { serial, node, thread })
    }

    /// The trace of `node` (of `thread`, if given), if there is one.
    pub fn find_trace(&self, node: NodeId, thread: Option<ThreadId>) -> Option<TraceId> {
        let is_wanted = |index: usize| {
            let Trace { node: its, thread: other, .. } = self.traces[index];
            (its, other) == (node, thread)
        };
        self.trace_ids.get(self.hashes.hash_one((node, thread)), is_wanted).map(TraceId::new)
    }

    /// Takes serial numbers for traces that are not in the profile. Returns the first of them.
    pub fn take_serials(&mut self, count: u32) -> u32 {
        let first = self.next_serial;
        self.next_serial = first.saturating_add(count);
        first
    }

    /// Adds a trace under a file's own serial number. Two traces may have the same frames, as files
    /// distinguish bytecode indexes that they do not print. If the serial number exists already, it
    /// means the new trace from now on.
    pub fn push_trace(&mut self, trace: Trace) -> TraceId {
        let id = TraceId::new(self.traces.len());
        self.next_serial = self.next_serial.max(trace.serial.saturating_add(1));
        self.traces.push(trace);
        self.note_trace(id);
        // An agent's traces are numbered without gaps.
        let regular = SYSTEM_TRACE.checked_add(id.index() as u32);
        if regular != Some(trace.serial) || !self.trace_serials.is_empty() {
            self.trace_serials.insert(trace.serial, id);
        }
        id
    }

    /// Makes a trace the one of its node and thread, unless another one is.
    fn note_trace(&mut self, id: TraceId) {
        let Trace { node, thread, .. } = self.traces[id.index()];
        if self.find_trace(node, thread).is_none() {
            let Self { traces, trace_ids, hashes, .. } = self;
            trace_ids.insert(id.index(), |index| {
                hashes.hash_one((traces[index].node, traces[index].thread))
            });
        }
    }

    /// The trace with a file's serial number.
    pub fn trace_by_serial(&self, serial: u32) -> Option<TraceId> {
        self.trace_serials.get(&serial).copied().or_else(|| {
            let regular = serial.checked_sub(SYSTEM_TRACE)? as usize;
            (self.traces.get(regular)?.serial == serial).then(|| TraceId::new(regular))
        })
    }

    /// Returns the trace of an id.
    pub fn get_trace(&self, id: TraceId) -> Trace {
        self.traces[id.index()]
    }

    /// Whether its call paths and traces are those of another profile in memory: copies that none has changed since.
    pub fn has_paths_of(&self, other: &Self) -> bool {
        self.tree.is_same(&other.tree) && self.traces.is_same(&other.traces)
    }

    /// All traces, by id.
    pub fn traces(&self) -> &[Trace] {
        &self.traces
    }

    /// The serial number of the thread of a trace, if traces distinguish threads.
    pub fn serial_of_trace(&self, id: TraceId) -> Option<u32> {
        Some(self.get_thread(self.get_trace(id).thread?).serial)
    }

    /// The frames of a trace, from the innermost outward.
    pub fn frames(&self, id: TraceId) -> impl Iterator<Item = FrameId> + '_ {
        self.tree.frames(self.get_trace(id).node)
    }

    /// Returns the thread of an id.
    pub fn get_thread(&self, id: ThreadId) -> &Thread {
        &self.threads[id.index()]
    }

    /// Moves traces to other nodes of the tree, which `place` may grow. The numbers of a trace move
    /// with it. The system trace stays without frames.
    pub fn move_traces(&mut self, mut place: impl FnMut(&mut CallTree, TraceId, Trace) -> NodeId) {
        for (index, trace) in self.traces.iter_mut().enumerate().skip(1) {
            trace.node = place(&mut self.tree, TraceId::new(index), *trace);
        }
        self.note_traces();
    }

    /// Assigns traces to other threads, or to none. Their numbers do not change.
    pub(crate) fn move_threads(&mut self, new: impl Fn(ThreadId) -> Option<ThreadId>) {
        for trace in self.traces.iter_mut() {
            trace.thread = trace.thread.and_then(&new);
        }
        self.note_traces();
    }

    /// Indexes all traces again.
    fn note_traces(&mut self) {
        self.trace_ids = Shared::default();
        (0..self.traces.len()).for_each(|index| self.note_trace(TraceId::new(index)));
    }

    /// The name of a thread.
    pub fn thread_name(&self, id: ThreadId) -> &str {
        self.symbols.strings.get(self.get_thread(id).name)
    }

    /// Adds a thread.
    pub fn push_thread(&mut self, thread: Thread) -> ThreadId {
        self.threads.push(thread);
        ThreadId::new(self.threads.len() - 1)
    }

    /// The numbers by call trace, in order.
    pub fn sections(&self) -> impl Iterator<Item = &Section> {
        self.events.iter().filter_map(|event| match event {
            Event::Section(section) => Some(section),
            _ => None,
        })
    }

    /// The memory of all rows of sections and timelines, about.
    pub fn row_bytes(&self) -> usize {
        let of_event = |event: &Event| match event {
            Event::Section(section) => section.bytes(),
            Event::Timeline(timeline) => size_of_val(&**timeline.rows),
            _ => 0,
        };
        self.events.iter().map(of_event).sum()
    }

    /// Whether a section has one of these metrics by call path.
    pub fn has(&self, metrics: &[Metric]) -> bool {
        self.sections().any(|section| !section.head.is_by_pair && section.head.has(metrics))
    }

    /// Whether a section has calls by callee and caller.
    pub fn has_pairs(&self) -> bool {
        self.sections().any(|section| section.head.is_by_pair)
    }

    /// The columns of a metric by call path, in order.
    pub fn columns<'a>(&'a self, metric: &'a Metric) -> impl Iterator<Item = &'a Column> {
        let by_path = self.sections().filter(|section| !section.head.is_by_pair);
        by_path.filter_map(move |section| section.head.column(metric))
    }

    /// The columns of metrics of other tools that have this name, in order.
    pub fn other_columns<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Column> {
        let columns = self.sections().flat_map(|section| &section.head.columns);
        columns.filter(move |column| column.metric.is_other() && column.metric.name() == name)
    }

    /// The sections of CPU samples, in order: one per dump.
    pub fn cpu_samples(&self) -> impl Iterator<Item = CpuSamples> {
        self.sections().filter_map(CpuSamples::of)
    }

    /// The time that one sample represents, in nanoseconds, if it is known and the same for all
    /// samples.
    pub fn sample_interval_ns(&self) -> Option<u64> {
        let of_run = self.accounting.as_ref().map(|accounting| accounting.interval_ns);
        of_run.filter(|&ns| ns > 0).or_else(|| Metric::Samples.period(self))
    }

    /// The sections of call times, in order. Each counts from the previous one on.
    pub fn call_times(&self) -> impl Iterator<Item = CallTimes> {
        self.sections().filter_map(CallTimes::of)
    }

    /// The tables of callees and callers, in order. Each counts from the previous one on.
    pub fn call_edges(&self) -> impl Iterator<Item = CallEdges> {
        self.sections().filter_map(|section| CallEdges::of(self, section))
    }

    /// The sections of waiting for locks, in order. Each counts from the previous one on.
    pub fn monitor_times(&self) -> impl Iterator<Item = MonitorTimes> {
        self.sections().filter_map(MonitorTimes::of)
    }

    /// The accesses to fields, if the profile has them.
    pub fn field_accesses(&self) -> Option<&FieldAccesses> {
        self.events.iter().find_map(|event| match event {
            Event::FieldAccesses(accesses) => Some(accesses),
            _ => None,
        })
    }

    /// The histograms of heap dumps, in order.
    pub fn heaps(&self) -> impl Iterator<Item = &HeapHistogram> {
        self.events.iter().filter_map(|event| match event {
            Event::Heap(heap) => Some(heap),
            _ => None,
        })
    }

    /// The dumps of threads and monitors, in order.
    pub fn monitor_dumps(&self) -> impl Iterator<Item = &MonitorDump> {
        self.events.iter().filter_map(|event| match event {
            Event::MonitorDump(dump) => Some(dump),
            _ => None,
        })
    }

    /// The times of samples, in order. No two have the same samples.
    pub fn timelines(&self) -> impl Iterator<Item = &Timeline> {
        self.events.iter().filter_map(|event| match event {
            Event::Timeline(timeline) => Some(timeline),
            _ => None,
        })
    }

    /// The pauses of the program.
    pub fn pauses(&self) -> impl Iterator<Item = &Pause> {
        let of_events = self.events.iter().filter_map(|event| match event {
            Event::Pauses(pauses) => Some(pauses),
            _ => None,
        });
        of_events.flatten()
    }

    /// The numbers over time of metrics, in order. Several of a metric add up.
    pub fn time_series(&self) -> impl Iterator<Item = &TimeSeries> {
        self.events.iter().filter_map(|event| match event {
            Event::TimeSeries(series) => Some(series),
            _ => None,
        })
    }

    /// The time from the recording's start to the last one that [`Profile::timelines`] cover, in
    /// nanoseconds; 0 without them.
    pub fn recorded_ns(&self) -> u64 {
        self.timelines().map(|timeline| timeline.head.end_ns).max().unwrap_or(0)
    }

    /// The last section of all allocation sites; if there is none, the last section of some sites.
    /// (Each counts from the program's start on.)
    pub fn sites(&self) -> Option<Sites> {
        self.site_section().and_then(Sites::of)
    }

    /// The section of [`Profile::sites`], as it is stored.
    pub fn site_section(&self) -> Option<&Section> {
        let of_objects = Metric::OF_OBJECTS.into_iter();
        let mut sections = of_objects.filter_map(|metric| metric.sections(self).pop());
        sections.next().map(|(section, _)| section)
    }

    /// The settings that the profile states; without them, those that its sections imply.
    pub fn shown_settings(&self) -> Settings {
        let has = |metrics: &[Metric]| self.sections().any(|section| section.head.has(metrics));
        self.settings.unwrap_or_else(|| Settings {
            allocations: has(&Metric::OF_OBJECTS),
            cpu_samples: has(&[Metric::Samples]),
        })
    }

    /// Attributes the samples of unknown stacks to the trace without frames, if only the accounting
    /// counts them. Returns false if there is no accounting.
    pub fn book_unattributed(&mut self) -> bool {
        let Some(accounting) = &self.accounting else { return false };
        let is_booked = |row: &&(Key, u64)| self.get_trace(row.0.trace).node == self.tree.root();
        let rows = Metric::Samples.rows(self).rows;
        let booked = rows.iter().filter(is_booked).map(|row| row.1).fold(0, u64::saturating_add);
        let count = accounting.unattributed_count.saturating_sub(booked);
        let system = self.system_trace();
        let section = self.events.iter_mut().rev().find_map(|event| match event {
            Event::Section(section) if section.head.has(&[Metric::Samples]) => Some(section),
            _ => None,
        });
        match section {
            _ if count == 0 => {}
            Some(section) => {
                let total = &mut section.head.columns[0].total;
                *total = total.saturating_add(count);
                section.push(system.into(), &[count]);
            }
            None => {
                let samples = Section::of(Metric::Samples, count, [(system, count)]);
                self.events.push(Event::Section(samples));
            }
        }
        true
    }

    /// The samples of all sections added up, a row per trace, in trace order. (Each dump of an
    /// HPROF file begins from zero again. An interim section counts only if it is the last.)
    pub fn total_cpu_samples(&self) -> CpuSamples {
        let numbers = Metric::Samples.rows(self);
        CpuSamples { total: numbers.total, rows: numbers.by_trace(), ..CpuSamples::default() }
    }

    /// The numbers of the traces that end in each node of the tree.
    pub fn sums_by_node(&self, rows: &[(TraceId, u64)]) -> Vec<u64> {
        let mut sums = vec![0_u64; self.tree.len()];
        for &(trace, number) in rows {
            let sum = &mut sums[self.get_trace(trace).node.index()];
            *sum = sum.saturating_add(number);
        }
        sums
    }

    /// The numbers of each trace added up, in trace order; traces without any are left out.
    pub(crate) fn sums_by_trace(
        &self,
        rows: impl IntoIterator<Item = (TraceId, u64)>,
    ) -> Vec<(TraceId, u64)> {
        let mut sums = vec![0_u64; self.traces.len()];
        for (trace, number) in rows {
            let sum = &mut sums[trace.index()];
            *sum = sum.saturating_add(number);
        }
        let rows = sums.into_iter().enumerate().filter(|&(_, sum)| sum > 0);
        rows.map(|(index, sum)| (TraceId::new(index), sum)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::samples;

    #[test]
    fn samples_without_a_stack_are_booked_once() {
        let mut profile = samples(&[("T.f<T.main", 5), ("", 1)]);
        assert!(!profile.book_unattributed(), "no accounting has them");
        let accounting = Accounting { unattributed_count: 3, ..Accounting::default() };
        profile.accounting = Some(accounting.clone());
        for _ in 0..2 {
            assert!(profile.book_unattributed());
            let total = profile.total_cpu_samples();
            assert_eq!((total.total, total.rows[0]), (8, (profile.system_trace(), 3)));
        }
        let mut alone = Profile { accounting: Some(accounting), ..Profile::default() };
        alone.book_unattributed();
        assert_eq!(alone.total_cpu_samples().rows, [(alone.system_trace(), 3)]);
    }
}
