//! Milliseconds, as text has them, and nanoseconds, as the model has them.

/// Nanoseconds of a millisecond.
pub(crate) const MS_NS: u64 = 1_000_000;

/// Whole milliseconds, rounded.
pub(crate) fn to_ms(ns: u64) -> u64 {
    ns / MS_NS + u64::from(ns % MS_NS >= MS_NS / 2)
}

/// Nanoseconds, up to the largest number there is.
pub(crate) fn from_ms(ms: u64) -> u64 {
    ms.saturating_mul(MS_NS)
}
