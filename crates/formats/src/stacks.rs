//! Stacks while a file is read whose names come after its samples: a tree by the numbers that stand
//! in the file.

use perk_profile::KeyedMap;

/// The node of the empty stack.
pub(crate) const ROOT: u32 = 0;

/// The nodes of all stacks, shared by their common outer frames.
#[derive(Clone, Debug)]
pub(crate) struct Stacks {
    /// The parent and the frame's number of each node; a parent comes before its children.
    nodes: Vec<(u32, u64)>,
    children: KeyedMap<(u32, u64), u32>,
    /// The stack before, from the outermost frame on, and its nodes.
    last: Vec<(u64, u32)>,
}

impl Default for Stacks {
    fn default() -> Self {
        Self { nodes: vec![(ROOT, 0)], children: KeyedMap::default(), last: Vec::new() }
    }
}

impl Stacks {
    /// The node of a stack, given from the outermost frame inward.
    pub(crate) fn node(&mut self, frames: impl Iterator<Item = u64> + Clone) -> u32 {
        let same = self.last.iter().zip(frames.clone());
        let same = same.take_while(|((before, _), now)| before == now).count();
        self.last.truncate(same);
        let mut node = self.last.last().map_or(ROOT, |&(_, node)| node);
        for frame in frames.skip(same) {
            node = self.child(node, frame);
            self.last.push((frame, node));
        }
        node
    }

    /// The node of one more frame on `node`.
    pub(crate) fn child(&mut self, node: u32, frame: u64) -> u32 {
        *self.children.entry((node, frame)).or_insert_with(|| {
            self.nodes.push((node, frame));
            u32::try_from(self.nodes.len() - 1)
                .expect("a profile's tables hold less than 2^32 entries")
        })
    }

    /// The parent and the frame's number of a node; of [`ROOT`], itself and 0.
    pub(crate) fn get(&self, node: u32) -> (u32, u64) {
        self.nodes[node as usize]
    }

    /// The parents and frames of all nodes but [`ROOT`], in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.nodes[1..].iter().copied()
    }

    /// How many nodes there are, [`ROOT`] among them.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
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
