//! Writes exact calls to the file from the trees in which they are counted. A profile with all their
//! paths would take as much memory as the trees.

mod sites;

use std::io::{self, Write};
use std::mem;

use perk_control::options::{Format, Options, TimesForm};
use perk_hprof::{CountedPath, CountedRow, Writer};
use perk_profile::{CallTimes, Profile, SectionHead, Subject};

pub(crate) use self::sites::{CountedSite, SiteCallers, SiteStream};
use super::calls::{CallBook, ProbeCost};
use super::counted::{CallNodes, Calls};
use super::{File, Recorder, now};

/// The nodes that are written at once: some hundred KB.
const NODES_AT_ONCE: usize = 1 << 13;

/// A section that is written part by part. The totals of its columns are those of the rows so far.
#[derive(Clone, Debug)]
pub(crate) struct CountedSection {
    head: SectionHead,
}

/// The next paths of a source and the rows of some of them, as a file holds them.
#[derive(Debug, Default)]
pub(super) struct Part {
    paths: Vec<CountedPath>,
    rows: Vec<CountedRow>,
    /// The serial number of the first row's trace.
    serial: u32,
}

/// Whether what trees count goes to the file from there: it holds paths node by node, and does not
/// distinguish threads, which have trees one after another.
fn is_from_trees(options: &Options) -> bool {
    options.format == Format::Extended && !options.thread && !options.has_peer()
}

/// Whether calls go to the file from their trees.
pub(super) fn writes_calls(options: &Options) -> bool {
    is_from_trees(options) && options.cpu.times == Some(TimesForm::Times)
}

/// Whether allocation sites go to the file from their trees. Heap dumps give objects the traces of the
/// profile.
pub(super) fn writes_sites(options: &Options) -> bool {
    let are_exact = options.heap_sites && options.heap_sample_bytes.is_none();
    is_from_trees(options) && are_exact && !options.heap_dump && !options.aprof
}

impl CountedSection {
    /// Begins a section of calls.
    pub(crate) fn of_calls() -> Self {
        Self { head: CallTimes { written: Some(now()), ..CallTimes::default() }.head() }
    }

    /// Writes the next paths of a source, and their rows.
    pub(super) fn write<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        profile: &Profile,
        source: u64,
        part: &Part,
    ) -> io::Result<()> {
        for row in &part.rows {
            for (column, number) in self.head.columns.iter_mut().zip(row.numbers) {
                column.total = column.total.saturating_add(number);
            }
        }
        if !part.paths.is_empty() {
            writer.paths(profile, source, &part.paths)?;
        }
        match part.rows.is_empty() {
            true => Ok(()),
            false => writer.counted_rows(profile, &self.head, source, part.serial, &part.rows),
        }
    }

    /// Ends the section.
    pub(super) fn end<W: Write>(&self, writer: &mut Writer<W>) -> io::Result<()> {
        writer.end_counted(&self.head)
    }
}

impl Recorder {
    /// Whether the calls of trees up to [`timing_depth`](Self::timing_depth) go to the file from there.
    pub(crate) fn writes_calls(&self) -> bool {
        self.writes_calls
    }

    /// Whether the sites of trees up to [`site_depth`](Self::site_depth) go to the file from there.
    pub(crate) fn writes_sites(&self) -> bool {
        self.writes_sites
    }

    /// Returns the most frames of a path of sites.
    pub(crate) fn site_depth(&self) -> usize {
        self.site_depth
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
        section: &mut CountedSection,
    ) {
        let mut at = 0;
        while at < calls.count() {
            let File::Begun(writer) = &self.file else { return };
            let known = writer.path_count(tree);
            let mut book = mem::take(&mut self.calls);
            let part = self.next_part(calls, &mut at, known, &mut book, cost);
            self.calls = book;
            self.write(|writer, profile, _| section.write(writer, profile, tree, &part));
        }
    }

    /// Ends the section of calls.
    pub(crate) fn end_calls(&mut self, section: &CountedSection) {
        self.write(|writer, _, _| section.end(writer));
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
                let [count, self_ns, total_ns] = book.account(&node, calls, cost).numbers();
                let numbers = [count, self_ns, total_ns, 0];
                let path = Some(index as u32);
                part.rows.push(CountedRow { path, subject: Subject::None, numbers });
            }
        }
        *at = end;
        part.serial = self.profile.take_serials(part.rows.len() as u32);
        part
    }
}
