//! The times of samples, which only the extended format holds.

use perk_control::options::{Format, Options};
use perk_hprof::TimedRow;
use perk_profile::{Metric, TimedSamples, TimelineBook, TimelineHead, TraceId};

use super::Recorder;
use crate::os;
use crate::roster::Slot;

/// The bytes of `memlimit` for each row between two dumps, which has 16: less than a trace takes, so
/// that there are more rows than traces. By default they are two million: at 10 ms of CPU time per
/// sample six hours of CPU time with a precision of 10 ms, and longer with less of it.
const LIMIT_BYTES_PER_ROW: u64 = 128;

/// Returns the book of the times, if the output holds them.
pub(super) fn book(options: &Options) -> Option<TimelineBook> {
    let rows = options.trace_limit_bytes().div_ceil(LIMIT_BYTES_PER_ROW);
    let max_rows = usize::try_from(rows).unwrap_or(usize::MAX);
    (options.format == Format::Extended).then(|| TimelineBook::with_limit(max_rows))
}

impl Recorder {
    /// Books when samples were taken. The thread of a trace is known better than the one whose CPU
    /// time it was: it may be a virtual thread.
    pub(super) fn book_time(&mut self, trace: TraceId, thread: Slot, count: u64, at_ns: u64) {
        if count == 0 || self.timeline.is_none() {
            return;
        }
        let of_trace = self.profile.get_trace(trace).thread;
        let serial = match of_trace {
            Some(thread) => self.profile.get_thread(thread).serial,
            None => {
                self.announce(thread);
                self.roster.serial(thread)
            }
        };
        let since_begin_ns = at_ns.saturating_sub(self.begun_ns);
        if let Some(timeline) = &mut self.timeline {
            timeline.add(since_begin_ns, serial, trace, count);
        }
    }

    /// Writes the times of the samples since the last dump.
    pub(super) fn write_timeline(&mut self) {
        let Some(timeline) = &mut self.timeline else { return };
        let (tick_ns, rows) = timeline.take();
        let head = self.timeline_head(tick_ns);
        let rows = rows.iter().map(timed_row);
        self.write(|writer, profile, _| writer.timeline(profile, &head, rows));
    }

    pub(super) fn timeline_head(&self, tick_ns: u64) -> TimelineHead {
        let end_ns = os::nano_time().saturating_sub(self.begun_ns);
        TimelineHead { metric: Metric::Samples, tick_ns, begin_ns: 0, end_ns }
    }

    /// Forgets the times of the samples since the last dump.
    pub(super) fn forget_times(&mut self) {
        if let Some(timeline) = &mut self.timeline {
            timeline.clear();
        }
    }
}

/// Returns the row of a file for samples.
pub(super) fn timed_row(row: &TimedSamples) -> TimedRow {
    TimedRow {
        tick: row.tick.into(),
        thread: row.thread,
        trace: row.trace,
        count: row.count.into(),
    }
}
