//! Metrics: the numbers that a profile has for its call paths. Samples, times, calls, objects, waits
//! for locks, and what other tools measured.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{Allocations, CallRow, ClassId, Profile, Sites, TraceId, Waits};

/// What the numbers of a [`Metric`] count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Things.
    #[default]
    Count,
    /// Time, in nanoseconds.
    Nanoseconds,
    /// Memory, in bytes.
    Bytes,
}

impl Unit {
    /// Its name in files: `count`, `nanoseconds`, `bytes`.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Count => "count",
            Unit::Nanoseconds => "nanoseconds",
            Unit::Bytes => "bytes",
        }
    }
}

/// Numbers by trace that have no section of their own: events that another tool counted, bytecodes
/// executed, delays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OtherMetric {
    /// Its name in the file: `cache-misses`, `exceptions`.
    pub name: String,
    /// What the numbers count.
    pub unit: Unit,
    /// Of all traces, those that the file left out among them.
    pub total: u64,
    /// The traces, in the file's order.
    pub rows: Vec<(TraceId, u64)>,
}

/// A number that a profile has for its call paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// CPU samples.
    #[default]
    Samples,
    /// Self time of calls.
    SelfTime,
    /// Calls.
    Calls,
    /// Bytes of all objects allocated.
    AllocatedBytes,
    /// Bytes of the live objects.
    LiveBytes,
    /// All objects allocated.
    AllocatedObjects,
    /// The live objects.
    LiveObjects,
    /// Time in which threads could not have a lock.
    BlockedTime,
    /// How often a thread could not have a lock at once.
    BlockedCount,
    /// Time in which threads waited to be notified, or were parked for what is not a lock.
    WaitedTime,
    /// How often threads waited so.
    WaitCount,
    /// One of the profile's [`OtherMetric`]s.
    Other(Arc<str>, Unit),
}

/// The numbers of one metric, by trace.
#[derive(Debug, Default)]
pub struct MetricRows {
    /// Of all rows, those that the file left out among them.
    pub total: u64,
    /// In trace order: a trace, the class of the objects or of the lock where the metric has one, a
    /// number.
    pub rows: Vec<(TraceId, Option<ClassId>, u64)>,
}

/// A metric's fixed facts.
struct Facts {
    /// Its name on the command line.
    name: &'static str,
    /// Its name in files of several metrics, which is pprof's where pprof has one.
    file_name: &'static str,
    /// Another name of it that limits of `perk diff` take.
    long_name: &'static str,
    unit: Unit,
}

impl Metric {
    /// The metrics with sections of their own, the one that is shown by default first.
    pub const OWN: [Metric; 11] = [
        Metric::Samples,
        Metric::SelfTime,
        Metric::Calls,
        Metric::AllocatedBytes,
        Metric::LiveBytes,
        Metric::AllocatedObjects,
        Metric::LiveObjects,
        Metric::BlockedTime,
        Metric::BlockedCount,
        Metric::WaitedTime,
        Metric::WaitCount,
    ];

    /// The metric of that name of another tool.
    pub fn other(name: &str, unit: Unit) -> Self {
        Metric::Other(name.into(), unit)
    }

    fn facts(&self) -> Option<Facts> {
        let (name, file_name, long_name, unit) = match self {
            Metric::Samples => ("samples", "samples", "samples", Unit::Count),
            Metric::SelfTime => ("time", "time", "self_ns", Unit::Nanoseconds),
            Metric::Calls => ("calls", "calls", "calls", Unit::Count),
            Metric::AllocatedBytes => ("allocated", "alloc_space", "allocated_bytes", Unit::Bytes),
            Metric::LiveBytes => ("live", "inuse_space", "live_bytes", Unit::Bytes),
            Metric::AllocatedObjects => {
                ("objects", "alloc_objects", "allocated_count", Unit::Count)
            }
            Metric::LiveObjects => ("live_objects", "inuse_objects", "live_count", Unit::Count),
            Metric::BlockedTime => ("blocked", "delay", "lock_time", Unit::Nanoseconds),
            Metric::BlockedCount => ("contentions", "contentions", "lock_count", Unit::Count),
            Metric::WaitedTime => ("waited", "waited", "wait_time", Unit::Nanoseconds),
            Metric::WaitCount => ("waits", "waits", "wait_count", Unit::Count),
            Metric::Other(..) => return None,
        };
        Some(Facts { name, file_name, long_name, unit })
    }

    /// Its name on the command line and in flame graphs.
    pub fn name(&self) -> &str {
        match self {
            Metric::Other(name, _) => name,
            own => own.facts().map_or("", |facts| facts.name),
        }
    }

    /// Its name in files that hold several metrics, which is pprof's where pprof has one.
    pub fn file_name(&self) -> &str {
        match self {
            Metric::Other(name, _) => name,
            own => own.facts().map_or("", |facts| facts.file_name),
        }
    }

    /// What its numbers count.
    pub fn unit(&self) -> Unit {
        match self {
            Metric::Other(_, unit) => *unit,
            own => own.facts().map_or(Unit::Count, |facts| facts.unit),
        }
    }

    /// The metric with a section of its own that has this name, any of its names.
    pub fn own(name: &str) -> Option<Self> {
        Self::OWN.into_iter().find(|metric| {
            metric.facts().is_some_and(|it| [it.name, it.file_name, it.long_name].contains(&name))
        })
    }

    /// All metrics that `profile` has, in order of interest.
    pub fn all_of(profile: &Profile) -> Vec<Metric> {
        Self::candidates(profile).filter(|metric| metric.is_in(profile)).collect()
    }

    /// The first metric that `profile` has: samples, times, calls, allocated bytes, locks or one of
    /// another tool; `None` where it has no numbers by call path.
    pub fn first_of(profile: &Profile) -> Option<Metric> {
        Self::candidates(profile).find(|metric| metric.is_in(profile))
    }

    /// The metric that `profile` has under that name.
    pub fn find(profile: &Profile, name: &str) -> Option<Metric> {
        let is_named = |metric: &Metric| metric.name() == name;
        let exact = Self::candidates(profile).filter(is_named).chain(Self::own(name));
        exact.into_iter().find(|metric| metric.is_in(profile))
    }

    /// Whether it is the one by which its section is read: bytes of objects rather than their number,
    /// times of waits rather than theirs.
    pub fn is_leading(&self) -> bool {
        !matches!(
            self,
            Metric::AllocatedObjects
                | Metric::LiveObjects
                | Metric::BlockedCount
                | Metric::WaitCount
        )
    }

    /// Whether it is of another tool.
    pub fn is_other(&self) -> bool {
        matches!(self, Metric::Other(..))
    }

    /// Of a metric of objects, its number among those of a site.
    pub fn of_objects(&self) -> Option<fn(&mut Allocations) -> &mut u64> {
        match self {
            Metric::AllocatedBytes => Some(|objects| &mut objects.allocated_bytes),
            Metric::AllocatedObjects => Some(|objects| &mut objects.allocated_count),
            Metric::LiveBytes => Some(|objects| &mut objects.live_bytes),
            Metric::LiveObjects => Some(|objects| &mut objects.live_count),
            _ => None,
        }
    }

    /// Of a metric of locks, its number among those of a row.
    pub fn of_waits(&self) -> Option<fn(&mut Waits) -> &mut u64> {
        match self {
            Metric::BlockedTime => Some(|waits| &mut waits.blocked_ns),
            Metric::BlockedCount => Some(|waits| &mut waits.blocked_count),
            Metric::WaitedTime => Some(|waits| &mut waits.waited_ns),
            Metric::WaitCount => Some(|waits| &mut waits.wait_count),
            _ => None,
        }
    }

    /// What `profile` may have, in order of interest: live bytes before allocated ones where only
    /// their shares are known.
    fn candidates(profile: &Profile) -> impl Iterator<Item = Metric> + use<> {
        let mut metrics = Vec::from(Self::OWN);
        if profile.sites().is_some_and(Sites::is_by_live) {
            metrics.swap(3, 4);
        }
        for other in profile.other_metrics() {
            let is_known = |metric: &Metric| metric.is_other() && metric.name() == other.name;
            if !metrics.iter().any(is_known) {
                metrics.push(Metric::other(&other.name, other.unit));
            }
        }
        metrics.into_iter()
    }

    /// Whether `profile` has such numbers other than 0.
    pub fn is_in(&self, profile: &Profile) -> bool {
        match self {
            Metric::Samples => profile.total_cpu_samples().total > 0,
            Metric::SelfTime => profile
                .call_times()
                .any(|it| it.total_ns > 0 || it.rows.iter().any(|row| row.self_ns > 0)),
            Metric::Calls => profile.call_times().any(|it| it.rows.iter().any(|row| row.count > 0)),
            Metric::Other(name, _) => profile.other_metrics().any(|it| {
                it.name == **name && (it.total > 0 || it.rows.iter().any(|row| row.1 > 0))
            }),
            Metric::BlockedTime if profile.monitor_times().any(|it| it.total_ns > 0) => true,
            _ => {
                let of_objects =
                    self.of_objects().zip(profile.sites()).is_some_and(|(of, sites)| {
                        let mut all = sites.rows.iter().map(|row| row.objects).chain([sites.total]);
                        all.any(|mut objects| *of(&mut objects) > 0)
                    });
                let of_waits = self.of_waits().is_some_and(|of| {
                    let mut rows = profile.monitor_times().flat_map(|section| &section.rows);
                    rows.any(|row| *of(&mut row.waits.clone()) > 0)
                });
                of_objects || of_waits
            }
        }
    }

    /// The numbers of all sections of `profile`.
    pub fn rows(&self, profile: &Profile) -> MetricRows {
        let mut numbers = MetricRows::default();
        match self {
            Metric::Samples => {
                let samples = profile.total_cpu_samples();
                numbers.total = samples.total;
                let rows = samples.rows.into_iter();
                numbers.rows = rows.map(|(trace, count)| (trace, None, count)).collect();
            }
            Metric::SelfTime | Metric::Calls => {
                let is_time = *self == Metric::SelfTime;
                let of_row = |row: &CallRow| if is_time { row.self_ns } else { row.count };
                let rows = profile.call_times().flat_map(|times| &times.rows);
                numbers.rows = by_trace(profile, rows.map(|row| (row.trace, of_row(row))));
                if is_time {
                    numbers.total = sum(profile.call_times().map(|times| times.total_ns));
                }
            }
            Metric::Other(name, _) => {
                let sections = || profile.other_metrics().filter(|it| it.name == **name);
                numbers.total = sum(sections().map(|section| section.total));
                let rows = sections().flat_map(|section| section.rows.iter().copied());
                numbers.rows = by_trace(profile, rows);
            }
            _ => {
                if let Some(number) = self.of_objects() {
                    let Some(sites) = profile.sites() else { return numbers };
                    numbers.total = *number(&mut sites.total.clone());
                    let rows = sites.rows.iter();
                    numbers.rows = by_class(
                        rows.map(|row| (row.trace, row.class, *number(&mut row.objects.clone()))),
                    );
                } else if let Some(number) = self.of_waits() {
                    let rows = profile.monitor_times().flat_map(|section| &section.rows);
                    numbers.rows = by_class(
                        rows.map(|row| (row.trace, row.class, *number(&mut row.waits.clone()))),
                    );
                    if *self == Metric::BlockedTime {
                        numbers.total = sum(profile.monitor_times().map(|it| it.total_ns));
                    }
                }
            }
        }
        let listed = sum(numbers.rows.iter().map(|row| row.2));
        numbers.total = numbers.total.max(listed);
        numbers
    }
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// The numbers of each trace added up, in trace order.
fn by_trace(
    profile: &Profile,
    rows: impl Iterator<Item = (TraceId, u64)>,
) -> Vec<(TraceId, Option<ClassId>, u64)> {
    let sums = profile.sums_by_trace(rows);
    sums.into_iter().map(|(trace, number)| (trace, None, number)).collect()
}

/// The numbers of each trace and class added up, in their order; those of 0 are left out.
fn by_class(
    rows: impl Iterator<Item = (TraceId, ClassId, u64)>,
) -> Vec<(TraceId, Option<ClassId>, u64)> {
    let mut sums: BTreeMap<(TraceId, ClassId), u64> = BTreeMap::new();
    for (trace, class, number) in rows.filter(|row| row.2 > 0) {
        let sum = sums.entry((trace, class)).or_default();
        *sum = sum.saturating_add(number);
    }
    sums.into_iter().map(|((trace, class), sum)| (trace, Some(class), sum)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, LockKind, MonitorRow, MonitorTimes};

    #[test]
    fn metrics_of_a_name_add_up() {
        let mut profile = Profile::default();
        let trace = profile.system_trace();
        for (name, unit, count) in [
            ("misses", Unit::Count, 2),
            ("delay", Unit::Nanoseconds, 50),
            ("misses", Unit::Count, 3),
            ("nothing", Unit::Bytes, 0),
        ] {
            profile.events.push(Event::Other(OtherMetric {
                name: name.to_owned(),
                unit,
                total: count,
                rows: vec![(trace, count)],
            }));
        }
        let all = Metric::all_of(&profile);
        let misses = Metric::other("misses", Unit::Count);
        let delay = Metric::other("delay", Unit::Nanoseconds);
        assert_eq!(all, [misses.clone(), delay.clone()]);
        assert_eq!(Metric::first_of(&profile), Some(misses.clone()));
        assert_eq!(Metric::find(&profile, "delay"), Some(delay));
        assert_eq!(Metric::find(&profile, "nothing"), None);
        let numbers = misses.rows(&profile);
        assert_eq!((numbers.total, numbers.rows), (5, vec![(trace, None, 5)]));
    }

    #[test]
    fn names_are_of_one_metric_each() {
        let mut names = Vec::new();
        for metric in Metric::OWN {
            let facts = metric.facts().expect("the facts of a metric");
            let mut own = vec![facts.name, facts.file_name, facts.long_name];
            own.dedup();
            for name in &own {
                assert_eq!(Metric::own(name), Some(metric.clone()), "{name}");
            }
            names.extend(own);
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn waits_of_a_class_add_up() {
        let mut profile = Profile::default();
        let trace = profile.system_trace();
        let class = profile.symbols.class("T");
        let row = |kind, blocked_ns, wait_count| MonitorRow {
            trace,
            class,
            kind,
            waits: Waits { blocked_ns, wait_count, ..Waits::default() },
        };
        let rows = vec![row(LockKind::Monitor, 5, 1), row(LockKind::Parking, 2, 0)];
        profile.events.push(Event::MonitorTimes(MonitorTimes { total_ns: 9, rows, written: None }));
        assert_eq!(Metric::all_of(&profile), [Metric::BlockedTime, Metric::WaitCount]);
        let blocked = Metric::BlockedTime.rows(&profile);
        assert_eq!((blocked.total, blocked.rows), (9, vec![(trace, Some(class), 7)]));
    }
}
