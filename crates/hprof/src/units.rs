//! Milliseconds, as text has them, and nanoseconds, as the model has them.

/// The number of nanoseconds in a millisecond.
pub(crate) const MS_NS: u64 = 1_000_000;

/// Returns whole milliseconds, rounded.
pub(crate) fn to_ms(ns: u64) -> u64 {
    ns / MS_NS + u64::from(ns % MS_NS >= MS_NS / 2)
}

/// Returns nanoseconds, limited to the largest number.
pub(crate) fn from_ms(ms: u64) -> u64 {
    ms.saturating_mul(MS_NS)
}
