//! The file of the Shared Fields Analysis, which grows while the program runs: a record of text for
//! each object. `docs/formats/shared-fields.md` describes it.
//!
//! Most objects of a site have the same counts. Their records are added up until they are written,
//! so that each text is made once.

use std::fmt::Write as _;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use rustc_hash::FxHashMap;

use super::classes::{Classes, SEPARATOR};
use super::records::Record;
use crate::output::Output;
use crate::recorder::cannot_write;

/// The number of different records that are kept until they are written.
const MOST_ALIKE: usize = 1 << 18;

/// A site that allocates, or a method that does so by reflection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Site {
    /// The class, with slashes.
    pub(super) class: String,
    pub(super) method: String,
    pub(super) descriptor: String,
    /// The instruction, as the options want it; -1 for reflection.
    pub(super) index: i32,
}

/// The file; see the module.
#[derive(Debug)]
pub(super) struct Writer {
    out: Destination,
    /// Whether a record represents all objects that are alike.
    aggregates: bool,
    /// The number of objects of each kind, without the last ones.
    alike: FxHashMap<RecordGroup, u64>,
    /// The kind of the last objects, and their number: neighbours are often alike.
    last: Option<(RecordGroup, u64)>,
    /// The counts of the record that is looked at.
    counts: Vec<u64>,
}

/// Objects with the same record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct RecordGroup {
    class: u32,
    /// 0 if it is not known.
    site: u32,
    counts: Box<[u64]>,
}

#[derive(Debug)]
enum Destination {
    Plain(Output),
    Gzip(Box<GzEncoder<Output>>),
    /// It is whole, or could not be written.
    Closed,
}

impl Writer {
    /// Begins the file, which is compressed if its name ends in `.gz`.
    pub(super) fn new(output: Output, aggregates: bool) -> Self {
        let out = match output.name().ends_with(".gz") {
            true => Destination::Gzip(Box::new(GzEncoder::new(output, Compression::fast()))),
            false => Destination::Plain(output),
        };
        let (alike, last) = (FxHashMap::default(), None);
        Self { out, aggregates, alike, last, counts: Vec::new() }
    }

    /// Adds an object's record. An object whose allocation was not seen does not have an owner, and
    /// is left out if it was never accessed. Returns whether the records must be written.
    pub(super) fn add(&mut self, record: Record<'_>) -> bool {
        let is_seen = record.site() != 0 && record.has_owner();
        let counts = &mut self.counts;
        counts.clear();
        for [own_reads, other_reads, own_writes, other_writes] in record.counts() {
            counts.extend(match is_seen {
                true => [own_reads, other_reads, own_writes, other_writes],
                false => [0, own_reads + other_reads, 0, own_writes + other_writes],
            });
        }
        if !is_seen && counts.iter().all(|&count| count == 0) {
            return false;
        }
        let site = if is_seen { record.site() } else { 0 };
        let class = record.class();
        if let Some((last, count)) = &mut self.last
            && (last.class, last.site, &*last.counts) == (class, site, counts)
        {
            *count += 1;
            return false;
        }
        let alike = RecordGroup { class, site, counts: counts.as_slice().into() };
        self.end_last(Some((alike, 1)));
        self.alike.len() >= MOST_ALIKE
    }

    /// Adds the last objects to those before them; others follow.
    fn end_last(&mut self, next: Option<(RecordGroup, u64)>) {
        if let Some((last, count)) = std::mem::replace(&mut self.last, next) {
            *self.alike.entry(last).or_default() += count;
        }
    }

    /// Writes the records that were added. A reader can read them if the process is killed.
    pub(super) fn flush(&mut self, classes: &Classes, site: impl Fn(u32) -> Option<String>) {
        self.end_last(None);
        let mut text = String::new();
        for (alike, count) in std::mem::take(&mut self.alike) {
            let Some(layout) = classes.with_number(alike.class) else { continue };
            text.clear();
            text.push_str(site(alike.site).as_deref().unwrap_or("?"));
            let _ = write!(text, "\t{}", layout.name);
            if self.aggregates {
                let _ = write!(text, "\t{count}");
            }
            text.push('\n');
            // The counts of accesses without an instruction come after those of all others.
            let field_count = layout.fields.len();
            for (place, field) in layout.fields.iter().enumerate() {
                text.push_str(&field.text);
                let counts = alike.counts.chunks_exact(4).skip(place).step_by(field_count.max(1));
                for count in counts.flatten() {
                    let _ = write!(text, "\t{count}");
                }
                if self.aggregates
                    && let Some(word) = classes.modifier(&layout, field)
                {
                    let _ = write!(text, "\t{word}");
                }
                text.push('\n');
            }
            text.push('\n');
            let count = if self.aggregates { 1 } else { count };
            let written = (0..count).try_for_each(|_| self.out.write(text.as_bytes()));
            self.check(written);
        }
        let flushed = self.out.flush();
        self.check(flushed);
    }

    /// Ends the file.
    pub(super) fn finish(&mut self) {
        let finished = match &mut self.out {
            Destination::Plain(output) => output.finish(),
            Destination::Gzip(encoder) => {
                encoder.try_finish().and_then(|()| encoder.get_mut().finish())
            }
            Destination::Closed => Ok(()),
        };
        self.check(finished);
        self.out = Destination::Closed;
    }

    fn check(&mut self, result: io::Result<()>) {
        let Err(error) = result else { return };
        let output = match &self.out {
            Destination::Plain(output) => output,
            Destination::Gzip(encoder) => encoder.get_ref(),
            Destination::Closed => return,
        };
        let part = output.part().map(|part| part.display().to_string());
        cannot_write(&output.name(), &error, part);
        self.out = Destination::Closed;
    }
}

impl Destination {
    fn write(&mut self, record: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(output) => output.write_all(record).and_then(|()| output.rest()),
            Self::Gzip(encoder) => encoder.write_all(record),
            Self::Closed => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(output) => output.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Closed => Ok(()),
        }
    }
}

impl Site {
    /// Returns the site as the file has it.
    pub(super) fn text(&self) -> String {
        let Self { class, method, descriptor, index } = self;
        format!("{class}{SEPARATOR}{method}{SEPARATOR}{descriptor}{SEPARATOR}{index}")
    }
}
