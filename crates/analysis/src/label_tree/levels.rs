//! A tree of labels in the order of writing: a node, then all below it, siblings in the order of their
//! labels.

use std::cmp::Ordering;
use std::hash::Hash;
use std::iter::{self, Peekable};

use perk_profile::{KeyedMap, Metric, Profile, TraceId};

use super::{LabelNode, LabelTree, Part, ROOT, Scope, StartFold, index};

/// A node. There can be many millions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelNode {
    /// The number of nodes above it.
    pub level: u32,
    /// The index of its label.
    pub label: u32,
    /// The number that ends here in the profile before, if two are compared.
    pub before: u64,
    /// The number that ends here.
    pub after: u64,
}

/// The tree of a profile with its threads, or the merged trees of two profiles.
#[derive(Debug)]
pub struct LevelTree<L> {
    /// The labels.
    pub labels: Vec<L>,
    /// The nodes in preorder.
    pub nodes: Vec<LevelNode>,
    /// The traces that have numbers, in order, each with the index of the node in which it ends.
    pub ends: Vec<(TraceId, u32)>,
    /// The same of the profile before, if two are compared.
    pub ends_before: Vec<(TraceId, u32)>,
}

impl<L: Clone + Ord + Hash> LevelTree<L> {
    /// Makes the tree of all numbers of `metric` in `profile`, labelled by `label`.
    pub fn new(profile: &Profile, metric: &Metric, label: impl Fn(Part) -> L) -> Self {
        let scope = Scope { by_thread: true, thread: None, through: None };
        let LabelTree { labels, nodes: by_parent, mut ends } =
            LabelTree::new(profile, metric, &scope, &StartFold::default(), label);
        let ranks = ranks(&labels);
        // Parent, rank and node, last sibling first, as the stack reverses the order.
        let mut edges: Vec<(u32, u32, u32)> = (1..by_parent.len())
            .map(|node| {
                let LabelNode { parent, label, .. } = by_parent[node];
                (parent, u32::MAX - ranks[label as usize], index(node))
            })
            .collect();
        edges.sort_unstable();
        let children = |node: u32| {
            let begin = edges.partition_point(|edge| edge.0 < node);
            edges[begin..].iter().take_while(move |edge| edge.0 == node).map(|edge| edge.2)
        };
        let mut nodes = Vec::with_capacity(edges.len());
        let mut places = vec![0; by_parent.len()];
        let mut open: Vec<(u32, u32)> = children(ROOT).map(|node| (node, 0)).collect();
        while let Some((node, level)) = open.pop() {
            let LabelNode { label, own, .. } = by_parent[node as usize];
            places[node as usize] = index(nodes.len());
            nodes.push(LevelNode { level, label, before: 0, after: own });
            open.extend(children(node).map(|child| (child, level + 1)));
        }
        ends.iter_mut().for_each(|(_, node)| *node = places[*node as usize]);
        Self { labels, nodes, ends, ends_before: Vec::new() }
    }

    /// Merges the tree of the profile before with that of the profile after.
    pub fn compare(before: Self, after: Self) -> Self {
        let mut labels = before.labels;
        let mut known: KeyedMap<L, u32> = KeyedMap::default();
        known.extend(labels.iter().cloned().zip(0..));
        let places = after.labels.into_iter().map(|label| {
            *known.entry(label).or_insert_with_key(|label| {
                labels.push(label.clone());
                index(labels.len() - 1)
            })
        });
        let places: Vec<u32> = places.collect();
        let ranks = ranks(&labels);
        let mut nodes = Vec::with_capacity(before.nodes.len().max(after.nodes.len()));
        let gone = |node: LevelNode| LevelNode { before: node.after, after: 0, ..node };
        let new = |node: LevelNode| LevelNode { label: places[node.label as usize], ..node };
        // Where the nodes of each tree are in the merged one.
        let mut moved =
            [Vec::with_capacity(before.nodes.len()), Vec::with_capacity(after.nodes.len())];
        let mut left = before.nodes.into_iter().map(gone).peekable();
        let mut right = after.nodes.into_iter().map(new).peekable();
        loop {
            // Both follow the same parent: if one is deeper, only its profile has more nodes there.
            let order = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => {
                    let rank = |node: &LevelNode| ranks[node.label as usize];
                    b.level.cmp(&a.level).then_with(|| rank(a).cmp(&rank(b)))
                }
            };
            match order {
                Ordering::Equal => {
                    if let (Some(a), Some(b)) = (left.next(), right.next()) {
                        moved.iter_mut().for_each(|places| places.push(index(nodes.len())));
                        nodes.push(LevelNode { after: b.after, ..a });
                    }
                }
                Ordering::Less => take_branch(&mut left, &mut nodes, &mut moved[0]),
                Ordering::Greater => take_branch(&mut right, &mut nodes, &mut moved[1]),
            }
        }
        let ends = |ends: Vec<(TraceId, u32)>, places: &[u32]| {
            ends.into_iter().map(|(trace, node)| (trace, places[node as usize])).collect()
        };
        let ends_before = ends(before.ends, &moved[0]);
        Self { labels, nodes, ends: ends(after.ends, &moved[1]), ends_before }
    }
}

/// Moves the next node and all below it. Their places are added to `moved`.
fn take_branch(
    from: &mut Peekable<impl Iterator<Item = LevelNode>>,
    nodes: &mut Vec<LevelNode>,
    moved: &mut Vec<u32>,
) {
    let Some(top) = from.next() else { return };
    let first = index(nodes.len());
    nodes.push(top);
    nodes.extend(iter::from_fn(|| from.next_if(|node| node.level > top.level)));
    moved.extend(first..index(nodes.len()));
}

/// The rank of each label in the order of all labels.
fn ranks<L: Ord>(labels: &[L]) -> Vec<u32> {
    let mut by_label: Vec<u32> = (0..index(labels.len())).collect();
    by_label.sort_unstable_by_key(|&label| &labels[label as usize]);
    let mut ranks = vec![0_u32; labels.len()];
    for (rank, &label) in by_label.iter().enumerate() {
        ranks[label as usize] = index(rank);
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::super::{name, stacks};
    use super::*;

    fn tree(text: &str) -> LevelTree<String> {
        let profile = stacks(text);
        LevelTree::new(&profile, &Metric::Samples, |part| name(&profile, part))
    }

    fn shown(tree: &LevelTree<String>) -> Vec<(u32, &str, u64, u64)> {
        let label = |it: &LevelNode| tree.labels[it.label as usize].as_str();
        tree.nodes.iter().map(|it| (it.level, label(it), it.before, it.after)).collect()
    }

    #[test]
    fn preorder_with_siblings_in_label_order() {
        let tree = tree("b;d 1\na 2\nb 3\nb;c;e 4\n");
        assert_eq!(
            shown(&tree),
            [(0, "a", 0, 2), (0, "b", 0, 3), (1, "c", 0, 0), (2, "e", 0, 4), (1, "d", 0, 1)]
        );
    }

    #[test]
    fn trees_are_laid_on_each_other() {
        let before = tree("a;b;c 1\na;b;d 2\na;x 3\nz;y 4\n");
        let after = tree("a;b;d 20\na;b;e;f 30\na 40\nb;y 50\n");
        let merged = LevelTree::compare(before, after);
        let ends = |ends: &[(TraceId, u32)]| ends.iter().map(|end| end.1).collect::<Vec<_>>();
        let [before, after] = [&merged.ends_before, &merged.ends].map(|it| ends(it));
        assert_eq!((before, after), (vec![2, 3, 6, 10], vec![3, 5, 0, 8]));
        assert_eq!(
            shown(&merged),
            [
                (0, "a", 0, 40),
                (1, "b", 0, 0),
                (2, "c", 1, 0),
                (2, "d", 2, 20),
                (2, "e", 0, 0),
                (3, "f", 0, 30),
                (1, "x", 3, 0),
                (0, "b", 0, 0),
                (1, "y", 0, 50),
                (0, "z", 0, 0),
                (1, "y", 4, 0),
            ]
        );
    }

    #[test]
    fn equal_labels_are_one_node() {
        let profile = stacks("a 1\nb 2\n");
        let tree = LevelTree::new(&profile, &Metric::Samples, |_| ());
        assert_eq!(tree.nodes, [LevelNode { level: 0, label: 0, before: 0, after: 3 }]);
    }
}
