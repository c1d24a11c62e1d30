//! The lines of a text of any size, read through a buffer that grows only with the longest line.

use std::io::{self, Read};
use std::ops::Range;

/// The bytes read at once.
const BUFFER_BYTES: usize = 1 << 18;
/// The size of the longest line that is read.
const LINE_LIMIT_BYTES: usize = 1 << 28;

/// A reader of lines, which counts them and removes their ends: LF or CR LF.
#[derive(Debug)]
pub struct LineReader<R> {
    input: R,
    buffer: Vec<u8>,
    /// The part of the buffer that is read and not returned yet.
    start: usize,
    end: usize,
    line: usize,
    is_cut: bool,
    has_failed: bool,
    /// The part of the buffer that was returned last.
    last: Range<usize>,
}

impl<R: Read> LineReader<R> {
    /// Returns a reader of the lines of `input`, which needs no buffer of its own.
    pub fn new(input: R) -> Self {
        let buffer = vec![0; BUFFER_BYTES];
        Self {
            input,
            buffer,
            start: 0,
            end: 0,
            line: 0,
            is_cut: false,
            has_failed: false,
            last: 0..0,
        }
    }

    /// Returns the number of the last line returned, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Whether the last line returned has no end. It is then the file's last, and may be cut off.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether the input failed at its end, such as a packed file that is cut off. The line in
    /// which it failed has not been returned.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Returns the next line, or `None` at the end of the input or if it fails with
    /// `UnexpectedEof`.
    ///
    /// # Errors
    /// Other errors of the input, and an error of kind `InvalidData` if a line is longer than 256
    /// MiB.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "a line borrows the reader's buffer")]
    pub fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let Some((length, ended)) = self.find()? else { return Ok(None) };
        self.line += 1;
        self.is_cut = !ended;
        let start = self.start;
        self.start += length + usize::from(ended);
        self.last = start..start + without_cr(&self.buffer[start..start + length]).len();
        Ok(Some(self.last()))
    }

    /// Returns the last line again. (Unlike [`LineReader::next`], this leaves the reader free, so
    /// that the line's number can be read meanwhile.)
    #[inline]
    pub fn last(&self) -> &[u8] {
        &self.buffer[self.last.clone()]
    }

    /// Returns the line that [`LineReader::next`] will return, and does not move past it.
    ///
    /// # Errors
    /// As [`LineReader::next`].
    #[inline]
    pub fn peek(&mut self) -> io::Result<Option<&[u8]>> {
        let Some((length, _)) = self.find()? else { return Ok(None) };
        Ok(Some(without_cr(&self.buffer[self.start..self.start + length])))
    }

    /// Returns the length of the next line, and whether it has an end.
    #[inline]
    fn find(&mut self) -> io::Result<Option<(usize, bool)>> {
        let mut searched = 0;
        loop {
            let rest = &self.buffer[self.start..self.end];
            if let Some(at) = memchr::memchr(b'\n', &rest[searched..]) {
                return Ok(Some((searched + at, true)));
            }
            searched = rest.len();
            if self.fill()? == 0 {
                return Ok((searched > 0 && !self.has_failed).then_some((searched, false)));
            }
        }
    }

    #[cold]
    fn fill(&mut self) -> io::Result<usize> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.last = 0..0;
        self.end -= self.start;
        self.start = 0;
        if self.end >= LINE_LIMIT_BYTES {
            let what = format!("line {} is longer than {LINE_LIMIT_BYTES} bytes", self.line + 1);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        if self.end * 2 > self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.has_failed = true;
                    return Ok(0);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns one byte at a time.
    struct ByteByByte<'a>(&'a [u8]);

    impl Read for ByteByByte<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.0.len().min(1);
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    #[test]
    fn lines_are_counted_and_their_ends_taken_off() {
        let mut lines = LineReader::new(ByteByByte(b"a\r\n\nb\rc\nd"));
        assert_eq!(lines.peek().unwrap(), Some(&b"a"[..]));
        assert_eq!(lines.next().unwrap(), Some(&b"a"[..]));
        assert_eq!((lines.line(), lines.last()), (1, &b"a"[..]));
        assert_eq!(lines.next().unwrap(), Some(&b""[..]));
        assert_eq!(lines.next().unwrap(), Some(&b"b\rc"[..]));
        assert!(!lines.is_cut());
        assert_eq!(lines.next().unwrap(), Some(&b"d"[..]));
        assert!(lines.is_cut());
        assert_eq!(lines.next().unwrap(), None);
        assert_eq!(lines.line(), 4);
    }

    #[test]
    fn lines_longer_than_the_buffer_are_whole() {
        let long = "x".repeat(3 * BUFFER_BYTES + 7);
        let text = format!("{long}\nshort\n{long}");
        let mut lines = LineReader::new(text.as_bytes());
        for line in [&long, "short", &long] {
            assert_eq!(lines.next().unwrap(), Some(line.as_bytes()));
        }
        assert_eq!(lines.next().unwrap(), None);
    }
}
