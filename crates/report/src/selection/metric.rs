//! The metric that a request names, and facts on those of JamaicaVM's profile.

use anyhow::bail;
use perk_analysis::near;
use perk_jamaica::metric;
use perk_profile::{Metric, Profile};

use crate::words::did_you_mean;

/// The metric of that name.
///
/// # Errors
/// Where the profile does not have it; the line lists those that it has.
pub fn find(profile: &Profile, name: &str) -> anyhow::Result<Metric> {
    if let Some(metric) = Metric::find(profile, name) {
        return Ok(metric);
    }
    let all = Metric::all_of(profile);
    let names: Vec<_> = all.iter().map(Metric::name).collect();
    if names.is_empty() {
        bail!("the profile has no {name} by call path, and no other metric");
    }
    let near = did_you_mean(&near::texts(name, names.iter().copied()));
    bail!("the profile has no {name} by call path; it has {}{near}", names.join(", "))
}

/// Whether a metric is one of JamaicaVM's profile.
pub fn is_of_jamaica(it: &Metric) -> bool {
    it.is_other() && metric::is_own(it.name())
}

/// Whether the sum of a metric over all methods means something.
pub fn adds_up(it: &Metric) -> bool {
    const SUMS: [&str; 3] = [metric::BYTECODES, metric::NATIVE_CALLS, metric::ARRAY_ALLOCATIONS];
    !is_of_jamaica(it) || SUMS.contains(&it.name())
}

/// Whether the metric counts, so that each difference is one of the programs.
pub fn is_exact(it: &Metric) -> bool {
    it.is_other() && metric::is_exact(it.name())
}
