//! A label as the outermost frame of stacks.

use anyhow::bail;
use perk_analysis::labels;
use perk_profile::Profile;
use perk_profile::units::{plural, printable};

/// Labels that an error names.
const NAMED: usize = 8;

/// Makes the value of the label `key` the outermost frame of each stack.
///
/// # Errors
/// No number has the label; the line lists the labels that there are.
pub fn root(profile: &mut Profile, key: &str) -> anyhow::Result<()> {
    if labels::root(profile, key) {
        return Ok(());
    }
    let keys = labels::keys(profile);
    let name = |(key, values): &(String, usize)| {
        format!("{} ({})", printable(key), plural(*values as u64, "value"))
    };
    let mut names: Vec<_> = keys.iter().take(NAMED).map(name).collect();
    if keys.len() > NAMED {
        names.push(format!("{} more", keys.len() - NAMED));
    }
    match names.is_empty() {
        true => bail!("--by {key}: the profile has no labels"),
        false => bail!("--by {key}: no number has this label; there are {}", names.join(", ")),
    }
}
