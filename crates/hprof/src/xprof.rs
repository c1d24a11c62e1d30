//! The layout of the tables that `-Xprof` printed, HotSpot's flat profiler (JDK 1.2 to 9): ticks by
//! thread and method.
//!
//! Source of the format: the output of JVMs of JDK 8; see `docs/formats/xprof.md`. A tick is one look
//! at a thread; in perk's own tables it is one interval of time.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::lines::one_line;

/// The beginning of the profile of a thread.
pub const THREAD_HEAD: &str = "Flat profile of ";
/// The beginning of the last table.
pub const GLOBAL_HEAD: &str = "Global summary of ";
/// The title of the ticks of a thread outside methods.
pub const LOCAL_HEAD: &str = "Thread-local ticks:";
/// The label of the ticks of a thread that was not running, in percent of all of its ticks.
pub const BLOCKED: &str = "Blocked (of total)";
/// The label of the ticks of a thread that was ready and had no CPU, in percent of all of its ticks. It
/// is perk's: the original took such a thread for running.
pub const WAITING: &str = "Waiting for a CPU (of total)";
/// The label of the ticks that were taken but not kept. Its line is before the tables.
pub const LOST: &str = "Lost ticks";
/// The label of all ticks of the global summary.
pub const RECEIVED: &str = "Received ticks";

/// The most rows that HotSpot printed of each table.
pub const HOTSPOT_ROWS: usize = 10;

/// A table of methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// Methods that are interpreted.
    Interpreted,
    /// Compiled methods.
    Compiled,
    /// Methods compiled by C1: perk's, instead of [`Compiled`](Self::Compiled).
    CompiledC1,
    /// Methods compiled by C2.
    CompiledC2,
    /// Native methods that compiled code calls, through code compiled for that purpose.
    Stub,
    /// Code that the JVM generated for no method.
    RuntimeStub,
}

impl Table {
    /// All tables, in the order in which they are printed.
    pub const ALL: [Table; 6] = [
        Self::Interpreted,
        Self::Compiled,
        Self::CompiledC1,
        Self::CompiledC2,
        Self::Stub,
        Self::RuntimeStub,
    ];

    /// Returns the title of the table before `+ native`.
    pub fn title(self) -> &'static str {
        match self {
            Self::Interpreted => "Interpreted",
            Self::Compiled => "Compiled",
            Self::CompiledC1 => "C1 compiled",
            Self::CompiledC2 => "C2 compiled",
            Self::Stub => "Stub",
            Self::RuntimeStub => "Runtime stub",
        }
    }

    /// Returns the name of the table's last row.
    pub fn total(self) -> &'static str {
        match self {
            Self::Interpreted => "Total interpreted",
            Self::Compiled => "Total compiled",
            Self::CompiledC1 => "Total C1 compiled",
            Self::CompiledC2 => "Total C2 compiled",
            Self::Stub => "Total stub",
            Self::RuntimeStub => "Total runtime stubs",
        }
    }
}

/// The ticks of a method in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XprofRow {
    /// The table.
    pub table: Table,
    /// The method, as `Class.method`.
    pub name: String,
    /// The ticks in the method's own code.
    pub code_count: u64,
    /// The ticks in native code that it called.
    pub native_count: u64,
}

/// The profile of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadTables {
    /// The name of the thread.
    pub name: String,
    /// The time for which it lived, in nanoseconds.
    pub elapsed_ns: u64,
    /// The ticks in methods, in any order. Rows of one name are written as one.
    pub rows: Vec<XprofRow>,
    /// The ticks of each label other than [`BLOCKED`], [`WAITING`] and [`LOST`], in the order of their lines.
    pub labels: Vec<(String, u64)>,
    /// The ticks that no line has.
    pub unlisted_count: u64,
    /// The ticks that were taken but not kept.
    pub lost_count: u64,
    /// The ticks for which it did not run, and was not ready to.
    pub blocked_count: u64,
    /// The ticks for which it was ready and waited for a CPU.
    pub waiting_count: u64,
}

impl ThreadTables {
    /// Returns the ticks for which the thread ran.
    pub fn running_count(&self) -> u64 {
        let of_methods = self.rows.iter().flat_map(|row| [row.code_count, row.native_count]);
        let of_labels = self.labels.iter().map(|label| label.1);
        let others = [self.unlisted_count, self.lost_count];
        of_methods.chain(of_labels).chain(others).fold(0, u64::saturating_add)
    }

    /// Returns all ticks of the thread.
    pub fn total_count(&self) -> u64 {
        let idle = self.blocked_count.saturating_add(self.waiting_count);
        self.running_count().saturating_add(idle)
    }

    /// Writes the profile, with at most `most_rows` rows of each table.
    ///
    /// # Errors
    /// As `out` fails.
    pub fn write(&self, most_rows: usize, out: &mut dyn Write) -> io::Result<()> {
        let seconds = self.elapsed_ns as f64 / 1e9;
        let (total, running) = (self.total_count(), self.running_count());
        writeln!(
            out,
            "\n{THREAD_HEAD}{seconds:.2} secs ({total} total ticks): {}",
            one_line(&self.name)
        )?;
        if self.lost_count > 0 {
            writeln!(out, "{}{LOST}", plain_columns(self.lost_count, running))?;
        }
        writeln!(out)?;
        for table in Table::ALL {
            self.write_table(table, running, most_rows, out)?;
        }
        let idle = [(BLOCKED, self.blocked_count), (WAITING, self.waiting_count)];
        if self.labels.iter().all(|label| label.1 == 0) && idle.iter().all(|it| it.1 == 0) {
            return Ok(());
        }
        writeln!(out, "  {LOCAL_HEAD}")?;
        for (label, count) in idle.into_iter().filter(|it| it.1 > 0) {
            writeln!(out, "{}{label}", plain_columns(count, total))?;
        }
        for (label, count) in self.labels.iter().filter(|label| label.1 > 0) {
            writeln!(out, "{}{}", plain_columns(*count, running), one_line(label))?;
        }
        writeln!(out)
    }

    fn write_table(
        &self,
        table: Table,
        running: u64,
        most_rows: usize,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        // Overloaded methods, and those of classes of several loaders, have one name and one row.
        let mut by_name: BTreeMap<Cow<'_, str>, (u64, u64)> = BTreeMap::new();
        for row in self.rows.iter().filter(|row| row.table == table) {
            let counts = by_name.entry(one_line(&row.name)).or_default();
            counts.0 = counts.0.saturating_add(row.code_count);
            counts.1 = counts.1.saturating_add(row.native_count);
        }
        let mut rows: Vec<_> = by_name.into_iter().filter(|it| it.1 != (0, 0)).collect();
        if rows.is_empty() {
            return Ok(());
        }
        rows.sort_by_key(|(_, (code, native))| Reverse(code.saturating_add(*native)));
        let title = format!("  {:>11} + native", table.title());
        writeln!(out, "{title:25}{:30}", "Method")?;
        for (name, (code, native)) in rows.iter().take(most_rows) {
            writeln!(out, "{}{name}", columns(*code, *native, running))?;
        }
        let add = |a: (u64, u64), b: (u64, u64)| (a.0.saturating_add(b.0), a.1.saturating_add(b.1));
        let (code, native) = rows.iter().map(|it| it.1).fold((0, 0), add);
        let all = columns(code, native, running);
        let elided = if rows.len() > most_rows { " (including elided)" } else { "" };
        writeln!(out, "{all}{}{elided}\n", table.total())
    }
}

/// Writes the global summary: the ticks of the whole program, and those of each label among them.
///
/// # Errors
/// As `out` fails.
pub fn write_summary(
    elapsed_ns: u64,
    received_count: u64,
    labels: &[(String, u64)],
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "\n{GLOBAL_HEAD}{:.2} seconds:", elapsed_ns as f64 / 1e9)?;
    writeln!(out, "{}{RECEIVED}", plain_columns(received_count, received_count))?;
    for (label, count) in labels {
        writeln!(out, "{}{}", plain_columns(*count, received_count), one_line(label))?;
    }
    Ok(())
}

/// Returns the columns of a method, up to its name.
fn columns(code: u64, native: u64, of: u64) -> String {
    let percent = percent(code.saturating_add(native), of);
    format!("{:21}    ", format!("{percent:5.1}% {code:5}  + {native:5}"))
}

/// Returns the columns of a label, which has no native part, up to its text.
fn plain_columns(count: u64, of: u64) -> String {
    let percent = percent(count, of);
    format!("{:24} ", format!("{percent:5.1}% {count:5}"))
}

fn percent(count: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { 100.0 * count as f64 / of as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(table: Table, name: &str, code_count: u64, native_count: u64) -> XprofRow {
        XprofRow { table, name: name.to_owned(), code_count, native_count }
    }

    #[test]
    fn overloaded_methods_have_one_row() {
        let tables = ThreadTables {
            name: "main".to_owned(),
            elapsed_ns: 2_000_000_000,
            rows: vec![
                row(Table::Interpreted, "A.copy", 1, 0),
                row(Table::Interpreted, "A.other", 2, 0),
                row(Table::Compiled, "A.copy", 4, 0),
                row(Table::Interpreted, "A.copy", 0, 3),
            ],
            ..ThreadTables::default()
        };
        let mut out = Vec::new();
        tables.write(1, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let rows: Vec<_> = text.lines().filter(|line| line.contains('%')).collect();
        assert_eq!(
            rows,
            [
                " 40.0%     1  +     3    A.copy",
                " 60.0%     3  +     3    Total interpreted (including elided)",
                " 40.0%     4  +     0    A.copy",
                " 40.0%     4  +     0    Total compiled",
            ]
        );
    }
}
