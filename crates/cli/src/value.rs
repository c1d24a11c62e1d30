//! The value that a command line names.

use anyhow::bail;
use perk_profile::{Profile, Value};

/// The value of that name.
///
/// # Errors
/// Where the profile has none; the line says which it has.
pub(crate) fn find(profile: &Profile, name: &str) -> anyhow::Result<Value> {
    if let Some(value) = Value::find(profile, name) {
        return Ok(value);
    }
    let all: Vec<_> = Value::all_of(profile).iter().map(|value| value.name(profile)).collect();
    if all.is_empty() {
        bail!("the profile has no {name} by call path, nor anything else");
    }
    bail!("the profile has no {name} by call path; it has {}", all.join(", "))
}
