//! A tree of texts that is made at once, with branches that open and close.

use crate::view::ViewRow;

/// An entry, as it is added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) row: ViewRow,
    /// What the detail line says of it.
    pub(crate) detail: String,
}

/// The entries, each followed by those below it.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    entries: Vec<Entry>,
    /// The entries that are not below a closed one.
    lines: Vec<usize>,
    /// The numbers that are 100 % of the two columns.
    pub(crate) wholes: [u64; 2],
}

impl Outline {
    /// Makes an outline of which all branches are closed.
    pub(crate) fn new(mut entries: Vec<Entry>, wholes: [u64; 2]) -> Self {
        for at in 0..entries.len() {
            let level = entries[at].row.level;
            let has_below = entries.get(at + 1).is_some_and(|next| next.row.level > level);
            entries[at].row.is_open = has_below.then_some(false);
        }
        let mut outline = Self { entries, lines: Vec::new(), wholes };
        outline.layout();
        outline
    }

    /// The entries that are shown, as indexes for [`Outline::entry`].
    pub(crate) fn lines(&self) -> &[usize] {
        &self.lines
    }

    pub(crate) fn row(&self, line: usize) -> ViewRow {
        self.entry(line).row.clone()
    }

    /// The entry of a line.
    pub(crate) fn entry(&self, line: usize) -> &Entry {
        &self.entries[self.lines[line]]
    }

    /// Opens or closes the entry of a line, if there are any below it.
    pub(crate) fn toggle(&mut self, line: usize) {
        if let Some(is_open) = &mut self.entries[self.lines[line]].row.is_open {
            *is_open = !*is_open;
            self.layout();
        }
    }

    /// The line of the entry above the one of `line` in the tree.
    pub(crate) fn line_of_parent(&self, line: usize) -> Option<usize> {
        let level = self.entry(line).row.level;
        (0..line).rev().find(|&above| self.entry(above).row.level < level)
    }

    fn layout(&mut self) {
        self.lines.clear();
        // The level below which entries are hidden.
        let mut closed = None;
        for (at, entry) in self.entries.iter().enumerate() {
            let level = entry.row.level;
            if closed.is_some_and(|closed| level > closed) {
                continue;
            }
            closed = (entry.row.is_open == Some(false)).then_some(level);
            self.lines.push(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_open_and_close() {
        let entry = |(level, text): &(usize, &str)| Entry {
            row: ViewRow { level: *level, text: (*text).to_owned(), ..ViewRow::default() },
            ..Entry::default()
        };
        let entries = [(0, "a"), (1, "b"), (2, "c"), (1, "d"), (0, "e")];
        let mut outline = Outline::new(entries.iter().map(entry).collect(), [0; 2]);
        let shown = |outline: &Outline| -> String {
            (0..outline.lines().len()).map(|line| outline.row(line).text).collect()
        };
        assert_eq!(shown(&outline), "ae");
        outline.toggle(0);
        assert_eq!(shown(&outline), "abde");
        outline.toggle(1);
        assert_eq!(shown(&outline), "abcde");
        assert_eq!([2, 3, 4].map(|line| outline.line_of_parent(line)), [Some(1), Some(0), None]);
        outline.toggle(0);
        outline.toggle(1);
        assert_eq!(shown(&outline), "ae");
    }
}
