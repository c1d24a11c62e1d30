//! The tables of a profile besides its samples: strings, functions, locations, mappings.

use std::borrow::Cow;

use perk_profile::{KeyedMap, mutf8};

use super::UNKNOWN;
use super::wire::{Message, WireField};
use crate::Error;

/// All texts of a file, by index.
#[derive(Debug, Default)]
pub(super) struct Strings {
    bytes: Vec<u8>,
    /// The end of each string: `ends[i]` is that of string `i`, which begins at the previous end.
    ends: Vec<usize>,
    /// Whether the end of the file is lost: texts may be missing.
    pub(super) is_cut: bool,
}

impl Strings {
    pub(super) fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
    }

    /// Returns the string of an index, with bytes that are not UTF-8 made visible. Index 0 is the
    /// empty string, even if the file has no strings.
    pub(super) fn get(&self, index: u64) -> Option<Cow<'_, str>> {
        let index = usize::try_from(index).ok()?;
        let Some(&end) = self.ends.get(index) else {
            return (index == 0).then_some(Cow::Borrowed(""));
        };
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        Some(mutf8::decode(&self.bytes[start..end]))
    }

    /// Like [`Strings::get`], for entry `id` of `table`.
    pub(super) fn of(&self, index: u64, table: &'static str, id: u64) -> Result<String, Error> {
        let expected = "indexes of the string table";
        let text = self.get(index).or(self.is_cut.then_some(Cow::Borrowed(UNKNOWN)));
        text.map(Cow::into_owned).ok_or(entry(table, id, expected))
    }
}

/// Returns the error of an entry of a table.
pub(super) fn entry(table: &'static str, id: u64, expected: &'static str) -> Error {
    Error::Entry { table, index: usize::try_from(id).unwrap_or(usize::MAX), expected }
}

/// A function; names are indexes of strings.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Function {
    pub(super) name: u64,
    pub(super) system_name: u64,
    pub(super) file: u64,
}

/// A place in a program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Location {
    pub(super) address: u64,
    pub(super) mapping: u64,
    /// The start of its lines in [`Tables::lines`]; the number of lines follows. The innermost of
    /// inlined functions comes first.
    first_line: usize,
    line_count: usize,
}

/// A part of the address space.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mapping {
    pub(super) start: u64,
    pub(super) file_offset: u64,
    pub(super) file: u64,
}

/// All tables, by the ids in the file.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) strings: Strings,
    pub(super) functions: KeyedMap<u64, Function>,
    pub(super) locations: KeyedMap<u64, Location>,
    pub(super) mappings: KeyedMap<u64, Mapping>,
    /// The function and the line of each entry.
    lines: Vec<(u64, i64)>,
    pub(super) unknown_field_count: u64,
}

impl Tables {
    pub(super) fn lines(&self, location: Location) -> &[(u64, i64)] {
        &self.lines[location.first_line..location.first_line + location.line_count]
    }

    pub(super) fn add_function(&mut self, message: Message<'_>) -> Result<(), Error> {
        let (mut id, mut function) = (0, Function::default());
        let mut fields = message;
        while let Some((number, field)) = fields.next()? {
            match (number, field) {
                (1, WireField::Varint(value)) => id = value,
                (2, WireField::Varint(value)) => function.name = value,
                (3, WireField::Varint(value)) => function.system_name = value,
                (4, WireField::Varint(value)) => function.file = value,
                (5, WireField::Varint(_)) => {}
                (1..=5, _) => return Err(message.error("a function's fields as numbers")),
                _ => self.unknown_field_count += 1,
            }
        }
        self.functions.insert(id, function);
        Ok(())
    }

    pub(super) fn add_location(&mut self, message: Message<'_>) -> Result<(), Error> {
        let first_line = self.lines.len();
        let (mut id, mut location) = (0, Location { first_line, ..Location::default() });
        let mut fields = message;
        while let Some((number, field)) = fields.next()? {
            match (number, field) {
                (1, WireField::Varint(value)) => id = value,
                (2, WireField::Varint(value)) => location.mapping = value,
                (3, WireField::Varint(value)) => location.address = value,
                (4, WireField::Bytes(line)) => self.add_line(line)?,
                (5, WireField::Varint(_)) => {}
                (1..=5, _) => return Err(message.error("a location's fields of their types")),
                _ => self.unknown_field_count += 1,
            }
        }
        location.line_count = self.lines.len() - first_line;
        self.locations.insert(id, location);
        Ok(())
    }

    fn add_line(&mut self, message: Message<'_>) -> Result<(), Error> {
        let (mut function, mut line) = (0, 0);
        let mut fields = message;
        while let Some((number, field)) = fields.next()? {
            match (number, field) {
                (1, WireField::Varint(value)) => function = value,
                (2, WireField::Varint(value)) => line = value.cast_signed(),
                (3, WireField::Varint(_)) => {}
                (1..=3, _) => return Err(message.error("a line's fields as numbers")),
                _ => self.unknown_field_count += 1,
            }
        }
        self.lines.push((function, line));
        Ok(())
    }

    pub(super) fn add_mapping(&mut self, message: Message<'_>) -> Result<(), Error> {
        let (mut id, mut mapping) = (0, Mapping::default());
        let mut fields = message;
        while let Some((number, field)) = fields.next()? {
            match (number, field) {
                (1, WireField::Varint(value)) => id = value,
                (2, WireField::Varint(value)) => mapping.start = value,
                (4, WireField::Varint(value)) => mapping.file_offset = value,
                (5, WireField::Varint(value)) => mapping.file = value,
                (3 | 6..=10, WireField::Varint(_)) => {}
                (1..=10, _) => return Err(message.error("a mapping's fields as numbers")),
                _ => self.unknown_field_count += 1,
            }
        }
        self.mappings.insert(id, mapping);
        Ok(())
    }
}
