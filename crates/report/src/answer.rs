//! What a view found.

use perk_render::{Json, Screen, Section, Table};

/// The forms in which an answer is wanted; each costs time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    /// Sections of tables and sentences for people.
    pub text: bool,
    /// One table, with all rows.
    pub table: bool,
    /// A document for other programs.
    pub document: bool,
    /// A document with what matters most of a profile, and the names of the views that it has.
    pub overview: bool,
    /// An HTML page, of views that have one.
    pub page: bool,
    /// That the sections are for a comment of a few lines: what decides is above what explains.
    pub comment: bool,
}

impl Want {
    const NOTHING: Self = Self {
        text: false,
        table: false,
        document: false,
        overview: false,
        page: false,
        comment: false,
    };
    /// Text for people.
    pub const TEXT: Self = Self { text: true, ..Self::NOTHING };
    /// Text for a comment.
    pub const COMMENT: Self = Self { text: true, comment: true, ..Self::NOTHING };
    /// One table.
    pub const TABLE: Self = Self { table: true, ..Self::NOTHING };
    /// A document.
    pub const DOCUMENT: Self = Self { document: true, ..Self::NOTHING };
    /// What matters most.
    pub const OVERVIEW: Self = Self { overview: true, ..Self::NOTHING };
    /// An HTML page.
    pub const PAGE: Self = Self { page: true, ..Self::NOTHING };
}

impl Default for Want {
    fn default() -> Self {
        Self::TEXT
    }
}

/// A limit of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The limit, as it was asked for.
    pub limit: String,
    /// Whether it is kept.
    pub is_kept: bool,
    /// Its numbers in a line.
    pub text: String,
}

/// What a view found, in the forms that were wanted. It owns all it needs.
#[derive(Debug, Default)]
pub struct Answer {
    /// What a reader of the numbers must know and the forms have no place for, in lines.
    pub notes: Vec<String>,
    /// What was asked for and is not there, in lines.
    pub missing: Vec<String>,
    /// Whether the profiles of a comparison differ, or differ past a limit.
    pub differs: bool,
    /// The limits of a comparison.
    pub checks: Vec<Check>,
    /// For people.
    pub sections: Vec<Section>,
    /// One table; `None` where it was not wanted, or there is nothing of it.
    pub table: Option<Table>,
    /// A document; `None` where it was not wanted.
    pub document: Option<Json>,
    /// An HTML page; `None` where it was not wanted, or the view has none.
    pub page: Option<Vec<u8>>,
}

impl Answer {
    /// An answer that nothing of what was asked for is there.
    pub(crate) fn missing(line: String) -> Self {
        Self { missing: vec![line], ..Self::default() }
    }

    /// The memory that its table and its document take, about.
    pub fn bytes(&self) -> usize {
        let table = self.table.as_ref().map_or(0, Table::bytes);
        table + self.document.as_ref().map_or(0, Json::bytes)
    }

    /// The text for people.
    pub fn text(&self, screen: &Screen) -> String {
        perk_render::text(&self.sections, screen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_can_go_to_another_thread() {
        fn is_a_value<T: Send + Sync + 'static>() {}
        is_a_value::<Answer>();
    }
}
