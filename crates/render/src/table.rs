//! Tables and their columns.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::LazyLock;

use perk_profile::{MethodId, Symbols, Unit};

use crate::subset::Subset;
use crate::{Cell, Screen, TableRow};

/// A table: a value that needs nothing else. It has the names of the methods and classes of its rows.
#[derive(Debug)]
pub struct Table {
    pub(crate) look: Look,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<TableRow>,
    /// The names that the rows have; nothing where they have none.
    names: Option<Box<Symbols>>,
    /// The names of methods in text, where more than the rows decides about them.
    labels: Option<Labels>,
}

/// What text shows around the rows of a table, and how.
#[derive(Debug)]
pub(crate) struct Look {
    /// Above the titles; nothing where it is empty.
    pub(crate) heading: String,
    pub(crate) legend: Option<&'static str>,
    pub(crate) is_ranked: bool,
    pub(crate) cut: CutRule,
    pub(crate) notes: Vec<String>,
}

/// The names of a table without any.
static NO_NAMES: LazyLock<Symbols> = LazyLock::new(Symbols::default);

impl Table {
    /// The first `count` rows alone.
    pub fn top(mut self, count: usize) -> Self {
        self.rows.truncate(count);
        self
    }

    /// Text keeps the beginning of long lines: they are several names and words.
    pub fn of_words(mut self) -> Self {
        self.look.cut = CutRule::Words;
        self
    }

    /// The memory that it takes, about.
    pub fn bytes(&self) -> usize {
        self.rows.iter().map(TableRow::bytes).sum()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn names(&self) -> &Symbols {
        self.names.as_deref().unwrap_or(&NO_NAMES)
    }

    /// The names of the rows' methods in text.
    pub(crate) fn labels(&self) -> Cow<'_, Labels> {
        if let Some(labels) = &self.labels {
            return Cow::Borrowed(labels);
        }
        let cells = self.rows.iter().flat_map(|row| &row.cells);
        let methods = cells.filter_map(|cell| match *cell {
            Cell::Method(method) => Some(method),
            _ => None,
        });
        Cow::Owned(crate::labels(self.names(), methods))
    }
}

/// A table whose rows are made when it becomes a [`Table`]: those that are left by then.
pub struct LazyTable<'a> {
    symbols: &'a Symbols,
    look: Look,
    columns: Vec<Column>,
    /// The number of rows.
    len: usize,
    row: Box<dyn Fn(usize) -> TableRow + 'a>,
    labels: Option<Rc<Labels>>,
}

/// How long lines of text are shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CutRule {
    Name,
    AtEnd,
    Words,
}

impl CutRule {
    /// The text, so that it fits beside `used` columns.
    pub(crate) fn cut(self, screen: &Screen, text: &str, used: usize) -> String {
        match self {
            CutRule::Name => screen.cut(text, used),
            CutRule::AtEnd => screen.cut_end(text, used),
            CutRule::Words => screen.cut_words(text, used),
        }
    }

    /// The text of a line below a row.
    pub(crate) fn below(self) -> Self {
        if self == CutRule::AtEnd { CutRule::Name } else { self }
    }
}

/// The names of methods, those of different methods different.
pub(crate) type Labels = HashMap<MethodId, String>;

impl fmt::Debug for LazyTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyTable").field("heading", &self.look.heading).finish_non_exhaustive()
    }
}

impl<'a> LazyTable<'a> {
    /// A table with a row for each of `items`, whose methods and classes are those of `symbols`: see
    /// [`Rows`].
    pub fn of<T: 'a>(
        symbols: &'a Symbols,
        heading: impl Into<String>,
        items: impl IntoIterator<Item = T>,
    ) -> Rows<'a, T> {
        let items = items.into_iter().collect();
        Rows { symbols, heading: heading.into(), items, columns: Vec::new(), fills: Vec::new() }
    }

    /// The same with another heading.
    pub fn headed(mut self, heading: impl Into<String>) -> Self {
        self.look.heading = heading.into();
        self
    }

    /// Methods have these names, which differ for more methods than those of the rows.
    pub fn labelled(self, labels: &Rc<Labels>) -> Self {
        Self { labels: Some(Rc::clone(labels)), ..self }
    }

    /// Text numbers the rows.
    pub fn ranked(mut self) -> Self {
        self.look.is_ranked = true;
        self
    }

    /// Text cuts long lines at their end: they are not names.
    pub fn cut_at_end(mut self) -> Self {
        self.look.cut = CutRule::AtEnd;
        self
    }

    /// Text has this line below the heading.
    pub fn legend(mut self, legend: &'static str) -> Self {
        self.look.legend = Some(legend);
        self
    }

    /// Text has this line after the rows.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.look.notes.push(note.into());
        self
    }

    /// The first `count` rows alone.
    pub fn top(self, count: usize) -> Self {
        Self { len: self.len.min(count), ..self }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl From<LazyTable<'_>> for Table {
    fn from(lazy: LazyTable<'_>) -> Self {
        let LazyTable { symbols, look, columns, len, row, labels } = lazy;
        let mut names = Subset::new(symbols);
        let rows = (0..len).map(|index| {
            let mut row = row(index);
            row.cells.iter_mut().for_each(|cell| names.take(cell));
            row
        });
        let rows = rows.collect();
        let labels = labels.map(|labels| names.labels(&labels));
        Self { look, columns, rows, names: names.symbols(), labels }
    }
}

/// A table to be: things, and how each column shows one.
pub struct Rows<'a, T> {
    symbols: &'a Symbols,
    heading: String,
    items: Vec<T>,
    columns: Vec<Column>,
    /// Each adds cells.
    fills: Vec<Fill<'a, T>>,
}

/// Adds to the row of a thing.
type Fill<'a, T> = Box<dyn Fn(&T, &mut TableRow) + 'a>;

impl<T> fmt::Debug for Rows<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("heading", &self.heading).finish_non_exhaustive()
    }
}

impl<'a, T: 'a> Rows<'a, T> {
    /// A column and its cells.
    pub fn column<C: Into<Cell>>(self, column: Column, cell: impl Fn(&T) -> C + 'a) -> Self {
        self.columns([column], move |item| [cell(item).into()])
    }

    /// Columns, some at once, and their cells.
    pub fn columns<const N: usize>(
        mut self,
        columns: [Column; N],
        cells: impl Fn(&T) -> [Cell; N] + 'a,
    ) -> Self {
        self.columns.extend(columns);
        self.fills.push(Box::new(move |item, row| row.cells.extend(cells(item))));
        self
    }

    /// Changes rows: their depth, the text beside and below them.
    pub fn each(mut self, change: impl Fn(&T, &mut TableRow) + 'a) -> Self {
        self.fills.push(Box::new(change));
        self
    }

    /// The table.
    pub fn table(self) -> LazyTable<'a> {
        let Self { symbols, heading, items, columns, fills } = self;
        let (len, width) = (items.len(), columns.len());
        let row = move |index: usize| {
            let mut row = TableRow { cells: Vec::with_capacity(width), ..TableRow::default() };
            fills.iter().for_each(|fill| fill(&items[index], &mut row));
            row
        };
        let look =
            Look { heading, legend: None, is_ranked: false, cut: CutRule::Name, notes: Vec::new() };
        LazyTable { symbols, look, columns, len, row: Box::new(row), labels: None }
    }
}

/// The content of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ColumnKind {
    Number(Unit),
    /// A metric's number: CSV and JSON add its share of the total, and its time where each represents one.
    Measure {
        unit: Unit,
        each_ns: Option<u64>,
    },
    Method,
    /// A method; CSV adds class, signature and source.
    MethodParts,
    /// Text shows the frames below the row, or these words where there are none.
    Path(&'static str),
    Other,
}

/// The part of a cell that text shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aspect {
    /// The number in its unit, or the text.
    Plain,
    /// The share of the column's total.
    Share,
    /// The time that the number represents, if that is known.
    Time,
    /// A bar of the share, on terminals with room for it.
    Bar,
    /// The name of the row: the last column. Several are joined by arrows.
    Name,
}

/// A column: its key in CSV and JSON, which ends in its unit, and where text shows it.
#[derive(Clone, Debug)]
pub struct Column {
    pub(crate) csv: Option<&'static str>,
    pub(crate) json: Option<&'static str>,
    pub(crate) kind: ColumnKind,
    pub(crate) total: u64,
    /// Position, heading and aspect.
    pub(crate) shown: Vec<(u8, Cow<'static, str>, Aspect)>,
}

impl Column {
    fn new(id: &'static str, kind: ColumnKind) -> Self {
        Self { csv: Some(id), json: Some(id), kind, total: 0, shown: Vec::new() }
    }

    /// The key in CSV and JSON.
    pub fn id(&self) -> &'static str {
        self.json.or(self.csv).unwrap_or_default()
    }

    /// A number of things.
    pub fn count(id: &'static str) -> Self {
        Self::number(id, Unit::Count)
    }

    /// A time in nanoseconds.
    pub fn ns(id: &'static str) -> Self {
        Self::number(id, Unit::Nanoseconds)
    }

    /// A size in bytes.
    pub fn bytes(id: &'static str) -> Self {
        Self::number(id, Unit::Bytes)
    }

    /// A number.
    pub fn number(id: &'static str, unit: Unit) -> Self {
        Self::new(id, ColumnKind::Number(unit))
    }

    /// A metric's number: CSV has it as `id_ns`, JSON as `id`; both as `id_percent` of `total`, and as
    /// `id_cpu_ns` if each represents a time.
    pub fn measure(id: &'static str, unit: Unit, total: u64, each_ns: Option<u64>) -> Self {
        Self { total, ..Self::new(id, ColumnKind::Measure { unit, each_ns }) }
    }

    /// Text, yes or no, a class.
    pub fn other(id: &'static str) -> Self {
        Self::new(id, ColumnKind::Other)
    }

    /// A method, in CSV also with its class, signature and source.
    pub fn method() -> Self {
        Self::new("name", ColumnKind::MethodParts)
    }

    /// A method by its name alone.
    pub fn method_name(id: &'static str) -> Self {
        Self::new(id, ColumnKind::Method)
    }

    /// A call path; text shows `unknown` where it has no frame.
    pub fn path(unknown: &'static str) -> Self {
        Self::new("frames", ColumnKind::Path(unknown))
    }

    /// A column of text alone.
    pub fn words() -> Self {
        Self { csv: None, json: None, ..Self::new("", ColumnKind::Other) }
    }

    /// Shown in text under this condition only.
    pub fn text_if(self, is_shown: bool) -> Self {
        if is_shown { self } else { Self { shown: Vec::new(), ..self } }
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

    /// Text shows the time that the number represents, or the number if it represents none.
    pub fn time_at(self, position: u8, heading: impl Into<Cow<'static, str>>) -> Self {
        self.shown(position, heading, Aspect::Time)
    }

    /// A terminal with room for it shows a bar of the share.
    pub fn bar_at(self, position: u8) -> Self {
        self.shown(position, "", Aspect::Bar)
    }

    /// Text shows it in the last column.
    pub fn name(self, heading: impl Into<Cow<'static, str>>) -> Self {
        self.shown(u8::MAX, heading, Aspect::Name)
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
