//! Numbers as C's `strtol` and `strtod` read them.

/// A decimal number that is the whole text, blanks in front and a sign allowed.
pub(super) fn decimal(text: &str) -> Option<i32> {
    skip_blanks(text).parse().ok()
}

/// A floating point number that is the whole text, blanks in front and a sign allowed.
pub(super) fn float(text: &str) -> Option<f64> {
    skip_blanks(text).parse().ok()
}

/// A whole number above 0, in units of 1024 with a `k` behind it, of 1024 * 1024 with an `m`.
pub(super) fn scaled(text: &str) -> Option<u64> {
    const UNITS: [(char, u64); 2] = [('k', 1 << 10), ('m', 1 << 20)];
    let (number, unit) = UNITS
        .iter()
        .find_map(|&(suffix, unit)| Some((text.strip_suffix(suffix)?, unit)))
        .unwrap_or((text, 1));
    let number = u64::try_from(decimal(number)?).ok().filter(|&number| number > 0)?;
    Some(number * unit)
}

/// The bits of a number in C syntax: `0x1f`, `017`, `15` or `-1`.
pub(super) fn flags(text: &str) -> Option<u32> {
    let text = skip_blanks(text);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => (16, digits),
        None if digits.starts_with('0') => (8, digits),
        None => (10, digits),
    };
    // `from_str_radix` would take a second sign.
    if !digits.starts_with(|c: char| c.is_ascii_hexdigit()) {
        return None;
    }
    let value = u32::from_str_radix(digits, radix).ok()?;
    Some(if negative { value.wrapping_neg() } else { value })
}

/// The decimal number a text starts with, or 0: what `atoi` gives.
pub(super) fn leading_decimal(text: &str) -> i32 {
    let text = skip_blanks(text);
    let digits_start = usize::from(text.starts_with(['+', '-']));
    let len = text[digits_start..].bytes().take_while(u8::is_ascii_digit).count();
    text[..digits_start + len].parse().unwrap_or(0)
}

fn skip_blanks(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_whole() {
        assert_eq!(decimal("20"), Some(20));
        assert_eq!(decimal(" \t+020"), Some(20));
        assert_eq!(decimal("-1"), Some(-1));
        for bad in ["", " ", "-", "1x", "1 ", "0x10", "1.5", "2147483648"] {
            assert_eq!(decimal(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn floats_have_exponents() {
        assert_eq!(float("1e-3"), Some(0.001));
        assert_eq!(float(" .5"), Some(0.5));
        assert_eq!(float("2."), Some(2.0));
        assert_eq!(float("1x"), None);
    }

    #[test]
    fn scaled_numbers_have_binary_units() {
        assert_eq!(scaled("1"), Some(1));
        assert_eq!(scaled("512k"), Some(524_288));
        assert_eq!(scaled("8m"), Some(8_388_608));
        assert_eq!(scaled("2147483647m"), Some(2_147_483_647 << 20));
        for bad in ["", "k", "0", "0k", "-1", "1K", "1g", "1 k", "1.5m", "1km", "2147483648"] {
            assert_eq!(scaled(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn flags_are_c_numbers() {
        assert_eq!(flags("0x1F"), Some(31));
        assert_eq!(flags("017"), Some(15));
        assert_eq!(flags("0"), Some(0));
        assert_eq!(flags("-1"), Some(u32::MAX));
        for bad in ["", "x", "0x", "--1", "-+1", "08", "99999999999"] {
            assert_eq!(flags(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn leading_decimals_end_anywhere() {
        assert_eq!(leading_decimal("4000"), 4000);
        assert_eq!(leading_decimal("70000x"), 70000);
        assert_eq!(leading_decimal("-5"), -5);
        assert_eq!(leading_decimal("x"), 0);
        assert_eq!(leading_decimal("+"), 0);
    }
}
