//! The table of `cpu=old`, which follows the other sections of a dump.

use perk_profile::{CallEdges, Event};

use super::contents::Contents;
use super::section::SectionReader;
use crate::lines::text;
use crate::old;

/// The rows of the table so far.
#[derive(Default)]
pub(super) struct CallsSection {
    edges: CallEdges,
}

impl SectionReader for CallsSection {
    fn title(&self) -> &'static str {
        old::TITLE.trim_end()
    }

    fn has_end(&self) -> bool {
        false
    }

    fn columns(&self) -> &'static str {
        self.title()
    }

    fn row(&mut self, line: &[u8], contents: &mut Contents) -> Result<bool, String> {
        let row = old::row(&text(line), &mut contents.profile, &mut contents.notes.wrapped);
        let is_row = row.is_some();
        self.edges.rows.extend(row);
        Ok(is_row)
    }

    fn close(self: Box<Self>, contents: &mut Contents) {
        let section = self.edges.section(&mut contents.profile);
        contents.profile.events.push(Event::Section(section));
    }
}
