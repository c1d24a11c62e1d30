//! Paths from roots, and exact sizes of sets, over all references.

use std::ops::Range;

use crate::batch::ObjectHead;
use crate::bits::BitSet;
use crate::column::{Column, RowSource, Rows};
use crate::csr::{Csr, EdgeSource};
use crate::edges::{EdgeList, Edges};
use crate::heap::{Heap, Holders, ObjectId, Reachability};
use crate::links::Links;
use crate::model::RefKind;
use crate::space::Space;
use crate::{Amount, Error, NoWatch, Reach};

/// The mark of an object that no path reaches.
const NONE: u32 = u32::MAX;
/// The mark of a root.
const ROOT: u32 = u32::MAX - 1;

impl Heap {
    /// Returns all references that hold. All references are read, once per heap.
    fn graph(&self) -> Result<&Rows, Error> {
        if let Some(graph) = self.graph.get() {
            return Ok(graph);
        }
        let Some(Holders { holder, reach, .. }) = &self.holders else {
            let why = "paths and exact sizes need an analysis with holders";
            return Err(Error::Refused(why.to_owned()));
        };
        let file = self.room.edge_file()?;
        let list = || EdgeList::new(file.clone());
        let lists = self.source().each("references", &mut NoWatch, list)?;
        let edges = Edges::collect(lists)?;
        let graph = Rows::build(&AllEdges(edges, self.thread_count), holder, reach)?;
        Ok(self.graph.get_or_init(|| graph))
    }

    /// Returns the objects that roots hold, the threads' locals left out that threads hold.
    fn top(&self) -> Vec<u32> {
        let top = self.threads.top(&self.roots);
        let mut top: Vec<u32> = top.map(|root| root.object.0).collect();
        top.sort_unstable();
        top.dedup();
        top
    }

    /// Returns the objects and bytes that would be free if all objects for which `is_in` holds were
    /// gone: exactly what they retain together. All references are read, once per heap.
    ///
    /// # Errors
    /// The errors of the file.
    pub fn retained_by_all(&self, is_in: &dyn Fn(ObjectId) -> bool) -> Result<Amount, Error> {
        let graph = self.graph()?;
        let mut is_passed = BitSet::new(self.ids.count());
        let mut open = self.top();
        open.retain(|&object| !is_in(ObjectId(object)));
        open.iter().for_each(|&object| {
            is_passed.put(object);
        });
        while let Some(object) = open.pop() {
            for to in graph.of(object) {
                if !is_passed.has(to) && !is_in(ObjectId(to)) {
                    is_passed.put(to);
                    open.push(to);
                }
            }
        }
        let mut amount = Amount::default();
        for object in self.objects() {
            if !is_passed.has(object.0) && self.reach(object) == Reach::Held {
                amount.count += 1;
                amount.bytes += self.shallow_bytes(object);
            }
        }
        Ok(amount)
    }

    /// Finds the shortest paths from roots to all objects. Ties go to the lower address. All references are
    /// read, once per heap.
    ///
    /// # Errors
    /// The errors of the file.
    pub fn shortest_paths(&self) -> Result<ShortestPaths, Error> {
        let graph = self.graph()?;
        let mut from = self.room.column(self.ids.count() as usize, NONE);
        let mut level = self.top();
        level.iter().for_each(|&object| from.set(object as usize, ROOT));
        while !level.is_empty() {
            let mut next = Vec::new();
            for &object in &level {
                for to in graph.of(object) {
                    if from.get(to as usize) == NONE {
                        from.set(to as usize, object);
                        next.push(to);
                    }
                }
            }
            next.sort_unstable();
            level = next;
        }
        Ok(ShortestPaths { from })
    }
}

/// The shortest paths from roots to all objects.
#[derive(Debug)]
pub struct ShortestPaths {
    /// The object before each one on its path, [`ROOT`] or [`NONE`].
    from: Column<u32>,
}

impl ShortestPaths {
    /// Whether a path leads to the object: it is held.
    pub fn has(&self, object: ObjectId) -> bool {
        self.from.get(object.0 as usize) != NONE
    }

    /// Returns the path from the object up to a root; empty for an object that is not held.
    pub fn to(&self, object: ObjectId) -> Vec<ObjectId> {
        let mut path = Vec::new();
        let mut at = object.0;
        while self.has(ObjectId(at)) {
            path.push(ObjectId(at));
            at = match self.from.get(at as usize) {
                ROOT => break,
                above => above,
            };
        }
        path
    }
}

/// All references, and the number of threads that make a graph of them.
struct AllEdges(Edges, usize);

impl RowSource for AllEdges {
    fn build<S: Space>(
        &self,
        space: &mut S,
        holder: &S::Array<u32>,
        _reach: &S::Array<Reachability>,
    ) -> Result<Csr<u32, S>, Error> {
        Csr::build(space, S::count(holder), self.1, self)
    }
}

impl<S: Space> EdgeSource<u32, S> for AllEdges {
    fn each(
        &self,
        space: &mut S,
        nodes: Range<usize>,
        mut add: impl FnMut(&mut S, u32, u32) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.0.each(|from, targets| {
            if !nodes.contains(&(from as usize)) {
                return Ok(());
            }
            targets.iter().try_for_each(|&to| add(space, from, to))
        })
    }
}

impl Links for EdgeList {
    fn object(&mut self, _object: u32, _class: u32, _length: u32, _head: ObjectHead) {
        self.begin();
    }

    #[inline]
    fn link(&mut self, from: u32, to: u32) {
        self.add(from, to);
    }

    fn left_out(&mut self, _from: u32, _to: u32, _kind: RefKind) {}
}
