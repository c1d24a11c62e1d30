//! The table of `cpu=old`: a title, and rows of count, callee, caller and milliseconds.

use super::text::Lines;
use super::{Call, HprofFormat, Recording, Result, Section, ensure};

/// The first line of a table.
pub(super) const TITLE: &str = "count callee caller time\n";

const UNKNOWN: [&str; 2] = ["<unknown callee> ", "<unknown caller> "];

/// Reads a file of one or more tables.
pub(super) fn read(text: &str) -> Result<Recording> {
    let mut recording = Recording { format: HprofFormat::Table, ..Recording::default() };
    let tables = text.split(TITLE).skip(1);
    for table in tables {
        recording.add_table(table.lines())?;
    }
    Ok(recording)
}

impl Recording {
    /// Reads a table after other sections. It ends before the first line that is not a row.
    pub(super) fn table(&mut self, lines: &mut Lines<'_>) -> Result<()> {
        let is_row = |line: &str| line.starts_with(|c: char| c.is_ascii_digit());
        let rows: Vec<&str> = std::iter::from_fn(|| lines.next_if(is_row)).collect();
        self.add_table(rows.into_iter())
    }

    fn add_table<'a>(&mut self, lines: impl Iterator<Item = &'a str>) -> Result<()> {
        let rows = lines.map(row).collect::<Result<Vec<Call>>>()?;
        let in_order = rows.is_sorted_by(|a, b| a.count >= b.count);
        ensure(in_order, || "rows of the table out of order".to_owned())?;
        self.add_section(Section::Calls(rows));
        Ok(())
    }
}

fn row(line: &str) -> Result<Call> {
    let bad = || format!("no row of calls: {line:?}");
    let (count, rest) = line.split_once(' ').ok_or_else(bad)?;
    let (methods, time) = rest.rsplit_once(' ').ok_or_else(bad)?;
    let (callee, rest) = method(methods).ok_or_else(bad)?;
    let rest = rest.strip_prefix(' ').unwrap_or(rest);
    // One more blank follows the words for an unknown method.
    let padded = format!("{rest} ");
    let (caller, rest) = method(&padded).ok_or_else(bad)?;
    ensure(rest.trim().is_empty(), bad)?;
    let number = |text: &str| text.parse().map_err(|_| bad());
    Ok(Call { count: number(count)?, callee, caller, time_ms: number(time)? })
}

/// Splits off a method with its signature, and returns it with the rest.
fn method(text: &str) -> Option<(String, &str)> {
    for unknown in UNKNOWN {
        if let Some(rest) = text.strip_prefix(unknown) {
            return Some((unknown.trim_end().to_owned(), rest));
        }
    }
    let end = text.find(' ')?;
    let (name, rest) = text.split_at(end);
    (name.contains('.') && name.contains('(') && name.contains(')'))
        .then(|| (name.to_owned(), rest))
}
