//! The callers of sites that are instructions: samples say how the counted objects divide among call paths.
//!
//! The numbers of a site stay exact. Each sample is of a class and a path, and its innermost frames lead to the
//! instruction; those above it are of the methods that made the object for it. A site without a sample has no callers.

use perk_profile::{Allocations, ClassId, Line, NodeId, Profile, StrId, ThreadId, TraceId};
use rustc_hash::FxHashMap;

use crate::analyses::books::sites::SiteRows;

/// The most frames above the instruction in a sample: those of a copy of an array, a lambda, or a reflective call.
const MOST_INNER_FRAMES: usize = 12;

/// The instruction of a site, its class, and the thread if threads are distinguished. Two methods of one text
/// are one here, as the probes know methods by text and samples by the JVM's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct SiteKey {
    class: StrId,
    method: (StrId, StrId, Option<StrId>),
    line: Line,
    thread: Option<ThreadId>,
}

/// Divides the objects of sites whose traces have one frame among the callers that samples found. A sample has a class, a
/// trace and a weight.
pub(super) fn with_callers(
    profile: &mut Profile,
    sites: Vec<(ClassId, TraceId, Allocations)>,
    samples: impl IntoIterator<Item = (ClassId, TraceId, f64)>,
) -> SiteRows {
    let mut by_key: FxHashMap<SiteKey, usize> = FxHashMap::default();
    for (index, (class, trace, _)) in sites.iter().enumerate() {
        let trace = profile.get_trace(*trace);
        if let Some(key) = key(profile, *class, trace.node, trace.thread) {
            by_key.insert(key, index);
        }
    }
    let mut callers: Vec<FxHashMap<TraceId, f64>> = Vec::new();
    callers.resize_with(sites.len(), FxHashMap::default);
    for (class, trace, weight) in samples {
        let trace = profile.get_trace(trace);
        let mut node = Some(trace.node);
        for _ in 0..MOST_INNER_FRAMES {
            let Some(at) = node else { break };
            // Samples may distinguish threads where counts do not.
            let of = |thread| by_key.get(&key(profile, class, at, thread)?).copied();
            if let Some(site) = of(trace.thread).or_else(|| of(None)) {
                let thread = profile.get_trace(sites[site].1).thread;
                let trace = profile.trace(at, thread);
                *callers[site].entry(trace).or_default() += weight;
                break;
            }
            node = profile.tree.parent(at);
        }
    }
    let mut rows = SiteRows::default();
    for ((class, trace, objects), callers) in sites.into_iter().zip(callers) {
        let mut add = |trace, part: Allocations| rows.entry((class, trace)).or_default().add(part);
        if callers.is_empty() {
            add(trace, objects);
            continue;
        }
        let mut callers: Vec<_> = callers.into_iter().collect();
        callers.sort_unstable_by_key(|it| it.0);
        let whole: f64 = callers.iter().map(|it| it.1).sum();
        let [live_bytes, live_count, allocated_bytes, allocated_count] = objects.numbers();
        let (mut sum, mut given) = (0.0, [0; 4]);
        for (index, (trace, weight)) in callers.iter().enumerate() {
            sum += weight;
            let is_last = index + 1 == callers.len();
            let share = if is_last { 1.0 } else { sum / whole };
            // All numbers follow that of objects: no part has more that live than were allocated.
            let allocated = (allocated_count as f64 * share).round() as u64;
            let live = scaled(live_count, allocated, allocated_count);
            let until = [
                scaled(live_bytes, live, live_count),
                live,
                scaled(allocated_bytes, allocated, allocated_count),
                allocated,
            ];
            let part = std::array::from_fn(|at| until[at].saturating_sub(given[at]));
            given = until;
            add(*trace, Allocations::of(part));
        }
    }
    rows
}

/// Returns as much of a number as a part is of a whole; all of it where the whole is 0.
fn scaled(number: u64, part: u64, whole: u64) -> u64 {
    let scaled = u128::from(number) * u128::from(part);
    scaled.checked_div(u128::from(whole)).map_or(number, |it| it as u64)
}

/// The key of the site whose instruction is at a node; `None` for the root.
fn key(
    profile: &Profile,
    class: ClassId,
    node: NodeId,
    thread: Option<ThreadId>,
) -> Option<SiteKey> {
    let symbols = &profile.symbols;
    let frame = symbols.get_frame(profile.tree.frame(node)?);
    let method = symbols.get_method(frame.method);
    let name = |class| symbols.get_class(class).name;
    Some(SiteKey {
        class: name(class),
        method: (name(method.class), method.name, method.signature),
        line: frame.line,
        thread,
    })
}

#[cfg(test)]
mod tests {
    use perk_profile::{Frame, Method};

    use super::*;

    #[test]
    fn the_numbers_of_a_site_are_divided_and_stay_exact() {
        let mut profile = Profile::default();
        let mut frame = |class: &str, name: &str, line: u32| {
            let class = profile.symbols.new_class(class);
            let name = profile.symbols.strings.intern(name);
            let method = Method { class, name, signature: None, source: None };
            let method = profile.symbols.method(method);
            profile.symbols.frame(Frame::new(method, Line::Number(line)))
        };
        // The probes and the samples have methods of their own.
        let [site, site_in_samples] = [(); 2].map(|()| frame("app.A", "make", 7));
        let copy = frame("java.util.Arrays", "copyOf", 99);
        let callers = ["one", "two", "three"].map(|name| frame("app.A", name, 1));
        let alone = profile.tree.insert([site]);
        let alone = profile.trace(alone, None);
        let traces = callers.map(|caller| {
            let node = profile.tree.insert([caller, site_in_samples, copy]);
            profile.trace(node, None)
        });
        let [known, same, other] =
            ["int[]", "int[]", "byte[]"].map(|it| profile.symbols.new_class(it));
        let objects = Allocations::of([100, 1, 1000, 10]);
        let weights = [1.0, 1.0, 1.0];
        let samples: Vec<_> =
            traces.iter().zip(weights).map(|(&trace, weight)| (same, trace, weight)).collect();
        let rows = with_callers(
            &mut profile,
            vec![(known, alone, objects), (other, alone, objects)],
            samples,
        );
        let of = |class: ClassId| {
            let mut rows: Vec<_> = rows.iter().filter(|row| row.0.0 == class).collect();
            rows.sort_by_key(|row| row.0.1);
            rows
        };
        let parts: Vec<_> = of(known).iter().map(|row| row.1.numbers()).collect();
        assert_eq!(parts, [[0, 0, 300, 3], [0, 0, 400, 4], [100, 1, 300, 3]]);
        // The frames above the instruction are left out.
        let frames: Vec<_> = profile.frames(of(known)[0].0.1).collect();
        assert_eq!(frames, [site_in_samples, callers[0]]);
        // No sample is of that class.
        assert_eq!(of(other), [(&(other, alone), &objects)]);
    }
}
