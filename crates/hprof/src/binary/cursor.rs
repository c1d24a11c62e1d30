//! A position in bytes that never runs past their end.

use crate::Error;

#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    /// The offset of `rest` in the file.
    offset: usize,
    /// The size of an id, in bytes: 1 to 8.
    id_bytes: usize,
}

impl<'a> Cursor<'a> {
    /// Returns a cursor over `bytes`, which begin at `offset` in the file.
    pub(super) fn new(bytes: &'a [u8], offset: usize, id_bytes: usize) -> Self {
        Self { rest: bytes, offset, id_bytes }
    }

    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Returns the next `count` bytes. `what` names them in the error.
    pub(super) fn bytes(&mut self, count: usize, what: &str) -> Result<&'a [u8], Error> {
        match self.rest.split_at_checked(count) {
            Some((bytes, rest)) => {
                self.rest = rest;
                self.offset += count;
                Ok(bytes)
            }
            None => Err(self.error(format!(
                "the data ends inside {what}: {count} bytes expected, {} left",
                self.rest.len()
            ))),
        }
    }

    pub(super) fn u1(&mut self, what: &str) -> Result<u8, Error> {
        Ok(self.bytes(1, what)?[0])
    }

    pub(super) fn u2(&mut self, what: &str) -> Result<u16, Error> {
        Ok(self.number(2, what)? as u16)
    }

    pub(super) fn u4(&mut self, what: &str) -> Result<u32, Error> {
        Ok(self.number(4, what)? as u32)
    }

    pub(super) fn u8(&mut self, what: &str) -> Result<u64, Error> {
        self.number(8, what)
    }

    pub(super) fn id(&mut self, what: &str) -> Result<u64, Error> {
        self.number(self.id_bytes, what)
    }

    /// Returns a number in groups of seven bits, the lowest first; all bytes but the last have the
    /// highest bit set.
    pub(super) fn varint(&mut self, what: &str) -> Result<u64, Error> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.u1(what)?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.error(format!("{what} has more than 64 bits")))
    }

    /// Returns a number of this many bytes, at most 8.
    pub(super) fn number(&mut self, bytes: usize, what: &str) -> Result<u64, Error> {
        let bytes = self.bytes(bytes, what)?;
        Ok(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    pub(super) fn error(&self, what: String) -> Error {
        Error::Binary { offset: self.offset, what }
    }
}

/// Adds a number in groups of seven bits: see [`Cursor::varint`].
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A difference as a number that is small where the difference is near 0: twice as large, or if negative, that less one with
/// the sign changed.
pub(super) fn zigzag(difference: i64) -> u64 {
    (difference << 1 ^ difference >> 63).cast_unsigned()
}

/// The difference of which this is the [`zigzag`].
pub(super) fn unzigzag(code: u64) -> i64 {
    (code >> 1).cast_signed() ^ -((code & 1).cast_signed())
}
