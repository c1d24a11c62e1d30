//! The dominator tree: objects below their holders, siblings of a class as one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use crate::findings::TREE_ROWS;
use crate::namesakes::Namesakes;
use crate::{ClassIndex, Heap, HeldRow, Holder, ObjectId};

/// The part of all that a row retains at least.
const LEAST_SHARE: f64 = 0.001;

/// The size of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLimits {
    /// Rows that retain less are left out.
    pub least_bytes: u64,
    /// The most rows, those that retain most.
    pub row_count: usize,
}

impl TreeLimits {
    /// Those of a tree of this number of rows, of objects that retain `all_bytes` together.
    pub fn new(all_bytes: u64, row_count: usize) -> Self {
        Self { least_bytes: (all_bytes as f64 * LEAST_SHARE) as u64, row_count }
    }
}

/// A future row, with its objects until the objects that they hold are found.
struct HolderNode {
    row: HeldRow,
    objects: Vec<ObjectId>,
    children: Vec<usize>,
    /// Its place in the order in which rows are shown.
    order: Option<usize>,
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
        let all = TreeLimits::new(self.totals().reachable.bytes, TREE_ROWS);
        let is_kept = limits.least_bytes == all.least_bytes && limits.row_count <= all.row_count;
        let first = |rows: &[(usize, HeldRow)]| {
            let shown = rows.iter().filter(|(order, _)| *order < limits.row_count);
            shown.map(|(_, row)| row.clone()).collect()
        };
        match objects {
            Some(objects) => first(&self.tree_of(self.topmost(objects), limits)),
            None if is_kept => {
                let tree = &self.findings.tree;
                first(tree.get_or_init(|| self.tree_of(self.held_by(None), all)))
            }
            None => first(&self.tree_of(self.held_by(None), limits)),
        }
    }

    /// Returns the rows of the tree of `tops`, each with its place in the order of what they retain.
    fn tree_of(&self, tops: Vec<ObjectId>, limits: TreeLimits) -> Vec<(usize, HeldRow)> {
        let mut kinds = Kinds::new(self);
        for top in tops {
            let kind = kinds.namesakes.kind_of(self, top);
            kinds.add(self, kind, top);
        }
        let mut nodes = kinds.take(0, limits.least_bytes);
        let mut tops: Vec<usize> = (0..nodes.len()).collect();
        let mut open: BinaryHeap<_> =
            tops.iter().map(|&at| (nodes[at].row.retained_bytes, Reverse(at))).collect();
        let mut row_count = 0;
        while let Some((_, Reverse(at))) = open.pop()
            && row_count < limits.row_count
        {
            nodes[at].order = Some(row_count);
            row_count += 1;
            for child in self.expand(&mut nodes[at], limits.least_bytes, &mut kinds) {
                let next = nodes.len();
                open.push((child.row.retained_bytes, Reverse(next)));
                nodes.push(child);
                nodes[at].children.push(next);
            }
        }
        let mut rows = Vec::with_capacity(row_count);
        tops.reverse();
        while let Some(at) = tops.pop() {
            if let Some(order) = nodes[at].order {
                rows.push((order, nodes[at].row.clone()));
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
        kinds: &mut Kinds,
    ) -> Vec<HolderNode> {
        let mut objects = std::mem::take(&mut node.objects);
        let mut own = Vec::new();
        while !objects.is_empty() {
            for &object in &objects {
                for held in self.children().of(object.0).map(ObjectId) {
                    let kind = kinds.namesakes.kind_of(self, held);
                    match kind == (node.row.class, None) {
                        true => own.push(held),
                        false => kinds.add(self, kind, held),
                    }
                }
            }
            if !own.is_empty() {
                node.row.level_count += 1;
                node.row.count += own.len() as u64;
                node.row.shallow_bytes += own.iter().map(|&it| self.shallow_bytes(it)).sum::<u64>();
            }
            std::mem::swap(&mut objects, &mut own);
            own.clear();
        }
        kinds.take(node.row.depth + 1, least_bytes)
    }
}

/// The kind of an object: its class, and the class that it represents.
type Kind = (ClassIndex, Option<ClassIndex>);

/// The objects that are found below others, by kind.
struct Kinds {
    namesakes: Namesakes,
    /// The place among `found` of each class, and one; 0 for those of which there is no object.
    places: Vec<u32>,
    /// That of each class that class objects represent.
    places_of_classes: FxHashMap<ClassIndex, u32>,
    found: Vec<(Kind, Sum, Vec<ObjectId>)>,
}

impl Kinds {
    fn new(heap: &Heap) -> Self {
        let (places_of_classes, found) = Default::default();
        let places = vec![0; heap.classes().len()];
        Self { namesakes: Namesakes::of(heap), places, places_of_classes, found }
    }

    fn add(&mut self, heap: &Heap, kind: Kind, object: ObjectId) {
        let place = match kind.1 {
            None => &mut self.places[kind.0.0 as usize],
            Some(class) => self.places_of_classes.entry(class).or_default(),
        };
        if *place == 0 {
            self.found.push((kind, Sum::default(), Vec::new()));
            *place = self.found.len() as u32;
        }
        let (_, sum, objects) = &mut self.found[*place as usize - 1];
        sum.count += 1;
        sum.shallow_bytes += heap.shallow_bytes(object);
        sum.retained_bytes += heap.retained_bytes(object);
        objects.push(object);
    }

    /// The kinds that were found, those that retain most first.
    fn take(&mut self, depth: usize, least_bytes: u64) -> Vec<HolderNode> {
        let found = std::mem::take(&mut self.found);
        found.iter().for_each(|((class, _), ..)| self.places[class.0 as usize] = 0);
        self.places_of_classes.clear();
        // Classes that retain little are one row.
        let is_small =
            |(kind, sum): (&Kind, &Sum)| kind.1.is_some() && sum.retained_bytes < least_bytes;
        let (small, mut kept): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(kind, sum, _)| is_small((kind, sum)));
        for ((class, _), sum, mut objects) in small {
            let all = kept.iter_mut().find(|it| it.0 == (class, None));
            match all {
                Some((_, all, all_objects)) => {
                    all.count += sum.count;
                    all.shallow_bytes += sum.shallow_bytes;
                    all.retained_bytes += sum.retained_bytes;
                    all_objects.append(&mut objects);
                }
                None => kept.push(((class, None), sum, objects)),
            }
        }
        kept.retain(|(_, sum, _)| sum.retained_bytes >= least_bytes.max(1));
        let node = |(kind, sum, objects): (Kind, Sum, Vec<ObjectId>)| HolderNode {
            row: HeldRow {
                depth,
                class: kind.0,
                stands_for: kind.1,
                object: if let [object] = objects[..] { Some(object) } else { None },
                count: sum.count,
                shallow_bytes: sum.shallow_bytes,
                retained_bytes: sum.retained_bytes,
                level_count: 1,
            },
            objects,
            children: Vec::new(),
            order: None,
        };
        let mut nodes: Vec<_> = kept.into_iter().map(node).collect();
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
