//! The buffer of a stream: the bytes that are there, and those that have to be read.

use std::io::{self, Read};

use super::{RECORD_LIMIT_BYTES, Stream, invalid};
use crate::Error;

impl<R: Read> Stream<R> {
    /// Makes `count` bytes available.
    #[inline]
    pub(super) fn need(&mut self, count: usize, what: &str) -> io::Result<()> {
        if self.end - self.start >= count { Ok(()) } else { self.wait(count, what) }
    }

    #[cold]
    pub(super) fn wait(&mut self, count: usize, what: &str) -> io::Result<()> {
        if count > RECORD_LIMIT_BYTES {
            return Err(self.error(format!("{what} of {count} bytes")));
        }
        while self.end - self.start < count {
            if !self.fill()? {
                let left = self.end - self.start;
                return Err(self.cut(format!("{what}: {count} bytes expected, {left} left")));
            }
        }
        Ok(())
    }

    /// Reads once. Returns false at the end of the file.
    pub(in crate::heap) fn fill(&mut self) -> io::Result<bool> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.buffer.len() {
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            } else {
                self.buffer.resize(2 * self.buffer.len(), 0);
            }
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.failure = Some(error.to_string());
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the next bytes, which are available.
    #[inline]
    pub(super) fn peek(&self, count: usize) -> &[u8] {
        &self.buffer[self.start..self.start + count]
    }

    /// As [`Stream::peek`], and moves past these bytes.
    #[inline]
    pub(super) fn take(&mut self, count: usize) -> &[u8] {
        let start = self.start;
        self.start += count;
        self.offset += count as u64;
        &self.buffer[start..self.start]
    }

    /// Skips bytes of `what`.
    pub(in crate::heap) fn skip(&mut self, bytes: u64, what: &str) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            if self.start == self.end && !self.fill()? {
                let what = format!("{what}: {bytes} bytes expected, {} left", bytes - left);
                return Err(self.cut(what));
            }
            let part = left.min((self.end - self.start) as u64);
            self.take(part as usize);
            left -= part;
        }
        Ok(())
    }

    pub(super) fn cut(&self, what: String) -> io::Error {
        invalid(Error::Cut { offset: self.offset as usize, what })
    }
}
