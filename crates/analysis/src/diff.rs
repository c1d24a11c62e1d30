//! The comparison of two profiles: calls by method and by pair of methods, allocations by class and
//! by site, samples by method. Classes, methods and paths are matched by name; all lambdas of a
//! class count as one.

mod cpu_time;
mod ids;
mod metrics;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::hash::Hash;

use crate::allocations::{self, SiteRow};
use crate::calls::{CallColumns, CallTable};
use perk_profile::{
    Allocations, CallTree, ClassId, FieldAccesses, FieldCounts, HeapClassRow, KeyedMap, MethodId,
    Metric, NodeId, Profile, Symbols, TraceId, Waits,
};

use crate::objects::{self, FieldKey, ObjectsRow};
use crate::owners::{Owner, Owners};
use crate::{MethodTree, columns, locks};

pub use cpu_time::align_cpu_time;
use ids::Names;
pub use metrics::{MethodNumbers, MetricDiff, sample_margin};

/// The numbers of one key in both profiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change<K, V> {
    /// The key, in the ids of the [`Diff`].
    pub key: K,
    /// The value in the first profile; the default if it does not have the key.
    pub before: V,
    /// The value in the second profile; the default if it does not have the key.
    pub after: V,
}

/// The calls of a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// The number of calls.
    pub count: u64,
    /// The time in its calls, in nanoseconds, without the calls that they make.
    pub self_ns: u64,
    /// The time in its calls, in nanoseconds, including the calls that they make.
    pub total_ns: u64,
}

/// The objects of a class in a heap dump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapObjects {
    /// The number of objects.
    pub instance_count: u64,
    /// The sum of their own sizes.
    pub shallow_bytes: u64,
}

/// Objects, and the accesses to them or to one of their fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// The number of accesses of instructions.
    pub access_count: u64,
    /// The number of those by other threads than the owner, where that is known.
    pub other_access_count: u64,
    /// The number of objects.
    pub object_count: u64,
    /// The number of objects that another thread than their owner accessed, by any means.
    pub shared_count: u64,
    /// The number of accesses by other means than instructions.
    pub extended_access_count: u64,
    /// The number of those by other threads than the owner, where that is known.
    pub extended_other_access_count: u64,
}

impl<K> From<&ObjectsRow<K>> for Accesses {
    fn from(row: &ObjectsRow<K>) -> Self {
        let of_both = |a: FieldCounts, b: FieldCounts| a.total().saturating_add(b.total());
        Self {
            access_count: of_both(row.counts.direct, row.unknown.direct),
            other_access_count: row.counts.direct.by_others(),
            object_count: row.object_count,
            shared_count: row.shared_count,
            extended_access_count: of_both(row.counts.extended, row.unknown.extended),
            extended_other_access_count: row.counts.extended.by_others(),
        }
    }
}

/// A caller and a callee, each if it is known.
pub type Pair = (Option<MethodId>, Option<MethodId>);

/// A class and the path that allocates it, with lines.
pub type SiteKey = (ClassId, NodeId);

/// Both profiles side by side: everything that at least one of them has, whether it changed or not.
/// The order depends only on names and numbers, most changed first.
#[derive(Clone, Debug, Default)]
pub struct Diff {
    /// The names of both profiles.
    pub symbols: Symbols,
    /// The paths of the sites of both profiles.
    pub tree: CallTree,
    /// Calls by method; `None` if one of the profiles has no calls. The other options are `None` in
    /// the same way.
    pub methods: Option<Vec<Change<MethodId, Calls>>>,
    /// Numbers of calls by caller and callee, without those that one of the profiles estimates.
    pub edges: Option<Vec<Change<Pair, u64>>>,
    /// The number of pairs of caller and callee whose calls one of the profiles estimates.
    pub estimated_edge_count: u64,
    /// Allocations by class.
    pub classes: Option<Vec<Change<ClassId, Allocations>>>,
    /// Allocations by class and path.
    pub sites: Option<Vec<Change<SiteKey, Allocations>>>,
    /// The metrics that both profiles have, except for calls.
    pub metrics: Vec<MetricDiff>,
    /// Waits for locks, by the lock's class.
    pub locks: Option<Vec<Change<ClassId, Waits>>>,
    /// The objects of the last heap dump of each, by class.
    pub heap: Option<Vec<Change<ClassId, HeapObjects>>>,
    /// Accesses to the objects of each class.
    pub accessed: Option<Vec<Change<ClassId, Accesses>>>,
    /// Accesses to the fields of the objects of each class.
    pub fields: Option<Vec<Change<FieldKey, Accesses>>>,
    /// Whether each of the profiles has the accesses by other means than instructions. If one of
    /// them has not, those of the other are left out.
    pub has_extended: [bool; 2],
    /// Whether the allocations of one of the profiles are estimates.
    pub is_estimated: bool,
    /// Whether the callers of objects are left out, as one of the profiles estimates them.
    pub is_without_callers: bool,
    /// The methods of each profile, in the ids of the comparison.
    methods_of: [Vec<MethodId>; 2],
}

impl Diff {
    /// Compares `before` with `after`.
    pub fn new(before: &Profile, after: &Profile) -> Self {
        let is_without_callers =
            [before, after].iter().any(|profile| profile.caller_sample_count().is_some());
        let [before, after] = [before, after].map(|profile| {
            let mut profile = Cow::Borrowed(profile);
            if is_without_callers {
                profile.to_mut().drop_callers_of_objects();
            }
            profile
        });
        let profiles = [&*before, &*after];
        // A text without signatures does not distinguish overloads, so the comparison cannot
        // either.
        let has_signatures = profiles.iter().all(|profile| has_signatures(profile));
        let mut names = Names { symbols: Symbols::default(), has_signatures };
        let sides = profiles.map(|profile| names.side(profile));
        let both = |has: fn(&Profile) -> bool| profiles.iter().all(|profile| has(profile));
        let mut diff = Self { is_without_callers, ..Self::default() };
        if both(has_calls) {
            let mut methods = Vec::new();
            let mut edges = Vec::new();
            let mut estimated = HashSet::new();
            for (side, profile) in profiles.into_iter().enumerate() {
                let table = calls(profile);
                let method = |id: MethodId| sides[side].methods[id.index()];
                for row in &table.methods {
                    let calls =
                        Calls { count: row.count, self_ns: row.self_ns, total_ns: row.total_ns };
                    methods.push((method(row.method), side, calls));
                }
                for edge in &table.edges {
                    let pair = (edge.caller.map(method), edge.callee.map(method));
                    edges.push((pair, side, edge.count));
                    if edge.estimated_count > 0 {
                        estimated.insert(pair);
                    }
                }
            }
            edges.retain(|edge| !estimated.contains(&edge.0));
            diff.estimated_edge_count = estimated.len() as u64;
            diff.methods = Some(join(methods));
            diff.edges = Some(join(edges));
        }
        if both(|profile| profile.has(&Metric::OF_OBJECTS)) {
            let mut classes = Vec::new();
            let mut sites = Vec::new();
            for (side, profile) in profiles.into_iter().enumerate() {
                let Some(section) = profile.sites() else { continue };
                diff.is_estimated |= section.sample_interval_bytes.is_some();
                for row in allocations::classes(profile, &section, &section.leading()) {
                    classes.push((sides[side].classes[row.class.index()], side, row.objects));
                }
                let rows = allocations::sites(profile, &section, &section.leading());
                for SiteRow { class, node, objects } in rows {
                    let frames: Vec<_> = profile.tree.frames(node).collect();
                    let frames = frames.iter().rev().map(|id| sides[side].frames[id.index()]);
                    let node = diff.tree.insert(frames);
                    sites.push(((sides[side].classes[class.index()], node), side, objects));
                }
            }
            diff.classes = Some(join(classes));
            diff.sites = Some(join(sites));
        }
        let common = common_metrics(profiles).into_iter();
        diff.metrics = common.map(|metric| MetricDiff::new(metric, profiles, &sides)).collect();
        let times = diff.methods.as_deref().map(|it| MetricDiff::of_calls(it, profiles));
        let times = times.filter(|it| it.total.before.max(it.total.after) > 0);
        // CPU samples come first.
        let place = usize::from(diff.metric(&Metric::Samples).is_some());
        diff.metrics.splice(place..place, times);
        if both(|profile| profile.has(&Metric::OF_LOCKS)) {
            let mut rows = Vec::new();
            for (side, profile) in profiles.into_iter().enumerate() {
                for (class, _, waits) in locks::lock_classes(profile) {
                    rows.push((sides[side].classes[class.index()], side, waits));
                }
            }
            diff.locks = Some(join(rows));
        }
        if both(|profile| profile.heaps().next().is_some()) {
            let mut rows = Vec::new();
            for (side, profile) in profiles.into_iter().enumerate() {
                for row in profile.heaps().last().iter().flat_map(|heap| &heap.rows) {
                    let HeapClassRow { class, instance_count, shallow_bytes } = *row;
                    let objects = HeapObjects { instance_count, shallow_bytes };
                    rows.push((sides[side].classes[class.index()], side, objects));
                }
            }
            diff.heap = Some(join(rows));
        }
        if both(|profile| profile.field_accesses().is_some()) {
            let mut classes = Vec::new();
            let mut fields = Vec::new();
            let has_extended =
                |it: &Profile| it.field_accesses().is_some_and(FieldAccesses::has_extended);
            diff.has_extended = profiles.map(has_extended);
            for (side, profile) in profiles.into_iter().enumerate() {
                let Some(accesses) = profile.field_accesses() else { continue };
                let mut accesses = Cow::Borrowed(accesses);
                // Objects of both sides are judged by accesses of the same means.
                if diff.has_extended == [side == 0, side == 1] {
                    accesses.to_mut().drop_extended();
                }
                let class = |id: ClassId| sides[side].classes[id.index()];
                for row in &objects::by_class(&accesses) {
                    classes.push((class(row.key), side, row.into()));
                }
                for row in &objects::by_field(&accesses) {
                    let field = names.field(&profile.symbols, row.key.1);
                    fields.push(((class(row.key.0), field), side, row.into()));
                }
            }
            diff.accessed = Some(join(classes));
            diff.fields = Some(join(fields));
        }
        diff.symbols = names.symbols;
        diff.methods_of = sides.map(|side| side.methods);
        diff.sort();
        diff
    }

    /// Sorts all rows: most changed first, then by name.
    fn sort(&mut self) {
        let Self { symbols, tree, .. } = self;
        let method = |id: MethodId| method_key(symbols, id);
        if let Some(rows) = &mut self.methods {
            rows.sort_by_cached_key(|row| {
                let moved = row.before.count.abs_diff(row.after.count);
                (Reverse(moved), Reverse(row.after.count), method(row.key))
            });
        }
        if let Some(rows) = &mut self.edges {
            rows.sort_by_cached_key(|row| {
                let names = (row.key.1.map(method), row.key.0.map(method));
                (Reverse(row.before.abs_diff(row.after)), Reverse(row.after), names)
            });
        }
        if let Some(rows) = &mut self.classes {
            rows.sort_by_cached_key(|row| (moved(row), symbols.class_name(row.key).to_owned()));
        }
        if let Some(rows) = &mut self.sites {
            rows.sort_by_cached_key(|row| {
                let path: Vec<_> = tree
                    .frames(row.key.1)
                    .map(|id| symbols.get_frame(id))
                    .map(|frame| (method(frame.method), frame.line))
                    .collect();
                (moved(row), symbols.class_name(row.key.0).to_owned(), path)
            });
        }
        for MetricDiff { methods, .. } in &mut self.metrics {
            methods.sort_by_cached_key(|row| {
                let moved = |side: fn(&MethodNumbers) -> u64| {
                    Reverse(side(&row.before).abs_diff(side(&row.after)))
                };
                (moved(|it| it.own), moved(|it| it.total), method(row.key))
            });
        }
        if let Some(rows) = &mut self.heap {
            rows.sort_by_cached_key(|row| {
                let moved = row.before.shallow_bytes.abs_diff(row.after.shallow_bytes);
                let count = row.before.instance_count.abs_diff(row.after.instance_count);
                (Reverse((moved, count)), symbols.class_name(row.key).to_owned())
            });
        }
        if let Some(rows) = &mut self.accessed {
            rows.sort_by_cached_key(|row| {
                (moved_accesses(row), symbols.class_name(row.key).to_owned())
            });
        }
        if let Some(rows) = &mut self.fields {
            rows.sort_by_cached_key(|row| {
                let (class, field) = row.key;
                (moved_accesses(row), field.name(class, symbols))
            });
        }
        if let Some(rows) = &mut self.locks {
            rows.sort_by_cached_key(|row| {
                let moved = row.before.blocked_ns.abs_diff(row.after.blocked_ns);
                (Reverse(moved), symbols.class_name(row.key).to_owned())
            });
        }
    }

    /// The numbers of a metric by method, if both profiles have it.
    pub fn metric(&self, metric: &Metric) -> Option<&MetricDiff> {
        self.metrics.iter().find(|it| it.metric == *metric)
    }

    /// Whether each profile has the method, by its index.
    pub fn presence(&self) -> Vec<[bool; 2]> {
        let mut presence = vec![[false; 2]; self.symbols.method_count()];
        for (side, methods) in self.methods_of.iter().enumerate() {
            for method in methods {
                presence[method.index()][side] = true;
            }
        }
        presence
    }

    /// Whether each method is the program's own in any of the `profiles` that were compared, by its index.
    pub fn yours(&self, profiles: [&Profile; 2]) -> Vec<bool> {
        let mut yours = vec![false; self.symbols.method_count()];
        for (methods, profile) in self.methods_of.iter().zip(profiles) {
            let owners = Owners::new(profile);
            for (index, method) in methods.iter().enumerate() {
                yours[method.index()] |= owners.of(MethodId::new(index)) == Owner::Yours;
            }
        }
        yours
    }

    /// The number of `metric` of each of the `profiles` that were compared, on the stacks that have a
    /// method that `is_meant`: of each stack once. Where only callers and callees are known, calls from
    /// one such method to another are left out.
    pub fn on_stacks_with(
        &self,
        profiles: [&Profile; 2],
        metric: &Metric,
        is_meant: impl Fn(MethodId) -> bool,
    ) -> [u64; 2] {
        let of_side = |side: usize| -> u64 {
            let (profile, methods) = (profiles[side], &self.methods_of[side]);
            let is_meant: Vec<_> = methods.iter().map(|&method| is_meant(method)).collect();
            let numbers = match *metric == Metric::SelfTime && !profile.has(&Metric::OF_CALLS) {
                true => {
                    let is_meant = |it: Option<MethodId>| it.is_some_and(|it| is_meant[it.index()]);
                    let edges = profile.call_edges().flat_map(|edges| edges.rows);
                    let entries = edges.filter(|it| is_meant(it.callee) && !is_meant(it.caller));
                    entries.map(|it| it.total_ns).collect::<Vec<_>>()
                }
                false => {
                    let rows = columns::numbers(profile, metric).rows.into_iter();
                    let method = |id| profile.symbols.get_frame(id).method.index();
                    let has_meant = |&(trace, _): &(TraceId, u64)| {
                        profile.frames(trace).any(|frame| is_meant[method(frame)])
                    };
                    rows.filter(has_meant).map(|row| row.1).collect()
                }
            };
            numbers.into_iter().fold(0, u64::saturating_add)
        };
        [of_side(0), of_side(1)]
    }

    /// Whether both profiles have nothing in common.
    pub fn is_empty(&self) -> bool {
        self.methods.is_none()
            && self.sites.is_none()
            && self.metrics.is_empty()
            && self.locks.is_none()
            && self.heap.is_none()
            && self.fields.is_none()
    }
}

/// The metrics that are compared by method: samples if both profiles have a section of them, and
/// the other metrics that both have.
fn common_metrics([before, after]: [&Profile; 2]) -> Vec<Metric> {
    let has_samples = |profile: &Profile| profile.has(&[Metric::Samples]);
    let samples = (has_samples(before) && has_samples(after)).then_some(Metric::Samples);
    let is_apart = |metric: &Metric| {
        matches!(metric, Metric::Samples | Metric::SelfTime | Metric::Calls)
            || metric.is_by_pair(before)
    };
    let others = Metric::all_of(before).into_iter();
    let others = others.filter(|metric| !is_apart(metric) && metric.is_in(after));
    samples.into_iter().chain(others).collect()
}

/// The amount by which allocations changed, for sorting.
fn moved<K>(row: &Change<K, Allocations>) -> impl Ord + use<K> {
    let bytes = row.before.allocated_bytes.abs_diff(row.after.allocated_bytes);
    let count = row.before.allocated_count.abs_diff(row.after.allocated_count);
    let live = row.before.live_bytes.abs_diff(row.after.live_bytes);
    Reverse((bytes, count, live, row.after.allocated_bytes))
}

/// The amount by which accesses changed, for sorting.
fn moved_accesses<K>(row: &Change<K, Accesses>) -> impl Ord + use<K> {
    let Change { before, after, .. } = row;
    let all = before.access_count.abs_diff(after.access_count);
    let by_others = before.other_access_count.abs_diff(after.other_access_count);
    let shared = before.shared_count.abs_diff(after.shared_count);
    let objects = before.object_count.abs_diff(after.object_count);
    let extended = before.extended_access_count.abs_diff(after.extended_access_count);
    Reverse((by_others, shared, all, objects, extended, after.access_count))
}

fn method_key(symbols: &Symbols, id: MethodId) -> (String, Option<String>) {
    let signature = symbols.get_method(id).signature;
    (symbols.method_name(id), signature.map(|id| symbols.strings.get(id).to_owned()))
}

/// Whether a profile has counted calls.
fn has_calls(profile: &Profile) -> bool {
    profile.has(&Metric::OF_CALLS) || profile.has_pairs()
}

/// The calls of a profile, from its call times or else its pairs of methods.
fn calls(profile: &Profile) -> CallTable {
    if !profile.has(&Metric::OF_CALLS) {
        return CallTable::of_edges(profile);
    }
    let tree = MethodTree::new(profile);
    CallTable::of_tree(profile, &tree, &CallColumns::new(profile, &tree, None))
}

fn has_signatures(profile: &Profile) -> bool {
    let count = profile.symbols.method_count();
    let mut methods = (0..count).map(|index| profile.symbols.get_method(MethodId::new(index)));
    count == 0 || methods.any(|method| method.signature.is_some())
}

/// A value that adds up.
trait Add {
    fn add(&mut self, other: Self);
}

impl Add for u64 {
    fn add(&mut self, other: Self) {
        *self = self.saturating_add(other);
    }
}

impl Add for Calls {
    fn add(&mut self, other: Self) {
        Add::add(&mut self.count, other.count);
        Add::add(&mut self.self_ns, other.self_ns);
        Add::add(&mut self.total_ns, other.total_ns);
    }
}

impl Add for HeapObjects {
    fn add(&mut self, other: Self) {
        Add::add(&mut self.instance_count, other.instance_count);
        Add::add(&mut self.shallow_bytes, other.shallow_bytes);
    }
}

impl Add for Accesses {
    fn add(&mut self, other: Self) {
        Add::add(&mut self.access_count, other.access_count);
        Add::add(&mut self.other_access_count, other.other_access_count);
        Add::add(&mut self.object_count, other.object_count);
        Add::add(&mut self.shared_count, other.shared_count);
        Add::add(&mut self.extended_access_count, other.extended_access_count);
        Add::add(&mut self.extended_other_access_count, other.extended_other_access_count);
    }
}

impl Add for Waits {
    fn add(&mut self, other: Self) {
        Waits::add(self, other);
    }
}

impl Add for Allocations {
    fn add(&mut self, other: Self) {
        Allocations::add(self, other);
    }
}

/// One row for each key, of values with their side: 0 before, 1 after.
fn join<K: Copy + Eq + Hash, V: Copy + Default + Add>(
    values: impl IntoIterator<Item = (K, usize, V)>,
) -> Vec<Change<K, V>> {
    let mut rows: Vec<Change<K, V>> = Vec::new();
    let mut places: KeyedMap<K, usize> = KeyedMap::default();
    for (key, side, value) in values {
        let place = *places.entry(key).or_insert_with(|| {
            rows.push(Change { key, before: V::default(), after: V::default() });
            rows.len() - 1
        });
        let row = &mut rows[place];
        [&mut row.before, &mut row.after][side].add(value);
    }
    rows
}

#[cfg(test)]
mod tests;
