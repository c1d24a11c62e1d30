//! The rows of a table as plain values: what CSV writes, and what a page sorts and searches.

use std::borrow::Cow;

use perk_profile::units::percent;
use perk_profile::{MethodId, Unit};

use crate::table::ColumnKind;
use crate::{Cell, Column, Table, TableRow};

/// A plain value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'t> {
    Missing,
    Number(u64),
    /// A part of a total.
    Share(u64, u64),
    Bool(bool),
    Text(Cow<'t, str>),
}

impl Value<'_> {
    /// The value in CSV.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Value::Missing => "".into(),
            Value::Number(number) => number.to_string().into(),
            Value::Share(part, total) => percent(*part, *total).into(),
            Value::Bool(is_so) => is_so.to_string().into(),
            Value::Text(text) => Cow::Borrowed(text),
        }
    }
}

impl Table {
    /// The values of a row, one for each title.
    pub(crate) fn values<'t>(&'t self, row: &'t TableRow) -> impl Iterator<Item = Value<'t>> {
        self.columns.iter().zip(&row.cells).flat_map(|(column, cell)| self.plain(column, cell))
    }

    /// The values of a cell, one for each title of its column.
    pub(crate) fn plain<'t>(&'t self, column: &Column, cell: &'t Cell) -> Vec<Value<'t>> {
        let name = |method| Value::Text(crate::full_name(self.names(), method).into());
        match (column.kind, cell) {
            _ if column.csv.is_none() => Vec::new(),
            (
                ColumnKind::Measure { each_ns, .. },
                &(Cell::Number(number) | Cell::Worded(number, _)),
            ) => {
                let time = each_ns.map(|each| Value::Number(number.saturating_mul(each)));
                [Value::Number(number), Value::Share(number, column.total)]
                    .into_iter()
                    .chain(time)
                    .collect()
            }
            (ColumnKind::MethodParts, &Cell::Method(method)) => {
                let mut values = vec![name(method)];
                values.extend(self.parts(method).map(|it| Value::Text(it.into())));
                values
            }
            (_, Cell::Missing(_)) => column.titles().map(|_| Value::Missing).collect(),
            (_, Cell::Method(method)) => vec![name(*method)],
            (_, &(Cell::Number(number) | Cell::Worded(number, _))) => vec![Value::Number(number)],
            (_, &Cell::Share(part, total)) => vec![Value::Share(part, total)],
            (_, &Cell::Bool(is_so)) => vec![Value::Bool(is_so)],
            (_, Cell::Text(text)) => vec![Value::Text(text.into())],
            (_, Cell::Class(class)) => {
                vec![Value::Text(crate::class_name(self.names(), *class))]
            }
            (_, Cell::Path(frames)) => {
                let frames = frames.iter().map(|&frame| crate::frame(self.names(), frame));
                vec![Value::Text(frames.collect::<Vec<_>>().join("; ").into())]
            }
            (_, Cell::Methods(..) | Cell::Json(_)) => vec![Value::Missing],
        }
    }

    /// Class, simple name, signature and source.
    fn parts(&self, method: MethodId) -> [&str; 4] {
        let symbols = self.names();
        let method = symbols.get_method(method);
        let text = |id: Option<_>| id.map_or("", |id| symbols.strings.get(id));
        let class = symbols.class_name(method.class);
        [class, text(Some(method.name)), text(method.signature), text(method.source)]
    }
}

impl Column {
    /// The titles of its values.
    pub(crate) fn titles(&self) -> impl Iterator<Item = String> + use<> {
        let titles = match (self.csv, self.kind) {
            (None, _) => Vec::new(),
            (Some(id), ColumnKind::Measure { unit, each_ns }) => {
                let suffix = match unit {
                    Unit::Count => "count",
                    Unit::Nanoseconds => "ns",
                    Unit::Bytes => "bytes",
                };
                let time = each_ns.map(|_| format!("{id}_cpu_ns"));
                [format!("{id}_{suffix}"), format!("{id}_percent")]
                    .into_iter()
                    .chain(time)
                    .collect()
            }
            (Some(id), ColumnKind::MethodParts) => {
                [id, "class", "method", "signature", "source"].map(str::to_owned).to_vec()
            }
            (Some(id), _) => vec![id.to_owned()],
        };
        titles.into_iter()
    }
}
