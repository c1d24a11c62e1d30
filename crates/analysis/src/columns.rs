//! The numbers of any one metric on the paths of a [`MethodTree`]: by path, by method, and by pair
//! of caller and callee.

use std::cmp::Reverse;
use std::sync::Arc;

use perk_profile::{CpuSamples, KeyedMap, MethodId, Metric, PathId, Profile, ThreadId, TraceId};

use crate::MethodTree;
use crate::method_tree::MethodPair;
use crate::sums::{OrderedRows, Rows, Sums};

/// The numbers of one metric by path.
#[derive(Clone, Debug)]
pub struct Columns {
    /// The number of the whole profile, including what has no path.
    pub all: u64,
    pub(crate) ends: Arc<OrderedRows>,
    pub(crate) totals: Arc<Sums>,
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
        let mut ends = Rows::default();
        let all = metric.visit(profile, |key, number| {
            let trace = profile.get_trace(key.trace);
            if number > 0 && (thread.is_none() || trace.thread == thread) {
                ends.push(tree.path(trace.node), number);
            }
        });
        let ends = ends.ordered();
        let all = if thread.is_some() { ends.sum() } else { all };
        Self::of_ends(tree, ends, all)
    }

    /// Makes the columns of `rows`. `all` is the total, including what has no row.
    pub fn of_rows(
        profile: &Profile,
        tree: &MethodTree,
        rows: &[(TraceId, u64)],
        all: u64,
    ) -> Self {
        let rows = rows.iter().filter(|row| row.1 > 0);
        let end =
            |&(trace, number): &(TraceId, u64)| (tree.path(profile.get_trace(trace).node), number);
        Self::of_ends(tree, rows.map(end).collect::<Rows>().ordered(), all)
    }

    fn of_ends(tree: &MethodTree, ends: OrderedRows, all: u64) -> Self {
        let totals = Sums::new(tree, ends.iter(), ends.sum());
        Self { all, ends: ends.into(), totals: totals.into() }
    }

    /// The memory that it takes.
    pub fn bytes(&self) -> usize {
        self.ends.bytes() + self.totals.bytes()
    }

    /// The number with the path's last method on top of the stack.
    pub fn own(&self, path: PathId) -> u64 {
        self.ends.get(path)
    }

    /// The number of the path's last method and all its callees.
    #[inline]
    pub fn total(&self, path: PathId) -> u64 {
        self.totals.get(path)
    }

    /// The paths with numbers at their end, in order.
    pub fn ends(&self) -> impl Iterator<Item = (PathId, u64)> + '_ {
        self.ends.iter()
    }

    /// The methods with numbers, by self, then by total, both descending.
    pub fn methods(&self, tree: &MethodTree) -> Vec<MethodRow> {
        let mut own = vec![0_u64; tree.method_count()];
        let mut totals = own.clone();
        let add = |sums: &mut [u64], method: MethodId, number: u64| {
            let sum = &mut sums[method.index()];
            *sum = sum.saturating_add(number);
        };
        let outermost = tree.outermost();
        let mut ends = self.ends.iter().peekable();
        self.totals.visit(|paths, sum| {
            let mut last = None;
            for path in paths.clone().map(PathId::new) {
                last = tree.method(path);
                if outermost.has(path.index())
                    && let Some(method) = last
                {
                    add(&mut totals, method, sum);
                }
            }
            // Stacks end at the ends of chains, and both are in the order of paths.
            let own_number = ends.next_if(|end| end.0.index() + 1 == paths.end);
            if let Some((method, (_, number))) = last.zip(own_number) {
                add(&mut own, method, number);
            }
        });
        let rows = own.into_iter().zip(totals).enumerate();
        let row = |(index, (own, total))| MethodRow { method: MethodId::new(index), own, total };
        let mut rows: Vec<MethodRow> = rows.map(row).filter(|row| row.total > 0).collect();
        rows.sort_by_key(|row| (Reverse((row.own, row.total)), row.method));
        rows
    }

    /// The paths with numbers at their end, most first.
    pub fn paths(&self) -> Vec<(PathId, u64)> {
        let mut paths: Vec<_> = self.ends.iter().collect();
        paths.sort_by_key(|&(path, own)| (Reverse(own), path));
        paths
    }

    /// The pairs of caller and callee of which one is meant, by total, descending.
    pub fn edges(&self, tree: &MethodTree, is_meant: impl Fn(MethodId) -> bool) -> Vec<Edge> {
        let mut edges: Vec<Edge> = Vec::new();
        let mut places: KeyedMap<MethodPair, usize> = KeyedMap::default();
        let outermost = tree.outermost_edges();
        let mut ends = self.ends.iter().peekable();
        tree.visit_edges(is_meant, |path, pair| {
            let total = self.totals.get(path);
            if total == 0 {
                return;
            }
            let place = *places.entry(pair).or_insert_with(|| {
                edges.push(Edge { caller: pair.0, callee: pair.1, own: 0, total: 0 });
                edges.len() - 1
            });
            let edge = &mut edges[place];
            // Both are in the order of paths.
            while ends.next_if(|end| end.0 < path).is_some() {}
            if let Some((_, own)) = ends.next_if(|end| end.0 == path) {
                edge.own = edge.own.saturating_add(own);
            }
            if outermost.has(path) {
                edge.total = edge.total.saturating_add(total);
            }
        });
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
            .edges(&tree, |_| true)
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

    /// The pairs of random stacks are those that are found stack by stack.
    #[test]
    fn edges_are_the_sums_of_their_stacks() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..20 {
            let mut stack = || {
                let frames = (0..1 + random(9)).map(|_| format!("T.m{}", random(5)));
                frames.collect::<Vec<_>>().join("<")
            };
            let stacks: Vec<_> = (0..60).map(|_| stack()).collect();
            let rows: Vec<_> = stacks.iter().zip(1..).map(|(it, count)| (&**it, count)).collect();
            let profile = samples(&rows);
            let (tree, columns) = columns(&profile, &Metric::Samples);
            for pattern in ["T.m1", "T.m3", "T.*", "none"] {
                let pattern = perk_profile::NamePattern::new(pattern).unwrap();
                let mut expected: std::collections::BTreeMap<_, (u64, u64)> = Default::default();
                for (trace, count) in profile.total_cpu_samples().rows {
                    let of_frame = |frame| profile.symbols.get_frame(frame).method;
                    let methods: Vec<_> = profile.frames(trace).map(of_frame).collect();
                    let callers = methods.iter().skip(1).copied().map(Some).chain([None]);
                    let pairs: Vec<_> = callers.zip(methods.iter().copied()).collect();
                    let is_meant = |method| pattern.matches_method(&profile.symbols, method);
                    let is_meant = |pair: &&(Option<MethodId>, MethodId)| {
                        is_meant(pair.1) || pair.0.is_some_and(is_meant)
                    };
                    let distinct: std::collections::BTreeSet<_> =
                        pairs.iter().filter(is_meant).collect();
                    distinct
                        .into_iter()
                        .for_each(|pair| expected.entry(*pair).or_default().1 += count);
                    if let Some(pair) = pairs.first().filter(|it| is_meant(it)) {
                        expected.entry(*pair).or_default().0 += count;
                    }
                }
                let edges =
                    columns.edges(&tree, |method| pattern.matches_method(&profile.symbols, method));
                let found = edges.iter().map(|it| ((it.caller, it.callee), (it.own, it.total)));
                assert_eq!(found.collect::<std::collections::BTreeMap<_, _>>(), expected);
            }
        }
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
        let (tree, columns) = columns(&profile, &Metric::Samples);
        let first = columns.ends().next().unwrap().0;
        let ends: Rows = columns.ends().chain([(first, u64::MAX)]).collect();
        let columns = Columns::of_ends(&tree, ends.ordered(), columns.all);
        assert_eq!(columns.methods(&tree).iter().map(|row| row.total).max(), Some(u64::MAX));
    }
}
