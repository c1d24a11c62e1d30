//! The call tree: from the threads' first methods on, by what they cost; or from the top of the
//! stacks outward, by who called.

use std::cmp::Reverse;

use perk_analysis::method_tree::Branch;
use perk_analysis::{Columns, bottom_up};
use perk_profile::{Allocations, MethodId, Metric, PathId};

use super::Content;
use super::numbers::View;
use super::table::{Row, Table};
use crate::show::{self, Screen, bytes, percent};

/// Levels shown by blanks; from there on a number says how deep a line is.
const INDENTED: usize = 24;

/// Methods with one callee each, and no more of their own, are shown up to this number in a row;
/// the rest of so long a chain tells nothing.
const CHAIN: usize = 64;

/// What a tree is weighed by.
#[derive(Debug)]
pub(super) struct Weights<'a> {
    columns: &'a Columns,
    /// Of traces that were joined to others.
    inferred: Option<Columns>,
}

/// A line of the tree: a path of methods, direct recursion folded.
#[derive(Debug)]
pub(super) struct Line {
    /// How many methods are above.
    pub(super) depth: usize,
    /// As many of those right above are left out, as each has the next as its one callee.
    pub(super) left_out: usize,
    pub(super) method: MethodId,
    /// Whether the method calls itself here.
    pub(super) is_recursive: bool,
    pub(super) own: u64,
    pub(super) total: u64,
    /// As much of the total is here by inference.
    pub(super) inferred: u64,
    /// `None` where calls were not counted.
    pub(super) call_count: Option<u64>,
    /// What it and all below allocated; `None` where allocations were not counted.
    pub(super) allocated: Option<Allocations>,
}

impl<'a> Weights<'a> {
    pub(super) fn new(content: &Content<'_>, view: &'a View<'_>) -> Self {
        let joined = content.joined;
        let inferred = (!joined.is_empty()).then(|| {
            let rows = joined.rows(&view.numbers.rows);
            Columns::of_rows(content.profile, content.tree, &rows, view.numbers.total)
        });
        Self { columns: view.columns(), inferred }
    }
}

/// The lines of branches with `min` percent of all weight or more, heaviest first.
pub(super) fn lines(content: &Content<'_>, weights: &Weights<'_>, min: f64) -> Vec<Line> {
    let Weights { columns, inferred } = weights;
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
    let mut lines = Vec::new();
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
        lines.push(Line {
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
    lines
}

/// A branch whose line comes later.
struct Open {
    total: u64,
    depth: usize,
    branch: Branch,
    /// How many methods above it have one callee each.
    chain: usize,
}

/// The tree as text; empty where no branch is left.
pub(super) fn section(content: &Content<'_>, view: &View<'_>, min: f64, screen: &Screen) -> String {
    let lines = lines(content, &Weights::new(content, view), min);
    let Some(first) = lines.first() else { return String::new() };
    // What the tree is weighed by needs no column of its own.
    let has_calls = lines.iter().any(|it| it.call_count.is_some()) && view.metric != Metric::Calls;
    let has_objects = first.allocated.is_some() && view.metric != Metric::AllocatedBytes;
    let labels = view.labels(lines.iter().map(|line| line.method));
    let mut titles = vec!["total %", "total", "self"];
    titles.extend(has_calls.then_some("calls"));
    titles.extend(has_objects.then_some("allocated"));
    titles.push("method");
    let rows = lines.iter().map(|line| {
        let mut cells =
            vec![view.percent(line.total), view.number(line.total), view.number(line.own)];
        if has_calls {
            cells.push(line.call_count.map_or(String::new(), |count| count.to_string()));
        }
        let allocated = line.allocated.filter(|_| has_objects);
        cells.extend(allocated.map(|allocated| bytes(allocated.allocated_bytes)));
        let mut name = indented(line.depth, &labels[&line.method], line.is_recursive);
        match line.inferred {
            0 => {}
            inferred if inferred == line.total => name += " [inferred]",
            inferred => name += &format!(" [{} % inferred]", percent(inferred, line.total)),
        }
        if line.left_out > 0 {
            name += &format!(" [{} levels above with one callee each left out]", line.left_out);
        }
        cells.push(name);
        Row { cells, below: Vec::new() }
    });
    let table = Table { titles, rows: rows.collect() };
    format!("{}\n{}", heading("Call tree by", view, min, screen), table.render(screen))
}

/// The lines of the tree from the top of the stacks outward.
pub(super) fn bottom_up(content: &Content<'_>, view: &View<'_>, min: f64) -> Vec<bottom_up::Line> {
    let columns = view.columns();
    let name = |method| content.profile.symbols.method_name(method);
    let least = columns.all as f64 * min / 100.0;
    bottom_up::lines(content.tree, &columns.own, least, name)
}

/// This tree as text; empty where no branch is left.
pub(super) fn bottom_up_section(
    content: &Content<'_>,
    view: &View<'_>,
    min: f64,
    screen: &Screen,
) -> String {
    let lines = bottom_up(content, view, min);
    if lines.is_empty() {
        return String::new();
    }
    let labels = view.labels(lines.iter().map(|line| line.method));
    let rows = lines.iter().map(|line| {
        let name = indented(line.depth, &labels[&line.method], line.is_recursive);
        Row {
            cells: vec![view.percent(line.number), view.number(line.number), name],
            below: Vec::new(),
        }
    });
    let table =
        Table { titles: vec!["self %", "self", "method, callers below"], rows: rows.collect() };
    format!("{}\n{}", heading("Callers by self", view, min, screen), table.render(screen))
}

fn heading(title: &str, view: &View<'_>, min: f64, screen: &Screen) -> String {
    let metric = show::metric(&view.metric);
    screen.heading(&format!("{title} {metric}, branches below {min} % left out"))
}

fn indented(depth: usize, label: &str, is_recursive: bool) -> String {
    let indent = match depth {
        0..=INDENTED => " ".repeat(depth),
        depth => format!("{}{depth}: ", " ".repeat(INDENTED)),
    };
    let recursion = if is_recursive { " (recursive)" } else { "" };
    format!("{indent}{label}{recursion}")
}
