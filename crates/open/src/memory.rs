//! The memory that the reading of a file may take.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use perk_formats::memory::Limit;
use perk_profile::{Profile, units};

/// What each file may take, whatever its size.
const LEAST_BYTES: u64 = 256 << 20;
/// How many times its size a file may take.
const TIMES: u64 = 20;
/// The part of it that reading may take, in percent. The rest is for what is made of the profile.
const READING_PERCENT: u64 = 75;
/// What reports take for each node of the call tree, as measured with five million of them.
const NODE_BYTES: u64 = 64;

/// The memory that the reading of one file may take.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    limit: Rc<Limit>,
    /// The size of the file, or what has been read of a stream.
    file_bytes: Rc<Cell<u64>>,
    /// The limit that the user gives.
    most_bytes: Option<u64>,
}

impl Memory {
    /// The limit for a file of that size, or for a stream. `most_bytes` replaces it.
    pub(crate) fn new(file_bytes: Option<u64>, most_bytes: Option<u64>) -> Self {
        let file_bytes = Rc::new(Cell::new(file_bytes.unwrap_or(0)));
        let it = Self { limit: Rc::new(Limit::new(0)), file_bytes, most_bytes };
        it.allow();
        it
    }

    fn bytes(&self) -> u64 {
        let by_size = self.file_bytes.get().saturating_mul(TIMES).max(LEAST_BYTES);
        self.most_bytes.unwrap_or(by_size)
    }

    fn allow(&self) {
        self.limit.allow(self.bytes() / 100 * READING_PERCENT);
    }

    /// A reader of `source` that counts, so that the limit follows the size of a stream.
    pub(crate) fn count<R: Read>(&self, source: R) -> CountingReader<R> {
        CountingReader { source, count: 0, memory: self.clone() }
    }

    pub(crate) fn is_exceeded(&self) -> bool {
        self.limit.is_exceeded()
    }

    /// Whether the profile that has been read takes too much, or what is made of it will.
    pub(crate) fn is_exceeded_by(&self, profile: &Profile) -> bool {
        let made_bytes = (profile.tree.len() as u64).saturating_mul(NODE_BYTES);
        self.limit.is_exceeded() || {
            self.limit.allow(self.bytes().saturating_sub(made_bytes));
            self.limit.is_exceeded()
        }
    }

    /// What is wrong, for people. It happened after `offset` bytes of the content.
    pub(crate) fn fault(&self, offset: u64) -> String {
        let why = match (self.most_bytes, self.bytes()) {
            (Some(_), _) => String::new(),
            (None, LEAST_BYTES) => " (the least that files may take)".to_owned(),
            (None, _) => format!(" ({TIMES} times the file)"),
        };
        let bytes = units::bytes(self.bytes());
        format!(
            "more memory than {bytes}{why} is needed at byte {offset}; --max-memory allows more"
        )
    }
}

/// Counts the bytes of a stream.
pub(crate) struct CountingReader<R> {
    source: R,
    count: u64,
    memory: Memory,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.count += count as u64;
        if self.count > self.memory.file_bytes.get() {
            self.memory.file_bytes.set(self.count);
            self.memory.allow();
        }
        Ok(count)
    }
}
