//! The table that `-Xaprof` printed when a program ended (JDK 1.3 to 7): allocations by class.
//!
//! Source of the format: files and descriptions of the JVMs' output; see `docs/formats/aprof.md`.

use std::cmp::Reverse;
use std::io::{self, Read, Write};
use std::mem;

use perk_profile::{Allocations, Event, KeyedMap, KnownObjects, Profile, Site, Sites, names};

use crate::lines::{cut, number, one_line, text, word};
use crate::{Error, LineReader, SkippedLines};

const HEAD: &str = "Allocation profile (sizes in bytes, cutoff = ";
const TITLE: &str = "________________Size__Instances__Average__Class________________";
const TOTAL: &str = "--total--";

/// The allocations of a program, by class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Classes with fewer bytes are not listed.
    pub cutoff_bytes: u64,
    /// The classes, in the file's order.
    pub rows: Vec<AprofRow>,
    /// All classes together, as the file gives them.
    pub total: AprofRow,
}

/// The objects of one class, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AprofRow {
    /// The class's name in source form (`int[]`); empty in the total.
    pub class: String,
    /// The size of all objects ever allocated.
    pub bytes: u64,
    /// The number of these objects.
    pub count: u64,
}

impl Table {
    /// Returns the classes of `sites` with their allocations, most bytes first. Classes without
    /// allocations are left out. Classes of the same name are one row.
    pub fn of(profile: &Profile, sites: &Sites) -> Self {
        let mut by_class: KeyedMap<&str, (u64, u64)> = KeyedMap::default();
        for site in &sites.rows {
            let (bytes, count) =
                by_class.entry(profile.symbols.class_name(site.class)).or_default();
            *bytes = bytes.saturating_add(site.objects.allocated_bytes);
            *count = count.saturating_add(site.objects.allocated_count);
        }
        let rows = by_class.into_iter().filter(|&(_, (bytes, _))| bytes > 0);
        let mut rows: Vec<_> = rows
            .map(|(class, (bytes, count))| AprofRow { class: class.into(), bytes, count })
            .collect();
        rows.sort_unstable_by(|a, b| {
            (Reverse(a.bytes), &a.class).cmp(&(Reverse(b.bytes), &b.class))
        });
        let total = AprofRow {
            class: String::new(),
            bytes: sites.total.allocated_bytes,
            count: sites.total.allocated_count,
        };
        Self { cutoff_bytes: 0, rows, total }
    }
}

/// Writes the table as JDK 7 did, with an empty line before and after it. The rows are taken as
/// they are.
///
/// # Errors
/// The errors of the sink.
pub fn write(mut out: impl Write, table: &Table) -> io::Result<()> {
    writeln!(out, "\n{HEAD}{} bytes):\n\n{TITLE}", table.cutoff_bytes)?;
    let mut line = |row: &AprofRow, name: &str| {
        let average = row.bytes as f64 / row.count.max(1) as f64 + 0.5;
        writeln!(out, "{:20} {:10} {:8}  {name}", row.bytes, row.count, average as u64)
    };
    for row in &table.rows {
        line(row, &one_line(&external(&row.class)))?;
    }
    line(&table.total, TOTAL)?;
    writeln!(out)
}

/// Reads the tables in the output of a program. A title may be that of any JDK, and may have extra
/// blanks. Rows that are damaged are skipped, unless they are the majority.
///
/// # Errors
/// [`Error::Ascii`] with the first line that cannot be understood, if most rows cannot, or with the
/// last line if there is no table.
pub fn tables(input: impl Read) -> Result<Vec<Table>, Error> {
    Ok(AprofReader::read(input)?.tables)
}

/// Reads the tables in the output of a program as one profile, in which they are added up. If a
/// program printed several tables, each holds the allocations since the one before.
///
/// # Errors
/// As [`tables`].
pub fn read(input: impl Read) -> Result<Profile, Error> {
    let AprofReader { tables, notes, .. } = AprofReader::read(input)?;
    let mut profile = Profile::default();
    profile.notes = notes;
    if tables.len() > 1 {
        profile.notes.push(format!("{} tables were added up", tables.len()));
    }
    let objects = |row: &AprofRow| Allocations {
        allocated_bytes: row.bytes,
        allocated_count: row.count,
        ..Allocations::default()
    };
    let known = KnownObjects { live: false, ..KnownObjects::default() };
    let mut sites = Sites { known, ..Sites::default() };
    let mut by_class = KeyedMap::default();
    let trace = profile.system_trace();
    for table in &tables {
        sites.total.add(objects(&table.total));
        for row in &table.rows {
            let class = profile.symbols.class(&row.class);
            let index = *by_class.entry(class).or_insert_with(|| {
                sites.rows.push(Site { class, trace, objects: Allocations::default() });
                sites.rows.len() - 1
            });
            sites.rows[index].objects.add(objects(row));
        }
    }
    profile.events.push(Event::from(sites));
    Ok(profile)
}

/// Whether a line of `head` begins a table.
pub fn recognise(head: &[u8]) -> bool {
    head.split(|&byte| byte == b'\n').any(|line| line.starts_with(HEAD.as_bytes()))
}

#[derive(Default)]
struct AprofReader {
    tables: Vec<Table>,
    notes: Vec<String>,
    at: TablePart,
    /// Lines of the program's own output.
    other_lines: usize,
    /// The rows that are damaged, and the number of those that are not.
    skipped: SkippedLines,
    row_count: u64,
}

#[derive(Default)]
enum TablePart {
    /// The output of the program.
    #[default]
    Output,
    /// Before the titles of a table.
    Head(Table),
    /// The rows of a table.
    Rows(Table),
}

impl AprofReader {
    fn read(input: impl Read) -> Result<Self, Error> {
        let mut lines = LineReader::new(input);
        let mut reader = Self::default();
        while lines.next()?.is_some() {
            // The class in a last line without a line end may be incomplete.
            let is_whole = !lines.is_cut() || lines.last().ends_with(TOTAL.as_bytes());
            if is_whole {
                let read = reader.line(lines.last(), lines.line());
                read.map_err(|what| Error::Ascii { line: lines.line(), what })?;
            }
        }
        if let Some((line, what)) = reader.skipped.majority(reader.row_count) {
            return Err(Error::Ascii { line, what });
        }
        let line = lines.line();
        match mem::take(&mut reader.at) {
            TablePart::Rows(table) if !table.rows.is_empty() => reader.cut(table, line),
            TablePart::Output if !reader.tables.is_empty() => {}
            at => {
                let what = match at {
                    TablePart::Output => format!("\"{HEAD}n bytes):\""),
                    TablePart::Head(_) => "the line of titles".to_owned(),
                    TablePart::Rows(_) => "a row \"size instances average class\"".to_owned(),
                };
                let what = format!("the file ends here, expected {what}");
                return Err(Error::Ascii { line: line.max(1), what });
            }
        }
        reader.notes.extend(reader.skipped.note());
        if reader.other_lines > 0 {
            let what = "lines of the program's own output were skipped";
            reader.notes.push(format!("{} {what}", reader.other_lines));
        }
        Ok(reader)
    }

    fn line(&mut self, line: &[u8], number: usize) -> Result<(), String> {
        if let Some(cutoff) = line.strip_prefix(HEAD.as_bytes()) {
            if let TablePart::Rows(table) = mem::take(&mut self.at) {
                self.cut(table, number);
            }
            let cutoff_bytes = cutoff.strip_suffix(b" bytes):").and_then(self::number);
            let cutoff_bytes =
                cutoff_bytes.ok_or_else(|| format!("expected \"{HEAD}n bytes):\""))?;
            self.at = TablePart::Head(Table { cutoff_bytes, ..Table::default() });
            return Ok(());
        }
        match &mut self.at {
            TablePart::Output => self.other_lines += usize::from(!line.is_empty()),
            TablePart::Head(_) if line.is_empty() => {}
            TablePart::Head(table) => {
                if !is_title(line) {
                    return Err(format!("expected \"{TITLE}\", found \"{}\"", cut(line)));
                }
                self.at = TablePart::Rows(mem::take(table));
            }
            TablePart::Rows(table) => {
                let Some((bytes, count, class)) = row(line) else {
                    let columns = "size instances average class";
                    let what = format!("expected a row \"{columns}\", found \"{}\"", cut(line));
                    self.skipped.add(number, what);
                    return Ok(());
                };
                self.row_count += 1;
                let class = text(class);
                if class == TOTAL {
                    table.total = AprofRow { class: String::new(), bytes, count };
                    self.tables.push(mem::take(table));
                    self.at = TablePart::Output;
                } else {
                    table.rows.push(AprofRow { class: source_form(&class), bytes, count });
                }
            }
        }
        Ok(())
    }

    /// Takes a table that ends before its total. The sum of its rows is the total.
    fn cut(&mut self, mut table: Table, line: usize) {
        for row in &table.rows {
            table.total.bytes = table.total.bytes.saturating_add(row.bytes);
            table.total.count = table.total.count.saturating_add(row.count);
        }
        self.tables.push(table);
        self.notes
            .push(format!("the table is cut off in line {line}: its total is the sum of its rows"));
    }
}

fn is_title(line: &[u8]) -> bool {
    let words: Vec<u8> = line.iter().copied().filter(|byte| !b"_ ".contains(byte)).collect();
    words == b"SizeInstancesAverageClass"
}

/// Returns bytes, count and class. The average follows from these.
fn row(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let rest = &mut &line[..];
    let (bytes, count, average) = (word(rest)?, word(rest)?, word(rest)?);
    number(average)?;
    // The class follows two blanks, of which `word` took one.
    let class = rest.strip_prefix(b" ").unwrap_or(rest);
    (!class.is_empty()).then_some((number(bytes)?, number(count)?, class))
}

/// Returns a class's name as `Class.getName` gives it: `int[]` is `[I`, `A[]` is `[LA;`.
fn external(class: &str) -> String {
    let element = class.trim_end_matches("[]");
    let dimensions = (class.len() - element.len()) / 2;
    if dimensions == 0 {
        return class.to_owned();
    }
    let element = match names::primitive_code(element) {
        Some(code) => code.to_owned(),
        None => format!("L{element};"),
    };
    "[".repeat(dimensions) + &element
}

/// Reverses [`external`].
fn source_form(class: &str) -> String {
    if class.starts_with('[') { names::from_signature(class) } else { class.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of a JVM of JDK 1.3. The page on which it was published has added blanks to its
    /// title.
    const JDK_1_3: &str = "\
the program's output
Allocation profile (sizes in bytes, cutoff = 0 bytes):
_ _ _ _ _ _Size_ _Instances_ _Average_ _Class_ _ _ _ _ _ _ _ _ _ _ _ _ \n  \
  13491592     186025       73  [I
   2496352     156022       16  java.lang.FDBigInt
      8112         25      324  [Ljava.util.Hashtable$Entry;
  23916904     518123       46  --total--

more output
";

    const JDK_7: &str = "
Allocation profile (sizes in bytes, cutoff = 0 bytes):

________________Size__Instances__Average__Class________________
            13491592     186025       73  [I
             2496352     156022       16  java.lang.FDBigInt
                8112         25      324  [Ljava.util.Hashtable$Entry;
            23916904     518123       46  --total--

";

    fn row(class: &str, bytes: u64, count: u64) -> AprofRow {
        AprofRow { class: class.into(), bytes, count }
    }

    #[test]
    fn both_layouts_are_read_and_the_later_one_is_written() {
        let table = tables(JDK_1_3.as_bytes()).unwrap().remove(0);
        assert_eq!(table, tables(JDK_7.as_bytes()).unwrap().remove(0));
        let rows = [
            row("int[]", 13_491_592, 186_025),
            row("java.lang.FDBigInt", 2_496_352, 156_022),
            row("java.util.Hashtable$Entry[]", 8112, 25),
        ];
        assert_eq!(table.rows, rows);
        assert_eq!(table.total, row("", 23_916_904, 518_123));
        let mut written = Vec::new();
        write(&mut written, &table).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), JDK_7);
    }

    #[test]
    fn sites_are_added_up_by_class() {
        let mut profile = Profile::default();
        let trace = profile.system_trace();
        let mut sites = Sites::default();
        for (class, allocated_bytes, allocated_count) in
            [("b", 16, 1), ("int[][]", 20, 2), ("b", 24, 1), ("a", 40, 1), ("none", 0, 0)]
        {
            let class = profile.symbols.new_class(class);
            let objects =
                Allocations { allocated_bytes, allocated_count, ..Allocations::default() };
            sites.total.add(objects);
            sites.rows.push(Site { class, trace, objects });
        }
        let table = Table::of(&profile, &sites);
        assert_eq!(table.rows, [row("a", 40, 1), row("b", 40, 2), row("int[][]", 20, 2)]);
        assert_eq!(table.total, row("", 100, 5));
        let mut written = Vec::new();
        write(&mut written, &table).unwrap();
        assert_eq!(tables(&written[..]).unwrap(), [table]);
        assert!(String::from_utf8(written).unwrap().contains("       10  [[I\n"));
    }

    /// Each of several tables holds the allocations since the one before.
    #[test]
    fn several_tables_are_added_up() {
        let profile = read(format!("{JDK_7}{JDK_1_3}").as_bytes()).unwrap();
        let sites = profile.sites().unwrap();
        assert_eq!(sites.rows.len(), 3);
        assert_eq!(sites.rows[0].objects.allocated_count, 2 * 186_025);
        let table = Table::of(&profile, &sites);
        assert_eq!(table.total, row("", 2 * 23_916_904, 2 * 518_123));
        assert_eq!(
            profile.notes,
            ["2 lines of the program's own output were skipped", "2 tables were added up"]
        );
        assert!(recognise(JDK_1_3.as_bytes()) && !recognise(b"an Allocation profile (sizes"));
    }

    /// A table that is cut off has the rows that are present.
    #[test]
    fn cut_tables_are_read_as_far_as_they_go() {
        let first = JDK_7.find("\n            13491592").unwrap() + 1;
        let rows = JDK_7[first..].find('\n').unwrap() + first + 1;
        for end in 0..JDK_7.len() - 1 {
            let result = tables(&JDK_7.as_bytes()[..end]);
            if end < rows {
                assert!(matches!(result, Err(Error::Ascii { .. })), "cut at {end}");
                continue;
            }
            let table = result.unwrap().remove(0);
            assert_eq!(table.rows[0], row("int[]", 13_491_592, 186_025), "cut at {end}");
            let has_all = JDK_7[..end].ends_with(TOTAL);
            let notes = read(&JDK_7.as_bytes()[..end]).unwrap().notes;
            assert_eq!(notes.is_empty(), has_all, "cut at {end}: {notes:?}");
            assert_eq!(table.total.count == 518_123, has_all, "cut at {end}");
        }
    }

    #[test]
    fn damaged_rows_are_skipped() {
        let profile = read(JDK_7.replace("186025", "-186025").as_bytes()).unwrap();
        assert_eq!(profile.sites().unwrap().rows.len(), 2);
        let note = &profile.notes[0];
        assert!(note.starts_with("1 line skipped, line 5: expected a row "), "{note}");
    }

    #[test]
    fn numbers_of_other_locales() {
        let text = JDK_7.replace("13491592     186025", "13.491.592    186.025");
        assert_eq!(tables(text.as_bytes()).unwrap(), tables(JDK_7.as_bytes()).unwrap());
    }

    #[test]
    fn what_is_no_table_is_an_error() {
        let spoilt = ["186025", "156022", "25 "].iter();
        let spoilt = spoilt.fold(JDK_7.to_owned(), |text, count| text.replace(count, "many"));
        assert!(tables(spoilt.as_bytes()).is_err());
        assert!(tables(JDK_7.replace("Average", "Mean").as_bytes()).is_err());
        assert!(tables(&b""[..]).is_err());
    }
}
