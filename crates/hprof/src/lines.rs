//! The lines of a text, counted, and what makes messages of them.

use std::borrow::Cow;

use perk_profile::mutf8;

use crate::Error;

pub(crate) struct Lines<'a> {
    rest: &'a [u8],
    /// The number of the line given out last, from 1.
    pub(crate) line: usize,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, line: 0 }
    }

    /// The next line without its end; `None` at the file's end. A last line without a line end
    /// means that the file was cut.
    pub(crate) fn next(&mut self) -> Result<Option<&'a [u8]>, Error> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.line += 1;
        let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') else {
            let what = format!("the file is cut off in \"{}\"", cut(self.rest));
            return Err(self.error(what));
        };
        let line = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// The next line, which must be there.
    pub(crate) fn expect(&mut self, what: &str) -> Result<&'a [u8], Error> {
        let line = self.next()?;
        line.ok_or_else(|| self.error(format!("the file ends here, expected {what}")))
    }

    /// The next line without its tab, if it begins with one and is whole.
    pub(crate) fn peek_indented(&self) -> Option<&'a [u8]> {
        if self.rest.first() != Some(&b'\t') {
            return None;
        }
        let end = self.rest.iter().position(|&byte| byte == b'\n')?;
        let line = &self.rest[1..end];
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    pub(crate) fn error(&self, what: String) -> Error {
        Error::Ascii { line: self.line, what }
    }
}

/// The next word of `line`, which blanks end, and what is left behind one blank.
pub(crate) fn word<'t>(line: &mut &'t [u8]) -> Option<&'t [u8]> {
    let text = line.trim_ascii_start();
    let end = text.iter().position(|&byte| byte == b' ').unwrap_or(text.len());
    let word = &text[..end];
    *line = text.get(end + 1..).unwrap_or_default();
    (!word.is_empty()).then_some(word)
}

pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// A percentage with two decimals, in hundredths.
pub(crate) fn hundredths(percent: &[u8]) -> Option<u32> {
    let number_part = percent.strip_suffix(b"%")?;
    let (whole, decimals) = number_part.split_at_checked(number_part.len().checked_sub(3)?)?;
    let decimals = decimals.strip_prefix(b".")?;
    let whole = u32::try_from(number(whole)?).ok()?;
    whole.checked_mul(100)?.checked_add(u32::try_from(number(decimals)?).ok()?)
}

pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    mutf8::decode(bytes)
}

/// A line's beginning, for a message.
pub(crate) fn cut(line: &[u8]) -> String {
    let text = text(line);
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", text[..end].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}

/// Names pass through as they are, as the original printed them, but for the two characters that
/// would break the line.
pub(crate) fn one_line(name: &str) -> Cow<'_, str> {
    if name.contains(['\n', '\r']) {
        Cow::Owned(name.replace('\n', "\\n").replace('\r', "\\r"))
    } else {
        Cow::Borrowed(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_read_in_hundredths() {
        for (percent, value) in [
            (&b"0.00%"[..], Some(0)),
            (b"25.06%", Some(2506)),
            (b"100.00%", Some(10_000)),
            (b"nan%", None),
            (b"1.5%", None),
            (b"%", None),
            (b"", None),
            (b"1.50", None),
            (b"99999999999.00%", None),
        ] {
            assert_eq!(hundredths(percent), value, "{}", percent.escape_ascii());
        }
    }

    #[test]
    fn words_end_at_blanks() {
        let mut line = &b"   1  2.00%   a b"[..];
        assert_eq!(word(&mut line), Some(&b"1"[..]));
        assert_eq!(word(&mut line), Some(&b"2.00%"[..]));
        assert_eq!(line, b"  a b");
        assert_eq!(word(&mut &b"  "[..]), None);
    }
}
