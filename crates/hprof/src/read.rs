//! Reads a file of any format of this crate.

use std::io::{Cursor, Read};

use perk_profile::Profile;

use crate::{Error, Format, ascii, binary, old, recognise};

/// The bytes of a file that are looked at to recognise its format.
const HEAD_BYTES: u64 = 4096;

/// Reads a profile. The first bytes of `input` show the format.
///
/// # Errors
/// [`Error`] with the offset or line of the first thing that cannot be understood, or the error of
/// the input.
pub fn read(mut input: impl Read) -> Result<Profile, Error> {
    let mut head = Vec::new();
    input.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    let format = recognise(&head);
    let found = printable(&head);
    let input = Cursor::new(head).chain(input);
    match format {
        Some(Format::Ascii) => ascii::read(input),
        Some(Format::Binary | Format::Extended) => binary::read(input),
        Some(Format::Old) => old::read(input),
        None => Err(Error::NotHprof { found }),
    }
}

/// The first bytes of a file, for a message.
fn printable(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "none: the file is empty".to_owned();
    }
    format!("\"{}\"", bytes[..bytes.len().min(16)].escape_ascii())
}
