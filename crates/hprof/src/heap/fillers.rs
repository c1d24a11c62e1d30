//! Distinguishes the program's `int[]` from the arrays with which the JVM fills gaps of the heap,
//! such as the unused end of a thread's allocation buffer. These are dead arrays that the program
//! has not allocated. The JVM's dump has them as `int[]` like any other (also if they have a class
//! of their own).
//!
//! Nothing refers to a filler. So an `int[]` that nothing before it has referred to waits in a
//! temporary file. At the end, the arrays that no field, element, static field or root of the whole
//! dump refers to are left out. Dead `int[]` of the program that not even a dead object refers to
//! are left out as well, as they cannot be distinguished from fillers. Memory holds a bit for each
//! place where an object can be: 1.6 % of the heap, if all of it is referred to.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use perk_profile::KeyedMap;

use super::classes::ID_BYTES;
use super::records::number;
use super::rewrite::ArrayHead;
use super::{Elements, FieldType};

/// The class of the objects that hold the frames of a virtual thread that no carrier runs.
pub(super) const STACK_CHUNK: &str = "jdk.internal.vm.StackChunk";

/// The bytes of elements that are read at once.
const PIECE_BYTES: usize = 1 << 16;
/// The size of address, length and trace, in bytes.
const HEAD_BYTES: usize = 8 + 4 + 4;
const INT_BYTES: u64 = 4;

/// The arrays that may be fillers, and the addresses that the dump refers to.
#[derive(Default)]
pub(super) struct Fillers {
    pub(super) referenced: AddressSet,
    /// The arrays that wait.
    held: Option<BufWriter<File>>,
    /// Whether some object holds references that the dump does not give.
    pub(super) has_hidden_references: bool,
}

impl Fillers {
    /// Marks the objects of some references.
    pub(super) fn refer(&mut self, references: &[u8]) {
        references.chunks_exact(ID_BYTES).for_each(|id| self.referenced.insert(number(id)));
    }

    /// Puts an array aside. More of its elements may follow.
    pub(super) fn hold(
        &mut self,
        folder: &Path,
        array: &ArrayHead,
        elements: &[u8],
    ) -> io::Result<()> {
        if self.held.is_none() {
            let file = perk_files::nameless(folder)?;
            self.held = Some(BufWriter::with_capacity(PIECE_BYTES, file));
        }
        let mut head = [0; HEAD_BYTES];
        head[..8].copy_from_slice(&array.id.to_be_bytes());
        head[8..12].copy_from_slice(&array.length.to_be_bytes());
        head[12..].copy_from_slice(&array.trace.to_be_bytes());
        self.more_elements(&head)?;
        self.more_elements(elements)
    }

    /// Adds elements to the array that was put aside last.
    pub(super) fn more_elements(&mut self, elements: &[u8]) -> io::Result<()> {
        self.held.as_mut().map_or(Ok(()), |file| file.write_all(elements))
    }

    /// Ends the waiting. Returns the arrays to look at.
    pub(super) fn held(&mut self) -> io::Result<Option<FillerCandidates>> {
        let Some(file) = self.held.take() else { return Ok(None) };
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(Some(FillerCandidates {
            file: BufReader::with_capacity(PIECE_BYTES, file),
            piece: Vec::new(),
        }))
    }

    /// Whether an array is known to be the program's, as far as the dump has come.
    pub(super) fn is_of_program(&self, array: u64) -> bool {
        self.has_hidden_references || self.referenced.has(array)
    }
}

/// The arrays that have waited.
pub(super) struct FillerCandidates {
    file: BufReader<File>,
    piece: Vec<u8>,
}

impl FillerCandidates {
    /// Returns the next array.
    pub(super) fn next(&mut self) -> io::Result<Option<ArrayHead>> {
        let mut head = [0; HEAD_BYTES];
        match self.file.read_exact(&mut head) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        Ok(Some(ArrayHead {
            id: number(&head[..8]),
            length: number(&head[8..12]) as u32,
            trace: number(&head[12..]) as u32,
            elements: Elements::Primitives(FieldType::Int),
            object_bytes: 0,
        }))
    }

    /// Skips the elements of an array.
    pub(super) fn pass(&mut self, array: &ArrayHead) -> io::Result<()> {
        self.file.seek_relative((u64::from(array.length) * INT_BYTES).cast_signed())
    }

    /// Calls `body` with the elements of an array, a piece at a time, and at least once.
    pub(super) fn elements(
        &mut self,
        array: &ArrayHead,
        mut body: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut left = u64::from(array.length) * INT_BYTES;
        loop {
            self.piece.resize(left.min(PIECE_BYTES as u64) as usize, 0);
            self.file.read_exact(&mut self.piece)?;
            body(&self.piece)?;
            left -= self.piece.len() as u64;
            if left == 0 {
                return Ok(());
            }
        }
    }
}

/// The alignment of objects, as a power of two.
const GRAIN_BITS: u32 = 3;
/// The number of words of bits in a page, and of pages in a region.
const PAGE_WORDS: usize = 512;
const REGION_PAGES: usize = 4096;
/// The bits of an address below the number of its page, and of its region.
const PAGE_BITS: u32 = GRAIN_BITS + (PAGE_WORDS * u64::BITS as usize).ilog2();
const REGION_BITS: u32 = PAGE_BITS + REGION_PAGES.ilog2();

/// A set of addresses of objects: a bit for each, in pages that exist if one of their bits is set.
#[derive(Default)]
pub(super) struct AddressSet {
    regions: Vec<Region>,
    /// The places of regions by their number.
    by_number: KeyedMap<u64, usize>,
    /// The region that was looked up last, and its place.
    last: (u64, usize),
}

type Region = Vec<Option<Box<[u64; PAGE_WORDS]>>>;

impl AddressSet {
    #[inline]
    pub(super) fn insert(&mut self, address: u64) {
        if address == 0 {
            return;
        }
        let number = address >> REGION_BITS;
        if self.last.0 != number || self.regions.is_empty() {
            self.turn_to(number);
        }
        let page = &mut self.regions[self.last.1][page(address)];
        let word = &mut page.get_or_insert_with(|| Box::new([0; PAGE_WORDS]))[word(address)];
        *word |= bit(address);
    }

    pub(super) fn has(&self, address: u64) -> bool {
        let Some(&place) = self.by_number.get(&(address >> REGION_BITS)) else { return false };
        let page = self.regions[place][page(address)].as_ref();
        page.is_some_and(|page| page[word(address)] & bit(address) != 0)
    }

    #[cold]
    fn turn_to(&mut self, number: u64) {
        let next = self.regions.len();
        let place = *self.by_number.entry(number).or_insert(next);
        if place == next {
            self.regions.push(vec![None; REGION_PAGES]);
        }
        self.last = (number, place);
    }
}

fn page(address: u64) -> usize {
    (address >> PAGE_BITS) as usize % REGION_PAGES
}

fn word(address: u64) -> usize {
    (address >> (GRAIN_BITS + u64::BITS.ilog2())) as usize % PAGE_WORDS
}

fn bit(address: u64) -> u64 {
    1 << ((address >> GRAIN_BITS) % u64::from(u64::BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_distinguished() {
        let near = (0..100_000).map(|at| 0x7_1234_5000 + 8 * at);
        let far = (0..60).map(|bit| 8 << bit);
        let (chosen, others): (Vec<u64>, Vec<u64>) =
            near.chain(far).partition(|address| (address >> 3) % 3 != 1);
        let mut places = AddressSet::default();
        places.insert(0);
        chosen.iter().for_each(|&address| places.insert(address));
        assert!(chosen.iter().all(|&address| places.has(address)));
        let chosen: std::collections::BTreeSet<_> = chosen.into_iter().collect();
        assert!(others.iter().all(|address| places.has(*address) == chosen.contains(address)));
        assert!(!places.has(0));
    }
}
