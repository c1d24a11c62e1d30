//! The call tree: from the threads' first methods on, by what they cost.

use std::cmp::Reverse;

use perk_profile::method_tree::Branch;
use perk_profile::{Allocations, MethodId, PathId};

use super::Content;
use super::table::{Row, Table};
use crate::show::{self, Screen, bytes, duration, percent};

/// Levels shown by blanks; from there on a number says how deep a line is.
const INDENTED: usize = 24;

/// What a branch is weighed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    /// Time in nanoseconds.
    Time,
    /// Calls, where they were not timed.
    Calls,
    /// CPU samples.
    Samples,
    /// Allocated bytes.
    Bytes,
}

/// The weight of each node.
#[derive(Debug)]
pub(super) struct Weights {
    pub(super) weight: Weight,
    own: Vec<u64>,
    total: Vec<u64>,
    /// Of all nodes, and of what has no path.
    pub(super) all: u64,
}

/// A line of the tree: a path of methods, direct recursion folded.
#[derive(Debug)]
pub(super) struct Line {
    /// How many methods are above.
    pub(super) depth: usize,
    pub(super) method: MethodId,
    /// Whether the method calls itself here.
    pub(super) is_recursive: bool,
    pub(super) own: u64,
    pub(super) total: u64,
    /// `None` where calls were not counted.
    pub(super) call_count: Option<u64>,
    /// What it and all below allocated; `None` where allocations were not counted.
    pub(super) allocated: Option<Allocations>,
}

impl Weights {
    /// The weight that a profile's tree has: time, calls, samples or bytes, the first there is.
    pub(super) fn new(content: &Content<'_>) -> Option<Self> {
        let tree = &content.tree;
        let sums = |own: &[u64]| tree.totals(own, |sum, more| *sum = sum.saturating_add(*more));
        if let Some((calls, columns)) =
            content.calls.as_ref().and_then(|calls| calls.columns.as_ref().map(|it| (calls, it)))
        {
            let (weight, own, all) = if calls.is_timed() {
                (Weight::Time, columns.self_ns.clone(), calls.all_ns())
            } else {
                (Weight::Calls, columns.counts.clone(), calls.table.count)
            };
            let total = sums(&own);
            return Some(Self { weight, own, total, all });
        }
        let mut own = vec![0_u64; tree.len()];
        if content.has_samples() {
            for &(trace, count) in &content.samples.samples.rows {
                own[tree.path(content.profile.get_trace(trace).node).index()] += count;
            }
            let (total, all) = (sums(&own), content.samples.samples.total);
            return Some(Self { weight: Weight::Samples, own, total, all });
        }
        let objects = content.objects.as_ref()?;
        let own: Vec<_> = objects.columns.own.iter().map(|it| it.allocated_bytes).collect();
        let (total, all) = (sums(&own), objects.all().allocated_bytes);
        Some(Self { weight: Weight::Bytes, own, total, all })
    }
}

/// The lines of branches with `min` percent of all weight or more, heaviest first.
pub(super) fn lines(content: &Content<'_>, weights: &Weights, min: f64) -> Vec<Line> {
    let least = weights.all as f64 * min / 100.0;
    let sum = |column: &[u64], nodes: &[PathId]| {
        nodes.iter().fold(0_u64, |sum, node| sum.saturating_add(column[node.index()]))
    };
    let symbols = &content.profile.symbols;
    let call_counts = content.calls.as_ref().and_then(|calls| calls.columns.as_ref());
    // A call can be too short for the clock; what never happened is on the paths of other sections.
    let has_happened = |total: u64, branch: &Branch| {
        total > 0 || call_counts.is_some_and(|columns| sum(&columns.counts, &branch.nodes) > 0)
    };
    let kept = |branches: Vec<Branch>, depth: usize| {
        let weighed = branches.into_iter().map(|branch| {
            let total = sum(&weights.total, &branch.tops);
            (total, depth, branch)
        });
        let mut kept: Vec<_> = weighed
            .filter(|(total, _, branch)| *total as f64 >= least && has_happened(*total, branch))
            .collect();
        // The heaviest is last, where the stack is read.
        kept.sort_by_cached_key(|(total, _, branch)| {
            (*total, Reverse(symbols.method_name(branch.method)), Reverse(branch.method))
        });
        kept
    };
    let mut lines = Vec::new();
    let mut open = kept(content.tree.roots(), 0);
    while let Some((total, depth, branch)) = open.pop() {
        let allocated = content.objects.as_ref().map(|objects| {
            let mut allocated = Allocations::default();
            branch.tops.iter().for_each(|top| allocated.add(objects.columns.total[top.index()]));
            allocated
        });
        lines.push(Line {
            depth,
            method: branch.method,
            is_recursive: branch.nodes.len() > branch.tops.len(),
            own: sum(&weights.own, &branch.nodes),
            total,
            call_count: call_counts.map(|columns| sum(&columns.counts, &branch.nodes)),
            allocated,
        });
        open.extend(kept(content.tree.below(&branch), depth + 1));
    }
    lines
}

/// The tree as text; `None` where there is no path.
pub(super) fn section(content: &Content<'_>, min: f64, screen: &Screen) -> Option<String> {
    let weights = Weights::new(content)?;
    let lines = lines(content, &weights, min);
    let first = lines.first()?;
    let (has_calls, has_objects) = (first.call_count.is_some(), first.allocated.is_some());
    let labels = show::labels(&content.profile.symbols, lines.iter().map(|line| line.method));
    let amount = |number: u64| match weights.weight {
        Weight::Time => duration(number),
        Weight::Calls => number.to_string(),
        Weight::Samples => match content.samples.cpu_ns(number) {
            Some(ns) => duration(ns),
            None => number.to_string(),
        },
        Weight::Bytes => bytes(number),
    };
    // Where calls are the weight, self is their number.
    let has_call_column = has_calls && weights.weight != Weight::Calls;
    let has_byte_column = has_objects && weights.weight != Weight::Bytes;
    let mut titles = vec!["total %", "total", "self"];
    titles.extend(has_call_column.then_some("calls"));
    titles.extend(has_byte_column.then_some("allocated"));
    titles.push("method");
    let rows = lines.iter().map(|line| {
        let mut cells =
            vec![percent(line.total, weights.all), amount(line.total), amount(line.own)];
        cells.extend(line.call_count.filter(|_| has_call_column).map(|count| count.to_string()));
        let allocated = line.allocated.filter(|_| has_byte_column);
        cells.extend(allocated.map(|allocated| bytes(allocated.allocated_bytes)));
        let indent = match line.depth {
            0..=INDENTED => " ".repeat(line.depth),
            depth => format!("{}{depth}: ", " ".repeat(INDENTED)),
        };
        let recursion = if line.is_recursive { " (recursive)" } else { "" };
        cells.push(format!("{indent}{}{recursion}", labels[&line.method]));
        Row { cells, below: Vec::new() }
    });
    let table = Table { titles, rows: rows.collect() };
    let what = match weights.weight {
        Weight::Time => "time",
        Weight::Calls => "calls",
        Weight::Samples => "samples",
        Weight::Bytes => "allocated bytes",
    };
    let heading = format!("Call tree by {what}, branches below {min} % left out");
    Some(format!("{}\n{}", screen.heading(&heading), table.render(screen)))
}
