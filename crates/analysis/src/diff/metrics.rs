//! The numbers of one metric before and after: their change by method, and the confidence in it.

use std::cmp::Reverse;

use perk_profile::metric::JVM;
use perk_profile::{CALL_TICK_NS, MethodId, Metric, Profile, Unit};

use super::ids::Side;
use super::{Add, Calls, Change, join};
use crate::{columns, top};

/// Standard errors on each side of a number that 95 % of all measurements are within.
const ERRORS_OF_95_PERCENT: f64 = 1.96;

/// The most by which a number of samples can be wrong, with a confidence of 95 %: samples are taken to be
/// independent, so that the error of their number is its square root. It is at least one sample.
pub fn sample_margin(count: u64) -> u64 {
    (ERRORS_OF_95_PERCENT * (count as f64).sqrt()).round().max(1.0) as u64
}

/// The numbers of one metric for a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MethodNumbers {
    /// The number with the method on top of the stack.
    pub own: u64,
    /// The number with the method anywhere on the stack.
    pub total: u64,
}

impl Add for MethodNumbers {
    fn add(&mut self, other: Self) {
        Add::add(&mut self.own, other.own);
        Add::add(&mut self.total, other.total);
    }
}

/// The numbers of one metric by method.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricDiff {
    /// The metric.
    pub metric: Metric,
    /// The unit of the numbers: the metric's own, and nanoseconds for [`MetricDiff::in_time`].
    pub unit: Unit,
    /// The total, including what has no stack.
    pub total: Change<(), u64>,
    /// The numbers by method.
    pub methods: Vec<Change<MethodId, MethodNumbers>>,
    /// How much one sample, or one tick, adds to the numbers of each side, where they are estimated and it
    /// is known.
    pub sample: Option<[f64; 2]>,
    /// The CPU time that a CPU sample represents on each side, in nanoseconds, where both are known.
    pub sample_ns: Option<[u64; 2]>,
}

impl MetricDiff {
    /// The numbers of a metric that both profiles have, by method.
    pub(super) fn new(metric: Metric, profiles: [&Profile; 2], sides: &[Side; 2]) -> Self {
        let mut rows = Vec::new();
        let mut total = Change::default();
        for (side, profile) in profiles.into_iter().enumerate() {
            let numbers = columns::numbers(profile, &metric);
            *[&mut total.before, &mut total.after][side] = numbers.total;
            rows.extend(top::methods(profile, &numbers).into_iter().map(|row| {
                let numbers = MethodNumbers { own: row.self_count, total: row.total_count };
                (sides[side].methods[row.method.index()], side, numbers)
            }));
        }
        let sample = match profiles.map(|profile| sample_of(profile, &metric)) {
            [Some(before), Some(after)] => Some([before, after]),
            _ => None,
        };
        let sample_ns = match (&metric, profiles.map(Profile::sample_interval_ns)) {
            (Metric::Samples, [Some(before), Some(after)]) => Some([before, after]),
            _ => None,
        };
        let unit = metric.unit();
        Self { metric, unit, total, methods: join(rows), sample, sample_ns }
    }

    /// The times of calls.
    pub(super) fn of_calls(calls: &[Change<MethodId, Calls>], profiles: [&Profile; 2]) -> Self {
        let numbers = |it: &Calls| MethodNumbers { own: it.self_ns, total: it.total_ns };
        let methods: Vec<_> = calls
            .iter()
            .map(|row| Change {
                key: row.key,
                before: numbers(&row.before),
                after: numbers(&row.after),
            })
            .collect();
        let sum = |own: fn(&Change<MethodId, MethodNumbers>) -> u64| {
            methods.iter().map(own).fold(0, u64::saturating_add)
        };
        let total =
            Change { key: (), before: sum(|it| it.before.own), after: sum(|it| it.after.own) };
        let metric = Metric::SelfTime;
        let sample = match profiles.map(is_timed_by_ticks) {
            [true, true] => Some([CALL_TICK_NS as f64; 2]),
            _ => None,
        };
        Self { unit: metric.unit(), metric, total, methods, sample, sample_ns: None }
    }

    /// The same as CPU time where it is of CPU samples and their interval is known; otherwise the same.
    pub fn in_time(&self) -> Self {
        let Some(each) = self.sample_ns else { return self.clone() };
        Self {
            unit: Unit::Nanoseconds,
            sample: Some(each.map(|ns| ns as f64)),
            ..self.scaled(|side, number| number.saturating_mul(each[side]))
        }
    }

    /// The same with all numbers of after in proportion, so that its total is that of before.
    pub fn normalized(&self) -> Self {
        let Change { before, after, .. } = self.total;
        let part = |number: u64| {
            let part = u128::from(number) * u128::from(before);
            let part = part.checked_div(u128::from(after)).unwrap_or(0);
            u64::try_from(part).unwrap_or(u64::MAX)
        };
        let factor = if after == 0 { 0.0 } else { before as f64 / after as f64 };
        Self {
            sample: self.sample.map(|[first, second]| [first, second * factor]),
            ..self.scaled(|side, number| if side == 0 { number } else { part(number) })
        }
    }

    fn scaled(&self, scale: impl Fn(usize, u64) -> u64) -> Self {
        let numbers = |side: usize, it: MethodNumbers| MethodNumbers {
            own: scale(side, it.own),
            total: scale(side, it.total),
        };
        let methods = self.methods.iter().map(|row| Change {
            key: row.key,
            before: numbers(0, row.before),
            after: numbers(1, row.after),
        });
        let Change { key, before, after } = self.total;
        let total = Change { key, before: scale(0, before), after: scale(1, after) };
        Self { metric: self.metric.clone(), total, methods: methods.collect(), ..*self }
    }

    /// The most by which samples let a change from `before` to `after` be wrong, with a confidence of
    /// 95 %. `None` where the numbers are not of samples.
    ///
    /// Samples are taken to be independent, so that the error of their number is its square root. One
    /// sample more makes up for their being whole: few samples are judged as by the exact test.
    pub fn margin(&self, [before, after]: [u64; 2]) -> Option<u64> {
        let [first, second] = self.sample?;
        let variance = before as f64 * first + after as f64 * second;
        Some((ERRORS_OF_95_PERCENT * variance.sqrt() + f64::midpoint(first, second)).round() as u64)
    }

    /// Whether a change is more than samples can be wrong by. `None` where the numbers are not of
    /// samples.
    pub fn is_significant(&self, [before, after]: [u64; 2]) -> Option<bool> {
        self.margin([before, after]).map(|margin| before.abs_diff(after) > margin)
    }

    /// Of the methods that are `meant`, the innermost one whose total has half of the change of all or
    /// more, in the same direction: its callers have it, too.
    pub fn culprit(
        &self,
        meant: impl Fn(MethodId) -> bool,
    ) -> Option<&Change<MethodId, MethodNumbers>> {
        let is_growth = self.total.after > self.total.before;
        let moved = |before: u64, after: u64| match is_growth {
            true => after.saturating_sub(before),
            false => before.saturating_sub(after),
        };
        let all = moved(self.total.before, self.total.after);
        let has_most = |row: &&Change<_, MethodNumbers>| {
            let part = moved(row.before.total, row.after.total);
            let sides = [row.before.total, row.after.total];
            all > 0
                && part >= all.div_ceil(2)
                && self.is_significant(sides) != Some(false)
                && meant(row.key)
        };
        self.methods.iter().filter(has_most).min_by_key(|row| {
            let size = row.before.total.saturating_add(row.after.total);
            (size, Reverse(moved(row.before.own, row.after.own)))
        })
    }
}

/// Whether the times of calls are those between ticks.
fn is_timed_by_ticks(profile: &Profile) -> bool {
    profile.accounting.as_ref().is_some_and(|it| it.timing == "tick")
}

/// How much one sample adds to a metric of `profile`, on average.
fn sample_of(profile: &Profile, metric: &Metric) -> Option<f64> {
    let accounting = profile.accounting.as_ref();
    let average = |all: u64, count: u64| (count > 0).then(|| all as f64 / count as f64);
    match metric {
        Metric::Samples => Some(1.0),
        Metric::WallTime => {
            let accounting = accounting?;
            average(accounting.wall_thread_ns, accounting.wall_sample_count)
        }
        // The period is of the bytes.
        Metric::AllocatedObjects | Metric::LiveObjects => {
            let bytes = match metric {
                Metric::LiveObjects => Metric::LiveBytes,
                _ => Metric::AllocatedBytes,
            };
            let period = bytes.period(profile)?;
            let objects = metric.total(profile) as f64;
            Some(average(period, bytes.total(profile))? * objects)
        }
        // Its samples have an interval of their own, and each stack has a number of them.
        metric if metric.name() == JVM => {
            let numbers = metric.rows(profile).rows.into_iter().map(|row| row.1);
            numbers.reduce(greatest_divisor).map(|ns| ns as f64)
        }
        metric if metric.unit() == Unit::Count => None,
        metric => metric.period(profile).map(|period| period as f64),
    }
}

/// The greatest common divisor.
fn greatest_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(before: u64, after: u64) -> MetricDiff {
        MetricDiff {
            metric: Metric::Samples,
            total: Change { key: (), before, after },
            sample: Some([1.0; 2]),
            ..MetricDiff::default()
        }
    }

    /// The chance of a change as large as this, either way, where nothing changed: of all samples, each
    /// is on one of the two sides.
    fn chance([before, after]: [u64; 2]) -> f64 {
        let all = before + after;
        let mut chance = 0.5_f64.powi(i32::try_from(all).unwrap());
        let mut sum = 0.0;
        for count in 0..=before.min(after) {
            sum += chance;
            chance *= (all - count) as f64 / (count + 1) as f64;
        }
        (2.0 * sum).min(1.0)
    }

    #[test]
    fn confidence_is_that_of_the_exact_test() {
        let diff = samples(1_000, 1_000);
        for before in 0..120_u64 {
            for after in before..200 {
                let chance = chance([before, after]);
                let is_significant = diff.is_significant([before, after]) == Some(true);
                // Where the chance is near 5 %, either answer is right.
                if !(0.03..0.06).contains(&chance) {
                    assert_eq!(is_significant, chance < 0.05, "{before} {after} {chance}");
                }
            }
        }
        assert_eq!(diff.margin([0, 4]), Some(5));
        assert_eq!(diff.margin([50, 150]), Some(29));
    }

    #[test]
    fn time_and_proportion_keep_the_confidence() {
        let counted = MetricDiff { sample_ns: Some([10, 1]), ..samples(100, 1_000) };
        let time = counted.in_time();
        assert_eq!(
            (time.unit, time.total.before, time.total.after),
            (Unit::Nanoseconds, 1_000, 1_000)
        );
        // 100 samples of 10 ns are more uncertain than 1,000 of 1 ns.
        assert_eq!(time.margin([1_000, 0]), Some(202));
        assert_eq!(time.margin([0, 1_000]), Some(67));
        let half = samples(100, 200).normalized();
        assert_eq!((half.total.after, half.sample), (100, Some([1.0, 0.5])));
        assert_eq!(samples(100, 0).normalized().total.after, 0);
    }

    #[test]
    fn the_culprit_is_the_innermost_method_with_half_of_the_change() {
        let row = |key: usize, own: [u64; 2], total: [u64; 2]| {
            let [before, after] = [0, 1].map(|it| MethodNumbers { own: own[it], total: total[it] });
            Change { key: MethodId::new(key), before, after }
        };
        let diff = |total: [u64; 2], methods| MetricDiff {
            total: Change { key: (), before: total[0], after: total[1] },
            methods,
            ..MetricDiff::default()
        };
        let methods = vec![
            row(0, [0, 0], [100, 400]),
            row(1, [10, 20], [90, 390]),
            row(2, [9, 305], [9, 305]),
            row(3, [9, 0], [9, 0]),
        ];
        let found = |diff: &MetricDiff| diff.culprit(|_| true).map(|row| row.key.index());
        assert_eq!(found(&diff([100, 400], methods.clone())), Some(2));
        let callers = diff([100, 400], methods.clone());
        assert_eq!(callers.culprit(|it| it.index() < 2).map(|row| row.key.index()), Some(1));
        let back =
            methods.iter().map(|it| Change { key: it.key, before: it.after, after: it.before });
        assert_eq!(found(&diff([400, 100], back.collect())), Some(2));
        // The same totals: the method that has it itself.
        let chain = vec![row(0, [0, 0], [5, 9]), row(1, [5, 9], [5, 9])];
        assert_eq!(found(&diff([5, 9], chain)), Some(1));
        let spread = vec![row(0, [1, 4], [1, 4]), row(1, [1, 4], [1, 4]), row(2, [1, 4], [1, 4])];
        assert_eq!(found(&diff([3, 12], spread)), None);
        assert_eq!(found(&diff([9, 9], methods)), None);
    }
}
