//! The wire format of protocol buffers, to the extent that `profile.proto` needs it: fields of a
//! number and a type, varints and lengths.

use std::io::{self, Read};

use crate::Error;

/// The number of bytes read at once.
const BUFFER_BYTES: usize = 1 << 18;
/// The longest head of a field: a tag and a length of ten bytes each.
const HEAD_BYTES: usize = 20;

/// The content of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum WireField<'a> {
    Varint(u64),
    /// A string, a message, or packed numbers.
    Bytes(Message<'a>),
    /// A number of four or eight bytes. No field of a profile has this type.
    Fixed,
}

/// The bytes of a message and their place in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) offset: usize,
}

impl<'a> Message<'a> {
    pub(super) fn error(self, expected: &'static str) -> Error {
        Error::Offset { offset: self.offset, expected }
    }

    /// Takes off the first field, and returns its number and its content; `None` at the end.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<(u64, WireField<'a>)>, Error> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let at = *self;
        let tag = self.varint()?;
        let number = tag >> 3;
        if number == 0 {
            return Err(at.error("a field's number, from 1"));
        }
        let field = match tag & 7 {
            0 => WireField::Varint(self.varint()?),
            1 => self.skip(8)?,
            2 => {
                let at = *self;
                let length = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
                let (bytes, rest) = self
                    .bytes
                    .split_at_checked(length)
                    .ok_or_else(|| at.error("a length within the message"))?;
                let message = Message { bytes, offset: self.offset };
                *self = Message { bytes: rest, offset: self.offset + length };
                WireField::Bytes(message)
            }
            5 => self.skip(4)?,
            _ => return Err(at.error("a field of type 0, 1, 2 or 5")),
        };
        Ok(Some((number, field)))
    }

    /// Takes off the varint at the beginning.
    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64, Error> {
        let (number, length) = varint(self.bytes)
            .ok_or_else(|| self.error("a varint of at most ten bytes, within the message"))?;
        *self = Message { bytes: &self.bytes[length..], offset: self.offset + length };
        Ok(number)
    }

    fn skip(&mut self, length: usize) -> Result<WireField<'a>, Error> {
        let rest = self.bytes.get(length..);
        let bytes = rest.ok_or_else(|| self.error("a number within the message"))?;
        *self = Message { bytes, offset: self.offset + length };
        Ok(WireField::Fixed)
    }
}

/// Returns the varint that `bytes` begin with, and its length.
#[inline]
fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut number = 0_u64;
    for (at, &byte) in bytes.iter().take(10).enumerate() {
        number |= u64::from(byte & 0x7F) << (7 * at);
        if byte < 0x80 {
            return Some((number, at + 1));
        }
    }
    None
}

/// The outermost fields of a file of any size, read through a buffer that grows only with the
/// longest field.
#[derive(Debug)]
pub(super) struct Wire<R> {
    input: R,
    buffer: Vec<u8>,
    /// The start of the part of the buffer that is read and not given out yet.
    start: usize,
    end: usize,
    /// The offset of `start` in the file.
    offset: usize,
    is_cut: bool,
}

impl<R: Read> Wire<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, buffer: vec![0; BUFFER_BYTES], start: 0, end: 0, offset: 0, is_cut: false }
    }

    /// Returns the offset of the next field.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// Whether the input ended in the middle of a field, which begins at [`Wire::offset`].
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns the number and the content of the next field; `None` if the input has no more whole
    /// fields.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<(u64, WireField<'_>)>, Error> {
        if self.end - self.start < HEAD_BYTES {
            self.fill(HEAD_BYTES)?;
            if self.is_head_cut() {
                self.is_cut = true;
                return Ok(None);
            }
        }
        let length = self.field_bytes()?;
        if self.end - self.start < length {
            self.fill(length)?;
            if self.end - self.start < length {
                self.is_cut = true;
                return Ok(None);
            }
        }
        let bytes = &self.buffer[self.start..self.start + length];
        let mut message = Message { bytes, offset: self.offset };
        self.start += length;
        self.offset += length;
        message.next()
    }

    /// Whether the input ends in the tag or the length of the next field.
    fn is_head_cut(&self) -> bool {
        let bytes = &self.buffer[self.start..self.end];
        let is_open = |bytes: &[u8]| bytes.len() < 10 && bytes.iter().all(|&byte| byte >= 0x80);
        match varint(bytes) {
            None => !bytes.is_empty() && is_open(bytes),
            Some((tag, length)) => matches!(tag & 7, 0 | 2) && is_open(&bytes[length..]),
        }
    }

    /// Returns the length of the next field including its head, according to the head.
    fn field_bytes(&self) -> Result<usize, Error> {
        let bytes = &self.buffer[self.start..self.end];
        let mut head = Message { bytes, offset: self.offset };
        if bytes.is_empty() {
            return Ok(0);
        }
        let head_bytes = |head: Message<'_>| bytes.len() - head.bytes.len();
        match head.varint()? & 7 {
            0 => head.varint().map(|_| head_bytes(head)),
            1 => Ok(head_bytes(head) + 8),
            2 => {
                let at = head;
                let length = head.varint()?;
                let length = usize::try_from(length).ok();
                length
                    .and_then(|length| length.checked_add(head_bytes(head)))
                    .ok_or_else(|| at.error("the length of a field in memory"))
            }
            5 => Ok(head_bytes(head) + 4),
            _ => Err(head.error("a field of type 0, 1, 2 or 5")),
        }
    }

    /// Reads until `length` bytes are available, or the input ends.
    #[cold]
    fn fill(&mut self, length: usize) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < length {
            // The buffer grows as bytes arrive, regardless of the length that the file claims.
            if self.end * 2 > self.buffer.len() {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(()),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// A message under construction. Fields that are 0 are left out, as protocol buffers prescribe.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    pub(super) bytes: Vec<u8>,
}

impl Encoder {
    pub(super) fn number(&mut self, field: u64, number: u64) {
        if number > 0 {
            self.varint(field << 3);
            self.varint(number);
        }
    }

    pub(super) fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn message(&mut self, field: u64, fill: impl FnOnce(&mut Encoder)) {
        let mut message = Encoder::default();
        fill(&mut message);
        self.bytes(field, &message.bytes);
    }

    pub(super) fn packed(&mut self, field: u64, numbers: impl IntoIterator<Item = u64>) {
        let mut packed = Encoder::default();
        numbers.into_iter().for_each(|number| packed.varint(number));
        self.bytes(field, &packed.bytes);
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive() {
        for number in [1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut encoder = Encoder::default();
            encoder.number(3, number);
            encoder.packed(4, [number, 0]);
            let mut message = Message { bytes: &encoder.bytes, offset: 0 };
            assert!(
                matches!(message.next(), Ok(Some((3, WireField::Varint(read)))) if read == number)
            );
            let Ok(Some((4, WireField::Bytes(mut packed)))) = message.next() else { panic!() };
            assert_eq!((packed.varint(), packed.varint()), (Ok(number), Ok(0)));
            assert!(packed.bytes.is_empty() && matches!(message.next(), Ok(None)));
        }
    }

    #[test]
    fn lengths_are_not_believed() {
        let mut wire = Wire::new(&[0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 1][..]);
        assert!(matches!(wire.next(), Ok(None)) && wire.is_cut());
        assert_eq!(wire.buffer.len(), BUFFER_BYTES);
        let mut wire = Wire::new(&[0x0A; 12][..]);
        assert!(wire.next().is_ok());
        let mut wire = Wire::new(&[0xFF; 30][..]);
        let expected = "a varint of at most ten bytes, within the message";
        assert_eq!(wire.next().unwrap_err(), Error::Offset { offset: 0, expected });
    }

    #[test]
    fn fields_longer_than_the_buffer_are_whole() {
        let long = vec![7_u8; 3 * BUFFER_BYTES + 5];
        let mut encoder = Encoder::default();
        encoder.bytes(6, &long);
        encoder.number(9, 1);
        let mut wire = Wire::new(&encoder.bytes[..]);
        let Ok(Some((6, WireField::Bytes(read)))) = wire.next() else { panic!() };
        assert_eq!(read.bytes, long);
        assert!(matches!(wire.next(), Ok(Some((9, WireField::Varint(1))))));
        assert!(matches!(wire.next(), Ok(None)) && !wire.is_cut());
    }

    #[test]
    fn what_is_cut_off_ends_with_its_last_whole_field() {
        let mut encoder = Encoder::default();
        encoder.number(9, 300);
        encoder.bytes(600, &[7; 200]);
        for end in 1..encoder.bytes.len() {
            let mut wire = Wire::new(&encoder.bytes[..end]);
            let mut count = 0;
            while wire.next().unwrap().is_some() {
                count += 1;
            }
            assert_eq!((count, wire.is_cut()), (usize::from(end >= 3), end != 3), "{end} bytes");
        }
    }
}
