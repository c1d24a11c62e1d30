//! The samples by method.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use perk_profile::{CpuSamples, FrameId, KeyedMap, MethodId, Profile, StrId, ThreadId, TraceId};

/// One method's share of the samples, merged over all traces it occurs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodRow {
    /// The method; of several with the same class name, name and signature (loaded by several
    /// class loaders) the first.
    pub method: MethodId,
    /// Samples with the method on top of the stack.
    pub self_count: u64,
    /// Samples with the method anywhere on the stack, each counted once however deep it recurses.
    pub total_count: u64,
    /// The traces that have it on top, with their samples, most first.
    pub traces: Vec<(TraceId, u64)>,
}

/// The samples of `samples` that belong to `thread`; all if it is `None`.
pub fn of_thread(profile: &Profile, samples: &CpuSamples, thread: Option<ThreadId>) -> CpuSamples {
    let Some(thread) = thread else { return samples.clone() };
    let of_thread =
        |&&(trace, _): &&(TraceId, u64)| profile.get_trace(trace).thread == Some(thread);
    let rows: Vec<_> = samples.rows.iter().filter(of_thread).copied().collect();
    CpuSamples { total: sum(&rows), rows, ..CpuSamples::default() }
}

/// All methods with at least one sample, by self count, then by total count, both descending.
pub fn methods(profile: &Profile, samples: &CpuSamples) -> Vec<MethodRow> {
    let mut merged = MethodMerger::new(profile);
    let symbols = &profile.symbols;
    let method_of: Vec<MethodId> = (0..symbols.frame_count())
        .map(|index| merged.method(symbols.get_frame(FrameId::new(index)).method))
        .collect();
    let row = |index| MethodRow {
        method: MethodId::new(index),
        self_count: 0,
        total_count: 0,
        traces: Vec::new(),
    };
    let mut rows: Vec<MethodRow> = (0..symbols.method_count()).map(row).collect();
    for &(trace, count) in &samples.rows {
        if let Some(frame) = profile.frames(trace).next() {
            let row = &mut rows[method_of[frame.index()].index()];
            row.self_count = row.self_count.saturating_add(count);
            row.traces.push((trace, count));
        }
    }
    let totals = profile.tree.totals(&profile.sums_by_node(&samples.rows));
    let method = |frame: FrameId| method_of[frame.index()].index();
    let row_count = rows.len();
    profile.tree.walk(row_count, method, |node, method, is_outermost| {
        if is_outermost {
            let total = &mut rows[method].total_count;
            *total = total.saturating_add(totals[node.index()]);
        }
    });
    rows.retain(|row| row.total_count > 0);
    for row in &mut rows {
        row.traces.sort_by_key(|&(trace, count)| (Reverse(count), trace));
    }
    rows.sort_by_key(|row| (Reverse(row.self_count), Reverse(row.total_count), row.method));
    rows
}

/// The threads with samples and their counts, most first. Empty if the profile was not made per
/// thread.
pub fn threads(profile: &Profile, samples: &CpuSamples) -> Vec<(ThreadId, u64)> {
    let mut counts: KeyedMap<ThreadId, u64> = KeyedMap::default();
    for &(trace, count) in &samples.rows {
        if let Some(thread) = profile.get_trace(trace).thread {
            let sum = counts.entry(thread).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_by_key(|&(thread, count)| (Reverse(count), thread));
    rows
}

/// The threads that have numbers of any metric and are not among the `listed`, in their order.
pub fn other_threads(profile: &Profile, listed: &[(ThreadId, u64)]) -> Vec<ThreadId> {
    let listed: BTreeSet<_> = listed.iter().map(|row| row.0).collect();
    let traces = profile.sections().flat_map(|section| {
        let counted = section.rows().filter(|row| row.1.iter().any(|&number| number > 0));
        counted.map(|row| row.0.trace)
    });
    let threads = traces.filter_map(|trace| profile.get_trace(trace).thread);
    let others: BTreeSet<_> = threads.filter(|thread| !listed.contains(thread)).collect();
    others.into_iter().collect()
}

/// The sum of the numbers of all rows.
fn sum(rows: &[(TraceId, u64)]) -> u64 {
    rows.iter().map(|row| row.1).fold(0, u64::saturating_add)
}

/// Maps methods that look the same (several loaders' copies) to the first of them.
pub(crate) struct MethodMerger<'a> {
    profile: &'a Profile,
    first: KeyedMap<(StrId, StrId, Option<StrId>), MethodId>,
    known: Vec<Option<MethodId>>,
}

impl<'a> MethodMerger<'a> {
    pub(crate) fn new(profile: &'a Profile) -> Self {
        let known = vec![None; profile.symbols.method_count()];
        Self { profile, first: KeyedMap::default(), known }
    }

    pub(crate) fn method(&mut self, id: MethodId) -> MethodId {
        if let Some(known) = self.known[id.index()] {
            return known;
        }
        let symbols = &self.profile.symbols;
        let method = symbols.get_method(id);
        let key = (symbols.get_class(method.class).name, method.name, method.signature);
        let first = *self.first.entry(key).or_insert(id);
        self.known[id.index()] = Some(first);
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perk_profile::{Event, Frame, Line, Method, Thread};

    /// A profile of the given stacks (methods innermost first, as in `a<b<main`) and counts.
    fn profile(stacks: &[(&str, u64)]) -> Profile {
        let mut profile = Profile::default();
        let mut rows = Vec::new();
        for &(stack, count) in stacks {
            let frames: Vec<_> = stack
                .rsplit('<')
                .map(|name| {
                    let class = profile.symbols.class("T");
                    let name = profile.symbols.strings.intern(name);
                    let method = Method { class, name, signature: None, source: None };
                    let method = profile.symbols.method(method);
                    profile.symbols.frame(Frame::new(method, Line::Unknown))
                })
                .collect();
            let node = profile.tree.insert(frames);
            rows.push((profile.trace(node, None), count));
        }
        let total = rows.iter().map(|&(_, count)| count).sum();
        profile.events.push(Event::from(CpuSamples { total, rows, ..CpuSamples::default() }));
        profile
    }

    fn shown(profile: &Profile) -> Vec<(String, u64, u64)> {
        methods(profile, &profile.total_cpu_samples())
            .iter()
            .map(|row| (profile.symbols.method_name(row.method), row.self_count, row.total_count))
            .collect()
    }

    #[test]
    fn a_method_is_one_row_over_all_its_traces() {
        let profile = profile(&[("leaf<a<main", 3), ("leaf<b<main", 2), ("a<main", 1)]);
        assert_eq!(
            shown(&profile),
            [
                ("T.leaf".into(), 5, 5),
                ("T.a".into(), 1, 4),
                ("T.main".into(), 0, 6),
                ("T.b".into(), 0, 2)
            ]
        );
        let samples = profile.total_cpu_samples();
        assert_eq!(methods(&profile, &samples)[0].traces.len(), 2);
    }

    #[test]
    fn what_is_counted_again_counts_once() {
        let mut profile = Profile::default();
        let trace = profile.system_trace();
        let mut push = |count, is_interim| {
            let rows = vec![(trace, count)];
            let samples = CpuSamples { total: count, rows, is_interim, ..CpuSamples::default() };
            profile.events.push(Event::from(samples));
            profile.total_cpu_samples().total
        };
        assert_eq!(push(2, true), 2);
        assert_eq!(push(3, true), 3);
        assert_eq!(push(5, false), 5);
        assert_eq!(push(4, false), 9);
        assert_eq!(push(1, true), 10);
    }

    #[test]
    fn recursion_counts_once() {
        let profile = profile(&[("fib<fib<fib<main", 4)]);
        assert_eq!(shown(&profile), [("T.fib".into(), 4, 4), ("T.main".into(), 0, 4)]);
    }

    #[test]
    fn samples_of_one_thread() {
        let mut profile = profile(&[("a<main", 1)]);
        let name = profile.symbols.strings.intern("worker");
        let thread = profile.push_thread(Thread {
            serial: 200_002,
            object_id: 1,
            name,
            group: None,
            parent_group: None,
        });
        let node = profile.traces().last().unwrap().node;
        let trace = profile.trace(node, Some(thread));
        let rows = vec![(trace, 5)];
        profile.events.push(Event::from(CpuSamples { total: 5, rows, ..CpuSamples::default() }));
        let samples = profile.total_cpu_samples();
        assert_eq!(samples.total, 6);
        assert_eq!(threads(&profile, &samples), [(thread, 5)]);
        assert_eq!(of_thread(&profile, &samples, Some(thread)).total, 5);
    }
}
