//! Shares of methods that changed beyond chance.
//!
//! Samples of a JVM in an hour are alike: they share its requests and its warm-up. So the error of a share comes from how
//! much it varies between JVMs and hours, and is at least that of independent samples. Of all comparisons of a run,
//! Holm's method decides which are beyond chance: whatever the methods have to do with each other, the chance that
//! even one of them is false is below a limit.

use std::collections::BTreeSet;

use perk_profile::{KeyedMap, MethodId};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// The fewest samples of a method on both sides together: with less, the error is not known well enough.
const FEWEST_SAMPLES: u64 = 10;
/// The fewest samples of a side.
pub(super) const FEWEST_OF_SIDE: u64 = 100;
/// The part of all errors that margins are for.
const MARGIN_CONFIDENCE: f64 = 0.95;

/// Samples that may vary together: those of a JVM in an hour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cluster {
    pub(super) total: u64,
    pub(super) of_methods: KeyedMap<MethodId, u64>,
}

/// A side of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) clusters: Vec<Cluster>,
    /// The JVMs that these are of.
    pub(super) jvms: usize,
    /// The hours that they are of.
    pub(super) hours: usize,
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
    /// How much it varies between clusters; 0 if there is only one.
    variance: f64,
    clusters: usize,
}

impl Share {
    fn value(&self) -> f64 {
        self.samples as f64 / self.total as f64
    }
}

impl Side {
    pub(super) fn total(&self) -> u64 {
        self.clusters.iter().map(|it| it.total).sum()
    }

    fn share(&self, method: MethodId) -> Share {
        let of = |cluster: &Cluster| cluster.of_methods.get(&method).copied().unwrap_or(0);
        let (samples, total) = (self.clusters.iter().map(of).sum::<u64>(), self.total());
        let value = samples as f64 / total as f64;
        let residual = |it: &Cluster| of(it) as f64 - value * it.total as f64;
        let squares: f64 = self.clusters.iter().map(|it| residual(it).powi(2)).sum();
        let clusters = self.clusters.len();
        let variance = match clusters {
            0 | 1 => 0.0,
            _ => squares * clusters as f64 / (clusters - 1) as f64 / (total as f64).powi(2),
        };
        Share { samples, total, variance, clusters }
    }
}

/// Compares the shares of all methods that have enough samples.
pub(super) fn changes(before: &Side, after: &Side) -> Vec<ShareChange> {
    let clusters = before.clusters.iter().chain(&after.clusters);
    let methods: BTreeSet<_> = clusters.flat_map(|it| it.of_methods.keys().copied()).collect();
    let change = |method| change(method, &before.share(method), &after.share(method));
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
    let between = before.variance + after.variance;
    let error = independent.max(between).sqrt();
    let difference = after.value() - before.value();
    if error == 0.0 {
        return None;
    }
    let value = difference.abs() / error;
    // The fewer clusters, the less is known of their variance (Welch and Satterthwaite).
    let freedom = (between > independent).then(|| {
        let of = |it: &Share| it.variance.powi(2) / (it.clusters.max(2) - 1) as f64;
        between.powi(2) / (of(before) + of(after))
    });
    let quantile = 0.5 + MARGIN_CONFIDENCE / 2.0;
    let (chance, factor) = match freedom.and_then(|it| StudentsT::new(0.0, 1.0, it).ok()) {
        Some(student) => (2.0 * student.sf(value), student.inverse_cdf(quantile)),
        None => {
            let normal = Normal::standard();
            (2.0 * normal.sf(value), normal.inverse_cdf(quantile))
        }
    };
    let (before, after) = (before.value(), after.value());
    Some(ShareChange { method, before, after, margin: factor * error, chance })
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

    /// JVMs whose shares vary by half between each other; `slow` is the factor of the first method.
    fn side(random: &mut Random, slow: f64) -> Side {
        let cluster = |random: &mut Random| {
            let weight = |at: usize, random: &mut Random| {
                let factor = if at == 0 { slow } else { 1.0 };
                factor * (0.75 + 0.5 * random.next()) * 10.0 / (at + 1) as f64
            };
            let weights: Vec<f64> = (0..METHODS).map(|at| weight(at, random)).collect();
            let all: f64 = weights.iter().sum();
            let mut cluster = Cluster::default();
            for _ in 0..300 {
                let mut left = random.next() * all;
                let found = weights.iter().position(|weight| {
                    left -= weight;
                    left < 0.0
                });
                let method = MethodId::new(found.unwrap_or(0));
                *cluster.of_methods.entry(method).or_default() += 1;
                cluster.total += 1;
            }
            cluster
        };
        let clusters = (0..12).map(|_| cluster(random)).collect();
        Side { clusters, ..Side::default() }
    }

    fn found(random: &mut Random, slow: f64) -> Vec<ShareChange> {
        let changes = changes(&side(random, 1.0), &side(random, slow));
        let chances: Vec<_> = changes.iter().map(|it| it.chance).collect();
        let are = are_changes(&chances, 0.05);
        changes.into_iter().zip(are).filter(|it| it.1).map(|it| it.0).collect()
    }

    #[test]
    fn runs_without_a_change_have_few_false_alarms() {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let false_runs = (0..400).filter(|_| !found(&mut random, 1.0).is_empty()).count();
        // 20 are expected at most; three standard deviations more are 33.
        assert!(false_runs <= 33, "{false_runs}");
    }

    #[test]
    fn a_slow_method_is_found() {
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        for _ in 0..50 {
            let found = found(&mut random, 1.6);
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
