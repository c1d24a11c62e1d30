//! Calls: the methods called, their callers, the numbers of calls, and their costs.

use std::cmp::Reverse;

use crate::top::MethodMerger;
use perk_profile::{
    KeyedMap, KeyedSet, MethodId, Metric, NamePattern, PathId, Profile, Section, ThreadId,
};

use crate::MethodTree;
use crate::method_tree::MethodPair;

/// A method with this share of all calls or more can be chatty.
const CHATTY_SHARE: f64 = 0.01;
/// A method whose calls cost more than this on average, in nanoseconds, is worth making faster
/// itself. Below this limit, the number of calls is the cost.
const CHATTY_NS: u64 = 200;
/// Calls are small, too, if they cost at most this fraction (1/8) of the program's average call, as
/// the clocks of some files are coarse.
const CHATTY_PART: u64 = 8;

/// Calls and times of each node of a [`MethodTree`], by [`PathId`].
#[derive(Clone, Debug)]
pub struct CallColumns {
    /// The number of calls of the path's last method on it.
    pub counts: Vec<u64>,
    /// How many of these calls are estimated to be on it; empty if all are counted.
    pub estimated_counts: Vec<u64>,
    /// The time in these calls, in nanoseconds, without the calls that they make.
    pub self_ns: Vec<u64>,
    /// The time in these calls, in nanoseconds, including the calls that they make.
    pub total_ns: Vec<u64>,
}

impl CallColumns {
    /// Makes the columns of the calls of all sections of `profile`; only of those of `thread`, if
    /// given.
    pub fn new(profile: &Profile, tree: &MethodTree, thread: Option<ThreadId>) -> Self {
        let mut counts = vec![0_u64; tree.len()];
        let mut self_ns = vec![0_u64; tree.len()];
        let is_by_path =
            |section: &&Section| !section.head.is_by_pair && section.head.has(&Metric::OF_CALLS);
        let sections = profile.sections().filter(is_by_path);
        let rows =
            sections.flat_map(|section| section.of_metrics([Metric::Calls, Metric::SelfTime]));
        for (key, [count, ns]) in rows {
            let trace = profile.get_trace(key.trace);
            if thread.is_none() || trace.thread == thread {
                let path = tree.path(trace.node).index();
                counts[path] = counts[path].saturating_add(count);
                self_ns[path] = self_ns[path].saturating_add(ns);
            }
        }
        let mut estimated_counts = Vec::new();
        for section in profile.sections().filter(|it| it.head.has(&[Metric::EstimatedCalls])) {
            estimated_counts.resize(tree.len(), 0_u64);
            for (key, [count]) in section.of_metrics([Metric::EstimatedCalls]) {
                let trace = profile.get_trace(key.trace);
                if thread.is_none() || trace.thread == thread {
                    let sum = &mut estimated_counts[tree.path(trace.node).index()];
                    *sum = sum.saturating_add(count);
                }
            }
        }
        let total_ns = tree.totals(&self_ns, |sum, more| *sum = sum.saturating_add(*more));
        Self { counts, estimated_counts, self_ns, total_ns }
    }
}

/// The calls of one method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodCalls {
    /// The method; of several that look the same (loaded by several class loaders) the first.
    pub method: MethodId,
    /// The number of calls.
    pub count: u64,
    /// How many of them the times are of: those of a method over budget are not timed
    /// ([`OVER_BUDGET`](perk_profile::OVER_BUDGET)).
    pub timed_count: u64,
    /// The time in its calls, in nanoseconds, without the calls that they make.
    pub self_ns: u64,
    /// The time in its calls, in nanoseconds, including the calls that they make. A call inside
    /// another call of the same method is not counted again.
    pub total_ns: u64,
}

impl MethodCalls {
    /// Whether it has numbers of its own. A method that the file leaves out appears only as a
    /// caller.
    pub fn is_listed(&self) -> bool {
        self.count > 0 || self.self_ns > 0
    }

    /// Makes the row of a method with these calls, all of which are timed.
    fn new(method: MethodId, count: u64, self_ns: u64, total_ns: u64) -> Self {
        Self { method, count, timed_count: count, self_ns, total_ns }
    }

    /// The self time of a call on average, in nanoseconds.
    pub fn average_ns(&self) -> u64 {
        self.self_ns.checked_div(self.timed_count).unwrap_or(0)
    }
}

/// The calls of one method by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The method that called; `None` for a thread's first method, and if it is not known.
    pub caller: Option<MethodId>,
    /// The method called; `None` if it is not known.
    pub callee: Option<MethodId>,
    /// The number of calls.
    pub count: u64,
    /// How many of them are estimated: these calls are those of an instruction that can run several methods.
    pub estimated_count: u64,
    /// The time in these calls, in nanoseconds, including the calls that they make.
    pub total_ns: u64,
}

/// A method with many calls of little cost: savings are possible only in its callers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChattyMethod {
    /// The method and its calls.
    pub row: MethodCalls,
    /// Its callers, most calls first.
    pub callers: Vec<Edge>,
}

/// The calls of a profile, by method and by pair of methods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallTable {
    /// The number of all calls.
    pub count: u64,
    /// The time of all listed calls, in nanoseconds; 0 if calls were not timed.
    pub self_ns: u64,
    /// The methods that were called, by self time, then by calls, both descending.
    pub methods: Vec<MethodCalls>,
    /// The pairs of caller and callee, by calls, then by total time, both descending.
    pub edges: Vec<Edge>,
    /// Whether totals count recursive calls again in the calls around them, as in files without
    /// call paths.
    pub is_recursion_counted_again: bool,
    /// Whether a path has calls but its parent path has none. Then the file's paths are cut at some
    /// depth, or rows are missing, and totals lack the time below them that the file does not have.
    pub are_paths_cut: bool,
}

impl CallTable {
    /// Makes the table of the calls of `tree`.
    pub fn of_tree(profile: &Profile, tree: &MethodTree, columns: &CallColumns) -> Self {
        let mut table = Self::default();
        let mut rows: Vec<_> = (0..profile.symbols.method_count())
            .map(|index| MethodCalls::new(MethodId::new(index), 0, 0, 0))
            .collect();
        let untimed = tree.child_of_root(|method| profile.symbols.is_over_budget(method));
        tree.walk(|path, is_outermost| {
            let Some(method) = tree.method(path) else { return };
            let (row, at) = (&mut rows[method.index()], path.index());
            row.count = row.count.saturating_add(columns.counts[at]);
            if untimed != Some(tree.parent(path)) {
                row.timed_count = row.timed_count.saturating_add(columns.counts[at]);
            }
            row.self_ns = row.self_ns.saturating_add(columns.self_ns[at]);
            if is_outermost {
                row.total_ns = row.total_ns.saturating_add(columns.total_ns[at]);
            }
        });
        let is_over_budget =
            |path| tree.method(path).is_some_and(|method| profile.symbols.is_over_budget(method));
        table.are_paths_cut = (1..tree.len()).any(|index| {
            let parent = tree.parent(PathId::new(index));
            let is_called = |index: usize| columns.counts[index] > 0;
            let is_cut = parent != tree.root() && !is_called(parent.index());
            is_called(index) && is_cut && !is_over_budget(parent)
        });
        table.methods = rows;
        table.edges = edges_of_tree(tree, columns);
        table.finish()
    }

    /// Makes the table from the tables of callees and callers of `profile`.
    pub fn of_edges(profile: &Profile) -> Self {
        let mut merged = MethodMerger::new(profile);
        let mut edges: KeyedMap<_, Edge> = KeyedMap::default();
        // By method: calls, the time in them, and the time of the calls that they make.
        let mut sums: KeyedMap<MethodId, (u64, u64, u64)> = KeyedMap::default();
        for row in profile.call_edges().flat_map(|edges| edges.rows) {
            let callee = row.callee.map(|method| merged.method(method));
            let caller = row.caller.map(|method| merged.method(method));
            let new = Edge { caller, callee, count: 0, estimated_count: 0, total_ns: 0 };
            let edge = edges.entry((caller, callee)).or_insert(new);
            edge.count = edge.count.saturating_add(row.count);
            edge.total_ns = edge.total_ns.saturating_add(row.total_ns);
            if let Some(callee) = callee {
                let sums = sums.entry(callee).or_default();
                sums.0 = sums.0.saturating_add(row.count);
                sums.1 = sums.1.saturating_add(row.total_ns);
            }
            if let Some(caller) = caller {
                let below = &mut sums.entry(caller).or_default().2;
                *below = below.saturating_add(row.total_ns);
            }
        }
        let methods = sums.into_iter().map(|(method, (count, total_ns, below_ns))| {
            // Recursive calls are in both sums, so the difference does not contain them.
            let self_ns = total_ns.saturating_sub(below_ns);
            MethodCalls::new(method, count, self_ns, total_ns)
        });
        let table = Self {
            methods: methods.collect(),
            edges: edges.into_values().collect(),
            is_recursion_counted_again: true,
            ..Self::default()
        };
        table.finish()
    }

    /// Drops methods and edges that were never called, orders the rest and adds it up.
    fn finish(mut self) -> Self {
        self.methods.retain(|row| row.count > 0 || row.total_ns > 0);
        self.methods.sort_by_key(|row| {
            (Reverse(row.self_ns), Reverse(row.count), Reverse(row.total_ns), row.method)
        });
        self.edges.retain(|edge| edge.count > 0 || edge.total_ns > 0);
        self.edges.sort_by_key(|edge| {
            (Reverse(edge.count), Reverse(edge.total_ns), edge.caller, edge.callee)
        });
        let counts = self.edges.iter().map(|edge| edge.count);
        self.count = counts.fold(0, u64::saturating_add);
        let times = self.methods.iter().map(|row| row.self_ns);
        self.self_ns = times.fold(0, u64::saturating_add);
        self
    }

    /// The methods that `pattern` matches, in the order of the table, and then those that only
    /// called others.
    pub fn matching(&self, profile: &Profile, pattern: &NamePattern) -> Vec<MethodCalls> {
        let is_meant = |row: &MethodCalls| pattern.matches_method(&profile.symbols, row.method);
        let called = self.methods.iter().copied().filter(is_meant);
        let mut rows: Vec<_> = called.collect();
        let mut known: KeyedSet<_> = rows.iter().map(|row| row.method).collect();
        for method in self.edges.iter().filter_map(|edge| edge.caller) {
            let row = MethodCalls::new(method, 0, 0, 0);
            if is_meant(&row) && known.insert(method) {
                rows.push(row);
            }
        }
        rows
    }

    /// The calls of `method` by each of its callers, most calls first.
    pub fn callers(&self, method: MethodId) -> Vec<Edge> {
        self.edges.iter().filter(|edge| edge.callee == Some(method)).copied().collect()
    }

    /// The calls that `method` made, by the method called, most time first.
    pub fn callees(&self, method: MethodId) -> Vec<Edge> {
        let is_its = |edge: &&Edge| edge.caller == Some(method);
        let mut edges: Vec<_> = self.edges.iter().filter(is_its).copied().collect();
        edges.sort_by_key(|edge| Reverse(edge.total_ns));
        edges
    }

    /// The methods whose calls are many and small, by the cost of all their calls. A call counts as
    /// at least one nanosecond, so that the number of calls decides if nothing was timed.
    pub fn chatty(&self) -> Vec<ChattyMethod> {
        let part_ns = self.self_ns.checked_div(self.count).unwrap_or(0) / CHATTY_PART;
        let is_chatty = |row: &&MethodCalls| {
            row.count as f64 >= self.count as f64 * CHATTY_SHARE
                && row.average_ns() <= CHATTY_NS.max(part_ns)
        };
        let mut rows: Vec<_> = self.methods.iter().filter(is_chatty).copied().collect();
        rows.retain(|row| row.count > 1);
        rows.sort_by_key(|row| (Reverse(row.self_ns.max(row.count)), row.method));
        rows.into_iter()
            .map(|row| ChattyMethod { row, callers: self.callers(row.method) })
            .collect()
    }
}

/// The pairs of methods that follow each other on the tree's paths.
fn edges_of_tree(tree: &MethodTree, columns: &CallColumns) -> Vec<Edge> {
    let mut edges: KeyedMap<MethodPair, Edge> = KeyedMap::default();
    let outermost = tree.outermost_edges();
    for at in 1..tree.len() {
        let (path, count, total_ns) = (PathId::new(at), columns.counts[at], columns.total_ns[at]);
        let Some(pair) = tree.edge(path).filter(|_| count > 0 || total_ns > 0) else { continue };
        let (caller, callee) = (pair.0, Some(pair.1));
        let new = || Edge { caller, callee, count: 0, estimated_count: 0, total_ns: 0 };
        let edge = edges.entry(pair).or_insert_with(new);
        edge.count = edge.count.saturating_add(count);
        let estimated = columns.estimated_counts.get(at).copied().unwrap_or(0);
        edge.estimated_count = edge.estimated_count.saturating_add(estimated);
        if outermost.has(path) {
            edge.total_ns = edge.total_ns.saturating_add(total_ns);
        }
    }
    edges.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, push_times, times};
    use perk_profile::{CallRow, CallTimes, Event, Frame, FrameId, Line, Method, OVER_BUDGET};

    fn table(profile: &Profile) -> CallTable {
        let tree = MethodTree::new(profile);
        CallTable::of_tree(profile, &tree, &CallColumns::new(profile, &tree, None))
    }

    /// Method, calls, self and total time of each row.
    fn methods(profile: &Profile, table: &CallTable) -> Vec<(String, u64, u64, u64)> {
        let name = |method| profile.symbols.method_name(method);
        let rows = table.methods.iter();
        rows.map(|row| (name(row.method), row.count, row.self_ns, row.total_ns)).collect()
    }

    /// Caller, callee, calls and total time of each edge.
    fn shown(profile: &Profile, edges: &[Edge]) -> Vec<(String, String, u64, u64)> {
        let name = |method: Option<_>| {
            method.map_or("-".to_owned(), |method| profile.symbols.method_name(method))
        };
        let row = |edge: &Edge| (name(edge.caller), name(edge.callee), edge.count, edge.total_ns);
        edges.iter().map(row).collect()
    }

    fn row(name: &str, count: u64, self_ns: u64, total_ns: u64) -> (String, u64, u64, u64) {
        (name.to_owned(), count, self_ns, total_ns)
    }

    fn edge(caller: &str, callee: &str, count: u64, total_ns: u64) -> (String, String, u64, u64) {
        (caller.to_owned(), callee.to_owned(), count, total_ns)
    }

    #[test]
    fn calls_and_times_add_up_over_paths() {
        let profile = times(&[
            ("T.main", 1, 100),
            ("T.a<T.main", 3, 300),
            ("T.leaf<T.a<T.main", 30, 60),
            ("T.leaf<T.main", 4, 40),
        ]);
        let table = table(&profile);
        assert_eq!((table.count, table.self_ns, table.are_paths_cut), (38, 500, false));
        assert_eq!(
            methods(&profile, &table),
            [row("T.a", 3, 300, 360), row("T.leaf", 34, 100, 100), row("T.main", 1, 100, 500),]
        );
        assert_eq!(
            shown(&profile, &table.edges),
            [
                edge("T.a", "T.leaf", 30, 60),
                edge("T.main", "T.leaf", 4, 40),
                edge("T.main", "T.a", 3, 360),
                edge("-", "T.main", 1, 500),
            ]
        );
        assert_eq!(table.methods[1].average_ns(), 2);
    }

    /// The time of a method that has given up its paths is of the calls before alone.
    #[test]
    fn calls_over_budget_are_not_timed() {
        let mut profile = times(&[("T.main", 1, 50), ("T.hot<T.main", 10, 100)]);
        let name = profile.symbols.strings.intern(OVER_BUDGET);
        let class = profile.symbols.class(OVER_BUDGET);
        let mark = profile.symbols.method(Method { class, name, signature: None, source: None });
        let of_mark = profile.symbols.frame(Frame::new(mark, Line::Unknown));
        let row = |profile: &mut Profile, frames: &[FrameId], count, self_ns| {
            let node = profile.tree.insert(frames.iter().copied());
            CallRow { trace: profile.trace(node, None), count, self_ns, total_ns: 0 }
        };
        let [main, hot, leaf] = ["T.main", "T.hot", "T.leaf"].map(|it| {
            let method = fixture::method(&mut profile, it);
            profile.symbols.frame(Frame::new(method, Line::Unknown))
        });
        let rows = vec![
            row(&mut profile, &[of_mark, hot], 90, 0),
            row(&mut profile, &[main, of_mark, leaf], 5, 20),
        ];
        profile.events.push(Event::from(CallTimes { total_ns: 20, rows, written: None }));
        let table = table(&profile);
        let row = |name: &str| {
            let is_it = |it: &&MethodCalls| profile.symbols.method_name(it.method) == name;
            *table.methods.iter().find(is_it).unwrap()
        };
        let (hot, leaf) = (row("T.hot"), row("T.leaf"));
        assert_eq!((hot.count, hot.timed_count, hot.average_ns()), (100, 10, 10));
        assert_eq!((leaf.count, leaf.timed_count, leaf.average_ns()), (5, 5, 4));
        assert!(!table.are_paths_cut);
    }

    #[test]
    fn recursion_counts_its_time_once() {
        // fib(3): fib calls itself; even and odd call each other.
        let profile = times(&[
            ("T.main", 1, 1),
            ("T.fib<T.main", 1, 10),
            ("T.fib<T.fib<T.main", 2, 20),
            ("T.fib<T.fib<T.fib<T.main", 2, 20),
            ("T.even<T.main", 1, 5),
            ("T.odd<T.even<T.main", 1, 5),
            ("T.even<T.odd<T.even<T.main", 1, 5),
        ]);
        let table = table(&profile);
        assert_eq!(
            methods(&profile, &table),
            [
                row("T.fib", 5, 50, 50),
                row("T.even", 2, 10, 15),
                row("T.odd", 1, 5, 10),
                row("T.main", 1, 1, 66),
            ]
        );
        let fib = table.methods[0].method;
        assert_eq!(
            shown(&profile, &table.callers(fib)),
            [edge("T.fib", "T.fib", 4, 40), edge("T.main", "T.fib", 1, 50)]
        );
        assert_eq!(shown(&profile, &table.callees(fib)), [edge("T.fib", "T.fib", 4, 40)]);
    }

    #[test]
    fn cut_paths_are_seen() {
        assert!(table(&times(&[("T.leaf<T.a<T.main", 1, 1), ("T.main", 1, 1)])).are_paths_cut);
        assert!(!table(&times(&[("T.leaf", 1, 1), ("T.main", 1, 1)])).are_paths_cut);
    }

    #[test]
    fn threads_add_up_and_part() {
        let mut profile = Profile::default();
        let one = fixture::thread(&mut profile, "one");
        let two = fixture::thread(&mut profile, "two");
        push_times(
            &mut profile,
            &[("T.run", Some(one), 1, 10), ("T.run", Some(two), 2, 20), ("T.f<T.run", None, 5, 1)],
        );
        // A second dump counts from the first on.
        push_times(&mut profile, &[("T.run", Some(two), 4, 40)]);
        assert_eq!(
            methods(&profile, &table(&profile)),
            [row("T.run", 7, 70, 71), row("T.f", 5, 1, 1)]
        );
        let tree = MethodTree::new(&profile);
        let columns = CallColumns::new(&profile, &tree, Some(two));
        let of_two = CallTable::of_tree(&profile, &tree, &columns);
        assert_eq!(methods(&profile, &of_two), [row("T.run", 6, 60, 60)]);
    }

    #[test]
    fn folded_calls_have_no_caller() {
        let profile = times(&[("T.f<T.main", 2, 20), ("T.main", 1, 1), ("T.f", 3, 30)]);
        let table = table(&profile);
        assert_eq!(methods(&profile, &table)[0], row("T.f", 5, 50, 50));
        assert_eq!(shown(&profile, &table.edges)[0], edge("-", "T.f", 3, 30));
    }

    #[test]
    fn many_small_calls_are_chatty() {
        let profile = times(&[
            ("T.main", 1, 5_000),
            ("T.get<T.a<T.main", 900, 9_000),
            ("T.get<T.b<T.main", 600, 6_000),
            ("T.big<T.main", 500, 500_000),
            ("T.rare<T.main", 10, 10),
            ("T.a<T.main", 1, 1),
        ]);
        let chatty = table(&profile).chatty();
        assert_eq!(chatty.len(), 1);
        assert_eq!((chatty[0].row.count, chatty[0].row.average_ns()), (1_500, 10));
        assert_eq!(
            shown(&profile, &chatty[0].callers),
            [edge("T.a", "T.get", 900, 9_000), edge("T.b", "T.get", 600, 6_000)]
        );
    }

    #[test]
    fn without_times_the_calls_decide() {
        let profile = times(&[("T.main", 1, 0), ("T.a<T.main", 10, 0), ("T.b<T.main", 90, 0)]);
        let table = table(&profile);
        assert_eq!(
            methods(&profile, &table),
            [row("T.b", 90, 0, 0), row("T.a", 10, 0, 0), row("T.main", 1, 0, 0)]
        );
        assert_eq!(table.chatty().len(), 2);
    }

    #[test]
    fn tables_of_callers_give_self_times() {
        // main has 100 in all. a has 60 of it, and its recursion counts again with 20.
        let profile = fixture::edges(&[
            ("T.main", "", 1, 100),
            ("T.a", "T.main", 3, 60),
            ("T.a", "T.a", 2, 20),
            ("", "T.a", 7, 5),
        ]);
        let table = CallTable::of_edges(&profile);
        assert_eq!(methods(&profile, &table), [row("T.a", 5, 55, 80), row("T.main", 1, 40, 100)]);
        assert_eq!((table.count, table.self_ns), (13, 95));
        assert!(table.is_recursion_counted_again);
        assert_eq!(table.edges.len(), 4);
    }

    #[test]
    fn methods_are_found_by_name() {
        let profile = times(&[("com.acme.Foo.bar", 2, 2), ("com.acme.Foo.baz", 1, 1)]);
        let table = table(&profile);
        let count = |text: &str| {
            let pattern = NamePattern::new(text).unwrap();
            table.matching(&profile, &pattern).iter().map(|row| row.count).collect::<Vec<_>>()
        };
        assert_eq!(count("Foo.bar"), [2]);
        assert_eq!(count("com.acme.*"), [2, 1]);
        assert_eq!(count("nothing"), [0; 0]);
    }
}
