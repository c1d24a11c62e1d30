//! Documents as JSON.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, BufWriter, Write};

use perk_profile::{Line, MethodId, Symbols};

use crate::table::Kind;
use crate::{Cell, Column, LazyTable, Table};

/// A JSON value.
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

    /// Writes the document, and ends the line.
    ///
    /// # Errors
    /// `out` does not take it.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = Writer { out: BufWriter::new(out), depth: 0 };
        writer.value(self)?;
        writer.out.write_all(b"\n")?;
        writer.out.flush()
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

struct Writer<'w> {
    out: BufWriter<&'w mut dyn Write>,
    depth: usize,
}

impl Writer<'_> {
    fn value(&mut self, value: &Json) -> io::Result<()> {
        match value {
            Json::Null => self.null(),
            Json::Bool(value) => write!(self.out, "{value}"),
            Json::Number(value) => self.number(*value),
            Json::Signed(value) => write!(self.out, "{value}"),
            Json::Float(value) => self.float(*value),
            Json::Text(text) => self.text(text),
            Json::List(values) => self.all(b"[]", values, Self::value),
            Json::Object(members) => self.all(b"{}", members, |writer, (key, value)| {
                writer.key(key)?;
                writer.value(value)
            }),
            Json::Table(table) => self.table(table),
        }
    }

    /// An object for each row.
    fn table(&mut self, table: &Table) -> io::Result<()> {
        let mut names = MethodNames { symbols: table.names(), names: HashMap::new() };
        self.all(b"[]", &table.rows, |writer, row| {
            let cells = table.columns.iter().zip(&row.cells).flat_map(members);
            writer.all(b"{}", cells, |writer, (key, member)| {
                writer.key(&key)?;
                match member {
                    Member::Cell(cell) => writer.cell(&mut names, cell),
                    Member::Number(Some(number)) => writer.number(number),
                    Member::Share(Some((part, total))) => writer.share(part, total),
                    Member::Number(None) | Member::Share(None) => writer.null(),
                }
            })
        })
    }

    fn cell(&mut self, names: &mut MethodNames<'_>, cell: &Cell) -> io::Result<()> {
        match cell {
            Cell::Missing(_) => self.null(),
            Cell::Number(number) | Cell::Worded(number, _) => self.number(*number),
            Cell::Share(part, total) => self.share(*part, *total),
            Cell::Bool(is_so) => write!(self.out, "{is_so}"),
            Cell::Text(text) => self.text(text),
            Cell::Method(method) => self.method(names, *method),
            Cell::Class(class) => self.text(&crate::class_name(names.symbols, *class)),
            Cell::Path(frames) => self.all(b"[]", frames, |writer, &id| {
                let frame = names.symbols.get_frame(id);
                writer.all(b"{}", [true, false], |writer, is_name| {
                    writer.key(if is_name { "name" } else { "line" })?;
                    match frame.line {
                        _ if is_name => writer.method(names, frame.method),
                        Line::Number(line) => writer.number(line.into()),
                        _ => writer.null(),
                    }
                })
            }),
            Cell::Methods(methods, rest) => {
                let methods = methods.iter().map(|&method| Ok(method));
                self.all(b"[]", methods.chain(rest.map(Err)), |writer, item| match item {
                    Ok(method) => writer.method(names, method),
                    Err(words) => writer.text(words),
                })
            }
            Cell::Json(value) => self.value(value),
        }
    }

    fn method(&mut self, names: &mut MethodNames<'_>, method: MethodId) -> io::Result<()> {
        let name = match names.names.entry(method) {
            Entry::Occupied(name) => name.into_mut(),
            Entry::Vacant(name) => {
                name.insert(serde_json::to_string(&crate::full_name(names.symbols, method))?)
            }
        };
        self.out.write_all(name.as_bytes())
    }

    fn null(&mut self) -> io::Result<()> {
        self.out.write_all(b"null")
    }

    fn number(&mut self, number: u64) -> io::Result<()> {
        write!(self.out, "{number}")
    }

    fn float(&mut self, number: f64) -> io::Result<()> {
        Ok(serde_json::to_writer(&mut self.out, &number)?)
    }

    /// A part of a total in percent.
    fn share(&mut self, part: u64, total: u64) -> io::Result<()> {
        self.float(if total == 0 { 0.0 } else { part as f64 * 100.0 / total as f64 })
    }

    /// Items between brackets, each on a line of its own, further in.
    fn all<T>(
        &mut self,
        brackets: &[u8; 2],
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T) -> io::Result<()>,
    ) -> io::Result<()> {
        self.out.write_all(&brackets[..1])?;
        self.depth += 1;
        let mut is_first = true;
        for item in items {
            if !is_first {
                self.out.write_all(b",")?;
            }
            is_first = false;
            self.line()?;
            write(self, item)?;
        }
        self.depth -= 1;
        if !is_first {
            self.line()?;
        }
        self.out.write_all(&brackets[1..])
    }

    fn line(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| self.out.write_all(b"  "))
    }

    fn key(&mut self, key: &str) -> io::Result<()> {
        self.text(key)?;
        self.out.write_all(b": ")
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        Ok(serde_json::to_writer(&mut self.out, text)?)
    }
}

/// The names of the methods of a table as JSON, as far as they were needed.
struct MethodNames<'t> {
    symbols: &'t Symbols,
    names: HashMap<MethodId, String>,
}

/// A member of the object of a row.
enum Member<'t> {
    Cell(&'t Cell),
    Number(Option<u64>),
    /// A part of a total.
    Share(Option<(u64, u64)>),
}

/// A cell with its key; the number of a metric also with its share of the total, and with its time where
/// each stands for one.
fn members<'t>((column, cell): (&Column, &'t Cell)) -> Vec<(Cow<'static, str>, Member<'t>)> {
    let Some(key) = column.json else { return Vec::new() };
    let Kind::Measure { each_ns, .. } = column.kind else {
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
