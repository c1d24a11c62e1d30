//! Recordings of the JDK's Flight Recorder.

use std::io::Read;

use perk_profile::Profile;

use crate::Error;

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
