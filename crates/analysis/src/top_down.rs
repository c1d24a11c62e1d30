//! The call tree from the threads' first methods on: each method, and below it those that it called.

use std::cmp::Reverse;

use perk_profile::{Allocations, MethodId, PathId, Symbols};

use crate::method_tree::Branch;
use crate::{Columns, MethodTree};

/// The number of methods in a row that are kept of a chain in which each has one callee and no
/// numbers of its own. The rest of a longer chain is left out, as it adds no information.
const CHAIN: usize = 64;

/// A row of the tree: a path of methods, with direct recursion folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeRow {
    /// The number of methods above.
    pub depth: usize,
    /// The number of methods directly above that are left out, because each has the next as its
    /// only callee.
    pub left_out: usize,
    /// The method.
    pub method: MethodId,
    /// Whether the method calls itself here.
    pub is_recursive: bool,
    /// The number with the method on top of the stack.
    pub own: u64,
    /// The number of the path and all below it.
    pub total: u64,
    /// The part of the total that is inferred.
    pub inferred: u64,
    /// The number of calls; `None` if calls were not counted.
    pub call_count: Option<u64>,
    /// Allocations of the path and all below it; `None` if allocations were not counted.
    pub allocated: Option<Allocations>,
}

/// The columns that rows show besides their weights, by path.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExtraColumns<'a> {
    /// The numbers of traces that were joined to others.
    pub inferred: Option<&'a Columns>,
    /// Calls.
    pub call_counts: Option<&'a [u64]>,
    /// Allocations of each path and all below it.
    pub allocated: Option<&'a [Allocations]>,
}

/// A branch whose row comes later.
struct BranchEntry {
    total: u64,
    depth: usize,
    branch: Branch,
    /// The number of methods above it that have one callee each.
    chain: usize,
}

/// The rows of branches with `min` percent of all weight or more, each after its parent. Of two on
/// the same level the heavier comes first; equal ones are ordered by name.
pub fn rows(
    symbols: &Symbols,
    tree: &MethodTree,
    columns: &Columns,
    beside: ExtraColumns<'_>,
    min: f64,
) -> Vec<TreeRow> {
    let ExtraColumns { inferred, call_counts, allocated } = beside;
    let least = columns.all as f64 * min / 100.0;
    let sum = |nodes: &[PathId], number: &dyn Fn(PathId) -> u64| {
        nodes.iter().fold(0_u64, |sum, &node| sum.saturating_add(number(node)))
    };
    let calls = |nodes: &[PathId]| {
        call_counts
            .map(|counts| sum(nodes, &|node| counts[node.index()]))
            .filter(|count| *count > 0)
    };
    // A call can be too short for the clock. Paths without weight or calls come from other
    // sections.
    let has_happened = |total: u64, branch: &Branch| total > 0 || calls(&branch.nodes).is_some();
    let kept = |branches: Vec<Branch>, depth: usize| {
        let weighed = branches.into_iter().map(|branch| {
            let total = sum(&branch.tops, &|path| columns.total(path));
            BranchEntry { total, depth, branch, chain: 0 }
        });
        let mut kept: Vec<_> = weighed
            .filter(|it| it.total as f64 >= least && has_happened(it.total, &it.branch))
            .collect();
        // The heaviest is last, where the stack is popped.
        kept.sort_by_cached_key(|it| {
            let method = it.branch.method;
            (it.total, Reverse(symbols.method_name(method)), Reverse(method))
        });
        kept
    };
    let mut rows = Vec::new();
    let mut open = kept(tree.roots(), 0);
    while let Some(BranchEntry { total, depth, branch, chain }) = open.pop() {
        let own = sum(&branch.nodes, &|path| columns.own(path));
        let mut below = kept(tree.below(&branch), depth + 1);
        match below.as_mut_slice() {
            [one] if own == 0 && one.total == total => one.chain = chain + 1,
            _ => {}
        }
        let is_left_out = chain >= CHAIN && below.iter().any(|it| it.chain > 0);
        open.extend(below);
        if is_left_out {
            continue;
        }
        let allocated = allocated.map(|column| {
            let mut allocated = Allocations::default();
            branch.tops.iter().for_each(|top| allocated.add(column[top.index()]));
            allocated
        });
        rows.push(TreeRow {
            depth,
            left_out: chain.saturating_sub(CHAIN),
            method: branch.method,
            is_recursive: branch.nodes.len() > branch.tops.len(),
            own,
            total,
            inferred: inferred.map_or(0, |it| sum(&branch.tops, &|path| it.total(path))),
            // A branch that exists only because of the branches below it has no calls of its own in
            // the file.
            call_count: calls(&branch.nodes),
            allocated,
        });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::CallColumns;
    use crate::fixture::times;

    #[test]
    fn rows_are_in_order_and_long_chains_are_cut() {
        let profile = times(&[("T.main", 1, 10), ("T.f<T.main", 2, 30), ("T.g<T.main", 0, 1)]);
        let rows = |profile: &perk_profile::Profile, min| {
            let tree = MethodTree::new(profile);
            let columns = Columns::new(profile, &tree, &perk_profile::Metric::SelfTime, None);
            let calls = CallColumns::new(profile, &tree, None);
            let beside =
                ExtraColumns { call_counts: Some(&calls.counts), ..ExtraColumns::default() };
            super::rows(&profile.symbols, &tree, &columns, beside, min)
        };
        let name = |row: &TreeRow| profile.symbols.method_name(row.method);
        let all = rows(&profile, 0.0);
        let shown: Vec<_> =
            all.iter().map(|row| (name(row), row.depth, row.total, row.call_count)).collect();
        let expected = [
            ("T.main".to_owned(), 0, 41, Some(1)),
            ("T.f".to_owned(), 1, 30, Some(2)),
            ("T.g".to_owned(), 1, 1, None),
        ];
        assert_eq!(shown, expected);
        assert_eq!(rows(&profile, 5.0).len(), 2);

        let path: Vec<_> = (0..100).rev().map(|index| format!("T.m{index}")).collect();
        let profile = times(&[(&path.join("<"), 1, 5)]);
        let rows = rows(&profile, 0.0);
        let last = rows.last().unwrap();
        assert_eq!((last.depth, last.own), (99, 5));
        assert_eq!(rows.iter().map(|row| row.left_out).sum::<usize>(), 100 - rows.len());
    }
}
