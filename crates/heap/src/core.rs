//! The third pass: the core of the graph, on which holders are solved.
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

use crate::batch::Head;
use crate::bits::{BitSet, Ranked, SharedBits};
use crate::links::{EdgeList, Links, Source};
use crate::model::RefKind;
use crate::referrers::MANY;
use crate::{Error, Watch};

/// A graph: for each node the nodes that its edges lead to.
#[derive(Debug)]
pub(crate) struct Csr<T = u32> {
    /// The index of the first target of each node, and the number of all.
    pub(crate) starts: Vec<u32>,
    pub(crate) targets: Vec<T>,
}

impl<T: Copy + Default> Csr<T> {
    /// Returns the number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    #[inline]
    pub(crate) fn of(&self, node: u32) -> &[T] {
        let node = node as usize;
        &self.targets[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// Makes a graph of the numbers of edges of the nodes, which come as `starts` one place ahead:
    /// `fill` is called with a function that adds an edge.
    pub(crate) fn build(
        mut starts: Vec<u32>,
        fill: impl FnOnce(&mut dyn FnMut(u32, T)),
    ) -> Result<Self, Error> {
        let mut sum = 0_u64;
        for start in &mut starts {
            let count = u64::from(*start);
            *start = u32::try_from(sum).map_err(|_| too_many())?;
            sum += count;
        }
        let count = u32::try_from(sum).map_err(|_| too_many())?;
        let mut targets = vec![T::default(); count as usize];
        // While edges come, each entry is the place of the next one, and at the end the beginning of
        // the next node.
        fill(&mut |from, to| {
            let place = &mut starts[from as usize];
            targets[*place as usize] = to;
            *place += 1;
        });
        starts.pop();
        starts.insert(0, 0);
        Ok(Self { starts, targets })
    }
}

fn too_many() -> Error {
    Error::Refused("more than 4294967295 references between objects that are shared".to_owned())
}

/// The core.
#[derive(Debug)]
pub(crate) struct Core {
    /// The objects in it.
    pub(crate) objects: Ranked,
    pub(crate) graph: Csr,
}

/// Collects the core of the objects with these referrers.
pub(crate) fn collect(
    source: &Source<'_>,
    referrer: &[u32],
    watch: &mut dyn Watch,
) -> Result<Core, Error> {
    // A bit each stays in the processor's cache, where the referrers would not.
    let mut shared = BitSet::new(source.ids.count());
    for (object, &referrer) in (0..).zip(referrer) {
        if referrer == MANY {
            shared.put(object);
        }
    }
    let exits = SharedBits::new(source.ids.count());
    let found = source.each("shared objects", watch, || Collector {
        shared: &shared,
        exits: &exits,
        edges: EdgeList::default(),
    })?;
    let found: Vec<EdgeList> = found.into_iter().map(|part| part.edges).collect();
    let mut members = exits.finish();
    branches(&mut members, referrer);
    members.put_all(&shared);
    let objects = members.ranked();
    let mut starts = vec![0_u32; objects.count() as usize + 1];
    for part in &found {
        part.each(|from, targets| {
            let start = &mut starts[objects.rank(from) as usize];
            *start = start.saturating_add(targets.len() as u32);
        });
    }
    for_chains(&objects, referrer, |above, _| starts[above as usize] += 1);
    let graph = Csr::build(starts, |add| {
        // The parts are given back one by one as they are used up.
        for part in found {
            part.each(|from, targets| {
                let from = objects.rank(from);
                targets.iter().for_each(|&to| add(from, objects.rank(to)));
            });
        }
        for_chains(&objects, referrer, add);
    })?;
    Ok(Core { objects, graph })
}

/// Calls `each` with the edges along chains: the numbers in the core of the object above and of the
/// one below.
fn for_chains(objects: &Ranked, referrer: &[u32], mut each: impl FnMut(u32, u32)) {
    for (below, object) in (0..).zip(objects.set().iter()) {
        let mut above = referrer[object as usize];
        while above < MANY && !objects.has(above) {
            above = referrer[above as usize];
        }
        if above < MANY {
            each(objects.rank(above), below);
        }
    }
}

/// Adds the branches to the exits.
fn branches(members: &mut BitSet, referrer: &[u32]) {
    let exits = members.clone();
    let mut is_passed = BitSet::new(referrer.len() as u32);
    for exit in exits.iter() {
        let mut object = exit;
        while !is_passed.put(object) {
            let above = referrer[object as usize];
            // The chain ends below an object of M, at the top of a tree that nothing refers to, or at
            // an object where another chain has come from elsewhere.
            if above >= MANY || referrer[above as usize] == MANY {
                break;
            }
            if is_passed.has(above) {
                members.put(above);
            }
            object = above;
        }
    }
}

struct Collector<'a> {
    /// The objects of M.
    shared: &'a BitSet,
    exits: &'a SharedBits,
    edges: EdgeList,
}

impl Links for Collector<'_> {
    #[inline]
    fn object(&mut self, _object: u32, _class: u32, _length: u32, _head: Head) {
        self.edges.begin();
    }

    #[inline]
    fn link(&mut self, from: u32, to: u32) {
        if !self.shared.has(to) || from == to {
            return;
        }
        if self.edges.add(from, to) && !self.shared.has(from) {
            self.exits.put(from);
        }
    }

    fn left_out(&mut self, _from: u32, _to: u32, _kind: RefKind) {}
}
