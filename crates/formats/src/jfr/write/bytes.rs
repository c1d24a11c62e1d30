//! The bytes of events: compressed numbers and strings.

/// The bytes of fields, of an event, or of events in a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Bytes {
    pub(super) bytes: Vec<u8>,
}

impl Bytes {
    pub(super) fn byte(&mut self, byte: u8) -> &mut Self {
        self.bytes.push(byte);
        self
    }

    pub(super) fn flag(&mut self, flag: bool) -> &mut Self {
        self.byte(flag.into())
    }

    /// Writes a whole number of any length that is not below 0, a count or a key.
    pub(super) fn number(&mut self, mut value: u64) -> &mut Self {
        for _ in 0..8 {
            if value < 0x80 {
                return self.byte(value as u8);
            }
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        // All bits of the ninth byte belong to the number.
        self.byte(value as u8)
    }

    /// Writes a `long` from a number that may be too large for it.
    pub(super) fn long(&mut self, value: u64) -> &mut Self {
        self.number(value.min(i64::MAX.unsigned_abs()))
    }

    /// Writes an `int`. Those below 0 are numbers of 32 bits.
    pub(super) fn int(&mut self, value: i32) -> &mut Self {
        self.number(value.cast_unsigned().into())
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        if text.is_empty() {
            return self.byte(1);
        }
        if text.chars().any(|it| u32::from(it) > 0xFFFF) {
            // Readers differ in the encoding of such characters in UTF-8.
            self.byte(4).number(text.encode_utf16().count() as u64);
            text.encode_utf16().for_each(|unit| {
                self.number(unit.into());
            });
            return self;
        }
        self.byte(3).number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
        self
    }

    /// Writes a string without a value.
    pub(super) fn no_text(&mut self) -> &mut Self {
        self.byte(0)
    }

    pub(super) fn raw(&mut self, more: &Self) -> &mut Self {
        self.bytes.extend_from_slice(&more.bytes);
        self
    }

    /// Writes an event of these fields: its size, which counts itself, and its type before them.
    pub(super) fn event(&mut self, type_id: u64, fields: &Self) -> &mut Self {
        let content = length(type_id) + fields.bytes.len();
        let mut size = content + 1;
        while content + length(size as u64) > size {
            size += 1;
        }
        self.number(size as u64).number(type_id).raw(fields)
    }
}

/// Returns the number of bytes of a compressed number.
fn length(value: u64) -> usize {
    let bits = (64 - value.leading_zeros()).max(1);
    bits.div_ceil(7).min(9) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jfr::cursor::{Cursor, Text};

    #[test]
    fn numbers_and_texts_are_read_back() {
        let numbers = [0, 1, 127, 128, 16_383, 16_384, u64::MAX >> 8, u64::MAX >> 7, u64::MAX];
        for number in numbers {
            let mut bytes = Bytes::default();
            bytes.number(number);
            assert_eq!(bytes.bytes.len(), length(number), "{number}");
            let mut cursor = Cursor::new(&bytes.bytes, 0, true);
            assert_eq!(cursor.long().map(i64::cast_unsigned), Ok(number));
        }
        let mut bytes = Bytes::default();
        bytes.int(-1).text("").text("größe").text("한😀").no_text();
        let mut cursor = Cursor::new(&bytes.bytes, 0, true);
        assert_eq!(cursor.int(), Ok(-1));
        assert_eq!(cursor.text(), Ok(Text::Inline("".into())));
        assert_eq!(cursor.text(), Ok(Text::Inline("größe".into())));
        assert_eq!(cursor.text(), Ok(Text::Inline("한😀".into())));
        assert_eq!(cursor.text(), Ok(Text::Null));
    }

    #[test]
    fn the_size_of_an_event_counts_itself() {
        for count in [0, 1, 124, 125, 126, 127, 16_379, 16_380, 16_381, 16_382, 16_383] {
            let fields = Bytes { bytes: vec![7; count] };
            let mut event = Bytes::default();
            event.event(9, &fields);
            let size = Cursor::new(&event.bytes, 0, true).int().unwrap();
            assert_eq!(size as usize, event.bytes.len(), "{count}");
        }
    }
}
