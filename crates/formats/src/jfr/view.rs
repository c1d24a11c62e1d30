//! The values of a chunk: fields by name, constants by key.

use std::borrow::Cow;
use std::rc::Rc;

use perk_profile::KeyedMap;

use super::annotations::TimeUnit;
use super::cursor::{Cursor, Fault, Text};
use super::source::{HEADER_BYTES, JfrChunk};
use super::types::{LastTypes, TypeField, Types, ValueKind};
use crate::memory;

/// The types of events that are part of the format, and not among the types of the metadata.
const METADATA: i64 = 0;
const CHECKPOINT: i64 = 1;
/// The size of the largest metadata that is read, in bytes. That of a JDK has about 100 thousand.
const MAX_METADATA_BYTES: usize = 16 << 20;
/// The number of times that a string may be the key of another.
const MAX_STRING_STEPS: usize = 4;

/// An event: its type, and its place in the chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventAt {
    pub(super) type_id: i64,
    start: usize,
    /// The place at which its fields begin.
    fields: usize,
    end: usize,
}

impl Slot<'_> {
    /// Returns the field's name.
    pub(super) fn name(&self) -> &str {
        &self.field.name
    }

    /// Whether it has several values.
    pub(super) fn is_list(&self) -> bool {
        self.field.is_array
    }
}

/// The events of a chunk, in order, up to the first incomplete one.
#[derive(Debug)]
pub(super) struct Events<'a> {
    chunk: &'a JfrChunk,
    at: usize,
}

impl EventAt {
    /// Whether the event is part of the format, and not an event of a program or JVM.
    pub(super) fn is_inner(self) -> bool {
        matches!(self.type_id, METADATA | CHECKPOINT)
    }
}

impl<'a> Events<'a> {
    pub(super) fn new(chunk: &'a JfrChunk) -> Self {
        Self { chunk, at: HEADER_BYTES }
    }
}

impl Iterator for Events<'_> {
    type Item = EventAt;

    fn next(&mut self) -> Option<EventAt> {
        let start = self.at;
        let mut cursor = self.chunk.cursor(start);
        let size = cursor.count().ok()?;
        let end = start.checked_add(size).filter(|&end| end <= self.chunk.bytes.len())?;
        let type_id = cursor.long().ok().filter(|_| cursor.at <= end)?;
        self.at = end;
        Some(EventAt { type_id, start, fields: cursor.at, end })
    }
}

/// The contents of a chunk, by the heads of its events.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// The last metadata event. It contains all types of those before it.
    metadata: Option<EventAt>,
    checkpoints: Vec<EventAt>,
    /// The number of other events.
    pub(super) event_count: u64,
    /// The number of bytes after the last whole event.
    pub(super) rest_bytes: u64,
}

impl Contents {
    pub(super) fn of(chunk: &JfrChunk) -> Self {
        let mut contents = Self::default();
        let mut events = Events::new(chunk);
        for event in events.by_ref().take_while(|_| !memory::is_full(1)) {
            match event.type_id {
                METADATA => contents.metadata = Some(event),
                CHECKPOINT => contents.checkpoints.push(event),
                _ => contents.event_count += 1,
            }
        }
        contents.rest_bytes = (chunk.bytes.len() - events.at) as u64;
        contents
    }
}

/// A struct of the chunk: the place of its type in the table, and the place at which its fields
/// begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct StructAt {
    type_place: usize,
    at: usize,
}

/// A field's value in the chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot<'a> {
    field: &'a TypeField,
    at: usize,
}

/// An element of an array of structs, and the end of its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element<'a> {
    slot: Slot<'a>,
    end: usize,
}

/// A chunk whose types and constants are known.
#[derive(Debug)]
pub(super) struct View<'a> {
    chunk: &'a JfrChunk,
    pub(super) types: Rc<Types>,
    /// The places of the constants, by the id of their type and their key.
    constants: KeyedMap<(i64, i64), usize>,
    /// The number of checkpoints that could not be read to their end.
    pub(super) bad_checkpoint_count: u64,
}

impl<'a> View<'a> {
    /// Finds the types and constants of `chunk`; `None` if it has no types.
    pub(super) fn new(
        chunk: &'a JfrChunk,
        contents: &Contents,
        last: &mut LastTypes,
    ) -> Result<Option<Self>, Fault> {
        let mut view = Self::without_constants(chunk, contents, last)?;
        view.iter_mut().for_each(|view| view.read_constants(contents));
        Ok(view)
    }

    /// Finds the types of `chunk`; `None` if it has none.
    pub(super) fn without_constants(
        chunk: &'a JfrChunk,
        contents: &Contents,
        last: &mut LastTypes,
    ) -> Result<Option<Self>, Fault> {
        let Some(event) = contents.metadata else { return Ok(None) };
        if event.end - event.start > MAX_METADATA_BYTES {
            return Err(Fault { at: event.start, expected: "metadata of at most 16 MiB" });
        }
        let types = last.read(&mut chunk.cursor(event.fields))?;
        Ok(Some(Self { chunk, types, constants: KeyedMap::default(), bad_checkpoint_count: 0 }))
    }

    /// Finds the constants.
    pub(super) fn read_constants(&mut self, contents: &Contents) {
        for &event in &contents.checkpoints {
            if self.checkpoint(event).is_err() {
                self.bad_checkpoint_count += 1;
            }
        }
    }

    /// Returns the constants of a type, in the order of their keys.
    pub(super) fn constants_of(&self, type_name: &str) -> Vec<(i64, StructAt)> {
        let Some(id) = self.types.id_of(type_name) else { return Vec::new() };
        let Some(type_place) = self.types.place(id) else { return Vec::new() };
        let own = self.constants.iter().filter(|&(&(type_id, _), _)| type_id == id);
        let mut found: Vec<_> =
            own.map(|(&(_, key), &at)| (key, StructAt { type_place, at })).collect();
        found.sort_unstable_by_key(|&(key, _)| key);
        found
    }

    /// Records the places of the constants of a checkpoint.
    fn checkpoint(&mut self, event: EventAt) -> Result<(), Fault> {
        let bytes = &self.chunk.bytes[..event.end];
        let mut cursor = Cursor::new(bytes, event.fields, self.chunk.is_compressed);
        // The time of writing, its duration, and the distance to the previous checkpoint.
        for _ in 0..3 {
            cursor.long()?;
        }
        // The kind of the checkpoint.
        cursor.byte()?;
        for _ in 0..cursor.count()? {
            let type_id = cursor.long()?;
            let kind = self.types.kind(type_id);
            for _ in 0..cursor.count()? {
                if memory::is_full(1) {
                    return Ok(());
                }
                let key = cursor.long()?;
                let at = cursor.at;
                self.types.skip(kind, &mut cursor, 0)?;
                self.constants.insert((type_id, key), at);
            }
        }
        Ok(())
    }

    /// Returns the name of an event's type; empty if the chunk does not describe it.
    pub(super) fn event_name(&self, event: EventAt) -> &str {
        match event.type_id {
            METADATA => "jdk.Metadata",
            CHECKPOINT => "jdk.Checkpoint",
            type_id => self.types.name_of(type_id),
        }
    }

    /// Returns the fields of an event; `None` if they do not match its type.
    pub(super) fn event(&self, event: EventAt) -> Option<StructAt> {
        let type_place = self.types.place(event.type_id)?;
        let bytes = &self.chunk.bytes[..event.end];
        let mut cursor = Cursor::new(bytes, event.fields, self.chunk.is_compressed);
        self.types.skip_fields(type_place, &mut cursor).ok()?;
        Some(StructAt { type_place, at: event.fields })
    }

    /// Returns the fields of a struct, in order.
    pub(super) fn slots(&self, place: StructAt) -> impl Iterator<Item = Slot<'_>> {
        let mut cursor = self.chunk.cursor(place.at);
        let mut last: Option<&TypeField> = None;
        self.types.get(place.type_place).fields.iter().map_while(move |field| {
            // The values after the requested field are not read.
            if let Some(last) = last {
                self.types.skip_field(last, &mut cursor).ok()?;
            }
            last = Some(field);
            Some(Slot { field, at: cursor.at })
        })
    }

    /// Returns the field with a name.
    pub(super) fn field(&self, place: StructAt, name: &str) -> Option<Slot<'_>> {
        self.slots(place).find(|slot| slot.field.name == name)
    }

    /// Returns a whole number.
    pub(super) fn number(&self, place: StructAt, name: &str) -> Option<i64> {
        self.number_in(self.field(place, name)?)
    }

    pub(super) fn number_in(&self, slot: Slot<'_>) -> Option<i64> {
        let Slot { field, at } = slot;
        if field.is_pooled || field.is_array {
            return None;
        }
        let mut cursor = self.chunk.cursor(at);
        match field.kind {
            ValueKind::Boolean | ValueKind::Byte => {
                cursor.byte().ok().map(|byte| i64::from(byte as i8))
            }
            ValueKind::Short => cursor.short().ok().map(i64::from),
            ValueKind::Char => cursor.char().ok().map(i64::from),
            ValueKind::Int => cursor.int().ok().map(i64::from),
            ValueKind::Long => cursor.long().ok(),
            ValueKind::Float
            | ValueKind::Double
            | ValueKind::String
            | ValueKind::Struct(_)
            | ValueKind::Unknown => None,
        }
    }

    /// Returns a number with decimals.
    pub(super) fn float(&self, place: StructAt, name: &str) -> Option<f64> {
        self.float_in(self.field(place, name)?)
    }

    pub(super) fn float_in(&self, slot: Slot<'_>) -> Option<f64> {
        let Slot { field, at } = slot;
        if field.is_pooled || field.is_array {
            return None;
        }
        let mut cursor = self.chunk.cursor(at);
        match field.kind {
            ValueKind::Float => {
                let bytes = cursor.take(4).ok()?.try_into().ok()?;
                Some(f64::from(f32::from_be_bytes(bytes)))
            }
            ValueKind::Double => {
                let bytes = cursor.take(8).ok()?.try_into().ok()?;
                Some(f64::from_be_bytes(bytes))
            }
            _ => None,
        }
    }

    pub(super) fn flag(&self, place: StructAt, name: &str) -> bool {
        self.number(place, name).is_some_and(|number| number != 0)
    }

    /// Returns a number of things or bytes.
    pub(super) fn count(&self, place: StructAt, name: &str) -> Option<u64> {
        u64::try_from(self.number(place, name)?).ok()
    }

    /// Returns a time, in nanoseconds; `None` if it is in ticks and the chunk does not have their
    /// length.
    pub(super) fn time_ns(&self, place: StructAt, name: &str) -> Option<u64> {
        let field = self.field(place, name)?.field;
        self.span_ns(self.count(place, name)?, field.time_unit())
    }

    /// Returns a span of time in nanoseconds; `None` if it is in ticks and the chunk does not have
    /// their length.
    pub(super) fn span_ns(&self, number: u64, unit: TimeUnit) -> Option<u64> {
        let number = u128::from(number);
        let ns = match unit {
            TimeUnit::Ticks => {
                (number * 1_000_000_000).checked_div(u128::from(self.chunk.ticks_per_second))?
            }
            TimeUnit::Nanoseconds => number,
            TimeUnit::Microseconds => number * 1_000,
            TimeUnit::Milliseconds => number * 1_000_000,
            TimeUnit::Seconds => number * 1_000_000_000,
        };
        Some(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// Returns the time at which an event began, in nanoseconds since 1970; `None` without a clock.
    pub(super) fn start_ns(&self, place: StructAt) -> Option<u64> {
        self.ticks_ns(self.number(place, "startTime")?)
    }

    /// Returns a time of the chunk's clock in nanoseconds since 1970; `None` without a clock.
    pub(super) fn ticks_ns(&self, ticks: i64) -> Option<u64> {
        let ticks = i128::from(ticks) - i128::from(self.chunk.start_ticks);
        let since_ns =
            (ticks * 1_000_000_000).checked_div(i128::from(self.chunk.ticks_per_second))?;
        let ns = i128::from(self.chunk.start_ns) + since_ns;
        Some(u64::try_from(ns.max(0)).unwrap_or(u64::MAX))
    }

    /// Returns the key of a constant, which identifies it among those of its type. 0 means no
    /// constant.
    pub(super) fn key(&self, place: StructAt, name: &str) -> Option<i64> {
        self.key_in(self.field(place, name)?)
    }

    pub(super) fn key_in(&self, slot: Slot<'_>) -> Option<i64> {
        let Slot { field, at } = slot;
        let is_key = field.is_pooled && !field.is_array;
        is_key.then(|| self.chunk.cursor(at).long().ok())?
    }

    /// Returns a struct, inline or a constant.
    pub(super) fn part(&self, place: StructAt, name: &str) -> Option<StructAt> {
        let slot = self.field(place, name)?;
        if slot.field.is_array { None } else { self.part_in(slot) }
    }

    /// Returns the struct of a field or an element, inline or a constant.
    pub(super) fn part_in(&self, slot: Slot<'_>) -> Option<StructAt> {
        let Slot { field, at } = slot;
        let ValueKind::Struct(type_place) = field.kind else { return None };
        let at = if field.is_pooled { self.constant(field, at)? } else { at };
        Some(StructAt { type_place, at })
    }

    /// Returns the place of the constant whose key is at `at`.
    fn constant(&self, field: &TypeField, at: usize) -> Option<usize> {
        let key = self.chunk.cursor(at).long().ok()?;
        self.constants.get(&(field.type_id, key)).copied()
    }

    /// Returns the elements of an array of structs.
    pub(super) fn elements<'b>(
        &'b self,
        place: StructAt,
        name: &str,
    ) -> impl Iterator<Item = Element<'b>> + 'b {
        let is_list = |slot: &Slot<'_>| slot.field.is_array && slot.field.kind.is_struct();
        let slot = self.field(place, name).filter(is_list);
        let mut cursor = self.chunk.cursor(slot.map_or(0, |slot| slot.at));
        let mut left = slot.and_then(|_| cursor.count().ok()).unwrap_or(0);
        let numbers = slot.and_then(|slot| self.types.numbers_of(slot.field));
        std::iter::from_fn(move || {
            let field = slot?.field;
            left = left.checked_sub(1)?;
            let at = cursor.at;
            match numbers {
                Some(numbers) => cursor.skip_numbers(numbers),
                None => self.types.skip(field.kind, &mut cursor, 0),
            }
            .ok()?;
            Some(Element { slot: Slot { field, at }, end: cursor.at })
        })
    }

    /// Returns the elements of an array whose field is `slot`, as those of the field `element`.
    pub(super) fn items<'b>(
        &'b self,
        slot: Slot<'_>,
        element: &'b TypeField,
    ) -> (usize, impl Iterator<Item = Slot<'b>> + 'b) {
        let mut cursor = self.chunk.cursor(slot.at);
        let count = cursor.count().unwrap_or(0);
        let items = (0..count).map_while(move |_| {
            let at = cursor.at;
            self.types.skip_field(element, &mut cursor).ok()?;
            Some(Slot { field: element, at })
        });
        (count, items)
    }

    /// Returns the fields of an element; `None` for a constant that does not exist.
    pub(super) fn element(&self, element: Element<'_>) -> Option<StructAt> {
        self.part_in(element.slot)
    }

    /// Returns the bytes of an element and their number, as one number. Within a chunk, and for one
    /// type, equal bytes have equal meanings. `None` if there are too many.
    #[inline]
    pub(super) fn element_bytes(&self, element: Element<'_>) -> Option<u128> {
        let Element { slot: Slot { at, .. }, end } = element;
        let length = end - at;
        let bytes = match self.chunk.bytes[at..].first_chunk() {
            _ if length > 15 => return None,
            Some(&bytes) => u128::from_le_bytes(bytes) & ((1 << (8 * length)) - 1),
            None => {
                let bytes = self.chunk.bytes[at..end].iter().rev();
                bytes.fold(0, |sum, &byte| sum << 8 | u128::from(byte))
            }
        };
        Some(bytes | (length as u128) << 120)
    }

    /// Returns a text: a string, or the first string of a struct such as a symbol.
    pub(super) fn text(&self, place: StructAt, name: &str) -> Option<Cow<'_, str>> {
        self.text_in(self.field(place, name)?)
    }

    pub(super) fn text_in(&self, slot: Slot<'_>) -> Option<Cow<'_, str>> {
        self.text_of(slot, 0)
    }

    fn text_of(&self, slot: Slot<'_>, step: usize) -> Option<Cow<'_, str>> {
        let Slot { field, at } = slot;
        if field.is_array || step > MAX_STRING_STEPS {
            return None;
        }
        let at = if field.is_pooled { self.constant(field, at)? } else { at };
        match field.kind {
            ValueKind::String => self.string(at, field.type_id),
            ValueKind::Struct(type_place) => {
                let name = &self.types.get(type_place).fields.first()?.name;
                self.text_of(self.field(StructAt { type_place, at }, name)?, step + 1)
            }
            _ => None,
        }
    }

    /// Returns the string at `at`. Strings of the constant pool are of the type `type_id`.
    fn string(&self, mut at: usize, type_id: i64) -> Option<Cow<'_, str>> {
        for _ in 0..MAX_STRING_STEPS {
            match self.chunk.cursor(at).text().ok()? {
                Text::Null => return None,
                Text::Inline(text) => return Some(text),
                Text::Pooled(key) => at = *self.constants.get(&(type_id, key))?,
            }
        }
        None
    }
}
