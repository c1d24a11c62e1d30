//! Documents as JSON.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

use perk_profile::{FrameId, Line, MethodId, Symbols};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::table::ColumnKind;
use crate::{Cell, Column, LazyTable, Table, TableRow};

/// A JSON value. `serde_json::Value` would need a copy of each table.
#[derive(Debug)]
pub enum Json {
    /// Not known.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A number.
    Number(u64),
    /// A number that may be negative.
    Signed(i64),
    /// A number with a fraction.
    Float(f64),
    /// Text.
    Text(String),
    /// Values in order.
    List(Vec<Json>),
    /// Keys and values in order.
    Object(Vec<(Cow<'static, str>, Json)>),
    /// An object for each row.
    Table(Table),
}

impl Json {
    /// An object of these keys and values.
    pub fn object<K: Into<Cow<'static, str>>>(
        members: impl IntoIterator<Item = (K, Json)>,
    ) -> Json {
        Json::Object(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// A list of values.
    pub fn list<T: Into<Json>>(values: impl IntoIterator<Item = T>) -> Json {
        Json::List(values.into_iter().map(Into::into).collect())
    }

    /// The memory that it has besides its own, about.
    pub fn bytes(&self) -> usize {
        match self {
            Json::Text(text) => text.capacity(),
            Json::List(values) => {
                size_of_val(&**values) + values.iter().map(Json::bytes).sum::<usize>()
            }
            Json::Object(members) => {
                size_of_val(&**members) + members.iter().map(|it| it.1.bytes()).sum::<usize>()
            }
            Json::Table(table) => table.bytes(),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Signed(_) | Json::Float(_) => 0,
        }
    }

    /// Writes the document, and ends the line.
    ///
    /// # Errors
    /// `out` does not take it.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut out = BufWriter::new(out);
        serde_json::to_writer_pretty(&mut out, self)?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// Writes the document without blanks, for programs.
    ///
    /// # Errors
    /// `out` does not take it.
    pub fn write_compact(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut out = BufWriter::new(out);
        serde_json::to_writer(&mut out, self)?;
        out.flush()
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Json::Bool(value)
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Self {
        Json::Number(value)
    }
}

impl From<u32> for Json {
    fn from(value: u32) -> Self {
        Json::Number(value.into())
    }
}

impl From<usize> for Json {
    fn from(value: usize) -> Self {
        Json::Number(value as u64)
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Self {
        Json::Text(value.to_owned())
    }
}

impl From<String> for Json {
    fn from(value: String) -> Self {
        Json::Text(value)
    }
}

impl From<Table> for Json {
    fn from(value: Table) -> Self {
        Json::Table(value)
    }
}

impl From<LazyTable<'_>> for Json {
    fn from(value: LazyTable<'_>) -> Self {
        Json::Table(value.into())
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Json::Null, Into::into)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => out.serialize_unit(),
            Json::Bool(value) => out.serialize_bool(*value),
            Json::Number(value) => out.serialize_u64(*value),
            Json::Signed(value) => out.serialize_i64(*value),
            Json::Float(value) => out.serialize_f64(*value),
            Json::Text(text) => out.serialize_str(text),
            Json::List(values) => out.collect_seq(values),
            Json::Object(members) => {
                out.collect_map(members.iter().map(|(key, value)| (key, value)))
            }
            Json::Table(table) => {
                let names = MethodNames { symbols: table.names(), texts: RefCell::default() };
                let row = |row| WithNames((table.columns.as_slice(), row), &names);
                out.collect_seq(table.rows.iter().map(row))
            }
        }
    }
}

/// The names of the methods of a table, as far as they were needed.
struct MethodNames<'t> {
    symbols: &'t Symbols,
    texts: RefCell<HashMap<MethodId, String>>,
}

/// A part of a table, which needs its names.
struct WithNames<'t, T>(T, &'t MethodNames<'t>);

/// The row with its columns.
impl Serialize for WithNames<'_, (&[Column], &TableRow)> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let Self((columns, row), names) = self;
        let members = columns.iter().zip(&row.cells).flat_map(members);
        out.collect_map(members.map(|(key, member)| (key, WithNames(member, names))))
    }
}

impl Serialize for WithNames<'_, Member<'_>> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Member::Cell(cell) => WithNames(cell, self.1).serialize(out),
            Member::Number(number) => number.serialize(out),
            Member::Share(share) => share.map(|(part, total)| percent(part, total)).serialize(out),
        }
    }
}

impl Serialize for WithNames<'_, &Cell> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let Self(cell, names) = self;
        match cell {
            Cell::Missing(_) => out.serialize_unit(),
            Cell::Number(number) | Cell::Worded(number, _) => out.serialize_u64(*number),
            Cell::Share(part, total) => out.serialize_f64(percent(*part, *total)),
            Cell::Bool(is_so) => out.serialize_bool(*is_so),
            Cell::Text(text) => out.serialize_str(text),
            Cell::Method(method) => WithNames(*method, names).serialize(out),
            Cell::Class(class) => out.serialize_str(&crate::class_name(names.symbols, *class)),
            Cell::Path(frames) => {
                out.collect_seq(frames.iter().map(|&frame| WithNames(frame, names)))
            }
            Cell::Methods(methods, None) => {
                out.collect_seq(methods.iter().map(|&method| WithNames(method, names)))
            }
            Cell::Methods(methods, Some(rest)) => {
                let mut list = out.serialize_seq(Some(methods.len() + 1))?;
                methods.iter().try_for_each(|&it| list.serialize_element(&WithNames(it, names)))?;
                list.serialize_element(rest)?;
                list.end()
            }
            Cell::Json(value) => value.serialize(out),
        }
    }
}

impl Serialize for WithNames<'_, FrameId> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let Self(frame, names) = self;
        let frame = names.symbols.get_frame(*frame);
        let line = match frame.line {
            Line::Number(line) => Some(line),
            _ => None,
        };
        let mut members = out.serialize_map(Some(2))?;
        members.serialize_entry("name", &WithNames(frame.method, names))?;
        members.serialize_entry("line", &line)?;
        members.end()
    }
}

impl Serialize for WithNames<'_, MethodId> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let Self(method, names) = self;
        let mut texts = names.texts.borrow_mut();
        let text = texts.entry(*method);
        out.serialize_str(text.or_insert_with(|| crate::full_name(names.symbols, *method)))
    }
}

/// A part of a total in percent.
pub(crate) fn percent(part: u64, total: u64) -> f64 {
    if total == 0 { 0.0 } else { part as f64 * 100.0 / total as f64 }
}

/// A member of the object of a row.
#[derive(Clone, Copy)]
enum Member<'t> {
    Cell(&'t Cell),
    Number(Option<u64>),
    /// A part of a total.
    Share(Option<(u64, u64)>),
}

/// A cell with its key; the number of a metric also with its share of the total, and with its time where
/// each represents one.
fn members<'t>((column, cell): (&Column, &'t Cell)) -> Vec<(Cow<'static, str>, Member<'t>)> {
    let Some(key) = column.json else { return Vec::new() };
    let ColumnKind::Measure { each_ns, .. } = column.kind else {
        return vec![(key.into(), Member::Cell(cell))];
    };
    let number = match cell {
        Cell::Number(number) | Cell::Worded(number, _) => Some(*number),
        _ => None,
    };
    let share = number.map(|it| (it, column.total));
    let time = each_ns.map(|each| number.map(|it| it.saturating_mul(each)));
    let members = [
        (key.into(), Member::Number(number)),
        (format!("{key}_percent").into(), Member::Share(share)),
    ];
    let time = time.map(|time| (format!("{key}_cpu_ns").into(), Member::Number(time)));
    members.into_iter().chain(time).collect()
}

#[cfg(test)]
mod tests {
    use perk_profile::Unit;

    use super::*;

    #[test]
    fn documents_are_as_serde_writes_them() {
        let symbols = Symbols::default();
        let rows = LazyTable::of(&symbols, "", [(Some(1), "a\"\n\u{1}é"), (None, "")])
            .column(Column::count("count"), |&(number, _)| {
                number.map(|number| Cell::Worded(number, "one".into()))
            })
            .column(Column::words(), |_| Cell::Missing("-"))
            .column(Column::other("name").json("text"), |&(_, text)| text)
            .column(Column::other("share"), |_| Cell::Share(1, 3))
            .column(Column::measure("self", Unit::Count, 4, Some(10)), |row| row.0)
            .table();
        let document = Json::object([
            ("rows", rows.into()),
            ("empty", Json::List(Vec::new())),
            ("nothing", Json::object([("x", Json::from(None::<u64>))])),
            ("numbers", Json::list([1_u64, u64::MAX])),
            ("signed", Json::Signed(-1)),
            ("float", Json::Float(2.0)),
        ]);
        let mut text = Vec::new();
        document.write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["rows"][0]["text"], "a\"\n\u{1}é");
        assert_eq!(value["rows"][1]["count"], serde_json::Value::Null);
        let measure = ["self", "self_percent", "self_cpu_ns"];
        let of_row = |row: usize| measure.map(|key| value["rows"][row][key].clone());
        assert_eq!(serde_json::Value::from_iter(of_row(0)), serde_json::json!([1, 25.0, 10]));
        assert!(of_row(1).iter().all(serde_json::Value::is_null));
        assert_eq!(value["numbers"][1], u64::MAX);
        let first = "{\n  \"rows\": [\n    {\n      \"count\": 1,\n      \"text\": ";
        assert!(text.starts_with(first), "{text}");
        let end = "  \"signed\": -1,\n  \"float\": 2.0\n}\n";
        assert!(text.contains("\"empty\": [],\n") && text.ends_with(end), "{text}");
    }
}
