//! Sections: the numbers of a profile. A row is a call trace, with a subject where the numbers have
//! one; a column is a metric.

use crate::{
    CallEdges, CallTimes, ClassId, CpuSamples, Event, LockKind, Metric, MonitorTimes, Profile,
    Sites, StrId, Symbols, Timestamp, TraceId,
};

/// What the numbers of a row are about, beside the call trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// Nothing: the trace says it all.
    #[default]
    None,
    /// Objects of a class.
    Class(ClassId),
    /// Locks of a class.
    Lock(ClassId, LockKind),
    /// A field of the objects of a class, by its name.
    Field(ClassId, StrId),
}

impl Subject {
    /// The class of the objects or of the lock.
    pub fn class(self) -> Option<ClassId> {
        match self {
            Subject::None => None,
            Subject::Class(class) | Subject::Lock(class, _) | Subject::Field(class, _) => {
                Some(class)
            }
        }
    }

    /// The same without the kind of lock: those of a class are one where nothing tells them apart.
    pub fn merged(self) -> Self {
        match self {
            Subject::Lock(class, _) => Subject::Class(class),
            other => other,
        }
    }

    /// The name under which it stands below its call path.
    pub fn label(self, symbols: &Symbols) -> Option<String> {
        let class = symbols.class_name(self.class()?);
        Some(match self {
            Subject::Field(_, field) => format!("{class}.{}", symbols.strings.get(field)),
            _ => class.to_owned(),
        })
    }
}

/// The row of a section: where its numbers were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The call trace.
    pub trace: TraceId,
    /// What the numbers are about.
    pub subject: Subject,
}

impl From<TraceId> for Key {
    fn from(trace: TraceId) -> Self {
        Self { trace, subject: Subject::None }
    }
}

/// The numbers of one metric in a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The metric.
    pub metric: Metric,
    /// Of all rows, those that the file left out among them.
    pub total: u64,
    /// Whether anything is known of it; otherwise its numbers are 0.
    pub is_known: bool,
    /// Rows are left out, and nothing tells what they have: the total is that of the other rows.
    pub is_partial: bool,
    /// The numbers are of samples, or estimates from them, taken once in so many nanoseconds (of CPU
    /// samples) or bytes (of allocations). `None` where every event was counted, and where it is not
    /// known.
    pub period: Option<u64>,
}

impl Column {
    /// A column of exact numbers whose rows are all there.
    pub fn new(metric: Metric, total: u64) -> Self {
        Self { metric, total, is_known: true, is_partial: false, period: None }
    }
}

/// Since when the numbers of a section count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Span {
    /// Since the section of the same metrics before it: they add up.
    #[default]
    SinceLast,
    /// As [`Span::SinceLast`], and the next section counts them again: they were asked for in between.
    Interim,
    /// Since the program's start: the last such section has all.
    SinceStart,
}

/// How a section of allocation sites was asked for, with a command; a dump's is the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteSelection {
    /// Only the sites that changed since the section before.
    pub changed_only: bool,
    /// Ordered by allocated, not by live bytes.
    pub by_allocated: bool,
    /// After a collection of garbage.
    pub after_gc: bool,
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

/// What a section says of itself, without its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SectionHead {
    /// The metrics, in the order of each row's numbers.
    pub columns: Vec<Column>,
    /// The rows are of pairs of methods: a callee and, as its only caller, the method that called it.
    pub is_by_pair: bool,
    /// Since when they count.
    pub span: Span,
    /// How it was asked for.
    pub selection: SiteSelection,
    /// When it was written, if that is known.
    pub written: Option<Timestamp>,
}

/// Numbers by call trace and subject, in the file's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// What it says of itself.
    pub head: SectionHead,
    keys: Vec<Key>,
    /// Row by row.
    numbers: Vec<u64>,
}

/// A section with its numbers named, as HPROF's records have them.
#[derive(Clone, Debug, PartialEq)]
pub enum SectionView {
    /// CPU samples.
    CpuSamples(CpuSamples),
    /// Calls by call path.
    CallTimes(CallTimes),
    /// Calls by callee and caller.
    CallEdges(CallEdges),
    /// Allocation sites.
    Sites(Sites),
    /// Waits for locks.
    MonitorTimes(MonitorTimes),
    /// Metrics for which HPROF has no record.
    Other,
}

impl SectionHead {
    /// The head of a section of these columns, which adds up with others.
    pub fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self { columns: columns.into(), ..Self::default() }
    }

    /// The place of a metric among the columns.
    pub fn place(&self, metric: &Metric) -> Option<usize> {
        self.columns.iter().position(|column| column.metric == *metric)
    }

    /// The column of a metric.
    pub fn column(&self, metric: &Metric) -> Option<&Column> {
        self.place(metric).map(|place| &self.columns[place])
    }

    /// Whether it has one of these metrics.
    pub fn has(&self, metrics: &[Metric]) -> bool {
        metrics.iter().any(|metric| self.place(metric).is_some())
    }
}

impl Section {
    /// A section without rows.
    pub fn new(head: SectionHead) -> Self {
        Self { head, keys: Vec::new(), numbers: Vec::new() }
    }

    /// A section of these rows.
    pub fn with_rows<const N: usize>(
        head: SectionHead,
        rows: impl IntoIterator<Item = (Key, [u64; N])>,
    ) -> Self {
        let mut section = Self::new(head);
        rows.into_iter().for_each(|(key, numbers)| section.push(key, &numbers));
        section
    }

    /// A section of one metric by trace, with its total.
    pub fn of(metric: Metric, total: u64, rows: impl IntoIterator<Item = (TraceId, u64)>) -> Self {
        let head = SectionHead::new([Column::new(metric, total)]);
        Self::with_rows(head, rows.into_iter().map(|(trace, number)| (trace.into(), [number])))
    }

    /// The numbers, named.
    pub fn view(&self, profile: &Profile) -> SectionView {
        if let Some(edges) = CallEdges::of(profile, self) {
            SectionView::CallEdges(edges)
        } else if let Some(samples) = CpuSamples::of(self) {
            SectionView::CpuSamples(samples)
        } else if let Some(times) = CallTimes::of(self) {
            SectionView::CallTimes(times)
        } else if let Some(sites) = Sites::of(self) {
            SectionView::Sites(sites)
        } else if let Some(times) = MonitorTimes::of(self) {
            SectionView::MonitorTimes(times)
        } else {
            SectionView::Other
        }
    }

    /// Adds a row, with a number for each column.
    ///
    /// # Panics
    /// Where there are more or fewer numbers than columns.
    pub fn push(&mut self, key: Key, numbers: &[u64]) {
        assert_eq!(numbers.len(), self.head.columns.len(), "a number for each column");
        self.keys.push(key);
        self.numbers.extend_from_slice(numbers);
    }

    /// Gives a row another trace.
    ///
    /// # Panics
    /// Where there is no such row.
    pub fn set_trace(&mut self, row: usize, trace: TraceId) {
        self.keys[row].trace = trace;
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether a row has a subject.
    pub fn has_subjects(&self) -> bool {
        self.keys.iter().any(|key| key.subject != Subject::None)
    }

    /// The rows, in the file's order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = (Key, &[u64])> + Clone {
        let width = self.head.columns.len();
        let rows = self.keys.iter().enumerate();
        rows.map(move |(at, &key)| (key, &self.numbers[at * width..(at + 1) * width]))
    }

    /// The rows with their numbers of these metrics; 0 of those that the section has not.
    pub fn of_metrics<const N: usize>(
        &self,
        metrics: [Metric; N],
    ) -> impl ExactSizeIterator<Item = (Key, [u64; N])> {
        let places = metrics.map(|metric| self.head.place(&metric));
        self.rows().map(move |(key, numbers)| {
            (key, places.map(|place| place.map_or(0, |place| numbers[place])))
        })
    }

    /// The totals of these metrics; 0 of those that the section has not.
    pub fn totals<const N: usize>(&self, metrics: [Metric; N]) -> [u64; N] {
        metrics.map(|metric| self.head.column(&metric).map_or(0, |column| column.total))
    }

    /// The sum of the rows' numbers of a column.
    pub fn listed(&self, place: usize) -> u64 {
        self.rows().fold(0, |sum, (_, numbers)| sum.saturating_add(numbers[place]))
    }

    /// Keeps the rows that `keep` says, and their totals.
    pub fn retain(&mut self, mut keep: impl FnMut(Key) -> bool) {
        let width = self.head.columns.len();
        let mut kept = 0;
        for at in 0..self.keys.len() {
            if keep(self.keys[at]) {
                self.keys.swap(kept, at);
                self.numbers.copy_within(at * width..(at + 1) * width, kept * width);
                kept += 1;
            }
        }
        self.keys.truncate(kept);
        self.numbers.truncate(kept * width);
        for place in 0..width {
            self.head.columns[place].total = self.listed(place);
        }
    }

    /// Adds the rows of another section of the same columns, whose head counts.
    pub fn append(&mut self, more: Self) {
        self.head = more.head;
        self.keys.extend(more.keys);
        self.numbers.extend(more.numbers);
    }

    /// Changes the numbers of rows.
    pub fn change(&mut self, mut change: impl FnMut(Key, &mut [u64])) {
        let width = self.head.columns.len().max(1);
        for (key, numbers) in self.keys.iter().zip(self.numbers.chunks_mut(width)) {
            change(*key, numbers);
        }
    }
}

impl From<CpuSamples> for Section {
    fn from(samples: CpuSamples) -> Self {
        Self::with_rows(samples.head(), samples.keyed())
    }
}

impl From<CallTimes> for Section {
    fn from(times: CallTimes) -> Self {
        Self::with_rows(times.head(), times.keyed())
    }
}

impl From<MonitorTimes> for Section {
    fn from(times: MonitorTimes) -> Self {
        Self::with_rows(times.head(), times.keyed())
    }
}

impl From<Sites> for Section {
    fn from(sites: Sites) -> Self {
        Self::with_rows(sites.head(), sites.keyed())
    }
}

impl<T: Into<Section>> From<T> for Event {
    fn from(section: T) -> Self {
        Event::Section(section.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_kept_with_their_totals() {
        let columns = [Column::new(Metric::Calls, 100), Column::new(Metric::SelfTime, 900)];
        let mut section = Section::new(SectionHead::new(columns));
        for (trace, numbers) in [(1, [5, 50]), (2, [6, 60]), (3, [7, 70])] {
            section.push(TraceId::new(trace).into(), &numbers);
        }
        let times = [Metric::SelfTime, Metric::Samples];
        let shown = |section: &Section| {
            let rows = section.of_metrics(times.clone());
            rows.map(|(key, numbers)| (key.trace.index(), numbers)).collect::<Vec<_>>()
        };
        assert_eq!(shown(&section), [(1, [50, 0]), (2, [60, 0]), (3, [70, 0])]);
        assert_eq!(section.totals(times.clone()), [900, 0]);
        section.retain(|key| key.trace.index() != 2);
        section.change(|key, numbers| numbers[0] = if key.trace.index() == 1 { 0 } else { 7 });
        assert_eq!(shown(&section), [(1, [50, 0]), (3, [70, 0])]);
        assert_eq!(section.totals([Metric::Calls, Metric::SelfTime]), [12, 120]);
        assert_eq!(section.listed(0), 7);
    }
}
