//! The times of a metric's numbers, as readers find them.

use perk_profile::{Metric, Profile, TICK_NS, Timeline, TimelineHead, TimelineRow, TraceId};

/// Collects the times of a metric's numbers.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// The numbers, with nanoseconds in place of ticks.
    rows: Vec<TimelineRow>,
}

impl Times {
    /// Adds a number at a trace, at a time in nanoseconds by any clock. Times may come in any order.
    pub(crate) fn add(&mut self, profile: &Profile, trace: TraceId, count: u64, time_ns: u64) {
        let thread = profile.get_trace(trace).thread;
        self.rows.push(TimelineRow { tick: time_ns, thread, trace, count });
    }

    /// Adds the numbers of others, each `times` times.
    pub(crate) fn add_all(&mut self, others: &Self, times: u64) {
        let row =
            |row: &TimelineRow| TimelineRow { count: row.count.saturating_mul(times), ..*row };
        self.rows.extend(others.rows.iter().map(row));
    }

    /// Returns the timeline of a recording from `begin_ns` to `end_ns`, or to the last number if it is
    /// later; `None` without numbers. Numbers from before have the time of the start.
    pub(crate) fn timeline(
        mut self,
        metric: Metric,
        begin_ns: u64,
        end_ns: u64,
    ) -> Option<Timeline> {
        self.rows.retain(|row| row.count > 0);
        for row in &mut self.rows {
            row.tick = row.tick.saturating_sub(begin_ns) / TICK_NS;
        }
        self.rows.sort_unstable();
        self.rows.dedup_by(|next, row| {
            let is_same = (next.tick, next.thread, next.trace) == (row.tick, row.thread, row.trace);
            if is_same {
                row.count = row.count.saturating_add(next.count);
            }
            is_same
        });
        let last = self.rows.last()?.tick;
        let end_ns =
            end_ns.saturating_sub(begin_ns).max(last.saturating_add(1).saturating_mul(TICK_NS));
        let head = TimelineHead { metric, tick_ns: TICK_NS, begin_ns: 0, end_ns };
        Some(Timeline { head, rows: self.rows.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_tick_are_one_row() {
        let mut profile = Profile::default();
        let trace = profile.trace(profile.tree.root(), None);
        let mut times = Times::default();
        for (ms, count) in [(1025, 1), (1001, 2), (900, 4), (1009, u64::MAX), (1500, 0)] {
            times.add(&profile, trace, count, ms * 1_000_000);
        }
        let mut twice = Times::default();
        twice.add_all(&times, 2);
        assert_eq!(twice.rows[1].count, 4);
        let timeline = times.timeline(Metric::Samples, 1_000_000_000, 0).unwrap();
        let rows: Vec<_> = timeline.rows.iter().map(|row| (row.tick, row.count)).collect();
        assert_eq!(rows, [(0, u64::MAX), (2, 1)]);
        assert_eq!((timeline.head.tick_ns, timeline.head.end_ns), (TICK_NS, 3 * TICK_NS));
        assert_eq!(Times::default().timeline(Metric::Samples, 0, 5), None);
    }
}
