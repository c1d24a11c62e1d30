//! Tables as CSV: a line of titles, which end in the unit of their numbers, and a line for each row.

use std::io::{self, Write};

use perk_profile::units::printable;

use crate::{Column, Table};

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
        writer.write_record(self.columns.iter().flat_map(Column::titles)).map_err(of_writer)?;
        for row in &self.rows {
            let values = self.values(row);
            writer.write_record(values.map(|it| cell(&it.text()))).map_err(of_writer)?;
        }
        writer.flush()
    }
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
    use perk_profile::{Method, Symbols, Unit};

    use super::*;
    use crate::{Cell, LazyTable};

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
