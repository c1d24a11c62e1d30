//! What the readers of all sections have in common.

use super::contents::Contents;

/// A section whose rows are being read.
pub(super) trait SectionReader {
    /// Its name, as in the lines `… BEGIN` and `… END`.
    fn title(&self) -> &'static str;

    /// Whether it has a line `… END`; if not, the next record ends it.
    fn has_end(&self) -> bool {
        true
    }

    /// The columns of its rows, for a message.
    fn columns(&self) -> &'static str;

    /// Takes a row. Returns false if `line` is not a row.
    fn row(&mut self, line: &[u8], contents: &mut Contents) -> Result<bool, String>;

    /// Adds the section to the profile.
    fn close(self: Box<Self>, contents: &mut Contents);
}
