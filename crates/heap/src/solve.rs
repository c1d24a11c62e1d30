//! The holders of all objects, how each is reachable, and what each retains.

use std::ops::AddAssign;

use crate::bits::{BitSet, RankedBits};
use crate::core::{self, Core};
use crate::csr::Csr;
use crate::dominators::Search;
use crate::heap::Reachability;
use crate::model::RefKind;
use crate::referrers::{many, none};
use crate::space::{Number, Space, Width};
use crate::{Error, RootKind};

/// What the solution of the core gives.
#[derive(Debug)]
pub(crate) struct CoreSolution<S: Space> {
    /// How each object is reachable.
    pub(crate) reach: S::Array<Reachability>,
    /// Objects of the core that count as roots from now on.
    pub(crate) tops: Vec<u32>,
}

/// Solves the holders of the objects in the core, and how all objects are reachable. `referrer` has
/// the holders afterwards: [`many`] for the roots together, [`none`] for nothing. With
/// `keep_unreachable` also returns the objects of the core that from now on count as roots.
pub(crate) fn solve<W: Width, S: Space>(
    space: &mut S,
    core: Core<W, S>,
    referrer: &mut S::Array<W>,
    roots: &[(u32, RootKind)],
    left_out: &[(u32, u32, RefKind)],
    keep_unreachable: bool,
    thread_count: usize,
) -> Result<CoreSolution<S>, Error> {
    let Core { objects, graph } = core;
    let count = objects.count();
    let mut reached = space.array(count as usize, Reachability::NOT);
    let node_of = |object: u32| W::of(objects.rank(object) as usize);
    let mut by_kind: Vec<(RootKind, W)> =
        roots.iter().map(|&(object, kind)| (kind, node_of(object))).collect();
    by_kind.sort_unstable();
    let mut search = Search::new(space, &graph);
    for &(kind, root) in &by_kind {
        search.run(space, &graph, root, |space, node| {
            space.set(&mut reached, node.at(), Reachability::held(kind))
        })?;
    }
    let mut tops = Vec::new();
    if keep_unreachable {
        // What is left hangs on cycles that nothing outside refers to.
        for node in trees(space, &graph, &search)?.into_iter().rev() {
            if !search.has(space, node)? {
                let kind = RootKind::Unreachable;
                by_kind.push((kind, node));
                tops.push(node);
                search.run(space, &graph, node, |space, node| {
                    space.set(&mut reached, node.at(), Reachability::held(kind))
                })?;
            }
        }
    }
    weaker(space, &graph, &objects, left_out, &mut reached)?;
    let root_nodes: Vec<W> = by_kind.into_iter().map(|(_, node)| node).collect();
    let dominators = search.dominators(space, graph, &root_nodes, thread_count)?;
    drop(root_nodes);
    let members: S::Array<W> = core::members_of(space, &objects)?;
    let mut is_solved = BitSet::new(count);
    for place in 1..dominators.count {
        let node = space.get(&dominators.order, place)?;
        is_solved.put(node.at() as u32);
        let above = space.get(&dominators.dominator, place)?;
        let object = space.get(&members, node.at())?.at();
        // Others have their one referrer as holder, unless they were made roots.
        if above == W::ZERO {
            space.set(referrer, object, many())?;
        } else if space.get(referrer, object)? == many() {
            let above = space.get(&dominators.order, above.at())?;
            let above = space.get(&members, above.at())?;
            space.set(referrer, object, above)?;
        }
    }
    space.free(dominators.order);
    space.free(dominators.dominator);
    for node in 0..count {
        let object = space.get(&members, node as usize)?.at();
        if !is_solved.has(node) && space.get(referrer, object)? == many() {
            space.set(referrer, object, none())?;
        }
    }
    let tops = tops.into_iter().map(|node| Ok(space.get(&members, node.at())?.at() as u32));
    let tops: Result<Vec<u32>, Error> = tops.collect();
    let reach = spread(space, referrer, &members, &reached)?;
    space.free(members);
    space.free(reached);
    Ok(CoreSolution { reach, tops: tops? })
}

/// Returns nodes that together lead to all that were not found. None leads to a later one.
fn trees<W: Width, S: Space>(
    space: &mut S,
    graph: &Csr<W, S>,
    found: &Search<W, S>,
) -> Result<Vec<W>, Error> {
    let mut is_passed = BitSet::new(graph.count() as u32);
    let mut tops = Vec::new();
    let mut open = Vec::new();
    for top in 0..graph.count() {
        if found.has(space, W::of(top))? || is_passed.put(top as u32) {
            continue;
        }
        tops.push(W::of(top));
        open.push(W::of(top));
        while let Some(node) = open.pop() {
            let (start, end) = graph.range(space, node)?;
            for at in start.at()..end.at() {
                let next = space.get(&graph.targets, at)?;
                if !is_passed.put(next.at() as u32) {
                    open.push(next);
                }
            }
        }
    }
    Ok(tops)
}

/// Finds what only weaker references reach, in the order of their strength.
fn weaker<W: Width, S: Space>(
    space: &mut S,
    graph: &Csr<W, S>,
    objects: &RankedBits,
    left_out: &[(u32, u32, RefKind)],
    reached: &mut S::Array<Reachability>,
) -> Result<(), Error> {
    let levels = [
        (RefKind::Soft, Reachability::SOFTLY),
        (RefKind::Weak, Reachability::WEAKLY),
        (RefKind::Final, Reachability::FINALIZABLE),
        (RefKind::Phantom, Reachability::FINALIZABLE),
    ];
    // In the order of the objects that have them, which is that of the nodes.
    let links: Vec<(u32, u32, RefKind)> = left_out
        .iter()
        .map(|&(from, to, kind)| (objects.rank(from), objects.rank(to), kind))
        .collect();
    let mut open: Vec<u32> = Vec::new();
    for (kind, level) in levels {
        for &(from, to, _) in links.iter().filter(|it| it.2 <= kind) {
            if space.get(reached, from as usize)? != Reachability::NOT {
                visit(space, reached, to, level, &mut open)?;
            }
        }
        while let Some(node) = open.pop() {
            let (start, end) = graph.range(space, W::of(node as usize))?;
            for at in start.at()..end.at() {
                let next = space.get(&graph.targets, at)?;
                visit(space, reached, next.at() as u32, level, &mut open)?;
            }
            let first = links.partition_point(|it| it.0 < node);
            let own = links[first..].iter().take_while(|it| it.0 == node);
            for &(_, to, _) in own.filter(|it| it.2 <= kind) {
                visit(space, reached, to, level, &mut open)?;
            }
        }
    }
    Ok(())
}

fn visit<S: Space>(
    space: &mut S,
    reached: &mut S::Array<Reachability>,
    node: u32,
    level: Reachability,
    open: &mut Vec<u32>,
) -> Result<(), Error> {
    if space.get(reached, node as usize)? == Reachability::NOT {
        space.set(reached, node as usize, level)?;
        open.push(node);
    }
    Ok(())
}

/// Returns how each object is reachable: as the nearest object of the core above it.
fn spread<W: Width, S: Space>(
    space: &mut S,
    holder: &S::Array<W>,
    members: &S::Array<W>,
    reached: &S::Array<Reachability>,
) -> Result<S::Array<Reachability>, Error> {
    let count = S::count(holder);
    let mut all = space.array(count, Reachability::UNKNOWN);
    for node in 0..S::count(members) {
        let object = space.get(members, node)?;
        let reached = space.get(reached, node)?;
        space.set(&mut all, object.at(), reached)?;
    }
    for object in 0..count {
        // What is passed counts as not reachable until the end of the chain is known, so that a
        // cycle ends.
        let mut at = W::of(object);
        while at < many() && space.get(&all, at.at())? == Reachability::UNKNOWN {
            space.set(&mut all, at.at(), Reachability::NOT)?;
            at = space.get(holder, at.at())?;
        }
        let found = if at < many() { space.get(&all, at.at())? } else { Reachability::NOT };
        if found == Reachability::NOT {
            continue;
        }
        let end = at;
        let mut at = W::of(object);
        while at != end {
            space.set(&mut all, at.at(), found)?;
            at = space.get(holder, at.at())?;
        }
    }
    Ok(all)
}

/// Makes shallow units into retained ones: leaves of the tree of holders are taken off one after the
/// other. What is not held retains nothing. With `keep_unreachable` also returns an object of each
/// cycle that nothing outside refers to, which from now on counts as a root.
pub(crate) fn peel<W: Width, S: Space, T: Number + Default + AddAssign>(
    space: &mut S,
    mut retained: S::Array<T>,
    holder: &mut S::Array<W>,
    reach: &S::Array<Reachability>,
    keep_unreachable: bool,
) -> Result<(S::Array<T>, Vec<u32>), Error> {
    let count = S::count(holder);
    // How many objects each holds that were not taken off; one that was has the largest number.
    let mut left = space.array(count, W::ZERO);
    for object in 0..count {
        let above = space.get(holder, object)?;
        if above < many() {
            space.change(&mut left, above.at(), |it: W| W::of(it.at() + 1))?;
        }
    }
    let mut add = |space: &mut S, object: usize, above: usize| -> Result<(), Error> {
        let units = space.get(&retained, object)?;
        space.change(&mut retained, above, |mut it: T| {
            it += units;
            it
        })?;
        Ok(())
    };
    for first in 0..count {
        if space.get(&left, first)? != W::ZERO {
            continue;
        }
        let mut object = first;
        loop {
            space.set(&mut left, object, W::MOST)?;
            let above = space.get(holder, object)?;
            if above >= many() {
                break;
            }
            let above = above.at();
            add(space, object, above)?;
            let before = space.change(&mut left, above, |it: W| W::of(it.at() - 1))?;
            // What lies ahead will be met there.
            if before.at() > 1 || above > first {
                break;
            }
            object = above;
        }
    }
    let mut extra = Vec::new();
    for object in 0..count {
        if !keep_unreachable || space.get(&left, object)? == W::MOST {
            continue;
        }
        // The objects of a cycle are left. It is cut above its first one, and taken off from the
        // object that held that one on.
        let mut at = space.change(holder, object, |_| many())?.at();
        extra.push(object as u32);
        loop {
            space.set(&mut left, at, W::MOST)?;
            let above = space.get(holder, at)?;
            if above >= many() {
                break;
            }
            add(space, at, above.at())?;
            at = above.at();
        }
    }
    space.free(left);
    if !keep_unreachable {
        for object in 0..count {
            if !space.get(reach, object)?.is_held() {
                space.set(&mut retained, object, T::default())?;
            }
        }
    }
    Ok((retained, extra))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::edges::{EdgeList, Edges};
    use crate::pool::Pool;
    use crate::referrers;
    use crate::space::Memory;

    /// A graph at random.
    struct Graph {
        count: usize,
        edges: Vec<(u32, u32)>,
        roots: Vec<(u32, RootKind)>,
        left_out: Vec<(u32, u32, RefKind)>,
    }

    impl Graph {
        fn new(seed: u64, count: usize, edge_count: usize) -> Self {
            let mut state = seed;
            let mut dice = |below: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
                (state >> 33) as usize % below
            };
            let mut edges: Vec<(u32, u32)> = (0..edge_count)
                .map(|_| (dice(count) as u32, dice(count) as u32))
                .filter(|(from, to)| from != to)
                .collect();
            edges.sort_unstable();
            let root_count = 1 + dice(1 + count / 8);
            let mut roots: Vec<_> = (0..root_count)
                .map(|_| (dice(count) as u32, RootKind::ALL[dice(RootKind::ALL.len())]))
                .collect();
            roots.sort_unstable();
            let kinds = [RefKind::Soft, RefKind::Weak, RefKind::Final, RefKind::Phantom];
            let mut left_out: Vec<_> = (0..count / 16)
                .map(|_| (dice(count) as u32, dice(count) as u32, kinds[dice(4)]))
                .collect();
            left_out.sort_unstable();
            Self { count, edges, roots, left_out }
        }

        /// Returns of each object the holder, how it is reachable, and the number of objects that it
        /// retains.
        fn solve<W: Width, S: Space>(
            &self,
            space: &mut S,
            keeps: bool,
        ) -> Result<Vec<(Option<usize>, u8, u32)>, Error> {
            let mut list = EdgeList::new(None);
            for &(from, to) in &self.edges {
                list.add(from, to);
            }
            let edges = Edges::collect([list])?;
            let roots = self.roots.iter().map(|root| root.0);
            let mut referrer = referrers::single::<W, S>(space, &edges, self.count, roots, 2)?;
            for object in 0..self.count {
                if keeps && space.get(&referrer, object)? == none() {
                    space.set(&mut referrer, object, many())?;
                }
            }
            let mut roots = self.roots.clone();
            if keeps {
                let referred: Vec<u32> = self.edges.iter().map(|edge| edge.1).collect();
                let is_top = |it: &u32| !referred.contains(it);
                let tops = (0..self.count as u32).filter(is_top);
                roots.extend(tops.map(|object| (object, RootKind::Unreachable)));
            }
            for &(from, to, _) in &self.left_out {
                space.set(&mut referrer, from as usize, many())?;
                space.set(&mut referrer, to as usize, many())?;
            }
            let core = core::collect(space, edges, &referrer, 2)?;
            let left_out = &self.left_out;
            let solved = solve(space, core, &mut referrer, &roots, left_out, keeps, 2)?;
            let one_each = space.array(self.count, 1_u32);
            let (retained, _) = peel(space, one_each, &mut referrer, &solved.reach, keeps)?;
            (0..self.count)
                .map(|object| {
                    let holder: W = space.get(&referrer, object)?;
                    let holder = (holder < many()).then(|| holder.at());
                    let reached = space.get(&solved.reach, object)?;
                    Ok((holder, reached.0, space.get(&retained, object)?))
                })
                .collect()
        }
    }

    fn pool() -> Pool {
        Pool::new(0, 0, &Options::default()).unwrap()
    }

    #[test]
    fn numbers_of_all_widths_solve_the_same() {
        // The largest graphs that have a number for each object, besides the two for none and many.
        for seed in 0..300 {
            let graph = Graph::new(seed, 254, 120 + seed as usize % 130);
            for keeps in [false, true] {
                let wide = graph.solve::<u32, _>(&mut Memory, keeps).unwrap();
                assert!(graph.solve::<u8, _>(&mut Memory, keeps).unwrap() == wide, "seed {seed}");
                assert!(graph.solve::<u8, _>(&mut pool(), keeps).unwrap() == wide, "seed {seed}");
                assert!(graph.solve::<u64, _>(&mut Memory, keeps).unwrap() == wide, "seed {seed}");
            }
        }
        let graph = Graph::new(1, (1 << 16) - 2, 60_000);
        let wide = graph.solve::<u32, _>(&mut Memory, false).unwrap();
        assert!(graph.solve::<u16, _>(&mut Memory, false).unwrap() == wide);
        // Sixteen pages are far less than the arrays have.
        assert!(graph.solve::<u16, _>(&mut pool(), false).unwrap() == wide);
        assert!(graph.solve::<u32, _>(&mut pool(), false).unwrap() == wide);
    }

    #[test]
    fn too_many_references_are_refused() {
        // Each of 16 objects refers to each of 17 roots: 272 references.
        let edges = (0..16).flat_map(|from| (16..33).map(move |to| (from, to))).collect();
        let roots = (16..33).map(|object| (object, RootKind::JniGlobal)).collect();
        let graph = Graph { count: 254, edges, roots, left_out: Vec::new() };
        assert!(graph.solve::<u16, _>(&mut Memory, false).is_ok());
        for refused in
            [graph.solve::<u8, _>(&mut Memory, false), graph.solve::<u8, _>(&mut pool(), false)]
        {
            let message = refused.unwrap_err().to_string();
            assert!(message.contains("more than 255 references"), "{message}");
        }
    }
}
