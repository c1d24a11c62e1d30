//! What the names end with of all that perk adds to a JVM.

use perk_classfile::{ClassFile, Error};

use crate::{HELPER, fields};

/// See the module. A program that knows a name could find the class or field by it; nobody knows one
/// that was drawn when the JVM started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names(Option<u64>);

const FIELDS: [&str; 4] =
    [fields::THREAD_STACK, fields::THREAD_TREE, fields::CLASS_RECORDS, fields::OBJECT_RECORD];

impl Names {
    /// The names as they stand in [`HELPER`] and [`fields`].
    pub const PLAIN: Self = Self(None);

    /// Names that end with a number.
    pub fn ending_with(number: u64) -> Self {
        Self(Some(number))
    }

    /// The name of the class that probes call, or of a field, by its plain one.
    pub fn of(self, plain: &str) -> String {
        self.0.map_or_else(|| plain.to_owned(), |number| format!("{plain}{number:016x}"))
    }

    /// Whether a field of this name is one of perk's.
    pub fn is_field(self, name: &str) -> bool {
        FIELDS.iter().any(|plain| self.of(plain) == name)
    }

    /// The helper class with these names; `class` is the one with the plain names.
    ///
    /// # Errors
    ///
    /// If the bytes are not a class file.
    pub fn give_to(self, class: &[u8]) -> Result<Vec<u8>, Error> {
        let is_ours = |text: &str| text == HELPER || FIELDS.contains(&text);
        Ok(ClassFile::parse(class)?.with_texts(|text| {
            let text = std::str::from_utf8(text).ok().filter(|text| is_ours(text))?;
            Some(self.of(text).into_bytes())
        }))
    }
}
