//! The functions that read the objects of a class.

use crate::Meaning;

use super::lists::Sequence;
use super::maps::Pairs;
use super::reader::Instance;

/// The function that reads the objects of a class.
#[derive(Clone, Copy)]
pub(super) enum ObjectReader {
    /// Values of any kind.
    Value(fn(&Instance<'_, '_>) -> Option<Meaning>),
    /// Collections, with the number of requested elements.
    Sequence(fn(&Instance<'_, '_>, usize) -> Option<Sequence>),
    /// Maps, with the number of requested entries.
    Pairs(fn(&Instance<'_, '_>, usize) -> Option<Pairs>),
}
