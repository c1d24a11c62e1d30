//! Texts that Windows' programs write: UTF-16 with a byte order mark, read as UTF-8.

use std::io::{self, Read};

use crate::bounded::read_head;

/// The bytes that can stand in front of UTF-8.
const UTF8_MARK: &[u8] = b"\xEF\xBB\xBF";
/// The bytes decoded at once.
const BUFFER_BYTES: usize = 1 << 16;

/// What `source` holds without a byte order mark; as UTF-8, where the mark is UTF-16's.
///
/// # Errors
/// As `source` fails.
pub(crate) fn decode<'a>(mut source: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut head = read_head(&mut source, UTF8_MARK.len() as u64)?;
    let (mark_bytes, unit) = match *head {
        [0xFF, 0xFE, ..] => (2, Some(u16::from_le_bytes as fn([u8; 2]) -> u16)),
        [0xFE, 0xFF, ..] => (2, Some(u16::from_be_bytes as fn([u8; 2]) -> u16)),
        _ if head == UTF8_MARK => (UTF8_MARK.len(), None),
        _ => (0, None),
    };
    let source = io::Cursor::new(head.split_off(mark_bytes)).chain(source);
    Ok(match unit {
        Some(unit) => Box::new(Utf16::new(source, unit)),
        None => Box::new(source),
    })
}

struct Utf16<R> {
    source: R,
    unit: fn([u8; 2]) -> u16,
    /// What was read and is not decoded: half a unit, or half a pair of them.
    rest: Vec<u8>,
    text: Vec<u8>,
    /// Where the text begins that was not given out yet.
    at: usize,
}

impl<R: Read> Utf16<R> {
    fn new(source: R, unit: fn([u8; 2]) -> u16) -> Self {
        Self { source, unit, rest: Vec::new(), text: Vec::new(), at: 0 }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.text.clear();
        self.at = 0;
        while self.text.is_empty() {
            let count =
                self.source.by_ref().take(BUFFER_BYTES as u64).read_to_end(&mut self.rest)?;
            let (pairs, half) = self.rest.as_chunks::<2>();
            let mut units: Vec<u16> = pairs.iter().map(|&pair| (self.unit)(pair)).collect();
            let is_half = |unit: &u16| (0xD800..0xDC00).contains(unit);
            let mut kept = half.len();
            if count > 0 && units.pop_if(|unit| is_half(unit)).is_some() {
                kept += 2;
            }
            for c in char::decode_utf16(units) {
                let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
                self.text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            self.rest.drain(..self.rest.len() - kept);
            if count == 0 {
                return Ok(());
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() {
            self.fill()?;
        }
        let count = (&self.text[self.at..]).read(buffer)?;
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "main;Größe.a;\u{1F600} 12\r\n";

    fn decoded(bytes: Vec<u8>) -> String {
        let mut text = String::new();
        decode(io::Cursor::new(bytes)).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    fn encoded(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(bytes).collect()
    }

    #[test]
    fn each_byte_order_is_read() {
        for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            assert_eq!(decoded(encoded(TEXT, bytes)), TEXT);
            // Longer than what is decoded at once, with pairs of units on its borders.
            for begin in ["", "a"] {
                let long = format!("{begin}{}", "\u{1F600}".repeat(BUFFER_BYTES));
                assert_eq!(decoded(encoded(&long, bytes)), long);
            }
        }
        assert_eq!(decoded([UTF8_MARK, TEXT.as_bytes()].concat()), TEXT);
        assert_eq!(decoded(TEXT.as_bytes().to_vec()), TEXT);
        assert_eq!(decoded(Vec::new()), "");
    }

    #[test]
    fn what_is_cut_ends_where_it_is_whole() {
        let whole = encoded(TEXT, u16::to_le_bytes);
        assert_eq!(decoded(whole[..whole.len() - 1].to_vec()), TEXT.trim_end_matches('\n'));
        let alone = encoded("a", u16::to_le_bytes).into_iter().chain([0x3D, 0xD8]).collect();
        assert_eq!(decoded(alone), "a\u{FFFD}");
    }
}
