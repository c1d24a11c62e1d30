//! The numbers that a profile has for its call paths: samples, times, calls, bytes, and what other
//! tools measured.

use std::collections::BTreeMap;

use crate::{Allocations, CallRow, ClassId, Event, Profile, Sites, TraceId};

/// What the numbers of a [`Value`] count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
pub struct Measure {
    /// What is measured, as the file says it: `cache-misses`, `contentions`.
    pub name: String,
    /// What the numbers count.
    pub unit: Unit,
    /// Of all traces, those that the file left out among them.
    pub total: u64,
    /// The traces, in the file's order.
    pub rows: Vec<(TraceId, u64)>,
}

/// A number that a profile has for each of its call paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Value {
    /// CPU samples.
    #[default]
    Samples,
    /// Self time of calls, in nanoseconds.
    Time,
    /// Calls.
    Calls,
    /// Bytes of all objects allocated.
    Allocated,
    /// Bytes of the live objects.
    Live,
    /// One of the profile's measures, by its place among their names.
    Measure(u16),
}

/// The numbers of one kind, by trace.
#[derive(Debug, Default)]
pub struct Weights {
    /// Of all rows, those that the file left out among them.
    pub total: u64,
    /// In trace order: a trace, the class of its objects where they are what is counted, a number.
    pub rows: Vec<(TraceId, Option<ClassId>, u64)>,
}

impl Value {
    /// The values with sections of their own, the one that is shown where nothing else is said
    /// first.
    pub const OWN: [Value; 5] =
        [Value::Samples, Value::Time, Value::Calls, Value::Allocated, Value::Live];

    /// Its name on the command line and in files.
    pub fn name(self, profile: &Profile) -> &str {
        match self {
            Value::Samples => "samples",
            Value::Time => "time",
            Value::Calls => "calls",
            Value::Allocated => "allocated",
            Value::Live => "live",
            Value::Measure(index) => {
                measure_names(profile).get(usize::from(index)).copied().unwrap_or_default()
            }
        }
    }

    /// What its numbers count.
    pub fn unit(self, profile: &Profile) -> Unit {
        match self {
            Value::Samples | Value::Calls => Unit::Count,
            Value::Time => Unit::Nanoseconds,
            Value::Allocated | Value::Live => Unit::Bytes,
            Value::Measure(_) => {
                let name = self.name(profile);
                let mut measures = profile.measures();
                measures.find(|measure| measure.name == name).map_or(Unit::Count, |it| it.unit)
            }
        }
    }

    /// All values that `profile` has, in order of interest.
    pub fn all_of(profile: &Profile) -> Vec<Value> {
        Self::candidates(profile).filter(|value| value.is_in(profile)).collect()
    }

    /// The first value that `profile` has: samples, times, calls, allocated bytes or a measure;
    /// `None` where it has none of them by call path.
    pub fn first_of(profile: &Profile) -> Option<Value> {
        Self::candidates(profile).find(|value| value.is_in(profile))
    }

    /// The value of that name.
    pub fn find(profile: &Profile, name: &str) -> Option<Value> {
        let mut named = Self::candidates(profile).filter(|value| value.name(profile) == name);
        named.find(|value| value.is_in(profile))
    }

    /// What `profile` may have, in order of interest: live bytes before allocated ones where only
    /// their shares are known.
    fn candidates(profile: &Profile) -> impl Iterator<Item = Value> + use<> {
        let measures = 0..u16::try_from(measure_names(profile).len()).unwrap_or(u16::MAX);
        let mut own = Self::OWN;
        if profile.sites().is_some_and(Sites::is_by_live) {
            own.swap(3, 4);
        }
        own.into_iter().chain(measures.map(Value::Measure))
    }

    /// Whether `profile` has such numbers other than 0.
    pub fn is_in(self, profile: &Profile) -> bool {
        match self {
            Value::Samples => profile.total_cpu_samples().total > 0,
            Value::Time => profile
                .cpu_times()
                .any(|it| it.total_ns > 0 || it.rows.iter().any(|row| row.self_ns > 0)),
            Value::Calls => profile.cpu_times().any(|it| it.rows.iter().any(|row| row.count > 0)),
            Value::Allocated | Value::Live | Value::Measure(_) => self.weights(profile).total > 0,
        }
    }

    /// The numbers of all sections of `profile`.
    pub fn weights(self, profile: &Profile) -> Weights {
        let mut weights = Weights::default();
        match self {
            Value::Samples => {
                let samples = profile.total_cpu_samples();
                weights.total = samples.total;
                let rows = samples.rows.into_iter();
                weights.rows = rows.map(|(trace, count)| (trace, None, count)).collect();
            }
            Value::Time | Value::Calls => {
                let of_row = |row: &CallRow| match self {
                    Value::Time => row.self_ns,
                    _ => row.count,
                };
                let rows = profile.cpu_times().flat_map(|times| &times.rows);
                weights.rows = by_trace(profile, rows.map(|row| (row.trace, of_row(row))));
                if self == Value::Time {
                    let totals = profile.cpu_times().map(|times| times.total_ns);
                    weights.total = totals.fold(0, u64::saturating_add);
                }
            }
            Value::Allocated | Value::Live => {
                let number = |objects: &Allocations| match self {
                    Value::Allocated => objects.allocated_bytes,
                    _ => objects.live_bytes,
                };
                let Some(sites) = profile.sites() else { return weights };
                weights.total = number(&sites.total);
                let mut sums: BTreeMap<(TraceId, ClassId), u64> = BTreeMap::new();
                for row in sites.rows.iter().filter(|row| number(&row.objects) > 0) {
                    let sum = sums.entry((row.trace, row.class)).or_default();
                    *sum = sum.saturating_add(number(&row.objects));
                }
                let row = |((trace, class), sum)| (trace, Some(class), sum);
                weights.rows = sums.into_iter().map(row).collect();
            }
            Value::Measure(_) => {
                let name = self.name(profile);
                let measures = || profile.measures().filter(|measure| measure.name == name);
                weights.total = measures().map(|it| it.total).fold(0, u64::saturating_add);
                let rows = measures().flat_map(|measure| measure.rows.iter().copied());
                weights.rows = by_trace(profile, rows);
            }
        }
        let listed = weights.rows.iter().map(|row| row.2).fold(0, u64::saturating_add);
        weights.total = weights.total.max(listed);
        weights
    }
}

/// The names of the measures, each once, in the order of the file.
fn measure_names(profile: &Profile) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for event in &profile.events {
        if let Event::Measure(measure) = event
            && !names.contains(&measure.name.as_str())
        {
            names.push(&measure.name);
        }
    }
    names
}

/// The numbers of each trace added up, in trace order.
fn by_trace(
    profile: &Profile,
    rows: impl Iterator<Item = (TraceId, u64)>,
) -> Vec<(TraceId, Option<ClassId>, u64)> {
    let sums = profile.sums_by_trace(rows);
    sums.into_iter().map(|(trace, number)| (trace, None, number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_of_a_name_add_up() {
        let mut profile = Profile::default();
        let trace = profile.system_trace();
        for (name, unit, count) in [
            ("misses", Unit::Count, 2),
            ("delay", Unit::Nanoseconds, 50),
            ("misses", Unit::Count, 3),
            ("nothing", Unit::Bytes, 0),
        ] {
            profile.events.push(Event::Measure(Measure {
                name: name.to_owned(),
                unit,
                total: count,
                rows: vec![(trace, count)],
            }));
        }
        let all = Value::all_of(&profile);
        assert_eq!(all, [Value::Measure(0), Value::Measure(1)]);
        let names: Vec<_> = all.iter().map(|value| value.name(&profile)).collect();
        assert_eq!(names, ["misses", "delay"]);
        assert_eq!(Value::first_of(&profile), Some(Value::Measure(0)));
        assert_eq!(Value::find(&profile, "delay"), Some(Value::Measure(1)));
        assert_eq!(Value::find(&profile, "nothing"), None);
        assert_eq!(Value::Measure(1).unit(&profile), Unit::Nanoseconds);
        let weights = Value::Measure(0).weights(&profile);
        assert_eq!((weights.total, weights.rows), (5, vec![(trace, None, 5)]));
    }
}
