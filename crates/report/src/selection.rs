//! The part of a profile that is looked at: a window of time, a filter, a metric.

pub mod filter;
pub mod labels;
pub mod metric;
pub mod names;
pub mod window;

use perk_analysis::{Filter, InferredCallers, Window};
use perk_profile::Profile;

/// Leaves in the profile of that `name` the window and what passes the filter, and adds to `notes` what that is.
///
/// # Errors
/// There is no such window.
pub fn apply(
    (window, filter): (Window, &Filter),
    profile: &mut Profile,
    name: &str,
    notes: &mut Vec<String>,
) -> anyhow::Result<()> {
    if let Some(shown) = window::apply(window, profile, name)? {
        for line in window::lines(&shown) {
            notes.push(format!("{name}: {line}"));
            profile.notes.push(line);
        }
    }
    let mut joined = InferredCallers::default();
    if let Some(line) = filter::apply(filter, profile, &mut joined, name, notes) {
        notes.push(format!("{name}: {line}"));
    }
    Ok(())
}
