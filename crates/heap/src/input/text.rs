//! HPROF text: its heap dump, translated into records.
//!
//! The text has an object's class, size, trace and references, and no values of primitive types. It
//! does not give the fields of a class: they are the ones that its instances show.

mod classes;
mod lines;
mod records;

use std::fs::File;

use perk_files::ReadAt;
use perk_hprof::LineReader;
use perk_hprof::heap::FieldType;
use perk_profile::units;

use self::classes::TextClasses;
use self::lines::{Line, TextArray, TextObject};
use self::records::Records;
use super::choose;
use crate::{Error, Options, Watch};

/// The title of a translated dump. Its CLASS DUMPs have the sizes of instances, and its arrays of
/// primitive types no content.
const TITLE: &str = perk_hprof::heap::TEXT_TITLE;
/// The size of an id in a translated dump.
const ID_BYTES: usize = 8;

/// A translated dump.
pub(super) struct Translation {
    pub(super) file: File,
    pub(super) notes: Vec<String>,
    pub(super) dump_number: usize,
    pub(super) dump_count: usize,
}

/// Translates the dump that is asked for.
pub(super) fn translate(
    file: &File,
    options: &Options,
    watch: &mut dyn Watch,
) -> Result<Translation, Error> {
    const STEPS: u64 = 3;
    let mut notes = Vec::new();
    // Names of threads and the frames of traces are those of the whole text.
    let profile = perk_hprof::ascii::read(ReadAt { file, offset: 0 })?;
    let dump_count = profile.heaps().count();
    let dump_number = choose(options.dump_number, dump_count)?;
    watch.progress("translating", 1, STEPS);
    let mut classes = TextClasses::default();
    let end = each_line(file, dump_number, |line| classes.line(line))?;
    classes.place_fields();
    watch.progress("translating", 2, STEPS);
    let mut records = Records::begin(options, &profile)?;
    records.classes(&classes, &profile)?;
    let mut objects =
        ObjectLines { classes: &classes, records, open: None, arrays: Arrays::default() };
    each_line(file, dump_number, |line| objects.line(line))?;
    objects.close()?;
    let ObjectLines { records, arrays, .. } = objects;
    let file = records.finish()?;
    watch.progress("translating", STEPS, STEPS);
    notes.push(
        "HPROF text has no values of primitive types: strings, numbers and arrays of them are shown \
         without content"
            .to_owned(),
    );
    if arrays.unknown_count > 0 {
        notes.push(format!(
            "the text leaves out the end of {}: their lengths follow from their sizes",
            units::plural(arrays.unknown_count, "array")
        ));
    }
    if arrays.other_count > 0 {
        notes.push(format!(
            "the text has another size for {}: the sizes of arrays are those of a JVM of 64 bits with \
             compressed references",
            units::plural(arrays.other_count, "array")
        ));
    }
    if end.other_count > 0 {
        notes.push(format!(
            "line {}: {} of the heap dump cannot be understood",
            end.first_other_line,
            units::plural(end.other_count, "line")
        ));
    }
    if end.is_cut {
        notes.push(format!("line {}: the text ends inside the heap dump", end.line));
    }
    Ok(Translation { file, notes, dump_number, dump_count })
}

/// Where a dump's lines end.
#[derive(Debug, Default)]
struct End {
    line: usize,
    is_cut: bool,
    other_count: u64,
    first_other_line: usize,
}

/// Passes on the lines of the dump with this number.
fn each_line(
    file: &File,
    dump_number: usize,
    mut each: impl FnMut(Line<'_>) -> Result<(), Error>,
) -> Result<End, Error> {
    let mut reader = LineReader::new(ReadAt { file, offset: 0 });
    let mut number = 0;
    let mut end = End { is_cut: true, ..End::default() };
    while reader.next()?.is_some() {
        let bytes = reader.last();
        if bytes.starts_with(lines::BEGIN) {
            number += 1;
        } else if number == dump_number {
            if bytes.starts_with(lines::END) {
                end.is_cut = false;
                break;
            }
            // A line without its end may be half a line.
            match Line::of(bytes).filter(|_| !reader.is_cut()) {
                Some(line) => each(line)?,
                None if bytes.trim_ascii().is_empty() || reader.is_cut() => {}
                None => {
                    end.other_count += 1;
                    if end.first_other_line == 0 {
                        end.first_other_line = reader.line();
                    }
                }
            }
        }
    }
    end.line = reader.line();
    Ok(end)
}

/// What is known of the lengths of arrays.
#[derive(Debug, Default)]
struct Arrays {
    /// The number of those that are longer than the text says. The original agent leaves out nulls at
    /// the end of arrays, and the length of those that it has not visited.
    unknown_count: u64,
    /// The number of those whose length does not fit their size.
    other_count: u64,
}

/// The pass that writes roots and objects.
struct ObjectLines<'a> {
    classes: &'a TextClasses,
    records: Records,
    open: Option<OpenObject>,
    arrays: Arrays,
}

/// An object whose lines are being read.
enum OpenObject {
    Instance {
        id: u64,
        trace: u32,
        class: usize,
        values: Vec<u64>,
        /// The fields of the class that have come.
        used: Vec<usize>,
    },
    Array {
        id: u64,
        trace: u32,
        class: u64,
        length: u32,
        bytes: u64,
        elements: Vec<(u32, u64)>,
    },
    /// A class, which has been written already.
    Class,
}

impl ObjectLines<'_> {
    fn line(&mut self, line: Line<'_>) -> Result<(), Error> {
        if let Line::Member { name, id } = line {
            match &mut self.open {
                Some(OpenObject::Instance { class, values, used, .. }) => {
                    if let Some(slot) = self.classes.slot(*class, name, used) {
                        values[slot] = id;
                    }
                }
                Some(OpenObject::Array { elements, .. }) => {
                    elements.extend(lines::element_index(name).map(|index| (index, id)));
                }
                Some(OpenObject::Class) | None => {}
            }
            return Ok(());
        }
        self.close()?;
        match line {
            // The text has a root for the main thread's object before there is one.
            Line::Root { id: 0, .. } => {}
            Line::Root { id, kind } => self.records.root(id, kind)?,
            Line::Object(object) => self.object(&object),
            Line::Array(array) => self.array(&array)?,
            Line::Class { .. } => self.open = Some(OpenObject::Class),
            Line::Member { .. } => {}
        }
        Ok(())
    }

    fn object(&mut self, object: &TextObject<'_>) {
        let Some(class) = self.classes.find(object.class_id) else { return };
        let values = vec![0; self.classes.slot_count(class)];
        let &TextObject { id, trace, .. } = object;
        self.open = Some(OpenObject::Instance { id, trace, class, values, used: Vec::new() });
    }

    fn array(&mut self, array: &TextArray<'_>) -> Result<(), Error> {
        let &TextArray { id, trace, length, bytes, .. } = array;
        match array.element {
            FieldType::Object => {
                let class = self.classes.array_id(array);
                let elements = Vec::new();
                self.open = Some(OpenObject::Array { id, trace, class, length, bytes, elements });
                Ok(())
            }
            element => {
                let length = self.arrays.length(element.bytes(4) as u64, length, bytes);
                self.records.primitives(id, trace, element, length)
            }
        }
    }

    /// Writes the object at hand.
    fn close(&mut self) -> Result<(), Error> {
        match self.open.take() {
            Some(OpenObject::Instance { id, trace, class, values, .. }) => {
                self.records.instance(id, trace, self.classes.id(class), &values)
            }
            Some(OpenObject::Array { id, trace, class, length, bytes, elements }) => {
                const REFERENCE_BYTES: u64 = 4;
                let least = elements.iter().map(|&(index, _)| index.saturating_add(1)).max();
                let length = length.max(least.unwrap_or(0));
                let length = self.arrays.length(REFERENCE_BYTES, length, bytes);
                self.records.references(id, trace, class, length, elements)
            }
            Some(OpenObject::Class) | None => Ok(()),
        }
    }
}

impl Arrays {
    /// Returns the length of an array: the text's, or if that is too little for the size, the one that
    /// gives the size.
    fn length(&mut self, element_bytes: u64, length: u32, bytes: u64) -> u32 {
        const HEADER_BYTES: u64 = 16;
        const ALIGNMENT_BYTES: u64 = 8;
        let content = u64::from(length) * element_bytes;
        // The original agent gives the size of the elements alone if it has seen the array.
        if bytes == content || bytes == (HEADER_BYTES + content).next_multiple_of(ALIGNMENT_BYTES) {
            return length;
        }
        if bytes > HEADER_BYTES + content {
            self.unknown_count += 1;
            return u32::try_from((bytes - HEADER_BYTES) / element_bytes).unwrap_or(u32::MAX);
        }
        self.other_count += 1;
        length
    }
}
