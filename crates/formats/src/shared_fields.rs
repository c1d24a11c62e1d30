//! The profile of the Shared Fields Analysis: one record per object, with the reads and writes of
//! each field by the thread that allocated the object and by all others.
//! `docs/formats/shared-fields.md` describes the format.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io::{self, Read, Write};

use perk_hprof::LineReader;
use perk_profile::{
    AccessCounts, AllocationSite, Event, Field, FieldAccesses, FieldCounts, FieldModifier,
    KeyedMap, Metric, Profile, StrId, names,
};

use crate::Error;
use crate::file_format::{
    Depth, Detail, Document, FileFormat, FormatContent, FormatFacts, Metrics, Reading, View,
    refusal,
};

/// The separator of the components of sites and fields: FILE SEPARATOR.
const SEPARATOR: char = '\x1c';
/// The form of the separator in a document made of a profile: SYMBOL FOR FILE SEPARATOR.
const SEPARATOR_SYMBOL: char = '\u{241c}';
/// The numbers of a field's accesses by the same means.
const COUNTERS: usize = 4;
/// The site of objects whose allocation was not seen.
const UNKNOWN_SITE: &str = "?";

const HEAD: &str = "an object's allocation site (class, method, descriptor and index, parted by \
                    0x1C, or ?), a TAB and its class, and perhaps a TAB and a number of objects";
const FIELD: &str = "a field (class, name and descriptor, parted by 0x1C) and four numbers, or \
                     eight, parted by TABs, and perhaps a TAB and final, volatile or assigned, or \
                     an empty line";
const FOUR: &str = "four numbers of a field, as in the lines before";
const EIGHT: &str = "eight numbers of a field, as in the lines before";

/// One record for each object, as the Shared Fields Analysis writes it.
pub(crate) struct ByObjectFormat;

/// One record for all objects that are alike, with their number.
pub(crate) struct AlikeFormat;

/// The format with numbers of objects.
pub static ALIKE: &dyn FileFormat = &AlikeFormat;

/// The contents of both formats.
const HOLDS: FormatContent = FormatContent {
    metrics: Metrics::Table,
    detail: Detail::None,
    documents: &[Document::Fields],
    accounting: false,
    depth: Depth::Whole,
};

impl FileFormat for ByObjectFormat {
    fn facts(&self) -> &'static FormatFacts {
        &FormatFacts {
            name: "tsv",
            title: "shared fields",
            about: "Accesses to the fields of each object: the Shared Fields Analysis",
            endings: &["tsv"],
            page: "shared-fields.md",
            keeps: "field accesses, object by object",
            reading: Reading::ToCut,
            written: Some(HOLDS),
        }
    }

    fn recognise(&self, head: &[u8]) -> bool {
        form(head) == Some(false)
    }

    fn read(&self, input: &mut dyn Read) -> Result<Profile, Error> {
        read(input)
    }

    fn write(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        write(view.profile, false, out)
    }

    fn holds(&self, metric: &Metric) -> bool {
        metric.is_of_fields()
    }
}

impl FileFormat for AlikeFormat {
    fn facts(&self) -> &'static FormatFacts {
        &FormatFacts {
            name: "fields",
            title: "shared fields",
            about: "Accesses to the fields of objects that are alike, with their number",
            endings: &["fields"],
            page: "shared-fields.md",
            keeps: "the same, alike objects once",
            reading: Reading::ToCut,
            written: Some(HOLDS),
        }
    }

    fn recognise(&self, head: &[u8]) -> bool {
        form(head) == Some(true)
    }

    fn read(&self, input: &mut dyn Read) -> Result<Profile, Error> {
        read(input)
    }

    fn write(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        write(view.profile, true, out)
    }

    fn holds(&self, metric: &Metric) -> bool {
        metric.is_of_fields()
    }
}

/// Returns whether the records of a file that begins with `head` have numbers of objects; `None` if
/// it is not such a profile.
fn form(head: &[u8]) -> Option<bool> {
    let text = head.trim_ascii_start();
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    head_columns(line.trim_end_matches('\r')).map(|(.., count)| count.is_some())
}

/// Writes the accesses to fields that `profile` has: each object as a record, or all objects that
/// are alike as one (`are_alike`).
///
/// # Errors
/// As `out` fails; of kind `InvalidInput` if the profile has no such accesses.
pub fn write(profile: &Profile, are_alike: bool, out: &mut dyn Write) -> io::Result<()> {
    let accesses = profile.field_accesses().ok_or_else(|| {
        refusal("shared fields hold the accesses to objects' fields; the profile has none")
    })?;
    let text = |id: StrId| profile.symbols.strings.get(id);
    let mut record = String::new();
    for objects in accesses.rows() {
        record.clear();
        match objects.site {
            None => record.push_str(UNKNOWN_SITE),
            Some(AllocationSite { class, method, descriptor, index }) => {
                for part in [class, method, descriptor] {
                    record.push_str(text(part));
                    record.push(SEPARATOR);
                }
                record.push_str(&index.to_string());
            }
        }
        record.push('\t');
        record.push_str(&to_class_name(profile.symbols.class_name(objects.class)));
        if are_alike {
            record += &format!("\t{}", objects.object_count);
        }
        record.push('\n');
        for (field, counts) in objects.fields.iter().zip(objects.accesses()) {
            let [class, name, descriptor] = [field.class, field.name, field.descriptor].map(text);
            record += &format!("{class}{SEPARATOR}{name}{SEPARATOR}{descriptor}");
            let extended = accesses.has_extended().then(|| counts.extended.numbers());
            for number in counts.direct.numbers().into_iter().chain(extended.into_iter().flatten())
            {
                record += &format!("\t{number}");
            }
            if let Some(word) = accesses.modifier(*field).word().filter(|_| are_alike) {
                record.push('\t');
                record.push_str(word);
            }
            record.push('\n');
        }
        record.push('\n');
        for _ in 0..if are_alike { 1 } else { objects.object_count } {
            out.write_all(record.as_bytes())?;
        }
    }
    Ok(())
}

/// Reads a profile. Memory grows with the number of different records, not with the file.
///
/// # Errors
/// [`Error::Line`] with the line that cannot be understood, or as `input` fails.
pub fn read(input: impl Read) -> Result<Profile, Error> {
    let mut lines = LineReader::new(input);
    let mut reader = DocumentReader::default();
    let mut record: Vec<u8> = Vec::new();
    loop {
        let is_end = match lines.next()? {
            Some(line) if !line.trim_ascii().is_empty() => {
                record.extend_from_slice(line);
                record.push(b'\n');
                reader.line_count += 1;
                continue;
            }
            line => line.is_none(),
        };
        // A record that is cut off is dropped.
        if !record.is_empty() && !lines.has_failed() {
            let end = lines.line() - usize::from(!is_end);
            reader.record(&record, end)?;
            record.clear();
        }
        if is_end {
            break;
        }
    }
    if lines.is_cut() && reader.line_count > 0 {
        reader
            .profile
            .notes
            .push(format!("line {} has no end: the file may be cut off there", lines.line()));
    }
    Ok(reader.finish())
}

#[derive(Default)]
struct DocumentReader {
    profile: Profile,
    accesses: FieldAccesses,
    /// The records that were read, in the form of the file, and their places.
    known: KeyedMap<Box<[u8]>, usize>,
    line_count: usize,
    /// The number of lines whose TABs had become blanks.
    blank_count: usize,
    /// The number of lines that are not UTF-8.
    odd_count: usize,
    /// Whether a field has been read: all others have as many numbers.
    has_fields: bool,
}

impl DocumentReader {
    /// Adds a record that ends in line `end`.
    fn record(&mut self, record: &[u8], end: usize) -> Result<(), Error> {
        let (key, object_count) = without_count(record);
        if let Some(&place) = self.known.get(&*key) {
            self.accesses.add_objects(place, object_count.unwrap_or(1));
            return Ok(());
        }
        let text = String::from_utf8_lossy(record);
        let count = record.iter().filter(|&&byte| byte == b'\n').count();
        let first = end + 1 - count;
        let error = |index: usize, expected| Error::Line { line: first + index, expected };
        let mut lines = text.lines().enumerate();
        let (site, class, object_count) =
            lines.next().and_then(|(_, line)| head_columns(line)).ok_or(error(0, HEAD))?;
        let symbols = &mut self.profile.symbols;
        let site = site.map(|parts| {
            let [class, method, descriptor] =
                [parts.0, parts.1, parts.2].map(|part| symbols.strings.intern(part));
            AllocationSite { class, method, descriptor, index: parts.3 }
        });
        let class = symbols.class(&from_class_name(class));
        let (mut fields, mut counts) = (Vec::new(), Vec::new());
        for (index, line) in lines {
            let (line, modifier) = without_modifier(line);
            let (parts, direct, extended, had_blanks) =
                field_columns(line).ok_or(error(index, FIELD))?;
            match (extended.is_some(), self.accesses.has_extended()) {
                (true, false) if self.has_fields => return Err(error(index, FOUR)),
                (false, true) => return Err(error(index, EIGHT)),
                (true, false) => self.accesses.set_extended(),
                _ => {}
            }
            self.has_fields = true;
            self.blank_count += usize::from(had_blanks);
            let [class, name, descriptor] = parts.map(|part| symbols.strings.intern(part));
            let field = Field { class, name, descriptor };
            self.accesses.note_modifier(field, modifier);
            fields.push(field);
            counts.push(AccessCounts { direct, extended: extended.unwrap_or_default() });
        }
        self.odd_count += usize::from(matches!(text, Cow::Owned(_)));
        let layout = self.accesses.layout(class, fields);
        let place = self.accesses.push(site, layout, object_count.unwrap_or(1), counts);
        self.known.insert(key.into(), place);
        Ok(())
    }

    fn finish(mut self) -> Profile {
        let notes = [
            (self.blank_count, "lines with blanks in the place of a TAB"),
            (self.odd_count, "records whose names are not UTF-8: invalid bytes are shown as �"),
        ];
        for (count, what) in notes {
            if count > 0 {
                self.profile.notes.push(format!("{count} {what}"));
            }
        }
        let section = self.accesses.section(&mut self.profile);
        self.profile.events.push(Event::FieldAccesses(self.accesses));
        if !section.is_empty() {
            self.profile.events.push(section.into());
        }
        self.profile
    }
}

/// The class, method, descriptor and index of a site.
type Site<'a> = (&'a str, &'a str, &'a str, i32);

/// Returns the site and the class of a record's first line, and the number of objects if the line
/// has it.
fn head_columns(line: &str) -> Option<(Option<Site<'_>>, &str, Option<u64>)> {
    let (site, rest) = line.split_once('\t')?;
    let (class, count) = match rest.split_once('\t') {
        Some((class, count)) => (class, Some(count.trim_end_matches(' ').parse().ok()?)),
        None => (rest, None),
    };
    let class = class.trim_end_matches(' ');
    if class.is_empty() {
        return None;
    }
    if site == UNKNOWN_SITE {
        return Some((None, class, count));
    }
    let mut parts = components(site);
    let site = (parts.next()?, parts.next()?, parts.next()?, parts.next()?.parse().ok()?);
    parts.next().is_none().then_some((Some(site), class, count))
}

/// Returns a record without the number of objects in its first line, and the number; records that
/// differ in it alone are of objects that are alike.
fn without_count(record: &[u8]) -> (Cow<'_, [u8]>, Option<u64>) {
    let end = memchr::memchr(b'\n', record).unwrap_or(record.len());
    let mut tabs = memchr::memchr_iter(b'\t', &record[..end]);
    let count = tabs.nth(1).and_then(|tab| {
        let count = std::str::from_utf8(&record[tab + 1..end]).ok()?.trim_end().parse().ok()?;
        Some((tab, count))
    });
    match count {
        Some((tab, count)) => ([&record[..tab], &record[end..]].concat().into(), Some(count)),
        None => (record.into(), None),
    }
}

/// Returns a field's line without the modifier at its end, and the modifier.
fn without_modifier(line: &str) -> (&str, FieldModifier) {
    let last = line.rsplit_once('\t');
    let found = last.and_then(|(rest, word)| Some((rest, FieldModifier::of_word(word)?)));
    found.unwrap_or((line, FieldModifier::None))
}

/// The names of a field, its accesses, those by other means, and whether blanks replaced a TAB.
type FieldColumns<'a> = ([&'a str; 3], FieldCounts, Option<FieldCounts>, bool);

/// Returns the columns of a field's line: four numbers or eight.
fn field_columns(line: &str) -> Option<FieldColumns<'_>> {
    let mut had_blanks = false;
    let mut rest = line.trim_end_matches([' ', '\t']);
    let mut numbers = Vec::with_capacity(2 * COUNTERS);
    while let Some(at) = rest.rfind(['\t', ' '])
        && let Ok(number) = rest[at + 1..].parse()
    {
        numbers.push(number);
        had_blanks |= !rest[..=at].ends_with('\t');
        rest = rest[..at].trim_end_matches([' ', '\t']);
    }
    numbers.reverse();
    let (direct, extended) = numbers.split_at_checked(COUNTERS)?;
    let extended = if extended.is_empty() { None } else { Some(counts(extended)?) };
    let mut parts = components(rest);
    let names = [parts.next()?, parts.next()?, parts.next()?];
    parts.next().is_none().then_some((names, counts(direct)?, extended, had_blanks))
}

fn counts(numbers: &[u64]) -> Option<FieldCounts> {
    <[u64; COUNTERS]>::try_from(numbers).ok().map(FieldCounts::from)
}

fn components(text: &str) -> impl Iterator<Item = &str> {
    text.split([SEPARATOR, SEPARATOR_SYMBOL])
}

/// Returns the source form of a result of `Class.getName()`.
fn from_class_name(name: &str) -> String {
    if name.starts_with('[') { names::from_signature(name) } else { name.to_owned() }
}

/// Returns the result of `Class.getName()` for a class in source form.
fn to_class_name(class: &str) -> String {
    if class.ends_with("[]") {
        names::to_signature(class).replace('/', ".")
    } else {
        class.to_owned()
    }
}
