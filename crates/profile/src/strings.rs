//! An arena of strings, each kept once and named by a small id that is stable for the arena's life.

use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::StrId;

/// Keeps each distinct string once.
///
/// The bytes lie in one buffer; the index maps a string's hash to the ids that share it, so a
/// string costs its length and about 30 bytes.
#[derive(Clone, Debug)]
pub struct Interner {
    bytes: String,
    /// `ends[i]` is where string `i` ends; it begins where the one before ends.
    ends: Vec<usize>,
    by_hash: FxHashMap<u64, Vec<StrId>>,
}

impl Default for Interner {
    fn default() -> Self {
        Self::new()
    }
}

impl Interner {
    /// An arena that holds only the empty string,.
    pub fn new() -> Self {
        let mut interner =
            Self { bytes: String::new(), ends: Vec::new(), by_hash: FxHashMap::default() };
        interner.intern("");
        interner
    }

    /// The id of `text`, which is added if it is new.
    pub fn intern(&mut self, text: &str) -> StrId {
        let hash = hash(text);
        if let Some(id) = self.find(hash, text) {
            return id;
        }
        let id = StrId::new(self.ends.len());
        self.bytes.push_str(text);
        self.ends.push(self.bytes.len());
        self.by_hash.entry(hash).or_default().push(id);
        id
    }

    /// The id of `text` if it was interned before.
    pub fn lookup(&self, text: &str) -> Option<StrId> {
        self.find(hash(text), text)
    }

    /// The string behind `id`.
    pub fn get(&self, id: StrId) -> &str {
        let index = id.index();
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    /// How many strings there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never true: the empty string is always there.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn find(&self, hash: u64, text: &str) -> Option<StrId> {
        self.by_hash.get(&hash)?.iter().copied().find(|&id| self.get(id) == text)
    }
}

fn hash(text: &str) -> u64 {
    FxBuildHasher.hash_one(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_share_an_id() {
        let mut strings = Interner::new();
        let a = strings.intern("java.lang.String");
        let b = strings.intern("java.lang.Object");
        assert_eq!(strings.intern("java.lang.String"), a);
        assert_ne!(a, b);
        assert_eq!(strings.get(a), "java.lang.String");
        assert_eq!(strings.get(b), "java.lang.Object");
        assert_eq!(strings.lookup("java.lang.Object"), Some(b));
        assert_eq!(strings.lookup("nothing"), None);
    }

    #[test]
    fn the_empty_string_is_always_there() {
        let mut strings = Interner::new();
        assert_eq!(strings.len(), 1);
        let empty = strings.intern("");
        assert_eq!(strings.get(empty), "");
        assert_eq!(strings.len(), 1);
    }
}
