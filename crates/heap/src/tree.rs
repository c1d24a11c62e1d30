//! The tree of holders, and what sets of objects retain.

use crate::core::Csr;
use crate::heap::{Heap, ObjectId};
use crate::referrers::MANY;

/// What a set of objects retains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetSize {
    /// The number of objects of the set that are held from the roots.
    pub count: u64,
    /// Their shallow bytes.
    pub shallow_bytes: u64,
    /// The sum of the retained bytes of those that no other object of the set dominates: the least
    /// that the set retains, as what several of them hold together is not in it.
    pub least_bytes: u64,
}

impl Heap {
    /// Returns the objects that `holder` holds immediately, or those that roots hold; in the order
    /// of addresses. The first call makes a table of 8 bytes per object.
    pub fn held_by(&self, holder: Option<ObjectId>) -> &[ObjectId] {
        let children = self.children.get_or_init(|| self.children());
        children.of(holder.map_or(self.ids.count(), |holder| holder.0))
    }

    /// Makes the tree of holders; its last node stands for the roots.
    fn children(&self) -> Csr<ObjectId> {
        let count = self.ids.count();
        let node = |holder: u32| if holder == MANY { count } else { holder };
        let held = || {
            (0..)
                .zip(&self.holder)
                .filter(|&(object, _): &(u32, _)| self.reach[object as usize].is_held())
        };
        let mut starts = vec![0_u32; count as usize + 2];
        for (_, &holder) in held() {
            starts[node(holder) as usize] += 1;
        }
        let filled = Csr::build(starts, |add| {
            for (object, &holder) in held() {
                add(node(holder), ObjectId(object));
            }
        });
        filled.unwrap_or_else(|_| unreachable!("each object has one holder"))
    }

    /// Returns the sizes of sets of objects, by the number that `set_of` gives for each object (its
    /// class, package, loader, ...). The walk goes over all objects once.
    pub fn sets(&self, set_count: usize, set_of: &dyn Fn(ObjectId) -> Option<u32>) -> Vec<SetSize> {
        let mut sizes = vec![SetSize::default(); set_count];
        // The number of objects of each set above the one at hand.
        let mut depths = vec![0_u32; set_count];
        let mut enter = |object: ObjectId, depths: &mut [u32]| {
            let Some(set) = set_of(object).map(|set| set as usize) else { return };
            let size = &mut sizes[set];
            size.count += 1;
            size.shallow_bytes += self.shallow_bytes(object);
            if depths[set] == 0 {
                size.least_bytes += self.retained_bytes(object);
            }
        };
        let mut stack = vec![(None, 0_u32)];
        while let Some((holder, next)) = stack.last_mut() {
            let Some(&object) = self.held_by(*holder).get(*next as usize) else {
                if let Some(set) = holder.and_then(set_of) {
                    depths[set as usize] -= 1;
                }
                stack.pop();
                continue;
            };
            *next += 1;
            enter(object, &mut depths);
            if !self.held_by(Some(object)).is_empty() {
                if let Some(set) = set_of(object) {
                    depths[set as usize] += 1;
                }
                stack.push((Some(object), 0));
            }
        }
        sizes
    }
}
