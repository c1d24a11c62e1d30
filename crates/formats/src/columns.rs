//! The numbers of a profile as columns over its call paths, for the formats that have several
//! values of each sample.

use std::collections::BTreeMap;

use perk_profile::{
    Allocations, CallRow, ClassId, CpuSamples, CpuTimes, Event, KnownObjects, Measure, Profile,
    Site, Sites, TraceId, Unit, Value,
};

/// The class of allocations of which the file does not tell it.
const UNKNOWN_CLASS: &str = "[unknown]";

/// What a column counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    Samples,
    Calls,
    /// Of calls, in nanoseconds.
    SelfTime,
    AllocatedCount,
    AllocatedBytes,
    LiveCount,
    LiveBytes,
    Measure(String, Unit),
}

impl Quantity {
    /// Those that are no measures, in the order in which they are written.
    pub(crate) const OWN: [Quantity; 7] = [
        Quantity::Samples,
        Quantity::Calls,
        Quantity::SelfTime,
        Quantity::AllocatedCount,
        Quantity::AllocatedBytes,
        Quantity::LiveCount,
        Quantity::LiveBytes,
    ];

    /// Its name in files, which is pprof's where pprof has one.
    pub(crate) fn name(&self) -> &str {
        match self {
            Quantity::Samples => "samples",
            Quantity::Calls => "calls",
            Quantity::SelfTime => "time",
            Quantity::AllocatedCount => "alloc_objects",
            Quantity::AllocatedBytes => "alloc_space",
            Quantity::LiveCount => "inuse_objects",
            Quantity::LiveBytes => "inuse_space",
            Quantity::Measure(name, _) => name,
        }
    }

    /// The quantity of that name and unit that is no measure. Time is that of calls where the file
    /// has calls.
    pub(crate) fn own(name: &str, unit: Unit, has_calls: bool) -> Option<Self> {
        let mut own = Self::OWN.into_iter();
        own.find(|it| it.name() == name && it.unit() == unit)
            .filter(|it| has_calls || *it != Quantity::SelfTime)
    }

    pub(crate) fn unit(&self) -> Unit {
        match self {
            Quantity::SelfTime => Unit::Nanoseconds,
            Quantity::AllocatedBytes | Quantity::LiveBytes => Unit::Bytes,
            Quantity::Measure(_, unit) => *unit,
            _ => Unit::Count,
        }
    }

    /// Where the numbers are of objects, which number of a site's.
    pub(crate) fn of_objects(&self) -> Option<fn(&mut Allocations) -> &mut u64> {
        match self {
            Quantity::AllocatedCount => Some(|objects| &mut objects.allocated_count),
            Quantity::AllocatedBytes => Some(|objects| &mut objects.allocated_bytes),
            Quantity::LiveCount => Some(|objects| &mut objects.live_count),
            Quantity::LiveBytes => Some(|objects| &mut objects.live_bytes),
            _ => None,
        }
    }
}

/// A trace, and the class of its objects where they are what is counted.
pub(crate) type Place = (TraceId, Option<ClassId>);

/// The numbers of one quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) quantity: Quantity,
    /// Of all places, those that the file left out among them.
    pub(crate) total: u64,
    pub(crate) rows: Vec<(Place, u64)>,
}

impl Column {
    /// A column with nothing in it.
    pub(crate) fn new(quantity: Quantity) -> Self {
        Self { quantity, total: 0, rows: Vec::new() }
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
    let mut columns = Vec::new();
    for quantity in Quantity::OWN {
        let column = match (&quantity, quantity.of_objects()) {
            (_, Some(number)) => of_sites(profile, quantity, number),
            (Quantity::Samples, _) => of_value(profile, quantity, Value::Samples),
            (Quantity::Calls, _) => of_value(profile, quantity, Value::Calls),
            _ => of_value(profile, quantity, Value::Time),
        };
        columns.push(column);
    }
    let is_measure = |value: &Value| matches!(value, Value::Measure(_));
    for value in Value::all_of(profile).into_iter().filter(is_measure) {
        let quantity = Quantity::Measure(value.name(profile).to_owned(), value.unit(profile));
        columns.push(of_value(profile, quantity, value));
    }
    columns.retain(|column| column.total > 0);
    columns
}

fn of_value(profile: &Profile, quantity: Quantity, value: Value) -> Column {
    let weights = value.weights(profile);
    let rows = weights.rows.into_iter().map(|(trace, class, number)| ((trace, class), number));
    Column { quantity, total: weights.total, rows: rows.collect() }
}

fn of_sites(
    profile: &Profile,
    quantity: Quantity,
    number: fn(&mut Allocations) -> &mut u64,
) -> Column {
    let mut column = Column::new(quantity);
    let Some(sites) = profile.sites() else { return column };
    for site in &sites.rows {
        let place = (site.trace, Some(site.class));
        column.add(Some(place), *number(&mut site.objects.clone()));
    }
    column.merge();
    column.total = column.total.max(*number(&mut sites.total.clone()));
    column
}

/// What a reader knows of the numbers beside the columns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Intervals {
    /// The time that a sample stands for.
    pub(crate) sample_ns: Option<u64>,
    /// The allocated bytes that a sampled allocation stands for.
    pub(crate) sites_bytes: Option<u64>,
}

/// Puts `columns` into `profile`: samples, calls with their times, sites and measures.
pub(crate) fn into_profile(profile: &mut Profile, columns: Vec<Column>, intervals: Intervals) {
    let mut calls: BTreeMap<TraceId, CallRow> = BTreeMap::new();
    let mut total_ns = 0_u64;
    let mut objects: BTreeMap<(TraceId, ClassId), Allocations> = BTreeMap::new();
    let mut total_objects = Allocations::default();
    let mut measures = Vec::new();
    let is_of_live = |it: &Column| matches!(it.quantity, Quantity::LiveBytes | Quantity::LiveCount);
    let known = KnownObjects { live: columns.iter().any(is_of_live), ..KnownObjects::default() };
    for column in columns {
        let total = column.total;
        match (column.quantity.clone(), column.quantity.of_objects()) {
            (_, Some(number)) => {
                let sum = number(&mut total_objects);
                *sum = sum.saturating_add(total);
                for ((trace, class), count) in column.rows {
                    let class = class.unwrap_or_else(|| profile.symbols.class(UNKNOWN_CLASS));
                    let sum = number(objects.entry((trace, class)).or_default());
                    *sum = sum.saturating_add(count);
                }
            }
            (Quantity::Samples, _) => profile.events.push(Event::CpuSamples(CpuSamples {
                total,
                rows: column.by_trace(),
                interval_ns: intervals.sample_ns,
                ..CpuSamples::default()
            })),
            (Quantity::Measure(name, unit), _) => {
                measures.push(Measure { name, unit, total, rows: column.by_trace() });
            }
            (quantity, _) => {
                let is_time = quantity == Quantity::SelfTime;
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
        }
    }
    if !calls.is_empty() || total_ns > 0 {
        let mut times =
            CpuTimes { total_ns, rows: calls.into_values().collect(), ..CpuTimes::default() };
        times.rank(0.0);
        profile.events.push(Event::CpuTimes(times));
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
    profile.events.extend(measures.into_iter().map(Event::Measure));
}
