//! The call tree by method alone: lines, bytecode indexes, threads and the copies of a method that
//! several class loaders define are merged. Calls, times, samples and allocations are kept in
//! separate columns, with an entry for each node.

mod chains;

use std::cell::{Cell, OnceCell};
use std::sync::{Arc, OnceLock};

use crate::bits::Bits;
use crate::top::MethodMerger;
pub(crate) use chains::{Below, Chains};
use perk_profile::{CallTree, FrameId, KeyedMap, MethodId, NodeId, PathId, Profile, Trace};

/// The paths that are looked at one by one, for each path of a tree, before all are.
const STEPS: usize = 4;

/// All paths of methods of a profile. A parent's index is below its children's.
#[derive(Clone, Debug)]
pub struct MethodTree {
    /// A node for each path, with the first frame of its method. Where each method has one frame, it is the
    /// profile's own tree.
    tree: CallTree,
    /// The method of each frame.
    methods: Vec<MethodId>,
    /// The path of each node of the profile's tree; `None` where they have the same indexes.
    paths: Option<Arc<Vec<PathId>>>,
    chains: Arc<Chains>,
    /// The paths whose method is not on them twice.
    outermost: OnceLock<Bits>,
    method_count: usize,
}

/// A pair of caller and callee; there is no caller if the callee is a thread's first method.
pub type MethodPair = (Option<MethodId>, MethodId);

/// Which pairs of caller and callee occur for the first time on their paths.
#[derive(Debug)]
pub struct OutermostEdges<'t> {
    tree: &'t MethodTree,
    /// The paths that may still be looked at one by one.
    steps: Cell<usize>,
    /// The paths whose last pair is on them once; made where steps are too many.
    found: OnceCell<Bits>,
}

/// The nodes of one path of methods, in which a method's direct calls of itself count as one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The method at the path's end.
    pub method: MethodId,
    /// The nodes of its outermost calls, whose subtrees do not overlap.
    pub tops: Vec<PathId>,
    /// All its nodes: the tops, and the nodes of its calls by itself.
    pub nodes: Vec<PathId>,
}

impl MethodTree {
    /// Makes the tree of all paths of `profile`.
    pub fn new(profile: &Profile) -> Self {
        let symbols = &profile.symbols;
        let mut merged = MethodMerger::new(profile);
        let frames = (0..symbols.frame_count()).map(FrameId::new);
        let methods: Vec<MethodId> =
            frames.clone().map(|frame| merged.method(symbols.get_frame(frame).method)).collect();
        let mut first: Vec<Option<FrameId>> = vec![None; symbols.method_count()];
        let first_of = |frame: FrameId| *first[methods[frame.index()].index()].get_or_insert(frame);
        let first: Vec<FrameId> = frames.clone().map(first_of).collect();
        let (tree, paths) = match frames.zip(&first).all(|(frame, first)| frame == *first) {
            true => (profile.tree.clone(), None),
            false => {
                let mut tree = CallTree::default();
                let mut paths: Vec<PathId> = Vec::with_capacity(profile.tree.len());
                for index in 0..profile.tree.len() {
                    let node = NodeId::new(index);
                    let above = profile.tree.parent(node).zip(profile.tree.frame(node));
                    paths.push(above.map_or(PathId::new(0), |(parent, frame)| {
                        let parent = node_of(paths[parent.index()]);
                        path_of(tree.insert_below(parent, [first[frame.index()]]))
                    }));
                }
                (tree, Some(Arc::new(paths)))
            }
        };
        let end =
            |trace: &Trace| paths.as_ref().map_or(trace.node, |it| node_of(it[trace.node.index()]));
        let chains = Chains::new(&tree, profile.traces().iter().map(end)).into();
        let method_count = symbols.method_count();
        Self { tree, methods, paths, chains, outermost: OnceLock::new(), method_count }
    }

    /// The path of methods of a node of the profile's tree.
    #[inline]
    pub fn path(&self, node: NodeId) -> PathId {
        self.paths.as_ref().map_or_else(|| path_of(node), |paths| paths[node.index()])
    }

    /// The empty path.
    pub fn root(&self) -> PathId {
        PathId::new(0)
    }

    /// The method at the path's end; `None` for the root.
    #[inline]
    pub fn method(&self, path: PathId) -> Option<MethodId> {
        self.tree.frame(node_of(path)).map(|frame| self.methods[frame.index()])
    }

    /// The first frame of the method at the path's end; `None` for the root.
    #[inline]
    pub fn frame(&self, path: PathId) -> Option<FrameId> {
        self.tree.frame(node_of(path))
    }

    /// The method of a frame; of several that look the same the first.
    pub fn method_of(&self, frame: FrameId) -> MethodId {
        self.methods[frame.index()]
    }

    /// The frame of the path that follows in the same chain, if one does.
    #[inline]
    pub(crate) fn frame_after(&self, path: PathId) -> Option<FrameId> {
        let next = PathId::new(path.index() + 1);
        if self.chains.is_last(path) { None } else { self.frame(next) }
    }

    /// The path of each node of the profile's tree; `None` where they have the same indexes.
    pub(crate) fn paths(&self) -> Option<&Arc<Vec<PathId>>> {
        self.paths.as_ref()
    }

    /// The chains of its paths, at whose ends all traces of the profile end.
    pub(crate) fn chains(&self) -> &Arc<Chains> {
        &self.chains
    }

    /// The path without its last method; the root's is the root.
    #[inline]
    pub fn parent(&self, path: PathId) -> PathId {
        self.tree.parent(node_of(path)).map_or(path, path_of)
    }

    /// The paths with one more method, in the order of their first appearance.
    pub fn children(&self, path: PathId) -> impl Iterator<Item = PathId> + '_ {
        let (next, numbers) = match self.chains.below(path) {
            Below::Next(next) => (Some(next), 0..0),
            Below::Chains(numbers) => (None, numbers),
        };
        next.into_iter().chain(self.chains.heads(numbers).iter().copied())
    }

    /// The methods of a path, innermost first.
    pub fn methods(&self, mut path: PathId) -> impl Iterator<Item = MethodId> + '_ {
        std::iter::from_fn(move || {
            let method = self.method(path)?;
            path = self.parent(path);
            Some(method)
        })
    }

    /// The number of methods of each path.
    pub fn depths(&self) -> Vec<u32> {
        let mut depths = vec![0; self.len()];
        for index in 1..depths.len() {
            depths[index] = depths[self.parent(PathId::new(index)).index()] + 1;
        }
        depths
    }

    /// The number of the profile's methods.
    pub fn method_count(&self) -> usize {
        self.method_count
    }

    /// The number of nodes, including the root.
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// Never true: the root is always there.
    pub fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    /// Returns, for each node, the sum of `own` over the node and all nodes below it.
    pub fn totals<T: Clone>(&self, own: &[T], add: impl Fn(&mut T, &T)) -> Vec<T> {
        let mut totals = own.to_vec();
        for index in (1..self.len()).rev() {
            let (above, here) = totals.split_at_mut(index);
            add(&mut above[self.parent(PathId::new(index)).index()], &here[0]);
        }
        totals
    }

    /// Visits all nodes except the root, each after its parent, and passes whether the node's
    /// method occurs for the first time on its path. Sums of the totals of only these nodes count
    /// recursion once.
    pub fn walk(&self, visit: impl FnMut(PathId, bool)) {
        let method = |path| self.method(path).map_or(0, MethodId::index);
        self.walk_by(self.method_count, method, visit);
    }

    /// As [`MethodTree::walk`], with `key`, a number below `key_count`, in place of the method.
    pub fn walk_by(
        &self,
        key_count: usize,
        key: impl Fn(PathId) -> usize,
        mut visit: impl FnMut(PathId, bool),
    ) {
        let mut open = vec![0_u32; key_count];
        // The nodes on the path, each with the siblings that follow it.
        let mut above = vec![(self.root(), self.children(self.root()))];
        while let Some((_, siblings)) = above.last_mut() {
            if let Some(path) = siblings.next() {
                let open = &mut open[key(path)];
                visit(path, *open == 0);
                *open += 1;
                above.push((path, self.children(path)));
            } else if let Some((path, _)) = above.pop()
                && path != self.root()
            {
                open[key(path)] -= 1;
            }
        }
    }

    /// Whether a path's method is not on it twice: sums of the totals of these paths alone count recursion once.
    #[inline]
    pub fn is_outermost(&self, path: PathId) -> bool {
        self.outermost().has(path.index())
    }

    /// The paths whose method is not on them twice.
    pub(crate) fn outermost(&self) -> &Bits {
        self.outermost.get_or_init(|| {
            let mut outermost = Bits::new(self.len());
            self.walk(|path, is_outermost| {
                if is_outermost {
                    outermost.set(path.index());
                }
            });
            outermost
        })
    }

    /// The pair of caller and callee at the path's end; `None` for the root.
    #[inline]
    pub fn edge(&self, path: PathId) -> Option<MethodPair> {
        Some((self.method(self.parent(path)), self.method(path)?))
    }

    /// Returns the first path of one method that is meant.
    pub(crate) fn child_of_root(&self, is_meant: impl Fn(MethodId) -> bool) -> Option<PathId> {
        let paths = (1..self.len()).map(PathId::new);
        let mut outer = paths.filter(|path| self.parent(*path) == self.root());
        outer.find(|path| self.method(*path).is_some_and(&is_meant))
    }

    /// Visits the paths whose last pair of caller and callee has a method that is meant, in their order, each with that
    /// pair.
    pub(crate) fn visit_edges(
        &self,
        is_meant: impl Fn(MethodId) -> bool,
        mut visit: impl FnMut(PathId, MethodPair),
    ) {
        let is_meant: Vec<bool> = self.methods.iter().map(|&method| is_meant(method)).collect();
        let is_meant = |frame: FrameId| is_meant[frame.index()];
        // The path before is most often the caller's.
        let mut last = (self.tree.root(), false);
        for (index, (parent, frame)) in (1..).zip(self.tree.edges()) {
            let is_of_caller = match last {
                (node, is_meant) if node == parent => is_meant,
                _ => self.tree.frame(parent).is_some_and(is_meant),
            };
            let path = PathId::new(index);
            last = (node_of(path), is_meant(frame));
            if (last.1 || is_of_caller)
                && let Some(pair) = self.edge(path)
            {
                visit(path, pair);
            }
        }
    }

    /// The paths whose last pair of caller and callee is not on them twice: sums of the totals of these paths alone
    /// count recursion once.
    pub fn outermost_edges(&self) -> OutermostEdges<'_> {
        OutermostEdges { tree: self, steps: Cell::new(STEPS * self.len()), found: OnceCell::new() }
    }

    /// The branches that begin at the root.
    pub fn roots(&self) -> Vec<Branch> {
        self.branches(&[self.root()], None)
    }

    /// The branches directly below a branch.
    pub fn below(&self, branch: &Branch) -> Vec<Branch> {
        self.branches(&branch.nodes, Some(branch.method))
    }

    /// The branches below `nodes`, without that of `inside`, the method they end in.
    fn branches(&self, nodes: &[PathId], inside: Option<MethodId>) -> Vec<Branch> {
        let mut branches: Vec<Branch> = Vec::new();
        let mut places: KeyedMap<MethodId, usize> = KeyedMap::default();
        for child in nodes.iter().flat_map(|&node| self.children(node)) {
            let Some(method) = self.method(child).filter(|&method| Some(method) != inside) else {
                continue;
            };
            let place = *places.entry(method).or_insert_with(|| {
                branches.push(Branch { method, tops: Vec::new(), nodes: Vec::new() });
                branches.len() - 1
            });
            branches[place].tops.push(child);
        }
        for branch in &mut branches {
            branch.nodes.clone_from(&branch.tops);
            let mut done = 0;
            while let Some(&node) = branch.nodes.get(done) {
                let is_same = |&child: &PathId| self.method(child) == Some(branch.method);
                branch.nodes.extend(self.children(node).filter(is_same));
                done += 1;
            }
        }
        branches
    }
}

impl OutermostEdges<'_> {
    /// Whether the last pair of a path is on it once.
    pub fn has(&self, path: PathId) -> bool {
        // A pair with a method that is on the path once is there once, too.
        if self.tree.is_outermost(path) {
            return true;
        }
        match self.found.get() {
            Some(found) => found.has(path.index()),
            None => self
                .look(path)
                .unwrap_or_else(|| self.found.get_or_init(|| self.of_all()).has(path.index())),
        }
    }

    /// Looks for the last pair of a path above it; `None` where that takes too long.
    fn look(&self, path: PathId) -> Option<bool> {
        let (tree, edge) = (self.tree, self.tree.edge(path));
        let callee = tree.method(path);
        let mut at = path;
        loop {
            self.steps.set(self.steps.get().checked_sub(1)?);
            at = tree.parent(at);
            if tree.method(at) == callee {
                if tree.edge(at) == edge {
                    return Some(false);
                }
                // Further out the callee does not occur.
                if tree.is_outermost(at) {
                    return Some(true);
                }
            }
        }
    }

    /// Finds all on one walk.
    fn of_all(&self) -> Bits {
        let tree = self.tree;
        let mut places: KeyedMap<MethodPair, u32> = KeyedMap::default();
        let place_of = |index| {
            let count = places.len() as u32;
            let edge = tree.edge(PathId::new(index));
            edge.map_or(0, |edge| *places.entry(edge).or_insert(count))
        };
        let place_of: Vec<u32> = (0..tree.len()).map(place_of).collect();
        let mut found = Bits::new(tree.len());
        let place = |path: PathId| place_of[path.index()] as usize;
        tree.walk_by(places.len(), place, |path, is_outermost| {
            if is_outermost {
                found.set(path.index());
            }
        });
        found
    }
}

fn path_of(node: NodeId) -> PathId {
    PathId::new(node.index())
}

fn node_of(path: PathId) -> NodeId {
    NodeId::new(path.index())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::stack;

    fn names(profile: &Profile, tree: &MethodTree, path: PathId) -> String {
        let mut names = Vec::new();
        let mut at = path;
        while let Some(method) = tree.method(at) {
            names.push(profile.symbols.method_name(method));
            at = tree.parent(at);
        }
        names.join("<")
    }

    #[test]
    fn lines_are_merged_and_sums_go_up() {
        let mut profile = Profile::default();
        let a = stack(&mut profile, "T.leaf:3<T.a:1<T.main:7");
        let b = stack(&mut profile, "T.leaf:4<T.a:2<T.main:8");
        let c = stack(&mut profile, "T.b<T.main");
        let tree = MethodTree::new(&profile);
        assert_eq!(tree.len(), 5);
        assert_eq!(tree.path(a), tree.path(b));
        let mut own = vec![0; tree.len()];
        own[tree.path(a).index()] = 5;
        own[tree.path(c).index()] = 2;
        assert_eq!(tree.totals(&own, |sum, more| *sum += more), [7, 7, 5, 5, 2]);
    }

    #[test]
    fn walks_say_what_is_outermost() {
        let mut profile = Profile::default();
        stack(&mut profile, "T.a<T.b<T.a<T.main");
        stack(&mut profile, "T.b<T.main");
        let tree = MethodTree::new(&profile);
        let mut seen = Vec::new();
        tree.walk(|path, outermost| seen.push((names(&profile, &tree, path), outermost)));
        let expected = [
            ("T.main", true),
            ("T.a<T.main", true),
            ("T.b<T.a<T.main", true),
            ("T.a<T.b<T.a<T.main", false),
            ("T.b<T.main", true),
        ];
        assert_eq!(seen, expected.map(|(name, outermost)| (name.to_owned(), outermost)));
    }

    #[test]
    fn direct_recursion_is_one_branch() {
        let mut profile = Profile::default();
        stack(&mut profile, "T.leaf<T.fib<T.fib<T.fib<T.main");
        stack(&mut profile, "T.leaf<T.fib<T.main");
        let tree = MethodTree::new(&profile);
        let main = &tree.roots()[0];
        let fib = &tree.below(main)[0];
        assert_eq!((fib.tops.len(), fib.nodes.len()), (1, 3));
        let leaf = tree.below(fib);
        assert_eq!(leaf.len(), 1);
        assert_eq!((leaf[0].tops.len(), leaf[0].nodes.len()), (2, 2));
        assert_eq!(tree.below(&leaf[0]), []);
    }

    #[test]
    fn pairs_count_once_on_a_path() {
        let mut profile = Profile::default();
        for path in [
            "T.a<T.b<T.c<T.a<T.b<T.a<T.main",
            "T.b<T.a<T.a<T.b<T.main",
            "T.a<T.c<T.b<T.a<T.a<T.b<T.a",
            "T.c<T.c<T.c",
            "T.b<T.a<T.b<T.a<T.b<T.a<T.main",
        ] {
            stack(&mut profile, path);
        }
        let tree = MethodTree::new(&profile);
        let is_outermost = |path: PathId| {
            let mut above = tree.parent(path);
            while above != tree.root() && tree.edge(above) != tree.edge(path) {
                above = tree.parent(above);
            }
            above == tree.root()
        };
        let paths: Vec<_> = (1..tree.len()).map(PathId::new).collect();
        let wanted: Vec<_> = paths.iter().map(|&path| is_outermost(path)).collect();
        assert!(wanted.iter().filter(|it| !**it).count() > 3, "{wanted:?}");
        // Each path is looked at, all are, or all are after some.
        for steps in [usize::MAX, 0, 3] {
            let edges = OutermostEdges { steps: Cell::new(steps), ..tree.outermost_edges() };
            let found: Vec<_> = paths.iter().map(|&path| edges.has(path)).collect();
            assert_eq!(found, wanted, "{steps}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let mut profile = Profile::default();
        let deep = vec!["T.f"; 300_000].join("<");
        stack(&mut profile, &deep);
        let tree = MethodTree::new(&profile);
        let mut outermost_count = 0;
        tree.walk(|_, outermost| outermost_count += u32::from(outermost));
        assert_eq!((tree.len(), outermost_count), (300_001, 1));
        assert_eq!(tree.roots()[0].nodes.len(), 300_000);
    }
}
