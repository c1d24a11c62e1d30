//! Modified UTF-8, the encoding of names in JVMTI and class files (JVM specification 4.4.7): NUL is
//! two bytes, characters beyond U+FFFF are two three-byte surrogates.

use std::borrow::Cow;

/// Decodes modified UTF-8.
///
/// Invalid bytes become visible text, so that distinct names stay distinct: a lone surrogate is
/// written as `\uD83D`, a byte that begins no character as `\xFF`.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if !bytes.contains(&0xC0)
        && !bytes.contains(&0xED)
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((unit, length)) = unit(rest) {
        rest = &rest[length..];
        match unit {
            CodeUnit::Bad(byte) => push_escape(&mut text, 'x', byte.into(), 2),
            CodeUnit::Char(code @ 0xD800..=0xDBFF) => match self::unit(rest) {
                Some((CodeUnit::Char(low @ 0xDC00..=0xDFFF), length)) => {
                    rest = &rest[length..];
                    let code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                    text.extend(char::from_u32(code));
                }
                _ => push_escape(&mut text, 'u', code, 4),
            },
            CodeUnit::Char(code) => match char::from_u32(code) {
                Some(c) => text.push(c),
                None => push_escape(&mut text, 'u', code, 4),
            },
        }
    }
    Cow::Owned(text)
}

/// Encodes `text` as modified UTF-8.
pub fn encode(text: &str) -> Cow<'_, [u8]> {
    if !text.bytes().any(|byte| byte == 0 || byte >= 0xF0) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\0' => bytes.extend([0xC0, 0x80]),
            c if c as u32 > 0xFFFF => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    let unit = *unit;
                    bytes.extend([
                        0xE0 | (unit >> 12) as u8,
                        0x80 | (unit >> 6 & 0x3F) as u8,
                        0x80 | (unit & 0x3F) as u8,
                    ]);
                }
            }
            c => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    Cow::Owned(bytes)
}

enum CodeUnit {
    /// A UTF-16 unit, or a whole character if the bytes are plain UTF-8 of four bytes.
    Char(u32),
    Bad(u8),
}

/// The first unit of `bytes` and its length.
fn unit(bytes: &[u8]) -> Option<(CodeUnit, usize)> {
    let tail = |index: usize| match bytes.get(index) {
        Some(&byte) if byte & 0xC0 == 0x80 => Some(u32::from(byte & 0x3F)),
        _ => None,
    };
    let first = *bytes.first()?;
    let lead = u32::from(first);
    let decoded = match first {
        0..=0x7F => Some((lead, 1)),
        0xC0..=0xDF => tail(1).map(|a| ((lead & 0x1F) << 6 | a, 2)),
        0xE0..=0xEF => tail(1).zip(tail(2)).map(|(a, b)| ((lead & 0x0F) << 12 | a << 6 | b, 3)),
        0xF0..=0xF4 => match (tail(1), tail(2), tail(3)) {
            (Some(a), Some(b), Some(c)) => Some(((lead & 0x07) << 18 | a << 12 | b << 6 | c, 4)),
            _ => None,
        },
        _ => None,
    };
    Some(match decoded {
        Some((code, length)) => (CodeUnit::Char(code), length),
        None => (CodeUnit::Bad(first), 1),
    })
}

fn push_escape(text: &mut String, kind: char, code: u32, digits: usize) {
    use std::fmt::Write;
    write!(text, "\\{kind}{code:0digits$X}").expect("a String takes any text");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], text: &str) {
        assert_eq!(decode(bytes), text);
    }

    #[test]
    fn decodes_what_the_jvm_writes() {
        check(b"java.lang.String", "java.lang.String");
        check("Größe→".as_bytes(), "Größe→");
        check(b"a\xC0\x80b", "a\0b");
        check(b"\xED\xA0\xBD\xED\xB8\x80", "😀");
    }

    #[test]
    fn keeps_what_is_no_character_visible() {
        check(b"x\xED\xA0\xBD!", "x\\uD83D!");
        check(b"x\xFFy", "x\\xFFy");
        check(b"cut\xE2\x82", "cut\\xE2\\x82");
        check("plain 😀".as_bytes(), "plain 😀");
    }

    #[test]
    fn encodes_back() {
        for text in ["plain", "Größe", "a\0b", "😀 and 𝄞", ""] {
            assert_eq!(decode(&encode(text)), text);
        }
        assert_eq!(&*encode("\0"), b"\xC0\x80");
        assert_eq!(&*encode("😀"), b"\xED\xA0\xBD\xED\xB8\x80");
    }
}
