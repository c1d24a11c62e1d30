//! Tables for a page: their columns and a part of their rows, sorted and searched.

use std::borrow::Cow;
use std::cmp::Ordering;

use perk_profile::Unit;

use crate::table::{Aspect, ColumnKind};
use crate::values::Value;
use crate::{Column, Json, Table};

/// The part of a table that a page asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// The title of the column that rows are sorted by; `None` for the order that they have.
    pub sort: Option<String>,
    /// Whether the smallest is first; `None` for text, and the largest first for numbers.
    pub is_ascending: Option<bool>,
    /// Only rows with this text in the column of this title.
    pub only: Option<(String, String)>,
    /// Only rows with this text in one of their cells, whatever its case.
    pub search: Option<String>,
    /// The rows before the first one.
    pub offset: usize,
    /// The most rows.
    pub limit: usize,
}

/// A column of a page.
struct ExcerptColumn {
    id: String,
    title: Cow<'static, str>,
    unit: Option<&'static str>,
    kind: &'static str,
}

impl Table {
    /// The columns of CSV, and the rows of a part of the table: `columns`, `rows` and `total_rows`, which counts
    /// those that the search leaves.
    ///
    /// # Errors
    /// There is no such column to sort by; the line lists those that there are.
    pub fn excerpt(&self, part: &Excerpt) -> Result<Vec<(&'static str, Json)>, String> {
        let columns: Vec<_> = self.columns.iter().flat_map(Column::of_excerpt).collect();
        let mut rows: Vec<usize> = match &part.search {
            Some(text) => {
                let text = text.to_lowercase();
                (0..self.rows.len()).filter(|&row| self.has_text(row, &text)).collect()
            }
            None => (0..self.rows.len()).collect(),
        };
        let place = |id: &str| {
            columns.iter().position(|column| column.id == id).ok_or_else(|| {
                let ids: Vec<_> = columns.iter().map(|column| &*column.id).collect();
                format!("there is no column {id}; the columns are {}", ids.join(", "))
            })
        };
        if let Some((id, text)) = &part.only {
            let place = place(id)?;
            let is_it = |row: &usize| {
                let value = self.values(&self.rows[*row]).nth(place);
                value.is_some_and(|value| value.text() == text.as_str())
            };
            rows.retain(is_it);
        }
        if let Some(id) = &part.sort {
            let place = place(id)?;
            self.sort(&mut rows, place, part.is_ascending);
        }
        let total = rows.len();
        let shown = rows.into_iter().skip(part.offset).take(part.limit);
        let values = |row: usize| {
            let row = &self.rows[row];
            Json::list(self.values(row).map(Json::from))
        };
        Ok(vec![
            ("columns", Json::list(columns)),
            ("rows", Json::list(shown.map(values))),
            ("total_rows", total.into()),
        ])
    }

    fn has_text(&self, row: usize, text: &str) -> bool {
        self.values(&self.rows[row]).any(|value| match value {
            Value::Text(it) => it.to_lowercase().contains(text),
            _ => false,
        })
    }

    /// Sorts rows by the value at `place`; those without one are last, those with equal ones stay in order.
    fn sort(&self, rows: &mut [usize], place: usize, is_ascending: Option<bool>) {
        // The column whose values include that place.
        let mut before = place;
        let mut columns = self.columns.iter().enumerate();
        let index = columns.find_map(|(index, column)| match column.titles().count() {
            count if before < count => Some(index),
            count => {
                before -= count;
                None
            }
        });
        let Some(index) = index else { return };
        let value = |row: usize| {
            let cell = &self.rows[row].cells[index];
            self.plain(&self.columns[index], cell).into_iter().nth(before).unwrap_or(Value::Missing)
        };
        let mut keys: Vec<(usize, Value<'_>)> = rows.iter().map(|&row| (row, value(row))).collect();
        keys.sort_by(|(_, a), (_, b)| compare(a, b, is_ascending));
        rows.iter_mut().zip(keys).for_each(|(row, (sorted, _))| *row = sorted);
    }
}

/// The order of two values of one column.
fn compare(a: &Value<'_>, b: &Value<'_>, is_ascending: Option<bool>) -> Ordering {
    let of_share =
        |part: u64, total: u64| if total == 0 { 0.0 } else { part as f64 / total as f64 };
    let (ordering, is_text) = match (a, b) {
        (Value::Missing, _) | (_, Value::Missing) => {
            let is_missing = |it: &Value<'_>| *it == Value::Missing;
            return is_missing(a).cmp(&is_missing(b));
        }
        (Value::Text(a), Value::Text(b)) => (a.cmp(b), true),
        (Value::Share(a, all), Value::Share(b, of)) => {
            (of_share(*a, *all).total_cmp(&of_share(*b, *of)), false)
        }
        (Value::Number(a), Value::Number(b)) => (a.cmp(b), false),
        (Value::Bool(a), Value::Bool(b)) => (a.cmp(b), false),
        _ => (a.text().cmp(&b.text()), true),
    };
    if is_ascending.unwrap_or(is_text) { ordering } else { ordering.reverse() }
}

impl Column {
    fn of_excerpt(&self) -> Vec<ExcerptColumn> {
        let heading = self.shown.iter().find(|(_, heading, aspect)| {
            !heading.is_empty() && matches!(aspect, Aspect::Plain | Aspect::Name | Aspect::Time)
        });
        let titles = self.titles().enumerate();
        let column = |(place, id): (usize, String)| {
            let (unit, kind) = match (self.kind, place) {
                (ColumnKind::Measure { unit, .. }, 0) | (ColumnKind::Number(unit), _) => {
                    (Some(unit_name(unit)), "number")
                }
                (ColumnKind::Measure { .. }, 1) => (Some("percent"), "number"),
                (ColumnKind::Measure { .. }, _) => (Some("ns"), "number"),
                (ColumnKind::Method | ColumnKind::MethodParts, 0) => (None, "method"),
                (ColumnKind::Path(_), _) => (None, "path"),
                _ => (None, "other"),
            };
            let heading = heading.filter(|_| place == 0).map(|it| it.1.clone());
            let title = heading.unwrap_or_else(|| id.replace('_', " ").into());
            ExcerptColumn { id, title, unit, kind }
        };
        titles.map(column).collect()
    }
}

fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "count",
        Unit::Nanoseconds => "ns",
        Unit::Bytes => "bytes",
    }
}

impl From<ExcerptColumn> for Json {
    fn from(column: ExcerptColumn) -> Self {
        let ExcerptColumn { id, title, unit, kind } = column;
        Json::object([
            ("id", id.into()),
            ("title", title.into_owned().into()),
            ("unit", unit.into()),
            ("kind", kind.into()),
        ])
    }
}

impl From<Value<'_>> for Json {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Missing => Json::Null,
            Value::Number(number) => number.into(),
            Value::Share(part, total) => Json::Float(crate::json::percent(part, total)),
            Value::Bool(is_so) => is_so.into(),
            Value::Text(text) => text.into_owned().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::Symbols;

    use super::*;
    use crate::LazyTable;

    fn table() -> Table {
        let symbols = Symbols::default();
        let rows = [(Some(2), "b"), (None, "C"), (Some(10), "a"), (Some(2), "aB")];
        let table = LazyTable::of(&symbols, "", rows)
            .column(Column::measure("self", Unit::Count, 20, None).at(0, "Self"), |row| row.0)
            .column(Column::other("name"), |row| row.1)
            .column(Column::other("hidden").no_csv(), |row| row.1)
            .table();
        table.into()
    }

    fn shown(part: &Excerpt) -> String {
        let limit = if part.limit == 0 { 10 } else { part.limit };
        let mut text = Vec::new();
        let members = table().excerpt(&Excerpt { limit, ..part.clone() }).unwrap();
        Json::object(members).write(&mut text).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let rows = value["rows"].as_array().unwrap();
        let names = rows.iter().map(|row| row[2].as_str().unwrap()).collect::<Vec<_>>();
        format!("{} {}", names.join(" "), value["total_rows"])
    }

    #[test]
    fn rows_are_sorted_and_searched() {
        let of = |sort: &str, is_ascending| {
            shown(&Excerpt { sort: Some(sort.into()), is_ascending, ..Excerpt::default() })
        };
        assert_eq!(shown(&Excerpt::default()), "b C a aB 4");
        assert_eq!(of("self_count", None), "a b aB C 4");
        assert_eq!(of("self_percent", Some(true)), "b aB a C 4");
        assert_eq!(of("name", None), "C a aB b 4");
        assert_eq!(of("name", Some(false)), "b aB a C 4");
        let search = Some("B".to_owned());
        assert_eq!(shown(&Excerpt { search, ..Excerpt::default() }), "b aB 2");
        let only = Some(("self_count".to_owned(), "2".to_owned()));
        assert_eq!(shown(&Excerpt { only, ..Excerpt::default() }), "b aB 2");
        assert_eq!(shown(&Excerpt { offset: 1, limit: 2, ..Excerpt::default() }), "C a 4");
        let part = Excerpt { sort: Some("hidden".into()), ..Excerpt::default() };
        let line = "there is no column hidden; the columns are self_count, self_percent, name";
        assert_eq!(table().excerpt(&part).unwrap_err(), line);
    }
}
