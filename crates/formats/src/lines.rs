//! The loop of readers of text.

use std::io::Read;

use perk_hprof::LineReader;

use crate::Error;

/// Gives each line to `take`, which says what it expected where it cannot take one. Returns how many
/// lines there are.
///
/// # Errors
/// [`Error::Line`] with the line that was not taken, or as `input` fails.
pub(crate) fn each(
    input: impl Read,
    mut take: impl FnMut(&[u8]) -> Result<(), &'static str>,
) -> Result<usize, Error> {
    let mut lines = LineReader::new(input);
    loop {
        let number = lines.line() + 1;
        let Some(line) = lines.next()? else { return Ok(lines.line()) };
        take(line).map_err(|expected| Error::Line { line: number, expected })?;
    }
}
