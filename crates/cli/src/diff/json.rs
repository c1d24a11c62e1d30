//! A comparison as JSON: what differs, in full.

use std::io::Write;

use perk_analysis::diff::{Calls, Change, Diff, HeapObjects, MethodNumbers, MetricDiff};
use perk_profile::{Allocations, Line, MethodId, Metric, Waits};
use serde::Serialize;

use super::Comparison;
use super::limit::Verdict;

#[derive(Serialize)]
struct Report<'a> {
    before: &'a str,
    after: &'a str,
    /// Whether calls or allocations that were counted exactly differ.
    differs: bool,
    is_estimated: bool,
    limits: Vec<Limit>,
    calls: Option<Vec<Row<Method, CallNumbers>>>,
    edges: Option<Vec<Row<Edge, u64>>>,
    classes: Option<Vec<Row<Class, Objects>>>,
    sites: Option<Vec<Row<Site, Objects>>>,
    sample_count: Option<Sides<u64>>,
    /// Of different numbers of samples: shares are what compares.
    samples: Option<Vec<Row<Method, Numbers>>>,
    /// Metrics of other tools, and the one that was asked for; shares compare.
    metrics: Vec<MetricRows>,
    locks: Option<Vec<Row<Class, LockNumbers>>>,
    /// The objects of the last heap dump of each.
    heap: Option<Vec<Row<Class, HeapNumbers>>>,
}

#[derive(Serialize)]
struct HeapNumbers {
    instance_count: u64,
    shallow_bytes: u64,
}

#[derive(Serialize)]
struct MetricRows {
    name: String,
    unit: &'static str,
    total: Sides<u64>,
    methods: Vec<Row<Method, Numbers>>,
}

#[derive(Serialize)]
struct LockNumbers {
    blocked_count: u64,
    blocked_ns: u64,
    wait_count: u64,
    waited_ns: u64,
}

#[derive(Serialize)]
struct Limit {
    limit: String,
    before: u64,
    after: u64,
    is_exceeded: bool,
}

#[derive(Serialize)]
struct Row<K, V> {
    #[serde(flatten)]
    key: K,
    #[serde(flatten)]
    sides: Sides<V>,
}

#[derive(Serialize)]
struct Sides<V> {
    before: V,
    after: V,
}

#[derive(Serialize)]
struct Method {
    name: String,
}

#[derive(Serialize)]
struct Edge {
    caller: Option<String>,
    callee: Option<String>,
}

#[derive(Serialize)]
struct Class {
    class: String,
}

#[derive(Serialize)]
struct Site {
    class: String,
    /// Innermost first.
    frames: Vec<Frame>,
}

#[derive(Serialize)]
struct Frame {
    method: String,
    line: Option<u32>,
}

#[derive(Serialize)]
struct CallNumbers {
    call_count: u64,
    self_ns: u64,
    total_ns: u64,
}

#[derive(Serialize)]
struct Numbers {
    self_count: u64,
    total_count: u64,
}

#[derive(Serialize)]
struct Objects {
    allocated_bytes: u64,
    allocated_count: u64,
    live_bytes: u64,
    live_count: u64,
}

/// Writes all rows that differ, of each list at most `top`.
pub(super) fn write(
    comparison: &Comparison<'_>,
    verdicts: &[Verdict],
    top: usize,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let diff = &comparison.diff;
    let symbols = &diff.symbols;
    let name = |id: MethodId| full_name(diff, id);
    let by_method =
        |it: &MetricDiff| changed(&it.methods, top, |&key| Method { name: name(key) }, numbers);
    let samples = diff.metric(&Metric::Samples);
    let limit = |verdict: &Verdict| Limit {
        limit: verdict.limit.clone(),
        before: verdict.before,
        after: verdict.after,
        is_exceeded: verdict.is_exceeded,
    };
    let frame = |id| {
        let frame = symbols.get_frame(id);
        let line = match frame.line {
            Line::Number(line) => Some(line),
            _ => None,
        };
        Frame { method: name(frame.method), line }
    };
    let class = |id| symbols.class_name(id).to_owned();
    let report = Report {
        before: comparison.names[0],
        after: comparison.names[1],
        differs: comparison.differs(),
        is_estimated: diff.is_estimated,
        limits: verdicts.iter().map(limit).collect(),
        calls: rows(&diff.methods, top, |&key| Method { name: name(key) }, call_numbers),
        edges: rows(
            &diff.edges,
            top,
            |key| Edge { caller: key.0.map(name), callee: key.1.map(name) },
            |&count| count,
        ),
        classes: rows(&diff.classes, top, |&key| Class { class: class(key) }, objects),
        sites: rows(
            &diff.sites,
            top,
            |key| Site {
                class: class(key.0),
                frames: diff.tree.frames(key.1).map(frame).collect(),
            },
            objects,
        ),
        sample_count: samples.map(|it| Sides { before: it.total.before, after: it.total.after }),
        samples: samples.map(by_method),
        metrics: comparison
            .shown_metrics()
            .filter(|it| it.metric != Metric::Samples)
            .map(|it| MetricRows {
                name: it.metric.name().to_owned(),
                unit: it.metric.unit().name(),
                total: Sides { before: it.total.before, after: it.total.after },
                methods: by_method(it),
            })
            .collect(),
        locks: rows(&diff.locks, top, |&key| Class { class: class(key) }, lock_numbers),
        heap: rows(&diff.heap, top, |&key| Class { class: class(key) }, heap_numbers),
    };
    serde_json::to_writer_pretty(&mut *out, &report)?;
    out.write_all(b"\n")?;
    Ok(())
}

fn rows<K, V: PartialEq, L, W>(
    changes: &Option<Vec<Change<K, V>>>,
    top: usize,
    key: impl Fn(&K) -> L,
    value: impl Fn(&V) -> W,
) -> Option<Vec<Row<L, W>>> {
    changes.as_ref().map(|changes| changed(changes, top, key, value))
}

fn changed<K, V: PartialEq, L, W>(
    changes: &[Change<K, V>],
    top: usize,
    key: impl Fn(&K) -> L,
    value: impl Fn(&V) -> W,
) -> Vec<Row<L, W>> {
    let changes = changes.iter().filter(|row| row.before != row.after);
    let row = |row: &Change<K, V>| Row {
        key: key(&row.key),
        sides: Sides { before: value(&row.before), after: value(&row.after) },
    };
    changes.take(top).map(row).collect()
}

fn heap_numbers(objects: &HeapObjects) -> HeapNumbers {
    let &HeapObjects { instance_count, shallow_bytes } = objects;
    HeapNumbers { instance_count, shallow_bytes }
}

fn lock_numbers(waits: &Waits) -> LockNumbers {
    let &Waits { blocked_count, blocked_ns, wait_count, waited_ns } = waits;
    LockNumbers { blocked_count, blocked_ns, wait_count, waited_ns }
}

/// `class.method` and signature.
pub(super) fn full_name(diff: &Diff, id: MethodId) -> String {
    let signature = diff.symbols.get_method(id).signature;
    let signature = signature.map_or("", |id| diff.symbols.strings.get(id));
    diff.symbols.method_name(id) + signature
}

fn call_numbers(calls: &Calls) -> CallNumbers {
    let &Calls { count, self_ns, total_ns } = calls;
    CallNumbers { call_count: count, self_ns, total_ns }
}

fn numbers(numbers: &MethodNumbers) -> Numbers {
    let &MethodNumbers { own, total } = numbers;
    Numbers { self_count: own, total_count: total }
}

fn objects(objects: &Allocations) -> Objects {
    let &Allocations { live_bytes, live_count, allocated_bytes, allocated_count } = objects;
    Objects { allocated_bytes, allocated_count, live_bytes, live_count }
}
