//! The results of the exact engine: calls and their times, pairs of caller and callee, allocation
//! sites.

use std::cmp::Reverse;

use crate::{
    ClassId, Column, Frame, Key, Line, Method, MethodId, Metric, NodeId, Profile, Section,
    SectionHead, SiteSelection, Span, Subject, Symbols, ThreadId, Timestamp, TraceId,
};

/// Calls and their times by trace, as `cpu=times` counts them.
///
/// In a profile of full depth every node of the call tree that was entered has a row. The exact
/// engine folds recursion: if a method is called while it is already running, the calls that it
/// makes are attributed to the outer call. So the sum of the self times of a node's subtree, which
/// reports show as its total, counts each moment once, also under recursion. [`CallRow::total_ns`]
/// counts it once for each call around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallTimes {
    /// The sum of the self times of all traces, in nanoseconds, including those of rows below the
    /// file's cutoff.
    pub total_ns: u64,
    /// The traces, in the file's order.
    pub rows: Vec<CallRow>,
    /// The time at which the section was written, if it is known.
    pub written: Option<Timestamp>,
}

/// The calls of one trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRow {
    /// The callee and its callers.
    pub trace: TraceId,
    /// The number of calls of the trace's innermost method on this path.
    pub count: u64,
    /// The time in these calls, in nanoseconds, without that of the methods they called; 0 if calls
    /// were counted and not timed.
    pub self_ns: u64,
    /// The time in these calls, including the calls that they make, in nanoseconds. A recursive
    /// call counts again in the call around it. 0 if the file does not give the time.
    pub total_ns: u64,
}

impl CallTimes {
    /// The calls of a section by call path; `None` if it has none.
    pub fn of(section: &Section) -> Option<Self> {
        if section.head.is_by_pair || !section.head.has(&Metric::OF_CALLS) {
            return None;
        }
        let row = |(Key { trace, .. }, [count, self_ns, total_ns]): (Key, [u64; 3])| CallRow {
            trace,
            count,
            self_ns,
            total_ns,
        };
        let [total_ns] = section.totals([Metric::SelfTime]);
        let rows = section.of_metrics(Metric::OF_CALLS).map(row).collect();
        Some(Self { total_ns, rows, written: section.head.written })
    }

    /// The head of their section.
    pub fn head(&self) -> SectionHead {
        let sum =
            |number: fn(&CallRow) -> u64| self.rows.iter().map(number).fold(0, u64::saturating_add);
        let columns = [
            Column::new(Metric::Calls, sum(|row| row.count)),
            Column::new(Metric::SelfTime, self.total_ns),
            Column::new(Metric::TotalTime, sum(|row| row.total_ns)),
        ];
        SectionHead { written: self.written, ..SectionHead::new(columns) }
    }

    /// The rows of their section.
    pub fn keyed(&self) -> impl ExactSizeIterator<Item = (Key, [u64; 3])> + Clone {
        self.rows.iter().map(|row| (row.trace.into(), [row.count, row.self_ns, row.total_ns]))
    }

    /// Orders the rows as HPROF prints them: most self time first, then most calls, then in order
    /// of trace; and drops those whose share of the total is below `cutoff`. If nothing was timed,
    /// the shares are of the calls.
    pub fn rank(&mut self, cutoff: f64) {
        // In place: there can be millions.
        self.rows.sort_unstable_by_key(|row| (Reverse(row.self_ns), Reverse(row.count), row.trace));
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
    /// The time at which the table was written, if it is known.
    pub written: Option<Timestamp>,
}

/// The name of a method that is not known, in the frame of a pair.
const UNKNOWN: &str = "<unknown>";

impl CallEdges {
    const METRICS: [Metric; 2] = [Metric::Calls, Metric::TotalTime];

    /// The calls of a section by pair; `None` if it has none.
    pub fn of(profile: &Profile, section: &Section) -> Option<Self> {
        section.head.is_by_pair.then(|| {
            let row = |(key, [count, total_ns]): (Key, [u64; 2])| {
                let mut methods = profile.frames(key.trace).map(|frame| {
                    let method = profile.symbols.get_frame(frame).method;
                    (!is_unknown(&profile.symbols, method)).then_some(method)
                });
                CallEdge {
                    callee: methods.next().flatten(),
                    caller: methods.next().flatten(),
                    thread: profile.get_trace(key.trace).thread,
                    count,
                    total_ns,
                }
            };
            let rows = section.of_metrics(Self::METRICS).map(row).collect();
            Self { rows, written: section.head.written }
        })
    }

    /// Makes their section. The stack of a pair has the callee, and its caller if that is known.
    pub fn section(&self, profile: &mut Profile) -> Section {
        let mut section = Section::new(SectionHead {
            is_by_pair: true,
            written: self.written,
            ..SectionHead::new(Self::METRICS.map(|metric| Column::new(metric, 0)))
        });
        for row in &self.rows {
            let mut node = profile.tree.root();
            if let Some(caller) = row.caller {
                node = method_node(profile, node, caller);
            }
            let callee = row.callee.unwrap_or_else(|| unknown(&mut profile.symbols));
            let node = method_node(profile, node, callee);
            let trace = profile.trace(node, row.thread);
            let numbers = [row.count, row.total_ns];
            section.push(trace.into(), &numbers);
            for (column, number) in section.head.columns.iter_mut().zip(numbers) {
                column.total = column.total.saturating_add(number);
            }
        }
        section
    }

    /// Orders the rows as `cpu=old` prints them: most calls first, then most time, then in order of
    /// callee, caller and thread.
    pub fn rank(&mut self) {
        self.rows.sort_unstable_by_key(|row| {
            (Reverse((row.count, row.total_ns)), row.callee, row.caller, row.thread)
        });
    }
}

fn method_node(profile: &mut Profile, caller: NodeId, method: MethodId) -> NodeId {
    let frame = profile.symbols.frame(Frame::new(method, Line::Unknown));
    profile.tree.insert_below(caller, [frame])
}

fn unknown(symbols: &mut Symbols) -> MethodId {
    let (class, name) = (symbols.class(""), symbols.strings.intern(UNKNOWN));
    symbols.method(Method { class, name, signature: None, source: None })
}

fn is_unknown(symbols: &Symbols, method: MethodId) -> bool {
    let Method { class, name, .. } = symbols.get_method(method);
    symbols.class_name(class).is_empty() && symbols.strings.get(name) == UNKNOWN
}

/// The calls of one method by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallEdge {
    /// The method called; `None` if it is not known.
    pub callee: Option<MethodId>,
    /// The method that called it; `None` for a thread's first method, and if it is not known.
    pub caller: Option<MethodId>,
    /// The thread, if the profile was made per thread.
    pub thread: Option<ThreadId>,
    /// The number of calls.
    pub count: u64,
    /// The time in these calls, including the calls that they make, in nanoseconds. A recursive
    /// call counts again in the call around it.
    pub total_ns: u64,
}

/// Allocation sites: the objects allocated at each site, and those of them that are live.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sites {
    /// The total of all sites, including those of rows below the file's cutoff.
    pub total: Allocations,
    /// The sites, in the file's order.
    pub rows: Vec<Site>,
    /// The average number of bytes between two samples, if the numbers are estimates from samples;
    /// `None` if every allocation was counted.
    pub sample_interval_bytes: Option<u64>,
    /// The options with which the section was requested.
    pub selection: SiteSelection,
    /// The numbers that are known.
    pub known: KnownObjects,
    /// The time at which the section was written, if it is known.
    pub written: Option<Timestamp>,
}

/// The numbers of a section that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownObjects {
    /// Whether the live objects are known; if not, their numbers are 0.
    pub live: bool,
    /// Whether the objects of all sites are known. If rows are left out whose numbers of objects
    /// are not known, the totals are those of the listed rows, except for the live bytes.
    pub all_sites: bool,
}

/// The number of objects, as a command requested it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapSummary {
    /// The number and size of all objects.
    pub objects: Allocations,
    /// The time at which the summary was written, if it is known.
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
    /// The trace of their allocation; the system trace if it is not known.
    pub trace: TraceId,
    /// The numbers and sizes of the objects.
    pub objects: Allocations,
}

impl Allocations {
    /// Makes allocations from numbers in the order of [`Metric::OF_OBJECTS`].
    pub fn of([live_bytes, live_count, allocated_bytes, allocated_count]: [u64; 4]) -> Self {
        Self { live_bytes, live_count, allocated_bytes, allocated_count }
    }

    /// The numbers in the order of [`Metric::OF_OBJECTS`].
    pub fn numbers(self) -> [u64; 4] {
        let Self { live_bytes, live_count, allocated_bytes, allocated_count } = self;
        [live_bytes, live_count, allocated_bytes, allocated_count]
    }

    /// Adds more; sums stop at the largest number.
    pub fn add(&mut self, other: Self) {
        self.live_bytes = self.live_bytes.saturating_add(other.live_bytes);
        self.live_count = self.live_count.saturating_add(other.live_count);
        self.allocated_bytes = self.allocated_bytes.saturating_add(other.allocated_bytes);
        self.allocated_count = self.allocated_count.saturating_add(other.allocated_count);
    }

    /// Subtracts the allocated bytes and objects of `other`; the result is never below 0.
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

impl Sites {
    /// The sites of a section; `None` if it has none. Rows without a class are left out.
    pub fn of(section: &Section) -> Option<Self> {
        let head = &section.head;
        if !head.has(&Metric::OF_OBJECTS) {
            return None;
        }
        let row = |(key, numbers): (Key, [u64; 4])| {
            let objects = Allocations::of(numbers);
            Some(Site { class: key.subject.class()?, trace: key.trace, objects })
        };
        let mut columns = head.columns.iter();
        Some(Self {
            total: Allocations::of(section.totals(Metric::OF_OBJECTS)),
            rows: section.of_metrics(Metric::OF_OBJECTS).filter_map(row).collect(),
            sample_interval_bytes: columns.clone().find_map(|column| column.period),
            selection: head.selection,
            known: KnownObjects {
                live: head.column(&Metric::LiveBytes).is_some_and(|column| column.is_known),
                all_sites: !columns.any(|column| column.is_partial),
            },
            written: head.written,
        })
    }

    /// The head of their section.
    pub fn head(&self) -> SectionHead {
        let columns = Metric::OF_OBJECTS.into_iter().zip(self.total.numbers());
        let is_live = |metric: &Metric| matches!(metric, Metric::LiveBytes | Metric::LiveObjects);
        let column = |(metric, total): (Metric, u64)| Column {
            is_known: self.known.live || !is_live(&metric),
            is_partial: !self.known.all_sites && metric != Metric::LiveBytes,
            period: self.sample_interval_bytes,
            ..Column::new(metric, total)
        };
        let columns: Vec<_> = columns.map(column).collect();
        SectionHead {
            span: Span::SinceStart,
            selection: self.selection,
            written: self.written,
            ..SectionHead::new(columns)
        }
    }

    /// The rows of their section.
    pub fn keyed(&self) -> impl ExactSizeIterator<Item = (Key, [u64; 4])> + Clone {
        self.rows.iter().map(|row| {
            let key = Key::new(row.trace, Subject::Class(row.class));
            (key, row.objects.numbers())
        })
    }

    /// Whether shares can only be of the live bytes: the allocated bytes are not known, or only in
    /// part. Lists are then in order of live bytes.
    pub fn is_by_live(&self) -> bool {
        !self.known.all_sites || !self.has(|objects| objects.allocated_bytes)
    }

    /// The metric of shares and of the order, unless another is requested: bytes, or the numbers of
    /// objects where no bytes are known.
    pub fn leading(&self) -> Metric {
        let has_live_bytes = || self.has(|objects| objects.live_bytes);
        if !self.is_by_live() {
            Metric::AllocatedBytes
        } else if has_live_bytes() {
            Metric::LiveBytes
        } else if self.has(|objects| objects.allocated_count) {
            Metric::AllocatedObjects
        } else if self.has(|objects| objects.live_count) {
            Metric::LiveObjects
        } else {
            Metric::LiveBytes
        }
    }

    /// Whether a number of the section is other than 0.
    fn has(&self, number: impl Fn(&Allocations) -> u64) -> bool {
        number(&self.total) > 0 || self.rows.iter().any(|row| number(&row.objects) > 0)
    }

    /// The sum of the objects of the rows.
    pub fn listed(&self) -> Allocations {
        let mut listed = Allocations::default();
        self.rows.iter().for_each(|row| listed.add(row.objects));
        listed
    }

    /// Orders the rows as HPROF prints them, by live bytes (then by allocated bytes, trace and
    /// class), or by allocated bytes first if that was requested. Drops the rows from the first one
    /// on whose share of the live bytes is below `cutoff`. Where live bytes are not known, or nothing
    /// lives, allocated bytes take their place.
    pub fn rank(&mut self, cutoff: f64) {
        let by_allocated = self.selection.by_allocated;
        self.rows.sort_unstable_by_key(|row| {
            let Allocations { live_bytes, allocated_bytes, .. } = row.objects;
            let bytes = (live_bytes, allocated_bytes);
            let bytes = if by_allocated { (bytes.1, bytes.0) } else { bytes };
            (Reverse(bytes), row.trace, row.class)
        });
        let is_by_live = self.known.live && self.total.live_bytes > 0;
        let known = |objects: &Allocations| match is_by_live {
            true => objects.live_bytes as f64,
            false => objects.allocated_bytes as f64,
        };
        let total = known(&self.total);
        let listed = |row: &&Site| known(&row.objects) / total >= cutoff;
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
    fn sites_are_cut_by_allocated_bytes_where_no_others_are_known() {
        let rows = vec![site(1, 0, 50), site(2, 0, 60), site(3, 0, 400)];
        let total = Allocations { allocated_bytes: 510, ..Allocations::default() };
        let known = KnownObjects { live: false, ..KnownObjects::default() };
        let mut sites = Sites { total, rows, known, ..Sites::default() };
        sites.rank(0.1);
        assert_eq!(sites.rows.iter().map(|row| row.trace.index()).collect::<Vec<_>>(), [3, 2]);
    }

    #[test]
    fn sites_are_cut_by_allocated_bytes_where_nothing_lives() {
        let rows = vec![site(1, 0, 1), site(2, 0, 99)];
        let total = Allocations { allocated_bytes: 100, ..Allocations::default() };
        let mut sites = Sites { total, rows, ..Sites::default() };
        sites.rank(0.1);
        assert_eq!(sites.rows.iter().map(|row| row.trace.index()).collect::<Vec<_>>(), [2]);
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
