//! The file of kept classes.
//!
//! All numbers are little-endian. The file has a magic number, the fingerprint of the three parts
//! that follow, and these parts with their lengths before them: the key, the table of methods
//! (`recorder/kept.rs`), and the classes. The last begins with the count of slots and of classes.
//! Then come the slots, a hash table of classes with open addressing (0 in a free slot, otherwise
//! the class's index and one), and the classes. After the parts are the bytes that the classes refer
//! to. Each class has a fingerprint of its own, so that only those that are loaded are read.

use perk_jvm::os::Mapping;
use rustc_hash::FxHashMap;

const MAGIC: &[u8; 8] = b"perkCLS1";
/// The offset of the first part.
const PARTS_AT: usize = 24;
/// The bytes of a class: the fingerprints of its file and of its bytes, the length of its file, the
/// count of its methods with probes, the offset of its bytes, and the lengths of the two parts of
/// them: the changed file and the places of suffixes.
const CLASS_BYTES: usize = 2 * 16 + 5 * 4;

/// A fingerprint of bytes. It distinguishes whatever was not made to be confused.
pub(super) type Fingerprint = [u64; 2];

/// Returns the fingerprint of some bytes, at several of them per nanosecond.
pub(super) fn fingerprint(bytes: &[u8]) -> Fingerprint {
    const FACTORS: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93];
    let mix = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let word = |chunk: &[u8; 32], at: usize| {
        chunk[at..].first_chunk().map_or(0, |it| u64::from_le_bytes(*it))
    };
    let [mut first, mut second] = [bytes.len() as u64, 0];
    // The two do not wait for each other.
    let mut add = |chunk: &[u8; 32]| {
        first = mix(word(chunk, 0) ^ FACTORS[0], word(chunk, 8) ^ first);
        second = mix(word(chunk, 16) ^ FACTORS[1], word(chunk, 24) ^ second);
    };
    let (chunks, rest) = bytes.as_chunks();
    chunks.iter().for_each(&mut add);
    let mut last = [0; 32];
    last[..rest.len()].copy_from_slice(rest);
    add(&last);
    [mix(first ^ FACTORS[1], second ^ FACTORS[0]), mix(first ^ FACTORS[0], second ^ FACTORS[1])]
}

/// A class as probes have changed it.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeptClass<'a> {
    /// The changed file; empty if it is to stay as it is.
    pub(super) bytes: &'a [u8],
    /// The offsets of the suffixes of perk's names in it, four bytes each.
    pub(super) places: &'a [u8],
    /// The number of methods with probes.
    pub(super) method_count: usize,
}

/// The kept classes of a file.
#[derive(Debug)]
pub(super) struct KeptClasses {
    file: Mapping,
    /// The offset of the classes in the file, and that of their bytes.
    at: usize,
    data_at: usize,
    slot_count: usize,
    class_count: usize,
}

impl KeptClasses {
    /// Returns the classes of a file, and its table of methods; `None` if it is damaged or has
    /// another key.
    pub(super) fn read(file: Mapping, key: &str) -> Option<(Self, Vec<u8>)> {
        let parts = file.get(PARTS_AT..)?;
        let (its_key, rest) = part(parts)?;
        let (methods, rest) = part(rest)?;
        let (classes, data) = part(rest)?;
        let of_parts = fingerprint(&parts[..parts.len() - data.len()]);
        if !file.starts_with(MAGIC) || stored(&file, MAGIC.len())? != of_parts {
            return None;
        }
        let (slot_count, class_count) = (word(classes, 0)? as usize, word(classes, 4)? as usize);
        if its_key != key.as_bytes() || !slot_count.is_power_of_two() {
            return None;
        }
        let (methods, data_at) = (methods.to_vec(), file.len() - data.len());
        let at = data_at - classes.len();
        Some((Self { file, at, data_at, slot_count, class_count }, methods))
    }

    /// Returns the class whose file has this fingerprint and length.
    pub(super) fn find(
        &self,
        of: Fingerprint,
        length: usize,
    ) -> Option<Result<KeptClass<'_>, DamageError>> {
        let mask = self.slot_count - 1;
        let bytes = self.file.get(self.at..self.data_at)?;
        let slots = 8;
        let classes = slots + 4 * self.slot_count;
        for place in 0..self.slot_count {
            let slot = (of[0] as usize).wrapping_add(place) & mask;
            let index = word(bytes, slots + 4 * slot)?.checked_sub(1)? as usize;
            let at = classes + CLASS_BYTES * index;
            let number = |field: usize| word(bytes, at + 32 + 4 * field);
            if index >= self.class_count
                || stored(bytes, at)? != of
                || number(0)? as usize != length
            {
                continue;
            }
            let method_count = number(1)? as usize;
            let (start, changed, places) = (number(2)?, number(3)? as usize, number(4)? as usize);
            let data = self.file.get(self.data_at + start as usize..);
            let data = data
                .and_then(|data| data.get(..changed + places))
                .filter(|data| stored(bytes, at + 16) == Some(fingerprint(data)));
            return Some(data.ok_or(DamageError).map(|data| {
                let (bytes, places) = data.split_at(changed);
                KeptClass { bytes, places, method_count }
            }));
        }
        None
    }
}

/// The error for a class whose bytes are not those that were written.
#[derive(Debug)]
pub(super) struct DamageError;

impl KeptClass<'_> {
    /// Returns the changed file with a suffix in its places; `None` if it is to stay as it is.
    pub(super) fn with_suffix(&self, suffix: &[u8]) -> Option<Vec<u8>> {
        if self.bytes.is_empty() {
            return None;
        }
        let mut bytes = self.bytes.to_vec();
        for place in self.places.as_chunks().0 {
            let start = u32::from_le_bytes(*place) as usize;
            let place = bytes.get_mut(start..)?.get_mut(..suffix.len())?;
            place.copy_from_slice(suffix);
        }
        Some(bytes)
    }
}

/// The classes that are to be kept.
#[derive(Debug, Default)]
pub(super) struct NewClasses {
    classes: FxHashMap<Fingerprint, NewClass>,
}

#[derive(Debug)]
struct NewClass {
    length: usize,
    changed: Vec<u8>,
    method_count: usize,
}

impl NewClasses {
    /// Adds a class; `changed` is its new file, and `None` if it stays as it is.
    pub(super) fn add(&mut self, original: &[u8], changed: Option<&[u8]>, method_count: usize) {
        let changed = changed.unwrap_or_default().to_vec();
        let class = NewClass { length: original.len(), changed, method_count };
        self.classes.insert(fingerprint(original), class);
    }

    /// Returns the file of these classes, in which perk's names end with `suffix`.
    pub(super) fn file(&self, key: &str, methods: &[u8], suffix: &[u8]) -> Vec<u8> {
        let slot_count = (self.classes.len() * 2 + 1).next_power_of_two();
        let (mut slots, mut classes, mut data) = (vec![0; slot_count], Vec::new(), Vec::new());
        for (index, (of, class)) in self.classes.iter().enumerate() {
            let mut slot = of[0] as usize & (slot_count - 1);
            while slots[slot] != 0 {
                slot = (slot + 1) & (slot_count - 1);
            }
            slots[slot] = index + 1;
            let start = data.len();
            data.extend_from_slice(&class.changed);
            let windows = class.changed.windows(suffix.len()).enumerate();
            let places = windows.filter(|(_, window)| *window == suffix).map(|(place, _)| place);
            places.for_each(|place| push(&mut data, place));
            let place_bytes = data.len() - start - class.changed.len();
            for word in of.iter().chain(&fingerprint(&data[start..])) {
                classes.extend(word.to_le_bytes());
            }
            let lengths = [class.changed.len(), place_bytes];
            for number in [class.length, class.method_count, start].into_iter().chain(lengths) {
                push(&mut classes, number);
            }
        }
        let mut file = vec![0; PARTS_AT];
        for part in [key.as_bytes(), methods] {
            push(&mut file, part.len());
            file.extend_from_slice(part);
        }
        push(&mut file, 8 + 4 * slot_count + classes.len());
        push(&mut file, slot_count);
        push(&mut file, self.classes.len());
        slots.into_iter().for_each(|slot| push(&mut file, slot));
        file.append(&mut classes);
        let of = fingerprint(&file[PARTS_AT..]);
        file[..8].copy_from_slice(MAGIC);
        file[8..16].copy_from_slice(&of[0].to_le_bytes());
        file[16..24].copy_from_slice(&of[1].to_le_bytes());
        file.append(&mut data);
        file
    }
}

/// Splits a part from the bytes that begin with its length.
fn part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    bytes.get(4..)?.split_at_checked(word(bytes, 0)? as usize)
}

fn push(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend((number as u32).to_le_bytes());
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word))
}

/// Reads a fingerprint.
fn stored(bytes: &[u8], at: usize) -> Option<Fingerprint> {
    let long = |at| bytes.get(at..)?.first_chunk().map(|long| u64::from_le_bytes(*long));
    Some([long(at)?, long(at + 8)?])
}
