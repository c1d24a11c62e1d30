//! Hours of the clock, by which a store is divided.

use std::fmt;

use perk_profile::Timestamp;

/// The milliseconds of an hour.
pub(crate) const HOUR_MS: i64 = 3_600_000;
/// The hours of a day.
const DAY_HOURS: i64 = 24;

/// An hour of the clock in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hour(i64);

impl Hour {
    /// The hour of a time, in milliseconds since 1970.
    pub fn of(unix_ms: i64) -> Self {
        Self(unix_ms.div_euclid(HOUR_MS))
    }

    /// Its first moment, in milliseconds since 1970.
    pub fn begin_ms(self) -> i64 {
        self.0.saturating_mul(HOUR_MS)
    }

    /// The first moment after it.
    pub fn end_ms(self) -> i64 {
        self.begin_ms().saturating_add(HOUR_MS)
    }

    /// The first hour of its date.
    pub(crate) fn first_of_date(self) -> Self {
        Self(self.0 - self.number())
    }

    /// The last hour of its date.
    pub(crate) fn last_of_date(self) -> Self {
        Self(self.first_of_date().0 + DAY_HOURS - 1)
    }

    /// The days from 1970 to its date.
    pub(crate) fn days(self) -> i32 {
        i32::try_from(self.0.div_euclid(DAY_HOURS)).unwrap_or(i32::MAX)
    }

    /// Its number in the day.
    pub(crate) fn number(self) -> i64 {
        self.0.rem_euclid(DAY_HOURS)
    }

    /// Its date: `2026-11-29`.
    pub fn date(self) -> String {
        self.iso()[..10].to_owned()
    }

    /// Its number in the day: `07`.
    pub fn hour(self) -> String {
        self.iso()[11..13].to_owned()
    }

    fn iso(self) -> String {
        let unix_ms = u64::try_from(self.begin_ms()).unwrap_or(0);
        Timestamp { unix_ms, utc_offset_s: 0 }.iso_utc()
    }

    /// The hour with this date and number.
    pub(crate) fn parse(date: &str, hour: &str) -> Option<Self> {
        let stamp = Timestamp::from_iso_utc(&format!("{date}T{hour}:00:00Z"))?;
        Some(Self::of(i64::try_from(stamp.unix_ms).ok()?))
    }
}

impl fmt::Display for Hour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}:00", self.date(), self.hour())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_have_dates() {
        let hour = Hour::of(1_795_201_231_999);
        assert_eq!((hour.date().as_str(), hour.hour().as_str()), ("2026-11-20", "19"));
        assert_eq!(Hour::parse("2026-11-20", "19"), Some(hour));
        assert_eq!(Hour::of(hour.end_ms() - 1), hour);
        assert_ne!(Hour::of(hour.end_ms()), hour);
        assert_eq!(Hour::parse("2026-11-20", "24"), None);
        assert_eq!(Hour::parse("2026-13-20", "00"), None);
    }
}
