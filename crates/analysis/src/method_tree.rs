//! The call tree by method alone: lines, bytecode indexes, threads and the copies of a method that
//! several class loaders define are merged. Calls, times, samples and allocations are kept in
//! separate columns, with an entry for each node.

mod children;

use std::sync::OnceLock;

use crate::top::MethodMerger;
use children::Children;
use perk_profile::{CallTree, FrameId, KeyedMap, MethodId, NodeId, PathId, Profile};

/// All paths of methods of a profile. A parent's index is below its children's.
#[derive(Clone, Debug)]
pub struct MethodTree {
    /// A node for each path, with the first frame of its method. Where each method has one frame, it is the
    /// profile's own tree.
    tree: CallTree,
    /// The method of each frame.
    methods: Vec<MethodId>,
    /// The path of each node of the profile's tree; `None` where they have the same indexes.
    paths: Option<Vec<PathId>>,
    children: Children,
    /// A bit for each path: whether its method is not on it twice.
    outermost: OnceLock<Vec<u64>>,
    method_count: usize,
}

/// The pairs of caller and callee on the paths of a tree.
#[derive(Clone, Debug)]
pub struct MethodEdges {
    /// Caller and callee; there is no caller if the callee is a thread's first method.
    pub pairs: Vec<(Option<MethodId>, MethodId)>,
    /// The index of the pair at the end of each path and one; 0 for paths whose pair is not meant.
    place_of: Vec<u32>,
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
                (tree, Some(paths))
            }
        };
        let (children, method_count) = (Children::new(&tree), symbols.method_count());
        Self { tree, methods, paths, children, outermost: OnceLock::new(), method_count }
    }

    /// The path of methods of a node of the profile's tree.
    pub fn path(&self, node: NodeId) -> PathId {
        self.paths.as_ref().map_or_else(|| path_of(node), |paths| paths[node.index()])
    }

    /// The empty path.
    pub fn root(&self) -> PathId {
        PathId::new(0)
    }

    /// The method at the path's end; `None` for the root.
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

    /// The path without its last method; the root's is the root.
    pub fn parent(&self, path: PathId) -> PathId {
        self.tree.parent(node_of(path)).map_or(path, path_of)
    }

    /// The paths with one more method, in the order of their first appearance.
    pub fn children(&self, path: PathId) -> impl Iterator<Item = PathId> + '_ {
        let node = node_of(path);
        let first = self.tree.first_child(node);
        first.into_iter().chain(self.children.others(node).iter().copied()).map(path_of)
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
    pub fn is_outermost(&self, path: PathId) -> bool {
        let outermost = self.outermost.get_or_init(|| {
            let mut bits = vec![0_u64; self.len().div_ceil(64)];
            self.walk(|path, is_outermost| {
                bits[path.index() / 64] |= u64::from(is_outermost) << (path.index() % 64);
            });
            bits
        });
        outermost[path.index() / 64] >> (path.index() % 64) & 1 != 0
    }

    /// The pairs of caller and callee on the tree's paths that are meant, in the order of the paths.
    pub fn edges(&self, is_meant: impl Fn(Option<MethodId>, MethodId) -> bool) -> MethodEdges {
        let mut pairs: Vec<(Option<MethodId>, MethodId)> = Vec::new();
        let mut places: KeyedMap<(Option<MethodId>, MethodId), u32> = KeyedMap::default();
        let place_of = |index| {
            let path = PathId::new(index);
            let Some(callee) = self.method(path) else { return 0 };
            let pair = (self.method(self.parent(path)), callee);
            if !is_meant(pair.0, callee) {
                return 0;
            }
            *places.entry(pair).or_insert_with(|| {
                pairs.push(pair);
                pairs.len() as u32
            })
        };
        let place_of = (0..self.len()).map(place_of).collect();
        MethodEdges { pairs, place_of }
    }

    /// As [`MethodTree::walk`], with the edge that a node ends in place of its method, in any order. The first
    /// argument of `visit` is the index of that edge.
    pub fn walk_edges(&self, edges: &MethodEdges, mut visit: impl FnMut(usize, PathId, bool)) {
        let ends = edges.place_of.iter().enumerate().filter(|it| *it.1 > 0);
        let ends = ends.map(|(index, place)| (PathId::new(index), *place as usize - 1));
        // An edge to a method that is on the path once is there once, too.
        if ends.clone().all(|(path, _)| self.is_outermost(path)) {
            ends.for_each(|(path, place)| visit(place, path, true));
            return;
        }
        let place = |path: PathId| edges.place_of[path.index()] as usize;
        self.walk_by(edges.pairs.len() + 1, place, |path, is_outermost| {
            if let Some(place) = place(path).checked_sub(1) {
                visit(place, path, is_outermost);
            }
        });
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
