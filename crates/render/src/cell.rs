//! The rows of a table.

use std::borrow::Cow;

use perk_profile::{ClassId, FrameId, MethodId};

use crate::{Json, Table};

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
    /// A method. Text adds its types where rows would otherwise look the same; CSV and JSON have its full
    /// name.
    Method(MethodId),
    /// A class.
    Class(ClassId),
    /// A call path, innermost frame first.
    Path(Vec<FrameId>),
    /// A part of a JSON document.
    Json(Json<'a>),
}

impl<'a> Cell<'a> {
    /// A method, or `words` where it is not known.
    pub fn method_or(method: Option<MethodId>, words: &'static str) -> Self {
        method.map_or(Cell::Missing(words), Cell::Method)
    }
}

impl From<u64> for Cell<'_> {
    fn from(number: u64) -> Self {
        Cell::Number(number)
    }
}

impl From<bool> for Cell<'_> {
    fn from(is_so: bool) -> Self {
        Cell::Bool(is_so)
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Cell::Text(text.into())
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Cell::Text(text.into())
    }
}

impl From<MethodId> for Cell<'_> {
    fn from(method: MethodId) -> Self {
        Cell::Method(method)
    }
}

impl From<ClassId> for Cell<'_> {
    fn from(class: ClassId) -> Self {
        Cell::Class(class)
    }
}

impl<'a> From<Json<'a>> for Cell<'a> {
    fn from(json: Json<'a>) -> Self {
        Cell::Json(json)
    }
}

impl<'a> From<Table<'a>> for Cell<'a> {
    fn from(table: Table<'a>) -> Self {
        Cell::Json(table.into())
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Missing(""), Into::into)
    }
}

/// A row: a cell for each column, and what text shows beside and below it.
#[derive(Debug, Default)]
pub struct Row<'a> {
    pub(crate) cells: Vec<Cell<'a>>,
    /// The rows of a tree above this one; text indents its name.
    pub depth: usize,
    /// Text after the row's name.
    pub suffix: String,
    /// Lines of text below the row.
    pub below: Vec<String>,
}
