//! The chunks of a recording, one at a time.

use std::io::{self, Read};

use super::cursor::{Cursor, big_endian};
use crate::Error;

pub(super) const MAGIC: &[u8; 4] = b"FLR\0";
/// The version of the format that is written.
pub(super) const MAJOR: u16 = 2;
/// The versions that are read: 1 is that of JDK 9 and 10, with other names of types. Everything that
/// a minor version adds is described by metadata.
const MAJORS: [u64; 2] = [1, MAJOR as u64];
/// The header of a chunk.
pub(super) const HEADER_BYTES: usize = 68;
/// The number of bytes that are read at once.
const BUFFER_BYTES: usize = 1 << 16;
/// The number of times that the rest of a file is searched for another chunk.
const MAX_PUT_BACKS: u32 = 16;
/// The number of bytes that identify the beginning of a chunk: the magic and the version.
const BEGIN_BYTES: usize = 8;

/// Whether `bytes` begin a chunk.
fn is_begin(bytes: &[u8]) -> bool {
    bytes.len() >= BEGIN_BYTES
        && bytes.starts_with(MAGIC)
        && MAJORS.contains(&big_endian(&bytes[4..6]))
        && bytes[6] == 0
}

/// Returns the place in `bytes` at which a chunk begins.
fn find_begin(bytes: &[u8]) -> Option<usize> {
    memchr::memmem::find_iter(bytes, MAGIC).find(|&at| is_begin(&bytes[at..]))
}

/// One chunk, whole in memory, including its header.
#[derive(Debug, Default)]
pub(super) struct JfrChunk {
    /// The number of the chunk in the file, from 1.
    pub(super) number: usize,
    /// The offset of the chunk in the file.
    pub(super) offset: usize,
    pub(super) bytes: Vec<u8>,
    /// The start of the chunk, in nanoseconds since 1970.
    pub(super) start_ns: u64,
    /// Its length, in nanoseconds; 0 if the end was never written.
    pub(super) duration_ns: u64,
    /// Its start by the clock of the events.
    pub(super) start_ticks: u64,
    pub(super) ticks_per_second: u64,
    pub(super) is_compressed: bool,
    /// Whether the end of the chunk was never written, because the JVM was killed.
    pub(super) is_unfinished: bool,
    /// The number of bytes that are missing, compared with the size in the header.
    pub(super) missing_bytes: u64,
}

impl JfrChunk {
    pub(super) fn cursor(&self, at: usize) -> Cursor<'_> {
        Cursor::new(&self.bytes, at, self.is_compressed)
    }

    /// Returns the end of the last whole event before the next chunk.
    fn events_end(&self) -> usize {
        let mut end = HEADER_BYTES.min(self.bytes.len());
        loop {
            let mut cursor = self.cursor(end);
            let next = cursor.count().ok().and_then(|size| end.checked_add(size));
            match next.filter(|&next| next > cursor.at && next <= self.bytes.len()) {
                Some(next) if !is_begin(&self.bytes[end..]) => end = next,
                _ => return end,
            }
        }
    }

    pub(super) fn error(&self, at: usize, expected: &'static str) -> Error {
        Error::Offset { offset: self.offset.saturating_add(at), expected }
    }
}

/// A reader of one chunk after another.
#[derive(Debug)]
pub(super) struct Source<R> {
    input: R,
    /// The bytes that are read and not given out yet.
    buffer: Vec<u8>,
    start: usize,
    /// The offset of `start` in the file.
    offset: usize,
    put_back_count: u32,
    /// Bytes between chunks that belong to none.
    stray_bytes: u64,
    stray_end: usize,
}

impl<R: Read> Source<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            start: 0,
            offset: 0,
            put_back_count: 0,
            stray_bytes: 0,
            stray_end: 0,
        }
    }

    /// Returns the place after the bytes before it that belong to no chunk, and their number.
    pub(super) fn take_stray(&mut self) -> (usize, u64) {
        (self.stray_end, std::mem::take(&mut self.stray_bytes))
    }

    /// Reads the next chunk into `chunk`; false at the end of the input.
    pub(super) fn next(&mut self, chunk: &mut JfrChunk) -> Result<bool, Error> {
        if self.offset > 0 {
            self.skip_stray()?;
        }
        let offset = self.offset;
        let header = self.peek(HEADER_BYTES)?;
        if offset > 0 && header.len() < HEADER_BYTES {
            let rest = header.len();
            self.consume(rest);
            self.add_stray(rest);
            return Ok(false);
        }
        let error = |at: usize, expected| Err(Error::Offset { offset: offset + at, expected });
        if !header.starts_with(MAGIC) {
            return error(0, "\"FLR\" and a zero, the beginning of a chunk");
        }
        if header.len() < HEADER_BYTES {
            return error(header.len(), "a chunk's header of 68 bytes");
        }
        let number = |at: usize, length: usize| big_endian(&header[at..at + length]);
        if !MAJORS.contains(&number(4, 2)) {
            return error(4, "version 1 or 2 of the chunk format (JDK 9 and later)");
        }
        let size = number(8, 8);
        chunk.number += 1;
        chunk.offset = offset;
        chunk.start_ns = number(32, 8);
        chunk.duration_ns = number(40, 8);
        chunk.start_ticks = number(48, 8);
        chunk.ticks_per_second = number(56, 8);
        chunk.is_compressed = header[67] & 1 != 0;
        chunk.is_unfinished = header[64] != 0 || size < HEADER_BYTES as u64;
        chunk.missing_bytes = 0;
        chunk.bytes.clear();
        if chunk.is_unfinished {
            self.take(HEADER_BYTES as u64, &mut chunk.bytes)?;
            self.take_events(chunk)?;
        } else {
            let taken = self.take(size, &mut chunk.bytes)?;
            chunk.missing_bytes = size - taken;
            self.give_back_next(chunk);
        }
        Ok(true)
    }

    /// Gives back the chunks after `chunk`, if the size in its header is too large and it has taken
    /// them, too.
    fn give_back_next(&mut self, chunk: &mut JfrChunk) {
        let end = chunk.events_end();
        if end == chunk.bytes.len() || self.put_back_count == MAX_PUT_BACKS {
            return;
        }
        if let Some(at) = find_begin(&chunk.bytes[end..]) {
            let next = end + at;
            self.put_back(&chunk.bytes[next..]);
            chunk.bytes.truncate(next);
            chunk.missing_bytes = 0;
        }
    }

    /// Takes event after event up to the first incomplete one, or the next chunk. The length of an
    /// unfinished chunk is not recorded.
    fn take_events(&mut self, chunk: &mut JfrChunk) -> Result<(), Error> {
        loop {
            let ahead = self.peek(BEGIN_BYTES.max(9))?;
            if is_begin(ahead) {
                return Ok(());
            }
            let mut cursor = Cursor::new(ahead, 0, chunk.is_compressed);
            let Ok(size) = cursor.int() else { return Ok(()) };
            let Ok(size) = u64::try_from(size) else { return Ok(()) };
            if size <= cursor.at as u64 {
                return Ok(());
            }
            let before = chunk.bytes.len();
            if self.take(size, &mut chunk.bytes)? < size {
                // An event that was not written to its end has no valid size: chunks may follow it.
                if self.put_back_count < MAX_PUT_BACKS {
                    self.put_back(&chunk.bytes[before..]);
                } else {
                    self.add_stray(chunk.bytes.len() - before);
                }
                chunk.bytes.truncate(before);
                return Ok(());
            }
        }
    }

    /// Counts the last `count` bytes, which belong to no chunk.
    fn add_stray(&mut self, count: usize) {
        self.stray_bytes += count as u64;
        self.stray_end = self.offset;
    }

    /// Skips bytes that are not a chunk.
    fn skip_stray(&mut self) -> Result<(), Error> {
        loop {
            if self.peek(BEGIN_BYTES)?.is_empty() {
                return Ok(());
            }
            let ahead = &self.buffer[self.start..];
            let is_last = ahead.len() < BEGIN_BYTES;
            let found = find_begin(ahead);
            // The end of the buffer may cut a beginning in two.
            let stray = match found {
                Some(at) => at,
                None if is_last => ahead.len(),
                None => ahead.len() - (BEGIN_BYTES - 1),
            };
            self.consume(stray);
            self.add_stray(stray);
            if found.is_some() {
                return Ok(());
            }
        }
    }

    /// Returns the next `count` bytes, or as many as there are.
    fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        if self.buffer.len() - self.start < count {
            self.buffer.drain(..self.start);
            self.start = 0;
            let room = BUFFER_BYTES.max(count) - self.buffer.len();
            self.input.by_ref().take(room as u64).read_to_end(&mut self.buffer)?;
        }
        let end = self.buffer.len().min(self.start + count);
        Ok(&self.buffer[self.start..end])
    }

    /// Moves the next `count` bytes, or as many as there are, to the end of `bytes`. Memory is
    /// allocated for the bytes that exist, not for the claimed length.
    fn take(&mut self, count: u64, bytes: &mut Vec<u8>) -> io::Result<u64> {
        let ahead = &self.buffer[self.start..];
        let at_hand = usize::try_from(count).unwrap_or(usize::MAX).min(ahead.len());
        bytes.extend_from_slice(&ahead[..at_hand]);
        self.consume(at_hand);
        let read = self.input.by_ref().take(count - at_hand as u64).read_to_end(bytes)?;
        self.offset = self.offset.saturating_add(read);
        Ok((at_hand + read) as u64)
    }

    fn put_back(&mut self, bytes: &[u8]) {
        self.put_back_count += 1;
        self.buffer.splice(..self.start, bytes.iter().copied());
        self.start = 0;
        self.offset -= bytes.len();
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset = self.offset.saturating_add(count);
    }
}
