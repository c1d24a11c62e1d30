//! The book of exact calls, by trace or by callee and caller.

use std::io;
use std::iter::successors;
use std::mem;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use perk_control::options::{Options, TimesForm};
use perk_hprof::{CountedPath, CountedRow};
use perk_jvm::sync::lock;
use perk_profile::{
    Accounting, CallEdge, CallEdges, CallRow, CallTimes, MethodId, NodeId, Subject, ThreadId,
    TraceId,
};
use rustc_hash::FxHashMap;

use crate::analyses::books::{cutoff_of_counts, writes_from_trees};
use crate::analyses::exact::cost::ProbeCost;
use crate::recorder::{
    Book, CallNodes, Calls, CountedPart, CountedSection, DumpSection, Inquiry, NODES_AT_ONCE,
    Place, Recorder, Sections, entry, now,
};
use crate::roster::Slot;

/// The rows that are moved at once.
const ROWS_AT_ONCE: usize = 1 << 18;

/// The depth of each node of a tree whose calls are booked and, unless it is too deep, its place in the
/// profile's tree.
pub(super) type CallPlaces = Vec<(u32, NodeId)>;

type EdgeKey = (Option<MethodId>, Option<MethodId>, Option<ThreadId>);

/// The calls since the last dump; see the module.
#[derive(Debug)]
pub(in crate::analyses::exact) struct CallBook {
    form: Option<TimesForm>,
    cutoff: f64,
    /// The frames that are kept of each trace.
    depth: AtomicUsize,
    /// Whether calls go to the file from their trees, and are booked only where that cannot be.
    is_direct: bool,
    calls: Mutex<CallState>,
}

#[derive(Debug, Default)]
struct CallState {
    counts: CallCounts,
    /// Those of a flush, which has the calls in trees, too.
    shown: CallCounts,
    /// Whether the file already has the calls of the dump that is made.
    is_done: bool,
    /// Whether the last flush has calls from here.
    is_shown: bool,
}

/// Calls, and the totals of all calls.
#[derive(Clone, Debug, Default)]
pub(in crate::analyses::exact) struct CallCounts {
    rows: Vec<CallTotals>,
    edges: FxHashMap<EdgeKey, CallTotals>,
    call_count: u64,
    folded_count: u64,
    removed_ns: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct CallTotals {
    count: u64,
    self_ns: u64,
    total_ns: u64,
}

impl CallTotals {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.self_ns += other.self_ns;
        self.total_ns += other.total_ns;
    }
}

impl CallBook {
    pub(in crate::analyses::exact) fn new(options: &Options) -> Self {
        let form = options.cpu.times;
        Self {
            form,
            cutoff: cutoff_of_counts(options),
            depth: AtomicUsize::new(options.timing_depth as usize),
            is_direct: writes_from_trees(options) && form == Some(TimesForm::Times),
            calls: Mutex::default(),
        }
    }

    /// Whether calls of trees up to [`depth`](Self::depth) go to the file from there.
    pub(super) fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// Returns the most frames of a path of calls.
    pub(super) fn depth(&self) -> usize {
        self.depth.load(Relaxed)
    }

    /// Keeps this number of frames of each new trace.
    pub(super) fn set_depth(&self, depth: u32) {
        if self.form == Some(TimesForm::Times) {
            self.depth.store(depth as usize, Relaxed);
        }
    }

    /// Returns the number of calls whose path is not known.
    pub(in crate::analyses::exact) fn folded_count(&self) -> u64 {
        lock(&self.calls).counts.folded_count
    }

    /// Books the calls of one tree.
    pub(super) fn book(
        &self,
        recorder: &mut Recorder,
        form: TimesForm,
        thread: Option<Slot>,
        calls: &mut dyn CallNodes,
        cost: ProbeCost,
    ) {
        let counts = &mut lock(&self.calls).counts;
        match form {
            TimesForm::Times => {
                let count = calls.count();
                let places = &mut CallPlaces::with_capacity(count);
                counts.add_part(
                    recorder,
                    thread,
                    calls,
                    places,
                    Part { end: count, depth: self.depth(), cost },
                );
            }
            TimesForm::Old => counts.add_edges(recorder, thread, calls, cost),
        }
    }

    /// Begins a flush. A thread that ends from now on has its calls either here or in its tree.
    pub(super) fn begin_flush(&self, _: &mut Recorder) {
        let state = &mut *lock(&self.calls);
        state.shown = state.counts.clone();
    }

    /// Books the next calls of one tree, up to `end`, for a flush alone.
    pub(super) fn show(
        &self,
        recorder: &mut Recorder,
        thread: Option<Slot>,
        calls: &mut dyn CallNodes,
        end: usize,
        places: &mut CallPlaces,
    ) {
        let part = Part { end, depth: self.depth(), cost: ProbeCost::default() };
        lock(&self.calls).shown.add_part(recorder, thread, calls, places, part);
    }

    /// Books the calls of one tree, by callee and caller, for a flush alone.
    pub(super) fn show_edges(
        &self,
        recorder: &mut Recorder,
        thread: Option<Slot>,
        calls: &mut dyn CallNodes,
    ) {
        lock(&self.calls).shown.add_edges(recorder, thread, calls, ProbeCost::default());
    }

    /// Whether the last flush has the calls from this book.
    pub(super) fn is_shown(&self) -> bool {
        lock(&self.calls).is_shown
    }

    /// Writes the calls of one tree since the last dump.
    pub(super) fn write_tree(
        &self,
        recorder: &mut Recorder,
        tree: u64,
        calls: &mut dyn CallNodes,
        cost: ProbeCost,
        section: &mut CountedSection,
    ) {
        let mut at = 0;
        while at < calls.count() {
            let Some(known) = recorder.path_count(tree) else { return };
            let part = lock(&self.calls).counts.next_part(recorder, calls, &mut at, known, cost);
            recorder.write(|writer, profile, _| section.write(writer, profile, tree, &part));
        }
    }

    /// Ends the section of calls.
    pub(super) fn end_trees(&self, recorder: &mut Recorder, section: &CountedSection) {
        recorder.write(|writer, _, _| section.end(writer));
        lock(&self.calls).is_done = true;
    }
}

/// The calls of a tree that are booked at once.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The index of the first node after them.
    end: usize,
    /// The frames that are kept of each trace.
    depth: usize,
    cost: ProbeCost,
}

impl CallCounts {
    /// Returns the number of calls, and of those whose path is not known.
    pub(super) fn totals(&self) -> (u64, u64) {
        (self.call_count, self.folded_count)
    }

    /// Adds the calls of one tree from where `places` ends to the end of the part.
    fn add_part(
        &mut self,
        recorder: &mut Recorder,
        thread: Option<Slot>,
        calls: &mut dyn CallNodes,
        places: &mut CallPlaces,
        part: Part,
    ) {
        let Part { end, depth: most, cost } = part;
        let thread = recorder.thread_of_trace(thread);
        let mut path = Vec::new();
        for index in places.len().min(end)..end {
            let node = calls.take(index);
            let frame = recorder.frame(node.method);
            let (outer_depth, parent) = match places.get(node.parent as usize) {
                Some(&place) => place,
                None => (0, recorder.profile.tree.root()),
            };
            let depth = outer_depth + 1;
            let place = if depth as usize <= most {
                recorder.profile.tree.insert_below(parent, [frame])
            } else if node.count > 0 || node.self_ns > 0 {
                path.clear();
                let outward = successors(Some(node.node()), |it| calls.get(it.parent));
                path.extend(outward.take(most).map(|it| recorder.frame(it.method)));
                recorder.profile.tree.insert(path.iter().rev().copied())
            } else {
                recorder.profile.tree.root()
            };
            places.push((depth, place));
            if node.count > 0 || node.self_ns > 0 {
                let times = self.account(&node, calls, cost);
                let trace = recorder.profile.trace(place, thread);
                entry(&mut self.rows, trace.index()).add(times);
            }
        }
    }

    /// Adds the calls of one tree, by callee and caller.
    fn add_edges(
        &mut self,
        recorder: &mut Recorder,
        thread: Option<Slot>,
        calls: &mut dyn CallNodes,
        cost: ProbeCost,
    ) {
        let thread = recorder.thread_of_trace(thread);
        let mut methods: Vec<Option<MethodId>> = Vec::with_capacity(calls.count());
        for index in 0..calls.count() {
            let node = calls.take(index);
            let callee = (!node.is_lost()).then(|| recorder.numbered_method(node.method));
            methods.push(callee);
            if node.count == 0 {
                continue;
            }
            let caller = methods.get(node.parent as usize).copied().flatten();
            let times = self.account(&node, calls, cost);
            self.edges.entry((callee, caller, thread)).or_default().add(times);
        }
    }

    /// Takes the nodes of a tree from `at` on, which is moved behind them. The file has the first `known`
    /// of its paths.
    pub(super) fn next_part(
        &mut self,
        recorder: &mut Recorder,
        calls: &mut dyn CallNodes,
        at: &mut usize,
        known: usize,
        cost: ProbeCost,
    ) -> CountedPart {
        let mut part = CountedPart::default();
        let end = calls.count().min(*at + NODES_AT_ONCE);
        for index in *at..end {
            let node = calls.take(index);
            let parent = (node.parent != Calls::NO_PARENT).then_some(node.parent);
            if index >= known {
                let frame = recorder.frame(node.method);
                part.paths.push(CountedPath { parent, frame });
            }
            if node.count > 0 || node.self_ns > 0 {
                let CallTotals { count, self_ns, total_ns } = self.account(&node, calls, cost);
                let numbers = [count, self_ns, total_ns, 0];
                let path = Some(index as u32);
                part.rows.push(CountedRow { path, subject: Subject::None, numbers });
            }
        }
        *at = end;
        part.serial = recorder.profile.take_serials(part.rows.len() as u32);
        part
    }

    /// Subtracts the cost of the probes from the times of one of these nodes. Calls whose path is not known
    /// are folded.
    fn account(&mut self, node: &Calls, nodes: &dyn CallNodes, cost: ProbeCost) -> CallTotals {
        self.call_count += node.count;
        if nodes.get(node.parent).is_some_and(|it| it.is_lost()) {
            self.folded_count += node.count;
        }
        let self_ps = node.count.saturating_mul(cost.self_ps);
        let callees_ps = node.entered_count.saturating_mul(cost.caller_ps);
        let removed_ns = (self_ps.saturating_add(callees_ps) / 1000).min(node.self_ns);
        self.removed_ns += removed_ns;
        CallTotals {
            count: node.count,
            self_ns: node.self_ns - removed_ns,
            total_ns: node.total_ns.saturating_sub(removed_ns),
        }
    }

    /// Returns the section of calls by trace, with one row for each; the next section begins from zero.
    fn take_times(&mut self, cutoff: f64) -> CallTimes {
        let mut rows = mem::take(&mut self.rows);
        let total_ns = rows.iter().map(|row| row.self_ns).sum();
        let is_called = |row: &&CallTotals| row.count > 0 || row.self_ns > 0;
        let mut listed = Vec::with_capacity(rows.iter().filter(is_called).count());
        // The memory of one grows as that of the other is given back.
        while !rows.is_empty() {
            let first = rows.len().saturating_sub(ROWS_AT_ONCE);
            let part = rows.drain(first..).enumerate().filter(|(_, row)| is_called(&row));
            listed.extend(part.map(|(index, row)| CallRow {
                trace: TraceId::new(first + index),
                count: row.count,
                self_ns: row.self_ns,
                total_ns: row.total_ns,
            }));
            rows.shrink_to_fit();
        }
        let mut times = CallTimes { total_ns, rows: listed, written: Some(now()) };
        times.rank(cutoff);
        times
    }

    /// Returns the table of calls by callee and caller; the next table begins from zero.
    fn take_edges(&mut self) -> CallEdges {
        let rows = mem::take(&mut self.edges).into_iter();
        let rows = rows.map(|((callee, caller, thread), it)| CallEdge {
            callee,
            caller,
            thread,
            count: it.count,
            total_ns: it.total_ns,
        });
        let mut edges = CallEdges { rows: rows.collect(), written: Some(now()) };
        edges.rank();
        edges
    }
}

impl Book for CallBook {
    fn place(&self) -> Place {
        Place::Calls
    }

    fn write(&self, recorder: &mut Recorder, sections: &mut Sections<'_>) -> io::Result<()> {
        let mut state = lock(&self.calls);
        let state = &mut *state;
        let is_flush = sections.are_of_flush();
        let mut shown = mem::take(&mut state.shown);
        let counts = if is_flush { &mut shown } else { &mut state.counts };
        match self.form {
            Some(TimesForm::Times) => {
                let has_rows = !counts.rows.is_empty();
                let times = counts.take_times(self.cutoff);
                if is_flush {
                    state.is_shown = has_rows;
                    if self.is_direct && times.rows.is_empty() {
                        return Ok(());
                    }
                } else if mem::take(&mut state.is_done) {
                    return Ok(());
                }
                sections.put(recorder, DumpSection::Times(&times))
            }
            Some(TimesForm::Old) => {
                sections.put(recorder, DumpSection::Edges(&counts.take_edges()))
            }
            None => Ok(()),
        }
    }

    fn account(&self, accounting: &mut Accounting, is_flush: bool) {
        let CallState { counts, shown, .. } = &*lock(&self.calls);
        let (call_count, folded_call_count) = if is_flush { shown } else { counts }.totals();
        accounting.call_count = call_count;
        accounting.folded_call_count = folded_call_count;
        accounting.probe_removed_ns = counts.removed_ns;
    }

    fn answer(&self, _: &mut Recorder, inquiry: Inquiry) {
        if let Inquiry::ClearCpu = inquiry {
            let counts = &mut lock(&self.calls).counts;
            counts.rows = Vec::new();
            counts.edges = FxHashMap::default();
        }
    }

    fn reset(&self, _: bool) {
        lock(&self.calls).counts = CallCounts::default();
    }

    fn release(&self) {
        *lock(&self.calls) = CallState::default();
    }
}
