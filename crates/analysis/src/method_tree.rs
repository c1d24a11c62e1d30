//! The call tree by method alone: lines, bytecode indexes, threads and the copies of a method that
//! several class loaders define are merged. Calls, times, samples and allocations are kept in
//! separate columns, with an entry for each node.

use crate::top::MethodMerger;
use perk_profile::{FrameId, KeyedMap, MethodId, NodeId, PathId, Profile};

/// All paths of methods of a profile. A parent's index is below its children's.
#[derive(Clone, Debug)]
pub struct MethodTree {
    nodes: Vec<Node>,
    /// The path of each node of the profile's tree.
    paths: Vec<PathId>,
    method_count: usize,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: PathId,
    /// `None` only for the root.
    method: Option<MethodId>,
    /// The root means that there is no child, as it is not the child of any node.
    first_child: PathId,
    next_sibling: PathId,
}

/// The pairs of caller and callee on the paths of a tree.
#[derive(Clone, Debug)]
pub struct MethodEdges {
    /// Caller and callee; there is no caller if the callee is a thread's first method.
    pub pairs: Vec<(Option<MethodId>, MethodId)>,
    /// The index of the pair at the end of each path.
    place_of: Vec<usize>,
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
        let methods: Vec<MethodId> = (0..symbols.frame_count())
            .map(|index| merged.method(symbols.get_frame(FrameId::new(index)).method))
            .collect();
        let root = PathId::new(0);
        let top = Node { parent: root, method: None, first_child: root, next_sibling: root };
        let mut nodes = vec![top];
        let mut paths: Vec<PathId> = Vec::with_capacity(profile.tree.len());
        // The children of each node except its first, as most nodes have one child.
        let mut children: KeyedMap<(PathId, MethodId), PathId> = KeyedMap::default();
        for index in 0..profile.tree.len() {
            let node = NodeId::new(index);
            let above = profile.tree.parent(node).zip(profile.tree.frame(node));
            paths.push(above.map_or(root, |(parent, frame)| {
                let (parent, method) = (paths[parent.index()], methods[frame.index()]);
                let first = nodes[parent.index()].first_child;
                if first != root && nodes[first.index()].method == Some(method) {
                    return first;
                }
                let next = PathId::new(nodes.len());
                let child = match first == root {
                    true => next,
                    false => *children.entry((parent, method)).or_insert(next),
                };
                if child == next {
                    nodes.push(Node { parent, method: Some(method), ..top });
                }
                if first == root {
                    nodes[parent.index()].first_child = child;
                }
                child
            }));
        }
        nodes.iter_mut().for_each(|node| node.first_child = root);
        for index in (1..nodes.len()).rev() {
            let parent = nodes[index].parent.index();
            nodes[index].next_sibling = nodes[parent].first_child;
            nodes[parent].first_child = PathId::new(index);
        }
        Self { nodes, paths, method_count: symbols.method_count() }
    }

    /// The path of methods of a node of the profile's tree.
    pub fn path(&self, node: NodeId) -> PathId {
        self.paths[node.index()]
    }

    /// The empty path.
    pub fn root(&self) -> PathId {
        PathId::new(0)
    }

    /// The method at the path's end; `None` for the root.
    pub fn method(&self, path: PathId) -> Option<MethodId> {
        self.nodes[path.index()].method
    }

    /// The path without its last method; the root's is the root.
    pub fn parent(&self, path: PathId) -> PathId {
        self.nodes[path.index()].parent
    }

    /// The paths with one more method, in the order of their first appearance.
    pub fn children(&self, path: PathId) -> impl Iterator<Item = PathId> + '_ {
        let mut next = self.nodes[path.index()].first_child;
        std::iter::from_fn(move || {
            let child = next;
            next = self.nodes[child.index()].next_sibling;
            (child != self.root()).then_some(child)
        })
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
        let mut depths = vec![0; self.nodes.len()];
        for index in 1..depths.len() {
            depths[index] = depths[self.nodes[index].parent.index()] + 1;
        }
        depths
    }

    /// The number of nodes, including the root.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Never true: the root is always there.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns, for each node, the sum of `own` over the node and all nodes below it.
    pub fn totals<T: Clone>(&self, own: &[T], add: impl Fn(&mut T, &T)) -> Vec<T> {
        let mut totals = own.to_vec();
        for index in (1..self.nodes.len()).rev() {
            let (above, here) = totals.split_at_mut(index);
            add(&mut above[self.nodes[index].parent.index()], &here[0]);
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
        let root = self.root();
        let mut open = vec![0_u32; key_count];
        let mut at = root;
        loop {
            let mut next = self.nodes[at.index()].first_child;
            while next == root {
                if at == root {
                    return;
                }
                open[key(at)] -= 1;
                next = self.nodes[at.index()].next_sibling;
                at = self.parent(at);
            }
            at = next;
            let open = &mut open[key(at)];
            visit(at, *open == 0);
            *open += 1;
        }
    }

    /// The pairs of caller and callee on the tree's paths, in the order of the paths.
    pub fn edges(&self) -> MethodEdges {
        let mut pairs: Vec<(Option<MethodId>, MethodId)> = Vec::new();
        let mut places: KeyedMap<(Option<MethodId>, MethodId), usize> = KeyedMap::default();
        let place_of = |index| {
            let path = PathId::new(index);
            // The root has no method; its entry is not used.
            let Some(callee) = self.method(path) else { return 0 };
            let pair = (self.method(self.parent(path)), callee);
            *places.entry(pair).or_insert_with(|| {
                pairs.push(pair);
                pairs.len() - 1
            })
        };
        let place_of = (0..self.len()).map(place_of).collect();
        MethodEdges { pairs, place_of }
    }

    /// As [`MethodTree::walk`], with the edge that a node ends in place of its method. The first
    /// argument of `visit` is the index of that edge.
    pub fn walk_edges(&self, edges: &MethodEdges, mut visit: impl FnMut(usize, PathId, bool)) {
        let place = |path: PathId| edges.place_of[path.index()];
        self.walk_by(edges.pairs.len(), place, |path, is_outermost| {
            visit(place(path), path, is_outermost);
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
