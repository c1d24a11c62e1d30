//! Chains of a call tree: paths of which each is the only continuation of the one before.
//!
//! Most paths of a profile with many stacks have one callee and no stack that ends there. Such paths are one chain
//! with what follows them, up to the first path with several callees or with the end of a stack: all of them have the
//! same sum. Chains are numbered so that those below one follow each other: what is looked at together is together
//! in memory.

use std::iter;
use std::ops::Range;

use perk_profile::{CallTree, FrameId, NodeId, PathId};

use crate::bits::{Bits, RankedBits};

/// The chains of the paths of a tree. A path's index is that of its node.
#[derive(Clone, Debug)]
pub(crate) struct Chains {
    path_count: usize,
    /// The paths with which chains begin.
    begins: RankedBits,
    /// The number of each chain, in the order of their first paths.
    ids: Vec<u32>,
    /// The chains that have others below them, by their place in that order. Most have none.
    inner: RankedBits,
    /// The first number below each of them, and the end.
    below: Vec<u32>,
    /// The first path of each chain, by its number.
    heads: Vec<PathId>,
    /// The frame of that path; that of the root has no meaning.
    frames: Vec<FrameId>,
}

/// What follows a path.
#[derive(Clone, Debug)]
pub(crate) enum Below {
    /// The next path of its chain.
    Next(PathId),
    /// Chains of these numbers.
    Chains(Range<usize>),
}

impl Chains {
    /// Finds the chains of a tree in which stacks end at these nodes.
    pub(super) fn new(tree: &CallTree, ends: impl Iterator<Item = NodeId>) -> Self {
        let path_count = tree.len();
        // The paths after which a chain ends.
        let mut last = Bits::new(path_count);
        last.set(0);
        ends.for_each(|node| last.set(node.index()));
        for (index, (parent, _)) in (1..).zip(tree.edges()) {
            if tree.first_child(parent) != Some(NodeId::new(index)) {
                last.set(parent.index());
            }
        }
        let mut begins = Bits::new(path_count);
        begins.set(0);
        for (index, (parent, _)) in (1..).zip(tree.edges()) {
            let above = parent.index();
            if above + 1 != index || last.has(above) {
                begins.set(index);
            }
        }
        drop(last);
        let begins = RankedBits::new(begins);
        let count = begins.len();
        let mut chains = Self {
            path_count,
            begins,
            ids: vec![0; count],
            inner: RankedBits::default(),
            below: Vec::new(),
            heads: vec![PathId::new(0); count],
            frames: vec![FrameId::new(0); count],
        };
        chains.number(tree);
        chains
    }

    /// Numbers the chains, in the order of those above them: one that is above others has a number below theirs.
    fn number(&mut self, tree: &CallTree) {
        let inner = |path: PathId| {
            let node = NodeId::new(path.index());
            Some((tree.parent(node)?, tree.frame(node)?))
        };
        let heads: Vec<PathId> = self.ranges().map(|paths| PathId::new(paths.start)).collect();
        let rank_above = |chains: &Self, parent: NodeId| chains.rank(PathId::new(parent.index()));
        let parents = || heads.iter().filter_map(|&head| Some(inner(head)?.0));
        let mut above = Bits::new(self.len());
        parents().for_each(|parent| above.set(rank_above(self, parent)));
        self.inner = RankedBits::new(above);
        self.below = vec![0; self.inner.len() + 1];
        let place_above = |chains: &Self, parent| chains.inner.place(rank_above(chains, parent));
        for parent in parents() {
            if let Some(place) = place_above(self, parent) {
                self.below[place + 1] += 1;
            }
        }
        // The root has the first number.
        let mut sum = 1;
        for begin in &mut self.below {
            sum += *begin;
            *begin = sum;
        }
        let mut next = self.below.clone();
        for (rank, &head) in heads.iter().enumerate() {
            let Some((parent, frame)) = inner(head) else { continue };
            let Some(place) = place_above(self, parent) else { continue };
            let id = next[place] as usize;
            next[place] += 1;
            self.ids[rank] = id as u32;
            (self.heads[id], self.frames[id]) = (head, frame);
        }
    }

    /// The number of chains.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The number of the chain of a path.
    #[inline]
    pub(crate) fn of(&self, path: PathId) -> usize {
        self.ids[self.rank(path)] as usize
    }

    /// The place of the chain of a path in the order of their first paths.
    #[inline]
    fn rank(&self, path: PathId) -> usize {
        self.begins.count_up_to(path.index()) - 1
    }

    /// Whether no path follows in the same chain.
    #[inline]
    pub(crate) fn is_last(&self, path: PathId) -> bool {
        let next = path.index() + 1;
        next == self.path_count || self.begins.bits().has(next)
    }

    /// What follows a path.
    #[inline]
    pub(crate) fn below(&self, path: PathId) -> Below {
        match self.is_last(path) {
            true => Below::Chains(self.below_last(path)),
            false => Below::Next(PathId::new(path.index() + 1)),
        }
    }

    /// The numbers of the chains below the last path of one.
    #[inline]
    pub(crate) fn below_last(&self, path: PathId) -> Range<usize> {
        self.below_rank(self.rank(path))
    }

    #[inline]
    fn below_rank(&self, rank: usize) -> Range<usize> {
        let of_place = |place: usize| self.below[place] as usize..self.below[place + 1] as usize;
        self.inner.place(rank).map_or(0..0, of_place)
    }

    /// The first paths of the chains of these numbers.
    #[inline]
    pub(crate) fn heads(&self, numbers: Range<usize>) -> &[PathId] {
        &self.heads[numbers]
    }

    /// The frames of these paths.
    #[inline]
    pub(crate) fn frames(&self, numbers: Range<usize>) -> &[FrameId] {
        &self.frames[numbers]
    }

    /// All chains, each before those below it: its paths, its number, and the numbers of the chains below it.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Range<usize>, usize, Range<usize>)> + '_ {
        let numbers = self.ids.iter().enumerate();
        let numbers = numbers.map(|(rank, &id)| (id as usize, self.below_rank(rank)));
        self.ranges().zip(numbers).map(|(paths, (id, below))| (paths, id, below))
    }

    /// The chains that have others below them, each after those, with the numbers of those.
    pub(crate) fn inner_from_below(&self) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        let all = (0..self.len()).rev().map(|rank| (rank, self.below_rank(rank)));
        let inner = all.filter(|(_, below)| !below.is_empty());
        inner.map(|(rank, below)| (self.ids[rank] as usize, below))
    }

    /// The paths of each chain, in their order.
    fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut end = 0;
        iter::from_fn(move || {
            let begin = end;
            end = self.begins.bits().next_from(begin + 1).unwrap_or(self.path_count);
            (begin < end).then_some(begin..end)
        })
    }
}

#[cfg(test)]
mod tests {
    use perk_profile::Profile;

    use super::*;
    use crate::fixture::stack;

    #[test]
    fn chains_end_where_stacks_end_or_part() {
        let mut profile = Profile::default();
        let nodes = [
            "T.d<T.c<T.b<T.a",
            "T.f<T.e<T.b<T.a",
            "T.b<T.a<T.x",
            "T.c<T.b<T.a<T.x",
            "T.g<T.c<T.b<T.a",
        ];
        let nodes = nodes.map(|path| stack(&mut profile, path));
        let chains = Chains::new(&profile.tree, nodes.into_iter());
        let all: Vec<_> = chains.all().collect();
        // The root; a, b; c; d; e, f; x, a, b; c; g.
        let paths: Vec<_> = all.iter().map(|it| it.0.clone()).collect();
        assert_eq!(paths, [0..1, 1..3, 3..4, 4..5, 5..7, 7..10, 10..11, 11..12]);
        let numbers: Vec<_> = all.iter().map(|it| it.1).collect();
        assert_eq!(numbers, [0, 1, 3, 5, 4, 2, 7, 6]);
        for (paths, id, below) in all {
            for path in paths.clone().map(PathId::new) {
                assert_eq!(chains.of(path), id);
                assert_eq!(chains.is_last(path), path.index() + 1 == paths.end);
            }
            let last = NodeId::new(paths.end - 1);
            let children = (1..profile.tree.len()).map(NodeId::new);
            let children = children.filter(|&it| profile.tree.parent(it) == Some(last));
            let children: Vec<_> = children.map(|it| PathId::new(it.index())).collect();
            assert_eq!(chains.heads(below.clone()), children);
            for (&head, &frame) in children.iter().zip(chains.frames(below)) {
                assert_eq!(profile.tree.frame(NodeId::new(head.index())), Some(frame));
            }
        }
    }
}
