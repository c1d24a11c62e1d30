//! The bytes of a chunk: numbers and strings.

use std::borrow::Cow;

use perk_profile::mutf8;

const STRING_ENCODING: &str = "the encoding of a string, 0 to 5";

/// Data that is not as expected, by its place in the chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) expected: &'static str,
}

/// The value of a string field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Text<'a> {
    Null,
    Inline(Cow<'a, str>),
    /// The key of a string in the constant pool.
    Pooled(i64),
}

/// Whole numbers of more than one byte, in sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NumberRun {
    pub(super) count: usize,
    /// The length of all of them in bytes, if they are not compressed.
    pub(super) plain_bytes: usize,
}

impl NumberRun {
    /// Returns these numbers `count` times; `None` if no file can hold them.
    pub(super) fn times(self, count: usize) -> Option<Self> {
        Some(Self {
            count: self.count.checked_mul(count)?,
            plain_bytes: self.plain_bytes.checked_mul(count)?,
        })
    }
}

/// A place in a chunk. All data before it is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
    /// Whether whole numbers of more than one byte are in groups of 7 bits.
    is_compressed: bool,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize, is_compressed: bool) -> Self {
        Self { bytes, at, is_compressed }
    }

    pub(super) fn is_compressed(&self) -> bool {
        self.is_compressed
    }

    /// Returns the data that is not read yet.
    pub(super) fn ahead(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    pub(super) fn fault(&self, expected: &'static str) -> Fault {
        Fault { at: self.at, expected }
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        let end = self.at.checked_add(length);
        let found = end.and_then(|end| self.bytes.get(self.at..end));
        let found = found.ok_or(self.fault("more bytes"))?;
        self.at += length;
        Ok(found)
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, Fault> {
        let byte = *self.bytes.get(self.at).ok_or(self.fault("one more byte"))?;
        self.at += 1;
        Ok(byte)
    }

    pub(super) fn short(&mut self) -> Result<i16, Fault> {
        Ok(self.whole(2)? as i16)
    }

    pub(super) fn char(&mut self) -> Result<u16, Fault> {
        Ok(self.whole(2)? as u16)
    }

    #[inline]
    pub(super) fn int(&mut self) -> Result<i32, Fault> {
        Ok(self.whole(4)? as i32)
    }

    #[inline]
    pub(super) fn long(&mut self) -> Result<i64, Fault> {
        Ok(self.whole(8)? as i64)
    }

    /// Reads a length or a number of things.
    pub(super) fn count(&mut self) -> Result<usize, Fault> {
        let at = self.at;
        usize::try_from(self.int()?).map_err(|_| Fault { at, expected: "a number not below 0" })
    }

    /// Reads a whole number that takes `length` bytes if it is not compressed.
    #[inline]
    fn whole(&mut self, length: usize) -> Result<u64, Fault> {
        if !self.is_compressed {
            return Ok(big_endian(self.take(length)?));
        }
        match self.bytes.get(self.at) {
            Some(&byte @ ..0x80) => {
                self.at += 1;
                Ok(byte.into())
            }
            _ => self.long_compressed(),
        }
    }

    fn long_compressed(&mut self) -> Result<u64, Fault> {
        let mut value = 0;
        for shift in (0..56).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        // All bits of the ninth byte belong to the number.
        Ok(value | u64::from(self.byte()?) << 56)
    }

    /// Skips numbers.
    #[inline]
    pub(super) fn skip_numbers(&mut self, numbers: NumberRun) -> Result<(), Fault> {
        const LAST_BYTES: u64 = 0x8080_8080_8080_8080;
        if !self.is_compressed {
            return self.take(numbers.plain_bytes).map(|_| ());
        }
        let mut left = numbers.count;
        while left > 0 {
            let Some(&eight) = self.ahead().first_chunk::<8>() else {
                self.long_compressed()?;
                left -= 1;
                continue;
            };
            // The high bit of the last byte of a number is 0.
            let mut ends = !u64::from_le_bytes(eight) & LAST_BYTES;
            if ends == 0 {
                // After eight bytes with the high bit, the ninth is the last one, whatever it
                // holds.
                self.take(9)?;
                left -= 1;
                continue;
            }
            let count = ((ends >> 7).wrapping_mul(LAST_BYTES >> 7) >> 56) as usize;
            if count < left {
                left -= count;
                self.at += 8 - ends.leading_zeros() as usize / 8;
                continue;
            }
            for _ in 1..left {
                ends &= ends - 1;
            }
            self.at += ends.trailing_zeros() as usize / 8 + 1;
            return Ok(());
        }
        Ok(())
    }

    pub(super) fn text(&mut self) -> Result<Text<'a>, Fault> {
        let at = self.at;
        Ok(match self.byte()? {
            0 => Text::Null,
            1 => Text::Inline(Cow::Borrowed("")),
            2 => Text::Pooled(self.long()?),
            3 => {
                let length = self.count()?;
                Text::Inline(mutf8::decode(self.take(length)?))
            }
            4 => {
                let length = self.count()?;
                let mut units = Vec::new();
                for _ in 0..length {
                    units.push(self.char()?);
                }
                Text::Inline(String::from_utf16_lossy(&units).into())
            }
            5 => {
                let length = self.count()?;
                Text::Inline(latin1(self.take(length)?))
            }
            _ => return Err(Fault { at, expected: STRING_ENCODING }),
        })
    }

    /// Skips a string.
    pub(super) fn skip_text(&mut self) -> Result<(), Fault> {
        let at = self.at;
        match self.byte()? {
            0 | 1 => {}
            2 => {
                self.long()?;
            }
            3 | 5 => {
                let length = self.count()?;
                self.take(length)?;
            }
            4 => {
                let count = self.count()?;
                self.skip_numbers(NumberRun { count, plain_bytes: 2 * count })?;
            }
            _ => return Err(Fault { at, expected: STRING_ENCODING }),
        }
        Ok(())
    }
}

/// Returns a number whose highest byte comes first.
pub(super) fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn latin1(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.is_ascii() => Cow::Borrowed(text),
        _ => bytes.iter().map(|&byte| char::from(byte)).collect::<String>().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(bytes: &[u8]) -> Cursor<'_> {
        Cursor::new(bytes, 0, true)
    }

    #[test]
    fn compressed_numbers() {
        for (bytes, value) in [
            (&[0][..], 0),
            (&[0x7f], 127),
            (&[0x80, 1], 128),
            (&[0xff; 9], -1),
            (&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80], i64::MIN),
        ] {
            let mut cursor = cursor(bytes);
            assert_eq!(cursor.long(), Ok(value), "{bytes:?}");
            assert_eq!(cursor.at, bytes.len());
        }
        assert_eq!(cursor(&[0xff, 0xff, 0xff, 0xff, 0x0f]).int(), Ok(-1));
        assert_eq!(cursor(&[0x80]).long(), Err(Fault { at: 1, expected: "one more byte" }));
    }

    #[test]
    fn plain_numbers() {
        let mut cursor = Cursor::new(&[1, 2, 0xff, 0xff, 0xff, 0xfe, 9], 0, false);
        assert_eq!(cursor.short(), Ok(0x102));
        assert_eq!(cursor.int(), Ok(-2));
        assert_eq!(cursor.long(), Err(Fault { at: 6, expected: "more bytes" }));
    }

    #[test]
    fn numbers_are_skipped_as_they_are_read() {
        // Numbers of all lengths in many orders, including those of nine bytes.
        let mut state = 7_u64;
        let mut bytes = Vec::new();
        let mut ends = vec![0];
        for _ in 0..400 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let length = 1 + (state >> 33) as usize % 9;
            bytes.extend(std::iter::repeat_n(0x85, length - 1));
            bytes.push(if length == 9 { 0xff } else { 3 });
            ends.push(bytes.len());
        }
        for first in 0..ends.len() {
            for count in [0, 1, 2, 3, 4, 9, 100] {
                let numbers = NumberRun { count, plain_bytes: 0 };
                let mut cursor = Cursor::new(&bytes, ends[first], true);
                let is_there = cursor.skip_numbers(numbers).is_ok();
                assert_eq!(is_there, first + count < ends.len(), "{count} from {first}");
                if is_there {
                    assert_eq!(cursor.at, ends[first + count]);
                }
            }
        }
        let mut plain = Cursor::new(&bytes, 0, false);
        assert_eq!(plain.skip_numbers(NumberRun { count: 3, plain_bytes: 14 }), Ok(()));
        assert_eq!(plain.at, 14);
    }

    #[test]
    fn strings_of_all_encodings() {
        let inline = |text: &'static str| Ok(Text::Inline(Cow::Borrowed(text)));
        assert_eq!(cursor(&[0]).text(), Ok(Text::Null));
        assert_eq!(cursor(&[1]).text(), inline(""));
        assert_eq!(cursor(&[2, 0x80, 1]).text(), Ok(Text::Pooled(128)));
        assert_eq!(cursor(b"\x03\x03\xE2\x86\x92").text(), inline("→"));
        assert_eq!(cursor(&[4, 2, b'a', 0x92, 0x43]).text(), inline("a→"));
        assert_eq!(cursor(b"\x05\x02a\xE4").text(), inline("aä"));
        assert_eq!(cursor(&[6]).text(), Err(Fault { at: 0, expected: STRING_ENCODING }));
        for bytes in
            [&[0][..], &[1], &[2, 0x80, 1], b"\x03\x01a", &[4, 2, b'a', 0x92, 0x43], b"\x05\x01a"]
        {
            let mut skipped = cursor(bytes);
            assert_eq!((skipped.skip_text(), skipped.at), (Ok(()), bytes.len()));
        }
        assert!(cursor(&[6]).skip_text().is_err());
        // A length is not trusted.
        let long = [4, 0xff, 0xff, 0xff, 0xff, 0x07, b'a'];
        assert_eq!(cursor(&long).text(), Err(Fault { at: 7, expected: "one more byte" }));
        assert!(cursor(&[5, 0xff, 0xff, 0xff, 0xff, 0x0f]).text().is_err());
    }
}
