//! Sections: the numbers of a profile. A row is a call trace, with a subject if the numbers have
//! one. A column is a metric.

use std::cmp::Reverse;

use crate::{
    ClassId, KeyedMap, LabelSetId, LockKind, Metric, Shared, StrId, Symbols, Timestamp, TraceId,
    WallState,
};

/// The subject of the numbers of a row, besides the call trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// No subject: the trace identifies the row.
    #[default]
    None,
    /// Objects of a class.
    Class(ClassId),
    /// Locks of a class.
    Lock(ClassId, LockKind),
    /// A field of the objects of a class, by its name.
    Field(ClassId, StrId),
    /// Threads in a state.
    State(WallState),
}

impl Subject {
    /// The class of the objects or of the lock.
    pub fn class(self) -> Option<ClassId> {
        match self {
            Subject::None | Subject::State(_) => None,
            Subject::Class(class) | Subject::Lock(class, _) | Subject::Field(class, _) => {
                Some(class)
            }
        }
    }

    /// The subject with the ids of another profile.
    pub(crate) fn renamed(
        self,
        class: impl FnOnce(ClassId) -> ClassId,
        field: impl FnOnce(StrId) -> StrId,
    ) -> Self {
        match self {
            Subject::Class(id) => Subject::Class(class(id)),
            Subject::Lock(id, kind) => Subject::Lock(class(id), kind),
            Subject::Field(id, name) => Subject::Field(class(id), field(name)),
            other @ (Subject::None | Subject::State(_)) => other,
        }
    }

    /// Returns the subject without the kind of lock. This merges the locks of a class where their
    /// kinds are not distinguished.
    pub fn merged(self) -> Self {
        match self {
            Subject::Lock(class, _) => Subject::Class(class),
            other => other,
        }
    }

    /// The name under which the subject is listed below its call path.
    pub fn label(self, symbols: &Symbols) -> Option<String> {
        if let Subject::State(state) = self {
            return Some(state.label().to_owned());
        }
        let class = symbols.class_name(self.class()?);
        Some(match self {
            Subject::Field(_, field) => format!("{class}.{}", symbols.strings.get(field)),
            _ => class.to_owned(),
        })
    }
}

/// The key of a row of a section: the origin of its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The call trace.
    pub trace: TraceId,
    /// The subject of the numbers.
    pub subject: Subject,
    /// The labels of the numbers.
    pub labels: LabelSetId,
}

impl Key {
    /// The key of a trace and a subject, without labels.
    pub fn new(trace: TraceId, subject: Subject) -> Self {
        Self { trace, subject, labels: LabelSetId::EMPTY }
    }
}

impl From<TraceId> for Key {
    fn from(trace: TraceId) -> Self {
        Self::new(trace, Subject::None)
    }
}

/// The numbers of one metric in a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The metric.
    pub metric: Metric,
    /// The total of all rows, including those that the file left out.
    pub total: u64,
    /// Whether the numbers are known; otherwise they are 0.
    pub is_known: bool,
    /// Whether rows are left out whose numbers are not known: the total is that of the other rows.
    pub is_partial: bool,
    /// The sampling period, in nanoseconds (CPU samples) or bytes (allocations), if the numbers are
    /// of samples or estimates from them. `None` if every event was counted, or if the period is
    /// not known.
    pub period: Option<u64>,
}

impl Column {
    /// A column of exact numbers, with all rows present.
    pub fn new(metric: Metric, total: u64) -> Self {
        Self { metric, total, is_known: true, is_partial: false, period: None }
    }
}

/// The time from which the numbers of a section count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Span {
    /// Since the previous section of the same metrics: the sections add up.
    #[default]
    SinceLast,
    /// As [`Span::SinceLast`], but the next section counts the same events again, because a command
    /// requested this one.
    Interim,
    /// Since the program's start: the last such section has all numbers.
    SinceStart,
}

/// The options with which a command requested a section of allocation sites. The section of a dump
/// has the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteSelection {
    /// Only the sites that changed since the previous section.
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

    /// Reads the flags of HPROF's ALLOC SITES, of the record and of the command.
    pub fn from_flags(flags: u16) -> Self {
        Self {
            changed_only: flags & Self::CHANGED_ONLY != 0,
            by_allocated: flags & Self::BY_ALLOCATED != 0,
            after_gc: flags & Self::AFTER_GC != 0,
        }
    }

    /// Returns the flags of ALLOC SITES.
    pub fn flags(self) -> u16 {
        let flag = |is_set: bool, flag: u16| if is_set { flag } else { 0 };
        flag(self.changed_only, Self::CHANGED_ONLY)
            | flag(self.by_allocated, Self::BY_ALLOCATED)
            | flag(self.after_gc, Self::AFTER_GC)
    }
}

/// The description of a section, without its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SectionHead {
    /// The metrics, in the order of each row's numbers.
    pub columns: Vec<Column>,
    /// The rows are of pairs of methods: a callee and, as its only caller, the method that called it.
    pub is_by_pair: bool,
    /// The time from which the numbers count.
    pub span: Span,
    /// The options of the request.
    pub selection: SiteSelection,
    /// The time at which the section was written, if it is known.
    pub written: Option<Timestamp>,
}

/// Numbers by call trace and subject, in the file's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// The description of the section.
    pub head: SectionHead,
    traces: Shared<Vec<TraceId>>,
    /// One per row; empty if no row has a subject.
    subjects: Shared<Vec<Subject>>,
    /// One per row; empty if no row has labels.
    labels: Shared<Vec<LabelSetId>>,
    /// The numbers of all rows, row by row.
    numbers: Shared<Vec<u64>>,
}

impl SectionHead {
    /// Makes the head of a section with these columns, which adds up with other sections.
    pub fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self { columns: columns.into(), ..Self::default() }
    }

    /// The index of a metric among the columns.
    pub fn place(&self, metric: &Metric) -> Option<usize> {
        self.columns.iter().position(|column| column.metric == *metric)
    }

    /// The column of a metric.
    pub fn column(&self, metric: &Metric) -> Option<&Column> {
        self.place(metric).map(|place| &self.columns[place])
    }

    /// Whether the section has one of these metrics.
    pub fn has(&self, metrics: &[Metric]) -> bool {
        metrics.iter().any(|metric| self.place(metric).is_some())
    }
}

impl Section {
    /// Makes a section without rows.
    pub fn new(head: SectionHead) -> Self {
        let (traces, subjects, labels, numbers) = Default::default();
        Self { head, traces, subjects, labels, numbers }
    }

    /// Makes a section of these rows.
    pub fn with_rows<const N: usize>(
        head: SectionHead,
        rows: impl IntoIterator<Item = (Key, [u64; N])>,
    ) -> Self {
        let rows = rows.into_iter();
        let mut section = Self::new(head);
        section.traces.reserve(rows.size_hint().0);
        section.numbers.reserve(rows.size_hint().0.saturating_mul(N));
        rows.for_each(|(key, numbers)| section.push(key, &numbers));
        section
    }

    /// Makes a section of one metric by trace, with its total.
    pub fn of(metric: Metric, total: u64, rows: impl IntoIterator<Item = (TraceId, u64)>) -> Self {
        let head = SectionHead::new([Column::new(metric, total)]);
        Self::with_rows(head, rows.into_iter().map(|(trace, number)| (trace.into(), [number])))
    }

    /// Adds a row, with a number for each column.
    ///
    /// # Panics
    /// If there are more or fewer numbers than columns.
    pub fn push(&mut self, key: Key, numbers: &[u64]) {
        assert_eq!(numbers.len(), self.head.columns.len(), "a number for each column");
        self.set_subject(self.traces.len(), key.subject);
        self.set_labels(self.traces.len(), key.labels);
        self.traces.push(key.trace);
        // Few: a call that copies them costs more.
        let all = &mut *self.numbers;
        numbers.iter().for_each(|&number| all.push(number));
    }

    /// Sets the subject of the row after the last one, at `row`.
    fn set_subject(&mut self, row: usize, subject: Subject) {
        if subject != Subject::None || !self.subjects.is_empty() {
            self.subjects.resize(row, Subject::None);
            self.subjects.push(subject);
        }
    }

    /// Sets the labels of the row after the last one, at `row`.
    fn set_labels(&mut self, row: usize, labels: LabelSetId) {
        if labels != LabelSetId::EMPTY || !self.labels.is_empty() {
            self.labels.resize(row, LabelSetId::EMPTY);
            self.labels.push(labels);
        }
    }

    /// Replaces the labels of all rows.
    pub(crate) fn relabel(&mut self, mut new: impl FnMut(LabelSetId) -> LabelSetId) {
        self.labels.resize(self.traces.len(), LabelSetId::EMPTY);
        self.labels.iter_mut().for_each(|labels| *labels = new(*labels));
    }

    fn key(&self, row: usize) -> Key {
        let subject = self.subjects.get(row).copied().unwrap_or_default();
        let labels = self.labels.get(row).copied().unwrap_or_default();
        Key { trace: self.traces[row], subject, labels }
    }

    /// Assigns another trace to a row.
    ///
    /// # Panics
    /// If the row does not exist.
    pub fn set_trace(&mut self, row: usize, trace: TraceId) {
        self.traces[row] = trace;
    }

    /// The memory of the rows.
    pub(crate) fn bytes(&self) -> usize {
        let Self { traces, subjects, labels, numbers, .. } = self;
        let keys = size_of_val(&***traces) + size_of_val(&***subjects) + size_of_val(&***labels);
        keys + size_of_val(&***numbers)
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.traces.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.traces.is_empty()
    }

    /// Whether a row has a subject.
    pub fn has_subjects(&self) -> bool {
        !self.subjects.is_empty()
    }

    /// Whether a row has labels.
    pub fn has_labels(&self) -> bool {
        !self.labels.is_empty()
    }

    /// The rows, in the file's order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = (Key, &[u64])> + Clone {
        let numbers = self.numbers.chunks_exact(self.head.columns.len().max(1));
        (0..self.traces.len()).zip(numbers).map(|(row, numbers)| (self.key(row), numbers))
    }

    /// The rows with their numbers of these metrics; 0 for metrics that the section does not have.
    pub fn of_metrics<const N: usize>(
        &self,
        metrics: [Metric; N],
    ) -> impl ExactSizeIterator<Item = (Key, [u64; N])> {
        let places = metrics.map(|metric| self.head.place(&metric));
        self.rows().map(move |(key, numbers)| {
            (key, places.map(|place| place.map_or(0, |place| numbers[place])))
        })
    }

    /// The totals of these metrics; 0 for metrics that the section does not have.
    pub fn totals<const N: usize>(&self, metrics: [Metric; N]) -> [u64; N] {
        metrics.map(|metric| self.head.column(&metric).map_or(0, |column| column.total))
    }

    /// The section with the rows that have most first, as HPROF's tables are ordered: by samples, self time, live bytes (or
    /// allocated ones, where those are asked for or no live ones are known), or time blocked. Equal rows stay in their
    /// order, as do all rows of other numbers.
    #[must_use]
    pub fn ranked(&self) -> Self {
        let by_allocated =
            self.head.selection.by_allocated || self.totals([Metric::LiveBytes]) == [0];
        let bytes = if by_allocated { Metric::AllocatedBytes } else { Metric::LiveBytes };
        let orders = [Metric::Samples, Metric::SelfTime, bytes, Metric::BlockedTime];
        let Some(place) = orders.iter().find_map(|metric| self.head.place(metric)) else {
            return self.clone();
        };
        let mut rows: Vec<_> = self.rows().collect();
        rows.sort_by_key(|row| Reverse(row.1[place]));
        let mut ranked = Self::new(self.head.clone());
        rows.into_iter().for_each(|(key, numbers)| ranked.push(key, numbers));
        ranked
    }

    /// The traces of the rows.
    pub fn traces(&self) -> impl ExactSizeIterator<Item = TraceId> + Clone {
        self.traces.iter().copied()
    }

    /// The numbers of a column, row by row.
    pub fn numbers(&self, place: usize) -> impl ExactSizeIterator<Item = u64> + Clone {
        let rows = self.numbers.chunks_exact(self.head.columns.len().max(1));
        rows.map(move |numbers| numbers[place])
    }

    /// The sum of the rows' numbers of a column.
    pub fn listed(&self, place: usize) -> u64 {
        self.numbers(place).fold(0, u64::saturating_add)
    }

    /// Keeps the rows for which `keep` returns true, and sets the totals to their sums.
    pub fn retain(&mut self, mut keep: impl FnMut(Key) -> bool) {
        let is_kept: Vec<bool> = (0..self.len()).map(|row| keep(self.key(row))).collect();
        let count = is_kept.iter().filter(|&&it| it).count();
        // Others may share the rows: those that are kept are copied.
        if count < self.len() {
            let width = self.head.columns.len();
            let mut numbers = Vec::with_capacity(count * width);
            for (row, _) in is_kept.iter().enumerate().filter(|it| *it.1) {
                numbers.extend_from_slice(&self.numbers[row * width..(row + 1) * width]);
            }
            self.numbers = numbers.into();
            self.traces = of_kept(&self.traces, &is_kept, count).into();
            self.subjects = of_kept(&self.subjects, &is_kept, count).into();
            self.labels = of_kept(&self.labels, &is_kept, count).into();
        }
        for place in 0..self.head.columns.len() {
            self.head.columns[place].total = self.listed(place);
        }
    }

    /// Adds the rows of another section of the same columns, and takes over its head.
    pub fn append(&mut self, more: Self) {
        let (len, sum) = (self.len(), self.len() + more.len());
        if self.has_subjects() || more.has_subjects() {
            self.subjects.resize(len, Subject::None);
            self.subjects.extend_from_slice(&more.subjects);
            self.subjects.resize(sum, Subject::None);
        }
        if self.has_labels() || more.has_labels() {
            self.labels.resize(len, LabelSetId::EMPTY);
            self.labels.extend_from_slice(&more.labels);
            self.labels.resize(sum, LabelSetId::EMPTY);
        }
        self.traces.extend_from_slice(&more.traces);
        self.numbers.extend_from_slice(&more.numbers);
        self.head = more.head;
    }

    /// The numbers that are new since an earlier section of the same columns, whose numbers count from the same
    /// start. Rows without any are left out.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before: KeyedMap<Key, &[u64]> = earlier.rows().collect();
        let head = SectionHead { span: Span::SinceLast, ..self.head.clone() };
        let mut new = Self::new(head);
        let mut numbers = Vec::new();
        for (key, now) in self.rows() {
            let then = before.get(&key).copied().unwrap_or(&[]);
            numbers.clear();
            let zero = std::iter::repeat(&0);
            numbers
                .extend(now.iter().zip(then.iter().chain(zero)).map(|(a, b)| a.saturating_sub(*b)));
            if numbers.iter().any(|number| *number > 0) {
                new.push(key, &numbers);
            }
        }
        for (column, then) in new.head.columns.iter_mut().zip(&earlier.head.columns) {
            column.total = column.total.saturating_sub(then.total);
        }
        new
    }

    /// A copy without labels. Rows that differ only in their labels add up.
    pub(crate) fn without_labels(&self) -> Self {
        Self { labels: Shared::default(), ..self.clone() }.summed()
    }

    /// Adds up the rows of one trace and subject, and orders the rows by them.
    pub(crate) fn summed(self) -> Self {
        // Files of one dump have each row once, in order: there can be millions.
        if (1..self.len()).all(|row| self.key(row - 1) < self.key(row)) {
            return self;
        }
        let mut order: Vec<_> = (0..self.len()).collect();
        order.sort_unstable_by_key(|&row| self.key(row));
        let mut sum = Self::new(self.head.clone());
        let width = self.head.columns.len();
        for row in order {
            let numbers = &self.numbers[row * width..(row + 1) * width];
            match sum.len().checked_sub(1).filter(|&last| sum.key(last) == self.key(row)) {
                Some(last) => {
                    let sums = sum.numbers[last * width..].iter_mut();
                    sums.zip(numbers).for_each(|(sum, number)| *sum = sum.saturating_add(*number));
                }
                None => sum.push(self.key(row), numbers),
            }
        }
        sum
    }

    /// Changes the numbers of rows.
    pub fn change(&mut self, mut change: impl FnMut(Key, &mut [u64])) {
        let width = self.head.columns.len();
        for row in 0..self.traces.len() {
            let key = self.key(row);
            change(key, &mut self.numbers[row * width..(row + 1) * width]);
        }
    }
}

/// The `count` values of the rows that are kept; none where rows have no values.
fn of_kept<T: Copy>(values: &[T], is_kept: &[bool], count: usize) -> Vec<T> {
    let mut kept = Vec::with_capacity(if values.is_empty() { 0 } else { count });
    kept.extend(values.iter().zip(is_kept).filter(|it| *it.1).map(|it| *it.0));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, Unit};

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

    #[test]
    fn tables_have_most_first() {
        let traces = |head: SectionHead, rows: [[u64; 2]; 3]| {
            let rows = rows.into_iter().enumerate();
            let rows = rows.map(|(trace, numbers)| (TraceId::new(trace).into(), numbers));
            let ranked = Section::with_rows(head, rows).ranked();
            ranked.traces().map(TraceId::index).collect::<Vec<_>>()
        };
        let head = |metrics: [Metric; 2], totals: [u64; 2]| {
            SectionHead::new([0, 1].map(|at| Column::new(metrics[at].clone(), totals[at])))
        };
        let rows = [[1, 5], [3, 4], [3, 6]];
        let calls = [Metric::Calls, Metric::SelfTime];
        assert_eq!(traces(head(calls, [7, 15]), rows), [2, 0, 1]);
        let bytes = [Metric::LiveBytes, Metric::AllocatedBytes];
        assert_eq!(traces(head(bytes.clone(), [7, 15]), rows), [1, 2, 0]);
        assert_eq!(traces(head(bytes, [0, 15]), rows), [2, 0, 1]);
        let other = [Metric::other("a", Unit::Count), Metric::other("b", Unit::Count)];
        assert_eq!(traces(head(other, [7, 15]), rows), [0, 1, 2]);
    }

    #[test]
    fn only_rows_that_repeat_are_added_up() {
        let section = |traces: &[usize]| {
            let row = |&trace: &usize| (TraceId::new(trace).into(), [1]);
            let columns = [Column::new(Metric::Samples, traces.len() as u64)];
            Section::with_rows(SectionHead::new(columns), traces.iter().map(row))
        };
        let profile = Profile::default();
        let rows = |section: &Section| {
            let traces = section.traces.iter().map(|trace| trace.index());
            traces.zip(section.numbers.iter().copied()).collect::<Vec<_>>()
        };
        let sum = section(&[3, 1, 3, 2]).added_up(&profile);
        assert_eq!(rows(&sum), [(1, 1), (2, 1), (3, 2)]);
        // Rows in order are not even copied.
        let ordered = section(&[1, 2, 3]);
        let numbers = ordered.numbers.as_ptr();
        let sum = ordered.added_up(&profile);
        assert_eq!(rows(&sum), [(1, 1), (2, 1), (3, 1)]);
        assert_eq!(sum.numbers.as_ptr(), numbers);
    }

    #[test]
    fn subjects_stay_with_their_rows() {
        let class = |index| Subject::Class(ClassId::new(index));
        let row = |trace, subject| (Key::new(TraceId::new(trace), subject), [1]);
        let section = |rows: [(Key, [u64; 1]); 2]| {
            Section::with_rows(SectionHead::new([Column::new(Metric::LiveBytes, 2)]), rows)
        };
        let rows = [row(1, Subject::None), row(2, class(2))];
        let mut begun = section(rows);
        let more = [row(3, Subject::None), row(4, Subject::None)];
        assert!(begun.has_subjects() && !section(more).has_subjects());
        begun.append(section(more));
        begun.append(section([row(5, class(5)), row(6, Subject::None)]));
        let mut late = section(more);
        late.append(section(rows));
        begun.retain(|key| key.trace.index() != 1 && key.trace.index() != 3);
        let subjects = |section: &Section| {
            let rows = section.rows();
            rows.map(|(key, _)| (key.trace.index(), key.subject)).collect::<Vec<_>>()
        };
        let none = Subject::None;
        assert_eq!(subjects(&begun), [(2, class(2)), (4, none), (5, class(5)), (6, none)]);
        assert_eq!(subjects(&late), [(3, none), (4, none), (1, none), (2, class(2))]);
    }
}
