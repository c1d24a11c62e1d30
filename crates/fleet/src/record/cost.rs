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
/// The pace becomes faster again where perk takes less than this part of its budget.
const LOW: f64 = 0.25;

/// How far apart the samples are: a multiple of the usual distances, of all measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pace(u32);

impl Pace {
    pub(crate) const USUAL: Self = Self(1);
    const SLOWEST: Self = Self(64);

    /// The pace after a file of this pace.
    pub(crate) fn after(self, file: &Accounting, budget_percent: f64) -> Self {
        let own_ns = file.perk_cpu_ns as f64;
        let jvm_ns = file.process_cpu_ns.saturating_sub(file.perk_cpu_ns);
        let budget_ns = jvm_ns as f64 * budget_percent / 100.0;
        let is_over = own_ns > budget_ns && own_ns > file.wall_ns as f64 * LEAST_SHARE;
        match () {
            () if jvm_ns < LEAST_JVM_NS => self,
            () if is_over => Self(self.0 * 2).min(Self::SLOWEST),
            () if own_ns < budget_ns * LOW => Self(self.0 / 2).max(Self::USUAL),
            () => self,
        }
    }

    /// Sets the distances of the samples.
    pub(crate) fn apply(self, options: &mut Options) {
        let factor = u64::from(self.0);
        options.interval_ns = Some(INTERVAL.as_nanos() as u64 * factor);
        for distance in [&mut options.wall_ns, &mut options.heap_sample_bytes] {
            *distance = distance.map(|it| it.saturating_mul(factor).min(i32::MAX as u64));
        }
    }

    /// The pace of a recording with these options.
    pub(crate) fn of(options: &Options) -> Self {
        let usual_ns = INTERVAL.as_nanos() as u64;
        let factor = options.interval_ns.unwrap_or(usual_ns) / usual_ns;
        Self(u32::try_from(factor).unwrap_or(1)).max(Self::USUAL).min(Self::SLOWEST)
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CPU samples every {:?}", INTERVAL * self.0)?;
        if self.0 > 1 {
            write!(f, ", all others {} times as rarely as usual", self.0)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(own_ms: u64, all_ms: u64) -> Accounting {
        Accounting {
            perk_cpu_ns: own_ms * 1_000_000,
            process_cpu_ns: all_ms * 1_000_000,
            wall_ns: 60_000_000_000,
            ..Accounting::default()
        }
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
            let pace = Pace(before).after(&file(own_ms, all_ms), 1.0);
            assert_eq!(pace, Pace(after), "{own_ms} of {all_ms}");
        }
    }

    #[test]
    fn all_distances_grow_and_are_recognised() {
        let mut options = Options { wall_ns: Some(10), ..Options::default() };
        Pace(4).apply(&mut options);
        assert_eq!((options.interval_ns, options.wall_ns), (Some(80_000_000), Some(40)));
        assert_eq!((options.heap_sample_bytes, Pace::of(&options)), (None, Pace(4)));
        assert!(Pace(4).to_string().starts_with("CPU samples every 80ms, all others 4 times"));
    }
}
