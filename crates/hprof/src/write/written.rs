//! The entries that a file has already.

/// The entries of a table that have been written, by index.
#[derive(Clone, Debug, Default)]
pub(crate) struct EntryMarks(pub(crate) Vec<bool>);

impl EntryMarks {
    /// Whether an entry is marked.
    pub(crate) fn has(&self, index: usize) -> bool {
        self.0.get(index).copied().unwrap_or(false)
    }

    /// Marks an entry. Returns true if it was not marked before.
    pub(crate) fn first(&mut self, index: usize) -> bool {
        if self.0.len() <= index {
            self.0.resize((index + 1).next_power_of_two(), false);
        }
        !std::mem::replace(&mut self.0[index], true)
    }
}
