//! Numbers the objects of a dump in the order of their addresses.
//!
//! The address space is cut into chunks of 64 MiB. A chunk with few objects is a sorted list of
//! offsets. One with many has a bit for each place at which an object can be, and the number of
//! objects before each word of bits. Neither needs objects to come in the order of addresses.

use std::ops::Range;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::space::filled;

/// The size of a chunk, as a power of 2.
const CHUNK_SHIFT: u32 = 26;
/// The number of objects from which on a chunk has bits: the list would take about as much memory.
const MANY: usize = 1 << 17;
/// The distance of places, as a power of 2, in the heaps of JVMs with 64 bits.
const COMMON_SHIFT: u8 = 3;
/// The largest number of chunks between the first and the last for a table with all of them.
const TABLE_CHUNKS: u64 = 1 << 20;
/// The mark of a chunk that has no object.
const NO_CHUNK: u32 = u32::MAX;

/// The largest number of objects.
pub(crate) const MOST_OBJECTS: u64 = u32::MAX as u64 - 16;

/// The addresses, while they come.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    chunks: Vec<AddressChunk>,
    by_number: FxHashMap<u64, u32>,
    /// The chunk of the last address.
    last: (u64, u32),
    duplicate_count: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct AddressChunk {
    /// The address divided by the size of a chunk.
    number: u64,
    /// The number of objects in the chunks before.
    base: u32,
    places: ChunkPlaces,
}

#[derive(Debug, Serialize, Deserialize)]
enum ChunkPlaces {
    Few(Vec<u32>),
    Many(AddressBits),
}

/// A bit for each place.
#[derive(Debug, Serialize, Deserialize)]
struct AddressBits {
    shift: u8,
    words: Vec<Word>,
}

/// 64 places. The data that number an object are together.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Word {
    bits: u64,
    /// The number of bits in the words before.
    rank: u32,
}

impl Addresses {
    /// Takes the address of an object.
    #[inline]
    pub(crate) fn insert(&mut self, address: u64) {
        let number = address >> CHUNK_SHIFT;
        let offset = address as u32 & ((1 << CHUNK_SHIFT) - 1);
        if self.chunks.is_empty() || self.last.0 != number {
            self.turn_to(number);
        }
        let chunk = &mut self.chunks[self.last.1 as usize];
        match &mut chunk.places {
            ChunkPlaces::Many(bits) if offset & ((1 << bits.shift) - 1) == 0 => {
                let bit = offset >> bits.shift;
                let word = &mut bits.words[bit as usize / 64].bits;
                self.duplicate_count += *word >> (bit % 64) & 1;
                *word |= 1 << (bit % 64);
            }
            _ => self.insert_slowly(offset),
        }
    }

    #[cold]
    fn turn_to(&mut self, number: u64) {
        let next = self.chunks.len() as u32;
        let index = *self.by_number.entry(number).or_insert(next);
        if index == next {
            self.chunks.push(AddressChunk {
                number,
                base: 0,
                places: ChunkPlaces::Few(Vec::new()),
            });
        }
        self.last = (number, index);
    }

    fn insert_slowly(&mut self, offset: u32) {
        let places = &mut self.chunks[self.last.1 as usize].places;
        match places {
            ChunkPlaces::Few(list) if list.len() < MANY => list.push(offset),
            ChunkPlaces::Few(list) => {
                list.push(offset);
                sort(list, &mut self.duplicate_count);
                if list.len() >= MANY {
                    let all = list.iter().fold(1 << COMMON_SHIFT, |all, offset| all | offset);
                    let mut bits = AddressBits::new(all.trailing_zeros() as u8);
                    list.iter().for_each(|&offset| bits.set(offset));
                    *places = ChunkPlaces::Many(bits);
                }
            }
            ChunkPlaces::Many(bits) => {
                let mut finer = AddressBits::new(offset.trailing_zeros() as u8);
                bits.offsets(0).for_each(|offset| finer.set(offset));
                finer.set(offset);
                *bits = finer;
            }
        }
    }

    /// Numbers the objects.
    pub(crate) fn finish(mut self) -> Result<Ids, Error> {
        self.chunks.sort_unstable_by_key(|chunk| chunk.number);
        let mut base = 0_u64;
        for chunk in &mut self.chunks {
            chunk.base = base as u32;
            base += match &mut chunk.places {
                ChunkPlaces::Few(list) => {
                    sort(list, &mut self.duplicate_count);
                    list.shrink_to_fit();
                    list.len() as u64
                }
                ChunkPlaces::Many(bits) => bits.rank(),
            };
            if base > MOST_OBJECTS {
                let most = MOST_OBJECTS;
                return Err(Error::Refused(format!("more than {most} objects in a dump")));
            }
        }
        let first = self.chunks.first().map_or(0, |chunk| chunk.number);
        let last = self.chunks.last().map_or(0, |chunk| chunk.number);
        let indices = (0..).zip(&self.chunks).map(|(index, chunk)| (chunk.number, index));
        let directory = if last - first < TABLE_CHUNKS {
            let mut table = vec![NO_CHUNK; (last - first) as usize + 1];
            indices
                .for_each(|(number, index): (u64, u32)| table[(number - first) as usize] = index);
            Directory::Table { first, table }
        } else {
            Directory::Map(indices.collect())
        };
        let duplicate_count = self.duplicate_count;
        Ok(Ids { chunks: self.chunks, directory, count: base as u32, duplicate_count })
    }
}

fn sort(list: &mut Vec<u32>, duplicate_count: &mut u64) {
    let before = list.len();
    list.sort_unstable();
    list.dedup();
    *duplicate_count += (before - list.len()) as u64;
}

impl AddressChunk {
    /// Returns the offsets of its objects without the first ones.
    fn offsets(&self, skipped: usize) -> Box<dyn Iterator<Item = u32> + '_> {
        match &self.places {
            ChunkPlaces::Few(list) => Box::new(list.iter().skip(skipped).copied()),
            ChunkPlaces::Many(bits) => {
                let rank = |word: &Word| word.rank as usize;
                let first = bits.words.partition_point(|word| rank(word) <= skipped) - 1;
                Box::new(bits.offsets(first).skip(skipped - rank(&bits.words[first])))
            }
        }
    }
}

impl AddressBits {
    fn new(shift: u8) -> Self {
        let words = filled((1 << (CHUNK_SHIFT - u32::from(shift))) / 64, Word::default());
        Self { shift, words }
    }

    fn set(&mut self, offset: u32) {
        let bit = offset >> self.shift;
        self.words[bit as usize / 64].bits |= 1 << (bit % 64);
    }

    /// Returns the offsets of the bits from this word on.
    fn offsets(&self, first: usize) -> impl Iterator<Item = u32> {
        let shift = self.shift;
        let words = (first as u32..).zip(&self.words[first..]);
        words.flat_map(move |(index, word): (u32, &Word)| {
            ones(word.bits).map(move |bit| (index * 64 + bit) << shift)
        })
    }

    /// Counts the bits before each word. Returns the number of all.
    fn rank(&mut self) -> u64 {
        let mut sum = 0;
        for word in &mut self.words {
            word.rank = sum;
            sum += word.bits.count_ones();
        }
        u64::from(sum)
    }
}

/// Returns the numbers of the bits that are set.
fn ones(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        (word != 0).then(|| {
            word &= word - 1;
            bit
        })
    })
}

/// The numbers of the objects.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ids {
    /// In the order of addresses.
    chunks: Vec<AddressChunk>,
    directory: Directory,
    count: u32,
    duplicate_count: u64,
}

#[derive(Debug, Serialize, Deserialize)]
enum Directory {
    Table { first: u64, table: Vec<u32> },
    Map(FxHashMap<u64, u32>),
}

impl Ids {
    /// Returns the number of objects.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Returns the number of addresses that came more than once.
    pub(crate) fn duplicate_count(&self) -> u64 {
        self.duplicate_count
    }

    /// Returns the index of the chunk.
    #[inline]
    fn chunk(&self, number: u64) -> Option<usize> {
        let index = match &self.directory {
            Directory::Table { first, table } => *table.get(number.wrapping_sub(*first) as usize)?,
            Directory::Map(map) => *map.get(&number)?,
        };
        (index != NO_CHUNK).then_some(index as usize)
    }

    /// Returns the number of the object at this address.
    #[inline]
    pub(crate) fn find(&self, address: u64) -> Option<u32> {
        let chunk = self.chunks.get(self.chunk(address >> CHUNK_SHIFT)?)?;
        let offset = address as u32 & ((1 << CHUNK_SHIFT) - 1);
        match &chunk.places {
            ChunkPlaces::Many(bits) => {
                let bit = offset >> bits.shift;
                let word = bits.words[bit as usize / 64];
                let is_there =
                    word.bits >> (bit % 64) & 1 == 1 && offset & ((1 << bits.shift) - 1) == 0;
                is_there.then(|| {
                    let before = word.bits & ((1 << (bit % 64)) - 1);
                    chunk.base + word.rank + before.count_ones()
                })
            }
            ChunkPlaces::Few(list) => {
                list.binary_search(&offset).ok().map(|index| chunk.base + index as u32)
            }
        }
    }

    /// Returns the address of an object.
    pub(crate) fn address(&self, id: u32) -> u64 {
        let index = self.chunks.partition_point(|chunk| chunk.base <= id) - 1;
        let chunk = &self.chunks[index];
        let rank = id - chunk.base;
        let offset = match &chunk.places {
            ChunkPlaces::Few(list) => list[rank as usize],
            ChunkPlaces::Many(bits) => {
                let word = bits.words.partition_point(|word| word.rank <= rank) - 1;
                let in_word = (rank - bits.words[word].rank) as usize;
                let bit = ones(bits.words[word].bits).nth(in_word).unwrap_or(0);
                (word as u32 * 64 + bit) << bits.shift
            }
        };
        chunk.number << CHUNK_SHIFT | u64::from(offset)
    }

    /// Returns the addresses of the objects with these numbers, in their order.
    pub(crate) fn addresses(&self, range: Range<u32>) -> impl Iterator<Item = u64> {
        let first =
            self.chunks.partition_point(|chunk| chunk.base <= range.start).saturating_sub(1);
        let mut skipped =
            self.chunks.get(first).map_or(0, |chunk| range.start - chunk.base) as usize;
        let chunks = self.chunks.iter().skip(first);
        let addresses = chunks.flat_map(move |chunk| {
            let before = std::mem::take(&mut skipped);
            chunk.offsets(before).map(|offset| chunk.number << CHUNK_SHIFT | u64::from(offset))
        });
        addresses.take(range.len())
    }

    /// Returns the address of the object after this address.
    pub(crate) fn next(&self, address: u64) -> Option<u64> {
        let mut index = self.chunk(address >> CHUNK_SHIFT)?;
        let chunk = &self.chunks[index];
        let offset = address as u32 & ((1 << CHUNK_SHIFT) - 1);
        let found = match &chunk.places {
            ChunkPlaces::Few(list) => list.get(list.partition_point(|&it| it <= offset)).copied(),
            ChunkPlaces::Many(bits) => {
                let bit = (offset >> bits.shift) + 1;
                let mut at = bit as usize / 64;
                let mut word =
                    bits.words.get(at).map_or(0, |word| word.bits & (u64::MAX << (bit % 64)));
                while word == 0 && at + 1 < bits.words.len() {
                    at += 1;
                    word = bits.words[at].bits;
                }
                (word != 0).then(|| (at as u32 * 64 + word.trailing_zeros()) << bits.shift)
            }
        };
        if let Some(offset) = found {
            return Some(chunk.number << CHUNK_SHIFT | u64::from(offset));
        }
        index += 1;
        let chunk = self.chunks.get(index)?;
        let first = match &chunk.places {
            ChunkPlaces::Few(list) => list.first().copied(),
            ChunkPlaces::Many(bits) => bits.offsets(0).next(),
        };
        first.map(|offset| chunk.number << CHUNK_SHIFT | u64::from(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(addresses: &[u64]) {
        let mut sorted = addresses.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut all = Addresses::default();
        addresses.iter().for_each(|&address| all.insert(address));
        let ids = all.finish().unwrap();
        assert_eq!(ids.count() as usize, sorted.len());
        assert_eq!(ids.duplicate_count() as usize, addresses.len() - sorted.len());
        for (id, &address) in (0..).zip(&sorted) {
            assert_eq!(ids.find(address), Some(id), "{address:#x}");
            assert_eq!(ids.address(id), address);
            assert_eq!(ids.next(address), sorted.get(id as usize + 1).copied());
            for near in [address.wrapping_sub(1), address.wrapping_add(1), address ^ 1 << 40] {
                assert_eq!(ids.find(near).is_some(), sorted.binary_search(&near).is_ok());
            }
        }
        let count = sorted.len();
        for range in [0..count, 0..0, count / 3..count, count / 2..count / 2 + count / 5] {
            let found = ids.addresses(range.start as u32..range.end as u32);
            assert_eq!(found.collect::<Vec<_>>(), sorted[range]);
        }
    }

    #[test]
    fn addresses_in_any_order_and_density() {
        check(&[]);
        check(&[8]);
        check(&[0, 1, u64::MAX, u64::MAX - 7, 1 << 63]);
        check(&(0..2000_u64).map(|it| it << 26).collect::<Vec<_>>());
        check(&(0..300_u64).map(|it| it << 52).collect::<Vec<_>>());
        // Serial numbers, dense words in any order, and a late address that is not aligned.
        check(&(1..300_000_u64).collect::<Vec<_>>());
        let mixed = |index: u64| (index * 0x9E37_79B1 % (1 << 20)) * 8 + (4 << 40);
        let mut many: Vec<_> = (0..400_000).map(mixed).collect();
        many.extend([many[7], many[8] + 4, many[9] + 1]);
        check(&many);
        // A list that turns out to have mostly duplicates stays a list.
        check(&(0..400_000_u64).map(|it| it % 1000 * 8).collect::<Vec<_>>());
    }
}
