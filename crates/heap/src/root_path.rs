//! One path from a root to an object, over its holders. Few objects are read for it: the shortest paths to
//! all objects need the references of the whole dump ([`PathTree`](crate::PathTree)).

use rustc_hash::FxHashMap;

use crate::{Error, Heap, Holder, Label, ObjectId, PathNode, Place, RootKind};

/// The objects that are read to find the way from a holder, and from the roots.
const MOST_READ: usize = 500;
const MOST_READ_FROM_ROOTS: usize = 2000;
/// The size from which on the references of an object are too many to be read for a path.
const LARGE_BYTES: u64 = 8 << 20;
/// The most holders of a path.
const MOST_HOLDERS: usize = 1000;

/// A step of a path: the place in the object before, and the object.
type Step = (Option<Place>, ObjectId);

impl Heap {
    /// Returns a path from a root to an object that leads over all its holders. Where other objects are
    /// between two of them and too many would have to be read, the place is [`Place::Several`].
    ///
    /// # Errors
    /// The errors of the file.
    pub fn root_path(&self, object: ObjectId) -> Result<Vec<PathNode>, Error> {
        let mut holders = vec![object];
        let mut last = object;
        while let Holder::Object(holder) = self.holder(last)
            && holders.len() < MOST_HOLDERS
        {
            holders.push(holder);
            last = holder;
        }
        let top = last;
        let mut steps = self.path_to_top(top)?;
        for pair in holders.windows(2).rev() {
            let (object, holder) = (pair[0], pair[1]);
            if let Some(place) = self.place_of(holder, object)? {
                steps.push((Some(place), object));
                continue;
            }
            match self.search(&[holder], object, MOST_READ)? {
                Some(found) => steps.extend(found.into_iter().skip(1)),
                None => steps.push((Some(Place::Several), object)),
            }
        }
        let root = |at, object| match at {
            0 => self.first_root_kind(object),
            _ => None,
        };
        let node = |(at, (label, object)): (usize, Step)| PathNode {
            depth: at,
            label,
            root: root(at, object),
            class: self.class_of(object),
            stands_for: self.as_class(object),
            object: Some(object),
            level_count: 1,
            path_count: 1,
            end_count: u64::from(object == holders[0]),
        };
        Ok(steps.into_iter().enumerate().map(node).collect())
    }

    /// The first kind of the roots that an object is; that of what the frames of a thread hold is the
    /// thread's.
    pub(crate) fn first_root_kind(&self, object: ObjectId) -> Option<RootKind> {
        self.roots_of(object).first().map(|root| root.kind)
    }

    /// The steps from a root to an object that no other object holds.
    fn path_to_top(&self, top: ObjectId) -> Result<Vec<Step>, Error> {
        if self.first_root_kind(top).is_some() {
            return Ok(vec![(None, top)]);
        }
        let roots: Vec<_> = self.roots().iter().map(|root| root.object).collect();
        let threads: Vec<_> = self.threads().iter().filter_map(|thread| thread.object).collect();
        for (starts, most_read) in
            [(&roots, 0), (&threads, MOST_READ_FROM_ROOTS), (&roots, MOST_READ_FROM_ROOTS)]
        {
            if let Some(steps) = self.search(starts, top, most_read)? {
                return Ok(steps);
            }
        }
        Ok(vec![(Some(Place::Several), top)])
    }

    /// Looks for `goal` from `starts` on, those objects first that are nearest, and reads at most
    /// `most_read` objects.
    fn search(
        &self,
        starts: &[ObjectId],
        goal: ObjectId,
        most_read: usize,
    ) -> Result<Option<Vec<Step>>, Error> {
        let mut from: FxHashMap<ObjectId, Option<(ObjectId, Label)>> =
            starts.iter().map(|&start| (start, None)).collect();
        let mut level = starts.to_vec();
        let mut read_count = 0;
        while !level.is_empty() {
            // Neighbours are in the same part of the file.
            level.sort_unstable();
            level.dedup();
            let mut next = Vec::new();
            for &object in &level {
                // Classes are in memory.
                let is_read = self.as_class(object).is_none();
                if is_read && (read_count == most_read || self.shallow_bytes(object) > LARGE_BYTES)
                {
                    continue;
                }
                read_count += usize::from(is_read);
                for edge in self.references(object)?.into_iter().filter(|edge| edge.holds) {
                    if from.contains_key(&edge.to) {
                        continue;
                    }
                    from.insert(edge.to, Some((object, edge.label)));
                    if edge.to == goal {
                        return Ok(Some(steps(goal, &from)));
                    }
                    next.push(edge.to);
                }
            }
            level = next;
        }
        Ok(None)
    }
}

/// The steps to `goal`.
fn steps(goal: ObjectId, from: &FxHashMap<ObjectId, Option<(ObjectId, Label)>>) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut at = goal;
    while let Some(Some((above, label))) = from.get(&at) {
        steps.push((Some(Place::of(label.clone())), at));
        at = *above;
    }
    steps.push((None, at));
    steps.reverse();
    steps
}
