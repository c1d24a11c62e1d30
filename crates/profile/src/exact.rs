//! What the exact engine counts: calls and their times, caller and callee pairs, allocation sites.

use std::cmp::Reverse;

use crate::{ClassId, MethodId, ThreadId, Timestamp, TraceId};

/// Calls and their times by trace, as `cpu=times` counts them.
///
/// In a profile of full depth every node of the call tree that was entered has a row. The exact engine
/// folds recursion there: what a method calls that was called while it was running is booked under
/// its outer call. So the sum of the self times of a node's subtree, which reports show as its total, has
/// each moment once, also under recursion; [`CallRow::total_ns`] has it once for each call around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallTimes {
    /// The self times of all traces, in nanoseconds, those of rows below the file's cutoff among
    /// them.
    pub total_ns: u64,
    /// The traces, in the file's order.
    pub rows: Vec<CallRow>,
    /// When the section was written, if that is told.
    pub written: Option<Timestamp>,
}

/// The calls of one trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRow {
    /// The callee and its callers.
    pub trace: TraceId,
    /// How often the trace's innermost method was called on this path.
    pub count: u64,
    /// The time in these calls, in nanoseconds, without that of the methods they called; 0 where
    /// calls were counted and not timed.
    pub self_ns: u64,
    /// The time in these calls with all that they called, in nanoseconds; a recursive call counts
    /// again in the call around it. 0 where the file does not tell.
    pub total_ns: u64,
}

impl CallTimes {
    /// Orders the rows as HPROF prints them: most self time first, then most calls, then in order of
    /// trace; and drops those whose share of the total is below `cutoff`. Where nothing was timed
    /// the calls are the shares.
    pub fn rank(&mut self, cutoff: f64) {
        self.rows.sort_by_key(|row| (Reverse(row.self_ns), Reverse(row.count), row.trace));
        let calls = self.rows.iter().map(|row| row.count).fold(0, u64::saturating_add);
        let share = |row: &CallRow| match self.total_ns {
            0 => row.count as f64 / calls as f64,
            total_ns => row.self_ns as f64 / total_ns as f64,
        };
        if cutoff > 0.0 {
            self.rows.truncate(self.rows.iter().take_while(|row| share(row) >= cutoff).count());
        }
    }
}

/// Calls by callee and direct caller, as `cpu=old` and `java -prof` print them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallEdges {
    /// The pairs, in the file's order.
    pub rows: Vec<CallEdge>,
    /// When the table was written, if that is told.
    pub written: Option<Timestamp>,
}

impl CallEdges {
    /// Orders the rows as `cpu=old` prints them: most calls first, then most time, then in order of
    /// callee, caller and thread.
    pub fn rank(&mut self) {
        self.rows.sort_by_key(|row| {
            (Reverse((row.count, row.total_ns)), row.callee, row.caller, row.thread)
        });
    }
}

/// The calls of one method by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallEdge {
    /// The method called; `None` where it is not known.
    pub callee: Option<MethodId>,
    /// The method that called it; `None` for a thread's first method, and where it is not known.
    pub caller: Option<MethodId>,
    /// The thread, if the profile was made per thread.
    pub thread: Option<ThreadId>,
    /// How often it was called.
    pub count: u64,
    /// The time in these calls with all that they called, in nanoseconds. A recursive call counts
    /// again in the call around it.
    pub total_ns: u64,
}

/// Allocation sites: what was allocated where, and what of it is live.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sites {
    /// Of all sites, those of rows below the file's cutoff among them.
    pub total: Allocations,
    /// The sites, in the file's order.
    pub rows: Vec<Site>,
    /// The numbers are estimates from samples taken once in so many bytes on average; `None` where
    /// every allocation was counted.
    pub sample_interval_bytes: Option<u64>,
    /// How the section was asked for.
    pub selection: SiteSelection,
    /// Which of the numbers are known.
    pub known: KnownObjects,
    /// When the section was written, if that is told.
    pub written: Option<Timestamp>,
}

/// Which of a section's numbers are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownObjects {
    /// What of the objects lives. Where that is not known its numbers are 0.
    pub live: bool,
    /// The objects of all sites. Where rows are left out and nothing tells how many objects they
    /// have, the totals are those of the rows, but for the live bytes.
    pub all_sites: bool,
}

/// How a section of sites was asked for, with a command; a dump's is the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteSelection {
    /// Only the sites that changed since the section before.
    pub changed_only: bool,
    /// Ordered by allocated, not by live bytes.
    pub by_allocated: bool,
    /// After a collection of garbage.
    pub after_gc: bool,
}

/// How many objects there are, as a command asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapSummary {
    /// All objects.
    pub objects: Allocations,
    /// When it was written, if that is told.
    pub written: Option<Timestamp>,
}

/// Objects allocated since the program's start, and those of them that live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocations {
    /// Size of the live objects, as the JVM counts it.
    pub live_bytes: u64,
    /// Number of live objects.
    pub live_count: u64,
    /// Size of all objects ever allocated.
    pub allocated_bytes: u64,
    /// Number of objects ever allocated.
    pub allocated_count: u64,
}

/// The objects of one class allocated under one trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The objects' class.
    pub class: ClassId,
    /// Where they were allocated; the system trace where that is not known.
    pub trace: TraceId,
    /// How many there are.
    pub objects: Allocations,
}

impl Allocations {
    /// Adds, up to the largest number there is.
    pub fn add(&mut self, other: Self) {
        self.live_bytes = self.live_bytes.saturating_add(other.live_bytes);
        self.live_count = self.live_count.saturating_add(other.live_count);
        self.allocated_bytes = self.allocated_bytes.saturating_add(other.allocated_bytes);
        self.allocated_count = self.allocated_count.saturating_add(other.allocated_count);
    }

    /// Takes off what was allocated; the rest is never less than nothing.
    pub fn remove_allocated(&mut self, other: Self) {
        self.allocated_bytes = self.allocated_bytes.saturating_sub(other.allocated_bytes);
        self.allocated_count = self.allocated_count.saturating_sub(other.allocated_count);
    }
}

impl Default for KnownObjects {
    fn default() -> Self {
        Self { live: true, all_sites: true }
    }
}

impl SiteSelection {
    const CHANGED_ONLY: u16 = 0x1;
    const BY_ALLOCATED: u16 = 0x2;
    const AFTER_GC: u16 = 0x4;

    /// From the flags of HPROF's ALLOC SITES, the record and the command.
    pub fn from_flags(flags: u16) -> Self {
        Self {
            changed_only: flags & Self::CHANGED_ONLY != 0,
            by_allocated: flags & Self::BY_ALLOCATED != 0,
            after_gc: flags & Self::AFTER_GC != 0,
        }
    }

    /// As flags of ALLOC SITES.
    pub fn flags(self) -> u16 {
        let flag = |is_set: bool, flag: u16| if is_set { flag } else { 0 };
        flag(self.changed_only, Self::CHANGED_ONLY)
            | flag(self.by_allocated, Self::BY_ALLOCATED)
            | flag(self.after_gc, Self::AFTER_GC)
    }
}

impl Sites {
    /// Whether shares can only be of the live bytes: nothing is known of what was allocated, or not
    /// of all of it. Lists are in order of live bytes then.
    pub fn is_by_live(&self) -> bool {
        !self.known.all_sites
            || self.total.allocated_bytes == 0
                && self.rows.iter().all(|row| row.objects.allocated_bytes == 0)
    }

    /// The objects of the rows.
    pub fn listed(&self) -> Allocations {
        let mut listed = Allocations::default();
        self.rows.iter().for_each(|row| listed.add(row.objects));
        listed
    }

    /// Orders the rows as HPROF prints them, by live bytes (then by allocated bytes, trace and
    /// class), or by allocated bytes first where they were asked for so; and drops those from the
    /// first on whose share of the live bytes is below `cutoff`.
    pub fn rank(&mut self, cutoff: f64) {
        let by_allocated = self.selection.by_allocated;
        self.rows.sort_by_key(|row| {
            let Allocations { live_bytes, allocated_bytes, .. } = row.objects;
            let bytes = (live_bytes, allocated_bytes);
            let bytes = if by_allocated { (bytes.1, bytes.0) } else { bytes };
            (Reverse(bytes), row.trace, row.class)
        });
        let total = self.total.live_bytes as f64;
        let listed = |row: &&Site| row.objects.live_bytes as f64 / total >= cutoff;
        if cutoff > 0.0 {
            self.rows.truncate(self.rows.iter().take_while(listed).count());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(trace: usize, count: u64, self_ns: u64) -> CallRow {
        CallRow { trace: TraceId::new(trace), count, self_ns, total_ns: 0 }
    }

    fn site(trace: usize, live_bytes: u64, allocated_bytes: u64) -> Site {
        let objects = Allocations { live_bytes, allocated_bytes, ..Allocations::default() };
        Site { class: ClassId::new(0), trace: TraceId::new(trace), objects }
    }

    #[test]
    fn calls_are_ranked_by_self_time_and_cut() {
        let rows = vec![call(1, 9, 10), call(2, 1, 80), call(3, 2, 10), call(4, 100, 0)];
        let mut times = CallTimes { total_ns: 100, rows, written: None };
        times.rank(0.0);
        assert_eq!(
            times.rows.iter().map(|row| row.trace.index()).collect::<Vec<_>>(),
            [2, 1, 3, 4]
        );
        times.rank(0.1);
        assert_eq!(times.rows.len(), 3);
    }

    #[test]
    fn untimed_calls_are_ranked_and_cut_by_count() {
        let rows = vec![call(1, 1, 0), call(2, 99, 0)];
        let mut times = CallTimes { total_ns: 0, rows, written: None };
        times.rank(0.5);
        assert_eq!(times.rows, [call(2, 99, 0)]);
    }

    #[test]
    fn call_edges_are_ranked_by_count() {
        let edge = |callee, count, total_ns| {
            let callee = Some(MethodId::new(callee));
            CallEdge { callee, caller: None, thread: None, count, total_ns }
        };
        let rows = vec![edge(3, 1, 9), edge(2, 7, 1), edge(1, 7, 1), edge(0, 7, 2)];
        let mut edges = CallEdges { rows, written: None };
        edges.rank();
        assert_eq!(edges.rows, [edge(0, 7, 2), edge(1, 7, 1), edge(2, 7, 1), edge(3, 1, 9)]);
    }

    #[test]
    fn sites_are_ranked_by_live_bytes_and_cut() {
        let rows = vec![site(1, 0, 50), site(2, 60, 60), site(3, 40, 400)];
        let total = Allocations { live_bytes: 100, ..Allocations::default() };
        let mut sites = Sites { total, rows, ..Sites::default() };
        sites.rank(0.0);
        assert_eq!(sites.rows.iter().map(|row| row.trace.index()).collect::<Vec<_>>(), [2, 3, 1]);
        sites.rank(0.5);
        assert_eq!(sites.rows.len(), 1);
    }

    #[test]
    fn sites_can_be_asked_for_by_allocated_bytes() {
        let rows = vec![site(1, 0, 50), site(2, 60, 60), site(3, 40, 400)];
        let total = Allocations { live_bytes: 100, ..Allocations::default() };
        let selection = SiteSelection::from_flags(6);
        assert_eq!(selection.flags(), 6);
        assert!(selection.by_allocated && selection.after_gc && !selection.changed_only);
        let mut sites = Sites { total, rows, selection, ..Sites::default() };
        sites.rank(0.0);
        assert_eq!(sites.rows.iter().map(|row| row.trace.index()).collect::<Vec<_>>(), [3, 2, 1]);
    }
}
