//! Books: what the analyses have measured and no dump has yet.
//!
//! A book belongs to the analysis that fills it, and writes its own sections. The recorder gives it
//! the symbols, the call tree and the file. A book has a lock of its own, which is taken while the
//! recorder is locked, so what is booked and the traces it is booked on are always of one moment.

use std::io;

use perk_hprof::{TimedRow, Writer};
use perk_profile::{
    Accounting, CallEdges, CallTimes, CpuSamples, MonitorTimes, Pause, Profile, Section,
    SiteSelection, Sites, TimeSeries, TimedSamples, TimelineHead,
};

use super::Recorder;
use crate::output::Output;

/// The place of a book's sections in a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Waits,
    Sites,
    Samples,
    Wall,
    /// The CPU time of the JVM's own threads.
    NativeTime,
    Calls,
    Pauses,
    Series,
    /// All of a file that has no sections.
    Jamaica,
}

/// What a peer asks of the books.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Inquiry {
    /// To write the sites of objects now.
    Sites { selection: SiteSelection, cutoff: f64 },
    /// To write the number of objects; `live` has the number and size of the live ones if these are known
    /// better than from the sites.
    HeapSummary { live: Option<(u64, u64)> },
    /// To write the samples since the last dump, which still count for the next one.
    Samples { cutoff: f64 },
    /// To write samples at each dump from now on.
    BeginSamples,
    /// To forget the samples and calls since the last dump.
    ClearCpu,
    /// To count allocations from now on or no more.
    CountSites(bool),
    /// To count allocations from now on, beside the objects that live.
    ClearSites,
}

/// What an analysis has measured; see the module. The recorder is locked during each call but
/// [`release`](Self::release), so none may call the JVM.
#[expect(unused_variables, reason = "most books leave most methods out")]
pub(crate) trait Book: Sync {
    /// Returns the place of its sections in a dump.
    fn place(&self) -> Place;

    /// Writes its sections. Unless they are those of a flush, the next ones begin from zero.
    ///
    /// # Errors
    /// The error of the system, if they are those of a flush.
    fn write(&self, recorder: &mut Recorder, sections: &mut Sections<'_>) -> io::Result<()>;

    /// Adds its counts since the start to the accounting of a dump or, if `is_flush` is set, of a flush.
    fn account(&self, accounting: &mut Accounting, is_flush: bool) {}

    /// Returns the text that a dump prints on stdout.
    fn text(&self, recorder: &mut Recorder, last: bool) -> Option<Vec<u8>> {
        None
    }

    /// Does what a peer asks for.
    fn answer(&self, recorder: &mut Recorder, inquiry: Inquiry) {}

    /// Drops what is booked anew for each dump.
    fn drop_gathered(&self) {}

    /// Forgets what was booked so far. Objects that live count as allocated from now on if `with_live`
    /// is set.
    fn reset(&self, with_live: bool) {}

    /// Gives up its memory: the session has ended.
    fn release(&self) {}
}

/// A section of a dump.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DumpSection<'a> {
    Sites(&'a Sites),
    Samples(&'a CpuSamples),
    Timeline(&'a TimelineHead, &'a [TimedSamples]),
    Pauses(&'a [Pause]),
    TimeSeries(&'a TimeSeries),
    Times(&'a CallTimes),
    Edges(&'a CallEdges),
    Waits(&'a MonitorTimes),
    Other(&'a Section),
}

impl DumpSection<'_> {
    fn write(self, writer: &mut Writer<Output>, profile: &mut Profile) -> io::Result<()> {
        match self {
            Self::Sites(sites) => writer.sites(profile, sites),
            Self::Samples(samples) => writer.cpu_samples(profile, samples),
            Self::Timeline(head, rows) => writer.timeline(profile, head, rows.iter().map(timed)),
            Self::Pauses(pauses) => writer.pauses(pauses),
            Self::TimeSeries(series) => writer.time_series(series),
            Self::Times(times) => writer.call_times(profile, times),
            Self::Edges(edges) => writer.call_edges(profile, edges),
            Self::Waits(times) => writer.monitor_times(profile, times),
            Self::Other(section) => writer.section(profile, section),
        }
    }
}

/// The destination of sections: the file, or a flush, which shows them and leaves the books as they are.
#[derive(Debug)]
pub(crate) struct Sections<'a> {
    copy: Option<&'a mut Writer<Output>>,
}

impl<'a> Sections<'a> {
    pub(super) fn of_file() -> Self {
        Self { copy: None }
    }

    pub(super) fn of_flush(copy: &'a mut Writer<Output>) -> Self {
        Self { copy: Some(copy) }
    }

    /// Whether they are those of a flush.
    pub(crate) fn are_of_flush(&self) -> bool {
        self.copy.is_some()
    }

    /// Writes a section.
    ///
    /// # Errors
    /// The error of the system, if it is for a flush. The recorder reports those of the file.
    pub(crate) fn put(
        &mut self,
        recorder: &mut Recorder,
        section: DumpSection<'_>,
    ) -> io::Result<()> {
        match &mut self.copy {
            Some(copy) => section.write(copy, &mut recorder.profile),
            None => {
                recorder.write_section(section);
                Ok(())
            }
        }
    }
}

impl Recorder {
    /// Writes a section to the file.
    pub(crate) fn write_section(&mut self, section: DumpSection<'_>) {
        self.write(|writer, profile, _| section.write(writer, profile));
    }
}

/// Returns the row of a file for samples.
fn timed(row: &TimedSamples) -> TimedRow {
    TimedRow {
        tick: row.tick.into(),
        thread: row.thread,
        trace: row.trace,
        count: row.count.into(),
    }
}
