//! The amount of a limit: `5%`, `20ms`, `10MB`, `100`.

use perk_profile::Unit;

const UNITS: [(&str, Unit, u64); 11] = [
    ("ns", Unit::Nanoseconds, 1),
    ("us", Unit::Nanoseconds, 1_000),
    ("ms", Unit::Nanoseconds, 1_000_000),
    ("s", Unit::Nanoseconds, 1_000_000_000),
    ("B", Unit::Bytes, 1),
    ("kB", Unit::Bytes, 1_000),
    ("MB", Unit::Bytes, 1_000_000),
    ("GB", Unit::Bytes, 1_000_000_000),
    ("KiB", Unit::Bytes, 1 << 10),
    ("MiB", Unit::Bytes, 1 << 20),
    ("GiB", Unit::Bytes, 1 << 30),
];

/// The most by which a number may change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bound {
    Percent(f64),
    /// An amount, and its unit where it has one.
    Amount(u64, Option<Unit>),
}

impl Bound {
    /// Reads an amount.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let known = || UNITS.map(|it| it.0).join(", ");
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (digits, unit) = (&text[..end], text[end..].trim_start());
        let number: f64 = digits.parse().map_err(|_| {
            format!("{text:?} is not an amount: use a number, 5%, or one with a unit ({})", known())
        })?;
        if unit == "%" {
            return Ok(Bound::Percent(number));
        }
        let too_large = || format!("{text} is too large");
        if unit.is_empty() {
            return match digits.contains('.') {
                true => Err(format!("{text}: only amounts with a unit, or in %, have a fraction")),
                false => Ok(Bound::Amount(digits.parse().map_err(|_| too_large())?, None)),
            };
        }
        let found = UNITS.iter().find(|it| it.0 == unit);
        let &(_, unit, factor) = found
            .ok_or_else(|| format!("{text}: {unit:?} is not a unit; use {}, or %", known()))?;
        let amount = match digits.parse::<u64>() {
            Ok(number) => number.checked_mul(factor),
            Err(_) => {
                Some(number * factor as f64).filter(|it| *it < 1e18).map(|it| it.round() as u64)
            }
        };
        Ok(Bound::Amount(amount.ok_or_else(too_large)?, Some(unit)))
    }

    /// Whether numbers in `of` can be compared with it; `number` is what they are.
    pub(super) fn fits(self, number: &str, of: Unit) -> Result<(), String> {
        let noun = |unit| match unit {
            Unit::Count => "a count",
            Unit::Nanoseconds => "a time",
            Unit::Bytes => "a size in bytes",
        };
        match self {
            Bound::Amount(_, Some(unit)) if unit != of => {
                Err(format!("a limit on {number} is {}, not {}", noun(of), noun(unit)))
            }
            _ => Ok(()),
        }
    }

    /// The amount, of a number that was `before`.
    pub(super) fn of(self, before: u64) -> f64 {
        match self {
            Bound::Percent(share) => before as f64 * share / 100.0,
            Bound::Amount(amount, _) => amount as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_units() {
        let time = |ns| Bound::Amount(ns, Some(Unit::Nanoseconds));
        let size = |bytes| Bound::Amount(bytes, Some(Unit::Bytes));
        for (text, bound) in [
            ("0", Bound::Amount(0, None)),
            ("18446744073709551615", Bound::Amount(u64::MAX, None)),
            ("5%", Bound::Percent(5.0)),
            ("0.25 %", Bound::Percent(0.25)),
            ("5ns", time(5)),
            ("1.5 us", time(1_500)),
            ("20ms", time(20_000_000)),
            ("3s", time(3_000_000_000)),
            ("7B", size(7)),
            ("10MB", size(10_000_000)),
            ("0.5kB", size(500)),
            ("1GB", size(1_000_000_000)),
            ("2KiB", size(2_048)),
            ("1.5MiB", size(1_572_864)),
            ("1GiB", size(1_073_741_824)),
        ] {
            assert_eq!(Bound::read(text), Ok(bound), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused_in_one_line() {
        for (text, part) in [
            ("", "not an amount"),
            ("-5%", "not an amount"),
            ("nan%", "not an amount"),
            ("inf", "not an amount"),
            ("1.2.3ms", "not an amount"),
            ("%", "not an amount"),
            ("5min", "\"min\" is not a unit; use ns, us, ms"),
            ("5mb", "\"mb\" is not a unit"),
            ("1e3", "\"e3\" is not a unit"),
            ("1.5", "only amounts with a unit"),
            ("18446744073709551616", "too large"),
            ("18446744073709551615s", "too large"),
            ("99999999999999999999.5s", "too large"),
        ] {
            let error = Bound::read(text).unwrap_err();
            assert!(error.contains(part) && error.lines().count() == 1, "{text}: {error}");
        }
        let error = Bound::read("5ms").unwrap().fits("calls", Unit::Count).unwrap_err();
        assert_eq!(error, "a limit on calls is a count, not a time");
        Bound::read("5%").unwrap().fits("calls", Unit::Count).unwrap();
    }
}
