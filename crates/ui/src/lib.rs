//! The terminal browser of profiles: `perk view`.
#![forbid(unsafe_code)]

use perk_profile::Profile;

/// Shows `profile` on the terminal until the user leaves.
///
/// # Errors
/// As the terminal fails.
pub fn run(profile: &Profile, title: &str) -> anyhow::Result<()> {
    let _ = (profile, title);
    Ok(())
}
