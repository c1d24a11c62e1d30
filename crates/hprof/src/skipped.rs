//! The lines of a text that are skipped because they cannot be understood.

/// Lines that are damaged, or have numbers that are none, while the others are read.
#[derive(Clone, Debug, Default)]
pub struct SkippedLines {
    count: u64,
    /// The first of these lines, and what is wrong with it.
    first: Option<(usize, String)>,
}

impl SkippedLines {
    /// Adds a line with its number, from 1, and what is wrong with it.
    #[cold]
    pub fn add(&mut self, line: usize, what: String) {
        self.count += 1;
        self.first.get_or_insert((line, what));
    }

    /// Returns the first line and its fault, if more lines are skipped than `good_count`: the file is
    /// then not of this form, or damaged as a whole.
    pub fn majority(&self, good_count: u64) -> Option<(usize, String)> {
        self.first.clone().filter(|_| self.count > good_count)
    }

    /// Returns the note about these lines.
    pub fn note(&self) -> Option<String> {
        let (line, what) = self.first.as_ref()?;
        Some(match self.count {
            1 => format!("1 line skipped, line {line}: {what}"),
            count => format!("{count} lines skipped, the first is line {line}: {what}"),
        })
    }
}
