//! Stacks under construction, for files whose names come after their samples: a tree by the numbers
//! in the file.

use perk_profile::{CallTree, FrameId, KeyedMap, NodeId};

use crate::memory;

/// The node of the empty stack.
pub(crate) const ROOT: u32 = 0;

/// The nodes of all stacks, shared by their common outer frames.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stacks {
    /// The tree. Its frames are places in `numbers`.
    tree: CallTree,
    numbers: Vec<u64>,
    places: KeyedMap<u64, FrameId>,
    /// The previous stack, from the outermost frame on, and its nodes.
    last: Vec<(u64, u32)>,
}

impl Stacks {
    /// Returns the node of a stack, given from the outermost frame inward.
    pub(crate) fn node(&mut self, frames: impl Iterator<Item = u64> + Clone) -> u32 {
        let same = self.last.iter().zip(frames.clone());
        let same = same.take_while(|((before, _), now)| before == now).count();
        self.last.truncate(same);
        let mut node = self.last.last().map_or(ROOT, |&(_, node)| node);
        for frame in frames.skip(same) {
            if memory::is_full(1) {
                break;
            }
            node = self.child(node, frame);
            self.last.push((frame, node));
        }
        node
    }

    /// Returns the node of one more frame on `node`.
    pub(crate) fn child(&mut self, node: u32, frame: u64) -> u32 {
        let place = *self.places.entry(frame).or_insert_with(|| {
            self.numbers.push(frame);
            FrameId::new(self.numbers.len() - 1)
        });
        let child = self.tree.insert_below(NodeId::new(node as usize), [place]);
        child.index() as u32
    }

    /// Returns the parent and the frame's number of a node; of [`ROOT`], itself and 0.
    pub(crate) fn get(&self, node: u32) -> (u32, u64) {
        let node = NodeId::new(node as usize);
        let parent = self.tree.parent(node).map_or(ROOT, |parent| parent.index() as u32);
        (parent, self.tree.frame(node).map_or(0, |place| self.numbers[place.index()]))
    }

    /// Returns the parents and frames of all nodes but [`ROOT`], in order: a parent comes before
    /// its children.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (1..self.len() as u32).map(|node| self.get(node))
    }

    /// Returns the number of nodes, including [`ROOT`].
    pub(crate) fn len(&self) -> usize {
        self.tree.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_outer_frames_are_shared() {
        let mut stacks = Stacks::default();
        let long = stacks.node([5, 6, 7].into_iter());
        let short = stacks.node([5, 6].into_iter());
        let other = stacks.node([5, 8].into_iter());
        assert_eq!(stacks.node([5, 6, 7].into_iter()), long);
        assert_eq!(stacks.node([].into_iter()), ROOT);
        assert_eq!((stacks.get(long), stacks.get(short).1), ((short, 7), 6));
        assert_eq!(stacks.get(other).0, stacks.get(short).0);
        assert_eq!(stacks.iter().collect::<Vec<_>>(), [(0, 5), (1, 6), (2, 7), (1, 8)]);
        assert_eq!(stacks.len(), 5);
    }
}
