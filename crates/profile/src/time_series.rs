//! Numbers over time, of all threads together.

use std::collections::BTreeMap;

use crate::Metric;

/// The length of a tick, in nanoseconds; longer in long recordings.
const SERIES_TICK_NS: u64 = 100_000_000;
/// The most ticks with numbers; of more, neighbours are added up.
const MOST_TICKS: usize = 4096;

/// The numbers of a metric over time, where no [`Timeline`](crate::Timeline) says of which trace they are. Waits are in all ticks
/// through which they last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeSeries {
    /// The metric.
    pub metric: Metric,
    /// The length of a tick, in nanoseconds; not 0.
    pub tick_ns: u64,
    /// The start of tick 0, in nanoseconds since the recording's start, as in a [`Timeline`](crate::Timeline).
    pub begin_ns: u64,
    /// The numbers by tick.
    pub numbers: BTreeMap<u64, u64>,
}

/// Divides `number` among the ticks from `from_ns` to `to_ns`, or gives it to the tick in which both are. What is given
/// adds up to `number`.
pub fn spread(
    (from_ns, to_ns): (u64, u64),
    tick_ns: u64,
    number: u64,
    mut give: impl FnMut(u64, u64),
) {
    let length_ns = u128::from(to_ns.saturating_sub(from_ns));
    let (mut tick, mut given) = (from_ns / tick_ns, 0);
    loop {
        let end_ns = (tick + 1).saturating_mul(tick_ns).min(to_ns);
        let done_ns = u128::from(end_ns.saturating_sub(from_ns));
        let sum = match (u128::from(number) * done_ns).checked_div(length_ns) {
            Some(sum) if end_ns < to_ns => sum as u64,
            _ => number,
        };
        if sum > given {
            give(tick, sum - given);
        }
        if end_ns >= to_ns {
            return;
        }
        (tick, given) = (tick + 1, sum);
    }
}

impl TimeSeries {
    /// The time at which a tick begins, in nanoseconds since the recording's start.
    pub fn time_ns(&self, tick: u64) -> u64 {
        self.begin_ns.saturating_add(tick.saturating_mul(self.tick_ns))
    }

    /// Keeps the ticks that begin from `from_ns` on and before `to_ns`, in nanoseconds since the recording's start.
    pub fn retain_window(&mut self, from_ns: u64, to_ns: u64) {
        let (begin_ns, tick_ns) = (self.begin_ns, self.tick_ns);
        let time_ns = |tick: u64| begin_ns.saturating_add(tick.saturating_mul(tick_ns));
        self.numbers.retain(|&tick, _| (from_ns..to_ns).contains(&time_ns(tick)));
    }
}

/// A collector of numbers over time, by any clock. Of a long recording ticks become longer, so that its memory is
/// bounded.
#[derive(Clone, Debug)]
pub struct TimeSeriesBook {
    tick_ns: u64,
    numbers: BTreeMap<u64, u64>,
}

impl Default for TimeSeriesBook {
    fn default() -> Self {
        Self { tick_ns: SERIES_TICK_NS, numbers: BTreeMap::new() }
    }
}

impl TimeSeriesBook {
    /// Adds a number that came about evenly between two times.
    pub fn add(&mut self, (from_ns, to_ns): (u64, u64), number: u64) {
        while to_ns.saturating_sub(from_ns) / self.tick_ns >= MOST_TICKS as u64 {
            self.coarsen();
        }
        let numbers = &mut self.numbers;
        spread((from_ns, to_ns), self.tick_ns, number, |tick, more| {
            let sum = numbers.entry(tick).or_default();
            *sum = sum.saturating_add(more);
        });
        while self.numbers.len() > MOST_TICKS {
            self.coarsen();
        }
    }

    fn coarsen(&mut self) {
        self.tick_ns = self.tick_ns.saturating_mul(2);
        self.numbers = added_up(&self.numbers, |tick| tick / 2);
    }

    /// The numbers of a recording that begins at `begin_ns`, by the clock of the times; `None` without any. What was
    /// before is in the first tick.
    pub fn series(&self, metric: Metric, begin_ns: u64) -> Option<TimeSeries> {
        let tick_ns = self.tick_ns;
        let first = (*self.numbers.keys().next()?).max(begin_ns / tick_ns);
        let numbers = added_up(&self.numbers, |tick| tick.saturating_sub(first));
        let begin_ns = (first * tick_ns).saturating_sub(begin_ns);
        Some(TimeSeries { metric, tick_ns, begin_ns, numbers })
    }
}

/// The numbers by what `place` makes of their ticks.
fn added_up(numbers: &BTreeMap<u64, u64>, place: impl Fn(u64) -> u64) -> BTreeMap<u64, u64> {
    let mut sums = BTreeMap::new();
    for (&tick, &number) in numbers {
        let sum: &mut u64 = sums.entry(place(tick)).or_default();
        *sum = sum.saturating_add(number);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn numbers_are_in_all_ticks_through_which_they_last() {
        let mut book = TimeSeriesBook::default();
        book.add((150 * MS, 350 * MS), 200 * MS);
        book.add((199 * MS, 199 * MS), 7);
        book.add((199 * MS, 202 * MS), 10);
        let series = |begin_ms| book.series(Metric::BlockedTime, begin_ms * MS).unwrap();
        let numbers: Vec<_> = series(0).numbers.into_iter().collect();
        assert_eq!(numbers, [(0, 50 * MS + 7 + 3), (1, 100 * MS + 7), (2, 50 * MS)]);
        let later = series(70);
        assert_eq!((later.begin_ns, later.time_ns(2)), (30 * MS, 230 * MS));
        let mut later = series(310);
        assert_eq!((later.begin_ns, later.numbers[&0]), (0, 200 * MS + 17));
        later.retain_window(1, u64::MAX);
        assert!(later.numbers.is_empty());
        assert_eq!(TimeSeriesBook::default().series(Metric::BlockedTime, 0), None);
    }

    #[test]
    fn memory_is_bounded_and_nothing_is_lost() {
        let mut book = TimeSeriesBook::default();
        (0..20_000).for_each(|tick| book.add((tick * 100 * MS, tick * 100 * MS), 3));
        book.add((0, u64::MAX), 1000);
        assert!(book.numbers.len() <= MOST_TICKS);
        let series = book.series(Metric::AllocatedBytes, 0).unwrap();
        assert_eq!(series.numbers.values().sum::<u64>(), 61_000);
    }
}
