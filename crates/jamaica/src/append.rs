//! Files that another run can be appended to.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use crate::recognise;

/// The number of bytes by which a file is recognised.
const HEAD_BYTES: u64 = 4096;

/// The reason why nothing can be appended to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It is not such a profile.
    Foreign,
    /// Its last line is cut off.
    Cut,
}

/// Returns the reason why nothing can be appended to a regular file; `None` if it can, or if the file
/// is empty.
///
/// # Errors
/// As the file cannot be read.
pub fn flaw(file: &File) -> io::Result<Option<Flaw>> {
    let length = file.metadata()?.len();
    if length == 0 {
        return Ok(None);
    }
    let mut head = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut head)?;
    let mut last = [0];
    file.read_exact_at(&mut last, length - 1)?;
    Ok(match () {
        () if !recognise(&head) => Some(Flaw::Foreign),
        () if last != *b"\n" => Some(Flaw::Cut),
        () => None,
    })
}
