//! The tree of holders, and what sets of objects retain.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use crate::column::{RowSource, Rows};
use crate::csr::{Csr, EdgeSource};
use crate::heap::{Heap, Holders, ObjectId, Reachability};
use crate::referrers::MANY;
use crate::space::Space;
use crate::{Error, SetSize};

/// The objects that a thread takes at once of those that roots hold.
const SHARE: u32 = 1 << 8;

/// The set of an object, if it is in one. Several threads ask at once.
pub type SetOf<'a> = dyn Fn(ObjectId) -> Option<u32> + Sync + 'a;

impl Heap {
    /// Returns the objects that `holder` holds immediately, or those that roots hold; in the order
    /// of addresses. The first call makes a table of 8 bytes per object.
    pub fn held_by(&self, holder: Option<ObjectId>) -> Vec<ObjectId> {
        self.children().of(self.node(holder)).map(ObjectId).collect()
    }

    /// Returns the node of the tree of holders for an object or the roots.
    fn node(&self, holder: Option<ObjectId>) -> u32 {
        holder.map_or(self.ids.count(), |holder| holder.0)
    }

    /// Returns the tree of holders; its last node represents the roots.
    pub(crate) fn children(&self) -> &Rows {
        self.children.get_or_init(|| {
            let Some(Holders { holder, reach, .. }) = &self.holders else { return Rows::none() };
            let made = Rows::build(&Children(self.thread_count), holder, reach);
            made.unwrap_or_else(|fault| self.room.empty(fault))
        })
    }

    /// Returns what the instances of each class retain, in the order of classes. The heap keeps it.
    pub fn class_sizes(&self) -> &[SetSize] {
        self.findings.class_sizes.get_or_init(|| {
            self.sets(self.classes().len(), &|object| Some(self.class_of(object).0))
        })
    }

    /// Returns the sizes of sets of objects, by the number that `set_of` gives for each object (its
    /// class, package, loader, ...). The walk goes over all objects once.
    pub fn sets(&self, set_count: usize, set_of: &SetOf<'_>) -> Vec<SetSize> {
        let children = self.children();
        let top = children.range(self.node(None));
        let walk = |ranges: &mut dyn Iterator<Item = (u32, u32)>| {
            let mut walk = TreeWalk::new(self, set_count, set_of);
            ranges.for_each(|range| walk.below(range));
            walk.sizes
        };
        if self.thread_count == 1 || !self.room.is_memory() {
            return walk(&mut [top].into_iter());
        }
        // What lies below one root or another is independent.
        let next = AtomicU32::new(top.0);
        let share = || {
            let start = next.fetch_add(SHARE, Ordering::Relaxed);
            (start < top.1).then(|| (start, top.1.min(start.saturating_add(SHARE))))
        };
        thread::scope(|scope| {
            let walk = &walk;
            let threads: Vec<_> = (0..self.thread_count)
                .map(|_| scope.spawn(|| walk(&mut std::iter::from_fn(share))))
                .collect();
            let mut sizes = vec![SetSize::default(); set_count];
            for thread in threads {
                let part = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                for (sum, size) in sizes.iter_mut().zip(part) {
                    sum.count += size.count;
                    sum.shallow_bytes += size.shallow_bytes;
                    sum.least_bytes += size.least_bytes;
                }
            }
            sizes
        })
    }
}

/// A walk from objects to those that they hold.
struct TreeWalk<'a> {
    heap: &'a Heap,
    set_of: &'a SetOf<'a>,
    sizes: Vec<SetSize>,
    /// The number of objects of each set above the one at hand.
    depths: Vec<u32>,
}

impl<'a> TreeWalk<'a> {
    fn new(heap: &'a Heap, set_count: usize, set_of: &'a SetOf<'a>) -> Self {
        Self {
            heap,
            set_of,
            sizes: vec![SetSize::default(); set_count],
            depths: vec![0; set_count],
        }
    }

    /// Walks over the objects at these places of the tree of holders, and all that they hold.
    fn below(&mut self, range: (u32, u32)) {
        let children = self.heap.children();
        let mut stack = vec![(None, range)];
        while let Some((set, (next, end))) = stack.last_mut() {
            if next == end {
                if let Some(set) = *set {
                    self.depths[set] -= 1;
                }
                stack.pop();
                continue;
            }
            let object = ObjectId(children.target(*next));
            *next += 1;
            let set = (self.set_of)(object).map(|set| set as usize);
            if let Some(set) = set {
                let size = &mut self.sizes[set];
                size.count += 1;
                size.shallow_bytes += self.heap.shallow_bytes(object);
                if self.depths[set] == 0 {
                    size.least_bytes += self.heap.retained_bytes(object);
                }
            }
            let (start, end) = children.range(object.0);
            if start < end {
                if let Some(set) = set {
                    self.depths[set] += 1;
                }
                stack.push((set, (start, end)));
            }
        }
    }
}

/// Makes the tree of holders, on a number of threads.
struct Children(usize);

impl RowSource for Children {
    fn build<S: Space>(
        &self,
        space: &mut S,
        holder: &S::Array<u32>,
        reach: &S::Array<Reachability>,
    ) -> Result<Csr<u32, S>, Error> {
        let edges = HolderEdges::<S> { holder, reach };
        Csr::build(space, S::count(holder) + 1, self.0, &edges)
    }
}

/// The edges from holders to what they hold; the node after all objects represents the roots.
struct HolderEdges<'a, S: Space> {
    holder: &'a S::Array<u32>,
    reach: &'a S::Array<Reachability>,
}

impl<S: Space> EdgeSource<u32, S> for HolderEdges<'_, S> {
    fn each(
        &self,
        space: &mut S,
        _nodes: Range<usize>,
        mut add: impl FnMut(&mut S, u32, u32) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let roots = S::count(self.holder) as u32;
        for object in 0..S::count(self.holder) {
            if space.get(self.reach, object)?.is_held() {
                let holder = space.get(self.holder, object)?;
                let node = if holder == MANY { roots } else { holder };
                add(space, node, object as u32)?;
            }
        }
        Ok(())
    }
}
