//! What the views of a heap dump share: the dump, and a table with what is around it.

use perk_heap::Heap;
use perk_profile::Symbols;
use perk_render::{Json, LazyTable, Part, Section};

/// Rows of a table in text, and of a tree in text and in JSON and CSV, without `--top`.
pub(super) const ROWS: usize = 15;
const TREE_ROWS: usize = 40;
const MOST_TREE_ROWS: usize = 1000;

/// An analysed dump, and what its tables need.
pub(super) struct DumpContent<'h> {
    pub(super) heap: &'h Heap,
    /// Names are text; tables ask for symbols all the same.
    pub(super) symbols: Symbols,
    /// The number of rows that is asked for.
    pub(super) top: Option<usize>,
    /// The most rows of a table with all rows.
    pub(super) most_rows: Option<usize>,
    /// Whether it is shown as text.
    pub(super) is_text: bool,
    /// Whether what is said beside tables is wanted, too.
    pub(super) has_words: bool,
}

/// A view of a dump: a table, and what is around it.
pub(super) trait HeapTable {
    /// Returns the key of the table in JSON.
    fn key(&self) -> &'static str;

    /// Returns all rows.
    fn table(&self) -> LazyTable<'_>;

    /// Returns the text.
    fn sections(&self, top: usize) -> Vec<Section> {
        vec![vec![Part::table(self.table().top(top))]]
    }

    /// Returns the members of the JSON document.
    fn members(&self, top: usize) -> Vec<(&'static str, Json)> {
        vec![(self.key(), self.table().top(top).into())]
    }

    /// Returns what the numbers of the table are of, where that is not all.
    fn part(&self) -> Option<String> {
        None
    }

    /// Returns what the dump has not, if there is nothing to show.
    fn missing(&self) -> Option<String> {
        None
    }
}

impl DumpContent<'_> {
    /// Returns the number of rows of a table.
    pub(super) fn most_rows(&self) -> usize {
        let all = if self.is_text { ROWS } else { self.most_rows.unwrap_or(usize::MAX) };
        self.top.unwrap_or(all)
    }

    /// Returns the number of rows of a tree.
    pub(super) fn tree_rows(&self) -> usize {
        self.top.unwrap_or(if self.is_text { TREE_ROWS } else { MOST_TREE_ROWS })
    }
}
