//! The numbers of a profile as columns over its call paths, for the formats that have several
//! values per sample.

use std::collections::BTreeMap;

use perk_profile::{
    Allocations, CallRow, CallTimes, HolderRow, Key, KnownObjects, LabelSetId, LockKind, Metric,
    MetricRows, MonitorRow, MonitorTimes, Profile, Section, SectionHead, Site, Sites, Subject,
    Symbols, Unit, Waits, add_up_rows, section,
};

/// The class of objects and locks whose class the file does not give.
const UNKNOWN_CLASS: &str = "[unknown]";

/// The name of CPU time.
pub(crate) const CPU: &str = "cpu";

/// The metrics of a file's columns, in the order in which they are written.
const ORDER: [Metric; 14] = [
    Metric::Samples,
    Metric::Calls,
    Metric::SelfTime,
    Metric::AllocatedObjects,
    Metric::AllocatedBytes,
    Metric::LiveObjects,
    Metric::LiveBytes,
    Metric::BlockedCount,
    Metric::BlockedTime,
    Metric::BlockingSamples,
    Metric::BlockingTime,
    Metric::WaitCount,
    Metric::WaitedTime,
    Metric::WallTime,
];

/// Returns the metric of a file's column, given the names of all its columns: `time` is the time of
/// calls if the file has calls, `delay` the time of locks if it has contentions.
pub(crate) fn metric(name: &str, unit: Unit, all: &[&str]) -> Option<Metric> {
    let mut own = ORDER.into_iter();
    let metric = own.find(|it| it.file_name() == name && it.unit() == unit)?;
    let needed = match metric {
        Metric::SelfTime => Metric::Calls,
        Metric::BlockedTime => Metric::BlockedCount,
        Metric::BlockingTime => Metric::BlockingSamples,
        Metric::WaitedTime => Metric::WaitCount,
        _ => return Some(metric),
    };
    all.contains(&needed.file_name()).then_some(metric)
}

/// The numbers of one metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) metric: Metric,
    /// The sum over all rows, including those that the file left out.
    pub(crate) total: u64,
    pub(crate) rows: Vec<(Key, u64)>,
}

impl Column {
    /// Creates an empty column.
    pub(crate) fn new(metric: Metric) -> Self {
        Self { metric, total: 0, rows: Vec::new() }
    }

    /// Adds a number. If the file left out its place, `key` is `None`.
    pub(crate) fn add(&mut self, key: Option<Key>, number: u64) {
        if number > 0 {
            self.total = self.total.saturating_add(number);
            self.rows.extend(key.map(|key| (key, number)));
        }
    }

    /// Adds up the rows of each trace and subject. Afterwards the rows are in order of trace.
    pub(crate) fn merge(&mut self) {
        add_up_rows(&mut self.rows);
    }

    /// Returns the part of the total that the rows do not show.
    pub(crate) fn unlisted(&self) -> u64 {
        let listed = self.rows.iter().map(|row| row.1).fold(0, u64::saturating_add);
        self.total.saturating_sub(listed)
    }

    /// Returns the numbers by trace and labels.
    fn without_subjects(self) -> Vec<(Key, u64)> {
        let rows = self.rows.into_iter();
        let without = |(key, number)| (Key { subject: Subject::None, ..key }, number);
        let mut rows: Vec<_> = rows.map(without).collect();
        add_up_rows(&mut rows);
        rows
    }
}

/// Returns all numbers that `profile` has by call path.
pub(crate) fn of_profile(profile: &Profile) -> Vec<Column> {
    let others = Metric::all_of(profile).into_iter().filter(|metric| !ORDER.contains(metric));
    let column = |metric: Metric| {
        let MetricRows { total, rows } = metric.rows(profile);
        let rows = rows.into_iter().filter(|row| row.1 > 0).collect();
        Column { metric, total, rows }
    };
    let columns = ORDER.into_iter().chain(others).map(column);
    columns.filter(|column| column.total > 0).collect()
}

/// The data that a reader has besides the columns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Intervals {
    /// The time that a sample represents.
    pub(crate) sample_ns: Option<u64>,
    /// The CPU time that a sample represents, where the file has times and no samples.
    pub(crate) cpu_ns: Option<u64>,
    /// The allocated bytes that a sampled allocation represents.
    pub(crate) sites_bytes: Option<u64>,
}

/// Puts `columns` into `profile`: samples, calls with their times, sites, locks and other metrics.
pub(crate) fn into_profile(profile: &mut Profile, columns: Vec<Column>, intervals: Intervals) {
    let is_in = |column: &&Column, of: &[Metric]| of.contains(&column.metric);
    let is_of_live = |column: &&Column| is_in(column, &[Metric::LiveBytes, Metric::LiveObjects]);
    let known =
        KnownObjects { live: columns.iter().any(|it| is_of_live(&it)), ..KnownObjects::default() };
    let calls = sums_of(profile, Metric::OF_CALLS, &columns, false);
    let objects = sums_of(profile, Metric::OF_OBJECTS, &columns, true);
    let waits = sums_of(profile, Metric::OF_LOCKS, &columns, true);
    let holders = sums_of(profile, Metric::OF_HOLDERS, &columns, true);
    let mut others = Vec::new();
    for column in columns {
        let period = match column.metric {
            Metric::Samples => intervals.sample_ns,
            Metric::Other(..) if column.metric == Metric::other(CPU, Unit::Nanoseconds) => {
                intervals.cpu_ns
            }
            Metric::Other(..) | Metric::WallTime => None,
            _ => continue,
        };
        let is_other = column.metric != Metric::Samples;
        let head =
            section::Column { period, ..section::Column::new(column.metric.clone(), column.total) };
        let rows = match column.metric {
            Metric::WallTime => column.rows,
            _ => column.without_subjects(),
        };
        let rows = rows.into_iter().map(|(key, number)| (key, [number]));
        let section = Section::with_rows(SectionHead::new([head]), rows).into();
        if is_other { others.push(section) } else { profile.events.push(section) }
    }
    if let Some(([_, total_ns, _], rows)) = calls {
        let row = |(key, [count, self_ns, total_ns]): (Key, [u64; 3])| CallRow {
            trace: key.trace,
            count,
            self_ns,
            total_ns,
        };
        let mut times = CallTimes {
            total_ns,
            rows: rows.iter().map(|(key, numbers)| row((*key, *numbers))).collect(),
            ..CallTimes::default()
        };
        times.rank(0.0);
        profile.events.push(labelled(times.into(), rows).into());
    }
    if let Some((total, rows)) = objects {
        let site = |(key, numbers): (Key, [u64; 4])| {
            let class = key.subject.class()?;
            Some(Site { class, trace: key.trace, objects: Allocations::of(numbers) })
        };
        let mut sites = Sites {
            total: Allocations::of(total),
            rows: rows.iter().filter_map(|(key, numbers)| site((*key, *numbers))).collect(),
            sample_interval_bytes: intervals.sites_bytes,
            known,
            ..Sites::default()
        };
        sites.rank(0.0);
        profile.events.push(labelled(sites.into(), rows).into());
    }
    if let Some(([_, total_ns, ..], rows)) = waits {
        let symbols = &profile.symbols;
        let row = |(key, numbers): (Key, [u64; 4])| {
            let class = key.subject.class()?;
            let kind = LockKind::of_class(symbols.class_name(class));
            Some(MonitorRow { trace: key.trace, class, kind, waits: Waits::of(numbers) })
        };
        let listed = rows.iter().filter_map(|(key, numbers)| row((*key, *numbers))).collect();
        let mut times = MonitorTimes { total_ns, rows: listed, written: None };
        times.rank(0.0);
        let rows = of_locks(symbols, rows);
        profile.events.push(labelled(times.into(), rows).into());
    }
    if let Some((_, rows)) = holders {
        let symbols = &profile.symbols;
        let row = |(key, [blocking_ns, sample_count]): (Key, [u64; 2])| {
            let class = key.subject.class()?;
            let kind = LockKind::of_class(symbols.class_name(class));
            Some(HolderRow { trace: key.trace, class, kind, blocking_ns, sample_count })
        };
        let listed: Vec<_> =
            rows.iter().filter_map(|(key, numbers)| row((*key, *numbers))).collect();
        let rows = of_locks(symbols, rows);
        profile.events.push(labelled(HolderRow::section(&listed, None), rows).into());
    }
    profile.events.extend(others);
}

/// The section of these rows where they have labels, for which HPROF's rows have no place.
fn labelled<const N: usize>(section: Section, rows: BTreeMap<Key, [u64; N]>) -> Section {
    if rows.keys().all(|key| key.labels == LabelSetId::EMPTY) {
        return section;
    }
    Section::with_rows(section.head, rows)
}

/// The rows of objects as those of locks of their classes.
fn of_locks<const N: usize>(
    symbols: &Symbols,
    rows: BTreeMap<Key, [u64; N]>,
) -> BTreeMap<Key, [u64; N]> {
    let lock = |(key, numbers): (Key, [u64; N])| {
        let class = key.subject.class()?;
        let kind = LockKind::of_class(symbols.class_name(class));
        Some((Key { subject: Subject::Lock(class, kind), ..key }, numbers))
    };
    rows.into_iter().filter_map(lock).collect()
}

/// Totals, and the numbers of each row.
type Sums<const N: usize> = ([u64; N], BTreeMap<Key, [u64; N]>);

/// Returns the totals and the rows of the columns of these metrics; `None` if there are none. If
/// the metrics have subjects, a row without one gets the unknown class.
fn sums_of<const N: usize>(
    profile: &mut Profile,
    metrics: [Metric; N],
    columns: &[Column],
    have_subjects: bool,
) -> Option<Sums<N>> {
    let mut totals = [0_u64; N];
    let mut rows: BTreeMap<Key, [u64; N]> = BTreeMap::new();
    for column in columns {
        let Some(place) = metrics.iter().position(|metric| *metric == column.metric) else {
            continue;
        };
        totals[place] = totals[place].saturating_add(column.total);
        for &(Key { trace, subject, labels }, number) in &column.rows {
            let subject = match (have_subjects, subject) {
                (false, _) => Subject::None,
                (true, Subject::None) => Subject::Class(profile.symbols.class(UNKNOWN_CLASS)),
                (true, subject) => subject,
            };
            let sum = &mut rows.entry(Key { trace, subject, labels }).or_insert([0; N])[place];
            *sum = sum.saturating_add(number);
        }
    }
    (!rows.is_empty() || totals != [0; N]).then_some((totals, rows))
}
