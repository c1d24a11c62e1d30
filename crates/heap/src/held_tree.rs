//! The dominator tree: objects below their holders, siblings of a class as one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use crate::namesakes::Namesakes;
use crate::{ClassIndex, Heap, Holder, ObjectId};

/// The size of a tree.
#[derive(Clone, Copy, Debug)]
pub struct TreeLimits {
    /// Rows that retain less are left out.
    pub least_bytes: u64,
    /// The most rows, those that retain most.
    pub row_count: usize,
}

/// Objects of a class with the same holder, or with holders in the same row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldRow {
    /// The number of rows above it.
    pub depth: usize,
    /// The class; classes of one name are one.
    pub class: ClassIndex,
    /// The class that the objects represent: class objects are distinguished by its name.
    pub stands_for: Option<ClassIndex>,
    /// The object, where it is one, with those of its class that it holds.
    pub object: Option<ObjectId>,
    /// The number of objects; those that hold others of their class, as in lists and trees, with these.
    pub count: u64,
    /// Their own bytes.
    pub shallow_bytes: u64,
    /// The bytes that they retain.
    pub retained_bytes: u64,
    /// The number of levels of the tree that the row represents: above 1 where objects hold others of
    /// their class.
    pub level_count: u64,
}

/// A future row, with its objects until the objects that they hold are found.
struct HolderNode {
    row: HeldRow,
    objects: Vec<ObjectId>,
    children: Vec<usize>,
    is_shown: bool,
}

/// The sums over some objects of a class.
#[derive(Default)]
struct Sum {
    count: u64,
    shallow_bytes: u64,
    retained_bytes: u64,
}

impl Heap {
    /// Returns the tree below the roots, or that of `objects`, each row before those below it, and of
    /// siblings the one that retains most first.
    pub fn held_tree(&self, objects: Option<&[ObjectId]>, limits: TreeLimits) -> Vec<HeldRow> {
        let tops = match objects {
            Some(objects) => self.topmost(objects),
            None => self.held_by(None),
        };
        let namesakes = &Namesakes::of(self);
        let mut nodes = self.groups(&tops, 0, limits.least_bytes, namesakes);
        drop(tops);
        let mut tops: Vec<usize> = (0..nodes.len()).collect();
        let mut open: BinaryHeap<_> =
            tops.iter().map(|&at| (nodes[at].row.retained_bytes, Reverse(at))).collect();
        let mut row_count = 0;
        while let Some((_, Reverse(at))) = open.pop()
            && row_count < limits.row_count
        {
            nodes[at].is_shown = true;
            row_count += 1;
            for child in self.expand(&mut nodes[at], limits.least_bytes, namesakes) {
                let next = nodes.len();
                open.push((child.row.retained_bytes, Reverse(next)));
                nodes.push(child);
                nodes[at].children.push(next);
            }
        }
        let mut rows = Vec::with_capacity(row_count);
        tops.reverse();
        while let Some(at) = tops.pop() {
            if nodes[at].is_shown {
                rows.push(nodes[at].row.clone());
                tops.extend(nodes[at].children.iter().rev());
            }
        }
        rows
    }

    /// Returns those of the objects that no other one of them holds, directly or not. All are held from the
    /// roots.
    pub fn topmost(&self, objects: &[ObjectId]) -> Vec<ObjectId> {
        let mut among = NodeBits::new(self.object_count());
        objects.iter().for_each(|&object| among.set(object));
        // The known facts about other objects: that one of `objects` is above, or that none is.
        let (mut below, mut free) =
            (NodeBits::new(self.object_count()), NodeBits::new(self.object_count()));
        let mut topmost = Vec::new();
        for &object in objects {
            let mut above = self.holder(object);
            let is_below = loop {
                match above {
                    Holder::Object(it) if among.get(it) || below.get(it) => break Some(true),
                    Holder::Object(it) if free.get(it) => break Some(false),
                    Holder::Object(it) => above = self.holder(it),
                    Holder::Roots => break Some(false),
                    Holder::Nothing => break None,
                }
            };
            let Some(is_below) = is_below else { continue };
            let known = if is_below { &mut below } else { &mut free };
            let mut above = self.holder(object);
            while let Holder::Object(it) = above
                && !among.get(it)
                && !known.get(it)
            {
                known.set(it);
                above = self.holder(it);
            }
            if !is_below {
                topmost.push(object);
            }
        }
        topmost
    }

    /// Takes a node's objects and makes nodes of the objects that they hold. The objects of the
    /// same class among these, as in lists and trees, are the node's own.
    fn expand(
        &self,
        node: &mut HolderNode,
        least_bytes: u64,
        namesakes: &Namesakes,
    ) -> Vec<HolderNode> {
        let mut objects = std::mem::take(&mut node.objects);
        let mut others = Vec::new();
        let is_own = |it: ObjectId| {
            namesakes.class_of(self, it) == node.row.class && namesakes.as_class(self, it).is_none()
        };
        loop {
            let held = objects.iter().flat_map(|&it| self.children().of(it.0).map(ObjectId));
            let (own, others_too): (Vec<_>, Vec<_>) = held.partition(|&it| is_own(it));
            others.extend(others_too);
            if own.is_empty() {
                break;
            }
            node.row.level_count += 1;
            node.row.count += own.len() as u64;
            node.row.shallow_bytes += own.iter().map(|&it| self.shallow_bytes(it)).sum::<u64>();
            objects = own;
        }
        self.groups(&others, node.row.depth + 1, least_bytes, namesakes)
    }

    /// The objects by class, those classes that retain most first.
    fn groups(
        &self,
        objects: &[ObjectId],
        depth: usize,
        least_bytes: u64,
        namesakes: &Namesakes,
    ) -> Vec<HolderNode> {
        let key = |object| (namesakes.class_of(self, object), namesakes.as_class(self, object));
        let mut sums: FxHashMap<(ClassIndex, Option<ClassIndex>), Sum> = FxHashMap::default();
        for &object in objects {
            let sum = sums.entry(key(object)).or_default();
            sum.count += 1;
            sum.shallow_bytes += self.shallow_bytes(object);
            sum.retained_bytes += self.retained_bytes(object);
        }
        // Classes that retain little are one row.
        let is_small = |key: &(_, Option<_>), sum: &mut Sum| {
            key.1.is_some() && sum.retained_bytes < least_bytes
        };
        let small: Vec<_> = sums.extract_if(is_small).collect();
        for ((class, _), small) in small {
            let sum = sums.entry((class, None)).or_default();
            sum.count += small.count;
            sum.shallow_bytes += small.shallow_bytes;
            sum.retained_bytes += small.retained_bytes;
        }
        sums.retain(|_, sum| sum.retained_bytes >= least_bytes.max(1));
        let mut nodes: Vec<HolderNode> = Vec::with_capacity(sums.len());
        let mut places = FxHashMap::default();
        for (key, sum) in sums {
            places.insert(key, nodes.len());
            let row = HeldRow {
                depth,
                class: key.0,
                stands_for: key.1,
                object: None,
                count: sum.count,
                shallow_bytes: sum.shallow_bytes,
                retained_bytes: sum.retained_bytes,
                level_count: 1,
            };
            nodes.push(HolderNode {
                row,
                objects: Vec::new(),
                children: Vec::new(),
                is_shown: false,
            });
        }
        for &object in objects {
            let key = key(object);
            if let Some(&at) = places.get(&key).or_else(|| places.get(&(key.0, None))) {
                nodes[at].objects.push(object);
            }
        }
        for node in &mut nodes {
            if let [object] = node.objects[..] {
                node.row.object = Some(object);
            }
        }
        nodes.sort_by_key(|it| (Reverse(it.row.retained_bytes), it.row.class, it.row.stands_for));
        nodes
    }
}

/// A bit for each object.
struct NodeBits(Vec<u64>);

impl NodeBits {
    fn new(object_count: u64) -> Self {
        Self(vec![0; (object_count as usize).div_ceil(64)])
    }

    fn get(&self, object: ObjectId) -> bool {
        self.0[object.0 as usize / 64] >> (object.0 % 64) & 1 == 1
    }

    fn set(&mut self, object: ObjectId) {
        self.0[object.0 as usize / 64] |= 1 << (object.0 % 64);
    }
}
