//! The names of what recordings of perk have besides.

use perk_profile::{Metric, Unit};

/// The setting that says whether perk knew the times of samples, and its value if not.
pub(super) const TIMES_SETTING: &str = "times";

pub(super) const SPREAD: &str = "spread evenly";

/// Returns the metric of samples of threads in native code.
pub(super) fn native_samples() -> Metric {
    Metric::other("native samples", Unit::Count)
}

/// Returns the metric of samples of threads that did not run.
pub(super) fn waiting_samples() -> Metric {
    Metric::other("waiting samples", Unit::Count)
}
