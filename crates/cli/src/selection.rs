//! The part of a profile that the command line selects, for outputs that have no place to say so.

use perk_analysis::{Filter, InferredCallers, Window};
use perk_profile::{NamePattern, Profile};
use perk_report::selection::{self, filter};

use crate::args::FilterArgs;
use crate::talk;

/// A pattern on the command line.
pub(crate) fn name_pattern(text: &str) -> Result<NamePattern, String> {
    NamePattern::new(text)
        .ok_or_else(|| "name a method or a class: bar, Foo.bar, Foo, 'com.acme.*'".to_owned())
}

/// A share on the command line, as `0.5%` or `0.5`, in percent.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim_end();
    match number.parse() {
        Ok(share) if (0.0..=100.0).contains(&share) => Ok(share),
        _ => Err("use a share from 0% to 100%, such as 0.5%".to_owned()),
    }
}

impl FilterArgs {
    /// The filter that the options describe.
    pub(crate) fn filter(&self) -> Filter {
        let Self { focus, ignore, hide, label: labels } = self.clone();
        Filter { focus, ignore, hide, labels }
    }
}

/// Leaves in the profile of that `name` the window and what passes the filter, and says on stderr what that is.
pub(crate) fn apply(
    part: (Window, &Filter),
    profile: &mut Profile,
    name: &str,
) -> anyhow::Result<()> {
    let mut notes = Vec::new();
    selection::apply(part, profile, name, &mut notes)?;
    notes.iter().for_each(|note| talk::say(format_args!("{note}")));
    Ok(())
}

/// Leaves in the profile what passes the filter. Returns how much that is; `None` where there is no filter.
pub(crate) fn apply_filter(filter: &Filter, profile: &mut Profile, name: &str) -> Option<String> {
    let mut notes = Vec::new();
    let mut joined = InferredCallers::default();
    let line = filter::apply(filter, profile, &mut joined, name, &mut notes);
    notes.iter().for_each(|note| talk::say(format_args!("{note}")));
    line
}
