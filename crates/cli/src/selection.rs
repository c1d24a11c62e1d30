//! The part of a profile that the command line selects, for outputs that have no place to say so.

use perk_analysis::{Filter, InferredCallers};
use perk_profile::Profile;
use perk_report::selection::filter;

use crate::talk;

/// Leaves in the profile what passes the filter. Returns how much that is; `None` where there is no filter.
pub(crate) fn apply_filter(filter: &Filter, profile: &mut Profile, name: &str) -> Option<String> {
    let mut notes = Vec::new();
    let mut joined = InferredCallers::default();
    let line = filter::apply(filter, profile, &mut joined, name, &mut notes);
    notes.iter().for_each(|note| talk::say(format_args!("{note}")));
    line
}
