//! Paths from roots, and exact sizes of sets, over all references.

use crate::batch::Head;
use crate::bits::BitSet;
use crate::build::UNIT_BYTES;
use crate::core::Csr;
use crate::heap::{Heap, ObjectId};
use crate::links::{EdgeList, Links};
use crate::model::RefKind;
use crate::{Amount, Error, Nothing};

/// The mark of an object that no path reaches.
const NONE: u32 = u32::MAX;
/// The mark of a root.
const ROOT: u32 = u32::MAX - 1;

impl Heap {
    /// Returns all references that hold. All references are read, once per heap.
    fn graph(&self) -> Result<&Csr, Error> {
        if let Some(graph) = self.graph.get() {
            return Ok(graph);
        }
        let parts = self.source().each("references", &mut Nothing, EdgeList::default)?;
        let mut starts = vec![0_u32; self.ids.count() as usize + 1];
        for part in &parts {
            part.each(|from, targets| starts[from as usize] += targets.len() as u32);
        }
        let graph = Csr::build(starts, |add| {
            for part in parts {
                part.each(|from, targets| targets.iter().for_each(|&to| add(from, to)));
            }
        })?;
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
            for &to in graph.of(object) {
                if !is_passed.has(to) && !is_in(ObjectId(to)) {
                    is_passed.put(to);
                    open.push(to);
                }
            }
        }
        let mut amount = Amount::default();
        for object in self.objects() {
            let index = object.0 as usize;
            if self.reach[index].is_held() && !is_passed.has(object.0) {
                amount.count += 1;
                amount.bytes += u64::from(self.shallow[index]) * UNIT_BYTES;
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
        let mut from = vec![NONE; self.ids.count() as usize];
        let mut level = self.top();
        level.iter().for_each(|&object| from[object as usize] = ROOT);
        while !level.is_empty() {
            let mut next = Vec::new();
            for &object in &level {
                for &to in graph.of(object) {
                    if from[to as usize] == NONE {
                        from[to as usize] = object;
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
    from: Vec<u32>,
}

impl ShortestPaths {
    /// Whether a path leads to the object: it is held.
    pub fn has(&self, object: ObjectId) -> bool {
        self.from[object.0 as usize] != NONE
    }

    /// Returns the path from the object up to a root; empty for an object that is not held.
    pub fn to(&self, object: ObjectId) -> Vec<ObjectId> {
        let mut path = Vec::new();
        let mut at = object.0;
        while self.has(ObjectId(at)) {
            path.push(ObjectId(at));
            at = match self.from[at as usize] {
                ROOT => break,
                above => above,
            };
        }
        path
    }
}

impl Links for EdgeList {
    fn object(&mut self, _object: u32, _class: u32, _length: u32, _head: Head) {
        self.begin();
    }

    #[inline]
    fn link(&mut self, from: u32, to: u32) {
        self.add(from, to);
    }

    fn left_out(&mut self, _from: u32, _to: u32, _kind: RefKind) {}
}
