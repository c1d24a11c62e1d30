//! Suspects: objects and classes that retain so much that they are likely to be a leak, and the biggest
//! objects.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::{ClassIndex, Error, Heap, Holder, ObjectId, PathNode};

/// The part of its holder from which on an object stands for it: so much of the holder's memory is the
/// object's that the holder is only on the way to it.
pub const WAY_SHARE: f64 = 0.7;
/// The part of its holder from which on an object is the holder's inside, as the table of a map.
const INNER_SHARE: f64 = 0.9;
/// Objects that retain less than this part of the reachable bytes are on no way.
const LEAST_SHARE: f64 = 0.01;
/// The parts of an accumulation point from which on an object is a part of its own.
const PART_SHARE: f64 = 0.1;
/// The longest way. One that is longer leads along a structure of objects that hold each other.
const MOST_LEVELS: usize = 1000;

/// What is suspected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Suspected {
    /// One object.
    Object(ObjectId),
    /// The objects of a class of which none is held by another object; the number of them.
    Class(ClassIndex, u64),
}

/// An object or a class that retains much, and where its memory accumulates.
#[derive(Clone, Debug)]
pub struct Suspect {
    /// The object or the class.
    pub suspected: Suspected,
    /// The bytes that it retains; of a class, the sum over its objects.
    pub retained_bytes: u64,
    /// The accumulation point: the last object from the suspect down the dominator tree that
    /// keeps [`WAY_SHARE`] of its holder. A class has none.
    pub point: Option<ObjectId>,
    /// The parts of the memory: what the accumulation point or the objects of the class hold immediately,
    /// most first.
    pub parts: Vec<HeldPart>,
    /// A path from a root to the accumulation point; of a class, to the object that retains most.
    pub path: Vec<PathNode>,
}

/// A part of what an accumulation point holds: an object, or the other objects of a class together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldPart {
    /// The class.
    pub class: ClassIndex,
    /// The object, where it is one.
    pub object: Option<ObjectId>,
    /// The number of objects.
    pub count: u64,
    /// The bytes that they retain.
    pub retained_bytes: u64,
}

/// The objects of a class that no other object holds.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    count: u64,
    retained_bytes: u64,
}

impl Heap {
    /// Returns the single objects and the classes that retain at least `share` of the reachable bytes, most
    /// first. Only objects that no other object holds are looked at, so that nothing counts twice.
    ///
    /// # Errors
    /// The errors of the file.
    pub fn suspects(&self, share: f64) -> Result<Vec<Suspect>, Error> {
        let all = self.totals().reachable.bytes;
        let limit = ((all as f64 * share).ceil() as u64).max(1);
        let least = (all as f64 * LEAST_SHARE) as u64;
        let mut groups = vec![Group::default(); self.classes().len()];
        let mut objects = Vec::new();
        let mut heavy = Vec::new();
        for object in self.objects() {
            let retained_bytes = self.retained_bytes(object);
            match self.holder(object) {
                Holder::Object(holder) if retained_bytes >= least.max(1) => {
                    heavy.push((holder, Reverse(retained_bytes), object));
                }
                Holder::Roots if retained_bytes >= limit => objects.push(object),
                Holder::Roots => {
                    let group = &mut groups[self.class_of(object).0 as usize];
                    group.count += 1;
                    group.retained_bytes += retained_bytes;
                }
                Holder::Object(_) | Holder::Nothing => {}
            }
        }
        heavy.sort_unstable();
        let mut suspects: Vec<_> = objects
            .into_iter()
            .map(|object| Suspect {
                suspected: Suspected::Object(object),
                retained_bytes: self.retained_bytes(object),
                point: Some(self.accumulation_point(object, &heavy)),
                parts: Vec::new(),
                path: Vec::new(),
            })
            .collect();
        let classes = groups.iter().zip(0..).filter(|(group, _)| group.retained_bytes >= limit);
        suspects.extend(classes.map(|(group, class)| Suspect {
            suspected: Suspected::Class(ClassIndex(class), group.count),
            retained_bytes: group.retained_bytes,
            point: None,
            parts: Vec::new(),
            path: Vec::new(),
        }));
        suspects.sort_by_key(|it| Reverse(it.retained_bytes));
        self.find_parts(&mut suspects, limit);
        self.find_paths(&mut suspects, limit)?;
        Ok(suspects)
    }

    /// Goes down from `object` while the largest child keeps most. `heavy` has the candidates by holder, the
    /// largest first.
    fn accumulation_point(
        &self,
        object: ObjectId,
        heavy: &[(ObjectId, Reverse<u64>, ObjectId)],
    ) -> ObjectId {
        let mut way = vec![object];
        let mut point = object;
        let is_alike = |a, b| self.class_of(a) == self.class_of(b) && self.as_class(a).is_none();
        while way.len() < MOST_LEVELS {
            let first = heavy.partition_point(|it| it.0 < point);
            let Some(&(holder, Reverse(bytes), child)) = heavy.get(first) else { return point };
            let is_most = bytes as f64 >= WAY_SHARE * self.retained_bytes(point) as f64;
            // A list or a tree is one thing: its inner nodes are no better answer than the first.
            if holder != point || !is_most || is_alike(point, child) {
                return point;
            }
            point = child;
            way.push(child);
        }
        let repeated = way
            .iter()
            .enumerate()
            .find(|&(at, &it)| way[..at].iter().any(|&before| is_alike(before, it)));
        repeated.map_or(point, |(at, _)| way[at - 1])
    }

    /// Adds up by class what the accumulation points and the objects of suspected classes hold.
    fn find_parts(&self, suspects: &mut [Suspect], limit: u64) {
        let mut sums: Vec<BTreeMap<ClassIndex, Group>> = vec![BTreeMap::new(); suspects.len()];
        for object in self.objects() {
            let retained_bytes = self.retained_bytes(object);
            let holder = self.holder(object);
            for (suspect, sums) in suspects.iter_mut().zip(&mut sums) {
                let is_part = match (holder, suspect.point) {
                    (Holder::Object(holder), Some(point)) => holder == point,
                    (Holder::Object(holder), None) => {
                        suspect.suspected_class() == Some(self.class_of(holder))
                            && self.holder(holder) == Holder::Roots
                            && self.retained_bytes(holder) < limit
                    }
                    _ => false,
                };
                if !is_part {
                    continue;
                }
                let whole =
                    suspect.point.map_or(suspect.retained_bytes, |it| self.retained_bytes(it));
                let class = self.class_of(object);
                if retained_bytes as f64 >= PART_SHARE * whole as f64 {
                    let object = Some(object);
                    suspect.parts.push(HeldPart { class, object, count: 1, retained_bytes });
                } else {
                    let group = sums.entry(class).or_default();
                    group.count += 1;
                    group.retained_bytes += retained_bytes;
                }
            }
        }
        for (suspect, sums) in suspects.iter_mut().zip(sums) {
            suspect.parts.extend(sums.into_iter().map(|(class, group)| HeldPart {
                class,
                object: None,
                count: group.count,
                retained_bytes: group.retained_bytes,
            }));
            suspect.parts.sort_by_key(|it| (Reverse(it.retained_bytes), it.class, it.object));
        }
    }

    fn find_paths(&self, suspects: &mut [Suspect], limit: u64) -> Result<(), Error> {
        for suspect in suspects {
            let of_class = |class| {
                let is_meant = |it: &ObjectId| {
                    self.class_of(*it) == class
                        && self.holder(*it) == Holder::Roots
                        && self.retained_bytes(*it) < limit
                };
                let key = |it: &ObjectId| (self.retained_bytes(*it), Reverse(*it));
                self.objects().filter(is_meant).max_by_key(key)
            };
            if let Some(object) =
                suspect.point.or_else(|| suspect.suspected_class().and_then(of_class))
            {
                suspect.path = self.root_path(object)?;
            }
        }
        Ok(())
    }

    /// Returns the `count` objects that retain most, most first. An object that is 90 % of its holder is left
    /// out: the holder stands for it.
    pub fn biggest(&self, count: usize) -> Vec<ObjectId> {
        let mut biggest: Vec<(Reverse<u64>, ObjectId)> = Vec::new();
        for object in self.objects() {
            let retained_bytes = self.retained_bytes(object);
            let key = (Reverse(retained_bytes), object);
            let is_full = biggest.len() >= count;
            if retained_bytes == 0 || is_full && biggest.last().is_none_or(|last| key >= *last) {
                continue;
            }
            if let Holder::Object(holder) = self.holder(object)
                && retained_bytes as f64 >= INNER_SHARE * self.retained_bytes(holder) as f64
            {
                continue;
            }
            let at = biggest.partition_point(|it| *it < key);
            biggest.insert(at, key);
            biggest.truncate(count);
        }
        biggest.into_iter().map(|(_, object)| object).collect()
    }
}

impl Suspect {
    /// Returns the class, where a class is suspected.
    pub fn suspected_class(&self) -> Option<ClassIndex> {
        match self.suspected {
            Suspected::Object(_) => None,
            Suspected::Class(class, _) => Some(class),
        }
    }
}
