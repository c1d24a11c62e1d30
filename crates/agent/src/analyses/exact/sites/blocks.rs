//! The identity hashes that lead to records. Each is made from a *seed* of as many bits, and the
//! seeds are divided into blocks, each of which belongs to one record. A record gets more of them
//! the more objects it counts, so that objects seldom have the same hash, until it has
//! [`MOST_BLOCKS`] in a row; from then on it uses these again and again.
//!
//! `java/helper/java/lang/PerkProbes.java` takes the same seeds.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::Records;
use crate::memory::{Pages, reserve};
use crate::probes::{HASH_MASK, seed_of};

/// A block has 2 to this power seeds.
const BLOCK_SHIFT: u32 = 6;
/// The number of blocks in a row that a record gets at most at a time.
const MOST_BLOCKS: u32 = 1 << 12;

/// The blocks, with the record that each belongs to.
#[derive(Debug)]
pub(super) struct Blocks {
    owners: &'static [AtomicU32],
    /// The first seed of the block that each record uses; 0 if it does not have one. Only the
    /// thread that the record belongs to writes to it.
    seeds: &'static [AtomicU32],
    /// The number of blocks that were given away. The first one is never: it has the hash 0.
    used: AtomicU32,
}

/// What an identity hash shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Neither perk has made it, nor was it reserved.
    Nobody,
    Record(u32),
    /// Objects that existed before the probes began.
    Reserved,
}

/// The owner of reserved blocks; no record has this index.
const RESERVED: u32 = u32::MAX;

impl Blocks {
    /// Reserves a block for each record that can exist.
    ///
    /// # Errors
    /// The system's error if there is no space.
    pub(super) fn reserve(records: &Records) -> io::Result<Self> {
        let most = (HASH_MASK >> BLOCK_SHIFT) as usize + 1;
        Self::of_size(records.room().min(most), records.room())
    }

    fn of_size(blocks: usize, records: usize) -> io::Result<Self> {
        let (owners, seeds) = (reserve(blocks, Pages::Small)?, reserve(records, Pages::Huge)?);
        Ok(Self { owners, seeds, used: AtomicU32::new(1) })
    }

    /// Returns the address of the seeds by the index of the record.
    pub(super) fn address(&self) -> u64 {
        self.seeds.as_ptr() as u64
    }

    /// Reserves the block of the hash of an object that existed before.
    pub(super) fn reserve_hash(&self, hash: u32) {
        let block = block_of(hash);
        if let Some(owner) = self.owners.get(block).filter(|_| block != 0) {
            owner.store(RESERVED, Relaxed);
        }
    }

    /// Returns the owner of a hash.
    pub(super) fn owner(&self, hash: u32) -> Owner {
        match self.owners.get(block_of(hash)).map_or(0, |owner| owner.load(Relaxed)) {
            0 => Owner::Nobody,
            RESERVED => Owner::Reserved,
            record => Owner::Record(record),
        }
    }

    /// Gives a record its next block and returns its first seed; 0 if there is none. Called by the
    /// thread that the record belongs to.
    pub(super) fn next(&self, record: u32) -> u32 {
        let seed = &self.seeds[record as usize];
        let next = self.after(record, seed.load(Relaxed));
        seed.store(next, Relaxed);
        next
    }

    /// Returns the first seed of the block that a record uses after one with this first seed.
    fn after(&self, record: u32, seed: u32) -> u32 {
        let is_own = |block: usize| {
            self.owners.get(block).is_some_and(|owner| owner.load(Relaxed) == record)
        };
        let used_up = (seed >> BLOCK_SHIFT) as usize;
        if used_up != 0 && is_own(used_up + 1) {
            return (used_up as u32 + 1) << BLOCK_SHIFT;
        }
        let first = (0..=used_up).rev().take_while(|&block| block != 0 && is_own(block)).last();
        let (first, len) = first.map_or((0, 0), |first| (first, used_up - first + 1));
        let given = if len < MOST_BLOCKS as usize { self.give(record, 2 * len as u32) } else { 0 };
        (if given == 0 { first as u32 } else { given }) << BLOCK_SHIFT
    }

    /// Gives a number of blocks to a record; one if it has none yet, for which half of all are
    /// kept. Returns the first; 0 if there are too few.
    fn give(&self, record: u32, wanted: u32) -> u32 {
        let all = self.owners.len() as u32;
        let (count, limit) = if wanted == 0 { (1, all) } else { (wanted, all / 2) };
        loop {
            let more = |used| (used + count <= limit).then_some(used + count);
            let Ok(first) = self.used.fetch_update(Relaxed, Relaxed, more) else { return 0 };
            let new = &self.owners[first as usize..(first + count) as usize];
            // Blocks after a reserved one are lost, which is rare.
            let new = new.iter().take_while(|owner| owner.load(Relaxed) != RESERVED);
            if new.map(|owner| owner.store(record, Relaxed)).count() > 0 {
                return first;
            }
        }
    }
}

/// Returns the block of the seed that a hash was made from.
fn block_of(hash: u32) -> usize {
    (seed_of(hash) >> BLOCK_SHIFT) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::probes::hash_of;

    fn blocks(len: usize) -> Blocks {
        Blocks::of_size(len, 10_000).unwrap()
    }

    /// Returns the largest number of hashes in one of as many slots of a table, as HashMap and
    /// IdentityHashMap choose them.
    fn fullest(hashes: &[u32]) -> usize {
        let mask = hashes.len().next_power_of_two() - 1;
        let mut slots = vec![[0; 2]; mask + 1];
        for &hash in hashes {
            slots[(hash ^ hash >> 16) as usize & mask][0] += 1;
            slots[(hash << 1).wrapping_sub(hash << 8) as usize >> 1 & mask][1] += 1;
        }
        slots.into_iter().flatten().max().unwrap()
    }

    #[test]
    fn hashes_are_spread_in_a_block_and_over_blocks() {
        let in_row: Vec<_> = (64..64 + (1 << 16)).map(hash_of).collect();
        let of_blocks: Vec<_> = (1..=1 << 16).map(|block| hash_of(block << 6 | 1)).collect();
        for hashes in [in_row, of_blocks] {
            assert!(fullest(&hashes) < 16, "{}", fullest(&hashes));
        }
    }

    #[test]
    fn a_record_gets_more_and_more_blocks_up_to_a_limit_and_then_uses_them_again() {
        let blocks = blocks(1 << 17);
        let mut seen = HashSet::new();
        for _ in 0..100_000 {
            let seed = blocks.next(7);
            assert_ne!(seed, 0);
            assert_eq!(blocks.owner(hash_of(seed | 5)), Owner::Record(7));
            seen.insert(seed);
        }
        assert!((4096..16_384).contains(&seen.len()), "{}", seen.len());
    }

    #[test]
    fn large_records_leave_half_of_the_blocks_to_others() {
        let blocks = blocks(1 << 8);
        for _ in 0..1000 {
            assert!((1..5).all(|record| blocks.next(record) != 0));
        }
        let new = (100..1000).take_while(|&record| blocks.next(record) != 0).count();
        assert!((128..256).contains(&new), "{new}");
        assert_eq!(blocks.next(5000), 0);
        assert!((1..5).all(|record| blocks.next(record) != 0));
    }

    #[test]
    fn blocks_of_earlier_objects_are_not_given_away() {
        let blocks = blocks(1 << 10);
        let reserved: Vec<_> =
            (1..1 << 10).step_by(3).map(|block| hash_of(block << 6 | 9)).collect();
        reserved.iter().for_each(|&hash| blocks.reserve_hash(hash));
        for _ in 0..1000 {
            assert_eq!(blocks.owner(hash_of(blocks.next(1))), Owner::Record(1));
        }
        assert!(reserved.iter().all(|&hash| blocks.owner(hash) == Owner::Reserved));
    }
}
