//! Tells the two formats apart.

use perk_profile::Profile;

use crate::{Error, ascii, binary};

/// One of the two formats that share the name HPROF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text: the agent's `format=a`.
    Ascii,
    /// Records: the agent's `format=b`.
    Binary,
}

const MAGIC: &[u8] = b"JAVA PROFILE 1.0";

/// The format of a file that begins with `bytes`; `None` if it is no HPROF file.
pub fn recognise(bytes: &[u8]) -> Option<Format> {
    let version = bytes.strip_prefix(MAGIC)?;
    // Binary headers end in NUL (1.0, 1.0.1 and 1.0.2), ASCII ones go on with a comma.
    let end = version.iter().position(|&byte| byte != b'.' && !byte.is_ascii_digit());
    match end.map(|end| version[end]) {
        Some(0) => Some(Format::Binary),
        _ => Some(Format::Ascii),
    }
}

/// Reads an HPROF file of either format.
///
/// # Errors
/// [`Error`] with the offset or line of the first thing that cannot be understood.
pub fn read(bytes: &[u8]) -> Result<Profile, Error> {
    match recognise(bytes) {
        Some(Format::Ascii) => ascii::read(bytes),
        Some(Format::Binary) => binary::read(bytes),
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
