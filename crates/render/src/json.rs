//! Documents as JSON. Rows of tables are made and written one by one.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};

use perk_profile::{Line, MethodId, Symbols};

use crate::table::Kind;
use crate::{Cell, Column, Table};

/// A JSON value.
#[derive(Debug)]
pub enum Json<'a> {
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
    Text(Cow<'a, str>),
    /// Values in order.
    List(Vec<Json<'a>>),
    /// Keys and values in order.
    Object(Vec<(Cow<'static, str>, Json<'a>)>),
    /// A method: `class.method` and its signature.
    Method(&'a Symbols, MethodId),
    /// An object for each row.
    Table(Table<'a>),
}

impl<'a> Json<'a> {
    /// An object of these keys and values.
    pub fn object<K: Into<Cow<'static, str>>>(
        members: impl IntoIterator<Item = (K, Json<'a>)>,
    ) -> Json<'a> {
        Json::Object(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// A list of values.
    pub fn list<T: Into<Json<'a>>>(values: impl IntoIterator<Item = T>) -> Json<'a> {
        Json::List(values.into_iter().map(Into::into).collect())
    }

    /// Writes the document, and ends the line.
    ///
    /// # Errors
    /// `out` does not take it.
    pub fn write(self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = Writer { out: BufWriter::new(out), depth: 0, methods: Vec::new() };
        writer.value(self)?;
        writer.out.write_all(b"\n")?;
        writer.out.flush()
    }
}

impl From<bool> for Json<'_> {
    fn from(value: bool) -> Self {
        Json::Bool(value)
    }
}

impl From<u64> for Json<'_> {
    fn from(value: u64) -> Self {
        Json::Number(value)
    }
}

impl From<u32> for Json<'_> {
    fn from(value: u32) -> Self {
        Json::Number(value.into())
    }
}

impl From<usize> for Json<'_> {
    fn from(value: usize) -> Self {
        Json::Number(value as u64)
    }
}

impl<'a> From<&'a str> for Json<'a> {
    fn from(value: &'a str) -> Self {
        Json::Text(value.into())
    }
}

impl From<String> for Json<'_> {
    fn from(value: String) -> Self {
        Json::Text(value.into())
    }
}

impl<'a> From<Table<'a>> for Json<'a> {
    fn from(value: Table<'a>) -> Self {
        Json::Table(value)
    }
}

impl<'a, T: Into<Json<'a>>> From<Option<T>> for Json<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Json::Null, Into::into)
    }
}

/// A cell with its key; the number of a metric also with its share of the total, and with its time where
/// each stands for one.
fn members<'a>((column, cell): (&Column, Cell<'a>)) -> Vec<(Cow<'static, str>, Cell<'a>)> {
    let Some(key) = column.json else { return Vec::new() };
    let Kind::Measure { each_ns, .. } = column.kind else { return vec![(key.into(), cell)] };
    let number = match cell {
        Cell::Number(number) | Cell::Worded(number, _) => Some(number),
        _ => None,
    };
    let share = number.map_or(Cell::Missing(""), |it| Cell::Share(it, column.total));
    let time = each_ns.map(|each| number.map(|it| it.saturating_mul(each)).into());
    let members = [(key.into(), number.into()), (format!("{key}_percent").into(), share)];
    let time = time.map(|time| (format!("{key}_cpu_ns").into(), time));
    members.into_iter().chain(time).collect()
}

struct Writer<'w> {
    out: BufWriter<&'w mut dyn Write>,
    depth: usize,
    /// The methods of the document's one table of symbols, escaped; empty until they are written.
    methods: Vec<String>,
}

impl Writer<'_> {
    fn value(&mut self, value: Json<'_>) -> io::Result<()> {
        match value {
            Json::Null => self.out.write_all(b"null"),
            Json::Bool(value) => write!(self.out, "{value}"),
            Json::Number(value) => write!(self.out, "{value}"),
            Json::Signed(value) => write!(self.out, "{value}"),
            Json::Float(value) => Ok(serde_json::to_writer(&mut self.out, &value)?),
            Json::Text(text) => self.text(&text),
            Json::List(values) => self.all(b"[]", values, Self::value),
            Json::Object(members) => self.all(b"{}", members, |writer, (key, value)| {
                writer.key(&key)?;
                writer.value(value)
            }),
            Json::Method(symbols, method) => self.method(symbols, method),
            Json::Table(table) => self.all(b"[]", table.rows(), |writer, row| {
                let cells = table.columns.iter().zip(row.cells).flat_map(members);
                writer.all(b"{}", cells, |writer, (key, cell)| {
                    writer.key(&key)?;
                    writer.cell(table.symbols, cell)
                })
            }),
        }
    }

    fn cell(&mut self, symbols: &Symbols, cell: Cell<'_>) -> io::Result<()> {
        match cell {
            Cell::Missing(_) => self.value(Json::Null),
            Cell::Number(number) | Cell::Worded(number, _) => self.value(number.into()),
            Cell::Share(_, 0) => self.value(Json::Float(0.0)),
            Cell::Share(part, total) => self.value(Json::Float(part as f64 * 100.0 / total as f64)),
            Cell::Bool(is_so) => self.value(is_so.into()),
            Cell::Text(text) => self.text(&text),
            Cell::Method(method) => self.method(symbols, method),
            Cell::Class(class) => self.text(&crate::class_name(symbols, class)),
            Cell::Path(frames) => self.all(b"[]", frames, |writer, id| {
                let frame = symbols.get_frame(id);
                let line = match frame.line {
                    Line::Number(line) => Some(line),
                    _ => None,
                };
                let method = Json::Method(symbols, frame.method);
                writer.value(Json::object([("name", method), ("line", line.into())]))
            }),
            Cell::Json(value) => self.value(value),
        }
    }

    fn method(&mut self, symbols: &Symbols, method: MethodId) -> io::Result<()> {
        let index = method.index();
        if self.methods.len() <= index {
            self.methods.resize(symbols.method_count(), String::new());
        }
        if self.methods[index].is_empty() {
            self.methods[index] = serde_json::to_string(&crate::full_name(symbols, method))?;
        }
        self.out.write_all(self.methods[index].as_bytes())
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

#[cfg(test)]
mod tests {
    use perk_profile::Unit;

    use super::*;

    #[test]
    fn documents_are_as_serde_writes_them() {
        let symbols = Symbols::default();
        let rows = Table::of(&symbols, "", [(Some(1), "a\"\n\u{1}é"), (None, "")])
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
