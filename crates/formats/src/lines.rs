//! The loop of readers of text.

use std::io::Read;

use perk_hprof::LineReader;

use crate::Error;

/// How a text ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextEnd {
    /// How many lines there are.
    pub(crate) line_count: usize,
    /// There were more: it is packed, and cut off.
    pub(crate) is_cut: bool,
}

/// Gives each line to `take`, which says what it expected where it cannot take one.
///
/// # Errors
/// [`Error::Line`] with the line that was not taken, or as `input` fails.
pub(crate) fn each(
    input: impl Read,
    mut take: impl FnMut(&[u8]) -> Result<(), &'static str>,
) -> Result<TextEnd, Error> {
    let mut lines = LineReader::new(input);
    loop {
        let number = lines.line() + 1;
        let Some(line) = lines.next()? else {
            return Ok(TextEnd { line_count: lines.line(), is_cut: lines.has_failed() });
        };
        take(line).map_err(|expected| Error::Line { line: number, expected })?;
    }
}
