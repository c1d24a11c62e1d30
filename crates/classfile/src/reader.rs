//! A cursor over the bytes of a class file, which knows its offset in the whole file.

use crate::Error;

/// A reader of big-endian values. An error names the value that was expected.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Makes a reader from the offset `at` of `bytes`, which begin where the file begins.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// The offset in the file.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The offset in the file of the end of the readable bytes.
    pub(crate) fn end(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn take(&mut self, length: usize, what: &'static str) -> Result<&'a [u8], Error> {
        let taken = self.at.checked_add(length).and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or(Error::Truncated { offset: self.at, expected: what })?;
        self.at += length;
        Ok(taken)
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, Error> {
        let byte = self.bytes.get(self.at);
        let byte = *byte.ok_or(Error::Truncated { offset: self.at, expected: what })?;
        self.at += 1;
        Ok(byte)
    }

    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, Error> {
        Ok(u16::from_be_bytes(self.array(what)?))
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, Error> {
        Ok(u32::from_be_bytes(self.array(what)?))
    }

    pub(crate) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Error> {
        let rest = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk());
        let array = *rest.ok_or(Error::Truncated { offset: self.at, expected: what })?;
        self.at += N;
        Ok(array)
    }

    /// Returns a reader of the next `length` bytes, which this reader skips.
    pub(crate) fn part(&mut self, length: usize, what: &'static str) -> Result<Reader<'a>, Error> {
        let at = self.at;
        self.take(length, what)?;
        Ok(Reader { bytes: &self.bytes[..self.at], at })
    }

    /// Fails unless all bytes were read.
    pub(crate) fn expect_end(&self, what: &'static str) -> Result<(), Error> {
        match self.bytes.get(self.at) {
            None => Ok(()),
            Some(&byte) => {
                Err(Error::Unexpected { offset: self.at, expected: what, found: byte.into() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_up_to_the_end_and_not_beyond() {
        let mut reader = Reader::new(&[1, 2, 3, 4, 5], 1);
        assert_eq!(reader.u16("a"), Ok(0x0203));
        let mut part = reader.part(1, "b").unwrap();
        assert_eq!(part.u16("c"), Err(Error::Truncated { offset: 3, expected: "c" }));
        assert_eq!(part.u8("c"), Ok(4));
        assert_eq!(part.expect_end("the end"), Ok(()));
        let rest = Error::Unexpected { offset: 4, expected: "the end", found: 5 };
        assert_eq!(reader.expect_end("the end"), Err(rest));
        assert_eq!(
            reader.take(usize::MAX, "d"),
            Err(Error::Truncated { offset: 4, expected: "d" })
        );
        assert_eq!(reader.u32("d"), Err(Error::Truncated { offset: 4, expected: "d" }));
    }
}
