//! Numbers over time, by thread.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Metric, WallState};

/// The length of a tick, in nanoseconds; longer in long recordings.
const SERIES_TICK_NS: u64 = 100_000_000;
/// The most ticks through which a number lasts; of more, neighbours are added up.
const MOST_TICKS: u64 = 4096;
/// The most numbers; of more, those of neighbouring ticks are added up.
const MOST_NUMBERS: usize = 32_768;
/// The most threads with numbers of their own.
const MOST_THREADS: usize = 256;

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
    /// The numbers by tick, and by what each is of.
    pub numbers: BTreeMap<(u64, SeriesSubject), u64>,
}

/// What a number of a [`TimeSeries`] is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeriesSubject {
    /// The serial number of the thread; `None` for the threads that have no numbers of their own.
    pub thread: Option<u32>,
    /// The state of the thread, where numbers are by state.
    pub state: Option<WallState>,
}

impl SeriesSubject {
    /// A thread, if it is known, in any state.
    pub fn of(thread: Option<u32>) -> Self {
        Self { thread, state: None }
    }
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
        self.numbers.retain(|&(tick, _), _| (from_ns..to_ns).contains(&time_ns(tick)));
    }

    /// Makes ticks at least this long, and as many times longer as that takes.
    pub fn coarsen(&mut self, least_ns: u64) {
        let times = least_ns.div_ceil(self.tick_ns.max(1)).max(1);
        self.tick_ns = self.tick_ns.saturating_mul(times);
        self.numbers = added_up(&self.numbers, |tick| tick / times);
    }

    /// Makes numbers multiples of `unit`. What each is less goes to the next one of the same subject, and the last one has
    /// the rest: sums stay what they are, up to each tick to within a unit.
    pub fn round(&mut self, unit: u64) {
        let last: BTreeMap<_, _> = self.numbers.keys().map(|&(tick, of)| (of, tick)).collect();
        let mut rests: BTreeMap<SeriesSubject, u64> = BTreeMap::new();
        self.numbers.retain(|&(tick, of), number| {
            let rest = rests.entry(of).or_default();
            let all = number.saturating_add(*rest);
            *rest = if last.get(&of) == Some(&tick) { 0 } else { all % unit.max(1) };
            *number = all - *rest;
            *number > 0
        });
    }
}

/// A collector of numbers over time, by any clock. Of a long recording ticks become longer, and of many threads the
/// first ones alone have numbers of their own, so that its memory is bounded.
#[derive(Clone, Debug)]
pub struct TimeSeriesBook {
    /// The recording's start, by the clock of the times: what was before is in the first tick.
    begin_ns: u64,
    tick_ns: u64,
    numbers: BTreeMap<(u64, SeriesSubject), u64>,
    /// The threads that have numbers of their own, also in the series that follow.
    threads: BTreeSet<u32>,
}

impl Default for TimeSeriesBook {
    fn default() -> Self {
        let (numbers, threads) = (BTreeMap::new(), BTreeSet::new());
        Self { begin_ns: u64::MAX, tick_ns: SERIES_TICK_NS, numbers, threads }
    }
}

impl TimeSeriesBook {
    /// Notes the recording's start, by the clock of the times. What was added before is in the first tick.
    pub fn begin_at(&mut self, begin_ns: u64) {
        self.begin_ns = begin_ns;
    }

    /// Adds a number that came about evenly between two times. A state is one of a thread: it is left out where the
    /// thread has no numbers of its own.
    pub fn add(&mut self, subject: SeriesSubject, (from_ns, to_ns): (u64, u64), number: u64) {
        let thread = subject.thread.filter(|&it| self.has_own(it));
        if thread.is_none() && subject.state.is_some() {
            return;
        }
        let subject = SeriesSubject { thread, ..subject };
        let since_begin = |ns: u64| ns.saturating_sub(self.begin_ns);
        let (from_ns, to_ns) = (since_begin(from_ns), since_begin(to_ns));
        while to_ns.saturating_sub(from_ns) / self.tick_ns >= MOST_TICKS {
            self.coarsen();
        }
        let numbers = &mut self.numbers;
        spread((from_ns, to_ns), self.tick_ns, number, |tick, more| {
            let sum = numbers.entry((tick, subject)).or_default();
            *sum = sum.saturating_add(more);
        });
        while self.numbers.len() > MOST_NUMBERS {
            self.coarsen();
        }
    }

    /// Whether a thread has numbers of its own.
    fn has_own(&mut self, thread: u32) -> bool {
        let has_room = self.threads.len() < MOST_THREADS;
        self.threads.contains(&thread) || has_room && self.threads.insert(thread)
    }

    /// Begins anew, with the same threads in the same recording.
    pub fn clear(&mut self) {
        let threads = std::mem::take(&mut self.threads);
        *self = Self { begin_ns: self.begin_ns, threads, ..Self::default() };
    }

    fn coarsen(&mut self) {
        self.tick_ns = self.tick_ns.saturating_mul(2);
        self.numbers = added_up(&self.numbers, |tick| tick / 2);
    }

    /// The numbers from the first tick that has one; `None` without any.
    pub fn series(&self, metric: Metric) -> Option<TimeSeries> {
        let tick_ns = self.tick_ns;
        let first = self.numbers.keys().next()?.0;
        let numbers = added_up(&self.numbers, |tick| tick - first);
        Some(TimeSeries { metric, tick_ns, begin_ns: first * tick_ns, numbers })
    }
}

/// The numbers by what `place` makes of their ticks.
fn added_up(
    numbers: &BTreeMap<(u64, SeriesSubject), u64>,
    place: impl Fn(u64) -> u64,
) -> BTreeMap<(u64, SeriesSubject), u64> {
    let mut sums = BTreeMap::new();
    for (&(tick, subject), &number) in numbers {
        let sum: &mut u64 = sums.entry((place(tick), subject)).or_default();
        *sum = sum.saturating_add(number);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const ONE: SeriesSubject = SeriesSubject { thread: Some(1), state: None };

    #[test]
    fn numbers_are_in_all_ticks_through_which_they_last() {
        let book = |begin_ms: u64| {
            let mut book = TimeSeriesBook::default();
            book.begin_at(begin_ms * MS);
            book.add(ONE, (150 * MS, 350 * MS), 200 * MS);
            book.add(ONE, (199 * MS, 199 * MS), 7);
            book.add(ONE, (199 * MS, 202 * MS), 10);
            book
        };
        let series = |begin_ms| book(begin_ms).series(Metric::BlockedTime).unwrap();
        let numbers = |it: &TimeSeries| {
            let numbers = it.numbers.iter().map(|(key, &number)| (it.time_ns(key.0) / MS, number));
            numbers.collect::<Vec<_>>()
        };
        assert_eq!(
            numbers(&series(0)),
            [(100, 50 * MS + 7 + 3), (200, 100 * MS + 7), (300, 50 * MS)]
        );
        // Ticks begin with the recording, whatever its clock shows.
        assert_eq!(numbers(&series(70)), [(0, 20 * MS), (100, 100 * MS + 17), (200, 80 * MS)]);
        // What was before is in the first tick.
        let mut later = series(310);
        assert_eq!(numbers(&later), [(0, 200 * MS + 17)]);
        later.retain_window(1, u64::MAX);
        assert!(later.numbers.is_empty());
        assert_eq!(TimeSeriesBook::default().series(Metric::BlockedTime), None);
        let mut coarse = series(0);
        coarse.coarsen(150 * MS);
        let numbers: Vec<_> = coarse.numbers.into_values().collect();
        assert_eq!((coarse.tick_ns, &*numbers), (200 * MS, &[150 * MS + 17, 50 * MS][..]));
        let mut rounded = series(0);
        rounded.round(60 * MS);
        let numbers: Vec<_> = rounded.numbers.into_values().collect();
        assert_eq!(numbers, [120 * MS, 80 * MS + 17]);
    }

    #[test]
    fn memory_is_bounded_and_nothing_is_lost() {
        let mut book = TimeSeriesBook::default();
        for tick in 0..100_000 {
            let thread = Some((tick % 3) as u32);
            book.add(SeriesSubject::of(thread), (tick * 100 * MS, tick * 100 * MS), 3);
        }
        book.add(ONE, (0, u64::MAX), 1000);
        assert!(book.numbers.len() <= MOST_NUMBERS);
        let series = book.series(Metric::AllocatedBytes).unwrap();
        assert_eq!(series.numbers.values().sum::<u64>(), 301_000);
    }

    #[test]
    fn the_first_threads_have_numbers_of_their_own() {
        let mut book = TimeSeriesBook::default();
        let state = Some(WallState::Parked);
        for thread in 0..1000 {
            book.add(SeriesSubject::of(Some(thread)), (0, 0), 1);
            book.add(SeriesSubject { thread: Some(thread), state }, (0, 0), 5);
        }
        let sum = |book: &TimeSeriesBook, is_meant: &dyn Fn(&SeriesSubject) -> bool| {
            let numbers = book.numbers.iter().filter(|it| is_meant(&it.0.1));
            numbers.map(|it| it.1).sum::<u64>()
        };
        assert_eq!(sum(&book, &|it| it.thread.is_none()), 1000 - MOST_THREADS as u64);
        assert_eq!(sum(&book, &|it| it.state.is_some()), 5 * MOST_THREADS as u64);
        // They are the same in the series that follow.
        book.clear();
        book.add(SeriesSubject::of(Some(900)), (0, 0), 1);
        book.add(ONE, (0, 0), 1);
        assert_eq!(book.numbers.keys().map(|it| it.1.thread).collect::<Vec<_>>(), [None, Some(1)]);
    }
}
