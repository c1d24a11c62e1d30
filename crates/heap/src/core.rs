//! The core of the graph, on which holders are solved.
//!
//! An object with one referrer is held by it. What is left is a graph of
//!
//! * M: roots, and objects with two or more referrers;
//! * exits: other objects that refer to one of M;
//! * branches: objects with one referrer below which exits lie in two or more places.
//!
//! Its edges are all references into M, and one edge to each exit or branch from the nearest object
//! of the core above it. Every object outside of it has all exits below it in one place, so what it
//! holds apart from its own chain is held by the next object of the core below it, too. Folding
//! objects with one referrer without regard to exits and branches would give wrong holders.

use std::ops::Range;

use crate::Error;
use crate::bits::{BitSet, RankedBits};
use crate::csr::{Csr, EdgeSource, in_threads};
use crate::edges::Edges;
use crate::referrers::many;
use crate::space::{Space, Width};

/// The core.
#[derive(Debug)]
pub(crate) struct Core<W: Width, S: Space> {
    /// The objects in it.
    pub(crate) objects: RankedBits,
    pub(crate) graph: Csr<W, S>,
}

/// Collects the core of the objects with these referrers.
pub(crate) fn collect<W: Width, S: Space>(
    space: &mut S,
    edges: Edges,
    referrer: &S::Array<W>,
    thread_count: usize,
) -> Result<Core<W, S>, Error> {
    let count = S::count(referrer) as u32;
    let mut shared = BitSet::new(count);
    space.each(referrer, |object, referrer| {
        if referrer == many() {
            shared.put(object as u32);
        }
    })?;
    let mut members = BitSet::new(count);
    let exits = in_threads(0..thread_count, |part| {
        let mut exits = BitSet::new(count);
        edges.each_of(part, thread_count, |from, targets| {
            if !shared.has(from) && targets.iter().any(|&to| shared.has(to)) {
                exits.put(from);
            }
            Ok(())
        })?;
        Ok(exits)
    })?;
    exits.iter().for_each(|exits| members.put_all(exits));
    drop(exits);
    branches(space, &mut members, referrer)?;
    members.put_all(&shared);
    let objects = members.ranked();
    let members: S::Array<W> = members_of(space, &objects)?;
    let mut above = space.array(objects.count() as usize, many::<W>());
    space.update(&mut above, thread_count, |space, node, _| {
        let mut above = space.get(&members, node)?;
        loop {
            above = space.get(referrer, above.at())?;
            if above >= many() {
                return Ok(many());
            }
            if objects.has(above.at() as u32) {
                return Ok(W::of(objects.rank(above.at() as u32) as usize));
            }
        }
    })?;
    space.free(members);
    let source = CoreEdges { edges: &edges, shared: &shared, objects: &objects, above: &above };
    let graph = Csr::build(space, objects.count() as usize, thread_count, &source)?;
    space.free(above);
    Ok(Core { objects, graph })
}

/// Returns the objects of a core by their numbers in it.
pub(crate) fn members_of<W: Width, S: Space>(
    space: &mut S,
    objects: &RankedBits,
) -> Result<S::Array<W>, Error> {
    let mut members = space.array(objects.count() as usize, W::ZERO);
    for (node, object) in objects.set().iter().enumerate() {
        space.set(&mut members, node, W::of(object as usize))?;
    }
    Ok(members)
}

/// The edges of the core.
struct CoreEdges<'a, W: Width, S: Space> {
    edges: &'a Edges,
    /// The objects of M.
    shared: &'a BitSet,
    objects: &'a RankedBits,
    /// For each node the one above it along its chain, or [`many`] for none.
    above: &'a S::Array<W>,
}

impl<W: Width, S: Space> EdgeSource<W, S> for CoreEdges<'_, W, S> {
    fn each(
        &self,
        space: &mut S,
        nodes: Range<usize>,
        mut add: impl FnMut(&mut S, W, W) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let node = |object: u32| self.objects.rank(object) as usize;
        self.edges.each(|from, targets| {
            let mut shared = targets.iter().filter(|&&to| self.shared.has(to)).peekable();
            if !self.objects.has(from) || !nodes.contains(&node(from)) || shared.peek().is_none() {
                return Ok(());
            }
            let from = W::of(node(from));
            shared.try_for_each(|&to| add(space, from, W::of(node(to))))
        })?;
        for below in 0..S::count(self.above) {
            let above = space.get(self.above, below)?;
            if above < many() {
                add(space, above, W::of(below))?;
            }
        }
        Ok(())
    }
}

/// Adds the branches to the exits.
fn branches<W: Width, S: Space>(
    space: &mut S,
    members: &mut BitSet,
    referrer: &S::Array<W>,
) -> Result<(), Error> {
    let exits = members.clone();
    let mut is_passed = BitSet::new(S::count(referrer) as u32);
    for exit in exits.iter() {
        let mut object = exit;
        while !is_passed.put(object) {
            let above = space.get(referrer, object as usize)?;
            // The chain ends below an object of M, at the top of a tree that nothing refers to, or at
            // an object where another chain has come from elsewhere.
            if above >= many() || space.get(referrer, above.at())? == many() {
                break;
            }
            let above = above.at() as u32;
            if is_passed.has(above) {
                members.put(above);
            }
            object = above;
        }
    }
    Ok(())
}
