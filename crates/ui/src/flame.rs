//! A flame graph in characters: one line per level, the root's children on top.

use perk_analysis::label_tree::{ROOT, RankedTree};

/// A frame on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) node: u32,
    /// Its first column.
    pub(crate) x: usize,
    /// Its width in columns, at least one.
    pub(crate) width: usize,
    /// Its line.
    pub(crate) level: usize,
}

/// The node that is zoomed in on, and the node that is selected.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flame {
    pub(crate) zoom: u32,
    pub(crate) selected: u32,
}

impl Flame {
    /// Makes a flame graph with the heaviest frame selected, if there is any.
    pub(crate) fn new(ranked: &RankedTree<String>) -> Self {
        let selected = ranked.children(ROOT).first().copied().unwrap_or(ROOT);
        Self { zoom: ROOT, selected }
    }

    /// The blocks of a screen of `width` columns and `height` lines. The blocks above the zoomed
    /// node come first, as wide as the screen.
    pub(crate) fn blocks(
        &self,
        ranked: &RankedTree<String>,
        width: usize,
        height: usize,
    ) -> Vec<Block> {
        let mut above = Vec::new();
        let mut at = self.zoom;
        while at != ROOT {
            above.push(at);
            at = ranked.node(at).parent;
        }
        above.reverse();
        // At least half of the screen is for the blocks below.
        let hidden = above.len().saturating_sub(height / 2);
        let mut blocks: Vec<Block> = above[hidden..]
            .iter()
            .enumerate()
            .map(|(level, &node)| Block { node, x: 0, width, level })
            .collect();
        let first = blocks.len();
        let total = ranked.node(self.zoom).total.max(1);
        let column = |number: u64| (number as u128 * width as u128 / u128::from(total)) as usize;
        // A node, its start, and its level.
        let mut open = vec![(self.zoom, 0_u64, first)];
        while let Some((node, start, level)) = open.pop() {
            if level >= height {
                continue;
            }
            let mut start = start;
            for &child in ranked.children(node) {
                let end = start.saturating_add(ranked.node(child).total);
                let (x, end_x) = (column(start), column(end));
                if end_x > x {
                    blocks.push(Block { node: child, x, width: end_x - x, level });
                    open.push((child, start, level + 1));
                }
                start = end;
            }
        }
        blocks
    }

    /// The labels on the way to a node.
    pub(crate) fn path(ranked: &RankedTree<String>, node: u32) -> Vec<String> {
        let way = std::iter::successors(Some(node), |&it| Some(ranked.node(it).parent));
        let way = way.take_while(|&it| it != ROOT);
        let mut path: Vec<_> = way.map(|it| ranked.label(ranked.node(it).label).clone()).collect();
        path.reverse();
        path
    }

    /// The last node on a way of labels that is there.
    pub(crate) fn node_at(ranked: &RankedTree<String>, path: &[String]) -> u32 {
        let mut at = ROOT;
        for label in path {
            let children = ranked.children(at).iter().copied();
            let mut next = children.filter(|&it| ranked.label(ranked.node(it).label) == label);
            let Some(child) = next.next() else { break };
            at = child;
        }
        at
    }

    /// Selects the parent, if it is shown.
    pub(crate) fn up(&mut self, ranked: &RankedTree<String>) {
        let parent = ranked.node(self.selected).parent;
        if parent != ROOT {
            self.selected = parent;
        }
    }

    /// Selects the heaviest child.
    pub(crate) fn down(&mut self, ranked: &RankedTree<String>) {
        if let Some(&child) = ranked.children(self.selected).first() {
            self.selected = child;
        }
    }

    /// Selects the previous or the next sibling.
    pub(crate) fn aside(&mut self, ranked: &RankedTree<String>, by: isize) {
        let siblings = ranked.children(ranked.node(self.selected).parent);
        if let Some(place) = siblings.iter().position(|&it| it == self.selected) {
            let place = place.saturating_add_signed(by).min(siblings.len() - 1);
            self.selected = siblings[place];
        }
    }

    /// Zooms in on the selected node; zooms out if it is zoomed in on already.
    pub(crate) fn zoom(&mut self, ranked: &RankedTree<String>) {
        self.zoom =
            if self.zoom == self.selected { ranked.node(self.zoom).parent } else { self.selected };
    }
}
