//! Profiles of the Shared Fields Analysis.

use std::io::{self, Read, Write};

use perk_profile::Profile;

use crate::Error;

/// Writes what the format holds of `profile`.
///
/// # Errors
/// As `out` fails.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let _ = (profile, out);
    Ok(())
}

/// Whether a file that begins with `head` is of this format.
pub fn recognise(head: &[u8]) -> bool {
    let _ = head;
    false
}

/// Reads a file.
///
/// # Errors
/// [`Error`] with the place that cannot be understood.
pub fn read(input: impl Read) -> Result<Profile, Error> {
    let _ = input;
    Ok(Profile::default())
}
