//! Streams that end: after a number of bytes, as far as memory allows, or where packed data is cut off.

use std::io::{self, Read};

use crate::memory::Memory;

/// Reads a number of bytes and no more, as long as memory allows.
pub(crate) struct BoundedReader<R> {
    source: R,
    memory: Memory,
    left: u64,
    max_bytes: u64,
    /// An error was given out: the file's, not one of what it holds.
    pub(crate) has_failed: bool,
}

impl<R: Read> BoundedReader<R> {
    pub(crate) fn new(source: R, max_bytes: u64, memory: &Memory) -> Self {
        Self { source, memory: memory.clone(), left: max_bytes, max_bytes, has_failed: false }
    }

    /// The number of bytes that have been read.
    pub(crate) fn offset(&self) -> u64 {
        self.max_bytes - self.left
    }

    fn read_on(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.memory.is_exceeded() {
            return Err(io::Error::new(
                io::ErrorKind::OutOfMemory,
                self.memory.fault(self.offset()),
            ));
        }
        // One byte more than allowed distinguishes a file that is too long from one that just fits.
        let room = usize::try_from(self.left.saturating_add(1)).unwrap_or(usize::MAX);
        let length = buffer.len().min(room);
        let count = self.source.read(&mut buffer[..length])?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            let what = format!("more than {} bytes; --max-bytes allows more", self.max_bytes);
            io::Error::new(io::ErrorKind::FileTooLarge, what)
        })?;
        Ok(count)
    }
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.read_on(buffer);
        let is_failure = |error: &io::Error| error.kind() != io::ErrorKind::Interrupted;
        self.has_failed |= count.as_ref().is_err_and(is_failure);
        count
    }
}

/// Takes the place where packed data is cut off for the end, for readers that know of ends alone.
pub(crate) struct TruncatedReader<R>(pub(crate) R);

impl<R: Read> Read for TruncatedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            read => read,
        }
    }
}

/// The first bytes: of what is cut off, those that are there, if there are any.
pub(crate) fn read_head(source: &mut impl Read, bytes: u64) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    match source.take(bytes).read_to_end(&mut head) {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof || head.is_empty() => Err(error),
        _ => Ok(head),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_longer_than_allowed_is_an_error() {
        let read = |max_bytes| {
            let mut bounded =
                BoundedReader::new(&b"12345"[..], max_bytes, &Memory::new(None, None));
            let mut bytes = Vec::new();
            bounded.read_to_end(&mut bytes).map(|_| bytes)
        };
        assert_eq!(read(5).unwrap(), b"12345");
        let error = read(4).unwrap_err();
        assert_eq!(error.to_string(), "more than 4 bytes; --max-bytes allows more");
    }
}
