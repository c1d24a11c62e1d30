//! Intervals of samples that become longer where samples take too much time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use perk_jvm::os;

/// The CPU time of the process after which the cost of samples is looked at.
const WINDOW_NS: u64 = 1_000_000_000;

/// An interval; see the module. A sample's weight is that of the interval that was in force when it was
/// decided what to sample next, so that the interval may change at any time.
#[derive(Debug)]
pub(crate) struct Rate {
    interval: AtomicU64,
    least: u64,
    most: u64,
    /// The divisor of the process's CPU time for the time that samples may take.
    share: u64,
    begun_ns: AtomicU64,
    spent_ns: AtomicU64,
}

impl Rate {
    /// Begins with the shortest interval.
    pub(crate) const fn new(least: u64, most: u64, share: u64) -> Self {
        Self {
            interval: AtomicU64::new(least),
            least,
            most,
            share,
            begun_ns: AtomicU64::new(0),
            spent_ns: AtomicU64::new(0),
        }
    }

    /// Returns the interval.
    pub(crate) fn interval(&self) -> u64 {
        self.interval.load(Relaxed)
    }

    /// Returns the shortest interval.
    pub(crate) fn least(&self) -> u64 {
        self.least
    }

    /// Notes a sample that took the calling thread's time since `begun_ns` on its clock. Returns the new
    /// interval if it has changed.
    pub(crate) fn sampled(&self, begun_ns: u64) -> Option<u64> {
        let cost_ns = os::thread_cpu_ns().saturating_sub(begun_ns);
        self.sampled_at(os::process_cpu_ns(), cost_ns)
    }

    /// Several threads may come at once: then a sample or a change is missed, which changes no weight.
    fn sampled_at(&self, process_ns: u64, cost_ns: u64) -> Option<u64> {
        let spent_ns = self.spent_ns.fetch_add(cost_ns, Relaxed) + cost_ns;
        let passed_ns = process_ns.saturating_sub(self.begun_ns.load(Relaxed));
        let allowed_ns = passed_ns.max(WINDOW_NS) / self.share;
        if passed_ns < WINDOW_NS && spent_ns <= allowed_ns {
            return None;
        }
        self.begun_ns.store(process_ns, Relaxed);
        self.spent_ns.store(0, Relaxed);
        let before = self.interval();
        let after = match spent_ns {
            it if it > allowed_ns => before.saturating_mul(2).min(self.most),
            it if it < allowed_ns / 4 => (before / 2).max(self.least),
            _ => before,
        };
        self.interval.store(after, Relaxed);
        (after != before).then_some(after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes samples of a cost at distances of the interval for a time, and returns the share of the time.
    fn run(rate: &Rate, from_ns: u64, to_ns: u64, ns_per_unit: u64, cost_ns: u64) -> f64 {
        let (mut now_ns, mut spent_ns) = (from_ns, 0);
        while now_ns < to_ns {
            now_ns += rate.interval() * ns_per_unit;
            spent_ns += cost_ns;
            rate.sampled_at(now_ns, cost_ns);
        }
        spent_ns as f64 / (to_ns - from_ns) as f64
    }

    #[test]
    fn the_cost_of_samples_is_limited() {
        const S: u64 = WINDOW_NS;
        let rate = Rate::new(512, u64::MAX, 500);
        // At first a sample every 10 us that takes 100 us.
        let first = run(&rate, S, 6 * S, 20, 100_000);
        let later = run(&rate, 6 * S, 100 * S, 20, 100_000);
        assert!(first < 0.01 && (0.0005..0.003).contains(&later), "{first} {later}");
        // Where there is less, the interval becomes short again.
        run(&rate, 100 * S, 10_000 * S, 1000, 100);
        assert_eq!(rate.interval(), 512);
    }

    #[test]
    fn the_interval_has_a_limit() {
        let rate = Rate::new(3, 10, 500);
        (0..1000).for_each(|_| _ = rate.sampled_at(WINDOW_NS / 2, WINDOW_NS));
        assert_eq!(rate.interval(), 10);
    }
}
