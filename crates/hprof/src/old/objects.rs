//! The tables of JDK 1.1's `java -prof` after the calls: the memory in use, the arrays of primitive
//! types and the objects that were left when the program ended.

use std::io::{self, Write};

use perk_profile::{Allocations, HeapSummary, Profile, Sites, names};

use crate::lines::{number, source_form, text, word};

/// The titles of the table of arrays.
const TITLES: [&[u8]; 4] = [b"sig", b"count", b"bytes", b"indx"];
/// The letters of the primitive types, in the order of the JVM's numbers for them.
const PRIMITIVES: [&str; 8] = ["Z", "C", "F", "D", "B", "S", "I", "J"];
/// The first of these numbers.
const FIRST_INDEX: usize = 4;
/// The size of a reference in bytes, by which an array's elements are counted.
const REFERENCE_BYTES: u64 = 4;

/// A line of these tables.
#[derive(Debug, PartialEq)]
pub(super) enum ObjectsLine {
    /// A line of titles, or of an entry of the table of objects, whose numbers stand in the lines
    /// below.
    Title,
    /// `handles_used: …, handles_free: …, heap-used: …, heap-free: …`
    Summary { used: HeapSummary, free_count: u64, free_bytes: u64 },
    /// The objects of a class, by its name in source form.
    Objects { class: String, objects: Allocations },
}

impl ObjectsLine {
    /// Parses a line. Returns `None` if `line` does not belong to these tables.
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        let trimmed = line.trim_ascii();
        if is_title(trimmed) {
            return Some(Self::Title);
        }
        match trimmed {
            [b'*', b'*', b'*', b' ', b't', b'a', b'b', b'[', ..] => Some(Self::Title),
            [b'h', b'a', b'n', b'd', b'l', b'e', b's', b'_' | b'-', ..] => Self::summary(trimmed),
            [b'[' | b'L', ..] => Self::objects(trimmed),
            _ => None,
        }
    }

    fn summary(line: &[u8]) -> Option<Self> {
        let mut used = Allocations::default();
        let (mut free_count, mut free_bytes) = (0, 0);
        for part in line.split(|&byte| byte == b',') {
            let colon = part.iter().position(|&byte| byte == b':')?;
            let value = number(part[colon + 1..].trim_ascii())?;
            match part[..colon].trim_ascii() {
                b"handles_used" | b"handles-used" => used.live_count = value,
                b"handles_free" | b"handles-free" => free_count = value,
                b"heap_used" | b"heap-used" => used.live_bytes = value,
                b"heap_free" | b"heap-free" => free_bytes = value,
                _ => return None,
            }
        }
        let used = HeapSummary { objects: used, written: None };
        Some(Self::Summary { used, free_count, free_bytes })
    }

    /// Parses `[C 174 19060 5` or `Ljava/util/HashtableEntry; 219 3504`.
    fn objects(mut line: &[u8]) -> Option<Self> {
        let rest = &mut line;
        let signature = text(word(rest)?);
        let class = names::from_signature(&signature);
        if class == signature {
            return None;
        }
        let (live_count, live_bytes) = (number(word(rest)?)?, number(word(rest)?)?);
        let index = word(rest).map(number);
        (index != Some(None) && word(rest).is_none()).then(|| Self::Objects {
            class: source_form(&class).into_owned(),
            objects: Allocations { live_bytes, live_count, ..Allocations::default() },
        })
    }
}

/// Whether `line` has the titles of the table of arrays.
pub(super) fn is_title(mut line: &[u8]) -> bool {
    TITLES.iter().all(|&title| word(&mut line) == Some(title)) && line.is_empty()
}

/// Whether `line` is one with which only these files begin.
pub(super) fn begins(line: &[u8]) -> bool {
    line.starts_with(b"*** tab[") || line.starts_with(b"handles_used: ")
}

/// Whether `sites` has only the numbers of live objects by class.
pub(super) fn are_by_class(profile: &Profile, sites: &Sites) -> bool {
    let system = profile.system_trace();
    let has = |objects: Allocations| (objects.allocated_bytes, objects.allocated_count) == (0, 0);
    !sites.rows.is_empty()
        && sites.sample_interval_bytes.is_none()
        && has(sites.total)
        && sites.rows.iter().all(|row| row.trace == system && has(row.objects))
}

/// Writes the line of the memory in use. The size of free memory is not known.
pub(super) fn write_summary(out: &mut impl Write, summary: &HeapSummary) -> io::Result<()> {
    let Allocations { live_count, live_bytes, .. } = summary.objects;
    writeln!(out, "handles_used: {live_count}, heap-used: {live_bytes}")
}

/// Writes the tables of arrays and of objects. An entry has a class and its arrays if they follow
/// each other. Its number is its position, and addresses are 0.
pub(super) fn write_sites(
    out: &mut impl Write,
    profile: &Profile,
    sites: &Sites,
) -> io::Result<()> {
    let name = |class| names::to_signature(profile.symbols.class_name(class));
    let (arrays, others): (Vec<_>, Vec<_>) =
        sites.rows.iter().map(|row| (name(row.class), row.objects)).partition(|(signature, _)| {
            signature.strip_prefix('[').is_some_and(|element| PRIMITIVES.contains(&element))
        });
    writeln!(out, "sig  count     bytes  indx")?;
    for (signature, Allocations { live_count, live_bytes, .. }) in &arrays {
        let index = PRIMITIVES.iter().position(|letter| *letter == &signature[1..]);
        let index = index.unwrap_or_default() + FIRST_INDEX;
        writeln!(out, "{signature} {live_count:7} {live_bytes:9} {index:5}")?;
    }
    let mut others = others.into_iter().peekable();
    let mut place = 0;
    while let Some((signature, objects)) = others.next() {
        let row = |signature: &str, objects: Allocations| {
            format!("  {signature} {} {}\n", objects.live_count, objects.live_bytes)
        };
        let mut rows = row(&signature, objects);
        let (mut instances, mut in_arrays) = (objects, Allocations::default());
        if signature.starts_with('[') {
            (instances, in_arrays) = (in_arrays, instances);
        } else if let Some((array, objects)) =
            others.next_if(|(next, _)| next.strip_prefix('[') == Some(&signature))
        {
            rows += &row(&array, objects);
            in_arrays = objects;
        }
        let (count, array_count) = (instances.live_count, in_arrays.live_count);
        let elements = in_arrays.live_bytes / REFERENCE_BYTES;
        let title = format!("*** tab[{place}] p=0 cb=0 cnt={count} ac={array_count} al={elements}");
        write!(out, "{title}\n{rows}")?;
        place += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_distinguished() {
        let objects = |class: &str, live_count, live_bytes| {
            let objects = Allocations { live_bytes, live_count, ..Allocations::default() };
            Some(ObjectsLine::Objects { class: class.to_owned(), objects })
        };
        for (line, row) in [
            ("[C     174     19060     5", objects("char[]", 174, 19_060)),
            (
                "  Ljava/util/HashtableEntry; 219 3504",
                objects("java.util.HashtableEntry", 219, 3504),
            ),
            (
                "  [Ljava/util/HashtableEntry; 3 4412",
                objects("java.util.HashtableEntry[]", 3, 4412),
            ),
            ("*** tab[267] p=4bba378 cb=1873248 cnt=219 ac=3 al=1103", Some(ObjectsLine::Title)),
            ("sig  count     bytes  indx", Some(ObjectsLine::Title)),
            ("[C 174", None),
            ("[C 174 19060 5 5", None),
            ("[C 174 19060 x", None),
            ("L 1 2", None),
            ("handles_used: x", None),
            ("handles_open: 1", None),
            ("", None),
        ] {
            assert_eq!(ObjectsLine::of(line.as_bytes()), row, "{line}");
        }
        let line =
            b"handles_used: 1174, handles_free: 339046, heap-used: 113960, heap_free: 21794720";
        let live = Allocations { live_bytes: 113_960, live_count: 1174, ..Allocations::default() };
        let used = HeapSummary { objects: live, written: None };
        let row = ObjectsLine::Summary { used, free_count: 339_046, free_bytes: 21_794_720 };
        assert_eq!(ObjectsLine::of(line), Some(row));
    }
}
