//! The numbers of any one metric on the paths of a [`MethodTree`]: by path, by method, and by pair
//! of caller and callee.

use std::cmp::Reverse;

use perk_profile::{CpuSamples, MethodId, Metric, PathId, Profile, ThreadId, TraceId};

use crate::MethodTree;

/// The numbers of one metric by [`PathId`].
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// The number with the path's last method on top of the stack.
    pub own: Vec<u64>,
    /// The number of this method and all its callees.
    pub total: Vec<u64>,
    /// The number of the whole profile, including what has no path.
    pub all: u64,
}

/// The numbers of one method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodRow {
    /// The method; of several that look the same (loaded by several class loaders) the first.
    pub method: MethodId,
    /// The number with it on top of the stack.
    pub own: u64,
    /// The number with it anywhere on the stack, with recursion counted once.
    pub total: u64,
}

/// The numbers of the calls of one method by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The method that called; `None` for a thread's first method.
    pub caller: Option<MethodId>,
    /// The method called.
    pub callee: MethodId,
    /// The number with the callee on top of the stack.
    pub own: u64,
    /// The number of the callee and all its callees, with recursion counted once.
    pub total: u64,
}

/// The numbers of `metric` as samples, one row per trace.
pub fn numbers(profile: &Profile, metric: &Metric) -> CpuSamples {
    let (total, rows) = metric.by_trace(profile);
    CpuSamples { total, rows, ..CpuSamples::default() }
}

impl Columns {
    /// Makes the columns of `metric`; only of the numbers of `thread`, if given.
    pub fn new(
        profile: &Profile,
        tree: &MethodTree,
        metric: &Metric,
        thread: Option<ThreadId>,
    ) -> Self {
        let mut numbers = numbers(profile, metric);
        if thread.is_some() {
            numbers.rows.retain(|&(trace, _)| profile.get_trace(trace).thread == thread);
            numbers.total = numbers.rows.iter().map(|row| row.1).fold(0, u64::saturating_add);
        }
        Self::of_rows(profile, tree, &numbers.rows, numbers.total)
    }

    /// Makes the columns of `rows`. `all` is the total, including what has no row.
    pub fn of_rows(
        profile: &Profile,
        tree: &MethodTree,
        rows: &[(TraceId, u64)],
        all: u64,
    ) -> Self {
        let mut own = vec![0_u64; tree.len()];
        for &(trace, number) in rows {
            let sum = &mut own[tree.path(profile.get_trace(trace).node).index()];
            *sum = sum.saturating_add(number);
        }
        let mut total = own.clone();
        for index in (1..total.len()).rev() {
            let number = total[index];
            // A filter leaves few paths with numbers.
            if number > 0 {
                let sum = &mut total[tree.parent(PathId::new(index)).index()];
                *sum = sum.saturating_add(number);
            }
        }
        Self { own, total, all }
    }

    /// The methods with numbers, by self, then by total, both descending.
    pub fn methods(&self, tree: &MethodTree) -> Vec<MethodRow> {
        let mut rows: Vec<MethodRow> = Vec::new();
        // The place of each method among the rows and one; 0 where it has none yet.
        let mut places = vec![0_usize; tree.method_count()];
        for (index, (&own, &total)) in self.own.iter().zip(&self.total).enumerate() {
            if total == 0 {
                continue;
            }
            let path = PathId::new(index);
            let Some(method) = tree.method(path) else { continue };
            let place = &mut places[method.index()];
            if *place == 0 {
                rows.push(MethodRow { method, own: 0, total: 0 });
                *place = rows.len();
            }
            let row = &mut rows[*place - 1];
            row.own = row.own.saturating_add(own);
            if tree.is_outermost(path) {
                row.total = row.total.saturating_add(total);
            }
        }
        rows.sort_by_key(|row| (Reverse((row.own, row.total)), row.method));
        rows
    }

    /// The paths with numbers at their end, most first.
    pub fn paths(&self) -> Vec<(PathId, u64)> {
        let paths = self.own.iter().enumerate().filter(|&(_, &own)| own > 0);
        let mut paths: Vec<_> = paths.map(|(index, &own)| (PathId::new(index), own)).collect();
        paths.sort_by_key(|&(path, own)| (Reverse(own), path));
        paths
    }

    /// The pairs of caller and callee that are meant, by total, descending.
    pub fn edges(
        &self,
        tree: &MethodTree,
        is_meant: impl Fn(Option<MethodId>, MethodId) -> bool,
    ) -> Vec<Edge> {
        let called = tree.edges(is_meant);
        let edge = |&(caller, callee)| Edge { caller, callee, own: 0, total: 0 };
        let mut edges: Vec<Edge> = called.pairs.iter().map(edge).collect();
        tree.walk_edges(&called, |place, path, is_outermost| {
            let (edge, at) = (&mut edges[place], path.index());
            edge.own = edge.own.saturating_add(self.own[at]);
            if is_outermost {
                edge.total = edge.total.saturating_add(self.total[at]);
            }
        });
        edges.retain(|edge| edge.total > 0);
        edges.sort_by_key(|edge| (Reverse((edge.total, edge.own)), edge.caller, edge.callee));
        edges
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{push_sites, samples};

    fn columns(profile: &Profile, metric: &Metric) -> (MethodTree, Columns) {
        let tree = MethodTree::new(profile);
        let columns = Columns::new(profile, &tree, metric, None);
        (tree, columns)
    }

    #[test]
    fn methods_and_edges_count_recursion_once() {
        let profile = samples(&[
            ("T.fib<T.fib<T.fib<T.main", 4),
            ("T.leaf<T.fib<T.fib<T.main", 2),
            ("T.leaf<T.main", 1),
            ("", 3),
        ]);
        let (tree, columns) = columns(&profile, &Metric::Samples);
        assert_eq!(columns.all, 10);
        let name = |method| profile.symbols.method_name(method);
        let methods: Vec<_> = columns.methods(&tree).into_iter().collect();
        let methods: Vec<_> =
            methods.iter().map(|row| (name(row.method), row.own, row.total)).collect();
        assert_eq!(
            methods,
            [("T.fib".into(), 4, 6), ("T.leaf".into(), 3, 3), ("T.main".into(), 0, 7)]
        );
        let paths: Vec<_> = columns.paths().iter().map(|path| path.1).collect();
        assert_eq!(paths, [4, 3, 2, 1]);
        let edges: Vec<_> = columns
            .edges(&tree, |_, _| true)
            .iter()
            .map(|it| (it.caller.map_or(String::new(), name), name(it.callee), it.own, it.total))
            .collect();
        let edge = |caller: &str, callee: &str, own, total| {
            (caller.to_owned(), callee.to_owned(), own, total)
        };
        assert_eq!(
            edges,
            [
                edge("", "T.main", 0, 7),
                edge("T.fib", "T.fib", 4, 6),
                edge("T.main", "T.fib", 0, 6),
                edge("T.fib", "T.leaf", 2, 2),
                edge("T.main", "T.leaf", 1, 1),
            ]
        );
    }

    #[test]
    fn objects_of_several_classes_are_one_row() {
        let mut profile = Profile::default();
        let path = "T.f<T.main";
        push_sites(&mut profile, &[("byte[]", path, [64, 2, 8, 1]), ("T", path, [16, 1, 0, 0])]);
        assert_eq!(numbers(&profile, &Metric::AllocatedBytes).rows.len(), 1);
        let (tree, columns) = columns(&profile, &Metric::AllocatedBytes);
        assert_eq!((columns.all, columns.methods(&tree)[0].own), (80, 80));
        assert_eq!(self::columns(&profile, &Metric::LiveBytes).1.all, 8);
    }

    #[test]
    fn numbers_saturate() {
        let profile = samples(&[("T.f<T.main", u64::MAX / 2), ("T.g<T.main", u64::MAX / 2)]);
        let (tree, mut columns) = columns(&profile, &Metric::Samples);
        columns.own[1] = u64::MAX;
        columns.total = tree.totals(&columns.own, |sum, more| *sum = sum.saturating_add(*more));
        assert_eq!(columns.methods(&tree).iter().map(|row| row.total).max(), Some(u64::MAX));
    }
}
