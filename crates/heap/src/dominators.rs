//! Immediate dominators, by semi-NCA (Georgiadis): semidominators as Lengauer and Tarjan find them,
//! then the nearest common ancestor in the tree that is being made. No recursion.

use std::ops::Range;

use crate::Error;
use crate::bits::BitSet;
use crate::csr::{Csr, EdgeSource};
use crate::space::{Space, Width};

/// The place of the node above all roots, in the order of the search.
const TOP: usize = 0;

/// A depth-first search from the roots.
#[derive(Debug)]
pub(crate) struct Search<W: Width, S: Space> {
    /// The nodes in the order in which they were found, from place 1 on.
    order: S::Array<W>,
    /// The place of each node in that order, or [`TOP`].
    place: S::Array<W>,
    /// For each place, the place of the node from which it was found.
    parent: S::Array<W>,
    /// For each place that is open, the place of its next edge.
    next: S::Array<W>,
    /// The number of places.
    count: usize,
}

/// The nodes that a search has found.
#[derive(Debug)]
pub(crate) struct Dominators<W: Width, S: Space> {
    /// The nodes by their places.
    pub(crate) order: S::Array<W>,
    /// For each place the place of the node that dominates it, or 0 for the one above the roots.
    pub(crate) dominator: S::Array<W>,
    /// The number of places; 0 represents the node above the roots.
    pub(crate) count: usize,
}

impl<W: Width, S: Space> Search<W, S> {
    /// Prepares a search.
    pub(crate) fn new(space: &mut S, graph: &Csr<W, S>) -> Self {
        let count = graph.count();
        Self {
            order: space.array(count + 1, W::MOST),
            place: space.array(count, W::ZERO),
            parent: space.array(count + 1, W::ZERO),
            next: space.array(count + 1, W::ZERO),
            count: 1,
        }
    }

    /// Whether a node was found.
    pub(crate) fn has(&self, space: &mut S, node: W) -> Result<bool, Error> {
        Ok(space.get(&self.place, node.at())? != W::ZERO)
    }

    /// Goes from a root to all nodes that were not found before; calls `each` with each.
    pub(crate) fn run(
        &mut self,
        space: &mut S,
        graph: &Csr<W, S>,
        root: W,
        mut each: impl FnMut(&mut S, W) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.has(space, root)? {
            return Ok(());
        }
        each(space, root)?;
        let (mut next, mut end) = graph.range(space, root)?;
        let mut place = self.visit(space, root, TOP)?;
        loop {
            if next == end {
                let above = space.get(&self.parent, place)?.at();
                if above == TOP {
                    return Ok(());
                }
                place = above;
                let node = space.get(&self.order, place)?;
                next = space.get(&self.next, place)?;
                end = graph.range(space, node)?.1;
                continue;
            }
            let target = space.get(&graph.targets, next.at())?;
            next = W::of(next.at() + 1);
            if space.get(&self.place, target.at())? == W::ZERO {
                space.set(&mut self.next, place, next)?;
                place = self.visit(space, target, place)?;
                each(space, target)?;
                (next, end) = graph.range(space, target)?;
            }
        }
    }

    fn visit(&mut self, space: &mut S, node: W, parent: usize) -> Result<usize, Error> {
        let place = self.count;
        self.count += 1;
        space.set(&mut self.order, place, node)?;
        space.set(&mut self.parent, place, W::of(parent))?;
        space.set(&mut self.place, node.at(), W::of(place))?;
        Ok(place)
    }

    /// Returns the nodes that were found and the nodes that dominate them. The search began at these
    /// roots.
    pub(crate) fn dominators(
        self,
        space: &mut S,
        mut graph: Csr<W, S>,
        roots: &[W],
        thread_count: usize,
    ) -> Result<Dominators<W, S>, Error> {
        let count = self.count;
        let mut is_root = BitSet::new(count as u32);
        for root in roots {
            is_root.put(space.get(&self.place, root.at())?.at() as u32);
        }
        let Self { order, place, parent, next, .. } = self;
        space.free(next);
        let to_place = |space: &mut S, _, node: W| space.get(&place, node.at());
        space.update(&mut graph.targets, thread_count, to_place)?;
        space.free(place);
        // The place above all roots is left out.
        let source = Inbound { order: &order, graph: &graph, count };
        let inbound = Csr::build(space, count, thread_count, &source)?;
        graph.free(space);
        let mut semi = space.array(count, W::ZERO);
        let mut ancestor = space.array(count, W::ZERO);
        for place in 1..count {
            let above = space.get(&parent, place)?;
            space.set(&mut ancestor, place, above)?;
        }
        let label = space.array(count, W::ZERO);
        let mut linked = Forest { ancestor, label, way: Vec::new() };
        for place in (1..count).rev() {
            let own = space.get(&parent, place)?;
            let mut least = if is_root.has(place as u32) { W::ZERO } else { own };
            let (start, end) = inbound.range(space, W::of(place))?;
            for at in start.at()..end.at() {
                let from = space.get(&inbound.targets, at)?;
                let found = match from.at() < place {
                    true => from,
                    false => linked.least(space, from, place)?,
                };
                least = least.min(found);
            }
            space.set(&mut semi, place, least)?;
            space.set(&mut linked.label, place, least)?;
        }
        inbound.free(space);
        space.free(linked.ancestor);
        space.free(linked.label);
        let mut dominator = parent;
        for place in 1..count {
            let least = space.get(&semi, place)?;
            let mut above = space.get(&dominator, place)?;
            while above > least {
                above = space.get(&dominator, above.at())?;
            }
            space.set(&mut dominator, place, above)?;
        }
        space.free(semi);
        Ok(Dominators { order, dominator, count })
    }
}

/// The edges between places, by those that they lead to.
struct Inbound<'a, W: Width, S: Space> {
    order: &'a S::Array<W>,
    /// Its nodes lead to places.
    graph: &'a Csr<W, S>,
    count: usize,
}

impl<W: Width, S: Space> EdgeSource<W, S> for Inbound<'_, W, S> {
    fn each(
        &self,
        space: &mut S,
        _nodes: Range<usize>,
        mut add: impl FnMut(&mut S, W, W) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for place in 1..self.count {
            let node = space.get(self.order, place)?;
            let (start, end) = self.graph.range(space, node)?;
            for at in start.at()..end.at() {
                let target = space.get(&self.graph.targets, at)?;
                add(space, target, W::of(place))?;
            }
        }
        Ok(())
    }
}

/// The part of the search tree whose semidominators are known.
struct Forest<W: Width, S: Space> {
    /// A place above each, at first its parent.
    ancestor: S::Array<W>,
    /// The least semidominator on the way from each place to below its ancestor.
    label: S::Array<W>,
    /// The places that are being compressed.
    way: Vec<W>,
}

impl<W: Width, S: Space> Forest<W, S> {
    /// Returns the least semidominator on the way from a place up to the last one that is above
    /// `limit`. Ways are made shorter.
    #[inline]
    fn least(&mut self, space: &mut S, place: W, limit: usize) -> Result<W, Error> {
        if space.get(&self.ancestor, place.at())?.at() > limit {
            self.compress(space, place, limit)?;
        }
        space.get(&self.label, place.at())
    }

    fn compress(&mut self, space: &mut S, place: W, limit: usize) -> Result<(), Error> {
        self.way.push(place);
        let mut at = space.get(&self.ancestor, place.at())?;
        let mut above = space.get(&self.ancestor, at.at())?;
        while above.at() > limit {
            self.way.push(at);
            at = above;
            above = space.get(&self.ancestor, at.at())?;
        }
        let top = above;
        let mut least = space.get(&self.label, at.at())?;
        while let Some(place) = self.way.pop() {
            least = least.min(space.get(&self.label, place.at())?);
            space.set(&mut self.label, place.at(), least)?;
            space.set(&mut self.ancestor, place.at(), top)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Memory;

    struct LinkList<'a>(&'a [(u32, u32)]);

    impl EdgeSource<u32, Memory> for LinkList<'_> {
        fn each(
            &self,
            space: &mut Memory,
            _nodes: Range<usize>,
            mut add: impl FnMut(&mut Memory, u32, u32) -> Result<(), Error>,
        ) -> Result<(), Error> {
            self.0.iter().try_for_each(|&(from, to)| add(space, from, to))
        }
    }

    fn solve(count: u32, edges: &[(u32, u32)], roots: &[u32]) -> Vec<Option<Option<u32>>> {
        let space = &mut Memory;
        let graph = Csr::build(space, count as usize, 2, &LinkList(edges)).unwrap();
        let mut search = Search::new(space, &graph);
        roots.iter().for_each(|&root| search.run(space, &graph, root, |_, _| Ok(())).unwrap());
        let solved = search.dominators(space, graph, roots, 2).unwrap();
        let mut found = vec![None; count as usize];
        for place in 1..solved.count {
            let above = solved.dominator[place] as usize;
            found[solved.order[place] as usize] = Some((above > 0).then(|| solved.order[above]));
        }
        found
    }

    #[test]
    fn a_node_with_two_ways_is_held_where_they_part() {
        // Lengauer and Tarjan's example, as far as it shows semidominators that do not dominate.
        let edges =
            [(0, 1), (0, 2), (0, 3), (2, 1), (2, 4), (1, 4), (3, 5), (4, 6), (5, 6), (6, 4)];
        let found = solve(8, &edges, &[0]);
        let expected = [None, Some(0), Some(0), Some(0), Some(0), Some(3), Some(0)];
        let expected: Vec<_> = expected.into_iter().map(Some).chain([None]).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn roots_share() {
        assert_eq!(
            solve(4, &[(0, 1), (1, 2), (3, 2), (0, 3)], &[0, 3]),
            [Some(None), Some(Some(0)), Some(None), Some(None)]
        );
    }

    #[test]
    fn a_long_list_needs_no_stack() {
        let count = 2_000_000;
        let mut edges: Vec<_> = (1..count).map(|node| (node - 1, node)).collect();
        edges.extend((1..count).map(|node| (node, node - 1)));
        let found = solve(count, &edges, &[0]);
        assert_eq!(found[0], Some(None));
        assert!((1..count).all(|node| found[node as usize] == Some(Some(node - 1))));
    }
}
