//! The table of the methods of kept classes, in the form in which it is in their file.
//!
//! Numbers are little-endian and have four bytes: the count of methods and of slots; the offsets of
//! each method's texts ([`TEXTS`]); a hash table of numbers with open addressing, 0 in a free slot
//! and otherwise the number and one; and the texts, each with its length before it.

use std::hash::{Hash, Hasher};

use perk_profile::{MethodId, StrId, Symbols};
use rustc_hash::{FxHashMap, FxHasher};

/// The texts of a method: class, name, signature, source file.
const TEXTS: usize = 4;
/// The offset of a text that does not exist.
const NONE: u32 = u32::MAX;

/// A method by its texts, in the form of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MethodText<'a> {
    pub(crate) class: &'a str,
    pub(crate) name: &'a str,
    pub(crate) signature: Option<&'a str>,
    pub(crate) source: Option<&'a str>,
}

impl MethodText<'_> {
    fn hash(&self) -> usize {
        let mut hasher = FxHasher::default();
        Hash::hash(self, &mut hasher);
        hasher.finish() as usize
    }
}

/// The methods of kept classes, by number; see the module.
#[derive(Debug, Default)]
pub(crate) struct KeptMethods {
    bytes: Vec<u8>,
    count: usize,
    slot_count: usize,
}

impl KeptMethods {
    /// Returns the table that [`table_of`] has made of a profile's methods; `None` if it is not one.
    pub(crate) fn new(bytes: Vec<u8>) -> Option<Self> {
        let (count, slot_count) = (word(&bytes, 0)? as usize, word(&bytes, 4)? as usize);
        let texts = 8 + 4 * (count.checked_mul(TEXTS)? + slot_count);
        let is_whole = slot_count.is_power_of_two() && count < slot_count && texts <= bytes.len();
        is_whole.then_some(Self { bytes, count, slot_count })
    }

    /// Returns the count of methods, which is the first number that none of them has.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the texts of the method with a number.
    pub(super) fn get(&self, number: usize) -> Option<MethodText<'_>> {
        if number >= self.count {
            return None;
        }
        let offset = |text| word(&self.bytes, 8 + 4 * (number * TEXTS + text));
        let text = |index| self.text(offset(index)?);
        Some(MethodText { class: text(0)?, name: text(1)?, signature: text(2), source: text(3) })
    }

    /// Returns the number of a method if it is one of them.
    pub(super) fn find(&self, method: &MethodText<'_>) -> Option<u32> {
        if self.count == 0 {
            return None;
        }
        let slots = 8 + 4 * self.count * TEXTS;
        let first = method.hash();
        for place in 0..self.slot_count {
            let slot = first.wrapping_add(place) & (self.slot_count - 1);
            let number = word(&self.bytes, slots + 4 * slot)?.checked_sub(1)?;
            if self.get(number as usize) == Some(*method) {
                return Some(number);
            }
        }
        None
    }

    fn text(&self, offset: u32) -> Option<&str> {
        let start = (offset != NONE).then_some(offset as usize)?;
        let length = word(&self.bytes, start)? as usize;
        std::str::from_utf8(self.bytes.get(start + 4..)?.get(..length)?).ok()
    }
}

/// Returns the table of a profile's methods; the number of each is its id.
pub(super) fn table_of(symbols: &Symbols) -> Vec<u8> {
    let count = symbols.method_count();
    let slot_count = (count * 2 + 1).next_power_of_two();
    let mut bytes = Vec::new();
    push(&mut bytes, count);
    push(&mut bytes, slot_count);
    let texts_at = 8 + 4 * (count * TEXTS + slot_count);
    let (mut slots, mut texts) = (vec![0; slot_count], Vec::new());
    let mut offsets = FxHashMap::<StrId, usize>::default();
    for number in 0..count {
        let method = symbols.get_method(MethodId::new(number));
        let class = symbols.get_class(method.class).name;
        let text = |id| symbols.strings.get(id);
        let its = MethodText {
            class: text(class),
            name: text(method.name),
            signature: method.signature.map(text),
            source: method.source.map(text),
        };
        let mut slot = its.hash() & (slot_count - 1);
        while slots[slot] != 0 {
            slot = (slot + 1) & (slot_count - 1);
        }
        slots[slot] = number + 1;
        for id in [Some(class), Some(method.name), method.signature, method.source] {
            let offset = id.map(|id| {
                *offsets.entry(id).or_insert_with(|| {
                    let offset = texts_at + texts.len();
                    push(&mut texts, text(id).len());
                    texts.extend_from_slice(text(id).as_bytes());
                    offset
                })
            });
            push(&mut bytes, offset.unwrap_or(NONE as usize));
        }
    }
    slots.into_iter().for_each(|slot| push(&mut bytes, slot));
    bytes.append(&mut texts);
    bytes
}

fn push(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend((number as u32).to_le_bytes());
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word))
}
