//! The children of the nodes of a call tree.

use perk_profile::{CallTree, NodeId};

/// The children of each node except its first, which the tree has itself: few nodes of a profile have more than one.
#[derive(Clone, Debug)]
pub(super) struct Children {
    /// A bit for each node: whether it has more than one child.
    has_others: Vec<u64>,
    /// The number of such nodes before those of each word.
    before: Vec<u32>,
    /// The first place among `others` of each such node, and the end.
    begins: Vec<u32>,
    /// The children, by their parent.
    others: Vec<NodeId>,
}

impl Children {
    /// Finds the children of all nodes, in their order.
    pub(super) fn new(tree: &CallTree) -> Self {
        let parents = || {
            let of_node = |index| Some((NodeId::new(index), tree.parent(NodeId::new(index))?));
            let all = (1..tree.len()).filter_map(of_node);
            all.filter(|&(node, parent)| tree.first_child(parent) != Some(node))
        };
        let mut has_others = vec![0_u64; tree.len().div_ceil(64)];
        parents().for_each(|(_, parent)| has_others[parent.index() / 64] |= bit(parent));
        let mut count = 0_u32;
        let before = has_others.iter().map(|word| {
            count += word.count_ones();
            count - word.count_ones()
        });
        let before: Vec<u32> = before.collect();
        let mut children =
            Self { has_others, before, begins: vec![0; count as usize + 1], others: Vec::new() };
        for (_, parent) in parents() {
            if let Some(place) = children.place(parent) {
                children.begins[place + 1] += 1;
            }
        }
        let mut sum = 0;
        for begin in &mut children.begins {
            sum += *begin;
            *begin = sum;
        }
        let mut next = children.begins.clone();
        children.others = vec![tree.root(); sum as usize];
        for (node, parent) in parents() {
            if let Some(place) = children.place(parent) {
                children.others[next[place] as usize] = node;
                next[place] += 1;
            }
        }
        children
    }

    /// The children of a node except its first.
    pub(super) fn others(&self, node: NodeId) -> &[NodeId] {
        let range = self.place(node).map(|place| self.begins[place]..self.begins[place + 1]);
        range.map_or(&[], |range| &self.others[range.start as usize..range.end as usize])
    }

    /// The number of a node among those with several children.
    fn place(&self, node: NodeId) -> Option<usize> {
        let (word, bit) = (self.has_others[node.index() / 64], bit(node));
        let before = self.before[node.index() / 64] + (word & (bit - 1)).count_ones();
        (word & bit != 0).then_some(before as usize)
    }
}

fn bit(node: NodeId) -> u64 {
    1 << (node.index() % 64)
}
