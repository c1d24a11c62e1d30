//! The common loop of the readers of text.

use std::io::Read;

use perk_hprof::LineReader;

use crate::Error;

/// The end of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextEnd {
    /// The number of lines.
    pub(crate) line_count: usize,
    /// Whether there were more lines: the text is compressed, and cut off.
    pub(crate) is_cut: bool,
}

/// Passes each line to `take`, which returns the expected text if it cannot take a line.
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

/// The lines that cannot be understood, of a text in which lines do not depend on each other.
#[derive(Debug, Default)]
pub(crate) struct BadLines {
    count: u64,
    /// The first of these lines, and the text that was expected there.
    first: Option<(usize, &'static str)>,
}

impl BadLines {
    #[cold]
    pub(crate) fn add(&mut self, line: usize, expected: &'static str) {
        self.count += 1;
        self.first.get_or_insert((line, expected));
    }

    /// Returns the error of a file with this many good lines, if it is not of this format.
    pub(crate) fn error(&self, good_count: u64) -> Option<Error> {
        let (line, expected) = self.first.filter(|_| self.count > good_count)?;
        Some(Error::Line { line, expected })
    }

    /// Returns the note about these lines, if the others are read.
    pub(crate) fn note(&self) -> Option<String> {
        let (line, expected) = self.first?;
        Some(match self.count {
            1 => format!("line {line} skipped: expected {expected}"),
            count => {
                format!("{count} lines skipped, the first is line {line}: expected {expected}")
            }
        })
    }
}
