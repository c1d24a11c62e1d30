//! What the numbers of a merged tree are: samples, times, calls or bytes.

use std::collections::BTreeMap;

use perk_profile::{Allocations, ClassId, Profile, TraceId};
use serde::{Deserialize, Serialize};

/// A number that a profile has for each of its call paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
}

/// The numbers of one kind, by trace.
#[derive(Debug, Default)]
pub(crate) struct Weights {
    /// Of all rows, those that the file left out among them.
    pub(crate) total: u64,
    /// In trace order: a trace, the class of its objects where they are what is counted, a number.
    pub(crate) rows: Vec<(TraceId, Option<ClassId>, u64)>,
}

impl Value {
    /// All values, the one that is shown where nothing else is said first.
    pub const ALL: [Value; 5] =
        [Value::Samples, Value::Time, Value::Calls, Value::Allocated, Value::Live];

    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Value::Samples => "samples",
            Value::Time => "time",
            Value::Calls => "calls",
            Value::Allocated => "allocated",
            Value::Live => "live",
        }
    }

    /// The first value that `profile` has: samples, times, calls or allocated bytes; `None` where
    /// it has none of them by call path.
    pub fn first_of(profile: &Profile) -> Option<Value> {
        Self::ALL.into_iter().find(|value| value.is_in(profile))
    }

    /// Whether `profile` has such numbers other than 0.
    pub fn is_in(self, profile: &Profile) -> bool {
        self.weights(profile).total > 0
    }

    /// The numbers of all sections of `profile`.
    pub(crate) fn weights(self, profile: &Profile) -> Weights {
        let mut weights = Weights::default();
        match self {
            Value::Samples => {
                let samples = profile.total_cpu_samples();
                weights.total = samples.total;
                weights.rows = samples.rows.iter().map(|&(id, count)| (id, None, count)).collect();
            }
            Value::Time | Value::Calls => {
                let of_row = |row: &perk_profile::CallRow| match self {
                    Value::Time => row.self_ns,
                    _ => row.count,
                };
                let mut numbers = vec![0_u64; profile.traces().len()];
                for times in profile.cpu_times() {
                    for row in &times.rows {
                        let number = &mut numbers[row.trace.index()];
                        *number = number.saturating_add(of_row(row));
                    }
                    if self == Value::Time {
                        weights.total = weights.total.saturating_add(times.total_ns);
                    }
                }
                let rows = numbers.iter().enumerate().filter(|&(_, &number)| number > 0);
                let rows = rows.map(|(index, &number)| (TraceId::new(index), None, number));
                weights.rows = rows.collect();
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
        }
        let listed = weights.rows.iter().map(|row| row.2).fold(0, u64::saturating_add);
        weights.total = weights.total.max(listed);
        weights
    }
}
