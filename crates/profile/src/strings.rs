//! An arena of strings. Each is kept once, and has a small id that is stable for the arena's life.

use crate::keyed::KeyedState;
use crate::{Shared, StrId};

/// An arena that keeps each distinct string once.
///
/// The bytes are in one buffer, and a hash table maps strings to ids, so a string costs its length
/// and about 30 bytes. The hash is keyed, so no choice of strings makes the table slow.
#[derive(Clone, Debug)]
pub struct Interner {
    bytes: Shared<String>,
    /// `ends[i]` is the end of string `i`, which begins at the end of the previous string.
    ends: Shared<Vec<usize>>,
    /// Open addressing with linear probing; the length is a power of two.
    slots: Shared<Vec<Slot>>,
    hashes: KeyedState,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    hash: u32,
    /// The id; 0 in a free slot, as the empty string needs no slot.
    id: u32,
}

/// The result of a search of the table.
enum TableEntry {
    Id(StrId),
    FreeSlot(usize),
}

impl Default for Interner {
    fn default() -> Self {
        Self::new()
    }
}

impl Interner {
    /// Makes an arena that holds only the empty string.
    pub fn new() -> Self {
        Self {
            bytes: Shared::default(),
            ends: vec![0].into(),
            slots: vec![Slot::default(); 64].into(),
            hashes: KeyedState::default(),
        }
    }

    /// The id of `text`, which is added if it is new.
    pub fn intern(&mut self, text: &str) -> StrId {
        let hash = self.hash(text);
        match self.find(hash, text) {
            TableEntry::Id(id) => id,
            TableEntry::FreeSlot(place) => {
                let id = StrId::new(self.ends.len());
                self.bytes.push_str(text);
                self.ends.push(self.bytes.len());
                self.slots[place] = Slot { hash, id: id.index() as u32 };
                if self.ends.len() * 3 > self.slots.len() * 2 {
                    self.grow();
                }
                id
            }
        }
    }

    /// The id of `text` if it was interned before.
    pub fn lookup(&self, text: &str) -> Option<StrId> {
        match self.find(self.hash(text), text) {
            TableEntry::Id(id) => Some(id),
            TableEntry::FreeSlot(_) => None,
        }
    }

    /// Returns the string of `id`.
    pub fn get(&self, id: StrId) -> &str {
        let index = id.index();
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    /// The number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never true: the empty string is always there.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn hash(&self, text: &str) -> u32 {
        self.hashes.hash_text(text) as u32
    }

    fn find(&self, hash: u32, text: &str) -> TableEntry {
        if text.is_empty() {
            return TableEntry::Id(StrId::new(0));
        }
        for place in self.places(hash) {
            let slot = self.slots[place];
            if slot.id == 0 {
                return TableEntry::FreeSlot(place);
            }
            let id = StrId::new(slot.id as usize);
            if slot.hash == hash && self.get(id) == text {
                return TableEntry::Id(id);
            }
        }
        unreachable!("a third of the slots is free")
    }

    /// The slots in which a string of this hash is searched, in order.
    fn places(&self, hash: u32) -> impl Iterator<Item = usize> + use<> {
        let mask = self.slots.len() - 1;
        (hash as usize..).map(move |place| place & mask).take(mask + 1)
    }

    /// The number of slots that a search of `text` visits.
    #[cfg(test)]
    pub(crate) fn step_count(&self, text: &str) -> u64 {
        let id = self.lookup(text).map_or(0, StrId::index);
        let places = self.places(self.hash(text));
        1 + places.take_while(|&place| self.slots[place].id as usize != id).count() as u64
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![Slot::default(); self.slots.len() * 2].into();
        let before = std::mem::replace(&mut self.slots, larger);
        for &slot in before.iter().filter(|slot| slot.id != 0) {
            let free = self.places(slot.hash).find(|&place| self.slots[place].id == 0);
            self.slots[free.expect("two thirds of the slots are free")] = slot;
        }
    }
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
