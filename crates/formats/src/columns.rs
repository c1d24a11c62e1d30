//! The numbers of a profile as columns over its call paths, for the formats that have several
//! values of each sample.

use std::collections::BTreeMap;

use perk_profile::{
    Allocations, CallRow, CallTimes, ClassId, CpuSamples, Event, KnownObjects, LockKind, Metric,
    MetricRows, MonitorRow, MonitorTimes, OtherMetric, Profile, Site, Sites, TraceId, Unit, Waits,
};

/// The class of objects and locks that the file does not name.
const UNKNOWN_CLASS: &str = "[unknown]";

/// The metrics of a file's columns, in the order in which they are written.
const ORDER: [Metric; 11] = [
    Metric::Samples,
    Metric::Calls,
    Metric::SelfTime,
    Metric::AllocatedObjects,
    Metric::AllocatedBytes,
    Metric::LiveObjects,
    Metric::LiveBytes,
    Metric::BlockedCount,
    Metric::BlockedTime,
    Metric::WaitCount,
    Metric::WaitedTime,
];

/// The metric of a file's column, by the names of all its columns: `time` is that of calls where the
/// file has calls, `delay` that of locks where it has contentions.
pub(crate) fn metric(name: &str, unit: Unit, all: &[&str]) -> Option<Metric> {
    let mut own = ORDER.into_iter();
    let metric = own.find(|it| it.file_name() == name && it.unit() == unit)?;
    let needed = match metric {
        Metric::SelfTime => Metric::Calls,
        Metric::BlockedTime => Metric::BlockedCount,
        Metric::WaitedTime => Metric::WaitCount,
        _ => return Some(metric),
    };
    all.contains(&needed.file_name()).then_some(metric)
}

/// A trace, and the class of the objects or of the lock where the metric has one.
pub(crate) type Place = (TraceId, Option<ClassId>);

/// The numbers of one metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) metric: Metric,
    /// Of all places, those that the file left out among them.
    pub(crate) total: u64,
    pub(crate) rows: Vec<(Place, u64)>,
}

impl Column {
    /// A column with nothing in it.
    pub(crate) fn new(metric: Metric) -> Self {
        Self { metric, total: 0, rows: Vec::new() }
    }

    /// Adds a number, of no place where the file left that out.
    pub(crate) fn add(&mut self, place: Option<Place>, number: u64) {
        if number > 0 {
            self.total = self.total.saturating_add(number);
            self.rows.extend(place.map(|place| (place, number)));
        }
    }

    /// Adds up the rows of each place; they are in order of trace then.
    pub(crate) fn merge(&mut self) {
        self.rows = sums(std::mem::take(&mut self.rows));
    }

    /// What the rows do not show of the total.
    pub(crate) fn unlisted(&self) -> u64 {
        let listed = self.rows.iter().map(|row| row.1).fold(0, u64::saturating_add);
        self.total.saturating_sub(listed)
    }

    fn by_trace(self) -> Vec<(TraceId, u64)> {
        sums(self.rows.into_iter().map(|((trace, _), number)| (trace, number)).collect())
    }
}

/// The sums of the numbers by their keys, in order of these.
fn sums<K: Copy + Ord>(mut rows: Vec<(K, u64)>) -> Vec<(K, u64)> {
    // Most readers add them in order.
    rows.sort_by_key(|row| row.0);
    rows.dedup_by(|next, sum| {
        let is_same = next.0 == sum.0;
        if is_same {
            sum.1 = sum.1.saturating_add(next.1);
        }
        is_same
    });
    rows
}

/// All numbers that `profile` has by call path.
pub(crate) fn of_profile(profile: &Profile) -> Vec<Column> {
    let others = Metric::all_of(profile).into_iter().filter(Metric::is_other);
    let column = |metric: Metric| {
        let MetricRows { total, rows } = metric.rows(profile);
        let rows = rows.into_iter().filter(|row| row.2 > 0);
        let rows = rows.map(|(trace, class, number)| ((trace, class), number)).collect();
        Column { metric, total, rows }
    };
    let columns = ORDER.into_iter().chain(others).map(column);
    columns.filter(|column| column.total > 0).collect()
}

/// What a reader knows of the numbers beside the columns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Intervals {
    /// The time that a sample stands for.
    pub(crate) sample_ns: Option<u64>,
    /// The allocated bytes that a sampled allocation stands for.
    pub(crate) sites_bytes: Option<u64>,
}

/// Puts `columns` into `profile`: samples, calls with their times, sites, locks and other metrics.
pub(crate) fn into_profile(profile: &mut Profile, columns: Vec<Column>, intervals: Intervals) {
    let mut calls: BTreeMap<TraceId, CallRow> = BTreeMap::new();
    let mut total_ns = 0_u64;
    let mut objects: BTreeMap<(TraceId, ClassId), Allocations> = BTreeMap::new();
    let mut total_objects = Allocations::default();
    let mut waits: BTreeMap<(TraceId, ClassId), Waits> = BTreeMap::new();
    let mut blocked_ns = 0_u64;
    let mut others = Vec::new();
    let is_of_live = |it: &Column| matches!(it.metric, Metric::LiveBytes | Metric::LiveObjects);
    let known = KnownObjects { live: columns.iter().any(is_of_live), ..KnownObjects::default() };
    for column in columns {
        let total = column.total;
        match column.metric.clone() {
            Metric::Samples => profile.events.push(Event::CpuSamples(CpuSamples {
                total,
                rows: column.by_trace(),
                interval_ns: intervals.sample_ns,
                ..CpuSamples::default()
            })),
            Metric::Other(name, unit) => {
                let name = name.to_string();
                others.push(OtherMetric { name, unit, total, rows: column.by_trace() });
            }
            metric @ (Metric::SelfTime | Metric::Calls) => {
                let is_time = metric == Metric::SelfTime;
                if is_time {
                    total_ns = total_ns.saturating_add(total);
                }
                for (trace, number) in column.by_trace() {
                    let empty = CallRow { trace, count: 0, self_ns: 0, total_ns: 0 };
                    let row = calls.entry(trace).or_insert(empty);
                    let sum = if is_time { &mut row.self_ns } else { &mut row.count };
                    *sum = sum.saturating_add(number);
                }
            }
            metric => {
                if let Some(number) = metric.of_objects() {
                    let sum = number(&mut total_objects);
                    *sum = sum.saturating_add(total);
                    add_by_class(profile, &mut objects, column.rows, number);
                } else if let Some(number) = metric.of_waits() {
                    if metric == Metric::BlockedTime {
                        blocked_ns = blocked_ns.saturating_add(total);
                    }
                    add_by_class(profile, &mut waits, column.rows, number);
                }
            }
        }
    }
    if !calls.is_empty() || total_ns > 0 {
        let mut times =
            CallTimes { total_ns, rows: calls.into_values().collect(), ..CallTimes::default() };
        times.rank(0.0);
        profile.events.push(Event::CallTimes(times));
    }
    if total_objects != Allocations::default() {
        let site = |((trace, class), objects)| Site { class, trace, objects };
        let mut sites = Sites {
            total: total_objects,
            rows: objects.into_iter().map(site).collect(),
            sample_interval_bytes: intervals.sites_bytes,
            known,
            ..Sites::default()
        };
        sites.rank(0.0);
        profile.events.push(Event::Sites(sites));
    }
    if !waits.is_empty() || blocked_ns > 0 {
        let symbols = &profile.symbols;
        let row = |((trace, class), waits)| {
            let kind = LockKind::of_class(symbols.class_name(class));
            MonitorRow { trace, class, kind, waits }
        };
        let rows = waits.into_iter().map(row).collect();
        let mut times = MonitorTimes { total_ns: blocked_ns, rows, written: None };
        times.rank(0.0);
        profile.events.push(Event::MonitorTimes(times));
    }
    profile.events.extend(others.into_iter().map(Event::Other));
}

/// Adds the rows of a column to the sums by trace and class.
fn add_by_class<S: Default>(
    profile: &mut Profile,
    sums: &mut BTreeMap<(TraceId, ClassId), S>,
    rows: Vec<(Place, u64)>,
    number: fn(&mut S) -> &mut u64,
) {
    for ((trace, class), count) in rows {
        let class = class.unwrap_or_else(|| profile.symbols.class(UNKNOWN_CLASS));
        let sum = number(sums.entry((trace, class)).or_default());
        *sum = sum.saturating_add(count);
    }
}
