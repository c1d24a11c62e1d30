//! The elements of the lines of texts, and their form in messages.

use std::borrow::Cow;

use crate::numeral;
use perk_profile::{Method, MethodId, Profile, mutf8, names};

/// Takes the next word off `line`, up to white space. One blank after it is removed as well.
pub(crate) fn word<'t>(line: &mut &'t [u8]) -> Option<&'t [u8]> {
    let text = line.trim_ascii_start();
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    let word = &text[..end];
    *line = text.get(end + 1..).unwrap_or_default();
    (!word.is_empty()).then_some(word)
}

/// Returns a whole number. Locales have digits of their own and group them, in threes from the end.
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return number(&numeral::ungrouped(digits)?);
    }
    let add = |sum: u64, digit: &u8| sum.checked_mul(10)?.checked_add((digit - b'0').into());
    if digits.is_empty() { None } else { digits.iter().try_fold(0, add) }
}

/// Returns a counter of the original agent, whether it was negative, and the text that follows. The
/// original prints some 32-bit counters as negative numbers once they are 2^31 or more.
pub(crate) fn counter(text: &[u8]) -> Option<(u64, bool, &[u8])> {
    let (is_negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (value, rest) = digits.split_at(numeral::length(digits));
    let value = number(value)?;
    let half = 1 << 31;
    match is_negative {
        false => Some((value, false, rest)),
        true if (1..=half).contains(&value) => Some((2 * half - value, true, rest)),
        true => None,
    }
}

/// Returns a percentage with two decimals, in hundredths. The decimals follow a point, or the
/// separator of another locale.
pub(crate) fn hundredths(percent: &[u8]) -> Option<u32> {
    let mut number_part = percent.strip_suffix(b"%")?;
    // Some locales have a blank there, which does not end the line.
    for blank in [" ", "\u{a0}", "\u{202f}"] {
        number_part = number_part.strip_suffix(blank.as_bytes()).unwrap_or(number_part);
    }
    let number_part = numeral::with_point(number_part)?;
    let (whole, decimals) = number_part.split_at_checked(number_part.len().checked_sub(3)?)?;
    let decimals = decimals.strip_prefix(b".")?;
    let whole = u32::try_from(number(whole)?).ok()?;
    whole.checked_mul(100)?.checked_add(u32::try_from(number(decimals)?).ok()?)
}

pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    mutf8::decode(bytes)
}

/// Returns the source form of a class's name as files of all ages have it: `java/lang/String` and
/// `[[B` of JDK 1.1 to 1.4, `char []` of JDK 1.2, and names that are in source form already.
pub(crate) fn source_form(name: &str) -> Cow<'_, str> {
    if name.starts_with('[') {
        return Cow::Owned(names::from_signature(name));
    }
    if let Some((element, dimensions)) = name.split_once(" []") {
        return Cow::Owned(format!("{}[]{dimensions}", source_form(element)));
    }
    if is_internal(name) { Cow::Owned(name.replace('/', ".")) } else { Cow::Borrowed(name) }
}

/// Whether slashes take the place of the dots of source form. (Slashes also begin the last part of
/// the name of a hidden class, which is a number.)
fn is_internal(name: &str) -> bool {
    let begins = |part: &str| part.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$');
    name.contains('/') && !name.contains('.') && name.split('/').all(begins)
}

/// Returns the position of the signature in `class.method(…)…`.
pub(crate) fn signature_at(method: &str) -> Option<usize> {
    let at = method.rfind('(')?;
    let (_, result) = method[at..].rsplit_once(')')?;
    let element = result.trim_start_matches('[');
    let is_type = matches!(element, "Z" | "B" | "C" | "S" | "I" | "J" | "F" | "D" | "V")
        || element.len() > 2 && element.starts_with('L') && element.ends_with(';');
    is_type.then_some(at)
}

/// Returns the method of `class.method(…)…`. A blank may precede the signature, as in JDK 1.1.
pub(crate) fn method(name: &str, profile: &mut Profile) -> MethodId {
    let (name, signature) = match signature_at(name) {
        Some(at) => (name[..at].trim_end(), Some(&name[at..])),
        None => (name, None),
    };
    let (class, name) = name.rsplit_once('.').unwrap_or(("", name));
    let symbols = &mut profile.symbols;
    let class = symbols.class(&source_form(class));
    let name = symbols.strings.intern(name);
    let signature = signature.map(|signature| symbols.strings.intern(signature));
    symbols.method(Method { class, name, signature, source: None })
}

/// Returns a line's beginning, for a message.
pub(crate) fn cut(line: &[u8]) -> String {
    // 80 characters never take more than 400 bytes.
    let text = text(&line[..line.len().min(400)]);
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", text[..end].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}

/// Returns a name unchanged, as the original agent printed it, except for the two characters that
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
            (b"12,44%", Some(1244)),
            (b"12,44 %", Some(1244)),
            ("12,44\u{a0}%".as_bytes(), Some(1244)),
            ("12,44\u{202f}%".as_bytes(), Some(1244)),
            ("\u{661}\u{662}\u{66B}\u{664}\u{664}%".as_bytes(), Some(1244)),
            (b"-1.00%", None),
            (b"1,234.5%", None),
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
        let mut line = &b"   1  2.00%\ta b"[..];
        assert_eq!(word(&mut line), Some(&b"1"[..]));
        assert_eq!(word(&mut line), Some(&b"2.00%"[..]));
        assert_eq!(line, b"a b");
        assert_eq!(word(&mut &b"  "[..]), None);
    }

    #[test]
    fn numbers_and_counters() {
        for (digits, value) in [
            ("0", Some(0)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("", None),
            ("1.234.567", Some(1_234_567)),
            ("1,234", Some(1234)),
            ("12,34,567", Some(1_234_567)),
            ("1\u{202F}234", Some(1234)),
            ("1\u{A0}234", Some(1234)),
            ("1\u{2019}234", Some(1234)),
            ("\u{661}\u{66C}\u{662}\u{663}\u{664}", Some(1234)),
            ("\u{967}\u{968}", Some(12)),
            ("12,44", None),
            ("1,234.567", None),
            (",123", None),
            ("1,,234", None),
            ("NaN", None),
            ("-1", None),
            ("+1", None),
            ("1x", None),
        ] {
            assert_eq!(number(digits.as_bytes()), value, "{digits}");
        }
        assert_eq!(counter(b"12) x"), Some((12, false, &b") x"[..])));
        assert_eq!(counter(b"1.234) x"), Some((1234, false, &b") x"[..])));
        assert_eq!(counter(b"12, x"), Some((12, false, &b", x"[..])));
        assert_eq!(counter(b"-1"), Some((u64::from(u32::MAX), true, &b""[..])));
        assert_eq!(counter(b"-2147483648 ms"), Some((1 << 31, true, &b" ms"[..])));
        for wrong in [&b"-2147483649"[..], b"-0", b"-", b"x", b""] {
            assert_eq!(counter(wrong), None);
        }
    }

    #[test]
    fn names_of_all_ages_become_source_form() {
        for (name, source) in [
            ("java/lang/String", "java.lang.String"),
            ("java/util/Hashtable$Entry", "java.util.Hashtable$Entry"),
            ("[[B", "byte[][]"),
            ("[Ljava/lang/String;", "java.lang.String[]"),
            ("char []", "char[]"),
            ("java/lang/String [][]", "java.lang.String[][]"),
            ("int[]", "int[]"),
            ("a.B$$Lambda$14/0x0000000800c03000", "a.B$$Lambda$14/0x0000000800c03000"),
            ("B$$Lambda$1/1234", "B$$Lambda$1/1234"),
            ("/usr/lib/libc.so", "/usr/lib/libc.so"),
            ("a//b", "a//b"),
            ("", ""),
        ] {
            assert_eq!(source_form(name), source, "{name}");
        }
    }
}
