//! The call tree: from the threads' first methods on, by their totals; or from the top of the
//! stacks outward, by caller.

use perk_analysis::bottom_up;
use perk_analysis::top_down::{self, ExtraColumns, TreeRow};
use perk_profile::Metric;
use perk_profile::units::percent;
use perk_render::{Column, LazyTable};

use super::content::Content;
use super::metric::MetricView;

/// The tree from the threads' first methods on, and how many levels are left out of it.
pub(super) fn top_down<'t>(
    content: &'t Content<'_>,
    view: &'t MetricView<'_>,
    min: f64,
) -> (LazyTable<'t>, usize) {
    let (profile, inferred) = (content.profile, view.inferred());
    let calls = content.calls.as_ref().and_then(|calls| calls.columns.as_ref());
    let beside = ExtraColumns {
        inferred: inferred.as_ref(),
        call_counts: calls.map(|columns| &*columns.counts),
        allocated: content.objects.as_ref().map(|objects| &*objects.columns.total),
    };
    let rows = top_down::rows(&profile.symbols, content.tree, view.columns(), beside, min);
    let left_out = rows.iter().map(|row| row.left_out).sum();
    // What the tree is weighed by needs no column of its own.
    let has_calls = rows.iter().any(|it| it.call_count.is_some()) && view.metric != Metric::Calls;
    let has_objects = content.objects.is_some() && view.metric != Metric::AllocatedBytes;
    let is_recursive = Column::other("is_recursive");
    let suffix = |row: &TreeRow| {
        let mut suffix = recursion(row.is_recursive).to_owned();
        match row.inferred {
            0 => {}
            inferred if inferred == row.total => suffix += " [inferred]",
            inferred => suffix += &format!(" [{} % inferred]", percent(inferred, row.total)),
        }
        if row.left_out > 0 {
            suffix += &format!(" [{} levels above with one callee each left out]", row.left_out);
        }
        suffix
    };
    let objects = |row: &TreeRow| Some(content.objects.as_ref()?.json(&row.allocated?));
    let total = view.measure("total").share_at(0, "total %").time_at(1, "total");
    let table = LazyTable::of(&profile.symbols, heading("Call tree by", view, min), rows)
        .column(MetricView::metric_column(), |_| view.name())
        .column(Column::other("depth"), |row| row.depth as u64)
        .column(is_recursive.clone().no_json(), |row| row.is_recursive)
        .column(Column::method().name("method"), |row| row.method)
        .column(is_recursive.no_csv(), |row| row.is_recursive)
        .column(view.measure("self").time_at(2, "self"), |row| row.own)
        .column(total, |row| row.total)
        .column(view.measure("inferred"), |row| row.inferred)
        .column(Column::count("call_count").at(3, "calls").text_if(has_calls), |row| row.call_count)
        .column(
            Column::bytes("allocated_bytes").at(4, "allocated").text_if(has_objects).no_json(),
            |row| row.allocated.map(|it| it.allocated_bytes),
        )
        .column(Column::count("allocated_count").no_json(), |row| {
            row.allocated.map(|it| it.allocated_count)
        })
        .column(Column::other("allocated").no_csv(), objects)
        .each(move |row, shown| (shown.depth, shown.suffix) = (row.depth, suffix(row)));
    (table.table(), left_out)
}

/// The tree from the top of the stacks outward.
pub(super) fn bottom_up<'t>(
    content: &'t Content<'_>,
    view: &'t MetricView<'_>,
    min: f64,
) -> LazyTable<'t> {
    let symbols = &content.profile.symbols;
    let columns = view.columns();
    let least = columns.all as f64 * min / 100.0;
    let rows = bottom_up::lines(content.tree, columns, least, |id| symbols.method_name(id));
    let own = view.measure("self").share_at(0, "self %").time_at(1, "self");
    LazyTable::of(symbols, heading("Callers by self", view, min), rows)
        .column(MetricView::metric_column(), |_| view.name())
        .column(Column::other("depth"), |row| row.depth as u64)
        .column(Column::other("is_recursive"), |row| row.is_recursive)
        .column(Column::method().name("method, callers below"), |row| row.method)
        .column(own, |row| row.number)
        .each(|row, shown| {
            (shown.depth, shown.suffix) = (row.depth, recursion(row.is_recursive).to_owned());
        })
        .table()
}

fn heading(title: &str, view: &MetricView<'_>, min: f64) -> String {
    let metric = view.metric.title();
    format!("{title} {metric}, branches below {min} % left out")
}

fn recursion(is_recursive: bool) -> &'static str {
    if is_recursive { " (recursive)" } else { "" }
}
