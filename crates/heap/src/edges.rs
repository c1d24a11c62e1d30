//! All references of a dump, in the order in which they come.
//!
//! A chunk is a list of words of 4 bytes. The references of an object begin with a word that has, in
//! the upper bits, the distance from the last such object, and in the lower ones the number of
//! references that follow. A word without any is followed by the number of the object.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Error;
use crate::scratch::{self, Scratch};
use crate::space::Number;

/// The words of a chunk in memory. The chunk is large enough that the system takes it back when it
/// is used up.
const MEMORY_WORDS: usize = 1 << 23;
/// The words of a chunk in a file.
const FILE_WORDS: usize = 1 << 16;
/// The bits of the number of references.
const COUNT_BITS: u32 = 8;
/// The most references after one word.
const MOST: u32 = (1 << COUNT_BITS) - 1;
/// The most words of one block.
const LONGEST: usize = 3 + MOST as usize;
/// The least distance that a word cannot have.
const FAR: u32 = 1 << (u32::BITS - COUNT_BITS);
/// No object.
const NONE: u32 = u32::MAX;

/// References while they come.
#[derive(Debug)]
pub(crate) struct EdgeList {
    sink: Option<Arc<EdgeFile>>,
    words: Vec<u32>,
    /// The object at hand, if it has references, and the place of their number.
    from: u32,
    head: usize,
    /// The last object that had references in the chunk.
    last: u32,
    full: Vec<EdgeChunk>,
    fault: Option<Error>,
}

/// A file for references.
#[derive(Debug)]
pub(crate) struct EdgeFile {
    file: File,
    folder: PathBuf,
    bytes: AtomicU64,
}

#[derive(Debug)]
enum EdgeChunk {
    Memory(Vec<u32>),
    /// The offset in the file, and the number of words.
    File(u64, usize),
}

/// References.
#[derive(Debug)]
pub(crate) struct Edges {
    chunks: Vec<EdgeChunk>,
    file: Option<Arc<EdgeFile>>,
}

impl EdgeFile {
    pub(crate) fn create_in(folder: PathBuf) -> Result<Self, Error> {
        let (file, folder) = Scratch::create_in(folder)?.into_parts()?;
        Ok(Self { file, folder, bytes: AtomicU64::new(0) })
    }

    fn append(&self, words: &[u32]) -> Result<EdgeChunk, Error> {
        let mut bytes = vec![0; words.len() * u32::BYTES];
        for (word, bytes) in words.iter().zip(bytes.as_chunks_mut::<4>().0) {
            *bytes = word.to_ne_bytes();
        }
        let at = self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let written = self.file.write_all_at(&bytes, at);
        written.map_err(|error| scratch::unwritable(&self.folder, at, &error))?;
        Ok(EdgeChunk::File(at, words.len()))
    }

    fn read(&self, at: u64, count: usize, words: &mut Vec<u32>) -> Result<(), Error> {
        let mut bytes = vec![0; count * u32::BYTES];
        let read = self.file.read_exact_at(&mut bytes, at);
        read.map_err(|error| scratch::unreadable(&self.folder, &error))?;
        words.clear();
        words.extend(bytes.as_chunks().0.iter().map(|&bytes| u32::from_ne_bytes(bytes)));
        Ok(())
    }
}

impl EdgeList {
    /// References that stay in memory, or go to a file.
    pub(crate) fn new(sink: Option<Arc<EdgeFile>>) -> Self {
        Self {
            sink,
            words: Vec::new(),
            from: NONE,
            head: 0,
            last: NONE,
            full: Vec::new(),
            fault: None,
        }
    }

    /// Begins the references of another object.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.from = NONE;
    }

    /// Adds a reference.
    #[inline]
    pub(crate) fn add(&mut self, from: u32, to: u32) {
        if self.from != from || self.words[self.head] & MOST == MOST {
            self.head(from);
        }
        self.words[self.head] += 1;
        self.words.push(to);
    }

    fn head(&mut self, from: u32) {
        let most = if self.sink.is_some() { FILE_WORDS } else { MEMORY_WORDS };
        if self.words.len() + LONGEST > most {
            self.end_chunk();
        }
        if self.words.capacity() == 0 {
            self.words.reserve_exact(most);
        }
        let distance = from.wrapping_sub(self.last);
        if self.last == NONE || distance >= FAR {
            self.words.extend([0, from]);
            self.head = self.words.len();
            self.words.push(0);
        } else {
            self.head = self.words.len();
            self.words.push(distance << COUNT_BITS);
        }
        (self.from, self.last) = (from, from);
    }

    fn end_chunk(&mut self) {
        (self.from, self.last) = (NONE, NONE);
        if self.words.is_empty() {
            return;
        }
        let chunk = match &self.sink {
            None => Ok(EdgeChunk::Memory(std::mem::take(&mut self.words))),
            Some(file) => {
                let chunk = file.append(&self.words);
                self.words.clear();
                chunk
            }
        };
        match chunk {
            Ok(chunk) => self.full.push(chunk),
            Err(error) => {
                self.fault.get_or_insert(error);
            }
        }
    }
}

impl Edges {
    /// Puts the references of several threads together.
    pub(crate) fn collect(lists: impl IntoIterator<Item = EdgeList>) -> Result<Self, Error> {
        let mut edges = Self { chunks: Vec::new(), file: None };
        for mut list in lists {
            list.end_chunk();
            if let Some(fault) = list.fault {
                return Err(fault);
            }
            edges.chunks.extend(list.full);
            edges.file = list.sink;
        }
        Ok(edges)
    }

    /// Calls `each` with each object that has references and what they lead to, of an object with
    /// many part by part.
    pub(crate) fn each(
        &self,
        each: impl FnMut(u32, &[u32]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.each_of(0, 1, each)
    }

    /// As [`each`](Self::each), for one of several parts of the references.
    pub(crate) fn each_of(
        &self,
        part: usize,
        part_count: usize,
        mut each: impl FnMut(u32, &[u32]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut buffer = Vec::new();
        for chunk in self.chunks.iter().skip(part).step_by(part_count) {
            self.blocks(chunk, &mut buffer, &mut each)?;
        }
        Ok(())
    }

    fn blocks(
        &self,
        chunk: &EdgeChunk,
        buffer: &mut Vec<u32>,
        each: &mut impl FnMut(u32, &[u32]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut rest = match chunk {
            EdgeChunk::Memory(words) => words.as_slice(),
            &EdgeChunk::File(at, count) => {
                if let Some(file) = &self.file {
                    file.read(at, count, buffer)?;
                }
                buffer.as_slice()
            }
        };
        let mut from = NONE;
        while let [head, tail @ ..] = rest {
            let count = head & MOST;
            if count == 0 {
                let [object, tail @ ..] = tail else { break };
                from = *object;
                // The head that follows has no distance.
                rest = tail;
                continue;
            }
            from = from.wrapping_add(head >> COUNT_BITS);
            let (targets, tail) = tail.split_at(count as usize);
            each(from, targets)?;
            rest = tail;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what lists give back of references, in the order of their objects.
    fn given_back(all: &[(u32, Vec<u32>)], file: Option<Arc<EdgeFile>>) -> Vec<(u32, Vec<u32>)> {
        let mut list = EdgeList::new(file);
        for (from, targets) in all {
            list.begin();
            targets.iter().for_each(|&to| list.add(*from, to));
        }
        let edges = Edges::collect([list]).unwrap();
        let mut found: Vec<(u32, Vec<u32>)> = Vec::new();
        let take = |from, targets: &[u32]| {
            match found.last_mut().filter(|last| last.0 == from) {
                Some(last) => last.1.extend_from_slice(targets),
                None => found.push((from, targets.to_vec())),
            }
            Ok(())
        };
        edges.each(take).unwrap();
        found
    }

    #[test]
    fn references_come_back_as_they_went() {
        let mut all = vec![
            (0, vec![1, 2]),
            (1, vec![0]),
            (FAR, vec![5]),
            (FAR + FAR - 1, vec![u32::MAX - 2]),
            (7, vec![9; 2 * MOST as usize + 3]),
            (8, vec![9; MOST as usize]),
            (u32::MAX - 2, vec![0]),
        ];
        // More than a chunk of a file.
        all.extend((9..40_000).map(|from| (from, vec![from + 1, from / 2, 3])));
        assert!(given_back(&all, None) == all);
        let file = Arc::new(EdgeFile::create_in(std::env::temp_dir()).unwrap());
        assert!(given_back(&all, Some(file)) == all);
        assert_eq!(given_back(&[], None), []);
    }
}
