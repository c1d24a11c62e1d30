//! Numbers: boxes, `BigInteger`, `BigDecimal`, UUIDs.

use perk_hprof::heap::FieldType;

use crate::{Meaning, Value};

use super::reader::Instance;

/// The digits of a `BigInteger` to the base of 2^32 that are written as decimal ones.
const BIG_DIGITS: u64 = 256;

/// `Integer` and the others, `AtomicInteger`, `AtomicLong`.
pub(super) fn boxed(it: &Instance<'_, '_>) -> Option<Meaning> {
    match it.value("value")? {
        Value::Reference(_) => None,
        value => Some(Meaning::Plain(value.text())),
    }
}

pub(super) fn atomic_boolean(it: &Instance<'_, '_>) -> Option<Meaning> {
    Some(Meaning::Plain((it.int("value")? != 0).to_string()))
}

pub(super) fn adder(it: &Instance<'_, '_>) -> Option<Meaning> {
    Some(Meaning::Plain(sum(it, "base", "cells")?.to_string()))
}

/// The sum of a counter that is spread over cells.
pub(super) fn sum(it: &Instance<'_, '_>, base: &str, cells: &str) -> Option<i64> {
    /// There are as many cells as CPUs, at most.
    const CELLS: u64 = 1 << 13;
    let mut sum = it.int(base)?;
    let cells = it.address(cells).filter(|&it| it != 0);
    for cell in cells.and_then(|cells| it.reader.references(cells, CELLS)).into_iter().flatten() {
        let value = it.reader.object(cell).and_then(|cell| cell.int("value"));
        sum = sum.wrapping_add(value.unwrap_or(0));
    }
    Some(sum)
}

/// `OptionalInt` and its like.
pub(super) fn optional(it: &Instance<'_, '_>) -> Option<Meaning> {
    match it.flag("isPresent")? {
        true => boxed(it),
        false => Some(Meaning::Plain("empty".to_owned())),
    }
}

pub(super) fn uuid(it: &Instance<'_, '_>) -> Option<Meaning> {
    let most = it.int("mostSigBits")? as u64;
    let least = it.int("leastSigBits")? as u64;
    Some(Meaning::Plain(format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        most >> 32,
        most >> 16 & 0xFFFF,
        most & 0xFFFF,
        least >> 48,
        least & 0xFFFF_FFFF_FFFF
    )))
}

pub(super) fn big_integer(it: &Instance<'_, '_>) -> Option<Meaning> {
    let (is_negative, digits) = match big(it)? {
        Big::Digits(is_negative, digits) => (is_negative, digits),
        Big::Large(bit_count) => return Some(large(bit_count)),
    };
    Some(Meaning::Plain(if is_negative { format!("-{digits}") } else { digits }))
}

fn large(bit_count: u64) -> Meaning {
    Meaning::Plain(format!("a number of {bit_count} bits"))
}

/// The magnitude of a `BigInteger`.
enum Big {
    /// Whether it is negative, and its decimal digits.
    Digits(bool, String),
    /// The number of bits; digits would be too many.
    Large(u64),
}

fn big(it: &Instance<'_, '_>) -> Option<Big> {
    let sign = it.int("signum")?;
    let array = it.address("mag")?;
    let length = it.reader.length(array)?;
    if length > BIG_DIGITS {
        return Some(Big::Large(length.checked_mul(32)?));
    }
    let (FieldType::Int, bytes) = it.reader.primitives(array, length)? else { return None };
    let digits = bytes.chunks_exact(4).map(|it| u32::from_be_bytes([it[0], it[1], it[2], it[3]]));
    Some(Big::Digits(sign < 0, decimal(digits.collect())))
}

/// The decimal digits of a number, from its digits to the base of 2^32.
fn decimal(mut digits: Vec<u32>) -> String {
    const BASE: u64 = 1_000_000_000;
    let mut parts = Vec::new();
    while digits.iter().any(|&it| it != 0) {
        let mut rest = 0;
        for digit in &mut digits {
            let value = rest << 32 | u64::from(*digit);
            *digit = (value / BASE) as u32;
            rest = value % BASE;
        }
        parts.push(rest);
    }
    let Some(first) = parts.pop() else { return "0".to_owned() };
    let rest = parts.iter().rev().map(|part| format!("{part:09}"));
    first.to_string() + &rest.collect::<String>()
}

pub(super) fn big_decimal(it: &Instance<'_, '_>) -> Option<Meaning> {
    /// The number is in `intVal`.
    const INFLATED: i64 = i64::MIN;
    let scale = it.int("scale")?;
    // Android had its own.
    let compact = it.int("intCompact").or_else(|| {
        it.int("smallValue").filter(|_| it.int("bitLength").is_some_and(|bits| bits < 64))
    });
    let (is_negative, digits) = match compact {
        Some(compact) if compact != INFLATED => (compact < 0, compact.unsigned_abs().to_string()),
        _ => match big(&it.object("intVal")?)? {
            Big::Digits(is_negative, digits) => (is_negative, digits),
            Big::Large(bit_count) => return Some(large(bit_count)),
        },
    };
    let sign = if is_negative { "-" } else { "" };
    Some(Meaning::Plain(sign.to_owned() + &scaled(&digits, scale)))
}

/// `digits` times 10 to the power of `-scale`, as `BigDecimal.toString` has it.
fn scaled(digits: &str, scale: i64) -> String {
    let exponent = digits.len() as i64 - 1 - scale;
    if scale == 0 {
        return digits.to_owned();
    }
    if scale > 0 && exponent >= -6 {
        let padded = format!("{digits:0>width$}", width = scale as usize + 1);
        let (whole, part) = padded.split_at(padded.len() - scale as usize);
        return format!("{whole}.{part}");
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    format!("{first}{point}{rest}E{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_have_their_decimal_digits() {
        for digits in [vec![], vec![7], vec![1, 0], vec![0xFFFF_FFFF, 0xFFFF_FFFF, 0xFFFF_FFFF]] {
            let value = digits.iter().fold(0_u128, |value, &it| value << 32 | u128::from(it));
            assert_eq!(decimal(digits), value.to_string());
        }
    }

    #[test]
    fn scales_are_those_of_big_decimal() {
        for (digits, scale, shown) in [
            ("123", 0, "123"),
            ("123", -1, "1.23E+3"),
            ("123", -3, "1.23E+5"),
            ("123", 1, "12.3"),
            ("123", 5, "0.00123"),
            ("123", 10, "1.23E-8"),
            ("1", 7, "1E-7"),
            ("0", 2, "0.00"),
        ] {
            assert_eq!(scaled(digits, scale), shown);
        }
    }
}
