//! A tree on the screen: its nodes come into being when their parent is opened.

use std::cmp::Reverse;

use perk_profile::KeyedMap;

use crate::graph::{Graph, ROOT};

/// Which way a tree grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From callers to what they call.
    Down,
    /// From what is called to its callers.
    Up,
}

#[derive(Debug)]
struct Node {
    label: u32,
    level: usize,
    own: u64,
    total: u64,
    /// The graph's nodes that it stands for; growing up, with what each of them weighs.
    items: Vec<(u32, u64)>,
    parent: Option<usize>,
    children: Option<Vec<usize>>,
    is_open: bool,
}

/// A line of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TreeLine {
    /// The node, for [`LazyTree::toggle`] and the like.
    pub(crate) node: usize,
    pub(crate) label: u32,
    pub(crate) level: usize,
    pub(crate) own: u64,
    pub(crate) total: u64,
    /// Whether it is open; `None` where nothing is below it.
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
    /// The whole graph from its root down.
    pub(crate) fn top_down(graph: &Graph) -> Self {
        Self::new(graph, Direction::Down, graph.children(ROOT).iter().map(|&it| (it, 0)))
    }

    /// The whole graph from where its numbers end up.
    pub(crate) fn bottom_up(graph: &Graph) -> Self {
        let ends = graph.nodes.iter().enumerate().skip(1).filter(|(_, node)| node.own > 0);
        Self::new(graph, Direction::Up, ends.map(|(index, node)| (index as u32, node.own)))
    }

    /// What calls a label, or what it calls.
    pub(crate) fn around(graph: &Graph, label: u32, direction: Direction) -> Self {
        let items = graph.outermost(label).into_iter().map(|it| (it, graph.node(it).total));
        let mut tree = Self::new(graph, direction, items);
        for root in tree.roots.clone() {
            tree.open(graph, root);
        }
        tree
    }

    fn new(graph: &Graph, direction: Direction, items: impl Iterator<Item = (u32, u64)>) -> Self {
        let mut tree = Self { direction, nodes: Vec::new(), roots: Vec::new(), lines: Vec::new() };
        tree.roots = tree.group(graph, items, None);
        tree.layout(graph);
        tree
    }

    /// What is on the screen, were it high enough.
    pub(crate) fn lines(&self) -> &[TreeLine] {
        &self.lines
    }

    /// Opens a closed node, closes an open one.
    pub(crate) fn toggle(&mut self, graph: &Graph, node: usize) {
        if self.nodes[node].is_open { self.close(graph, node) } else { self.open(graph, node) }
    }

    pub(crate) fn open(&mut self, graph: &Graph, node: usize) {
        self.grow(graph, node);
        self.nodes[node].is_open = true;
        self.layout(graph);
    }

    pub(crate) fn close(&mut self, graph: &Graph, node: usize) {
        self.nodes[node].is_open = false;
        self.layout(graph);
    }

    /// Opens the heaviest child, its heaviest child, and so on.
    pub(crate) fn open_heaviest(&mut self, graph: &Graph, node: usize) {
        let mut next = Some(node);
        while let Some(node) = next {
            self.grow(graph, node);
            self.nodes[node].is_open = true;
            next = self.nodes[node].children.as_ref().and_then(|it| it.first().copied());
        }
        self.layout(graph);
    }

    /// The line of the node that `node` is below.
    pub(crate) fn line_of_parent(&self, node: usize) -> Option<usize> {
        let parent = self.nodes[node].parent?;
        self.lines.iter().position(|line| line.node == parent)
    }

    fn grow(&mut self, graph: &Graph, node: usize) {
        if self.nodes[node].children.is_some() {
            return;
        }
        let items = &self.nodes[node].items;
        let next: Vec<(u32, u64)> = match self.direction {
            Direction::Down => {
                let children = items.iter().flat_map(|&(item, _)| graph.children(item));
                children.map(|&child| (child, 0)).collect()
            }
            Direction::Up => {
                let parent = |&(item, weight): &(u32, u64)| (graph.node(item).parent, weight);
                items.iter().map(parent).filter(|&(parent, _)| parent != ROOT).collect()
            }
        };
        let children = self.group(graph, next.into_iter(), Some(node));
        self.nodes[node].children = Some(children);
    }

    /// New nodes for `items`, one a label, most first.
    fn group(
        &mut self,
        graph: &Graph,
        items: impl Iterator<Item = (u32, u64)>,
        parent: Option<usize>,
    ) -> Vec<usize> {
        let level = parent.map_or(0, |parent| self.nodes[parent].level + 1);
        let mut of_label: KeyedMap<u32, usize> = KeyedMap::default();
        let mut group = Vec::new();
        for (item, weight) in items {
            let graph_node = graph.node(item);
            let label = graph_node.label;
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
                Direction::Down => (graph_node.own, graph_node.total),
                Direction::Up => (weight, weight),
            };
            node.own = node.own.saturating_add(own);
            node.total = node.total.saturating_add(total);
            node.items.push((item, weight));
        }
        group.sort_by_key(|&it| (Reverse(self.nodes[it].total), graph.label(self.nodes[it].label)));
        group
    }

    fn has_children(&self, graph: &Graph, node: &Node) -> bool {
        match (&node.children, self.direction) {
            (Some(children), _) => !children.is_empty(),
            (None, Direction::Down) => {
                node.items.iter().any(|&(item, _)| !graph.children(item).is_empty())
            }
            (None, Direction::Up) => {
                node.items.iter().any(|&(item, _)| graph.node(item).parent != ROOT)
            }
        }
    }

    fn layout(&mut self, graph: &Graph) {
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
                is_open: self.has_children(graph, node).then_some(node.is_open),
            });
            if let Some(children) = node.children.as_ref().filter(|_| node.is_open) {
                open.extend(children.iter().rev());
            }
        }
        self.lines = lines;
    }
}
