//! Parsers of numbers that follow C's `strtol` and `strtod`.

/// Parses a text that is a decimal number as a whole. Blanks before it and a sign are allowed.
pub(super) fn decimal(text: &str) -> Option<i32> {
    skip_blanks(text).parse().ok()
}

/// Parses a text that is a floating point number as a whole. Blanks before it, a sign, `inf`, `nan`
/// and hexadecimal numbers are allowed.
pub(super) fn float(text: &str) -> Option<f64> {
    let text = skip_blanks(text);
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    // `parse` would accept a second sign.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let begins =
        |start: &str| digits.get(..start.len()).is_some_and(|it| it.eq_ignore_ascii_case(start));
    let value = if begins("0x") {
        hexadecimal(&digits[2..])?
    } else if begins("nan(") {
        let inner = digits[4..].strip_suffix(')')?;
        inner
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            .then_some(f64::NAN)?
    } else {
        digits.parse().ok()?
    };
    Some(if is_negative { -value } else { value })
}

/// Parses the digits of a hexadecimal floating point number, and the power of two after a `p`.
fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, power) = text.split_once(['p', 'P']).map_or((text, None), |(a, b)| (a, Some(b)));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let add = |sum: f64, digit: char| Some(sum * 16.0 + f64::from(digit.to_digit(16)?));
    let whole_value = whole.chars().try_fold(0.0, add)?;
    let step = |(sum, unit): (f64, f64), digit: char| {
        Some((sum + f64::from(digit.to_digit(16)?) * unit, unit / 16.0))
    };
    let (value, _) = fraction.chars().try_fold((whole_value, 1.0 / 16.0), step)?;
    let power: i32 = match power {
        None => 0,
        Some(digits) if digits.starts_with("+-") => return None,
        Some(digits) => digits.parse().ok()?,
    };
    Some(value * 2_f64.powi(power))
}

/// Parses a whole number above 0. A `k` after it multiplies it by 1024, an `m` by 1024 * 1024, a `g` by
/// 1024 * 1024 * 1024; they may be capital letters.
pub fn scaled(text: &str) -> Option<u64> {
    let (digits, shift) = match text.split_at_checked(text.len().checked_sub(1)?)? {
        (digits, "k" | "K") => (digits, 10),
        (digits, "m" | "M") => (digits, 20),
        (digits, "g" | "G") => (digits, 30),
        _ => (text, 0),
    };
    // `parse` would accept a sign.
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|&number| is_plain && number > 0)?;
    number.checked_mul(1 << shift)
}

/// The units of times, the longest name of those that end alike first, with their nanoseconds.
const TIME_UNITS: [(&str, u64); 5] = [
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Parses a time, a decimal number and a unit: `500us`, `10ms`, `1.5s`, `5m`, `1h`. Returns it in
/// nanoseconds, as a whole number of microseconds.
///
/// # Errors
/// The text is no time; what to write instead.
pub fn time_ns(text: &str) -> Result<u64, &'static str> {
    const FORM: &str = "use a number and us, ms, s, m or h, such as 500ms or 2s";
    const NO_UNIT: &str = "a time needs a unit: us, ms, s, m or h, such as 500ms or 2s";
    let unit = TIME_UNITS.iter().find_map(|&(unit, ns)| Some((text.strip_suffix(unit)?, ns)));
    let (number, unit_ns) = unit.unwrap_or((text, 1));
    // `parse` would accept a sign, an exponent and words.
    let is_plain = number.starts_with(|first: char| first.is_ascii_digit())
        && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: f64 =
        Some(number).filter(|_| is_plain).and_then(|it| it.parse().ok()).ok_or(FORM)?;
    if unit.is_none() {
        return Err(NO_UNIT);
    }
    let us = (number * (unit_ns / 1_000) as f64).round();
    if us < (u64::MAX / 1_000) as f64 { Ok(us as u64 * 1_000) } else { Err("use a shorter time") }
}

/// Returns the decimal number at the beginning of a text, or 0, as `atoi` does.
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
    fn times_have_units() {
        for (text, ns) in [
            ("0s", 0),
            ("2s", 2_000_000_000),
            ("1.5s", 1_500_000_000),
            ("500ms", 500_000_000),
            ("20us", 20_000),
            ("0.0015ms", 2_000),
            ("2m", 120_000_000_000),
            ("1h", 3_600_000_000_000),
            ("3600.000001s", 3_600_000_001_000),
        ] {
            assert_eq!(time_ns(text), Ok(ns), "{text}");
        }
        for text in ["", "s", ".5s", "-1s", "+1s", "1e3s", "1..2s", "2d", "1 s", "infs", "10min"] {
            assert!(time_ns(text).is_err_and(|it| it.starts_with("use a number")), "{text}");
        }
        for text in ["2", "10", "1.5"] {
            assert!(time_ns(text).is_err_and(|it| it.contains("needs a unit")), "{text}");
        }
        assert!(time_ns("99999999999999m").is_err());
    }

    #[test]
    fn floats_have_exponents() {
        assert_eq!(float("1e-3"), Some(0.001));
        assert_eq!(float(" .5"), Some(0.5));
        assert_eq!(float("2."), Some(2.0));
        assert_eq!(float("-1"), Some(-1.0));
        for bad in ["", " ", ".", "1x", "1 ", "1e", "+-1", "infinit", "nan(", "nan(-)"] {
            assert_eq!(float(bad), None, "{bad:?}");
        }
        assert_eq!(float("-inf"), Some(f64::NEG_INFINITY));
        assert!(float("nan").unwrap().is_nan() && float("-NaN(x_1)").unwrap().is_nan());
    }

    #[test]
    fn floats_may_be_hexadecimal() {
        for (text, value) in
            [("0x1p-4", 0.0625), ("0X.8", 0.5), ("0x1.8P+1", 3.0), ("-0xa", -10.0), ("0x10.", 16.0)]
        {
            assert_eq!(float(text), Some(value), "{text}");
        }
        for bad in ["0x", "0x.", "0xp1", "0x1p", "0x1p+-1", "0xg", "0x1.1.1", "0x-1"] {
            assert_eq!(float(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn scaled_numbers_have_binary_units() {
        assert_eq!(scaled("1"), Some(1));
        assert_eq!(scaled("512k"), Some(524_288));
        assert_eq!(scaled("8m"), Some(8_388_608));
        assert_eq!(scaled("1g"), Some(1 << 30));
        assert_eq!(
            (scaled("2K"), scaled("3M"), scaled("8G")),
            (Some(2048), Some(3 << 20), Some(8 << 30))
        );
        assert_eq!(scaled("17179869183g"), Some(17_179_869_183 << 30));
        assert_eq!(scaled("18446744073709551615"), Some(u64::MAX));
        for bad in
            ["", "k", "0", "0k", "-1", "+1", "1t", "1 k", " 1", "1.5m", "1km", "1é", "17179869184g"]
        {
            assert_eq!(scaled(bad), None, "{bad:?}");
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
