//! Shares of methods that changed beyond chance.
//!
//! Samples of a JVM are alike, and so are those of an hour: they share what was compiled, requests and data. So the error
//! of a share comes from how much it varies between JVMs, between hours, and between the hours of JVMs: that of these which
//! leaves the most to chance counts. It is at least that of independent samples. Of all comparisons of a run, Holm's method
//! decides which are beyond chance: whatever the methods have to do with each other, the chance that even one of them is
//! false is below a limit.

use std::collections::{BTreeMap, BTreeSet};

use perk_profile::{KeyedMap, MethodId};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// The fewest samples of a method on both sides together: with less, the error is not known well enough.
const FEWEST_SAMPLES: u64 = 10;
/// The fewest samples of a side.
pub(super) const FEWEST_OF_SIDE: u64 = 100;
/// The part of all errors that margins are for.
const MARGIN_CONFIDENCE: f64 = 0.95;

/// The samples of a JVM in an hour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// Which JVM of its side.
    pub(super) jvm: usize,
    pub(super) hour_ms: i64,
    pub(super) total: u64,
    pub(super) of_methods: KeyedMap<MethodId, u64>,
}

/// A side of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) parts: Vec<Part>,
}

/// Samples that may vary together.
#[derive(Clone, Copy, Debug)]
enum Cluster {
    Jvm,
    Hour,
    HourOfJvm,
}

/// The clusters of a side.
struct Clusters {
    /// That of each part, as an index.
    of_parts: Vec<usize>,
    count: usize,
}

/// The share of a method on both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ShareChange {
    pub(super) method: MethodId,
    /// From 0 to 1.
    pub(super) before: f64,
    pub(super) after: f64,
    /// The error of the difference, at 95 % confidence.
    pub(super) margin: f64,
    /// The chance of such a difference where nothing changed.
    pub(super) chance: f64,
}

impl ShareChange {
    /// The difference of the shares.
    pub(super) fn change(&self) -> f64 {
        self.after - self.before
    }
}

/// The share of a method on a side.
struct Share {
    samples: u64,
    total: u64,
    /// How it varies, by each kind of cluster.
    spreads: [Spread; Cluster::ALL.len()],
}

/// How much a share varies between clusters.
#[derive(Clone, Copy)]
struct Spread {
    clusters: usize,
    /// The variance of one cluster; 0 if there is only one.
    variance: f64,
}

impl Cluster {
    const ALL: [Self; 3] = [Self::Jvm, Self::Hour, Self::HourOfJvm];

    fn of(self, part: &Part) -> (usize, i64) {
        match self {
            Self::Jvm => (part.jvm, 0),
            Self::Hour => (0, part.hour_ms),
            Self::HourOfJvm => (part.jvm, part.hour_ms),
        }
    }
}

impl Share {
    fn spread(&self, by: Cluster) -> Spread {
        self.spreads[by as usize]
    }

    fn value(&self) -> f64 {
        self.samples as f64 / self.total as f64
    }
}

impl Part {
    fn samples(&self, method: MethodId) -> u64 {
        self.of_methods.get(&method).copied().unwrap_or(0)
    }
}

impl Side {
    pub(super) fn total(&self) -> u64 {
        self.parts.iter().map(|it| it.total).sum()
    }

    /// The number of JVMs.
    pub(super) fn jvms(&self) -> usize {
        self.clusters(Cluster::Jvm).count
    }

    /// The number of hours.
    pub(super) fn hours(&self) -> usize {
        self.clusters(Cluster::Hour).count
    }

    fn clusters(&self, by: Cluster) -> Clusters {
        let mut indexes = BTreeMap::new();
        let of_parts = self.parts.iter().map(|part| {
            let next = indexes.len();
            *indexes.entry(by.of(part)).or_insert(next)
        });
        Clusters { of_parts: of_parts.collect(), count: indexes.len() }
    }

    /// The share of a method, with the clusters of each kind.
    fn share(&self, method: MethodId, clusters: &[Clusters; Cluster::ALL.len()]) -> Share {
        let samples = self.parts.iter().map(|it| it.samples(method)).sum();
        let total = self.total();
        let value = samples as f64 / total as f64;
        let residuals =
            self.parts.iter().map(|part| part.samples(method) as f64 - value * part.total as f64);
        let residuals: Vec<_> = residuals.collect();
        let spreads = clusters.each_ref().map(|clusters| clusters.spread(&residuals, total));
        Share { samples, total, spreads }
    }
}

impl Clusters {
    /// How much a share varies, by what the parts have beside it, in samples.
    fn spread(&self, residuals: &[f64], total: u64) -> Spread {
        let mut sums = vec![0.0_f64; self.count];
        for (&cluster, residual) in self.of_parts.iter().zip(residuals) {
            sums[cluster] += residual;
        }
        let clusters = self.count;
        let squares: f64 = sums.iter().map(|it| it.powi(2)).sum();
        let of_one = (clusters as f64 / total as f64).powi(2);
        let variance = match clusters {
            0 | 1 => 0.0,
            _ => of_one * squares / (clusters - 1) as f64,
        };
        Spread { clusters, variance }
    }
}

/// Whether it is known how much the shares of two sides vary.
pub(super) fn are_comparable(before: &Side, after: &Side) -> bool {
    // Each part is an hour of a JVM.
    [before, after].iter().any(|it| it.parts.len() > 1)
}

/// Compares the shares of all methods that have enough samples.
pub(super) fn changes(before: &Side, after: &Side) -> Vec<ShareChange> {
    let parts = before.parts.iter().chain(&after.parts);
    let methods: BTreeSet<_> = parts.flat_map(|it| it.of_methods.keys().copied()).collect();
    let [of_before, of_after] =
        [before, after].map(|side| Cluster::ALL.map(|by| side.clusters(by)));
    let change =
        |method| change(method, &before.share(method, &of_before), &after.share(method, &of_after));
    methods.into_iter().filter_map(change).collect()
}

fn change(method: MethodId, before: &Share, after: &Share) -> Option<ShareChange> {
    let samples = before.samples + after.samples;
    if samples < FEWEST_SAMPLES {
        return None;
    }
    // Without a change, both shares would be this.
    let pooled = samples as f64 / (before.total + after.total) as f64;
    let independent =
        pooled * (1.0 - pooled) * (1.0 / before.total as f64 + 1.0 / after.total as f64);
    let (before_value, after_value) = (before.value(), after.value());
    let difference = (after_value - before_value).abs();
    let errors = Cluster::ALL.into_iter().filter_map(|by| Error::of_shares(before, after, by));
    let errors = errors.map(|it| it.at_least(independent)).filter(|it| it.variance > 0.0);
    let of_error = |error: Error| (error.chance(difference), error);
    let (chance, error) = errors.map(of_error).max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(ShareChange {
        method,
        before: before_value,
        after: after_value,
        margin: error.margin(),
        chance,
    })
}

/// The error of a difference of shares.
#[derive(Clone, Copy)]
struct Error {
    variance: f64,
    /// The degrees of freedom: the fewer clusters, the less is known of the variance.
    freedom: f64,
}

impl Error {
    /// That of two sides (Welch and Satterthwaite). A side with one cluster varies as the hours of JVMs of the other one do.
    /// `None` if both have one.
    fn of_shares(before: &Share, after: &Share, by: Cluster) -> Option<Self> {
        let of_mean = |own: &Share, other: &Share| match own.spread(by) {
            Spread { clusters: 1, .. } => other.spread(Cluster::HourOfJvm).variance,
            Spread { clusters, variance } => variance / clusters as f64,
        };
        let (of_before, of_after) = (of_mean(before, after), of_mean(after, before));
        let variance = of_before + of_after;
        let (before, after) = (before.spread(by), after.spread(by));
        let freedom = match (before.clusters, after.clusters) {
            (1, 1) => return None,
            (1, clusters) | (clusters, 1) => (clusters - 1) as f64,
            _ => {
                let of = |variance: f64, it: Spread| variance.powi(2) / (it.clusters - 1) as f64;
                variance.powi(2) / (of(of_before, before) + of(of_after, after))
            }
        };
        Some(Self { variance, freedom })
    }

    /// The larger of this one and that of independent samples, whose variance is known.
    fn at_least(self, independent: f64) -> Self {
        match self.variance > independent {
            true => self,
            false => Self { variance: independent, freedom: f64::INFINITY },
        }
    }

    /// The chance of such a difference where nothing changed.
    fn chance(self, difference: f64) -> f64 {
        let value = difference / self.variance.sqrt();
        match self.student() {
            Some(student) => 2.0 * student.sf(value),
            None => 2.0 * Normal::standard().sf(value),
        }
    }

    /// What a difference can be off by.
    fn margin(self) -> f64 {
        let quantile = 0.5 + MARGIN_CONFIDENCE / 2.0;
        let factor = match self.student() {
            Some(student) => student.inverse_cdf(quantile),
            None => Normal::standard().inverse_cdf(quantile),
        };
        factor * self.variance.sqrt()
    }

    /// The distribution of a difference; `None` for the normal one.
    fn student(self) -> Option<StudentsT> {
        self.freedom.is_finite().then(|| StudentsT::new(0.0, 1.0, self.freedom).ok()).flatten()
    }
}

/// Which of these chances are of changes, if the chance of even one false one is to be below `limit` (Holm).
pub(super) fn are_changes(chances: &[f64], limit: f64) -> Vec<bool> {
    let mut order: Vec<_> = (0..chances.len()).collect();
    order.sort_by(|&a, &b| chances[a].total_cmp(&chances[b]));
    let mut found = vec![false; chances.len()];
    for (rank, &at) in order.iter().enumerate() {
        if chances[at] > limit / (chances.len() - rank) as f64 {
            break;
        }
        found[at] = true;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random (xorshift).
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    const METHODS: usize = 40;

    /// `jvms` JVMs over `hours` hours, whose shares vary by half between the JVMs, and between the hours if there are
    /// several: an hour alone does not say what it changes. `slow` is the factor of the first method.
    fn side(random: &mut Random, jvms: usize, hours: usize, slow: f64) -> Side {
        let factors = |random: &mut Random| -> Vec<f64> {
            (0..METHODS).map(|_| 0.75 + 0.5 * random.next()).collect()
        };
        let of_hours: Vec<_> = match hours {
            1 => vec![vec![1.0; METHODS]],
            _ => (0..hours).map(|_| factors(random)).collect(),
        };
        let mut parts = Vec::new();
        for jvm in 0..jvms {
            let of_jvm = factors(random);
            for (hour, of_hour) in of_hours.iter().enumerate() {
                let weight = |at: usize| {
                    let factor = if at == 0 { slow } else { 1.0 };
                    factor * of_jvm[at] * of_hour[at] * 10.0 / (at + 1) as f64
                };
                let weights: Vec<f64> = (0..METHODS).map(weight).collect();
                let all: f64 = weights.iter().sum();
                let mut part = Part { jvm, hour_ms: hour as i64, ..Part::default() };
                for _ in 0..300 {
                    let mut left = random.next() * all;
                    let found = weights.iter().position(|weight| {
                        left -= weight;
                        left < 0.0
                    });
                    let method = MethodId::new(found.unwrap_or(0));
                    *part.of_methods.entry(method).or_default() += 1;
                    part.total += 1;
                }
                parts.push(part);
            }
        }
        Side { parts }
    }

    fn found(before: &Side, after: &Side) -> Vec<ShareChange> {
        let changes = changes(before, after);
        let chances: Vec<_> = changes.iter().map(|it| it.chance).collect();
        let are = are_changes(&chances, 0.05);
        changes.into_iter().zip(are).filter(|it| it.1).map(|it| it.0).collect()
    }

    #[test]
    fn runs_without_a_change_have_few_false_alarms() {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let shapes = [[(12, 1), (12, 1)], [(4, 6), (4, 6)], [(3, 1), (3, 1)], [(8, 2), (1, 1)]];
        for [before, after] in shapes {
            let mut side = |(jvms, hours)| side(&mut random, jvms, hours, 1.0);
            let is_false = |_: &usize| !found(&side(before), &side(after)).is_empty();
            let false_runs = (0..400).filter(is_false).count();
            // 20 are expected at most; three standard deviations more are 33.
            assert!(false_runs <= 33, "{before:?} {after:?}: {false_runs}");
        }
    }

    #[test]
    fn one_jvm_in_one_hour_says_nothing_of_chance() {
        let mut random = Random(0x1234_5678_9abc_def1);
        let mut side = |jvms, hours| side(&mut random, jvms, hours, 1.0);
        let one = side(1, 1);
        assert!(!are_comparable(&one, &side(1, 1)));
        assert_eq!(changes(&one, &side(1, 1)), []);
        assert!(are_comparable(&one, &side(1, 2)) && are_comparable(&side(2, 1), &one));
    }

    #[test]
    fn a_slow_method_is_found() {
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        for _ in 0..50 {
            let mut side = |slow| side(&mut random, 12, 1, slow);
            let found = found(&side(1.0), &side(1.8));
            let first = found.iter().find(|it| it.method == MethodId::new(0)).expect("the method");
            assert!(first.change() > 0.0 && first.margin < first.change(), "{first:?}");
        }
    }

    #[test]
    fn holm_takes_the_smallest_first() {
        assert_eq!(are_changes(&[0.02, 0.9, 0.01], 0.05), [true, false, true]);
        assert_eq!(are_changes(&[0.03, 0.9, 0.01], 0.05), [false, false, true]);
        assert_eq!(are_changes(&[0.02, 0.02], 0.01), [false, false]);
        assert!(are_changes(&[], 0.05).is_empty());
    }
}
