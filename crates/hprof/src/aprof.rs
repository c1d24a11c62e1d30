//! The table that `-Xaprof` printed when a program ended (JDK 1.3 to 7): allocations by class.
//!
//! Source of the format: files and descriptions of the JVMs' output; see `docs/formats/aprof.md`.

use std::cmp::Reverse;
use std::io::{self, Write};

use perk_profile::{Profile, Sites, names};
use rustc_hash::FxHashMap;

use crate::Error;
use crate::lines::{Lines, cut, number, one_line, text, word};

const HEAD: &str = "Allocation profile (sizes in bytes, cutoff = ";
const TITLE: &str = "________________Size__Instances__Average__Class________________";
const TOTAL: &str = "--total--";

/// What a program allocated, by class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Classes with fewer bytes are not listed.
    pub cutoff_bytes: u64,
    /// The classes, in the file's order.
    pub rows: Vec<Row>,
    /// All classes together, in the file's own words.
    pub total: Row,
}

/// The objects of one class, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The class's name in source form (`int[]`); empty in the total.
    pub class: String,
    /// The size of all objects ever allocated.
    pub bytes: u64,
    /// Their number.
    pub count: u64,
}

impl Table {
    /// The classes of `sites` with what was allocated of them, most bytes first. Those without any
    /// are left out, classes of one name are one.
    pub fn of(profile: &Profile, sites: &Sites) -> Self {
        let mut by_class: FxHashMap<&str, (u64, u64)> = FxHashMap::default();
        for site in &sites.rows {
            let (bytes, count) =
                by_class.entry(profile.symbols.class_name(site.class)).or_default();
            *bytes = bytes.saturating_add(site.objects.allocated_bytes);
            *count = count.saturating_add(site.objects.allocated_count);
        }
        let rows = by_class.into_iter().filter(|&(_, (bytes, _))| bytes > 0);
        let mut rows: Vec<_> =
            rows.map(|(class, (bytes, count))| Row { class: class.into(), bytes, count }).collect();
        rows.sort_by(|a, b| (Reverse(a.bytes), &a.class).cmp(&(Reverse(b.bytes), &b.class)));
        let total = Row {
            class: String::new(),
            bytes: sites.total.allocated_bytes,
            count: sites.total.allocated_count,
        };
        Self { cutoff_bytes: 0, rows, total }
    }
}

/// Writes the table as JDK 7 did, an empty line before and after it; the rows as they are.
///
/// # Errors
/// As the sink fails.
pub fn write(mut out: impl Write, table: &Table) -> io::Result<()> {
    writeln!(out, "\n{HEAD}{} bytes):\n\n{TITLE}", table.cutoff_bytes)?;
    let mut line = |row: &Row, name: &str| {
        let average = row.bytes as f64 / row.count.max(1) as f64 + 0.5;
        writeln!(out, "{:20} {:10} {:8}  {name}", row.bytes, row.count, average as u64)
    };
    for row in &table.rows {
        line(row, &one_line(&external(&row.class)))?;
    }
    line(&table.total, TOTAL)?;
    writeln!(out)
}

/// Reads the first table among what a program printed; the title may be that of any JDK, or spread
/// by blanks.
///
/// # Errors
/// [`Error::Ascii`] with the line that cannot be understood, or the last one if there is no table.
pub fn read(bytes: &[u8]) -> Result<Table, Error> {
    let mut lines = Lines::new(bytes);
    let cutoff = loop {
        let line = lines.expect(&format!("\"{HEAD}n bytes):\""))?;
        if let Some(cutoff) = line.strip_prefix(HEAD.as_bytes()) {
            break cutoff;
        }
    };
    let cutoff_bytes = cutoff.strip_suffix(b" bytes):").and_then(number);
    let cutoff_bytes =
        cutoff_bytes.ok_or_else(|| lines.error(format!("expected \"{HEAD}n bytes):\"")))?;
    let title = loop {
        let line = lines.expect("the line of titles")?;
        if !line.is_empty() {
            break line;
        }
    };
    if !is_title(title) {
        return Err(lines.error(format!("expected \"{TITLE}\", found \"{}\"", cut(title))));
    }
    let mut table = Table { cutoff_bytes, ..Table::default() };
    loop {
        let line = lines.expect("the row --total--")?;
        let Some((bytes, count, class)) = row(line) else {
            let what =
                format!("expected a row \"size instances average class\", found \"{}\"", cut(line));
            return Err(lines.error(what));
        };
        let class = text(class);
        if class == TOTAL {
            table.total = Row { class: String::new(), bytes, count };
            return Ok(table);
        }
        table.rows.push(Row { class: source_form(&class), bytes, count });
    }
}

fn is_title(line: &[u8]) -> bool {
    let words: Vec<u8> = line.iter().copied().filter(|byte| !b"_ ".contains(byte)).collect();
    words == b"SizeInstancesAverageClass"
}

/// Bytes, count and class; the average is found from these.
fn row(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let rest = &mut &line[..];
    let (bytes, count, average) = (word(rest)?, word(rest)?, word(rest)?);
    number(average)?;
    // The class stands behind two blanks, of which `word` took one.
    let class = rest.strip_prefix(b" ").unwrap_or(rest);
    (!class.is_empty()).then_some((number(bytes)?, number(count)?, class))
}

/// A class's name as `Class.getName` gives it: `int[]` is `[I`, `A[]` is `[LA;`.
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

/// The reverse of [`external`].
fn source_form(class: &str) -> String {
    if class.starts_with('[') { names::from_signature(class) } else { class.to_owned() }
}

#[cfg(test)]
mod tests {
    use perk_profile::{Allocations, Site};

    use super::*;

    /// As printed by a JVM of JDK 1.3, its title spread by the page it was published on.
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

    fn row(class: &str, bytes: u64, count: u64) -> Row {
        Row { class: class.into(), bytes, count }
    }

    #[test]
    fn both_layouts_are_read_and_the_later_one_is_written() {
        let table = read(JDK_1_3.as_bytes()).unwrap();
        assert_eq!(table, read(JDK_7.as_bytes()).unwrap());
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
        assert_eq!(read(&written).unwrap(), table);
        assert!(String::from_utf8(written).unwrap().contains("       10  [[I\n"));
    }

    #[test]
    fn what_is_no_table_is_an_error() {
        for end in 0..JDK_7.len() - 1 {
            let error = read(&JDK_7.as_bytes()[..end]);
            assert!(matches!(error, Err(Error::Ascii { .. })), "cut at {end}");
        }
        assert!(read(JDK_7.replace("186025", "many").as_bytes()).is_err());
        assert!(read(JDK_7.replace("Average", "Mean").as_bytes()).is_err());
    }
}
