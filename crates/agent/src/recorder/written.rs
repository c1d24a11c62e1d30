//! Writes exact calls to the file from the trees in which they are counted. A profile with all their
//! paths would take as much memory as the trees.

use std::io::{self, Write};
use std::mem;

use perk_control::options::{Format, Options, TimesForm};
use perk_hprof::{CountedPath, CountedRow, Writer};
use perk_profile::{CallTimes, Metric, Profile, SectionHead, Subject};

use super::calls::{CallBook, ProbeCost};
use super::counted::{CallNodes, Calls};
use super::{File, Recorder, now};

/// The nodes that are written at once: some hundred KB.
const NODES_AT_ONCE: usize = 1 << 13;

/// What a section of calls has so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WrittenCalls {
    /// The sums of the columns.
    totals: [u64; Metric::OF_CALLS.len()],
}

/// The next nodes of a tree, as a file holds them.
#[derive(Debug, Default)]
pub(super) struct Part {
    paths: Vec<CountedPath>,
    rows: Vec<CountedRow<{ Metric::OF_CALLS.len() }>>,
    /// The serial number of the first row's trace.
    serial: u32,
}

/// Whether calls go to the file from their trees: it holds paths node by node, and does not distinguish
/// threads, which have trees one after another.
pub(super) fn are_written(options: &Options) -> bool {
    options.format == Format::Extended
        && options.cpu.times == Some(TimesForm::Times)
        && !options.thread
        && !options.has_peer()
}

impl WrittenCalls {
    fn head(&self) -> SectionHead {
        let mut head = CallTimes { written: Some(now()), ..CallTimes::default() }.head();
        for (column, total) in head.columns.iter_mut().zip(self.totals) {
            column.total = total;
        }
        head
    }

    /// Writes the next nodes of a tree.
    pub(super) fn write<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        profile: &Profile,
        tree: u64,
        part: &Part,
    ) -> io::Result<()> {
        for row in &part.rows {
            for (total, number) in self.totals.iter_mut().zip(row.numbers) {
                *total = total.saturating_add(number);
            }
        }
        if !part.paths.is_empty() {
            writer.paths(profile, tree, &part.paths)?;
        }
        match part.rows.is_empty() {
            true => Ok(()),
            false => writer.counted_rows(profile, &self.head(), tree, part.serial, &part.rows),
        }
    }

    /// Ends the section.
    pub(super) fn end<W: Write>(&self, writer: &mut Writer<W>) -> io::Result<()> {
        writer.end_counted(&self.head())
    }
}

impl Recorder {
    /// Whether the calls of trees up to [`timing_depth`](Self::timing_depth) go to the file from there.
    pub(crate) fn writes_calls(&self) -> bool {
        self.writes_calls
    }

    /// Returns the most frames of a path of calls.
    pub(crate) fn timing_depth(&self) -> usize {
        self.timing_depth
    }

    /// Writes the calls of one tree since the last dump.
    pub(crate) fn write_calls(
        &mut self,
        tree: u64,
        calls: &mut dyn CallNodes,
        cost: ProbeCost,
        written: &mut WrittenCalls,
    ) {
        let mut at = 0;
        while at < calls.count() {
            let File::Begun(writer) = &self.file else { return };
            let known = writer.path_count(tree);
            let mut book = mem::take(&mut self.calls);
            let part = self.next_part(calls, &mut at, known, &mut book, cost);
            self.calls = book;
            self.write(|writer, profile, _| written.write(writer, profile, tree, &part));
        }
    }

    /// Ends the section of calls.
    pub(crate) fn end_calls(&mut self, written: &WrittenCalls) {
        self.write(|writer, _, _| written.end(writer));
        self.has_written_calls = true;
    }

    /// Takes the nodes of a tree from `at` on, which is moved behind them. The file has the first `known`
    /// of its paths.
    pub(super) fn next_part(
        &mut self,
        calls: &mut dyn CallNodes,
        at: &mut usize,
        known: usize,
        book: &mut CallBook,
        cost: ProbeCost,
    ) -> Part {
        let mut part = Part::default();
        let end = calls.count().min(*at + NODES_AT_ONCE);
        for index in *at..end {
            let node = calls.take(index);
            let parent = (node.parent != Calls::NO_PARENT).then_some(node.parent);
            if index >= known {
                let frame = self.call_frame(node.method);
                part.paths.push(CountedPath { parent, frame });
            }
            if node.count > 0 || node.self_ns > 0 {
                let numbers = book.account(&node, calls, cost).numbers();
                let path = Some(index as u32);
                part.rows.push(CountedRow { path, subject: Subject::None, numbers });
            }
        }
        *at = end;
        part.serial = self.profile.take_serials(part.rows.len() as u32);
        part
    }
}
