//! What perk costs a JVM, and the distance of its samples that follows.

use std::fmt;
use std::time::Duration;

use perk_control::options::Options;
use perk_profile::Accounting;

/// The time between two CPU samples at the usual pace.
const INTERVAL: Duration = Duration::from_millis(20);
/// The part of a CPU that perk may take in any case: less is not measured well.
const LEAST_SHARE: f64 = 0.001;
/// The CPU time of a JVM in a file that says what perk costs it.
const LEAST_JVM_NS: u64 = 500_000_000;
/// Samples that are half as many save something if perk takes at most this part of what it took before. Otherwise the
/// cost is that of something else.
const SAVES: f64 = 0.75;
/// The pace becomes faster again where perk takes less than this part of its budget.
const LOW: f64 = 0.25;

/// What is measured, and how far apart the samples are: a multiple of the usual distances, of all measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    factor: u32,
    /// Whether waits and locks are measured, each of which costs, also those that are not sampled.
    has_waits: bool,
    /// The share of perk before the factor was raised, in percent of the JVM's CPU time.
    before_percent: Option<f64>,
}

impl Pace {
    pub(crate) const USUAL: Self = Self { factor: 1, has_waits: true, before_percent: None };
    const SLOWEST: u32 = 64;

    /// The pace after a file of this pace.
    pub(crate) fn after(self, file: &Accounting, every: Duration, budget_percent: f64) -> Self {
        let own_ns = file.perk_cpu_ns as f64;
        let jvm_ns = file.process_cpu_ns.saturating_sub(file.perk_cpu_ns);
        let percent = 100.0 * own_ns / (jvm_ns as f64).max(1.0);
        let is_over = percent > budget_percent && own_ns > file.wall_ns as f64 * LEAST_SHARE;
        // A short file has the cost of the begin of a recording, or of its end.
        let is_short = u128::from(file.wall_ns) * 2 < every.as_nanos();
        let Self { factor, has_waits, before_percent } = self;
        match () {
            () if is_short || jvm_ns < LEAST_JVM_NS => self,
            () if is_over && before_percent.is_some_and(|it| percent > it * SAVES) && has_waits => {
                Self { has_waits: false, ..Self::USUAL }
            }
            () if is_over => {
                let factor = (factor * 2).min(Self::SLOWEST);
                Self { factor, has_waits, before_percent: Some(percent) }
            }
            () if percent < budget_percent * LOW && factor == 1 => Self::USUAL,
            () if percent < budget_percent * LOW => {
                Self { factor: factor / 2, has_waits, before_percent: None }
            }
            () => Self { before_percent: None, ..self },
        }
    }

    /// Whether both measure the same.
    pub(crate) fn is_as(self, other: Self) -> bool {
        (self.factor, self.has_waits) == (other.factor, other.has_waits)
    }

    /// Sets what is measured, and the distances of the samples.
    pub(crate) fn apply(self, options: &mut Options) {
        let factor = u64::from(self.factor);
        options.interval_ns = Some(INTERVAL.as_nanos() as u64 * factor);
        for distance in [&mut options.wall_ns, &mut options.heap_sample_bytes] {
            *distance = distance.map(|it| it.saturating_mul(factor).min(i32::MAX as u64));
        }
        if !self.has_waits {
            options.monitor = false;
            options.locks = false;
        }
    }

    /// The pace of a recording with these options.
    pub(crate) fn of(options: &Options) -> Self {
        let usual_ns = INTERVAL.as_nanos() as u64;
        let factor = options.interval_ns.unwrap_or(usual_ns) / usual_ns;
        let factor = u32::try_from(factor).unwrap_or(1).clamp(1, Self::SLOWEST);
        Self { factor, has_waits: options.monitor, before_percent: None }
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CPU samples every {:?}", INTERVAL * self.factor)?;
        if self.factor > 1 {
            write!(f, ", all others {} times as rarely as usual", self.factor)?;
        }
        if !self.has_waits {
            write!(f, ", and states in place of exact waits")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_secs(60);

    fn file(own_ms: u64, all_ms: u64) -> Accounting {
        Accounting {
            perk_cpu_ns: own_ms * 1_000_000,
            process_cpu_ns: all_ms * 1_000_000,
            wall_ns: 60_000_000_000,
            ..Accounting::default()
        }
    }

    fn pace(factor: u32) -> Pace {
        Pace { factor, ..Pace::USUAL }
    }

    #[test]
    fn what_costs_too_much_is_sampled_more_rarely() {
        for (own_ms, all_ms, before, after) in [
            (900, 60_000, 1, 2),
            (300, 60_000, 2, 2),
            (100, 60_000, 2, 1),
            (100, 60_000, 1, 1),
            // An idle JVM: perk takes most of its CPU time, and little of the machine's.
            (50, 60, 1, 1),
            (900, 60_000, 64, 64),
        ] {
            let new = pace(before).after(&file(own_ms, all_ms), EVERY, 1.0);
            assert!(new.is_as(pace(after)), "{own_ms} of {all_ms}: {new:?}");
        }
        let short = Accounting { wall_ns: 1_000_000_000, ..file(900, 60_000) };
        assert_eq!(pace(1).after(&short, EVERY, 1.0), pace(1));
    }

    #[test]
    fn where_samples_are_not_the_cost_waits_are_left_out() {
        let after = |pace: Pace, own_ms| pace.after(&file(own_ms, 60_000), EVERY, 1.0);
        let rarely = after(Pace::USUAL, 1500);
        assert!(rarely.is_as(pace(2)));
        // Half of the samples saved half of the cost, and then nothing.
        assert!(after(rarely, 800).is_as(pace(4)));
        let without = after(rarely, 1400);
        assert!(without.is_as(Pace { has_waits: false, ..Pace::USUAL }));
        assert!(without.to_string().ends_with("and states in place of exact waits"));
        assert!(after(without, 300).is_as(without) && after(without, 100).is_as(Pace::USUAL));
    }

    #[test]
    fn all_distances_grow_and_are_recognised() {
        let usual = Options { wall_ns: Some(10), monitor: true, ..Options::default() };
        let mut options = usual.clone();
        pace(4).apply(&mut options);
        assert_eq!((options.interval_ns, options.wall_ns), (Some(80_000_000), Some(40)));
        assert_eq!((options.heap_sample_bytes, Pace::of(&options)), (None, pace(4)));
        assert!(pace(4).to_string().starts_with("CPU samples every 80ms, all others 4 times"));
        let without = Pace { has_waits: false, ..Pace::USUAL };
        let mut options = usual;
        without.apply(&mut options);
        assert_eq!((options.monitor, Pace::of(&options)), (false, without));
    }
}
