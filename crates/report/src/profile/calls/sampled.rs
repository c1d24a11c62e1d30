//! Counted calls with the time that CPU samples show.

use std::cmp::Reverse;

use perk_analysis::MethodTree;
use perk_analysis::columns::Columns;
use perk_analysis::diff::sample_margin;
use perk_profile::units::{duration, plural};
use perk_profile::{KeyedMap, MethodId, Metric, Profile};
use perk_render::{Cell, Column, LazyTable};

use super::{Calls, average};

/// The time of methods by CPU samples.
#[derive(Debug)]
pub(super) struct SampledTime {
    /// The CPU time that a sample represents.
    interval_ns: u64,
    /// The number of samples.
    count: u64,
    /// The samples of each method: with it on top of the stack, and anywhere.
    methods: KeyedMap<MethodId, [u64; 2]>,
}

impl SampledTime {
    /// The samples of a profile; `None` where it has none, or their time is not known.
    pub(super) fn new(profile: &Profile, tree: &MethodTree) -> Option<Self> {
        let interval_ns = profile.sample_interval_ns()?;
        let count = Metric::Samples.total(profile);
        let columns = Columns::new(profile, tree, &Metric::Samples, None);
        let mut methods = KeyedMap::default();
        let rows = columns.methods(tree).into_iter();
        methods.extend(rows.map(|row| (row.method, [row.own, row.total])));
        (count > 0).then_some(Self { interval_ns, count, methods })
    }

    /// The time of a method, in words; `None` where no sample shows it.
    pub(super) fn of(&self, method: MethodId) -> Option<String> {
        let [own, total] = *self.methods.get(&method)?;
        let with_margin = |count| {
            let [time, margin] = [count, sample_margin(count)]
                .map(|it| duration(it.saturating_mul(self.interval_ns)));
            format!("{time} ± {margin}")
        };
        Some(format!("by samples self {}, total {}", with_margin(own), with_margin(total)))
    }

    /// The CPU time of all samples.
    pub(super) fn total_ns(&self) -> u64 {
        self.count.saturating_mul(self.interval_ns)
    }
}

/// A method with counted calls and sampled time.
#[derive(Clone, Copy, Debug)]
struct CountedMethod {
    method: MethodId,
    /// `None` where its calls are not counted.
    count: Option<u64>,
    self_ns: u64,
    /// The error of `self_ns`.
    margin_ns: u64,
    total_ns: u64,
}

impl Calls<'_> {
    /// The methods with most time of their own by samples, and their counted calls.
    pub(super) fn with_sampled_time(&self, sampled: &SampledTime) -> LazyTable<'_> {
        let mut counts: KeyedMap<MethodId, u64> = KeyedMap::default();
        counts.extend(self.table.methods.iter().map(|row| (row.method, row.count)));
        let interval_ns = sampled.interval_ns;
        let row = |method, [own, total]: [u64; 2]| CountedMethod {
            method,
            count: counts.get(&method).copied().filter(|count| *count > 0),
            self_ns: own.saturating_mul(interval_ns),
            margin_ns: sample_margin(own).saturating_mul(interval_ns),
            total_ns: total.saturating_mul(interval_ns),
        };
        let mut rows: Vec<_> =
            sampled.methods.iter().map(|(method, numbers)| row(*method, *numbers)).collect();
        let unseen =
            self.table.methods.iter().filter(|it| !sampled.methods.contains_key(&it.method));
        rows.extend(unseen.map(|it| row(it.method, [0; 2])));
        rows.sort_by_key(|row| (Reverse((row.self_ns, row.count)), row.method));
        let all_ns = sampled.count.saturating_mul(interval_ns);
        let own = Column::ns("self_ns").of(all_ns).share_at(0, "self %").at(1, "self");
        let total = Column::ns("total_ns").of(all_ns).share_at(3, "total %").at(4, "total");
        let count = Column::count("call_count").of(self.table.count);
        let heading = format!(
            "Top methods by self: calls counted, times estimated from {} of {}",
            plural(sampled.count, "sample"),
            duration(interval_ns)
        );
        LazyTable::of(&self.profile.symbols, heading, rows)
            .column(Column::method().name("method"), |row| row.method)
            .column(count.share_at(6, "calls %").at(7, "calls"), |row| match row.count {
                Some(count) => count.into(),
                None => Cell::Missing(""),
            })
            .column(own, |row| row.self_ns)
            .column(Column::ns("self_margin_ns").at(2, "±"), |row| row.margin_ns)
            .column(total, |row| row.total_ns)
            .column(Column::words().at(5, "average"), |row| match row.count {
                Some(count) if row.self_ns > 0 => average(row.self_ns, count).into(),
                _ => Cell::Missing(""),
            })
            .table()
            .ranked()
    }
}
