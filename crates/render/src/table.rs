//! Tables and their columns.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::iter::Peekable;
use std::rc::Rc;

use perk_profile::{MethodId, Symbols, Unit};

use crate::{Cell, Row};

/// A table. Its rows are made when it is rendered, and only those that are shown.
pub struct Table<'a> {
    pub(crate) symbols: &'a Symbols,
    /// Text has it above the titles; nothing where it is empty.
    pub heading: String,
    pub(crate) legend: Option<&'static str>,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Peekable<Box<dyn Iterator<Item = Row<'a>> + 'a>>,
    pub(crate) is_ranked: bool,
    pub(crate) notes: Vec<String>,
    labels: Option<Rc<Labels>>,
}

/// The names of methods, told apart.
pub(crate) type Labels = HashMap<MethodId, String>;

impl fmt::Debug for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("heading", &self.heading).finish_non_exhaustive()
    }
}

impl<'a> Table<'a> {
    /// A table of `rows`, whose methods and classes are those of `symbols`.
    pub fn new(
        symbols: &'a Symbols,
        heading: impl Into<String>,
        columns: Vec<Column>,
        rows: impl IntoIterator<Item = Row<'a>, IntoIter: 'a>,
    ) -> Self {
        let rows: Box<dyn Iterator<Item = Row<'a>> + 'a> = Box::new(rows.into_iter());
        Self {
            symbols,
            heading: heading.into(),
            legend: None,
            columns,
            rows: rows.peekable(),
            is_ranked: false,
            notes: Vec::new(),
            labels: None,
        }
    }

    /// Methods have these names, told apart from more methods than those of the rows.
    pub fn labelled(self, labels: &Rc<Labels>) -> Self {
        Self { labels: Some(Rc::clone(labels)), ..self }
    }

    /// Text numbers the rows.
    pub fn ranked(self) -> Self {
        Self { is_ranked: true, ..self }
    }

    /// Text has this line below the heading.
    pub fn legend(self, legend: &'static str) -> Self {
        Self { legend: Some(legend), ..self }
    }

    /// Text has this line after the rows.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The first `count` rows alone.
    pub fn top(self, count: usize) -> Self {
        let rows: Box<dyn Iterator<Item = Row<'a>> + 'a> = Box::new(self.rows.take(count));
        Self { rows: rows.peekable(), ..self }
    }

    /// Whether there is no row.
    pub fn is_empty(&mut self) -> bool {
        self.rows.peek().is_none()
    }

    /// The names of the methods of some rows.
    pub(crate) fn labels(&self, rows: &[Row<'_>]) -> Rc<Labels> {
        if let Some(labels) = &self.labels {
            return Rc::clone(labels);
        }
        let methods = rows.iter().flat_map(|row| &row.cells).filter_map(|cell| match cell {
            Cell::Method(method) => Some(*method),
            _ => None,
        });
        Rc::new(crate::labels(self.symbols, methods))
    }
}

/// What a column holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Number(Unit),
    /// A metric's number: CSV adds its share of the total, and its time where each stands for one.
    Measure {
        unit: Unit,
        each_ns: Option<u64>,
    },
    /// CSV adds class, signature and source.
    MethodParts,
    /// Text shows the frames below the row, or these words where there are none.
    Path(&'static str),
    Other,
}

/// What text shows of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aspect {
    /// The number in its unit, or the text.
    Plain,
    /// The share of the column's total.
    Share,
    /// The time that the number stands for, where that is known.
    Time,
    /// The name of the row: the last column. Several are joined by arrows.
    Name,
}

/// A column: its key in CSV and JSON, which ends in its unit, and where text shows it.
#[derive(Clone, Debug)]
pub struct Column {
    pub(crate) csv: Option<&'static str>,
    pub(crate) json: Option<&'static str>,
    pub(crate) kind: Kind,
    pub(crate) total: u64,
    /// Position, heading and aspect.
    pub(crate) shown: Vec<(u8, Cow<'static, str>, Aspect)>,
}

impl Column {
    fn new(id: &'static str, kind: Kind) -> Self {
        Self { csv: Some(id), json: Some(id), kind, total: 0, shown: Vec::new() }
    }

    /// The key in CSV and JSON.
    pub fn id(&self) -> &'static str {
        self.json.or(self.csv).unwrap_or_default()
    }

    /// A number.
    pub fn number(id: &'static str, unit: Unit) -> Self {
        Self::new(id, Kind::Number(unit))
    }

    /// A metric's number: CSV has it as `id_ns`, `id_percent` of `total`, and as `id_cpu_ns` where each
    /// stands for a time.
    pub fn measure(id: &'static str, unit: Unit, total: u64, each_ns: Option<u64>) -> Self {
        Self { total, ..Self::new(id, Kind::Measure { unit, each_ns }) }
    }

    /// Text, yes or no, a class, a method by its name alone.
    pub fn other(id: &'static str) -> Self {
        Self::new(id, Kind::Other)
    }

    /// A method, in CSV also with its class, signature and source.
    pub fn method() -> Self {
        Self::new("name", Kind::MethodParts)
    }

    /// A call path; text shows `unknown` where it has no frame.
    pub fn path(unknown: &'static str) -> Self {
        Self::new("frames", Kind::Path(unknown))
    }

    /// A column of text alone.
    pub fn words() -> Self {
        Self { csv: None, json: None, ..Self::new("", Kind::Other) }
    }

    /// Not in JSON.
    pub fn no_json(self) -> Self {
        Self { json: None, ..self }
    }

    /// Not in CSV.
    pub fn no_csv(self) -> Self {
        Self { csv: None, ..self }
    }

    /// JSON has another key.
    pub fn json(self, key: &'static str) -> Self {
        Self { json: Some(key), ..self }
    }

    /// Shares are of `total`.
    pub fn of(self, total: u64) -> Self {
        Self { total, ..self }
    }

    /// Text shows the number or the text, as its column number `position`.
    pub fn at(self, position: u8, heading: impl Into<Cow<'static, str>>) -> Self {
        self.shown(position, heading, Aspect::Plain)
    }

    /// Text shows the share of the total.
    pub fn share_at(self, position: u8, heading: impl Into<Cow<'static, str>>) -> Self {
        self.shown(position, heading, Aspect::Share)
    }

    /// Text shows the time that the number stands for; the number where it stands for none.
    pub fn time_at(self, position: u8, heading: impl Into<Cow<'static, str>>) -> Self {
        self.shown(position, heading, Aspect::Time)
    }

    /// Text shows it in the last column.
    pub fn name(self, heading: impl Into<Cow<'static, str>>) -> Self {
        self.shown(u8::MAX, heading, Aspect::Name)
    }

    /// As [`Self::name`], where text has this column at all.
    pub fn name_if(self, is_shown: bool, heading: &'static str) -> Self {
        if is_shown { self.name(heading) } else { self }
    }

    fn shown(
        mut self,
        position: u8,
        heading: impl Into<Cow<'static, str>>,
        aspect: Aspect,
    ) -> Self {
        self.shown.push((position, heading.into(), aspect));
        self
    }
}
