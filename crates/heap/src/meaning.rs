//! The values that objects represent: text, numbers, dates, elements of collections, names of
//! threads.
//!
//! An object is known by its class or one above it, and by the fields that these declare in the JDKs
//! and on Android. The contents of a dump are never trusted: lists may be cycles, and sizes may lie.
//! Reading ends with the requested elements, or when the budget of one meaning is used up.

mod classes;
mod lists;
mod maps;
mod model;
mod numbers;
mod object_reader;
mod objects;
mod reader;
mod text;
mod times;
mod values;

use crate::{Error, Heap, ObjectId, Value};

use reader::MeaningReader;

pub use model::{Item, Limits, Meaning};
pub use objects::ThreadFacts;

impl Heap {
    /// Returns the value that an object represents, or `None` if it has no other meaning than its
    /// fields.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn meaning(&self, object: ObjectId, limits: Limits) -> Result<Option<Meaning>, Error> {
        let reader = MeaningReader::new(self, limits);
        let meaning = classes::meaning(&reader, object);
        reader.finish(meaning)
    }

    /// Returns a value in a few words: `42`, `"text"`, `ArrayList of 3`, `my.Node @ 0x7f0010`.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn brief(&self, value: Value, limits: Limits) -> Result<Item, Error> {
        let reader = MeaningReader::new(self, limits);
        let item = reader.item(value);
        reader.finish(item)
    }
}
