//! The suffix of all names that perk adds to a JVM.

use perk_classfile::{ClassFile, Error};

use crate::{COUNTS_HELPER, EVENTS_HELPER, FIELDS_HELPER, HELPER, HELPER_BASE, fields};

/// The suffix of perk's names. A program that knows a name could find the class or field by it. A
/// random suffix, drawn when the JVM starts, cannot be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names(Option<u64>);

/// The classes that perk adds.
const CLASSES: [&str; 5] = [HELPER, FIELDS_HELPER, COUNTS_HELPER, EVENTS_HELPER, HELPER_BASE];

const FIELDS: [&str; 4] =
    [fields::THREAD_STATE, fields::THREAD_COUNTS, fields::CLASS_RECORDS, fields::OBJECT_RECORD];

impl Names {
    /// The names as they are in [`HELPER`], [`FIELDS_HELPER`] and [`fields`], without a suffix.
    pub const PLAIN: Self = Self(None);

    /// Returns names that end with a number.
    pub fn ending_with(number: u64) -> Self {
        Self(Some(number))
    }

    /// Returns the name of the class that probes call, or of a field, for its plain name.
    pub fn of(self, plain: &str) -> String {
        self.0.map_or_else(|| plain.to_owned(), |number| format!("{plain}{number:016x}"))
    }

    /// Whether a class of this internal name is one of perk's.
    pub fn is_class(self, name: &[u8]) -> bool {
        CLASSES.iter().any(|plain| self.of(plain).as_bytes() == name)
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
