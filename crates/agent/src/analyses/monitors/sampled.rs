//! Waits that are sampled by their duration (`budget=y`).
//!
//! A wait of `d` is recorded with the probability `min(1, d / D)`, as one of `max(d, D)`, and as
//! `max(1, D / d)` waits. Both have the right sums on average, and the time of the waits decides how many
//! stacks are walked. [`Rate`] makes `D` longer where there are many. The stack of a platform thread is
//! that of the end of its wait, which is the same as at its begin. Until then a wait for a lock is only
//! noted, for the search for its holder, and a wait to be notified not even that.
//!
//! At the end of its wait a virtual thread has no stack yet, and its duration is not known at the begin.
//! So one of `n` of its waits is measured as all are without a budget, and counts `n` times.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex};
use std::time::Instant;

use perk_jvm::os;
use perk_jvm::sync::lock;

use crate::random::Random;
use crate::rate::Rate;
use crate::series::SeriesKind;

/// The shortest wait that is always recorded.
const LEAST_NS: u64 = 1_000_000;
const MOST_NS: u64 = 10_000_000_000;
/// The divisor of the process's CPU time for the time that samples of each kind may take.
const SHARE: u64 = 1000;
/// The largest weight of a wait of a virtual thread.
const MOST_WAITS: u64 = 1 << 20;

/// The state of the samples; see the module.
#[derive(Debug)]
pub(super) struct WaitSampler {
    /// The durations `D` of waits for locks and of waits to be notified.
    of_locks: Rate,
    of_notices: Rate,
    /// The number `n`: one of `n` waits of virtual threads is measured.
    of_virtual: Rate,
    /// Changes with each pause: waits that began before it do not count.
    pub(super) epoch: AtomicU32,
    pub(super) count: AtomicU64,
}

/// The kind of thing that a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitGoal {
    /// To acquire a lock.
    Lock,
    /// To be notified.
    Notice,
}

impl WaitGoal {
    /// The kind of the series of such waits.
    pub(super) fn series(self) -> SeriesKind {
        match self {
            Self::Lock => SeriesKind::Blocked,
            Self::Notice => SeriesKind::Waited,
        }
    }
}

/// The kind of a sample.
#[derive(Clone, Copy, Debug)]
pub(super) enum SampleKind {
    Of(WaitGoal),
    OfVirtual,
}

/// A wait that has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitStart {
    pub(super) at: Instant,
    /// The duration `D` at its begin: what follows must not depend on its own.
    pub(super) interval_ns: u64,
    epoch: u32,
}

/// A park that has begun, for a lock or to be notified.
#[derive(Clone, Copy, Debug)]
pub(super) struct ParkStart {
    /// Its begin, if it is to be notified.
    pub(super) notice: WaitStart,
    /// The duration `D` of waits for locks.
    of_lock_ns: u64,
}

/// The number and the time of the waits that a sample represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Weight {
    pub(super) count: u64,
    pub(super) ns: u64,
}

thread_local! {
    /// The wait to be notified of the calling platform thread, at a monitor.
    static NOTICE: Cell<Option<WaitStart>> = const { Cell::new(None) };
    /// The random numbers of the calling thread: threads would wait for each other at one source.
    static RANDOM: Cell<Random> = Cell::new(lock(&RANDOMS).another());
}

/// The source of the threads' sources.
static RANDOMS: LazyLock<Mutex<Random>> = LazyLock::new(Mutex::default);

/// Runs `body` with the random numbers of the calling thread.
fn with_random<T>(body: impl FnOnce(&mut Random) -> T) -> T {
    RANDOM.with(|numbers| {
        let mut random = numbers.get();
        let answer = body(&mut random);
        numbers.set(random);
        answer
    })
}

impl WaitStart {
    /// Returns the begin of a wait that is measured in any case.
    pub(super) fn now() -> Self {
        Self { at: Instant::now(), interval_ns: 0, epoch: 0 }
    }
}

impl Default for WaitSampler {
    fn default() -> Self {
        Self {
            of_locks: Rate::new(LEAST_NS, MOST_NS, SHARE),
            of_notices: Rate::new(LEAST_NS, MOST_NS, SHARE),
            of_virtual: Rate::new(1, MOST_WAITS, SHARE),
            epoch: AtomicU32::new(0),
            count: AtomicU64::new(0),
        }
    }
}

impl WaitSampler {
    fn rate(&self, what: WaitGoal) -> &Rate {
        match what {
            WaitGoal::Lock => &self.of_locks,
            WaitGoal::Notice => &self.of_notices,
        }
    }

    /// Notes the begin of a wait.
    pub(super) fn begin(&self, what: WaitGoal) -> WaitStart {
        self.begin_at(what, Instant::now())
    }

    /// Notes the begin of a wait at a time.
    pub(super) fn begin_at(&self, what: WaitGoal, at: Instant) -> WaitStart {
        let (interval_ns, epoch) = (self.rate(what).interval(), self.epoch.load(Relaxed));
        WaitStart { at, interval_ns, epoch }
    }

    /// Notes the begin of a wait at a monitor, to be notified.
    pub(super) fn begin_notice(&self) {
        NOTICE.set(Some(self.begin(WaitGoal::Notice)));
    }

    /// Returns the wait that [`begin_notice`](Self::begin_notice) has noted.
    pub(super) fn take_notice() -> Option<WaitStart> {
        NOTICE.take()
    }

    /// Returns what a wait that has ended represents, if it is recorded.
    pub(super) fn end(&self, begun: WaitStart, now: Instant) -> Option<Weight> {
        if begun.epoch != self.epoch.load(Relaxed) {
            return None;
        }
        let ns = duration_ns(begun.at, now);
        with_random(|random| {
            let is_recorded = is_recorded(random, ns, begun.interval_ns);
            is_recorded.then(|| weight(random, ns, begun.interval_ns))
        })
    }

    /// Notes the begin of a park, for what is not known yet.
    pub(super) fn begin_park(&self) -> ParkStart {
        let of_lock_ns = self.of_locks.interval();
        ParkStart { notice: self.begin(WaitGoal::Notice), of_lock_ns }
    }

    /// Returns what a park that has ended represents, if it is recorded; `goal` is asked for what it was only
    /// if that may be.
    pub(super) fn end_park(
        &self,
        begun: ParkStart,
        now: Instant,
        goal: impl FnOnce() -> WaitGoal,
    ) -> Option<(WaitGoal, Weight)> {
        if begun.notice.epoch != self.epoch.load(Relaxed) {
            return None;
        }
        let ns = duration_ns(begun.notice.at, now);
        let least_ns = begun.of_lock_ns.min(begun.notice.interval_ns);
        if !with_random(|random| is_recorded(random, ns, least_ns)) {
            return None;
        }
        let goal = goal();
        let interval_ns = match goal {
            WaitGoal::Lock => begun.of_lock_ns,
            WaitGoal::Notice => begun.notice.interval_ns,
        };
        with_random(|random| {
            // Both draws together have the probability of one with the longer interval.
            let is_recorded = is_recorded(random, ns.max(least_ns), interval_ns);
            is_recorded.then(|| (goal, weight(random, ns, interval_ns)))
        })
    }

    /// Decides whether a wait of a virtual thread is measured. Returns how often it counts.
    pub(super) fn weight_of_virtual(&self) -> Option<u64> {
        let weight = self.of_virtual.interval();
        if with_random(|random| random.below(weight)) > 0 {
            return None;
        }
        Some(weight)
    }

    /// Runs `body`, which takes a sample, and counts it and its cost.
    pub(super) fn count<T>(&self, kind: SampleKind, body: impl FnOnce() -> T) -> T {
        let begun_ns = os::thread_cpu_ns();
        let answer = body();
        self.count.fetch_add(1, Relaxed);
        match kind {
            SampleKind::Of(what) => self.rate(what).sampled(begun_ns),
            SampleKind::OfVirtual => self.of_virtual.sampled(begun_ns),
        };
        answer
    }
}

fn duration_ns(from: Instant, to: Instant) -> u64 {
    let duration = to.saturating_duration_since(from);
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).max(1)
}

/// Draws whether a wait is recorded.
fn is_recorded(random: &mut Random, ns: u64, interval_ns: u64) -> bool {
    ns >= interval_ns || random.below(interval_ns) < ns
}

/// Returns the weight of a wait that is recorded.
fn weight(random: &mut Random, ns: u64, interval_ns: u64) -> Weight {
    if ns >= interval_ns {
        return Weight { count: 1, ns };
    }
    // The number of waits need not be whole.
    let rest = u64::from(random.below(ns) < interval_ns % ns);
    Weight { count: interval_ns / ns + rest, ns: interval_ns }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Checks that the waits of a duration have the right sums.
    fn check(duration_ns: u64, waits: u64, mut end: impl FnMut() -> Option<Weight>) {
        let (mut count, mut ns, mut recorded) = (0, 0, 0_u64);
        for weight in (0..waits).filter_map(|_| end()) {
            (count, ns, recorded) = (count + weight.count, ns + weight.ns, recorded + 1);
        }
        let deviation = 5.0 / (recorded as f64).sqrt();
        let ratio = |found: u64, right: u64| found as f64 / right as f64;
        assert!((ratio(count, waits) - 1.0).abs() < deviation, "{duration_ns}: {count}");
        assert!((ratio(ns, waits * duration_ns) - 1.0).abs() < deviation, "{duration_ns}: {ns}");
    }

    #[test]
    fn samples_of_waits_have_the_right_sums() {
        let sampler = WaitSampler::default();
        let begun = sampler.begin(WaitGoal::Lock);
        for (duration_ns, waits) in [(700, 4_000_000_u64), (123_456, 200_000), (999_999, 10_000)] {
            let now = begun.at + Duration::from_nanos(duration_ns);
            check(duration_ns, waits, || sampler.end(begun, now));
        }
        let long = sampler.end(begun, begun.at + Duration::from_secs(3));
        assert_eq!(long, Some(Weight { count: 1, ns: 3_000_000_000 }));
    }

    #[test]
    fn samples_of_parks_have_the_right_sums_for_each_goal() {
        let sampler = WaitSampler::default();
        let mut begun = sampler.begin_park();
        for (of_lock_ns, of_notice_ns) in [(1_000_000, 8_000_000), (4_000_000, 1_000_000)] {
            (begun.of_lock_ns, begun.notice.interval_ns) = (of_lock_ns, of_notice_ns);
            for goal in [WaitGoal::Lock, WaitGoal::Notice] {
                for (duration_ns, waits) in [(123_456, 400_000), (2_000_000, 20_000)] {
                    let now = begun.notice.at + Duration::from_nanos(duration_ns);
                    let end = || sampler.end_park(begun, now, || goal);
                    check(duration_ns, waits, || end().map(|(_, weight)| weight));
                }
            }
        }
    }
}
