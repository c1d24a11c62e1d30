//! A reader of big-endian numbers.

use super::Result;

/// The bytes that are not read yet.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) id_bytes: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let split = self.bytes.split_at_checked(count);
        let (taken, rest) = split.ok_or_else(|| format!("{count} bytes wanted"))?;
        self.bytes = rest;
        Ok(taken)
    }

    pub(super) fn number(&mut self, bytes: usize) -> Result<u64> {
        Ok(self.take(bytes)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    pub(super) fn u1(&mut self) -> Result<u8> {
        Ok(self.number(1)? as u8)
    }

    pub(super) fn u2(&mut self) -> Result<u16> {
        Ok(self.number(2)? as u16)
    }

    pub(super) fn u4(&mut self) -> Result<u32> {
        Ok(self.number(4)? as u32)
    }

    pub(super) fn u8(&mut self) -> Result<u64> {
        self.number(8)
    }

    pub(super) fn id(&mut self) -> Result<u64> {
        self.number(self.id_bytes)
    }
}
