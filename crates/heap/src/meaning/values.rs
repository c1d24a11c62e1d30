//! Values as text and as integers.

use crate::Value;

/// The integer that a value is.
pub(super) fn integer(value: Value) -> Option<i64> {
    Some(match value {
        Value::Byte(it) => it.into(),
        Value::Short(it) => it.into(),
        Value::Int(it) => it.into(),
        Value::Long(it) => it,
        Value::Char(it) => it.into(),
        _ => return None,
    })
}

impl Value {
    /// Returns the value as Java prints it; characters in quotes, references as addresses.
    pub fn text(self) -> String {
        match self {
            Self::Reference(0) => "null".to_owned(),
            Self::Reference(it) => format!("0x{it:x}"),
            Self::Boolean(it) => it.to_string(),
            Self::Char(it) => match char::from_u32(it.into()) {
                Some(it) => format!("{it:?}"),
                None => format!("'\\u{it:04x}'"),
            },
            Self::Float(it) => float(it.into(), &format!("{it:e}")),
            Self::Double(it) => float(it, &format!("{it:e}")),
            Self::Byte(it) => it.to_string(),
            Self::Short(it) => it.to_string(),
            Self::Int(it) => it.to_string(),
            Self::Long(it) => it.to_string(),
        }
    }
}

/// A number with a fraction, from its form with an exponent.
fn float(value: f64, scientific: &str) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let Some((digits, exponent)) = scientific.split_once('e') else { return value.to_string() };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    let digits: String = digits.chars().filter(|it| *it != '.').collect();
    let split = |at: usize| {
        let (whole, part) = digits.split_at(at.min(digits.len()));
        let zeros = "0".repeat(at.saturating_sub(digits.len()));
        let part = if part.is_empty() { "0" } else { part };
        format!("{sign}{whole}{zeros}.{part}")
    };
    match exponent {
        0..7 => split(exponent as usize + 1),
        -3..0 => format!("{sign}0.{}{digits}", "0".repeat((-exponent - 1) as usize)),
        _ => format!("{}E{exponent}", split(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_java_does() {
        for (value, shown) in [
            (Value::Double(1.0), "1.0"),
            (Value::Double(-0.5), "-0.5"),
            (Value::Double(0.001), "0.001"),
            (Value::Double(0.000_1), "1.0E-4"),
            (Value::Double(1234.5678), "1234.5678"),
            (Value::Double(9_999_999.0), "9999999.0"),
            (Value::Double(1.0e7), "1.0E7"),
            (Value::Double(1.5e300), "1.5E300"),
            (Value::Double(0.0), "0.0"),
            (Value::Double(f64::NEG_INFINITY), "-Infinity"),
            (Value::Double(f64::NAN), "NaN"),
            (Value::Float(0.1), "0.1"),
            (Value::Float(3.4e38), "3.4E38"),
            (Value::Char(0x61), "'a'"),
            (Value::Char(0xD800), "'\\ud800'"),
            (Value::Boolean(true), "true"),
            (Value::Reference(0), "null"),
        ] {
            assert_eq!(value.text(), shown);
        }
    }
}
