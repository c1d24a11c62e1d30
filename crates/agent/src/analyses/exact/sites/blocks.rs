//! The identity hashes that lead to records. Each is made from a *seed* of as many bits, and the
//! seeds are divided into blocks, each of which belongs to one record. A record gets more of them
//! the more objects it counts, so that objects seldom have the same hash, until it has
//! [`MOST_BLOCKS`] in a row; from then on it uses these again and again.
//!
//! `java/helper/java/lang/PerkProbes.java` takes the same seeds.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use perk_jvm::memory::{Pages, Region};
use perk_jvm::probes::{HASH_MASK, seed_of};
use perk_jvm::sync::lock;
use rustc_hash::FxHashSet;

/// A block has 2 to this power seeds.
const BLOCK_SHIFT: u32 = 6;
/// The number of blocks in a row that a record gets at most at a time.
const MOST_BLOCKS: u32 = 1 << 12;

/// The blocks, with the record that each belongs to.
#[derive(Debug)]
pub(super) struct Blocks {
    owners: Region<AtomicU32>,
    /// The number of blocks that there are.
    count: u32,
    /// The number of blocks that were given away. The first one is never: it has the hash 0.
    used: AtomicU32,
    /// The blocks of objects that existed before the probes began. They are few, and anywhere.
    reserved: Mutex<FxHashSet<u32>>,
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

impl Blocks {
    /// Makes room for as many blocks as records can have.
    ///
    /// # Errors
    /// The system's error if there is no space.
    pub(super) fn new() -> io::Result<Self> {
        Self::of_size((HASH_MASK >> BLOCK_SHIFT) + 1)
    }

    fn of_size(count: u32) -> io::Result<Self> {
        let owners = Region::new(count as usize, Pages::Small)?;
        Ok(Self { owners, count, used: AtomicU32::new(1), reserved: Mutex::default() })
    }

    /// Reserves the block of the hash of an object that existed before.
    pub(super) fn reserve_hash(&self, hash: u32) {
        lock(&self.reserved).insert(block_of(hash));
    }

    /// Returns the owner of a hash that perk has made, or of one that may be the JVM's.
    pub(super) fn owner(&self, hash: u32) -> Owner {
        match self.record_of(block_of(hash)) {
            0 => self.owner_of_jvm_hash(hash),
            record => Owner::Record(record),
        }
    }

    /// Returns the owner of a hash that the JVM has made. It is no record, though such a hash may be
    /// in the block of one.
    pub(super) fn owner_of_jvm_hash(&self, hash: u32) -> Owner {
        let block = block_of(hash);
        let is_reserved = block != 0 && lock(&self.reserved).contains(&block);
        if is_reserved { Owner::Reserved } else { Owner::Nobody }
    }

    fn record_of(&self, block: u32) -> u32 {
        self.owners.all().get(block as usize).map_or(0, |owner| owner.load(Relaxed))
    }

    /// Gives a record its next block and returns its first seed; 0 if there is none. Called by the
    /// thread that the record belongs to. `seed` is the first seed of its block.
    pub(super) fn next(&self, record: u32, seed: &AtomicU32) -> u32 {
        let next = self.after(record, seed.load(Relaxed));
        seed.store(next, Relaxed);
        next
    }

    /// Returns the first seed of the block that a record uses after one with this first seed.
    fn after(&self, record: u32, seed: u32) -> u32 {
        let is_own = |block: u32| self.record_of(block) == record;
        let used_up = seed >> BLOCK_SHIFT;
        if used_up != 0 && is_own(used_up + 1) {
            return (used_up + 1) << BLOCK_SHIFT;
        }
        let first = (0..=used_up).rev().take_while(|&block| block != 0 && is_own(block)).last();
        let (first, len) = first.map_or((0, 0), |first| (first, used_up - first + 1));
        let given = if len < MOST_BLOCKS { self.give(record, 2 * len) } else { 0 };
        (if given == 0 { first } else { given }) << BLOCK_SHIFT
    }

    /// Gives a number of blocks to a record; one if it has none yet, for which half of all are
    /// kept. Returns the first; 0 if there are too few.
    fn give(&self, record: u32, wanted: u32) -> u32 {
        let all = self.count;
        let (count, limit) = if wanted == 0 { (1, all) } else { (wanted, all / 2) };
        loop {
            let more = |used: u32| {
                let next = used + count;
                (next <= limit && self.owners.grow(next as usize)).then_some(next)
            };
            let Ok(first) = self.used.fetch_update(Relaxed, Relaxed, more) else { return 0 };
            let new = &self.owners.all()[first as usize..(first + count) as usize];
            let reserved = lock(&self.reserved);
            // Blocks after a reserved one are lost, which is rare.
            let new = (first..).zip(new).take_while(|(block, _)| !reserved.contains(block));
            if new.map(|(_, owner)| owner.store(record, Relaxed)).count() > 0 {
                return first;
            }
        }
    }
}

/// Returns the block of the seed that a hash was made from.
fn block_of(hash: u32) -> u32 {
    seed_of(hash) >> BLOCK_SHIFT
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use perk_jvm::probes::hash_of;

    /// Blocks, and the seeds of records.
    struct BlockTable(Blocks, Vec<AtomicU32>);

    impl BlockTable {
        fn new(len: u32) -> Self {
            Self(Blocks::of_size(len).unwrap(), (0..10_000).map(|_| AtomicU32::new(0)).collect())
        }

        fn next(&self, record: u32) -> u32 {
            self.0.next(record, &self.1[record as usize])
        }

        fn owner(&self, hash: u32) -> Owner {
            self.0.owner(hash)
        }
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
        let blocks = BlockTable::new(1 << 17);
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
        let blocks = BlockTable::new(1 << 8);
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
        let blocks = BlockTable::new(1 << 10);
        let reserved: Vec<_> =
            (1..1 << 10).step_by(3).map(|block| hash_of(block << 6 | 9)).collect();
        reserved.iter().for_each(|&hash| blocks.0.reserve_hash(hash));
        for _ in 0..1000 {
            assert_eq!(blocks.owner(hash_of(blocks.next(1))), Owner::Record(1));
        }
        assert!(reserved.iter().all(|&hash| blocks.owner(hash) == Owner::Reserved));
        let others = (1..1 << 16).map(|seed| blocks.0.owner_of_jvm_hash(hash_of(seed)));
        assert_eq!(others.filter(|owner| *owner != Owner::Nobody).count(), 64 * reserved.len());
    }
}
