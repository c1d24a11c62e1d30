//! The samples of a profile while it is read. Strings, functions and locations may come after them,
//! so samples are kept by the numbers in the file, and equal ones are added up.

use perk_profile::{KeyedMap, KeyedSet};

use super::wire::{Message, WireField};
use crate::Error;
use crate::stacks::Stacks;

/// The most different numbers that labels of a key may have. A key with more is skipped: it numbers the
/// samples, or says when they were taken.
const MAX_LABEL_NUMBERS: u64 = 1 << 16;
/// The number of stacks that are known by their bytes at a time.
const KNOWN_STACKS: usize = 1 << 18;

/// The samples, with one row for all that have the same stack and labels.
#[derive(Debug)]
pub(super) struct SampleTable {
    /// The stacks, by the ids of locations.
    pub(super) stacks: Stacks,
    /// The nodes of stacks by their packed locations, because profiles repeat the same ones.
    known: KeyedMap<Box<[u8]>, u32>,
    /// The sets of labels; the first is empty.
    pub(super) label_sets: Vec<Box<[SampleLabel]>>,
    label_set_ids: KeyedMap<Box<[SampleLabel]>, u32>,
    /// The number of samples that have a label with one of too many numbers, by the label's key.
    pub(super) number_labels: KeyedMap<u64, u64>,
    /// The numbers of labels, and how many there are of each key.
    label_numbers: KeyedSet<(u64, u64)>,
    label_number_counts: KeyedMap<u64, u64>,
    /// The number of samples that have each set of labels.
    pub(super) label_set_uses: Vec<u64>,
    /// The node and the set of labels of each row.
    pub(super) rows: Vec<(u32, u32)>,
    row_ids: KeyedMap<(u32, u32), u32>,
    /// The numbers of each row, `width` of them.
    pub(super) numbers: Vec<u64>,
    pub(super) width: usize,
    /// The offset of the first sample that has numbers.
    pub(super) offset: usize,
    /// The number of negative numbers, which count as 0.
    pub(super) negative_count: u64,
    pub(super) unknown_field_count: u64,
    scratch: Scratch,
}

/// A label with text or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SampleLabel {
    /// The index of the key.
    pub(super) key: u64,
    /// The index of the text; 0 for a number.
    pub(super) text: u64,
    pub(super) number: u64,
    /// The index of the number's unit; 0 for none.
    pub(super) unit: u64,
}

/// The contents of one sample.
#[derive(Debug, Default)]
struct Scratch {
    locations: Vec<u64>,
    values: Vec<u64>,
    labels: Vec<SampleLabel>,
}

impl Default for SampleTable {
    fn default() -> Self {
        Self {
            stacks: Stacks::default(),
            known: KeyedMap::default(),
            label_sets: vec![Box::default()],
            label_set_ids: KeyedMap::from_iter([(Box::default(), 0)]),
            number_labels: KeyedMap::default(),
            label_numbers: KeyedSet::default(),
            label_number_counts: KeyedMap::default(),
            label_set_uses: vec![0],
            rows: Vec::new(),
            row_ids: KeyedMap::default(),
            numbers: Vec::new(),
            width: 0,
            offset: 0,
            negative_count: 0,
            unknown_field_count: 0,
            scratch: Scratch::default(),
        }
    }
}

impl SampleTable {
    /// Adds a sample.
    pub(super) fn add(&mut self, message: Message<'_>) -> Result<(), Error> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let Scratch { locations, values, labels } = &mut scratch;
        locations.clear();
        values.clear();
        labels.clear();
        let mut packed: Option<Message<'_>> = None;
        let mut fields = message;
        while let Some((number, field)) = fields.next()? {
            match (number, field) {
                (1, WireField::Bytes(field)) if packed.is_none() && locations.is_empty() => {
                    packed = Some(field);
                }
                (1, field) => {
                    if let Some(packed) = packed.take() {
                        numbers(WireField::Bytes(packed), locations, message)?;
                    }
                    numbers(field, locations, message)?;
                }
                (2, field) => numbers(field, values, message)?,
                (3, WireField::Bytes(label)) => labels.extend(self.label(label)?),
                (3, _) => return Err(message.error("a sample's labels as messages")),
                _ => self.unknown_field_count += 1,
            }
        }
        if self.rows.is_empty() {
            (self.width, self.offset) = (values.len(), message.offset);
        } else if values.len() != self.width {
            return Err(message.error("as many values as in the first sample"));
        }
        let node = match packed {
            Some(packed) => self.packed_node(packed, locations)?,
            None => self.stacks.node(locations.iter().rev().copied()),
        };
        let labels = self.label_set(labels);
        self.label_set_uses[labels as usize] += 1;
        let row = *self.row_ids.entry((node, labels)).or_insert_with(|| {
            self.rows.push((node, labels));
            self.numbers.resize(self.rows.len() * self.width, 0);
            index(self.rows.len() - 1)
        });
        let begin = row as usize * self.width;
        for (sum, &value) in self.numbers[begin..].iter_mut().zip(values.iter()) {
            match u64::try_from(value.cast_signed()) {
                Ok(value) => *sum = sum.saturating_add(value),
                Err(_) => self.negative_count += 1,
            }
        }
        self.scratch = scratch;
        Ok(())
    }

    /// Returns the node of the stack of packed locations.
    fn packed_node(&mut self, packed: Message<'_>, locations: &mut Vec<u64>) -> Result<u32, Error> {
        if let Some(&node) = self.known.get(packed.bytes) {
            return Ok(node);
        }
        numbers(WireField::Bytes(packed), locations, packed)?;
        let node = self.stacks.node(locations.iter().rev().copied());
        if self.known.len() >= KNOWN_STACKS {
            self.known.clear();
        }
        self.known.insert(packed.bytes.into(), node);
        Ok(node)
    }

    /// Returns a label; `None` if it holds one of too many numbers.
    fn label(&mut self, mut label: Message<'_>) -> Result<Option<SampleLabel>, Error> {
        let (mut key, mut text, mut value, mut unit) = (0, 0, 0, 0);
        while let Some((number, field)) = label.next()? {
            match (number, field) {
                (1, WireField::Varint(value)) => key = value,
                (2, WireField::Varint(value)) => text = value,
                (3, WireField::Varint(number)) => value = number,
                (4, WireField::Varint(index)) => unit = index,
                (1..=4, _) => return Err(label.error("a label's fields as numbers")),
                _ => self.unknown_field_count += 1,
            }
        }
        if text != 0 {
            return Ok(Some(SampleLabel { key, text, number: 0, unit: 0 }));
        }
        if !self.label_numbers.contains(&(key, value)) {
            let count = self.label_number_counts.entry(key).or_default();
            if *count >= MAX_LABEL_NUMBERS {
                *self.number_labels.entry(key).or_default() += 1;
                return Ok(None);
            }
            *count += 1;
            self.label_numbers.insert((key, value));
        }
        Ok(Some(SampleLabel { key, text, number: value, unit }))
    }

    fn label_set(&mut self, labels: &[SampleLabel]) -> u32 {
        if let Some(&id) = self.label_set_ids.get(labels) {
            return id;
        }
        self.label_sets.push(labels.into());
        self.label_set_uses.push(0);
        let id = index(self.label_sets.len() - 1);
        self.label_set_ids.insert(labels.into(), id);
        id
    }
}

/// Adds the numbers of a repeated field, packed or not.
fn numbers(field: WireField<'_>, numbers: &mut Vec<u64>, sample: Message<'_>) -> Result<(), Error> {
    match field {
        WireField::Varint(number) => numbers.push(number),
        WireField::Bytes(mut packed) => {
            while !packed.bytes.is_empty() {
                numbers.push(packed.varint()?);
            }
        }
        WireField::Fixed => return Err(sample.error("a sample's locations and values as varints")),
    }
    Ok(())
}

fn index(index: usize) -> u32 {
    u32::try_from(index).expect("a profile's tables hold less than 2^32 entries")
}
