//! A hash table of ids whose keys are in another table: a call path's entry costs 4 bytes a slot, where a
//! map would hold the key again.

/// The ids of entries, found by their keys. The owner has the keys, and their hashes, which must be
/// keyed where input chooses the keys: see [`KeyedMap`](crate::KeyedMap).
#[derive(Clone, Debug, Default)]
pub(crate) struct IdTable {
    /// Open addressing with linear probing: an id and one; 0 in a free slot. The length is a power of
    /// two, or 0.
    slots: Vec<u32>,
    count: usize,
}

/// The first number of slots.
const FIRST: usize = 16;

impl IdTable {
    /// The entry with a key of this hash that is the wanted one.
    pub(crate) fn get(&self, hash: u64, is_wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let index = (self.slots[at] as usize).checked_sub(1)?;
            if is_wanted(index) {
                return Some(index);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds an entry that is not there; `hash_of` returns the hash of any entry.
    ///
    /// # Panics
    /// If the index is 2^32 - 1 or more: no table of a profile grows that far.
    pub(crate) fn insert(&mut self, index: usize, hash_of: impl Fn(usize) -> u64) {
        // At most four of five slots are in use.
        if (self.count + 1) * 5 > self.slots.len() * 4 {
            let len = (self.slots.len() * 2).max(FIRST);
            let before = std::mem::replace(&mut self.slots, vec![0; len]);
            for index in before.into_iter().filter_map(|slot| (slot as usize).checked_sub(1)) {
                self.put(index, hash_of(index));
            }
        }
        self.count += 1;
        self.put(index, hash_of(index));
    }

    fn put(&mut self, index: usize, hash: u64) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = u32::try_from(index + 1).expect("a profile's tables hold less entries");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_by_their_keys_in_a_table_that_grows() {
        let keys: Vec<u64> = (0..10_000).map(|key| key * key).collect();
        // Half of the hashes are equal.
        let hash = |key: u64| {
            if key.is_multiple_of(2) { key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 7 } else { 3 }
        };
        let mut table = IdTable::default();
        for index in 0..1000 {
            table.insert(index, |index| hash(keys[index]));
        }
        for (index, &key) in keys.iter().enumerate() {
            let found = table.get(hash(key), |index| keys[index] == key);
            assert_eq!(found, (index < 1000).then_some(index));
        }
    }
}
