//! Advice on where to begin: the methods with the highest numbers of their own, the possible gain
//! of each, and the facts to know before changing it: its callers, its calls, and the allocations
//! below it.

use std::cmp::Reverse;

use crate::calls::{CallTable, MethodCalls};
use crate::top::Merged;
use perk_profile::{
    ClassId, CpuSamples, KeyedMap, KeyedSet, Line, MethodId, PathId, Profile, StrId, TraceId,
};

use crate::{Columns, InferredCallers, MethodTree};

/// A method with this share of its total on top of the stack makes no calls that matter.
const LEAF: f64 = 0.9;
/// A class with less than this share of all bytes is not listed.
const ALLOCATED: f64 = 0.01;

/// A method worth a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The method; of several that look the same (loaded by several class loaders) the first.
    pub method: MethodId,
    /// The number with it on top of the stack: the most that can be gained by making it faster.
    pub own: u64,
    /// The number with its callees: the most that can be gained by calling it less.
    pub total: u64,
    /// Its callers, by the numbers of the method for each, descending. The method itself is not
    /// listed.
    pub callers: Vec<Caller>,
    /// Its calls, if they were counted.
    pub calls: Option<MethodCalls>,
    /// Whether its calls are so many and so small that only making fewer of them can help.
    pub is_chatty: bool,
    /// The bytes that it and its callees allocated, by class, most first; without classes of little
    /// share.
    pub allocated_bytes: Vec<(ClassId, u64)>,
    /// The numbers with it on top of the stack, by line, descending; empty if lines are not known.
    pub lines: Vec<(u32, u64)>,
}

/// The numbers of a method for one of its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The caller; `None` if a thread starts with the method, or if it is not known.
    pub method: Option<MethodId>,
    /// The number with the method on top of the stack; including its callees if a file has callers
    /// and no paths.
    pub number: u64,
    /// The part of the number that is inferred, not measured: from traces that were cut.
    pub inferred: u64,
}

impl Advice {
    /// The gain if its own work were halved.
    pub fn half(&self) -> u64 {
        self.own / 2
    }

    /// Whether it makes no calls that matter.
    pub fn is_leaf(&self) -> bool {
        self.own as f64 >= self.total as f64 * LEAF
    }

    fn new(method: MethodId, own: u64, total: u64) -> Self {
        Self {
            method,
            own,
            total,
            callers: Vec::new(),
            calls: None,
            is_chatty: false,
            allocated_bytes: Vec::new(),
            lines: Vec::new(),
        }
    }
}

/// Returns the advice on the first `count` methods of `columns`, with the data of `calls` and of
/// the profile's allocations. `numbers` are the same numbers by trace.
pub fn of_numbers(
    profile: &Profile,
    tree: &MethodTree,
    columns: &Columns,
    numbers: &CpuSamples,
    joined: &InferredCallers,
    calls: Option<&CallTable>,
    count: usize,
) -> Vec<Advice> {
    let rows = columns.methods(tree);
    let rows = rows.iter().filter(|row| row.own > 0).take(count);
    let mut all: Vec<_> = rows.map(|row| Advice::new(row.method, row.own, row.total)).collect();
    let places: Places =
        all.iter().enumerate().map(|(place, advice)| (advice.method, place)).collect();
    add_callers(tree, columns, &places, &mut all);
    add_inferred(profile, &numbers.rows, joined, &places, &mut all);
    add_lines(profile, &numbers.rows, &places, &mut all);
    add_allocated(profile, tree, &mut all);
    if let Some(calls) = calls {
        add_calls(calls, &mut all);
    }
    all
}

/// Returns the advice on the first `count` methods of a file that has callers and callees and no
/// paths.
pub fn of_calls(calls: &CallTable, count: usize) -> Vec<Advice> {
    let is_timed = calls.self_ns > 0;
    let advice = |row: &MethodCalls| {
        let (own, total) =
            if is_timed { (row.self_ns, row.total_ns) } else { (row.count, row.count) };
        let callers = calls.callers(row.method).into_iter().map(|edge| {
            let number = if is_timed { edge.total_ns } else { edge.count };
            Caller { method: edge.caller, number, inferred: 0 }
        });
        let mut callers: Vec<_> =
            callers.filter(|it| it.method != Some(row.method) && it.number > 0).collect();
        callers.sort_by_key(|caller| (Reverse(caller.number), caller.method));
        Advice { callers, ..Advice::new(row.method, own, total) }
    };
    let mut all: Vec<_> = calls.methods.iter().map(advice).filter(|it| it.own > 0).collect();
    all.sort_by_key(|advice| (Reverse((advice.own, advice.total)), advice.method));
    all.truncate(count);
    add_calls(calls, &mut all);
    all
}

/// The index of each method in the list.
type Places = KeyedMap<MethodId, usize>;

/// The innermost caller of a path's last method that is not this method itself.
fn caller(tree: &MethodTree, path: PathId) -> Option<MethodId> {
    let method = tree.method(path);
    let mut at = tree.parent(path);
    while at != tree.root() && tree.method(at) == method {
        at = tree.parent(at);
    }
    tree.method(at)
}

fn add_callers(tree: &MethodTree, columns: &Columns, places: &Places, all: &mut [Advice]) {
    let mut sums: Vec<KeyedMap<Option<MethodId>, u64>> = vec![KeyedMap::default(); all.len()];
    for index in (1..tree.len()).filter(|&index| columns.own[index] > 0) {
        let path = PathId::new(index);
        let place = tree.method(path).and_then(|method| places.get(&method));
        if let Some(&place) = place {
            let sum = sums[place].entry(caller(tree, path)).or_default();
            *sum = sum.saturating_add(columns.own[index]);
        }
    }
    for (advice, sums) in all.iter_mut().zip(sums) {
        let caller = |(method, number)| Caller { method, number, inferred: 0 };
        advice.callers = sums.into_iter().map(caller).collect();
        advice.callers.sort_by_key(|caller| (Reverse(caller.number), caller.method));
    }
}

/// Adds the part of each caller's number that is inferred.
fn add_inferred(
    profile: &Profile,
    rows: &[(TraceId, u64)],
    joined: &InferredCallers,
    places: &Places,
    all: &mut [Advice],
) {
    let mut merged = Merged::new(profile);
    for (trace, number) in joined.rows(rows) {
        let methods: Vec<_> = profile
            .frames(trace)
            .map(|frame| merged.method(profile.symbols.get_frame(frame).method))
            .collect();
        let known = methods.len() - joined.inferred_frame_count(trace);
        let Some(&place) = methods.first().and_then(|method| places.get(method)) else { continue };
        let at = methods.iter().position(|method| *method != methods[0]);
        let Some(at) = at.filter(|&at| at >= known) else { continue };
        let callers = &mut all[place].callers;
        if let Some(caller) = callers.iter_mut().find(|it| it.method == Some(methods[at])) {
            caller.inferred = caller.inferred.saturating_add(number);
        }
    }
}

fn add_lines(profile: &Profile, rows: &[(TraceId, u64)], places: &Places, all: &mut [Advice]) {
    let mut merged = Merged::new(profile);
    let mut sums: Vec<KeyedMap<u32, u64>> = vec![KeyedMap::default(); all.len()];
    for &(trace, number) in rows {
        let Some(frame) = profile.frames(trace).next() else { continue };
        let frame = profile.symbols.get_frame(frame);
        if let (Line::Number(line), Some(&place)) =
            (frame.line, places.get(&merged.method(frame.method)))
        {
            let sum = sums[place].entry(line).or_default();
            *sum = sum.saturating_add(number);
        }
    }
    for (advice, sums) in all.iter_mut().zip(sums) {
        advice.lines = sums.into_iter().collect();
        advice.lines.sort_by_key(|&(line, number)| (Reverse(number), line));
    }
}

fn add_allocated(profile: &Profile, tree: &MethodTree, all: &mut [Advice]) {
    let Some(sites) = profile.sites() else { return };
    let bytes = sites.rows.iter().map(|row| row.objects.allocated_bytes);
    let least = bytes.fold(0, u64::saturating_add) as f64 * ALLOCATED;
    for advice in all {
        let mut is_below = vec![false; tree.len()];
        for index in 1..tree.len() {
            let path = PathId::new(index);
            is_below[index] =
                is_below[tree.parent(path).index()] || tree.method(path) == Some(advice.method);
        }
        // Classes of one name by several loaders count as one, the first.
        let mut sums: KeyedMap<StrId, (ClassId, u64)> = KeyedMap::default();
        for site in &sites.rows {
            let path = tree.path(profile.get_trace(site.trace).node);
            if is_below[path.index()] {
                let name = profile.symbols.get_class(site.class).name;
                let (_, sum) = sums.entry(name).or_insert((site.class, 0));
                *sum = sum.saturating_add(site.objects.allocated_bytes);
            }
        }
        let sums = sums.into_values().filter(|&(_, sum)| sum > 0 && sum as f64 >= least);
        advice.allocated_bytes = sums.collect();
        advice.allocated_bytes.sort_by_key(|&(class, sum)| (Reverse(sum), class));
    }
}

fn add_calls(calls: &CallTable, all: &mut [Advice]) {
    let rows: KeyedMap<_, _> = calls.methods.iter().map(|row| (row.method, row)).collect();
    let chatty: KeyedSet<_> = calls.chatty().iter().map(|it| it.row.method).collect();
    for advice in all {
        advice.calls = rows.get(&advice.method).map(|&&row| row).filter(|row| row.count > 0);
        advice.is_chatty = chatty.contains(&advice.method);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::CallColumns;
    use crate::fixture::{edges, push_sites, samples, times};
    use perk_profile::Metric;

    use crate::{columns, inferred};

    fn advice(
        profile: &Profile,
        metric: &Metric,
        joined: &InferredCallers,
        count: usize,
    ) -> Vec<Advice> {
        let tree = MethodTree::new(profile);
        let calls = CallColumns::new(profile, &tree, None);
        let calls = CallTable::of_tree(profile, &tree, &calls);
        let numbers = columns::numbers(profile, metric);
        let columns = Columns::of_rows(profile, &tree, &numbers.rows, numbers.total);
        of_numbers(profile, &tree, &columns, &numbers, joined, Some(&calls), count)
    }

    fn callers(profile: &Profile, advice: &Advice) -> Vec<(String, u64, u64)> {
        let name = |method: Option<_>| {
            method.map_or(String::new(), |method| profile.symbols.method_name(method))
        };
        let callers = advice.callers.iter();
        callers.map(|it| (name(it.method), it.number, it.inferred)).collect()
    }

    #[test]
    fn a_leaf_has_its_callers() {
        let mut profile = samples(&[
            ("T.leaf:5<T.a<T.main", 60),
            ("T.leaf:7<T.leaf:9<T.b<T.main", 25),
            ("T.leaf:5", 10),
            ("T.a<T.main", 5),
            ("T.leaf:5<T.main", 1),
        ]);
        let joined = inferred::infer(&mut profile);
        assert!(joined.is_empty() && joined.ambiguous_count == 1);
        let all = advice(&profile, &Metric::Samples, &joined, 2);
        assert_eq!(all.len(), 2);
        let leaf = &all[0];
        assert_eq!((leaf.own, leaf.half(), leaf.total, leaf.is_leaf()), (96, 48, 96, true));
        assert_eq!(
            callers(&profile, leaf),
            [
                ("T.a".to_owned(), 60, 0),
                ("T.b".to_owned(), 25, 0),
                (String::new(), 10, 0),
                ("T.main".to_owned(), 1, 0)
            ]
        );
        assert_eq!(leaf.lines, [(5, 71), (7, 25)]);
        assert_eq!((all[1].own, all[1].total, all[1].is_leaf()), (5, 65, false));
    }

    #[test]
    fn inferred_callers_are_told_apart() {
        let mut profile = samples(&[("T.f<T.g<T.main", 8), ("T.f", 3), ("T.f<T.g", 2)]);
        let joined = inferred::infer(&mut profile);
        let all = advice(&profile, &Metric::Samples, &joined, 5);
        // The last trace has g as the measured caller of f; only the caller of g is inferred.
        assert_eq!(callers(&profile, &all[0]), [("T.g".to_owned(), 13, 3)]);
    }

    #[test]
    fn what_is_allocated_below_is_told() {
        let mut profile = samples(&[("T.f<T.main", 8), ("T.g<T.main", 1)]);
        push_sites(
            &mut profile,
            &[
                ("byte[]", "U.copy<T.f<T.main", [900, 9, 0, 0]),
                ("byte[]", "T.f<T.f<T.main", [80, 1, 0, 0]),
                ("T", "T.main", [15, 1, 0, 0]),
                ("U", "T.f<T.main", [5, 1, 0, 0]),
            ],
        );
        let all = advice(&profile, &Metric::Samples, &InferredCallers::default(), 2);
        let bytes = |advice: &Advice| {
            let name = |class| profile.symbols.class_name(class).to_owned();
            let rows = advice.allocated_bytes.iter();
            rows.map(|&(class, bytes)| (name(class), bytes)).collect::<Vec<_>>()
        };
        assert_eq!(bytes(&all[0]), [("byte[]".to_owned(), 980)]);
        assert_eq!(bytes(&all[1]), []);
    }

    #[test]
    fn counted_calls_are_told() {
        let profile = times(&[
            ("T.main", 1, 100_000),
            ("T.get<T.main", 1_000, 50_000),
            ("T.slow<T.main", 2, 900_000),
        ]);
        let all = advice(&profile, &Metric::SelfTime, &InferredCallers::default(), 9);
        let calls: Vec<_> = all.iter().map(|it| (it.calls.unwrap().count, it.is_chatty)).collect();
        assert_eq!(calls, [(2, false), (1, false), (1_000, true)]);
    }

    #[test]
    fn pairs_will_do() {
        let profile = edges(&[
            ("T.f", "T.main", 30, 60),
            ("T.f", "T.g", 1, 20),
            ("T.g", "T.main", 2, 30),
            ("T.main", "", 1, 100),
        ]);
        let all = of_calls(&CallTable::of_edges(&profile), 2);
        assert_eq!((all[0].own, all[0].total, all[0].calls.unwrap().count), (80, 80, 31));
        let expected = [("T.main".to_owned(), 60, 0), ("T.g".to_owned(), 20, 0)];
        assert_eq!(callers(&profile, &all[0]), expected);
        assert_eq!(all.len(), 2);
    }
}
