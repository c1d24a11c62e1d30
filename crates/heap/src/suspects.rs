//! Suspects: objects and classes that retain so much that they are likely to be a leak, and the biggest
//! objects.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::findings::BIGGEST;
use crate::memory::MOST_OBJECTS;
use crate::namesakes::Namesakes;
use crate::{
    ClassIndex, Error, Heap, HeldPart, Holder, ObjectId, PathNode, PathTree, RootKind, Suspect,
    SuspectKind,
};

/// The part of the reachable bytes from which on something is a suspect in reports.
pub const SUSPECT_SHARE: f64 = 0.1;
/// The part of its holder from which on an object represents it: so much of the holder's memory is the
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
        let is_kept = share.to_bits() == SUSPECT_SHARE.to_bits();
        if let Some(kept) = self.findings.suspects.get().filter(|_| is_kept) {
            return Ok(kept.clone());
        }
        let found = self.find_suspects(share)?;
        if is_kept {
            // Another thread may have found the same.
            let _ = self.findings.suspects.set(found.clone());
        }
        Ok(found)
    }

    fn find_suspects(&self, share: f64) -> Result<Vec<Suspect>, Error> {
        let all = self.totals().reachable.bytes;
        let limit = ((all as f64 * share).ceil() as u64).max(1);
        let least = (all as f64 * LEAST_SHARE) as u64;
        let class_count = self.classes().len();
        let namesakes = Namesakes::of(self);
        let mut groups = vec![Group::default(); 2 * class_count];
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
                    if let Some(group) = self.group_of(object, &namesakes) {
                        groups[group].count += 1;
                        groups[group].retained_bytes += retained_bytes;
                    }
                }
                Holder::Object(_) | Holder::Nothing => {}
            }
        }
        heavy.sort_unstable();
        let suspect = |suspected, retained_bytes, point| Suspect {
            suspected,
            retained_bytes,
            point,
            parts: Vec::new(),
            path: Vec::new(),
            is_shortest: false,
            compared_count: 1,
        };
        let mut suspects: Vec<_> = objects
            .into_iter()
            .map(|object| {
                let way = self.way(object, &heavy);
                let has_name = |it: &&ObjectId| {
                    let is_thread = self.first_root_kind(**it) == Some(RootKind::Thread);
                    self.retained_bytes(**it) >= limit
                        && (is_thread || self.as_class(**it).is_some())
                };
                let suspected = way.iter().rev().find(has_name).copied().unwrap_or(object);
                let retained_bytes = self.retained_bytes(suspected);
                suspect(SuspectKind::Object(suspected), retained_bytes, way.last().copied())
            })
            .collect();
        let of_classes = groups.iter().zip(0..).filter(|(group, _)| group.retained_bytes >= limit);
        suspects.extend(of_classes.map(|(group, index)| {
            let suspected = match index < class_count {
                true => SuspectKind::Class(ClassIndex(index as u32), group.count),
                false => {
                    SuspectKind::ClassesOf(ClassIndex((index - class_count) as u32), group.count)
                }
            };
            suspect(suspected, group.retained_bytes, None)
        }));
        suspects.sort_by_key(|it| Reverse(it.retained_bytes));
        self.find_parts(&mut suspects, limit, &namesakes);
        self.find_paths(&mut suspects, limit, &namesakes)?;
        Ok(suspects)
    }

    /// Returns the group of objects that an object is suspected together with: those of its class and others of
    /// the name; of a class
    /// object, the classes whose loaders are of one class. The classes of the boot loader are in none: what
    /// all of them hold together has no common reason.
    fn group_of(&self, object: ObjectId, namesakes: &Namesakes) -> Option<usize> {
        let class = self.class_of(object).0;
        let stands_for = Some(object).filter(|_| class == self.model.of_classes);
        match stands_for.and_then(|object| self.as_class(object)) {
            None => Some(namesakes.class_of(self, object).0 as usize),
            Some(class) => {
                let loader = self.find(self.class(class).loader)?;
                Some(self.classes().len() + namesakes.class_of(self, loader).0 as usize)
            }
        }
    }

    /// Returns the objects from `object` down, as long as the largest child keeps most. `heavy` has the
    /// candidates by holder, the largest first.
    fn way(&self, object: ObjectId, heavy: &[(ObjectId, Reverse<u64>, ObjectId)]) -> Vec<ObjectId> {
        let mut way = vec![object];
        let mut point = object;
        let is_alike = |a, b| self.class_of(a) == self.class_of(b) && self.as_class(a).is_none();
        while way.len() < MOST_LEVELS {
            let first = heavy.partition_point(|it| it.0 < point);
            let Some(&(holder, Reverse(bytes), child)) = heavy.get(first) else { return way };
            let is_most = bytes as f64 >= WAY_SHARE * self.retained_bytes(point) as f64;
            // A list or a tree is one thing: its inner nodes are no better answer than the first.
            if holder != point || !is_most || is_alike(point, child) {
                return way;
            }
            point = child;
            way.push(child);
        }
        let repeated = way
            .iter()
            .enumerate()
            .find(|&(at, &it)| way[..at].iter().any(|&before| is_alike(before, it)));
        if let Some((at, _)) = repeated {
            way.truncate(at);
        }
        way
    }

    /// Adds up by class what the accumulation points and the objects of suspected classes hold.
    fn find_parts(&self, suspects: &mut [Suspect], limit: u64, namesakes: &Namesakes) {
        let mut sums: Vec<BTreeMap<ClassIndex, Group>> = vec![BTreeMap::new(); suspects.len()];
        for object in self.objects() {
            let retained_bytes = self.retained_bytes(object);
            let holder = self.holder(object);
            for (suspect, sums) in suspects.iter_mut().zip(&mut sums) {
                let is_part = match (holder, suspect.point) {
                    (Holder::Object(holder), Some(point)) => holder == point,
                    (Holder::Object(holder), None) => {
                        self.holder(holder) == Holder::Roots
                            && self.retained_bytes(holder) < limit
                            && suspect.group(self) == self.group_of(holder, namesakes)
                    }
                    _ => false,
                };
                if !is_part {
                    continue;
                }
                let whole =
                    suspect.point.map_or(suspect.retained_bytes, |it| self.retained_bytes(it));
                let class = namesakes.class_of(self, object);
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

    fn find_paths(
        &self,
        suspects: &mut [Suspect],
        limit: u64,
        namesakes: &Namesakes,
    ) -> Result<(), Error> {
        if suspects.is_empty() {
            return Ok(());
        }
        let is_small = self.object_count() <= MOST_OBJECTS;
        let shortest = is_small.then(|| self.shortest_paths()).transpose()?;
        for suspect in suspects {
            let objects: Vec<ObjectId> = match suspect.point {
                Some(point) => vec![point],
                None => {
                    let group = suspect.group(self);
                    let is_meant = |it: &ObjectId| {
                        self.holder(*it) == Holder::Roots
                            && self.retained_bytes(*it) < limit
                            && self.group_of(*it, namesakes) == group
                    };
                    self.objects().filter(is_meant).collect()
                }
            };
            if let Some(shortest) = &shortest {
                let tree = PathTree::of(self, shortest, &objects)?;
                suspect.path = most_common(&tree.nodes);
                suspect.is_shortest = true;
                suspect.compared_count = tree.object_count;
            } else {
                let key = |it: &ObjectId| (self.retained_bytes(*it), Reverse(*it));
                let biggest = objects.into_iter().max_by_key(key);
                suspect.path = biggest.map_or(Ok(Vec::new()), |biggest| self.root_path(biggest))?;
            }
        }
        Ok(())
    }

    /// Returns the `count` objects that retain most, most first. An object that is 90 % of its holder is left
    /// out: the holder represents it.
    pub fn biggest(&self, count: usize) -> Vec<ObjectId> {
        if count > BIGGEST {
            return self.find_biggest(count);
        }
        let biggest = self.findings.biggest.get_or_init(|| self.find_biggest(BIGGEST));
        biggest[..count.min(biggest.len())].to_vec()
    }

    fn find_biggest(&self, count: usize) -> Vec<ObjectId> {
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

/// Returns the path that most objects share, down to where half of those whose path leads there are. Of siblings,
/// the first has most objects.
fn most_common(nodes: &[PathNode]) -> Vec<PathNode> {
    let mut path: Vec<PathNode> = Vec::new();
    for node in nodes {
        if node.depth != path.len() {
            break;
        }
        path.push(node.clone());
        if 2 * node.end_count >= node.path_count {
            break;
        }
    }
    path
}

impl Suspect {
    /// Returns the number of the group of objects that is suspected.
    fn group(&self, heap: &Heap) -> Option<usize> {
        match self.suspected {
            SuspectKind::Object(_) => None,
            SuspectKind::Class(class, _) => Some(class.0 as usize),
            SuspectKind::ClassesOf(loader, _) => Some(heap.classes().len() + loader.0 as usize),
        }
    }
}
