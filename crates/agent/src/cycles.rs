//! Processor cycles for CPU times: on x86-64 those of the time stamp counter, whose rate is constant
//! and is measured over the run; on other processors a cycle is a nanosecond.

use perk_jvm::arch;
use perk_jvm::os;

/// The rate where no counter of cycles can be read: a cycle is a nanosecond.
const DEFAULT_HZ: u64 = 1_000_000_000;

/// The measurement of the rate, since a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CycleClock {
    since: Option<Moment>,
}

/// The cycles of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CycleRate {
    hz: u64,
}

#[derive(Clone, Copy, Debug)]
struct Moment {
    cycles: u64,
    ns: u64,
}

impl CycleClock {
    /// Begins to measure.
    pub(crate) fn begin() -> Self {
        Self { since: Moment::now() }
    }

    /// Returns the rate as measured up to now.
    pub(crate) fn rate(&self) -> CycleRate {
        let now = self.since.and_then(|since| Some((since, Moment::now()?)));
        let hz = now.and_then(|(since, now)| {
            let cycles = u128::from(now.cycles.checked_sub(since.cycles)?);
            let ns = u128::from(now.ns.checked_sub(since.ns)?);
            u64::try_from((cycles * 1_000_000_000).checked_div(ns)?).ok()
        });
        CycleRate { hz: hz.unwrap_or(DEFAULT_HZ) }
    }
}

impl CycleRate {
    /// Returns the cycles of a time.
    pub(crate) fn cycles(self, ns: u64) -> u64 {
        let cycles = u128::from(ns) * u128::from(self.hz) / 1_000_000_000;
        u64::try_from(cycles).unwrap_or(u64::MAX)
    }
}

impl Moment {
    /// Reads both clocks. Of a few readings, the one that was interrupted least counts.
    fn now() -> Option<Self> {
        let read = || {
            let before = arch::cycle_count()?;
            let ns = os::raw_ns();
            let after = arch::cycle_count()?;
            Some((after.wrapping_sub(before), Self { cycles: before / 2 + after / 2, ns }))
        };
        (0..5).filter_map(|_| read()).min_by_key(|(width, _)| *width).map(|(_, moment)| moment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_rate_is_constant() {
        let clock = CycleClock::begin();
        std::thread::sleep(Duration::from_millis(20));
        let first = clock.rate().hz;
        std::thread::sleep(Duration::from_millis(200));
        let second = clock.rate().hz;
        assert!((500_000_000..10_000_000_000).contains(&second), "{second}");
        assert!(first.abs_diff(second) < second / 1000, "{first} {second}");
    }

    #[test]
    fn cycles_of_times() {
        let rate = CycleRate { hz: 2_400_000_000 };
        assert_eq!(rate.cycles(1_500_000_000), 3_600_000_000);
        assert_eq!(rate.cycles(0), 0);
        assert_eq!(CycleRate { hz: u64::MAX }.cycles(u64::MAX), u64::MAX);
    }
}
