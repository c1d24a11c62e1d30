//! A tree of labels for browsing: siblings are ordered by their totals.

use std::cmp::Reverse;
use std::hash::Hash;

use perk_profile::{Metric, Profile};

use super::{LabelNode, LabelTree, Part, ROOT, Scope, StartFold, index};

/// A node of the tree.
#[derive(Clone, Copy, Debug)]
pub struct RankedNode {
    /// The node above.
    pub parent: u32,
    /// The index of its label.
    pub label: u32,
    /// The number that ends here.
    pub own: u64,
    /// The number that ends here or below.
    pub total: u64,
}

/// The numbers of a label over the whole tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelTotal {
    /// The index of the label.
    pub label: u32,
    /// The number that ends at it.
    pub own: u64,
    /// The number that ends at it or below. If a method calls itself, only the outer call counts.
    pub total: u64,
}

/// The tree of a part of a profile.
#[derive(Debug)]
pub struct RankedTree<L> {
    /// The labels.
    pub labels: Vec<L>,
    /// A parent's index is below its children's; the first is [`ROOT`].
    nodes: Vec<LabelNode>,
    /// The number that ends at each node or below.
    totals: Vec<u64>,
    /// The children of node `i` are `children[starts[i]..starts[i + 1]]`, most first.
    children: Vec<u32>,
    starts: Vec<u32>,
}

impl<L: Clone + Ord + Hash> RankedTree<L> {
    /// Makes the tree of the numbers of `metric` in the part `scope` of `profile`, labelled by
    /// `label`.
    pub fn new(
        profile: &Profile,
        metric: &Metric,
        scope: &Scope<L>,
        label: impl Fn(Part) -> L,
    ) -> Self {
        Self::folded(profile, metric, scope, &StartFold::default(), label)
    }

    /// As [`RankedTree::new`], where `fold` has the frames and the times that are one node each.
    pub fn folded(
        profile: &Profile,
        metric: &Metric,
        scope: &Scope<L>,
        fold: &StartFold,
        label: impl Fn(Part) -> L,
    ) -> Self {
        let LabelTree { labels, nodes, .. } = LabelTree::new(profile, metric, scope, fold, label);
        let mut totals: Vec<u64> = nodes.iter().map(|node| node.own).collect();
        for index in (1..nodes.len()).rev() {
            let (total, parent) = (totals[index], nodes[index].parent as usize);
            totals[parent] = totals[parent].saturating_add(total);
        }
        // Paths that the scope leaves out have nodes without a number.
        let shown = || nodes.iter().enumerate().skip(1).filter(|&(index, _)| totals[index] > 0);
        let mut starts = vec![0_u32; nodes.len() + 1];
        for (_, node) in shown() {
            starts[node.parent as usize + 1] += 1;
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let mut next = starts.clone();
        let mut children = vec![0_u32; shown().count()];
        for (index, node) in shown() {
            let place = &mut next[node.parent as usize];
            children[*place as usize] = index as u32;
            *place += 1;
        }
        for range in starts.windows(2) {
            let siblings = &mut children[range[0] as usize..range[1] as usize];
            siblings.sort_by_key(|&child| {
                let node = &nodes[child as usize];
                (Reverse(totals[child as usize]), &labels[node.label as usize])
            });
        }
        Self { labels, nodes, totals, children, starts }
    }

    /// Returns a node.
    pub fn node(&self, index: u32) -> RankedNode {
        let LabelNode { parent, label, own } = self.nodes[index as usize];
        RankedNode { parent, label, own, total: self.totals[index as usize] }
    }

    /// The nodes that numbers end at.
    pub fn ends(&self) -> impl Iterator<Item = u32> + '_ {
        let ends = self.nodes.iter().enumerate().skip(1).filter(|(_, node)| node.own > 0);
        ends.map(|(node, _)| index(node))
    }

    /// Returns a label.
    pub fn label(&self, label: u32) -> &L {
        &self.labels[label as usize]
    }

    /// The total of the tree.
    pub fn total(&self) -> u64 {
        self.totals[ROOT as usize]
    }

    /// The children of a node, most first.
    pub fn children(&self, index: u32) -> &[u32] {
        let range = self.starts[index as usize] as usize..self.starts[index as usize + 1] as usize;
        &self.children[range]
    }

    /// All labels with their numbers.
    pub fn flat(&self) -> Vec<LabelTotal> {
        let mut rows: Vec<LabelTotal> = (0..self.labels.len() as u32)
            .map(|label| LabelTotal { label, own: 0, total: 0 })
            .collect();
        self.walk(|node, is_outermost| {
            let row = &mut rows[node.label as usize];
            row.own = row.own.saturating_add(node.own);
            if is_outermost {
                row.total = row.total.saturating_add(node.total);
            }
        });
        rows.retain(|row| row.total > 0);
        rows
    }

    /// The nodes of a label that are not below another node of it.
    pub fn outermost(&self, label: u32) -> Vec<u32> {
        let mut found = Vec::new();
        let mut open = vec![ROOT];
        while let Some(index) = open.pop() {
            if index != ROOT && self.node(index).label == label {
                found.push(index);
            } else {
                open.extend(self.children(index));
            }
        }
        found
    }

    /// Visits each node, and passes whether no node above it has its label.
    fn walk(&self, mut visit: impl FnMut(RankedNode, bool)) {
        let mut on_path = vec![0_u32; self.labels.len()];
        // A node, and whether all below it has been visited.
        let mut open: Vec<(u32, bool)> =
            self.children(ROOT).iter().map(|&child| (child, false)).collect();
        while let Some((index, is_done)) = open.pop() {
            let node = self.node(index);
            let count = &mut on_path[node.label as usize];
            if is_done {
                *count -= 1;
                continue;
            }
            visit(node, *count == 0);
            *count += 1;
            open.push((index, true));
            open.extend(self.children(index).iter().map(|&child| (child, false)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{name, stacks};
    use super::*;

    fn tree(profile: &Profile, scope: &Scope<String>) -> RankedTree<String> {
        RankedTree::new(profile, &Metric::Samples, scope, |part| name(profile, part))
    }

    #[test]
    fn siblings_are_in_the_order_of_their_totals() {
        let profile = stacks("a;b;a 1\na;c 4\na;c;b 2\nd 3\n");
        let tree = tree(&profile, &Scope::default());
        let labels = |node| -> Vec<&str> {
            let children = tree.children(node).iter();
            children.map(|&child| tree.label(tree.node(child).label).as_str()).collect()
        };
        assert_eq!((labels(ROOT), tree.total()), (vec!["a", "d"], 10));
        assert_eq!(labels(tree.children(ROOT)[0]), ["c", "b"]);
        let flat: Vec<_> = tree.flat().iter().map(|it| (it.own, it.total)).collect();
        // a, which calls itself, b, c, d.
        assert_eq!(flat, [(1, 7), (2, 3), (4, 6), (3, 3)]);
        assert_eq!(tree.outermost(0).len(), 1);
    }

    #[test]
    fn a_scope_leaves_paths_out() {
        let profile = stacks("a;b 1\na;c 4\nd 3\n");
        let scope = Scope { through: Some("b".to_owned()), ..Scope::default() };
        let tree = tree(&profile, &scope);
        assert_eq!(tree.total(), 1);
        assert_eq!(tree.flat().len(), 2);
    }
}
