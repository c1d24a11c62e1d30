//! What is shown without a view: suspects, the biggest objects, classes.

use perk_render::{Json, LazyTable, Part, Section};

use super::groups::Groups;
use super::objects::Objects;
use super::suspects::{SHARE_WORDS, Suspects};
use super::table::{DumpContent, HeapTable};

/// The rows of the biggest objects and of the classes.
const ROWS: usize = 10;

/// The overview of a dump.
pub(super) struct Overview<'c> {
    suspects: Suspects<'c>,
    biggest: Objects<'c>,
    classes: Groups<'c>,
    top: Option<usize>,
}

impl<'c> Overview<'c> {
    pub(super) fn new(content: &'c DumpContent<'c>) -> anyhow::Result<Self> {
        let count = content.top.unwrap_or(ROWS);
        let biggest = match content.is_text {
            true => Objects::of_biggest_kinds(content, count, "Biggest objects (--biggest)")?,
            false => Objects::of_biggest(content, count, "Biggest objects")?,
        };
        Ok(Self {
            suspects: Suspects::new(content)?,
            biggest,
            classes: Groups::classes(content),
            top: content.top,
        })
    }
}

impl HeapTable for Overview<'_> {
    fn key(&self) -> &'static str {
        self.classes.key()
    }

    fn table(&self) -> LazyTable<'_> {
        self.classes.table()
    }

    fn sections(&self, _: usize) -> Vec<Section> {
        let top = self.top.unwrap_or(ROWS);
        let suspects = match self.suspects.is_empty() {
            true => Part::Sentence(format!(
                "Leak suspects: none; no object and no class holds {SHARE_WORDS} of what is reachable."
            )),
            false => Part::table(self.suspects.table()),
        };
        vec![
            vec![suspects],
            vec![Part::table(self.biggest.table().top(top))],
            vec![Part::table(
                self.classes.headed("Classes by what their instances retain (--classes)").top(top),
            )],
        ]
    }

    fn members(&self, top: usize) -> Vec<(&'static str, Json)> {
        vec![
            ("suspects", self.suspects.table().into()),
            ("biggest", self.biggest.table().top(top).into()),
            ("classes", self.classes.table().top(top).into()),
        ]
    }
}
