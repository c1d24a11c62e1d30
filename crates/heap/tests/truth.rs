//! What is true of a small heap, by taking each object out and walking again.

use std::collections::BTreeSet;

use perk_heap::{
    Amount, Edge, Heap, Holder, ObjectId, Reach, Refs, Root, RootKind, SetSize, Totals,
};

use crate::graph::{Graph, Link, Strength};

/// The levels of reachability with the references that count for each.
const LEVELS: [(Reach, Strength); 4] = [
    (Reach::Held, Strength::Strong),
    (Reach::Softly, Strength::Soft),
    (Reach::Weakly, Strength::Weak),
    (Reach::Finalizable, Strength::Final),
];

/// A graph's references under a choice of those that hold.
pub(crate) struct Truth<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) links: Vec<Vec<Link>>,
    pub(crate) dangling_count: u64,
    roots: BTreeSet<usize>,
    /// The strongest references that do not hold are beyond this.
    weakest: Strength,
}

impl<'a> Truth<'a> {
    /// Determines the references of a graph. `more` are roots besides those of the file.
    pub(crate) fn new(graph: &'a Graph, refs: Refs, more: &[usize]) -> Self {
        let weakest = match refs {
            Refs::Strong => Strength::Strong,
            Refs::Soft => Strength::Soft,
            Refs::All => Strength::Final,
        };
        let found: Vec<_> = (0..graph.nodes.len()).map(|it| graph.links(it)).collect();
        let dangling_count = found.iter().map(|it| it.1).sum();
        let links = found.into_iter().map(|it| it.0).collect();
        let mut roots = graph.direct_roots();
        roots.extend(more);
        Self { graph, links, dangling_count, roots, weakest }
    }

    pub(crate) fn holds(&self, link: &Link) -> bool {
        link.strength <= self.weakest
    }

    /// Marks what is reachable from the roots by references that are `weakest` or stronger, without
    /// going through what is `gone`.
    fn walk(&self, weakest: Strength, gone: &dyn Fn(usize) -> bool) -> Vec<bool> {
        let mut seen = vec![false; self.links.len()];
        let mut todo: Vec<usize> = self.roots.iter().copied().filter(|&it| !gone(it)).collect();
        todo.iter().for_each(|&it| seen[it] = true);
        while let Some(node) = todo.pop() {
            for link in self.links[node].iter().filter(|it| it.strength <= weakest) {
                if !seen[link.to] && !gone(link.to) {
                    seen[link.to] = true;
                    todo.push(link.to);
                }
            }
        }
        seen
    }

    pub(crate) fn reach(&self) -> Vec<Reach> {
        let mut reach = vec![Reach::Unreachable; self.links.len()];
        for (level, strength) in LEVELS.into_iter().rev() {
            let strength = strength.max(self.weakest);
            let seen = self.walk(strength, &|_| false);
            // A level that holds is the same as the one above.
            if level == Reach::Held || strength > self.weakest {
                reach.iter_mut().zip(seen).filter(|it| it.1).for_each(|it| *it.0 = level);
            }
        }
        reach
    }

    /// Returns for each object those that are held no more without it, itself among them.
    fn lost(&self) -> Vec<Vec<bool>> {
        let all = self.walk(self.weakest, &|_| false);
        let without = |node| {
            let left = self.walk(self.weakest, &|it| it == node);
            all.iter().zip(left).map(|(&before, after)| before && !after).collect()
        };
        (0..self.links.len()).map(without).collect()
    }

    /// Returns the objects that are held no more without all for which `is_in` holds.
    fn lost_without(&self, is_in: &dyn Fn(usize) -> bool) -> Vec<bool> {
        let all = self.walk(self.weakest, &|_| false);
        let left = self.walk(self.weakest, is_in);
        all.iter().zip(left).map(|(&before, after)| before && !after).collect()
    }

    /// Returns the number of references from the nearest root to each object that is held.
    fn distances(&self) -> Vec<Option<usize>> {
        let mut distances = vec![None; self.links.len()];
        let mut level: Vec<usize> = self.roots.iter().copied().collect();
        level.iter().for_each(|&it| distances[it] = Some(0));
        for distance in 1.. {
            let mut next = Vec::new();
            for link in level.iter().flat_map(|&it| &self.links[it]) {
                if self.holds(link) && distances[link.to].is_none() {
                    distances[link.to] = Some(distance);
                    next.push(link.to);
                }
            }
            if next.is_empty() {
                return distances;
            }
            level = next;
        }
        unreachable!("each level has objects that none above has")
    }

    /// Compares all that a heap says of its objects and how they hold each other.
    pub(crate) fn compare(&self, heap: &Heap, set_count: usize) {
        let count = self.links.len();
        assert_eq!(heap.object_count(), count as u64);
        let objects: Vec<ObjectId> = heap.objects().collect();
        assert_eq!(objects, (0..count as u32).map(ObjectId).collect::<Vec<_>>());
        let bytes: Vec<u64> = objects.iter().map(|&it| heap.shallow_bytes(it)).collect();
        let reach = self.reach();
        let lost = self.lost();
        let lost_count: Vec<usize> =
            lost.iter().map(|it| it.iter().filter(|it| **it).count()).collect();
        let mut held_by = vec![Vec::new(); count];
        let mut held_by_roots = Vec::new();
        for (node, &object) in objects.iter().enumerate() {
            assert_eq!(heap.reach(object), reach[node], "reach of {node}");
            let own = lost[node].iter().zip(&bytes).filter(|it| *it.0).map(|it| it.1);
            assert_eq!(heap.retained_bytes(object), own.sum::<u64>(), "retained by {node}");
            // Those that hold an object are in a chain: the nearest one holds least.
            let above = (0..count).filter(|&it| it != node && lost[it][node]);
            let holder = match above.min_by_key(|&it| lost_count[it]) {
                _ if reach[node] != Reach::Held => Holder::Nothing,
                Some(holder) => {
                    held_by[holder].push(object);
                    Holder::Object(objects[holder])
                }
                None => {
                    held_by_roots.push(object);
                    Holder::Roots
                }
            };
            assert_eq!(heap.holder(object), holder, "holder of {node}");
        }
        assert_eq!(heap.held_by(None), held_by_roots);
        for (&object, held) in objects.iter().zip(&held_by) {
            assert_eq!(heap.held_by(Some(object)), *held, "held by {object:?}");
        }
        self.compare_totals(heap.totals(), &reach, &bytes);
        self.compare_roots(heap.roots());
        self.compare_sets(heap, set_count, &lost, &bytes);
        self.compare_paths(heap, &objects);
    }

    fn compare_totals(&self, totals: &Totals, reach: &[Reach], bytes: &[u64]) {
        let amount = |wanted| {
            let of = reach.iter().zip(bytes).filter(|it| *it.0 == wanted);
            let (count, bytes) = of.fold((0, 0), |sum, it| (sum.0 + 1, sum.1 + it.1));
            Amount { count, bytes }
        };
        assert_eq!(totals.reachable, amount(Reach::Held));
        assert_eq!(totals.softly, amount(Reach::Softly));
        assert_eq!(totals.weakly, amount(Reach::Weakly));
        assert_eq!(totals.finalizable, amount(Reach::Finalizable));
        assert_eq!(totals.unreachable, amount(Reach::Unreachable));
        assert_eq!(totals.dangling_count, self.dangling_count);
        let by_root = totals.by_root.iter();
        let sum = by_root.fold((0, 0), |sum, it| (sum.0 + it.1.count, sum.1 + it.1.bytes));
        assert_eq!(sum, (totals.reachable.count, totals.reachable.bytes));
    }

    /// Compares the roots of the file, and where they hang.
    fn compare_roots(&self, roots: &[Root]) {
        let of_graph = self.graph.roots.iter();
        let mut expected: BTreeSet<_> = of_graph
            .filter_map(|&(kind, id)| Some((self.graph.find(id)?, root_kind(kind))))
            .collect();
        let assumed = self.graph.assumed_roots().into_iter();
        expected.extend(assumed.map(|node| (node, RootKind::StickyClass)));
        let of_file = roots.iter().filter(|it| it.kind != RootKind::Unreachable);
        let found: BTreeSet<_> = of_file.map(|it| (it.object.0 as usize, it.kind)).collect();
        assert_eq!(found, expected);
    }

    fn compare_sets(&self, heap: &Heap, set_count: usize, lost: &[Vec<bool>], bytes: &[u64]) {
        // Every fifth object is in no set.
        let set_of = |node: usize| {
            let mixed = (node as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
            (!mixed.is_multiple_of(5)).then_some((mixed % set_count as u64) as usize)
        };
        let sizes = heap.sets(set_count, &|it| set_of(it.0 as usize).map(|it| it as u32));
        assert_eq!(sizes.len(), set_count);
        for (set, size) in sizes.into_iter().enumerate() {
            let members: Vec<usize> =
                (0..lost.len()).filter(|&it| lost[it][it] && set_of(it) == Some(set)).collect();
            let shallow = members.iter().map(|&it| bytes[it]).sum();
            // What a set retains at least is what is lost with any one of its members.
            let lost_with_one = |node: usize| members.iter().any(|&it| lost[it][node]);
            let least = (0..lost.len()).filter(|&it| lost_with_one(it)).map(|it| bytes[it]).sum();
            let expected =
                SetSize { count: members.len() as u64, shallow_bytes: shallow, least_bytes: least };
            assert_eq!(size, expected, "set {set}");
            let gone = self.lost_without(&|it| set_of(it) == Some(set));
            let gone: Vec<u64> =
                gone.iter().zip(bytes).filter(|it| *it.0).map(|it| *it.1).collect();
            let exact = Amount { count: gone.len() as u64, bytes: gone.iter().sum() };
            let found = heap.retained_by_all(&|it| set_of(it.0 as usize) == Some(set)).unwrap();
            assert_eq!(found, exact, "all of set {set}");
        }
    }

    fn compare_paths(&self, heap: &Heap, objects: &[ObjectId]) {
        let distances = self.distances();
        let paths = heap.shortest_paths().unwrap();
        for (node, &object) in objects.iter().enumerate() {
            let path = paths.to(object);
            let expected = distances[node].map_or(0, |it| it + 1);
            assert_eq!(path.len(), expected, "path of {node}: {path:?}");
            let Some(root) = path.last() else { continue };
            assert_eq!(path[0], objects[node]);
            assert!(self.roots.contains(&(root.0 as usize)), "{path:?} ends at no root");
            for pair in path.windows(2) {
                let (to, from) = (pair[0].0 as usize, pair[1].0 as usize);
                let is_held = self.links[from].iter().any(|it| it.to == to && self.holds(it));
                assert!(is_held, "{from} does not hold {to}: {path:?}");
            }
        }
    }

    /// Compares the references that a heap gives for its objects, in both directions.
    pub(crate) fn compare_references(&self, heap: &Heap) {
        let objects: Vec<ObjectId> = heap.objects().collect();
        let mut all = Vec::new();
        for (from, &object) in objects.iter().enumerate() {
            let found = heap.references(object).unwrap();
            let mut found: Vec<_> = found
                .into_iter()
                .map(|it| {
                    assert_eq!(it.from, object);
                    (it.to.0 as usize, format!("{:?}", it.label), it.holds)
                })
                .collect();
            // The collector's links are none, and instances need not hold a class that a root holds.
            let direct = self.graph.direct_roots();
            let is_listed = |it: &&Link| {
                it.strength != Strength::None && (it.label != "Class" || !direct.contains(&it.to))
            };
            let links = self.links[from].iter().filter(is_listed);
            let mut expected: Vec<_> =
                links.map(|it| (it.to, it.label.clone(), self.holds(it))).collect();
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "references of {from}");
            all.extend(expected.into_iter().map(|(to, label, holds)| (to, from, label, holds)));
        }
        let mut walked = Vec::new();
        for part in 0..heap.part_count() {
            let mut each = |it: &Edge| {
                let ends = (it.to.0 as usize, it.from.0 as usize);
                walked.push((ends.0, ends.1, format!("{:?}", it.label), it.holds));
            };
            heap.each_reference(part, &mut each).unwrap();
        }
        all.sort();
        walked.sort();
        assert_eq!(walked, all, "a walk over all references");
        let odd: Vec<ObjectId> = objects.into_iter().filter(|it| it.0 % 2 == 1).collect();
        all.retain(|it| it.0 % 2 == 1);
        all.sort();
        let found = heap.referrers(&odd).unwrap();
        let mut found: Vec<_> = found
            .into_iter()
            .map(|it| (it.to.0 as usize, it.from.0 as usize, format!("{:?}", it.label), it.holds))
            .collect();
        found.sort();
        assert_eq!(found, all);
    }
}

/// Returns the kind of a root of the file.
fn root_kind(kind: crate::dump::RootRecord) -> RootKind {
    use crate::dump::RootRecord;
    match kind {
        RootRecord::Unknown => RootKind::Unknown,
        RootRecord::JniGlobal => RootKind::JniGlobal,
        RootRecord::JniLocal(..) => RootKind::JniLocal,
        RootRecord::JavaFrame(..) => RootKind::JavaFrame,
        RootRecord::NativeStack(_) => RootKind::NativeStack,
        RootRecord::StickyClass => RootKind::StickyClass,
        RootRecord::ThreadBlock(_) => RootKind::ThreadBlock,
        RootRecord::Monitor => RootKind::Monitor,
        RootRecord::Thread { .. } => RootKind::Thread,
    }
}
