//! Reads a file of any format of this crate.

use perk_profile::Profile;

use crate::{Error, Format, ascii, binary, old, recognise};

/// Reads a profile; its first bytes tell the format.
///
/// # Errors
/// [`Error`] with the offset or line of the first thing that cannot be understood.
pub fn read(bytes: &[u8]) -> Result<Profile, Error> {
    match recognise(bytes) {
        Some(Format::Ascii) => ascii::read(bytes),
        Some(Format::Binary | Format::Extended) => binary::read(bytes),
        Some(Format::Old) => old::read(bytes),
        None => Err(Error::NotHprof { found: printable(bytes) }),
    }
}

/// The first bytes of a file, for a message.
fn printable(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "none: the file is empty".to_owned();
    }
    format!("\"{}\"", bytes[..bytes.len().min(16)].escape_ascii())
}
