//! Books the exact engine's counts on the profile.

use std::iter::successors;
use std::mem;

use perk_control::options::Format;
use perk_profile::{
    CallEdge, CallEdges, CallRow, CallTimes, FOLDED, Frame, FrameId, Line, Method, MethodId,
    NodeId, ThreadId, TraceId,
};
use rustc_hash::FxHashMap;

use super::counted::{CallNodes, Calls};
use super::{Recorder, entry, now};
use crate::roster::Slot;

/// The rows that are moved at once.
const ROWS_AT_ONCE: usize = 1 << 18;

/// The cost of the probes of a call, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProbeCost {
    /// The part within the time of the call.
    pub(crate) self_ps: u64,
    /// The part within the time of its caller.
    pub(crate) caller_ps: u64,
}

/// The calls since the last dump, and the totals of all calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallBook {
    pub(super) rows: Vec<Booked>,
    edges: FxHashMap<EdgeKey, Booked>,
    pub(super) call_count: u64,
    pub(super) folded_count: u64,
    pub(super) removed_ns: u64,
}

/// The depth of each node of a tree whose calls are booked and, unless it is too deep, its place in the
/// profile's tree.
pub(crate) type CallPlaces = Vec<(u32, NodeId)>;

type EdgeKey = (Option<MethodId>, Option<MethodId>, Option<ThreadId>);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Booked {
    pub(super) count: u64,
    self_ns: u64,
    total_ns: u64,
}

impl Booked {
    /// Returns the numbers of a row.
    pub(super) fn numbers(self) -> [u64; 3] {
        [self.count, self.self_ns, self.total_ns]
    }

    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.self_ns += other.self_ns;
        self.total_ns += other.total_ns;
    }
}

impl Recorder {
    /// Returns the number of calls whose path is not known.
    pub(crate) fn folded_call_count(&self) -> u64 {
        self.calls.folded_count
    }

    /// Books the calls of one tree, by trace.
    pub(crate) fn book_calls(
        &mut self,
        thread: Option<Slot>,
        calls: &mut dyn CallNodes,
        cost: ProbeCost,
    ) {
        let count = calls.count();
        self.book_part(thread, calls, count, &mut CallPlaces::with_capacity(count), cost);
    }

    /// Books the next calls of one tree, up to `end`, for a flush alone: see
    /// [`begin_flush`](Self::begin_flush).
    pub(crate) fn show_calls(
        &mut self,
        thread: Option<Slot>,
        calls: &mut dyn CallNodes,
        end: usize,
        places: &mut CallPlaces,
    ) {
        mem::swap(&mut self.calls, &mut self.shown.calls);
        self.book_part(thread, calls, end, places, ProbeCost::default());
        mem::swap(&mut self.calls, &mut self.shown.calls);
    }

    /// Books the calls of one tree, by callee and caller, for a flush alone.
    pub(crate) fn show_edges(&mut self, thread: Option<Slot>, calls: &mut dyn CallNodes) {
        mem::swap(&mut self.calls, &mut self.shown.calls);
        self.book_edges(thread, calls, ProbeCost::default());
        mem::swap(&mut self.calls, &mut self.shown.calls);
    }

    /// Books the calls of one tree from where `places` ends to `end`.
    fn book_part(
        &mut self,
        thread: Option<Slot>,
        calls: &mut dyn CallNodes,
        end: usize,
        places: &mut CallPlaces,
        cost: ProbeCost,
    ) {
        let thread = self.thread_of_trace(thread);
        let mut path = Vec::new();
        for index in places.len().min(end)..end {
            let node = calls.take(index);
            let frame = self.call_frame(node.method);
            let (outer_depth, parent) = match places.get(node.parent as usize) {
                Some(&place) => place,
                None => (0, self.profile.tree.root()),
            };
            let depth = outer_depth + 1;
            let place = if depth as usize <= self.timing_depth {
                self.profile.tree.insert_below(parent, [frame])
            } else if node.count > 0 || node.self_ns > 0 {
                path.clear();
                let outward = successors(Some(node.node()), |it| calls.get(it.parent));
                path.extend(outward.take(self.timing_depth).map(|it| self.call_frame(it.method)));
                self.profile.tree.insert(path.iter().rev().copied())
            } else {
                self.profile.tree.root()
            };
            places.push((depth, place));
            if node.count > 0 || node.self_ns > 0 {
                let times = self.calls.account(&node, calls, cost);
                let trace = self.profile.trace(place, thread);
                entry(&mut self.calls.rows, trace.index()).add(times);
            }
        }
    }

    /// Books the calls of one tree, by callee and caller.
    pub(crate) fn book_edges(
        &mut self,
        thread: Option<Slot>,
        calls: &mut dyn CallNodes,
        cost: ProbeCost,
    ) {
        let thread = self.thread_of_trace(thread);
        let mut methods: Vec<Option<MethodId>> = Vec::with_capacity(calls.count());
        for index in 0..calls.count() {
            let node = calls.take(index);
            let callee = (!node.is_lost()).then(|| self.numbered_method(node.method));
            methods.push(callee);
            if node.count == 0 {
                continue;
            }
            let caller = methods.get(node.parent as usize).copied().flatten();
            let times = self.calls.account(&node, calls, cost);
            self.calls.edges.entry((callee, caller, thread)).or_default().add(times);
        }
    }

    /// Returns the section of calls by trace; the next section begins from zero.
    pub(super) fn take_times(&mut self) -> CallTimes {
        times(mem::take(&mut self.calls.rows), self.cutoff_of_counts())
    }

    /// perk's own file has all rows: those with little time have the most calls, and no total says how many.
    pub(super) fn cutoff_of_counts(&self) -> f64 {
        if self.format == Format::Extended { 0.0 } else { self.cutoff }
    }

    /// Returns the section of calls by trace for a flush.
    pub(super) fn shown_times(&mut self) -> CallTimes {
        times(mem::take(&mut self.shown.calls.rows), self.cutoff_of_counts())
    }

    /// Returns the table of calls by callee and caller for a flush.
    pub(super) fn shown_edges(&mut self) -> CallEdges {
        edges(mem::take(&mut self.shown.calls.edges))
    }

    /// Returns the table of calls by callee and caller; the next table begins from zero.
    pub(super) fn take_edges(&mut self) -> CallEdges {
        edges(mem::take(&mut self.calls.edges))
    }

    pub(super) fn call_frame(&mut self, method: u32) -> FrameId {
        let index = method as usize;
        if method == Calls::LOST {
            return self.lost_frame();
        }
        if let Some(Some(known)) = self.call_frames.get(index) {
            return *known;
        }
        let method = self.numbered_method(method);
        let frame = self.profile.symbols.frame(Frame::new(method, Line::Unknown));
        *entry(&mut self.call_frames, index).insert(frame)
    }

    fn lost_frame(&mut self) -> FrameId {
        let symbols = &mut self.profile.symbols;
        let class = symbols.class(FOLDED);
        let name = symbols.strings.intern(FOLDED);
        let method = symbols.method(Method { class, name, signature: None, source: None });
        symbols.frame(Frame::new(method, Line::Unknown))
    }
}

/// Returns the section of calls by trace, with one row for each.
fn times(mut rows: Vec<Booked>, cutoff: f64) -> CallTimes {
    let total_ns = rows.iter().map(|row| row.self_ns).sum();
    let is_called = |row: &&Booked| row.count > 0 || row.self_ns > 0;
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

/// Returns the table of calls by callee and caller.
fn edges(rows: FxHashMap<EdgeKey, Booked>) -> CallEdges {
    let rows = rows.into_iter().map(|((callee, caller, thread), it)| CallEdge {
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

impl CallBook {
    /// Subtracts the cost of the probes from the times of one of these nodes. Calls whose path is not known
    /// are folded.
    pub(super) fn account(
        &mut self,
        node: &Calls,
        nodes: &dyn CallNodes,
        cost: ProbeCost,
    ) -> Booked {
        self.call_count += node.count;
        if nodes.get(node.parent).is_some_and(|it| it.is_lost()) {
            self.folded_count += node.count;
        }
        let self_ps = node.count.saturating_mul(cost.self_ps);
        let callees_ps = node.entered_count.saturating_mul(cost.caller_ps);
        let removed_ns = (self_ps.saturating_add(callees_ps) / 1000).min(node.self_ns);
        self.removed_ns += removed_ns;
        Booked {
            count: node.count,
            self_ns: node.self_ns - removed_ns,
            total_ns: node.total_ns.saturating_sub(removed_ns),
        }
    }
}
