//! A tree on the screen. Its nodes are created when their parent is opened.

use std::cmp::Reverse;

use perk_analysis::label_tree::{ROOT, RankedTree};
use perk_profile::KeyedMap;

/// The direction in which a tree grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From callers to callees.
    Down,
    /// From callees to callers.
    Up,
}

#[derive(Debug)]
struct Node {
    label: u32,
    level: usize,
    own: u64,
    total: u64,
    /// The nodes of the ranked tree that it represents; in a tree that grows up, with the weight of
    /// each.
    items: Vec<(u32, u64)>,
    parent: Option<usize>,
    children: Option<Vec<usize>>,
    is_open: bool,
}

/// A line of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TreeLine {
    /// The node, for [`LazyTree::toggle`] and similar methods.
    pub(crate) node: usize,
    pub(crate) label: u32,
    pub(crate) level: usize,
    pub(crate) own: u64,
    pub(crate) total: u64,
    /// Whether it is open; `None` if it does not have children.
    pub(crate) is_open: Option<bool>,
}

/// The nodes that have been opened so far.
#[derive(Debug)]
pub(crate) struct LazyTree {
    direction: Direction,
    nodes: Vec<Node>,
    roots: Vec<usize>,
    lines: Vec<TreeLine>,
}

impl LazyTree {
    /// Makes the whole tree from its root down.
    pub(crate) fn top_down(ranked: &RankedTree<String>) -> Self {
        Self::new(ranked, Direction::Down, ranked.children(ROOT).iter().map(|&it| (it, 0)))
    }

    /// Makes the whole tree up from the nodes at which its numbers end.
    pub(crate) fn bottom_up(ranked: &RankedTree<String>) -> Self {
        Self::new(ranked, Direction::Up, ranked.ends().map(|node| (node, ranked.node(node).own)))
    }

    /// Makes the tree of the callers, or of the callees, of a label; an empty tree without one.
    pub(crate) fn around(
        ranked: &RankedTree<String>,
        label: Option<u32>,
        direction: Direction,
    ) -> Self {
        let items = label.into_iter().flat_map(|label| ranked.outermost(label));
        let items = items.map(|it| (it, ranked.node(it).total));
        let mut tree = Self::new(ranked, direction, items);
        for root in tree.roots.clone() {
            tree.open(ranked, root);
        }
        tree
    }

    fn new(
        ranked: &RankedTree<String>,
        direction: Direction,
        items: impl Iterator<Item = (u32, u64)>,
    ) -> Self {
        let mut tree = Self { direction, nodes: Vec::new(), roots: Vec::new(), lines: Vec::new() };
        tree.roots = tree.group(ranked, items, None);
        tree.layout(ranked);
        tree
    }

    /// All lines of the tree, of which the screen may show a part.
    pub(crate) fn lines(&self) -> &[TreeLine] {
        &self.lines
    }

    /// Opens a closed node, or closes an open one.
    pub(crate) fn toggle(&mut self, ranked: &RankedTree<String>, node: usize) {
        if self.nodes[node].is_open { self.close(ranked, node) } else { self.open(ranked, node) }
    }

    pub(crate) fn open(&mut self, ranked: &RankedTree<String>, node: usize) {
        self.grow(ranked, node);
        self.nodes[node].is_open = true;
        self.layout(ranked);
    }

    pub(crate) fn close(&mut self, ranked: &RankedTree<String>, node: usize) {
        self.nodes[node].is_open = false;
        self.layout(ranked);
    }

    /// Opens the heaviest child, its heaviest child, and so on.
    pub(crate) fn open_heaviest(&mut self, ranked: &RankedTree<String>, node: usize) {
        let mut next = Some(node);
        while let Some(node) = next {
            self.grow(ranked, node);
            self.nodes[node].is_open = true;
            next = self.nodes[node].children.as_ref().and_then(|it| it.first().copied());
        }
        self.layout(ranked);
    }

    /// The line of the parent of `node`.
    pub(crate) fn line_of_parent(&self, node: usize) -> Option<usize> {
        let parent = self.nodes[node].parent?;
        self.lines.iter().position(|line| line.node == parent)
    }

    /// The labels on the way to each node that is open.
    pub(crate) fn opened(&self, ranked: &RankedTree<String>) -> Vec<Vec<String>> {
        let open = (0..self.nodes.len()).filter(|&node| self.nodes[node].is_open);
        let path = |node: usize| {
            let way = std::iter::successors(Some(node), |&it| self.nodes[it].parent);
            let mut path: Vec<_> =
                way.map(|it| ranked.label(self.nodes[it].label).clone()).collect();
            path.reverse();
            path
        };
        open.map(path).collect()
    }

    /// Opens the nodes with these labels on the way to them, where they are there.
    pub(crate) fn reopen(&mut self, ranked: &RankedTree<String>, opened: &[Vec<String>]) {
        for path in opened {
            let (mut siblings, mut found) = (self.roots.clone(), None);
            for label in path {
                found = siblings
                    .iter()
                    .copied()
                    .find(|&node| ranked.label(self.nodes[node].label) == label);
                let Some(node) = found else { break };
                self.grow(ranked, node);
                siblings = self.nodes[node].children.clone().unwrap_or_default();
            }
            if let Some(node) = found {
                self.nodes[node].is_open = true;
            }
        }
        self.layout(ranked);
    }

    fn grow(&mut self, ranked: &RankedTree<String>, node: usize) {
        if self.nodes[node].children.is_some() {
            return;
        }
        let items = &self.nodes[node].items;
        let next: Vec<(u32, u64)> = match self.direction {
            Direction::Down => {
                let children = items.iter().flat_map(|&(item, _)| ranked.children(item));
                children.map(|&child| (child, 0)).collect()
            }
            Direction::Up => {
                let parent = |&(item, weight): &(u32, u64)| (ranked.node(item).parent, weight);
                items.iter().map(parent).filter(|&(parent, _)| parent != ROOT).collect()
            }
        };
        let children = self.group(ranked, next.into_iter(), Some(node));
        self.nodes[node].children = Some(children);
    }

    /// Makes new nodes for `items`, one per label, most first.
    fn group(
        &mut self,
        ranked: &RankedTree<String>,
        items: impl Iterator<Item = (u32, u64)>,
        parent: Option<usize>,
    ) -> Vec<usize> {
        let level = parent.map_or(0, |parent| self.nodes[parent].level + 1);
        let mut of_label: KeyedMap<u32, usize> = KeyedMap::default();
        let mut group = Vec::new();
        for (item, weight) in items {
            let ranked_node = ranked.node(item);
            let label = ranked_node.label;
            let place = *of_label.entry(label).or_insert_with(|| {
                let (items, children) = (Vec::new(), None);
                let is_open = false;
                self.nodes.push(Node {
                    label,
                    level,
                    own: 0,
                    total: 0,
                    items,
                    parent,
                    children,
                    is_open,
                });
                group.push(self.nodes.len() - 1);
                self.nodes.len() - 1
            });
            let node = &mut self.nodes[place];
            let (own, total) = match self.direction {
                Direction::Down => (ranked_node.own, ranked_node.total),
                Direction::Up => (weight, weight),
            };
            node.own = node.own.saturating_add(own);
            node.total = node.total.saturating_add(total);
            node.items.push((item, weight));
        }
        group
            .sort_by_key(|&it| (Reverse(self.nodes[it].total), ranked.label(self.nodes[it].label)));
        group
    }

    fn has_children(&self, ranked: &RankedTree<String>, node: &Node) -> bool {
        match (&node.children, self.direction) {
            (Some(children), _) => !children.is_empty(),
            (None, Direction::Down) => {
                node.items.iter().any(|&(item, _)| !ranked.children(item).is_empty())
            }
            (None, Direction::Up) => {
                node.items.iter().any(|&(item, _)| ranked.node(item).parent != ROOT)
            }
        }
    }

    fn layout(&mut self, ranked: &RankedTree<String>) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.clear();
        let mut open: Vec<usize> = self.roots.iter().rev().copied().collect();
        while let Some(index) = open.pop() {
            let node = &self.nodes[index];
            lines.push(TreeLine {
                node: index,
                label: node.label,
                level: node.level,
                own: node.own,
                total: node.total,
                is_open: self.has_children(ranked, node).then_some(node.is_open),
            });
            if let Some(children) = node.children.as_ref().filter(|_| node.is_open) {
                open.extend(children.iter().rev());
            }
        }
        self.lines = lines;
    }
}
