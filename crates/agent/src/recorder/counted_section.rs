//! Sections that go to the file part by part, from where they are counted. A profile with all their paths
//! would take as much memory as the trees.

use std::io;

use perk_hprof::{CountedPath, CountedRow, Writer};
use perk_profile::{Profile, SectionHead};

use crate::output::Output;

/// The nodes that are written at once: some hundred KB.
pub(crate) const NODES_AT_ONCE: usize = 1 << 13;

/// A section that is written part by part. The totals of its columns are those of the rows so far.
#[derive(Clone, Debug)]
pub(crate) struct CountedSection {
    head: SectionHead,
}

/// The next paths of a source and the rows of some of them, as a file holds them.
#[derive(Debug, Default)]
pub(crate) struct CountedPart {
    pub(crate) paths: Vec<CountedPath>,
    pub(crate) rows: Vec<CountedRow>,
    /// The serial number of the first row's trace.
    pub(crate) serial: u32,
}

impl CountedSection {
    /// Begins a section.
    pub(crate) fn new(head: SectionHead) -> Self {
        Self { head }
    }

    /// Writes the next paths of a source, and their rows.
    pub(crate) fn write(
        &mut self,
        writer: &mut Writer<Output>,
        profile: &Profile,
        source: u64,
        part: &CountedPart,
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
    pub(crate) fn end(&self, writer: &mut Writer<Output>) -> io::Result<()> {
        writer.end_counted(&self.head)
    }
}
