//! The calling-context tree: one node for each distinct path of frames from a thread's first frame.

use std::hash::BuildHasher;

use crate::id_table::IdTable;
use crate::keyed::KeyedState;
use crate::{FrameId, NodeId, Shared};

/// The nodes of all call paths of a profile, shared by their common outer frames: a deep recursive
/// stack costs one node more than the stack it grew from.
#[derive(Clone, Debug)]
pub struct CallTree {
    nodes: Shared<Vec<Node>>,
    /// The children of each node except its first, by parent and frame.
    children: Shared<IdTable>,
    hashes: KeyedState,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: NodeId,
    /// The first of its children; the root if it has none.
    first_child: NodeId,
    /// Any value for the root, which has no frame.
    frame: FrameId,
}

impl Default for CallTree {
    fn default() -> Self {
        let (root, frame) = (NodeId::new(0), FrameId::new(0));
        let root = Node { parent: root, first_child: root, frame };
        let nodes = vec![root].into();
        Self { nodes, children: Shared::default(), hashes: KeyedState::default() }
    }
}

impl CallTree {
    /// The node of the empty path.
    pub fn root(&self) -> NodeId {
        NodeId::new(0)
    }

    /// Walks the path of `frames`, given from the outermost inward, and adds the nodes that are
    /// missing. Returns the node of the innermost frame.
    pub fn insert(&mut self, frames: impl IntoIterator<Item = FrameId>) -> NodeId {
        self.insert_below(self.root(), frames)
    }

    /// As [`CallTree::insert`], starting at `node`.
    pub fn insert_below(
        &mut self,
        mut node: NodeId,
        frames: impl IntoIterator<Item = FrameId>,
    ) -> NodeId {
        for frame in frames {
            node = self.child(node, frame).unwrap_or_else(|| self.push(node, frame));
        }
        node
    }

    fn push(&mut self, parent: NodeId, frame: FrameId) -> NodeId {
        let child = NodeId::new(self.nodes.len());
        let root = self.root();
        let Self { nodes, children, hashes } = self;
        let nodes = &mut **nodes;
        nodes.push(Node { parent, first_child: root, frame });
        let first = &mut nodes[parent.index()].first_child;
        if *first == root {
            *first = child;
        } else {
            children.insert(child.index(), |child| {
                hashes.hash_one((nodes[child].parent, nodes[child].frame))
            });
        }
        child
    }

    /// Walks the path of `frames`, given from the outermost inward, as far as it is in the tree.
    /// Returns the node where that ends and the number of frames up to it.
    pub fn longest(&self, frames: impl IntoIterator<Item = FrameId>) -> (NodeId, usize) {
        let (mut node, mut depth) = (self.root(), 0);
        for frame in frames {
            let Some(child) = self.child(node, frame) else { break };
            (node, depth) = (child, depth + 1);
        }
        (node, depth)
    }

    /// The node below `node` that has this frame.
    pub fn child(&self, node: NodeId, frame: FrameId) -> Option<NodeId> {
        let first = self.nodes[node.index()].first_child;
        if first == self.root() {
            return None;
        }
        if self.nodes[first.index()].frame == frame {
            return Some(first);
        }
        let is_wanted = |child: usize| {
            let Node { parent, frame: its, .. } = self.nodes[child];
            (parent, its) == (node, frame)
        };
        self.children.get(self.hashes.hash_one((node, frame)), is_wanted).map(NodeId::new)
    }

    /// The child of `node` that was the first one; `None` if it has none.
    pub fn first_child(&self, node: NodeId) -> Option<NodeId> {
        let child = self.nodes[node.index()].first_child;
        (child != self.root()).then_some(child)
    }

    /// Whether both are one tree in memory: copies that none has changed since.
    pub fn is_same(&self, other: &Self) -> bool {
        self.nodes.is_same(&other.nodes)
    }

    /// The path to `node`, from the innermost frame outward.
    pub fn frames(&self, node: NodeId) -> impl Iterator<Item = FrameId> + '_ {
        let mut at = node;
        std::iter::from_fn(move || {
            let node = self.inner(at)?;
            at = node.parent;
            Some(node.frame)
        })
    }

    /// The number of frames of the path to `node`.
    pub fn depth(&self, node: NodeId) -> usize {
        self.frames(node).count()
    }

    /// The parent of `node`; `None` for the root.
    #[inline]
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        self.inner(node).map(|node| node.parent)
    }

    /// The innermost frame of `node`; `None` for the root.
    #[inline]
    pub fn frame(&self, node: NodeId) -> Option<FrameId> {
        self.inner(node).map(|node| node.frame)
    }

    /// The parent and the innermost frame of each node after the root, in their order: a parent's index is below its
    /// children's.
    pub fn edges(&self) -> impl ExactSizeIterator<Item = (NodeId, FrameId)> {
        self.nodes[1..].iter().map(|node| (node.parent, node.frame))
    }

    /// A node that is not the root.
    #[inline]
    fn inner(&self, node: NodeId) -> Option<Node> {
        (node != self.root()).then(|| self.nodes[node.index()])
    }

    /// Returns, for each node, the sum of `own` over the node and all nodes below it.
    pub fn totals(&self, own: &[u64]) -> Vec<u64> {
        let mut totals = own.to_vec();
        let nodes = &**self.nodes;
        for index in (1..nodes.len()).rev() {
            let parent = nodes[index].parent.index();
            totals[parent] = totals[parent].saturating_add(totals[index]);
        }
        totals
    }

    /// Visits all nodes except the root, each after its parent, and passes whether its frame's key,
    /// a number below `key_count`, occurs for the first time on its path.
    pub fn walk(
        &self,
        key_count: usize,
        key: impl Fn(FrameId) -> usize,
        mut visit: impl FnMut(NodeId, usize, bool),
    ) {
        let root = self.root();
        // The root means that there is no child, as it is not the child of any node.
        let mut first_child = vec![root; self.nodes.len()];
        let mut next_sibling = first_child.clone();
        for index in (1..self.nodes.len()).rev() {
            let parent = self.nodes[index].parent.index();
            next_sibling[index] = first_child[parent];
            first_child[parent] = NodeId::new(index);
        }
        let key = |node: NodeId| key(self.nodes[node.index()].frame);
        let mut open = vec![0_u32; key_count];
        let mut at = root;
        loop {
            let mut next = first_child[at.index()];
            while next == root {
                if at == root {
                    return;
                }
                open[key(at)] -= 1;
                next = next_sibling[at.index()];
                at = self.nodes[at.index()].parent;
            }
            at = next;
            let open = &mut open[key(at)];
            visit(at, key(at), *open == 0);
            *open += 1;
        }
    }

    /// The number of nodes, including the root. A parent's index is below its children's.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Never true: the root is always there.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(indexes: &[usize]) -> Vec<FrameId> {
        indexes.iter().map(|&index| FrameId::new(index)).collect()
    }

    #[test]
    fn common_outer_frames_are_shared() {
        let mut tree = CallTree::default();
        let a = tree.insert(path(&[1, 2, 3]));
        let b = tree.insert(path(&[1, 2, 4]));
        assert_eq!(tree.len(), 5);
        assert_eq!(tree.insert(path(&[1, 2, 3])), a);
        assert_eq!(tree.frames(b).collect::<Vec<_>>(), path(&[4, 2, 1]));
        assert_eq!(tree.parent(a), tree.parent(b));
        assert_eq!(tree.insert(path(&[])), tree.root());
    }

    #[test]
    fn a_path_is_followed_as_far_as_it_is_known() {
        let mut tree = CallTree::default();
        let known = tree.insert(path(&[1, 2]));
        assert_eq!(tree.longest(path(&[1, 2, 3, 4])), (known, 2));
        assert_eq!(tree.longest(path(&[1, 2])), (known, 2));
        assert_eq!(tree.longest(path(&[3])), (tree.root(), 0));
        assert_eq!(tree.len(), 3);
    }
}
