//! The rows of a table.

use std::borrow::Cow;

use perk_profile::{ClassId, FrameId, MethodId};

use crate::Json;

/// One value of a row.
#[derive(Debug)]
pub enum Cell<'a> {
    /// Not known: empty in CSV, `null` in JSON, these words in text.
    Missing(&'static str),
    /// A number in the unit of its column.
    Number(u64),
    /// A number, and the words for it in text.
    Worded(u64, String),
    /// A part of a total.
    Share(u64, u64),
    /// Yes or no.
    Bool(bool),
    /// Text.
    Text(Cow<'a, str>),
    /// A method. Text and CSV add its types where rows would otherwise look the same.
    Method(MethodId),
    /// A class.
    Class(ClassId),
    /// A call path, innermost frame first.
    Path(Vec<FrameId>),
    /// A part of a JSON document.
    Json(Json<'a>),
}

impl<'a> Cell<'a> {
    /// A text.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Cell::Text(text.into())
    }

    /// A number; missing where it is not known.
    pub fn optional(number: Option<u64>) -> Self {
        number.map_or(Cell::Missing(""), Cell::Number)
    }

    /// The number, where it is one.
    pub fn as_number(&self) -> Option<u64> {
        match self {
            Cell::Number(number) | Cell::Worded(number, _) => Some(*number),
            _ => None,
        }
    }

    /// A method, or `words` where it is not known.
    pub fn method_or(method: Option<MethodId>, words: &'static str) -> Self {
        method.map_or(Cell::Missing(words), Cell::Method)
    }
}

/// A row: a cell for each column, and what text shows beside and below it.
#[derive(Debug, Default)]
pub struct Row<'a> {
    pub(crate) cells: Vec<Cell<'a>>,
    pub(crate) depth: usize,
    pub(crate) suffix: String,
    pub(crate) below: Vec<String>,
}

impl<'a> Row<'a> {
    /// A row of these cells, one for each column.
    pub fn new(cells: Vec<Cell<'a>>) -> Self {
        Self { cells, ..Self::default() }
    }

    /// The row of a tree that has `depth` rows above it; text indents its name.
    pub fn at_depth(self, depth: usize) -> Self {
        Self { depth, ..self }
    }

    /// Text after the row's name.
    pub fn suffix(self, suffix: impl Into<String>) -> Self {
        Self { suffix: suffix.into(), ..self }
    }

    /// Lines of text below the row.
    pub fn below(self, below: Vec<String>) -> Self {
        Self { below, ..self }
    }
}
