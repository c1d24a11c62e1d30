//! The call tree: from the threads' first methods on, by their totals; or from the top of the
//! stacks outward, by caller.

use std::cmp::Reverse;

use perk_analysis::bottom_up;
use perk_analysis::method_tree::Branch;
use perk_profile::units::percent;
use perk_profile::{Allocations, MethodId, Metric, PathId, Unit};
use perk_render::{Cell, Column, Json, Row, Table};

use super::Content;
use super::metric::MetricView;

/// Methods with one callee each, and no more of their own, are shown up to this number in a row;
/// the rest of so long a chain says nothing.
const CHAIN: usize = 64;

/// A row of the tree: a path of methods, direct recursion folded.
#[derive(Debug)]
struct TreeRow {
    /// How many methods are above.
    depth: usize,
    /// As many of those right above are left out, as each has the next as its one callee.
    left_out: usize,
    method: MethodId,
    /// Whether the method calls itself here.
    is_recursive: bool,
    own: u64,
    total: u64,
    /// As much of the total is here by inference.
    inferred: u64,
    /// `None` where calls were not counted.
    call_count: Option<u64>,
    /// Allocations of the path and all below; `None` where allocations were not counted.
    allocated: Option<Allocations>,
}

/// The rows of branches with `min` percent of all weight or more, heaviest first.
fn rows(content: &Content<'_>, view: &MetricView<'_>, min: f64) -> Vec<TreeRow> {
    let (columns, inferred) = (view.columns(), view.inferred());
    let least = columns.all as f64 * min / 100.0;
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
            let total = sum(&columns.total, &branch.tops);
            Open { total, depth, branch, chain: 0 }
        });
        let mut kept: Vec<_> = weighed
            .filter(|it| it.total as f64 >= least && has_happened(it.total, &it.branch))
            .collect();
        // The heaviest is last, where the stack is read.
        kept.sort_by_cached_key(|it| {
            let method = it.branch.method;
            (it.total, Reverse(symbols.method_name(method)), Reverse(method))
        });
        kept
    };
    let mut rows = Vec::new();
    let mut open = kept(content.tree.roots(), 0);
    while let Some(Open { total, depth, branch, chain }) = open.pop() {
        let own = sum(&columns.own, &branch.nodes);
        let mut below = kept(content.tree.below(&branch), depth + 1);
        match below.as_mut_slice() {
            [one] if own == 0 && one.total == total => one.chain = chain + 1,
            _ => {}
        }
        let is_left_out = chain >= CHAIN && below.iter().any(|it| it.chain > 0);
        open.extend(below);
        if is_left_out {
            continue;
        }
        let allocated = content.objects.as_ref().map(|objects| {
            let mut allocated = Allocations::default();
            branch.tops.iter().for_each(|top| allocated.add(objects.columns.total[top.index()]));
            allocated
        });
        rows.push(TreeRow {
            depth,
            left_out: chain.saturating_sub(CHAIN),
            method: branch.method,
            is_recursive: branch.nodes.len() > branch.tops.len(),
            own,
            total,
            inferred: inferred.as_ref().map_or(0, |it| sum(&it.total, &branch.tops)),
            // A branch that is there for what is below it has no calls of its own in the file.
            call_count: call_counts
                .map(|columns| sum(&columns.counts, &branch.nodes))
                .filter(|count| *count > 0),
            allocated,
        });
    }
    rows
}

/// A branch whose row comes later.
struct Open {
    total: u64,
    depth: usize,
    branch: Branch,
    /// How many methods above it have one callee each.
    chain: usize,
}

/// The tree from the threads' first methods on, and how many levels are left out of it.
pub(super) fn top_down<'t>(
    content: &'t Content<'_>,
    view: &'t MetricView<'_>,
    min: f64,
) -> (Table<'t>, usize) {
    let rows = rows(content, view, min);
    let left_out = rows.iter().map(|row| row.left_out).sum();
    // What the tree is weighed by needs no column of its own.
    let has_calls = rows.iter().any(|it| it.call_count.is_some()) && view.metric != Metric::Calls;
    let has_objects = content.objects.is_some() && view.metric != Metric::AllocatedBytes;
    let mut call_count = Column::number("call_count", Unit::Count);
    if has_calls {
        call_count = call_count.at(3, "calls");
    }
    let mut allocated = Column::number("allocated_bytes", Unit::Bytes).no_json();
    if has_objects {
        allocated = allocated.at(4, "allocated");
    }
    let (method, is_recursive) = (Column::method().name("method"), Column::other("is_recursive"));
    let columns = vec![
        MetricView::metric_column(),
        Column::number("depth", Unit::Count),
        is_recursive.clone().no_json(),
        method.json("method"),
        is_recursive.no_csv(),
        view.measure("self").time_at(2, "self"),
        view.measure("total").share_at(0, "total %").time_at(1, "total"),
        view.measure("inferred").json("inferred_total"),
        call_count,
        allocated,
        Column::number("allocated_count", Unit::Count).no_json(),
        Column::other("allocated").no_csv(),
    ];
    let row = move |row: TreeRow| {
        let mut suffix = recursion(row.is_recursive).to_owned();
        match row.inferred {
            0 => {}
            inferred if inferred == row.total => suffix += " [inferred]",
            inferred => suffix += &format!(" [{} % inferred]", percent(inferred, row.total)),
        }
        if row.left_out > 0 {
            suffix += &format!(" [{} levels above with one callee each left out]", row.left_out);
        }
        let objects = content.objects.as_ref().zip(row.allocated);
        let allocated = objects.map(|(objects, allocated)| objects.json(&allocated));
        let cells = vec![
            Cell::text(view.name()),
            Cell::Number(row.depth as u64),
            Cell::Bool(row.is_recursive),
            Cell::Method(row.method),
            Cell::Bool(row.is_recursive),
            Cell::Number(row.own),
            Cell::Number(row.total),
            Cell::Number(row.inferred),
            Cell::optional(row.call_count),
            Cell::optional(row.allocated.map(|it| it.allocated_bytes)),
            Cell::optional(row.allocated.map(|it| it.allocated_count)),
            Cell::Json(allocated.unwrap_or(Json::Null)),
        ];
        Row::new(cells).at_depth(row.depth).suffix(suffix)
    };
    let heading = heading("Call tree by", view, min);
    (Table::new(&content.profile.symbols, heading, columns, rows.into_iter().map(row)), left_out)
}

/// The tree from the top of the stacks outward.
pub(super) fn bottom_up<'t>(
    content: &'t Content<'_>,
    view: &'t MetricView<'_>,
    min: f64,
) -> Table<'t> {
    let symbols = &content.profile.symbols;
    let columns = view.columns();
    let least = columns.all as f64 * min / 100.0;
    let rows = bottom_up::lines(content.tree, &columns.own, least, |id| symbols.method_name(id));
    let columns = vec![
        MetricView::metric_column(),
        Column::number("depth", Unit::Count),
        Column::other("is_recursive"),
        Column::method().name("method, callers below"),
        view.measure("self").share_at(0, "self %").time_at(1, "self"),
    ];
    let rows = rows.into_iter().map(|row| {
        let cells = vec![
            Cell::text(view.name()),
            Cell::Number(row.depth as u64),
            Cell::Bool(row.is_recursive),
            Cell::Method(row.method),
            Cell::Number(row.number),
        ];
        Row::new(cells).at_depth(row.depth).suffix(recursion(row.is_recursive))
    });
    Table::new(symbols, heading("Callers by self", view, min), columns, rows)
}

fn heading(title: &str, view: &MetricView<'_>, min: f64) -> String {
    let metric = perk_render::metric(&view.metric);
    format!("{title} {metric}, branches below {min} % left out")
}

fn recursion(is_recursive: bool) -> &'static str {
    if is_recursive { " (recursive)" } else { "" }
}

/// The unit of a tree's numbers in JSON: `ns`, `calls`, `samples`, `bytes` or `count`.
pub(super) fn unit(view: &MetricView<'_>) -> &'static str {
    match (&view.metric, view.unit()) {
        (Metric::Samples, _) => "samples",
        (Metric::Calls, _) => "calls",
        (_, Unit::Nanoseconds) => "ns",
        (_, Unit::Bytes) => "bytes",
        (_, Unit::Count) => "count",
    }
}
