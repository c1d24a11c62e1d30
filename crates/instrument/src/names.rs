//! The suffix of all names that perk adds to a JVM.

use perk_classfile::{ClassFile, Error};

use crate::{COUNTS_HELPER, EVENTS_HELPER, FIELDS_HELPER, HELPER, HELPER_BASE, fields};

/// The suffix of perk's names. A program that knows a name could find the class or field by it. A
/// random suffix, drawn when the JVM starts, cannot be known.
///
/// The JVM asks each class loader for the helper classes. Loaders keep tables by the names of classes:
/// all suffixes have the same hash code, so that the tables of equal runs are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names(Option<[u8; SUFFIX_LENGTH]>);

const SUFFIX_LENGTH: usize = 16;
/// The letters at the end of a suffix that give it its hash code.
const HASHED_LENGTH: usize = 7;
/// Suffixes are of the letters from `a` to `z`.
const LETTERS: u64 = 26;
/// The factor of `String.hashCode`.
const HASH_FACTOR: u64 = 31;

/// The classes that perk adds.
const CLASSES: [&str; 5] = [HELPER, FIELDS_HELPER, COUNTS_HELPER, EVENTS_HELPER, HELPER_BASE];

const FIELDS: [&str; 4] =
    [fields::THREAD_STATE, fields::THREAD_COUNTERS, fields::CLASS_RECORDS, fields::OBJECT_RECORD];

impl Names {
    /// The names as they are in [`HELPER`], [`FIELDS_HELPER`] and [`fields`], without a suffix.
    pub const PLAIN: Self = Self(None);

    /// Returns names with the suffix of a number. Other numbers usually have other suffixes.
    pub fn numbered(number: u64) -> Self {
        let mut numbers = (0..).map(|more| number.wrapping_add(more));
        Self(numbers.find_map(suffix))
    }

    /// Returns the name of the class that probes call, or of a field, for its plain name.
    pub fn of(self, plain: &str) -> String {
        plain.to_owned() + self.suffix()
    }

    fn suffix(&self) -> &str {
        self.0.as_ref().map_or("", |suffix| str::from_utf8(suffix).unwrap_or_default())
    }

    /// Whether a class of this internal name is one of perk's.
    pub fn is_class(self, name: &[u8]) -> bool {
        let plain = name.strip_suffix(self.suffix().as_bytes());
        plain.is_some_and(|plain| CLASSES.iter().any(|class| class.as_bytes() == plain))
    }

    /// Whether a field of this name is one of perk's.
    pub fn is_field(self, name: &str) -> bool {
        FIELDS.iter().any(|plain| self.of(plain) == name)
    }

    /// Returns a class that perk adds with these names; `class` is the one with the plain names.
    ///
    /// # Errors
    ///
    /// If the bytes are not a class file.
    pub fn give_to(self, class: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(ClassFile::parse(class)?.with_texts(|text| {
            let text = std::str::from_utf8(text).ok()?;
            if FIELDS.contains(&text) {
                return Some(self.of(text).into_bytes());
            }
            // Descriptors contain the class's name.
            let has_class = CLASSES.iter().any(|class| text.contains(class));
            let with = |text: String, class: &&str| text.replace(*class, &self.of(class));
            has_class.then(|| CLASSES.iter().fold(text.to_owned(), with).into_bytes())
        }))
    }
}

/// Returns the suffix of a number, whose `String.hashCode` is 0; `None` if the number has none.
fn suffix(number: u64) -> Option<[u8; SUFFIX_LENGTH]> {
    let mut suffix = [b'a'; SUFFIX_LENGTH];
    let (free, hashed) = suffix.split_at_mut(SUFFIX_LENGTH - HASHED_LENGTH);
    let mut rest = number;
    for letter in free.iter_mut() {
        *letter += (rest % LETTERS) as u8;
        rest /= LETTERS;
    }
    // The other letters are the digits of a number that makes up for these and for their own `a`s.
    let wanted = hash(free.iter().chain(hashed.iter())).wrapping_neg();
    let most = HASH_FACTOR.pow(HASHED_LENGTH as u32);
    let mut numbers = (u64::from(wanted)..most).step_by(1 << u32::BITS);
    numbers.find_map(|number| {
        let mut rest = number;
        for letter in hashed.iter_mut().rev() {
            let digit = rest % HASH_FACTOR;
            if digit >= LETTERS {
                return None;
            }
            *letter = b'a' + digit as u8;
            rest /= HASH_FACTOR;
        }
        Some(())
    })?;
    Some(suffix)
}

/// `String.hashCode` of a text of ASCII.
fn hash<'a>(text: impl Iterator<Item = &'a u8>) -> u32 {
    let factor = HASH_FACTOR as u32;
    text.fold(0, |hash: u32, &c| hash.wrapping_mul(factor).wrapping_add(c.into()))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn suffixes_differ_and_have_one_hash_code() {
        assert_eq!(hash(b"java.lang.Thread".iter()), 0x4849_e45e);
        let numbers = (0..10_000).map(|index: u64| index.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let names: HashSet<_> = numbers.map(|number| Names::numbered(number).of("a.B")).collect();
        assert!(names.len() > 9_990, "{}", names.len());
        for name in names {
            assert_eq!(name.len(), "a.B".len() + SUFFIX_LENGTH);
            let suffix = &name.as_bytes()["a.B".len()..];
            assert!(suffix.iter().all(u8::is_ascii_lowercase));
            assert_eq!(hash(suffix.iter()), 0, "{name}");
        }
    }
}
