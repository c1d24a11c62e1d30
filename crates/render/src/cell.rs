//! The rows of a table.

use perk_profile::{ClassId, FrameId, MethodId};

use crate::{Json, LazyTable, Table};

/// One value of a row.
#[derive(Debug)]
pub enum Cell {
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
    Text(String),
    /// A method. Text adds its types where rows would otherwise look the same; CSV and JSON have its full
    /// name.
    Method(MethodId),
    /// A class.
    Class(ClassId),
    /// A call path, innermost frame first.
    Path(Vec<FrameId>),
    /// The methods of a call path, innermost first, and the words that follow where it is cut.
    Methods(Vec<MethodId>, Option<&'static str>),
    /// A part of a JSON document.
    Json(Json),
}

impl Cell {
    /// The memory that it has besides its own, about.
    fn bytes(&self) -> usize {
        match self {
            Cell::Worded(_, text) | Cell::Text(text) => text.capacity(),
            Cell::Path(frames) => size_of_val(&**frames),
            Cell::Methods(methods, _) => size_of_val(&**methods),
            Cell::Json(json) => json.bytes(),
            Cell::Missing(_)
            | Cell::Number(_)
            | Cell::Share(..)
            | Cell::Bool(_)
            | Cell::Method(_)
            | Cell::Class(_) => 0,
        }
    }

    /// A method, or `words` where it is not known.
    pub fn method_or(method: Option<MethodId>, words: &'static str) -> Self {
        method.map_or(Cell::Missing(words), Cell::Method)
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Cell::Number(number)
    }
}

impl From<bool> for Cell {
    fn from(is_so: bool) -> Self {
        Cell::Bool(is_so)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl From<MethodId> for Cell {
    fn from(method: MethodId) -> Self {
        Cell::Method(method)
    }
}

impl From<ClassId> for Cell {
    fn from(class: ClassId) -> Self {
        Cell::Class(class)
    }
}

impl From<Json> for Cell {
    fn from(json: Json) -> Self {
        Cell::Json(json)
    }
}

impl From<Table> for Cell {
    fn from(table: Table) -> Self {
        Cell::Json(table.into())
    }
}

impl From<LazyTable<'_>> for Cell {
    fn from(table: LazyTable<'_>) -> Self {
        Table::from(table).into()
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Missing(""), Into::into)
    }
}

/// A row: a cell for each column, and what text shows beside and below it.
#[derive(Debug, Default)]
pub struct TableRow {
    pub(crate) cells: Vec<Cell>,
    /// The rows of a tree above this one; text indents its name.
    pub depth: usize,
    /// Text after the row's name.
    pub suffix: String,
    /// Lines of text below the row.
    pub below: Vec<String>,
}

impl TableRow {
    /// The memory that it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let Self { cells, depth: _, suffix, below } = self;
        let inside = cells.iter().map(Cell::bytes).sum::<usize>();
        let lines = below.iter().map(|it| size_of::<String>() + it.capacity()).sum::<usize>();
        size_of::<Self>() + size_of_val(&**cells) + inside + suffix.capacity() + lines
    }
}
