//! Advice on where to begin: the program's own methods with the highest numbers, all that is done for
//! them by the JDK and by libraries among them, what that is, and the facts to know before a change:
//! callers, calls, and the allocations below.

use std::cmp::Reverse;

use crate::calls::{CallTable, MethodCalls};
use crate::charges::{Callees, Charges, Work};
use perk_profile::{ClassId, KeyedMap, KeyedSet, Line, MethodId, PathId, Profile, StrId, TraceId};

use crate::{Columns, InferredCallers, MethodTree, Owners};

/// A class with less than this share of all bytes is not listed.
const ALLOCATED: f64 = 0.01;
/// A method with this share of what is charged to it on top of the stack makes no calls that matter.
const LEAF: f64 = 0.9;

/// A method worth a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The method; the first of several that look the same (loaded by several class loaders).
    pub method: MethodId,
    /// The number of its own code and of all that the JDK and libraries do for it: the most that a
    /// change of this method can save. Of calls, those of the method itself.
    pub number: u64,
    /// The number with it on top of the stack.
    pub own: u64,
    /// The number with it anywhere on the stack: the most that calling it less can save.
    pub total: u64,
    /// The part of the number that is charged by inferred frames.
    pub inferred: u64,
    /// The work that is done for it, most first. For calls, also those of the JDK and libraries on
    /// its behalf, which the number does not include.
    pub works: Vec<(Work, u64)>,
    /// The classes of the objects or of the locks, where the numbers have some, most first.
    pub classes: Vec<(ClassId, u64)>,
    /// Its callers in the program, by the numbers of the method for each, descending.
    pub callers: Vec<Caller>,
    /// Its calls, if they were counted.
    pub calls: Option<MethodCalls>,
    /// Whether its calls are many and small, so that only fewer calls can help.
    pub is_chatty: bool,
    /// The bytes that it and its callees allocated, by class, most first; without classes of little
    /// share.
    pub allocated_bytes: Vec<(ClassId, u64)>,
    /// The numbers charged to it, by its line, descending; empty if lines are not known.
    pub lines: Vec<(u32, u64)>,
}

/// The numbers of a method for one of its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The caller; `None` if a thread starts with the method, or if it is not known.
    pub method: Option<MethodId>,
    /// The number charged to the method.
    pub number: u64,
    /// The part of the number that is inferred, not measured: from traces that were cut.
    pub inferred: u64,
}

/// A number of a trace, and the class of the objects or of the lock where it has one.
pub type AdviceRow = (TraceId, Option<ClassId>, u64);

impl Advice {
    /// Whether nearly all of its number is its own code.
    pub fn is_leaf(&self) -> bool {
        self.own as f64 >= self.number as f64 * LEAF
    }

    fn new(method: MethodId, number: u64) -> Self {
        Self {
            method,
            number,
            own: 0,
            total: 0,
            inferred: 0,
            works: Vec::new(),
            classes: Vec::new(),
            callers: Vec::new(),
            calls: None,
            is_chatty: false,
            allocated_bytes: Vec::new(),
            lines: Vec::new(),
        }
    }
}

/// What advice is made of.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// Its paths.
    pub tree: &'a MethodTree,
    /// The methods that pay for each path.
    pub charges: &'a Charges,
    /// The traces that were cut.
    pub joined: &'a InferredCallers,
    /// The calls, where they were counted.
    pub calls: Option<&'a CallTable>,
}

impl Sources<'_> {
    /// The methods to which most of `rows` is charged, `count` of them.
    pub fn advice(&self, rows: &[AdviceRow], count: usize) -> Vec<Advice> {
        let mut sums: KeyedMap<MethodId, u64> = KeyedMap::default();
        for (method, number) in rows.iter().filter_map(|row| Some((self.payer(row.0)?, row.2))) {
            let sum = sums.entry(method).or_default();
            *sum = sum.saturating_add(number);
        }
        let mut all: Vec<_> = sums
            .into_iter()
            .filter(|&(_, number)| number > 0)
            .map(|(method, number)| Advice::new(method, number))
            .collect();
        all.sort_by_key(|advice| (Reverse(advice.number), advice.method));
        all.truncate(count);
        self.add_parts(rows, &mut all);
        self.add_totals(rows, &mut all);
        add_allocated(self.profile, self.tree, &mut all);
        if let Some(calls) = self.calls {
            add_calls(calls, &mut all);
        }
        all
    }

    /// The methods that are called most, `count` of them. `rows` are calls.
    pub fn advice_on_calls(&self, rows: &[AdviceRow], count: usize) -> Vec<Advice> {
        let is_own = |row: &&AdviceRow| self.charges.of(self.path(row.0)).work == Work::Own;
        let own: Vec<AdviceRow> = rows.iter().filter(is_own).copied().collect();
        let mut all = self.advice(&own, count);
        let mut works: KeyedMap<MethodId, Sum<Work>> =
            all.iter().map(|advice| (advice.method, Sum::default())).collect();
        for &(trace, _, number) in rows.iter().filter(|row| row.2 > 0) {
            let works = self.payer(trace).and_then(|payer| works.get_mut(&payer));
            if let Some(works) = works {
                works.add(self.charges.of(self.path(trace)).work, number);
            }
        }
        for advice in &mut all {
            advice.works = works.remove(&advice.method).unwrap_or_default().ranked();
        }
        self.add_totals(rows, &mut all);
        all
    }

    fn path(&self, trace: TraceId) -> PathId {
        self.tree.path(self.profile.get_trace(trace).node)
    }

    fn payer(&self, trace: TraceId) -> Option<MethodId> {
        self.tree.method(self.charges.of(self.path(trace)).payer)
    }

    /// Returns a path, or the one above it whose last method is known.
    fn known(&self, path: PathId) -> Option<PathId> {
        let symbols = &self.profile.symbols;
        let mut path = path;
        while self.tree.method(path).is_some_and(|method| symbols.is_unknown(method)) {
            path = self.tree.parent(path);
        }
        (path != self.tree.root()).then_some(path)
    }

    /// Adds the parts of the numbers: works, classes, callers, lines.
    fn add_parts(&self, rows: &[AdviceRow], all: &mut [Advice]) {
        let places: KeyedMap<_, _> =
            all.iter().enumerate().map(|(place, advice)| (advice.method, place)).collect();
        let depths = self.tree.depths();
        let mut sums: Vec<Sums> = vec![Sums::default(); all.len()];
        for &(trace, class, number) in rows.iter().filter(|row| row.2 > 0) {
            let path = self.path(trace);
            let charge = self.charges.of(path);
            let payer = self.tree.method(charge.payer);
            let Some(&place) = payer.and_then(|method| places.get(&method)) else { continue };
            let sums = &mut sums[place];
            sums.works.add(charge.work, number);
            if let Some(class) = class {
                let name = self.profile.symbols.get_class(class).name;
                let first = *sums.names.entry(name).or_insert(class);
                sums.classes.add(first, number);
            }
            let above = |outer: PathId| (depths[path.index()] - depths[outer.index()]) as usize;
            let known = above(self.tree.root()) - self.joined.inferred_frame_count(trace);
            let caller = self.charges.caller(self.tree, charge.payer);
            let caller = caller.and_then(|caller| self.known(caller));
            let is_inferred = |at: Option<PathId>| at.is_some_and(|at| above(at) >= known);
            let caller_method = caller.and_then(|caller| self.tree.method(caller));
            sums.callers.add(caller_method, number);
            if is_inferred(caller) {
                sums.inferred_callers.add(caller_method, number);
            }
            if is_inferred(Some(charge.payer)) {
                all[place].inferred = all[place].inferred.saturating_add(number);
            }
            let frame = self.profile.frames(trace).nth(above(charge.payer));
            if let Some(Line::Number(line)) =
                frame.map(|frame| self.profile.symbols.get_frame(frame).line)
            {
                sums.lines.add(line, number);
            }
        }
        for (advice, sums) in all.iter_mut().zip(sums) {
            advice.own = sums.works.of(&Work::Own);
            advice.works = sums.works.ranked();
            advice.classes = sums.classes.ranked();
            let inferred = sums.inferred_callers;
            let caller =
                |(method, number)| Caller { method, number, inferred: inferred.of(&method) };
            advice.callers = sums.callers.ranked().into_iter().map(caller).collect();
            advice.lines = sums.lines.ranked();
        }
    }

    fn add_totals(&self, rows: &[AdviceRow], all: &mut [Advice]) {
        let rows: Vec<_> = rows.iter().map(|&(trace, _, number)| (trace, number)).collect();
        let columns = Columns::of_rows(self.profile, self.tree, &rows, 0);
        let methods = columns.methods(self.tree);
        let totals: KeyedMap<_, _> = methods.iter().map(|row| (row.method, row.total)).collect();
        for advice in all {
            advice.total = totals.get(&advice.method).copied().unwrap_or(0).max(advice.number);
        }
    }
}

/// Numbers added up by some key.
#[derive(Clone, Debug)]
struct Sum<K>(KeyedMap<K, u64>);

impl<K> Default for Sum<K> {
    fn default() -> Self {
        Self(KeyedMap::default())
    }
}

impl<K: Copy + Ord + std::hash::Hash> Sum<K> {
    fn add(&mut self, key: K, number: u64) {
        let sum = self.0.entry(key).or_default();
        *sum = sum.saturating_add(number);
    }

    fn of(&self, key: &K) -> u64 {
        self.0.get(key).copied().unwrap_or(0)
    }

    /// Most first.
    fn ranked(self) -> Vec<(K, u64)> {
        let mut rows: Vec<_> = self.0.into_iter().collect();
        rows.sort_by_key(|&(key, number)| (Reverse(number), key));
        rows
    }
}

/// The parts of a method's number.
#[derive(Clone, Debug, Default)]
struct Sums {
    works: Sum<Work>,
    /// Classes of one name by several loaders count as one, the first.
    names: KeyedMap<StrId, ClassId>,
    classes: Sum<ClassId>,
    callers: Sum<Option<MethodId>>,
    inferred_callers: Sum<Option<MethodId>>,
    lines: Sum<u32>,
}

/// Returns the advice on the first `count` methods of a file that has callers and callees and no
/// paths: the JDK's methods are charged to the program's that call them.
pub fn of_calls(profile: &Profile, calls: &CallTable, count: usize) -> Vec<Advice> {
    let is_timed = calls.self_ns > 0;
    let callees = Callees::new(profile, &Owners::new(profile));
    let has_program = calls.methods.iter().any(|row| callees.is_of_program(row.method));
    let own = |row: &MethodCalls| if is_timed { row.self_ns } else { row.count };
    let mut all: Vec<Advice> = Vec::new();
    for row in &calls.methods {
        if has_program && !callees.is_of_program(row.method) {
            continue;
        }
        let mut works: Sum<Work> = Sum::default();
        works.add(Work::Own, own(row));
        for edge in calls.callees(row.method).into_iter().filter(|_| has_program) {
            let Some(callee) = edge.callee.filter(|&it| !callees.is_of_program(it)) else {
                continue;
            };
            let number = if is_timed { edge.total_ns } else { edge.count };
            works.add(callees.work(callee), number);
        }
        let callers = calls.callers(row.method).into_iter().map(|edge| {
            let number = if is_timed { edge.total_ns } else { edge.count };
            Caller { method: edge.caller, number, inferred: 0 }
        });
        let mut callers: Vec<_> =
            callers.filter(|it| it.method != Some(row.method) && it.number > 0).collect();
        callers.sort_by_key(|caller| (Reverse(caller.number), caller.method));
        let number = match is_timed {
            true => works.0.values().copied().fold(0, u64::saturating_add),
            false => row.count,
        };
        let total = if is_timed { row.total_ns } else { row.count };
        let mut works = works.ranked();
        works.retain(|work| work.1 > 0);
        let advice = Advice::new(row.method, number);
        all.push(Advice { callers, own: own(row), total: total.max(number), works, ..advice });
    }
    all.retain(|it| it.number > 0);
    all.sort_by_key(|advice| (Reverse((advice.number, advice.total)), advice.method));
    all.truncate(count);
    add_calls(calls, &mut all);
    all
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
    use crate::fixture::{edges, push_monitor_times, push_sites, samples, times, waits};
    use perk_profile::Metric;

    use crate::{Naming, inferred};

    fn advice(
        profile: &Profile,
        metric: &Metric,
        joined: &InferredCallers,
        count: usize,
    ) -> Vec<Advice> {
        let tree = MethodTree::new(profile);
        let calls = CallColumns::new(profile, &tree, None);
        let calls = CallTable::of_tree(profile, &tree, &calls);
        let charges = Charges::new(profile, &tree, &Owners::new(profile), Naming::Words);
        let sources =
            Sources { profile, tree: &tree, charges: &charges, joined, calls: Some(&calls) };
        let rows = metric.rows(profile).rows.into_iter();
        let rows: Vec<AdviceRow> =
            rows.map(|(key, number)| (key.trace, key.subject.class(), number)).collect();
        sources.advice(&rows, count)
    }

    fn callers(profile: &Profile, advice: &Advice) -> Vec<(String, u64, u64)> {
        let name = |method: Option<_>| {
            method.map_or(String::new(), |method| profile.symbols.method_name(method))
        };
        let callers = advice.callers.iter();
        callers.map(|it| (name(it.method), it.number, it.inferred)).collect()
    }

    fn works(profile: &Profile, advice: &Advice) -> Vec<(String, u64)> {
        let name = |work| match work {
            Work::Own => "own".to_owned(),
            Work::Named(word) => word.to_owned(),
            Work::Called(method) => profile.symbols.method_name(method),
        };
        advice.works.iter().map(|&(work, number)| (name(work), number)).collect()
    }

    #[test]
    fn the_jdk_and_libraries_are_charged_to_the_program() {
        let profile = samples(&[
            ("java.util.TimSort.sort<java.util.List.sort<acme.S.list<acme.S.serve<Main.main", 12),
            ("java.util.HashMap.get<com.google.gson.Gson.toJson<acme.S.list<acme.S.serve", 6),
            ("acme.S.list:7<acme.S.serve<Main.main", 2),
            ("acme.S.list:9<Main.main", 1),
            ("acme.S.serve<Main.main", 4),
            ("jdk.internal.misc.Unsafe.allocateInstance<java.lang.invoke.X.y<acme.S.serve", 3),
            ("java.util.HashMap.put<java.lang.System.initPhase2", 5),
        ]);
        let all = advice(&profile, &Metric::Samples, &InferredCallers::default(), 9);
        let numbers: Vec<_> = all.iter().map(|it| (it.number, it.own, it.total)).collect();
        assert_eq!(numbers, [(21, 3, 21), (7, 4, 27), (5, 0, 5)]);
        let own = |name: &str, number| (name.to_owned(), number);
        assert_eq!(works(&profile, &all[0]), [own("sorting", 12), own("JSON", 6), own("own", 3)]);
        assert_eq!(works(&profile, &all[1]), [own("own", 4), own("reflection", 3)]);
        assert_eq!(profile.symbols.method_name(all[2].method), "java.lang.System.initPhase2");
        assert_eq!(works(&profile, &all[2]), [own("hash maps", 5)]);
        let expected = [("acme.S.serve".to_owned(), 20, 0), ("Main.main".to_owned(), 1, 0)];
        assert_eq!(callers(&profile, &all[0]), expected);
        assert_eq!(all[0].lines, [(7, 2), (9, 1)]);
        let sum: u64 = all.iter().map(|it| it.number).sum();
        assert_eq!(sum, Metric::Samples.total(&profile));
        for advice in &all {
            assert_eq!(advice.works.iter().map(|work| work.1).sum::<u64>(), advice.number);
        }
    }

    #[test]
    fn locks_are_charged_by_class() {
        let mut profile = Profile::default();
        let park = "jdk.internal.misc.Unsafe.park<java.util.concurrent.locks.ReentrantLock.lock";
        push_monitor_times(
            &mut profile,
            &[
                ("acme.Account", "acme.Bank.pay<Main.main", waits(3, 700, 0, 0)),
                ("Lock", &format!("{park}<acme.Bank.pay<Main.main"), waits(1, 200, 0, 0)),
                ("Lock", &format!("{park}<acme.Bank.get<Main.main"), waits(1, 100, 0, 0)),
            ],
        );
        let all = advice(&profile, &Metric::BlockedTime, &InferredCallers::default(), 9);
        assert_eq!(all.iter().map(|it| it.number).collect::<Vec<_>>(), [900, 100]);
        let name = |class| profile.symbols.class_name(class);
        let classes: Vec<_> = all[0].classes.iter().map(|it| (name(it.0), it.1)).collect();
        assert_eq!(classes, [("acme.Account", 700), ("Lock", 200)]);
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
        assert_eq!((leaf.number, leaf.own, leaf.total, leaf.is_leaf()), (96, 96, 96, true));
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
        assert_eq!((all[1].own, all[1].total, all[1].is_leaf()), (5, 65, true));
    }

    #[test]
    fn inferred_callers_are_distinguished() {
        let mut profile = samples(&[("T.f<T.g<T.main", 8), ("T.f", 3), ("T.f<T.g", 2)]);
        let joined = inferred::infer(&mut profile);
        let all = advice(&profile, &Metric::Samples, &joined, 5);
        // The last trace has g as the measured caller of f; only the caller of g is inferred.
        assert_eq!(callers(&profile, &all[0]), [("T.g".to_owned(), 13, 3)]);
        assert_eq!(all[0].inferred, 0);
    }

    #[test]
    fn a_payer_can_be_inferred() {
        let mut profile = samples(&[
            ("java.util.HashMap.get<acme.T.f<acme.T.main", 8),
            ("java.util.HashMap.get", 3),
        ]);
        let joined = inferred::infer(&mut profile);
        let all = advice(&profile, &Metric::Samples, &joined, 5);
        assert_eq!((all.len(), all[0].number, all[0].inferred), (1, 11, 3));
    }

    #[test]
    fn what_is_allocated_below_is_named() {
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
    fn counted_calls_are_named() {
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
    fn calls_are_those_of_the_method_itself() {
        let profile = times(&[
            ("acme.T.main", 1, 0),
            ("acme.T.get<acme.T.main", 820, 0),
            ("java.util.ArrayList.get<acme.T.get<acme.T.main", 820, 0),
            ("java.util.Objects.check<java.util.ArrayList.get<acme.T.get<acme.T.main", 820, 0),
            ("java.lang.Math.max<acme.T.get<acme.T.main", 900, 0),
            ("java.util.HashMap.put<acme.T.main", 9_000, 0),
        ]);
        let tree = MethodTree::new(&profile);
        let charges = Charges::new(&profile, &tree, &Owners::new(&profile), Naming::Words);
        let joined = &InferredCallers::default();
        let sources =
            Sources { profile: &profile, tree: &tree, charges: &charges, joined, calls: None };
        let rows = Metric::Calls.rows(&profile).by_trace();
        let rows: Vec<_> = rows.into_iter().map(|(trace, number)| (trace, None, number)).collect();
        let all = sources.advice_on_calls(&rows, 9);
        let numbers: Vec<_> = all.iter().map(|it| (it.number, it.own, it.total)).collect();
        assert_eq!(numbers, [(820, 820, 3_360), (1, 1, 12_361)]);
        let own = |name: &str, number| (name.to_owned(), number);
        assert_eq!(
            works(&profile, &all[0]),
            [own("java.util.ArrayList.get", 1_640), own("mathematics", 900), own("own", 820)]
        );
        assert_eq!(callers(&profile, &all[0]), [own("acme.T.main", 820)].map(|it| (it.0, it.1, 0)));
        let pairs = edges(&[
            ("acme.T.get", "acme.T.main", 820, 0),
            ("java.util.ArrayList.get", "acme.T.get", 1_640, 0),
        ]);
        let all = of_calls(&pairs, &CallTable::of_edges(&pairs), 2);
        assert_eq!((all[0].number, all[0].own), (820, 820));
        assert_eq!(works(&pairs, &all[0])[0], own("java.util.ArrayList.get", 1_640));
    }

    #[test]
    fn pairs_will_do() {
        let profile = edges(&[
            ("T.f", "T.main", 30, 60),
            ("T.f", "T.g", 1, 20),
            ("T.g", "T.main", 2, 30),
            ("T.main", "", 1, 100),
            ("java.util.HashMap.get", "T.f", 9, 50),
        ]);
        let all = of_calls(&profile, &CallTable::of_edges(&profile), 2);
        assert_eq!((all[0].number, all[0].own, all[0].total), (80, 30, 80));
        assert_eq!(all[0].calls.unwrap().count, 31);
        assert_eq!(
            works(&profile, &all[0]),
            [("hash maps".to_owned(), 50), ("own".to_owned(), 30)]
        );
        let expected = [("T.main".to_owned(), 60, 0), ("T.g".to_owned(), 20, 0)];
        assert_eq!(callers(&profile, &all[0]), expected);
        assert_eq!(all.len(), 2);
    }
}
