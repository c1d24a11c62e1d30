//! Writes sections whose call paths are not in a profile: those of the agent's call trees, which have
//! millions of nodes. They go to the file directly, a part at a time.

use std::io::{self, Write};

use perk_profile::{Profile, SectionHead, Subject};

use super::extended::{ExtendedState, section_head};
use super::{Body, Writer, index};
use crate::binary::{AS_COUNTED, HAS_SUBJECTS, IS_LAST, MAY_REPEAT, tag};
use crate::write::only_extended;
use crate::{CountedPath, CountedRow};

impl<W: Write> Writer<W> {
    /// Returns the number of paths of a source that the file has.
    pub fn path_count(&self, source: u64) -> usize {
        self.extended.as_ref().map_or(0, |extended| extended.paths(source).count())
    }

    /// Writes the next paths of a source. A path's parent is the root, or a path of the same source
    /// before it.
    ///
    /// # Errors
    /// The refusal of a file that is not extended; the errors of the sink.
    pub fn paths(
        &mut self,
        profile: &Profile,
        source: u64,
        paths: &[CountedPath],
    ) -> io::Result<()> {
        self.new_frames(profile, paths.iter().map(|path| path.frame))?;
        let extended = self.extended.as_mut().ok_or_else(only_extended)?;
        let body = extended.nodes_of(source, paths);
        self.record_of(tag::NODES, &body.bytes)
    }

    /// Writes rows of a section. Their paths are of a source and in the file, and their traces have the
    /// serial numbers from `serial` on. The head of the last part counts.
    ///
    /// # Errors
    /// As [`paths`](Self::paths).
    pub fn counted_rows(
        &mut self,
        profile: &Profile,
        head: &SectionHead,
        source: u64,
        serial: u32,
        rows: &[CountedRow],
    ) -> io::Result<()> {
        for class in rows.iter().filter_map(|row| row.subject.class()) {
            self.load_class(profile, class)?;
        }
        let extended = self.extended.as_mut().ok_or_else(only_extended)?;
        let (traces, section) = extended.rows_of_source(head, source, serial, rows);
        self.record_of(tag::TRACES, &traces.bytes)?;
        self.record_of(tag::SECTION, &section.bytes)
    }

    /// Ends a section of which there may be parts.
    ///
    /// # Errors
    /// As [`paths`](Self::paths).
    pub fn end_counted(&mut self, head: &SectionHead) -> io::Result<()> {
        self.extended.as_ref().ok_or_else(only_extended)?;
        let section = Body::default().u1(IS_LAST).bytes(&section_head(AS_COUNTED, head).bytes);
        self.record_of(tag::SECTION, &section.bytes)
    }
}

impl ExtendedState {
    /// Returns NODES of further paths of a source.
    fn nodes_of(&mut self, source: u64, paths: &[CountedPath]) -> Body {
        let numbers = self.add_paths(source, paths.len());
        paths.iter().fold(Body::default().u1(IS_LAST), |body, path| {
            let parent = path.parent.map_or(0, |parent| numbers.get(parent as usize));
            body.u4(parent).u4(index(path.frame.index()) as u32)
        })
    }

    /// Returns TRACES and SECTION of rows of a source.
    fn rows_of_source(
        &mut self,
        head: &SectionHead,
        source: u64,
        serial: u32,
        rows: &[CountedRow],
    ) -> (Body, Body) {
        let (first, nodes) = (self.trace_count, self.paths(source));
        self.trace_count += rows.len() as u32;
        let has_subjects = rows.iter().any(|row| row.subject != Subject::None);
        let marks = AS_COUNTED | if has_subjects { HAS_SUBJECTS } else { 0 };
        let mut traces = Body::default().u1(MAY_REPEAT | IS_LAST);
        let mut section = Body::default().u1(0).bytes(&section_head(marks, head).bytes);
        for (index, row) in rows.iter().enumerate() {
            let node = row.path.map_or(0, |path| nodes.get(path as usize));
            traces = traces.u4(serial + index as u32).u4(node).u4(0);
            section = section.u4(first + index as u32);
            if has_subjects {
                section = section.subject(row.subject);
            }
            let numbers = row.numbers.iter().zip(&head.columns);
            section = numbers.fold(section, |body, (&number, _)| body.u8(number));
        }
        (traces, section)
    }
}
