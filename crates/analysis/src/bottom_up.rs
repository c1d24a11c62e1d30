//! The call tree from the top of the stacks downward: each method that was on top, and below it its
//! callers.

use std::cmp::Reverse;

use perk_profile::{KeyedMap, MethodId, PathId};

use crate::{Columns, MethodTree};

/// A line of the tree: a method. The lines above it are the methods on the path from it to the
/// method on top of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The number of lines above: 0 for the method on top of the stack.
    pub depth: usize,
    /// The method.
    pub method: MethodId,
    /// Whether it calls itself here.
    pub is_recursive: bool,
    /// The number of the method on top of the stack, when it was reached by this path.
    pub number: u64,
}

/// Paths on the way outward, each with the number measured at its inner end.
type Ends = Vec<(PathId, u64)>;

/// A line, and the paths that lead to it.
struct Branch {
    line: Line,
    ends: Ends,
}

/// The lines with `least` or more of the numbers of `columns`, each after its parent. Of two on the same
/// level the heavier comes first; equal ones are ordered by `name`.
pub fn lines<N: Ord>(
    tree: &MethodTree,
    columns: &Columns,
    least: f64,
    name: impl Fn(MethodId) -> N,
) -> Vec<Line> {
    let mut lines = Vec::new();
    let tops: Ends = columns.ends().collect();
    let mut open = branches(tree, &tops, 0, least, &name);
    while let Some(Branch { line, ends }) = open.pop() {
        lines.push(line);
        let callers: Ends =
            ends.into_iter().map(|(path, number)| (tree.parent(path), number)).collect();
        open.extend(branches(tree, &callers, line.depth + 1, least, &name));
    }
    lines
}

/// The branches of `ends`, by method, the heaviest last, where the stack is popped.
fn branches<N: Ord>(
    tree: &MethodTree,
    ends: &[(PathId, u64)],
    depth: usize,
    least: f64,
    name: &impl Fn(MethodId) -> N,
) -> Vec<Branch> {
    let mut branches: Vec<Branch> = Vec::new();
    let mut places: KeyedMap<MethodId, usize> = KeyedMap::default();
    for &(mut path, number) in ends {
        let Some(method) = tree.method(path) else { continue };
        let place = *places.entry(method).or_insert_with(|| {
            let line = Line { depth, method, is_recursive: false, number: 0 };
            branches.push(Branch { line, ends: Vec::new() });
            branches.len() - 1
        });
        let branch = &mut branches[place];
        while tree.method(tree.parent(path)) == Some(method) {
            path = tree.parent(path);
            branch.line.is_recursive = true;
        }
        branch.line.number = branch.line.number.saturating_add(number);
        branch.ends.push((path, number));
    }
    branches.retain(|branch| branch.line.number as f64 >= least);
    branches.sort_by_cached_key(|Branch { line, .. }| {
        (line.number, Reverse(name(line.method)), Reverse(line.method))
    });
    branches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::samples;
    use perk_profile::{Metric, Profile};

    fn shown(profile: &Profile, least: f64) -> Vec<String> {
        let tree = MethodTree::new(profile);
        let columns = Columns::new(profile, &tree, &Metric::Samples, None);
        let name = |method| profile.symbols.method_name(method);
        let shown = |line: &Line| {
            let recursion = if line.is_recursive { "*" } else { "" };
            let name = name(line.method);
            format!("{}{name}{recursion} {}", " ".repeat(line.depth), line.number)
        };
        lines(&tree, &columns, least, name).iter().map(shown).collect()
    }

    #[test]
    fn callers_are_below_what_they_called() {
        let profile = samples(&[
            ("T.leaf<T.a<T.main", 5),
            ("T.leaf<T.b<T.main", 3),
            ("T.a<T.main", 1),
            ("T.leaf<T.leaf<T.b<T.main", 2),
            ("", 9),
        ]);
        assert_eq!(
            shown(&profile, 0.0),
            ["T.leaf* 10", " T.a 5", "  T.main 5", " T.b 5", "  T.main 5", "T.a 1", " T.main 1",]
        );
        assert_eq!(shown(&profile, 6.0), ["T.leaf* 10"]);
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep: Vec<_> = (0..50_000).map(|index| format!("T.m{}", index % 7)).collect();
        let profile = samples(&[(&deep.join("<"), 1)]);
        let tree = MethodTree::new(&profile);
        let columns = Columns::new(&profile, &tree, &Metric::Samples, None);
        assert_eq!(lines(&tree, &columns, 1.0, |_| ()).len(), 50_000);
    }
}
