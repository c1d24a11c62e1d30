//! The shortest paths from roots to objects, equal ones as one: a tree of classes and fields.

use rustc_hash::FxHashMap;

use crate::namesakes::Namesakes;
use crate::{
    ClassIndex, ClassKind, Content, Error, Heap, Label, ObjectId, PathNode, Place, RootKind,
    ShortestPaths,
};

/// The most objects whose paths are searched, and about the most steps of these paths. Of more objects, some
/// are taken that are spread over all.
const MOST_OBJECTS: usize = 20_000;
const MOST_STEPS: usize = 2_000_000;
/// The most steps of a path that are kept at each end of it.
const MOST_AT_END: usize = 5_000;
/// The number of objects whose paths show the length of the others' paths.
const FEW: usize = 64;
/// The elements of an array that are looked through for the place of a reference.
const MOST_ELEMENTS: u64 = 1 << 20;

/// A tree of shortest paths from the roots down.
#[derive(Debug)]
pub struct PathTree {
    /// The nodes, each before those below it, which follow it; of siblings, the one with most objects
    /// first.
    pub nodes: Vec<PathNode>,
    /// The number of objects whose paths they are.
    pub object_count: u64,
    /// The number of objects that were asked for and are held.
    pub asked_count: u64,
}

impl Place {
    /// Returns the place of a reference.
    pub fn of(label: Label) -> Self {
        match label {
            Label::Element(index) => Self::Element(Some(index)),
            label => Self::Named(label),
        }
    }
}

/// A node of the tree to be.
#[derive(Debug)]
struct BranchNode {
    parent: usize,
    node: PathNode,
}

/// What the nodes below one are distinguished by: all but the last where several objects are one node.
#[derive(PartialEq, Eq, Hash)]
struct PathKey {
    parent: usize,
    label: Option<Place>,
    root: Option<RootKind>,
    class: ClassIndex,
    stands_for: Option<ClassIndex>,
    object: Option<ObjectId>,
}

/// The places of references, by the objects that have them and those that they lead to.
type Places = Vec<((ObjectId, ObjectId), Place)>;

/// The tree while paths are added.
struct Builder<'h> {
    heap: &'h Heap,
    namesakes: Namesakes,
    is_one: bool,
    nodes: Vec<BranchNode>,
    children: FxHashMap<PathKey, usize>,
    places: Places,
}

impl PathTree {
    /// Finds the paths to the objects.
    ///
    /// # Errors
    /// The errors of the file.
    pub fn new(heap: &Heap, objects: &[ObjectId]) -> Result<Self, Error> {
        Self::of(heap, &heap.shortest_paths()?, objects)
    }

    /// Makes the tree of the paths to the objects.
    ///
    /// # Errors
    /// The errors of the file.
    pub fn of(heap: &Heap, shortest: &ShortestPaths, objects: &[ObjectId]) -> Result<Self, Error> {
        let is_one = objects.len() == 1;
        let held: Vec<_> = objects.iter().copied().filter(|&it| shortest.has(it)).collect();
        let taken = spread(&held);
        let mut paths = Vec::new();
        let (mut from, mut most, mut longest, mut steps) = (0, 1, 1, 0);
        // The first path alone, then a few: they may be as long as the heap is large.
        while from < taken.len() && steps < MOST_STEPS {
            let count = most.min(((MOST_STEPS - steps) / longest).max(1));
            let some = &taken[from..taken.len().min(from + count)];
            most = if most == 1 { FEW } else { taken.len() };
            for path in some.iter().map(|&it| shortest.to(it)) {
                longest = longest.max(path.len());
                steps += path.len();
                paths.push(without_middle(path));
            }
            from += some.len();
        }
        let mut builder = Builder {
            heap,
            namesakes: Namesakes::of(heap),
            is_one,
            nodes: Vec::new(),
            children: FxHashMap::default(),
            places: places(heap, &paths, is_one)?,
        };
        paths.iter().for_each(|path| builder.add(path));
        let (object_count, asked_count) = (paths.len() as u64, held.len() as u64);
        Ok(Self { nodes: builder.sorted(), object_count, asked_count })
    }
}

/// The places of the references on the paths, without those in arrays that are not distinguished; each
/// object is read once, in the order of addresses.
fn places(heap: &Heap, paths: &[Vec<ObjectId>], is_one: bool) -> Result<Places, Error> {
    let mut pairs: Vec<_> =
        paths.iter().flat_map(|path| path.windows(2)).map(|it| (it[1], it[0])).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let is_array = |from| heap.class(heap.class_of(from)).kind == ClassKind::ObjectArray;
    let mut places = Vec::new();
    for of_object in pairs.chunk_by(|a, b| a.0 == b.0) {
        let from = of_object[0].0;
        if is_array(from) {
            if is_one {
                let index = heap.element_of(from, of_object[0].1)?;
                places.push((of_object[0], Place::Element(index)));
            }
            continue;
        }
        let edges = heap.references(from)?;
        for &pair in of_object {
            let label =
                edges.iter().find(|edge| edge.holds && edge.to == pair.1).map(|edge| &edge.label);
            places.push((
                pair,
                match label {
                    Some(Label::Local(_)) if !is_one => Place::Local,
                    Some(label) => Place::of(label.clone()),
                    None => Place::Several,
                },
            ));
        }
    }
    Ok(places)
}

/// The path, of a very long one the two ends.
fn without_middle(mut path: Vec<ObjectId>) -> Vec<ObjectId> {
    if path.len() > 2 * MOST_AT_END {
        path.drain(MOST_AT_END..path.len() - MOST_AT_END);
        path.shrink_to_fit();
    }
    path
}

/// At most as many objects as paths are searched of. The first ones of them are spread over all, so that they
/// tell how long paths are.
fn spread(objects: &[ObjectId]) -> Vec<ObjectId> {
    const GOLDEN: f64 = 0.618;
    let count = objects.len();
    let mut stride = (count as f64 * GOLDEN) as usize + 1;
    while common_divisor(stride, count) > 1 {
        stride += 1;
    }
    let at = |index: usize| objects[(count / 2 + index * stride) % count];
    (0..count.min(MOST_OBJECTS)).map(at).collect()
}

fn common_divisor(mut a: usize, mut b: usize) -> usize {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Builder<'_> {
    /// Adds a path, which leads from the object up to a root.
    fn add(&mut self, path: &[ObjectId]) {
        let mut parent = usize::MAX;
        let mut above: Option<ObjectId> = None;
        let mut level_count = 1;
        for &object in path.iter().rev() {
            let place = above.map(|above| self.place(above, object));
            let class = self.namesakes.class_of(self.heap, object);
            let stands_for = self.namesakes.as_class(self.heap, object);
            let is_own = self.is_one.then_some(object);
            let last = self.nodes.get_mut(parent).map(|it| &mut it.node);
            if let Some(last) = last
                && last.class == class
                && last.label == place
                && is_own.is_none()
                && stands_for.is_none()
                && matches!(place, Some(Place::Named(_)))
            {
                level_count += 1;
                last.level_count = last.level_count.max(level_count);
                last.object = None;
            } else {
                level_count = 1;
                let root = self.heap.first_root_kind(object).filter(|_| place.is_none());
                let label = place.clone();
                let key = PathKey { parent, label, root, class, stands_for, object: is_own };
                let next = self.nodes.len();
                let at = *self.children.entry(key).or_insert(next);
                if at == next {
                    let depth = self.nodes.get(parent).map_or(0, |it| it.node.depth + 1);
                    self.nodes.push(BranchNode {
                        parent,
                        node: PathNode {
                            depth,
                            label: place,
                            root,
                            class,
                            stands_for,
                            object: Some(object),
                            level_count: 1,
                            path_count: 0,
                            end_count: 0,
                        },
                    });
                }
                let node = &mut self.nodes[at].node;
                node.object = node.object.filter(|&it| it == object);
                node.path_count += 1;
                parent = at;
            }
            above = Some(object);
        }
        if let Some(node) = self.nodes.get_mut(parent) {
            node.node.end_count += 1;
        }
    }

    /// The place in `from` of a reference to `to`.
    fn place(&self, from: ObjectId, to: ObjectId) -> Place {
        match self.places.binary_search_by_key(&(from, to), |it| it.0) {
            Ok(at) => self.places[at].1.clone(),
            Err(_) => Place::Element(None),
        }
    }

    /// The nodes in the order of the tree.
    fn sorted(self) -> Vec<PathNode> {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut stack = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            match children.get_mut(node.parent) {
                Some(children) => children.push(at),
                None => stack.push(at),
            }
        }
        let by_count = |at: &usize| self.nodes[*at].node.path_count;
        stack.sort_by_key(by_count);
        let mut sorted = Vec::with_capacity(self.nodes.len());
        while let Some(at) = stack.pop() {
            sorted.push(self.nodes[at].node.clone());
            let mut below = std::mem::take(&mut children[at]);
            below.reverse();
            below.sort_by_key(by_count);
            stack.extend(below);
        }
        sorted
    }
}

impl Heap {
    /// Returns the index of the first element of `array` that is `to`, among the first million.
    fn element_of(&self, array: ObjectId, to: ObjectId) -> Result<Option<u64>, Error> {
        let address = self.address(to);
        match self.content(array, MOST_ELEMENTS)? {
            Content::Objects(elements) => {
                Ok(elements.iter().position(|&it| it == address).map(|at| at as u64))
            }
            _ => Ok(None),
        }
    }

    /// Returns the place in `holder` of its first reference to `object`; `None` where other objects are
    /// between them.
    ///
    /// # Errors
    /// The errors of the file.
    pub fn place_of(&self, holder: ObjectId, object: ObjectId) -> Result<Option<Place>, Error> {
        if self.class(self.class_of(holder)).kind == ClassKind::ObjectArray {
            let index = self.element_of(holder, object)?;
            return Ok(index.map(|index| Place::Element(Some(index))));
        }
        let edges = self.references(holder)?;
        Ok(edges
            .into_iter()
            .find(|edge| edge.holds && edge.to == object)
            .map(|edge| Place::of(edge.label)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_taken_once_and_from_all_parts() {
        for count in [0, 1, 2, 3, 10, 64, 1000, 19_999] {
            let objects: Vec<_> = (0..count).map(ObjectId).collect();
            let mut taken = spread(&objects);
            assert!(count < 64 || taken[..16].iter().any(|it| it.0 < count / 8), "{count}");
            assert!(count < 64 || taken[..16].iter().any(|it| it.0 >= count / 8 * 7), "{count}");
            taken.sort_unstable();
            assert_eq!(taken, objects, "{count}");
        }
        let many: Vec<_> = (0..100_000).map(ObjectId).collect();
        let mut taken = spread(&many);
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), MOST_OBJECTS);
        assert!(taken.windows(2).all(|pair| pair[1].0 - pair[0].0 < 20));
    }
}
