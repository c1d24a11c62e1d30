//! Books the exact engine's counts on the profile.

use std::mem;

use perk_profile::{
    CallEdge, CallEdges, CallRow, CallTimes, Frame, FrameId, Line, Method, MethodId, NodeId,
    ThreadId, TraceId,
};
use rustc_hash::FxHashMap;

use super::counted::Calls;
use super::{Recorder, entry, now};
use crate::roster::Slot;

/// The frame above the methods whose path is not known because the tree was full.
const LOST: &str = "<folded>";

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
pub(crate) type CallPlaces = Vec<(usize, NodeId)>;

type EdgeKey = (Option<MethodId>, Option<MethodId>, Option<ThreadId>);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Booked {
    pub(super) count: u64,
    self_ns: u64,
    total_ns: u64,
}

impl Booked {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.self_ns += other.self_ns;
        self.total_ns += other.total_ns;
    }
}

impl Recorder {
    /// Books the calls of one tree, by trace.
    pub(crate) fn book_calls(&mut self, thread: Option<Slot>, calls: &[Calls], cost: ProbeCost) {
        let mut places = CallPlaces::with_capacity(calls.len());
        self.book_part(thread, calls, calls.len(), &mut places, cost);
    }

    /// Books the next calls of one tree, up to `end`, for a flush alone: see
    /// [`begin_flush`](Self::begin_flush).
    pub(crate) fn show_calls(
        &mut self,
        thread: Option<Slot>,
        calls: &[Calls],
        end: usize,
        places: &mut CallPlaces,
    ) {
        mem::swap(&mut self.calls, &mut self.shown.calls);
        self.book_part(thread, calls, end, places, ProbeCost::default());
        mem::swap(&mut self.calls, &mut self.shown.calls);
    }

    /// Books the calls of one tree, by callee and caller, for a flush alone.
    pub(crate) fn show_edges(&mut self, thread: Option<Slot>, calls: &[Calls]) {
        mem::swap(&mut self.calls, &mut self.shown.calls);
        self.book_edges(thread, calls, ProbeCost::default());
        mem::swap(&mut self.calls, &mut self.shown.calls);
    }

    /// Books the calls of one tree from where `places` ends to `end`.
    fn book_part(
        &mut self,
        thread: Option<Slot>,
        calls: &[Calls],
        end: usize,
        places: &mut CallPlaces,
        cost: ProbeCost,
    ) {
        let thread = self.thread_of_trace(thread);
        let mut path = Vec::new();
        for node in &calls[places.len().min(end)..end] {
            let frame = self.call_frame(node.method);
            let (outer_depth, parent) = match places.get(node.parent as usize) {
                Some(&place) => place,
                None => (0, self.profile.tree.root()),
            };
            let depth = outer_depth + 1;
            let tree = &mut self.profile.tree;
            let place = if depth <= self.timing_depth {
                tree.insert_below(parent, [frame])
            } else if node.count > 0 || node.self_ns > 0 {
                path.clear();
                let outward = std::iter::successors(Some(node), |it| calls.get(it.parent as usize));
                let frames = outward.take(self.timing_depth);
                path.extend(frames.filter_map(|it| self.call_frames[it.method_index()]));
                tree.insert(path.iter().rev().copied())
            } else {
                tree.root()
            };
            places.push((depth, place));
            if node.count > 0 || node.self_ns > 0 {
                let times = self.calls.account(node, calls.get(node.parent as usize), cost);
                let trace = self.profile.trace(place, thread);
                entry(&mut self.calls.rows, trace.index()).add(times);
            }
        }
    }

    /// Books the calls of one tree, by callee and caller.
    pub(crate) fn book_edges(&mut self, thread: Option<Slot>, calls: &[Calls], cost: ProbeCost) {
        let thread = self.thread_of_trace(thread);
        let mut method =
            |node: &Calls| (!node.is_lost()).then(|| self.numbered_method(node.method));
        let methods: Vec<_> = calls.iter().map(&mut method).collect();
        for (node, callee) in calls.iter().zip(&methods).filter(|(node, _)| node.count > 0) {
            let caller = methods.get(node.parent as usize).copied().flatten();
            let times = self.calls.account(node, calls.get(node.parent as usize), cost);
            let edge = self.calls.edges.entry((*callee, caller, thread));
            edge.or_default().add(times);
        }
    }

    /// Returns the section of calls by trace; the next section begins from zero.
    pub(super) fn take_times(&mut self) -> CallTimes {
        times(mem::take(&mut self.calls.rows), self.cutoff)
    }

    /// Returns the section of calls by trace for a flush.
    pub(super) fn shown_times(&mut self) -> CallTimes {
        times(mem::take(&mut self.shown.calls.rows), self.cutoff)
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
        let class = symbols.class(LOST);
        let name = symbols.strings.intern(LOST);
        let method = symbols.method(Method { class, name, signature: None, source: None });
        symbols.frame(Frame::new(method, Line::Unknown))
    }
}

/// Returns the section of calls by trace, with one row for each.
fn times(rows: Vec<Booked>, cutoff: f64) -> CallTimes {
    let total_ns = rows.iter().map(|row| row.self_ns).sum();
    let rows = rows.iter().enumerate().filter(|(_, row)| row.count > 0 || row.self_ns > 0);
    let rows = rows.map(|(index, row)| CallRow {
        trace: TraceId::new(index),
        count: row.count,
        self_ns: row.self_ns,
        total_ns: row.total_ns,
    });
    let mut times = CallTimes { total_ns, rows: rows.collect(), written: Some(now()) };
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
    /// Subtracts the cost of the probes from a node's times.
    fn account(&mut self, node: &Calls, caller: Option<&Calls>, cost: ProbeCost) -> Booked {
        self.call_count += node.count;
        if caller.is_some_and(Calls::is_lost) {
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
