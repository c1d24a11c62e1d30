//! Flame graphs of profiles with millions of call paths: only what is seen is made.
//!
//! A [`FlameGraph`] has the sums of one question, a number for each node of the profile's tree. Nodes of a view
//! are made when they are looked at: a node represents the nodes of the tree that have the same labels on their
//! paths, and its children are those of all of them, put together by label. Two profiles can be the two sides
//! of one graph.

mod label;
mod numbers;
mod view;

#[cfg(test)]
mod tests;

use perk_profile::{NodeId, Profile};

use crate::Owners;
pub use label::{FlameLabel, LabelKind, Level};
pub use numbers::{FlameGraph, Group, Question};
pub use view::{Direction, FlameNode, FlameView, Place, Sum};

/// What all questions about a profile need.
#[derive(Debug)]
pub struct FlameIndex {
    /// The next sibling of each node; 0 where there is none.
    next: Vec<u32>,
    /// The first child of each node; 0 where there is none.
    first: Vec<u32>,
    owners: Owners,
}

impl FlameIndex {
    /// Indexes the nodes of a profile.
    pub fn new(profile: &Profile) -> Self {
        let count = profile.tree.len();
        let (mut first, mut next) = (vec![0; count], vec![0; count]);
        for index in (1..count).rev() {
            let parent = profile.tree.parent(NodeId::new(index)).map_or(0, NodeId::index);
            next[index] = first[parent];
            first[parent] = index as u32;
        }
        Self { next, first, owners: Owners::new(profile) }
    }

    /// The children of a node of the tree, in their order.
    fn children(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let at = |node: u32| Some(node).filter(|&it| it != 0);
        std::iter::successors(at(self.first[node as usize]), move |&it| at(self.next[it as usize]))
    }
}
