//! Tables as CSV: a line of titles, which end in the unit of their numbers, and a line for each row.

use std::io::{self, Write};

use perk_profile::units::{percent, printable};
use perk_profile::{MethodId, Unit};

use crate::table::ColumnKind;
use crate::{Cell, Column, Table};

/// Returns the error of the output, of its kind: whoever writes distinguishes a closed pipe.
fn of_writer(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        kind => io::Error::other(format!("{kind:?}")),
    }
}

impl Table {
    /// Writes the rows as CSV. A method has the same name in all tables.
    ///
    /// # Errors
    /// `out` does not take it.
    pub fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(self.columns.iter().flat_map(titles)).map_err(of_writer)?;
        let name = |method| crate::full_name(self.names(), method);
        let mut cells = Vec::new();
        for row in &self.rows {
            for (column, value) in self.columns.iter().zip(&row.cells) {
                match (column.kind, value) {
                    _ if column.csv.is_none() => {}
                    (
                        ColumnKind::Measure { each_ns, .. },
                        &(Cell::Number(number) | Cell::Worded(number, _)),
                    ) => {
                        cells.extend([number.to_string(), percent(number, column.total)]);
                        let time = each_ns.map(|each| number.saturating_mul(each).to_string());
                        cells.extend(time);
                    }
                    (ColumnKind::MethodParts, &Cell::Method(method)) => {
                        cells.push(name(method));
                        cells.extend(self.parts(method));
                    }
                    (_, Cell::Method(method)) => cells.push(name(*method)),
                    (_, Cell::Missing(_)) => cells.extend(titles(column).map(|_| String::new())),
                    (_, value) => cells.push(self.plain(value)),
                }
            }
            writer.write_record(cells.drain(..).map(|it| cell(&it))).map_err(of_writer)?;
        }
        writer.flush()
    }

    /// Class, simple name, signature and source.
    fn parts(&self, method: MethodId) -> [String; 4] {
        let symbols = self.names();
        let method = symbols.get_method(method);
        let text = |id: Option<_>| id.map_or("", |id| symbols.strings.get(id));
        let class = symbols.class_name(method.class);
        [class, text(Some(method.name)), text(method.signature), text(method.source)]
            .map(str::to_owned)
    }

    fn plain(&self, value: &Cell) -> String {
        match value {
            Cell::Number(number) | Cell::Worded(number, _) => number.to_string(),
            Cell::Share(part, total) => percent(*part, *total),
            Cell::Bool(is_so) => is_so.to_string(),
            Cell::Text(text) => text.clone(),
            Cell::Class(class) => crate::class_name(self.names(), *class).into_owned(),
            Cell::Path(frames) => {
                let frames: Vec<_> =
                    frames.iter().map(|&frame| crate::frame(self.names(), frame)).collect();
                frames.join("; ")
            }
            Cell::Missing(_) | Cell::Method(_) | Cell::Methods(..) | Cell::Json(_) => String::new(),
        }
    }
}

/// The titles of a column.
fn titles(column: &Column) -> impl Iterator<Item = String> + use<> {
    let titles = match (column.csv, column.kind) {
        (None, _) => Vec::new(),
        (Some(id), ColumnKind::Measure { unit, each_ns }) => {
            let suffix = match unit {
                Unit::Count => "count",
                Unit::Nanoseconds => "ns",
                Unit::Bytes => "bytes",
            };
            let time = each_ns.map(|_| format!("{id}_cpu_ns"));
            [format!("{id}_{suffix}"), format!("{id}_percent")].into_iter().chain(time).collect()
        }
        (Some(id), ColumnKind::MethodParts) => {
            [id, "class", "method", "signature", "source"].map(str::to_owned).to_vec()
        }
        (Some(id), _) => vec![id.to_owned()],
    };
    titles.into_iter()
}

/// A cell of CSV: as [`printable`], and no formula for a spreadsheet, which takes an apostrophe before
/// a text as the sign that it is one. Numbers stay as they are.
fn cell(text: &str) -> String {
    const BEGINS: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = digits.parse::<f64>().is_ok()
        && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let apostrophe = if text.starts_with(BEGINS) && !is_number { "'" } else { "" };
    format!("{apostrophe}{}", printable(text))
}

#[cfg(test)]
mod tests {
    use perk_profile::{Method, Symbols};

    use super::*;
    use crate::LazyTable;

    #[test]
    fn cells_are_no_formulas() {
        for (text, shown) in [
            ("=1+2", "'=1+2"),
            ("-[A b]", "'-[A b]"),
            ("+1-1", "'+1-1"),
            ("-", "'-"),
            ("@x", "'@x"),
            ("-12.5", "-12.5"),
            ("1234", "1234"),
            ("a=b", "a=b"),
            ("a\x1b[2J\u{202e}", "a\\u{1b}[2J\\u{202e}"),
            ("", ""),
        ] {
            assert_eq!(cell(text), shown);
        }
    }

    #[test]
    fn titles_have_units_and_missing_numbers_are_empty() {
        let mut symbols = Symbols::default();
        let class = symbols.class("T");
        let name = symbols.strings.intern("f");
        let method = symbols.method(Method { class, name, signature: None, source: None });
        let mut text = Vec::new();
        let table = LazyTable::of(&symbols, "", [Some(10), None, Some(0)])
            .column(Column::method(), move |_| method)
            .column(Column::measure("self", Unit::Count, 40, Some(10)), |number| *number)
            .column(Column::other("note").no_csv(), |_| "no part of CSV")
            .column(Column::count("call_count"), |_| Cell::Missing("-"))
            .table();
        Table::from(table.top(2)).csv(&mut text).unwrap();
        let expected = "name,class,method,signature,source,self_count,self_percent,self_cpu_ns,\
                        call_count\nT.f,T,f,,,10,25.00,100,\nT.f,T,f,,,,,,\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
