//! The wall-clock time of threads, by trace and state.

use perk_profile::{Column, Key, Metric, Section, SectionHead, Subject, TraceId, WallState};
use rustc_hash::FxHashMap;

use super::{Recorder, now};

/// The times since the last dump; see the module.
#[derive(Debug, Default)]
pub(super) struct WallBook {
    rows: FxHashMap<(TraceId, WallState), u64>,
    /// The time booked since the start.
    pub(super) total_ns: u64,
}

impl WallBook {
    /// Forgets the times since the last dump.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
    }

    /// Returns the section of the times, most first.
    pub(super) fn section(&self) -> Section {
        let mut rows: Vec<_> = self.rows.iter().map(|(&key, &ns)| (key, ns)).collect();
        rows.sort_unstable_by_key(|&((trace, state), ns)| (std::cmp::Reverse(ns), trace, state));
        let total = rows.iter().map(|row| row.1).fold(0, u64::saturating_add);
        let mut head = SectionHead::new([Column::new(Metric::WallTime, total)]);
        head.written = Some(now());
        let rows = rows
            .into_iter()
            .map(|((trace, state), ns)| (Key::new(trace, Subject::State(state)), [ns]));
        Section::with_rows(head, rows)
    }
}

impl Recorder {
    /// Books a time of a thread.
    pub(crate) fn book_wall(&mut self, trace: TraceId, state: WallState, ns: u64) {
        if ns > 0 {
            *self.wall.rows.entry((trace, state)).or_default() += ns;
            self.wall.total_ns += ns;
        }
    }

    /// Writes the times, most first; the next section begins from zero.
    pub(super) fn write_wall(&mut self) {
        let section = self.wall.section();
        self.wall.clear();
        self.write(|writer, profile, _| writer.section(profile, &section));
    }
}
