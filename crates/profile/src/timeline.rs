//! Times of samples: how many were taken of each trace and thread in each tick of a recording.

use crate::{Metric, Shared, ThreadId, TraceId};

/// The length of a tick, in nanoseconds. A recording of very many samples has longer ones.
pub const TICK_NS: u64 = 10_000_000;

/// The limit of the length of a tick: about three hours. Further samples have no time.
const MAX_TICK_NS: u64 = TICK_NS << 20;
/// Rows of the same tick among which a new sample looks for its own.
const RECENT_ROWS: usize = 64;

/// When the samples of a section were taken. Several add up, as sections do: the samples of one are
/// not those of another.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// The clocks and the metric.
    pub head: TimelineHead,
    /// The samples, in order of time.
    pub rows: Shared<Vec<TimelineRow>>,
}

/// What all rows of a [`Timeline`] have in common. Times are since the recording's start, which in
/// perk's own files is the start of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineHead {
    /// The metric of the numbers.
    pub metric: Metric,
    /// The length of a tick, in nanoseconds; not 0.
    pub tick_ns: u64,
    /// The start of tick 0, in nanoseconds.
    pub begin_ns: u64,
    /// The time up to which samples were recorded, in nanoseconds.
    pub end_ns: u64,
}

/// Samples of one trace and thread in one tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimelineRow {
    /// The number of the tick.
    pub tick: u64,
    /// The thread, also where traces do not distinguish threads; `None` if it is not known.
    pub thread: Option<ThreadId>,
    /// The trace.
    pub trace: TraceId,
    /// The number of samples.
    pub count: u64,
}

impl Timeline {
    /// Makes ticks at least this long, and as many times longer as that takes.
    pub fn coarsen(&mut self, least_ns: u64) {
        let times = least_ns.div_ceil(self.head.tick_ns.max(1)).max(1);
        self.head.tick_ns = self.head.tick_ns.saturating_mul(times);
        self.rows.iter_mut().for_each(|row| row.tick /= times);
        self.rows.sort_unstable();
        self.rows.dedup_by(|next, row| {
            let is_same = (next.tick, next.thread, next.trace) == (row.tick, row.thread, row.trace);
            row.count = row.count.saturating_add(if is_same { next.count } else { 0 });
            is_same
        });
    }
}

impl TimelineHead {
    /// The time at which a tick begins, in nanoseconds since the recording's start.
    pub fn time_ns(&self, tick: u64) -> u64 {
        self.begin_ns.saturating_add(tick.saturating_mul(self.tick_ns))
    }
}

impl Timeline {
    /// The samples of all rows.
    pub fn total(&self) -> u64 {
        self.rows.iter().map(|row| row.count).fold(0, u64::saturating_add)
    }

    /// Keeps the ticks that begin from `from_ns` on and before `to_ns`, in nanoseconds since the
    /// recording's start. So windows that meet share no sample.
    pub fn retain_window(&mut self, from_ns: u64, to_ns: u64) {
        let head = &self.head;
        let before = from_ns.saturating_sub(head.begin_ns).div_ceil(head.tick_ns);
        let begin_ns = head.time_ns(before);
        let rows = self.rows.iter();
        let inside = rows.filter(|row| (from_ns..to_ns).contains(&head.time_ns(row.tick)));
        self.rows = inside.map(|row| TimelineRow { tick: row.tick - before, ..*row }).collect();
        self.head.begin_ns = begin_ns;
        self.head.end_ns = self.head.end_ns.min(to_ns).max(from_ns);
    }
}

/// Samples of one trace and thread in one tick, as they are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimedSamples {
    /// The number of the tick.
    pub tick: u32,
    /// The number of the thread in the terms of the collector's user.
    pub thread: u32,
    /// The trace.
    pub trace: TraceId,
    /// The number of samples; a larger number takes several rows.
    pub count: u32,
}

/// A collector of times, with a limit of its memory. Where the limit is reached, ticks become
/// longer, so that rows of neighbouring ticks are added up.
#[derive(Debug)]
pub struct TimelineBook {
    tick_ns: u64,
    rows: Vec<TimedSamples>,
    max_rows: usize,
    /// Whether no longer tick makes room.
    is_full: bool,
}

impl Default for TimelineBook {
    /// A collector without a limit.
    fn default() -> Self {
        Self::with_limit(usize::MAX)
    }
}

impl TimelineBook {
    /// Makes a collector of at most `max_rows` rows, of 16 bytes each.
    pub fn with_limit(max_rows: usize) -> Self {
        Self { tick_ns: TICK_NS, rows: Vec::new(), max_rows, is_full: false }
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds samples that were taken `time_ns` after the recording's start. Times may come in any
    /// order; they take least memory in the order of time.
    pub fn add(&mut self, time_ns: u64, thread: u32, trace: TraceId, count: u64) {
        let tick = u32::try_from(time_ns / self.tick_ns).unwrap_or(u32::MAX);
        let recent = self.rows.iter_mut().rev().take(RECENT_ROWS);
        let mut recent = recent.take_while(|row| row.tick == tick);
        let own = recent.find(|row| row.trace == trace && row.thread == thread);
        if let Some(row) = own
            && let Some(sum) = u32::try_from(count).ok().and_then(|it| row.count.checked_add(it))
        {
            row.count = sum;
            return;
        }
        let mut left = count;
        while left > 0 {
            if self.rows.len() >= self.max_rows {
                self.coarsen();
            }
            if self.is_full {
                return;
            }
            let count = u32::try_from(left).unwrap_or(u32::MAX);
            let tick = u32::try_from(time_ns / self.tick_ns).unwrap_or(u32::MAX);
            self.rows.push(TimedSamples { tick, thread, trace, count });
            left -= u64::from(count);
        }
    }

    /// Makes a quarter of the room free. Each step is twice as many times longer than the one before
    /// it, as sorting takes a while.
    fn coarsen(&mut self) {
        let enough = self.max_rows - self.max_rows / 4;
        self.merge();
        let mut shift = 1;
        while self.rows.len() > enough && !self.is_full {
            let most = (MAX_TICK_NS / self.tick_ns).ilog2();
            shift = shift.min(most);
            self.is_full = shift == 0;
            self.tick_ns <<= shift;
            self.rows.iter_mut().for_each(|row| row.tick >>= shift);
            self.merge();
            shift *= 2;
        }
        self.is_full &= self.rows.len() >= self.max_rows;
    }

    /// Sorts the rows and adds up those of the same tick, thread and trace.
    fn merge(&mut self) {
        self.rows.sort_unstable();
        self.rows.dedup_by(|next, row| {
            let is_same = (next.tick, next.thread, next.trace) == (row.tick, row.thread, row.trace);
            match row.count.checked_add(next.count).filter(|_| is_same) {
                Some(sum) => {
                    row.count = sum;
                    true
                }
                None => false,
            }
        });
    }

    /// Returns the length of a tick and the samples so far in order of time.
    pub fn rows(&mut self) -> (u64, &[TimedSamples]) {
        self.merge();
        (self.tick_ns, &self.rows)
    }

    /// Returns the length of a tick and the samples in order of time, and begins anew.
    pub fn take(&mut self) -> (u64, Vec<TimedSamples>) {
        self.merge();
        let taken = std::mem::replace(self, Self::with_limit(self.max_rows));
        (taken.tick_ns, taken.rows)
    }

    /// Forgets all samples.
    pub fn clear(&mut self) {
        *self = Self::with_limit(self.max_rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(index: usize) -> TraceId {
        TraceId::new(index)
    }

    fn sum(rows: &[TimedSamples]) -> u64 {
        rows.iter().map(|row| u64::from(row.count)).sum()
    }

    #[test]
    fn samples_of_a_tick_are_one_row() {
        let mut book = TimelineBook::default();
        for (ms, thread, index, count) in
            [(1, 7, 1, 1), (9, 7, 1, 2), (9, 8, 1, 4), (25, 7, 1, 8), (3, 7, 1, 16), (3, 7, 2, 0)]
        {
            book.add(ms * 1_000_000, thread, trace(index), count);
        }
        let (tick_ns, rows) = book.take();
        let rows: Vec<_> = rows.iter().map(|it| (it.tick, it.thread, it.count)).collect();
        assert_eq!((tick_ns, rows), (TICK_NS, vec![(0, 7, 19), (0, 8, 4), (2, 7, 8)]));
        assert!(book.is_empty());
    }

    #[test]
    fn ticks_become_longer_at_the_limit_and_nothing_is_lost() {
        let mut book = TimelineBook::with_limit(100);
        for tick in 0..10_000 {
            book.add(tick * TICK_NS, 1, trace((tick % 3) as usize), 1);
            assert!(book.rows.len() <= 100);
        }
        let (tick_ns, rows) = book.take();
        assert_eq!(sum(&rows), 10_000);
        assert!(tick_ns > 64 * TICK_NS && tick_ns <= 1024 * TICK_NS, "{tick_ns}");
        assert!(rows.len() > 10 && rows.is_sorted());
        book.add(0, 1, trace(1), 1);
        assert_eq!(book.take().0, TICK_NS, "each begins with fine ticks");
    }

    #[test]
    fn more_traces_than_rows_have_no_time() {
        let mut book = TimelineBook::with_limit(100);
        (0..1000).for_each(|index| book.add(index * TICK_NS, 1, trace(index as usize), 1));
        let (tick_ns, rows) = book.take();
        assert_eq!((tick_ns, rows.len()), (MAX_TICK_NS, 100));
    }

    #[test]
    fn large_counts_take_several_rows() {
        let mut book = TimelineBook::default();
        book.add(0, 1, trace(1), u64::from(u32::MAX) + 5);
        book.add(0, 1, trace(1), 5);
        assert_eq!(sum(&book.take().1), u64::from(u32::MAX) + 10);
    }

    #[test]
    fn samples_of_longer_ticks_add_up() {
        let rows = [(3, 1, 2), (7, 2, 1), (9, 1, 4), (10, 1, 8)];
        let rows = rows.map(|(tick, index, count)| TimelineRow {
            tick,
            thread: None,
            trace: trace(index),
            count,
        });
        let (metric, tick_ns) = (Metric::Samples, TICK_NS);
        let head = TimelineHead { metric, tick_ns, begin_ns: 5, end_ns: 11 * TICK_NS };
        let mut timeline = Timeline { head, rows: rows.to_vec().into() };
        timeline.coarsen(9 * TICK_NS + 1);
        assert_eq!(timeline.head.tick_ns, 10 * TICK_NS);
        let rows: Vec<_> = timeline.rows.iter().map(|row| (row.tick, row.count)).collect();
        assert_eq!(rows, [(0, 6), (0, 1), (1, 8)]);
    }

    #[test]
    fn windows_that_meet_share_nothing() {
        let head = TimelineHead {
            metric: Metric::Samples,
            tick_ns: TICK_NS,
            begin_ns: 0,
            end_ns: 1_000_000_000,
        };
        let row = |tick| TimelineRow { tick, thread: None, trace: trace(1), count: 1 };
        let whole = Timeline { head, rows: (0..100).map(row).collect() };
        assert_eq!((whole.head.end_ns, whole.total()), (1_000_000_000, 100));
        let part = |from_ns, to_ns| {
            let mut part = whole.clone();
            part.retain_window(from_ns, to_ns);
            let first = part.rows.first().map(|row| part.head.time_ns(row.tick));
            assert_eq!(first, Some(part.head.begin_ns));
            (part.total(), part.head.end_ns)
        };
        assert_eq!(part(0, 500_000_000), (50, 500_000_000));
        assert_eq!(part(500_000_000, u64::MAX), (50, 1_000_000_000));
        assert_eq!(part(495_000_001, 505_000_000), (1, 505_000_000));
    }
}
