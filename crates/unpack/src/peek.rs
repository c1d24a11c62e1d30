//! A buffered reader whose next bytes can be looked at.

use std::io::{self, BufRead, Read};

/// The number of bytes that are read at once.
const BUFFER_BYTES: usize = 1 << 16;

pub(crate) struct Peek<R> {
    source: R,
    buffer: Vec<u8>,
    /// The part of the buffer that is read and not given out yet.
    start: usize,
    end: usize,
}

impl<R: Read> Peek<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, buffer: vec![0; BUFFER_BYTES], start: 0, end: 0 }
    }

    /// Returns the next `count` bytes, or those that there are.
    pub(crate) fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.end - self.start < count && self.fill()? > 0 {}
        let end = self.end.min(self.start + count);
        Ok(&self.buffer[self.start..end])
    }

    /// Skips zeros.
    pub(crate) fn skip_zeros(&mut self) -> io::Result<()> {
        while !self.peek(1)?.is_empty() {
            let ahead = &self.buffer[self.start..self.end];
            let zeros = ahead.iter().position(|&byte| byte != 0);
            self.start += zeros.unwrap_or(ahead.len());
            if zeros.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Reads more bytes. Returns their number.
    fn fill(&mut self) -> io::Result<usize> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(count) => {
                    self.end += count;
                    return Ok(count);
                }
            }
        }
    }
}

impl<R: Read> BufRead for Peek<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            self.fill()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn consume(&mut self, count: usize) {
        self.start = self.end.min(self.start + count);
    }
}

impl<R: Read> Read for Peek<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}
