//! The metric that a command line names.

use anyhow::bail;
use perk_profile::{Metric, Profile};

/// The metric of that name.
///
/// # Errors
/// Where the profile does not have it; the line lists those that it has.
pub(crate) fn find(profile: &Profile, name: &str) -> anyhow::Result<Metric> {
    if let Some(metric) = Metric::find(profile, name) {
        return Ok(metric);
    }
    let all = Metric::all_of(profile);
    let names: Vec<_> = all.iter().map(Metric::name).collect();
    if names.is_empty() {
        bail!("the profile has no {name} by call path, and no other metric");
    }
    bail!("the profile has no {name} by call path; it has {}", names.join(", "))
}
