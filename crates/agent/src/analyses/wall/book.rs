//! The wall-clock time of threads, by trace and state.

use std::cmp::Reverse;
use std::io;
use std::sync::Mutex;

use perk_jvm::sync::lock;
use perk_profile::{
    Accounting, Column, Key, Metric, Section, SectionHead, Subject, TraceId, WallState,
};
use rustc_hash::FxHashMap;

use crate::recorder::{Book, DumpSection, Place, Recorder, Sections, now};

/// The times since the last dump; see the module.
#[derive(Debug, Default)]
pub(super) struct WallBook(Mutex<WallTimes>);

#[derive(Debug, Default)]
struct WallTimes {
    rows: FxHashMap<(TraceId, WallState), u64>,
    /// The time booked since the start.
    total_ns: u64,
}

impl WallBook {
    /// Books times of threads.
    pub(super) fn book(&self, times: impl Iterator<Item = (TraceId, WallState, u64)>) {
        let mut book = lock(&self.0);
        for (trace, state, ns) in times {
            *book.rows.entry((trace, state)).or_default() += ns;
            book.total_ns += ns;
        }
    }
}

impl WallTimes {
    /// Returns the section of the times, most first.
    fn section(&self) -> Section {
        let mut rows: Vec<_> = self.rows.iter().map(|(&key, &ns)| (key, ns)).collect();
        rows.sort_unstable_by_key(|&((trace, state), ns)| (Reverse(ns), trace, state));
        let total = rows.iter().map(|row| row.1).fold(0, u64::saturating_add);
        let mut head = SectionHead::new([Column::new(Metric::WallTime, total)]);
        head.written = Some(now());
        let rows = rows
            .into_iter()
            .map(|((trace, state), ns)| (Key::new(trace, Subject::State(state)), [ns]));
        Section::with_rows(head, rows)
    }
}

impl Book for WallBook {
    fn place(&self) -> Place {
        Place::Wall
    }

    fn write(&self, recorder: &mut Recorder, sections: &mut Sections<'_>) -> io::Result<()> {
        let mut book = lock(&self.0);
        let section = book.section();
        if !sections.are_of_flush() {
            book.rows.clear();
        }
        sections.put(recorder, DumpSection::Other(&section))
    }

    fn account(&self, accounting: &mut Accounting, _: bool) {
        accounting.wall_thread_ns = lock(&self.0).total_ns;
    }

    fn reset(&self, _: bool) {
        self.release();
    }

    fn release(&self) {
        *lock(&self.0) = WallTimes::default();
    }
}
