//! The whole profile as JSON: docs/json.md has the schema. Each metric has the same tables; other numbers
//! have their unit at the end of their names.

use std::collections::{BTreeMap, HashMap};

use perk_analysis::top;
use perk_analysis::window::WindowExtent;
use perk_profile::{Accounting, MethodId, Metric, PathId, Profile, Symbols, TraceId, deep};
use perk_render::{Cell, Column, Json, LazyTable, Rows};

use super::calls::Calls;
use super::content::Content;
use super::head::Head;
use super::jamaica::Counts;
use super::limits::LimitsView;
use super::metric::MetricView;
use super::process::WholeProcess;
use super::{heap, tree, wall};

/// The schema and its version. Fields are added within a version; none is renamed, removed or given another
/// meaning.
const SCHEMA: &str = "perk.report/1";
/// Represents the outer frames of very deep paths.
const LEFT_OUT: &str = "[frames left out]";
/// The fields of the accounting that are text, whatever they look like.
const TEXTS: [&str; 5] = ["program", "jvm", "engine", "clock", "timing"];

/// The report of a file; of each list the first `top` rows alone, where it is given.
pub(super) fn report<'a>(
    content: &'a Content<'_>,
    (file, form): (&'a str, &'a str),
    head: Option<&'a Head<'_>>,
    top: usize,
    min: f64,
) -> Json {
    let profile = content.profile;
    let view = content.samples();
    let limits = content.limits();
    let metrics = content.metrics.iter().chain(&content.of_fields);
    let metrics = metrics.map(|view| metric(content, view, top));
    let pairs = content.calls.iter().filter(|calls| calls.columns.is_none());
    let pairs = pairs.flat_map(|calls| of_pairs(&profile.symbols, calls, top));
    Json::object([
        ("schema", SCHEMA.into()),
        ("file", file.into()),
        ("form", form.into()),
        ("window", content.window.as_ref().map(window).into()),
        // How much of each metric passes the filter, in words.
        ("filtered", Json::list(content.filtered.as_deref())),
        ("inferred", inferred(content)),
        ("created_unix_ms", profile.created.map(|created| created.unix_ms).into()),
        ("depth", profile.depth.into()),
        ("sample_count", view.map_or(0, |view| view.all).into()),
        // Less than all where the file has a cutoff.
        ("listed_sample_count", view.map_or(0, MetricView::listed).into()),
        ("interval_ns", profile.sample_interval_ns().into()),
        ("whole_process", WholeProcess::of(content).as_ref().map(WholeProcess::report).into()),
        ("limits", list(limits.and_then(|it| it.report(file)))),
        ("working", limits.map_or(Json::Null, LimitsView::working)),
        ("repeated_calls", list(limits.map(LimitsView::repeated_calls))),
        ("where_to_begin", list(head.map(Head::report))),
        ("threads", threads(profile).into()),
        (
            "wall_states",
            content
                .view(&Metric::WallTime)
                .and_then(|view| wall::states(view, content.owners(), None))
                .into(),
        ),
        ("metrics", Json::list(metrics.chain(pairs))),
        (
            "cost_per_bytecode",
            Counts::of(content).and_then(|it| it.cost()).map(|it| it.top(top)).into(),
        ),
        ("calls", content.calls.as_ref().map(|it| it.report(top)).into()),
        ("allocations", content.objects.as_ref().map(|it| it.report(content.tree, top)).into()),
        ("heap_summaries", heap::summaries(profile).into()),
        ("heap_dumps", heap::report(profile, top)),
        ("monitors", content.contention.as_ref().map(|it| it.report(top)).into()),
        ("field_accesses", content.fields.as_ref().map(|it| it.report(top)).into()),
        ("source", content.sources().map(|(sources, view)| sources.report(view, top)).into()),
        ("tree", content.main_view().map(|view| call_tree(content, view, min)).into()),
        ("accounting", profile.accounting.as_ref().map(accounting).into()),
    ])
}

/// The window of the recording whose numbers are shown.
pub(super) fn window(shown: &WindowExtent) -> Json {
    Json::object([
        ("from_ns", shown.from_ns.into()),
        ("to_ns", shown.to_ns.into()),
        ("recorded_ns", shown.recorded_ns.into()),
        ("tick_ns", shown.tick_ns.into()),
        ("left_out", Json::list(shown.left_out.iter().map(String::as_str))),
        ("without_time", Json::list(shown.without_time.iter().map(String::as_str))),
    ])
}

/// The rows of a table; none where there is no table.
pub(super) fn list(table: Option<LazyTable<'_>>) -> Json {
    table.map_or(Json::List(Vec::new()), Json::from)
}

/// The traces that were cut: how many were joined to the longer traces that they most likely are the
/// end of, and how many were not, as longer traces differ about their callers.
pub(super) fn inferred(content: &Content<'_>) -> Json {
    let joined = content.joined;
    match (joined.len(), joined.ambiguous_count) {
        (0, 0) => Json::Null,
        (traces, ambiguous) => Json::object([
            ("trace_count", traces.into()),
            ("ambiguous_trace_count", ambiguous.into()),
        ]),
    }
}

/// Whether a metric is of samples, or of another tool: then it has its paths, traces and threads. Those of
/// the others are in tables of their own, or too many.
fn is_sampled(metric: &Metric) -> bool {
    matches!(metric, Metric::Samples | Metric::WallTime) || metric.is_other()
}

/// Adds the columns of a method: its name, and the parts of it.
fn method_columns<'t, T: 't>(
    rows: Rows<'t, T>,
    symbols: &'t Symbols,
    method: impl Fn(&T) -> MethodId + Copy + 't,
) -> Rows<'t, T> {
    let text = |id: Option<_>| id.map(|id| symbols.strings.get(id));
    let get = move |row: &T| symbols.get_method(method(row));
    rows.column(Column::method(), method)
        .column(Column::other("class"), move |row| get(row).class)
        .column(Column::other("method"), move |row| text(Some(get(row).name)))
        .column(Column::other("signature"), move |row| text(get(row).signature))
        .column(Column::other("source"), move |row| text(get(row).source))
}

/// The methods by self, each with the traces that have it on top.
fn methods<'t>(content: &'t Content<'_>, view: &'t MetricView<'_>) -> LazyTable<'t> {
    let profile = content.profile;
    let symbols = &profile.symbols;
    let thread = |id: TraceId| {
        let thread = profile.get_trace(id).thread?;
        Some(u64::from(profile.get_thread(thread).serial))
    };
    let of_methods = is_sampled(&view.metric).then(|| {
        let rows = top::methods(profile, view.numbers()).into_iter();
        rows.map(|row| (row.method, row.traces)).collect::<HashMap<_, _>>()
    });
    let traces = move |method| {
        let traces = of_methods.as_ref()?.get(&method).cloned().unwrap_or_default();
        let table = LazyTable::of(symbols, "", traces)
            .column(Column::other("serial"), |it| u64::from(profile.get_trace(it.0).serial))
            .column(Column::other("thread_serial"), move |it| thread(it.0))
            .column(view.measure("self"), |it| it.1)
            // As many of its outer frames are not in the file.
            .column(Column::count("inferred_frame_count"), |it| {
                content.joined.inferred_frame_count(it.0) as u64
            });
        Some(table.table())
    };
    let rows = LazyTable::of(symbols, "", view.methods());
    method_columns(rows, symbols, |row| row.method)
        .column(view.measure("self"), |row| row.own)
        .column(view.measure("total"), |row| row.total)
        .column(Column::other("traces"), move |row| traces(row.method))
        .table()
}

/// The first `top` paths with numbers of their own, most first. Of very deep ones, where all together are more
/// than anybody can use, the outer frames are left out.
fn paths<'t>(content: &'t Content<'_>, view: &'t MetricView<'_>, top: usize) -> LazyTable<'t> {
    let (tree, symbols) = (content.tree, &content.profile.symbols);
    let depths = tree.depths();
    let mut paths = view.columns().paths();
    paths.truncate(top);
    let limit = deep::limit_of_stacks(paths.iter().map(|path| depths[path.0.index()]));
    let limit = limit.unwrap_or(usize::MAX);
    let frames = move |path: PathId| {
        let is_cut = depths[path.index()] as usize > limit;
        Cell::Methods(tree.methods(path).take(limit).collect(), is_cut.then_some(LEFT_OUT))
    };
    LazyTable::of(symbols, "", paths)
        .column(view.measure("self"), |it| it.1)
        .column(Column::other("frames"), move |it| frames(it.0))
        .table()
}

/// All threads.
fn threads(profile: &Profile) -> LazyTable<'_> {
    let symbols = &profile.symbols;
    let text = |id| symbols.strings.get(id);
    LazyTable::of(symbols, "", &profile.threads)
        .column(Column::other("serial"), |it| u64::from(it.serial))
        .column(Column::other("name"), move |it| text(it.name))
        .column(Column::other("group"), move |it| it.group.map(text))
        .table()
}

/// The threads with numbers, each with its methods.
fn of_threads<'t>(view: &'t MetricView<'_>) -> LazyTable<'t> {
    let symbols = &view.profile.symbols;
    let methods = move |thread| {
        let rows = is_sampled(&view.metric).then(|| view.of_thread(thread).methods().to_vec())?;
        let table = LazyTable::of(symbols, "", rows)
            .column(Column::method(), |row| row.method)
            .column(view.measure("self"), |row| row.own)
            .column(view.measure("total"), |row| row.total);
        Some(table.table())
    };
    view.thread_rows().column(Column::other("methods"), move |row| methods(row.0)).table()
}

/// The numbers of one metric; of each list the first `top` rows.
fn metric<'t>(content: &'t Content<'_>, view: &'t MetricView<'_>, top: usize) -> Json {
    let paths = is_sampled(&view.metric).then(|| paths(content, view, top));
    Json::object([
        ("metric", view.name().into()),
        ("unit", view.unit().name().into()),
        ("total", view.all.into()),
        // Less than all where the file has a cutoff.
        ("listed", view.listed().into()),
        ("sample_ns", view.interval_ns().into()),
        ("methods", methods(content, view).top(top).into()),
        ("lines", view.lines().top(top).into()),
        ("edges", view.edge_table(None).top(top).into()),
        ("paths", paths.into()),
        ("threads", of_threads(view).into()),
    ])
}

/// The metrics of calls in a file of callees and callers alone; of each list the first `top` rows.
fn of_pairs<'t>(symbols: &'t Symbols, calls: &'t Calls<'_>, top: usize) -> Vec<Json> {
    let table = &calls.table;
    let metric = |metric: Metric, all: u64| {
        let is_timed = metric == Metric::SelfTime;
        let measure = |id| Column::measure(id, metric.unit(), all, None);
        let rows = LazyTable::of(symbols, "", &table.methods);
        let methods = method_columns(rows, symbols, |row| row.method)
            .column(measure("self"), move |row| {
                let own = if is_timed { row.self_ns } else { row.count };
                row.is_listed().then_some(own)
            })
            .column(measure("total"), move |row| is_timed.then_some(row.total_ns))
            .column(Column::other("traces"), |_| Cell::Missing(""))
            .table();
        let edges = LazyTable::of(symbols, "", &table.edges)
            .column(Column::method_name("caller"), |edge| edge.caller)
            .column(Column::method_name("callee"), |edge| edge.callee)
            .column(measure("self"), move |edge| (!is_timed).then_some(edge.count))
            .column(measure("total"), move |edge| is_timed.then_some(edge.total_ns))
            .table();
        Json::object([
            ("metric", metric.name().to_owned().into()),
            ("unit", metric.unit().name().into()),
            ("total", all.into()),
            ("listed", if is_timed { table.self_ns } else { table.count }.into()),
            ("sample_ns", Json::Null),
            ("methods", methods.top(top).into()),
            ("lines", Json::List(Vec::new())),
            ("edges", edges.top(top).into()),
            ("paths", Json::Null),
            ("threads", Json::List(Vec::new())),
        ])
    };
    let time = calls.is_timed().then(|| metric(Metric::SelfTime, calls.self_times().0));
    time.into_iter().chain([metric(Metric::Calls, table.count)]).collect()
}

/// The call tree without the branches below `min` percent.
fn call_tree<'t>(content: &'t Content<'_>, view: &'t MetricView<'_>, min: f64) -> Json {
    Json::object([
        ("metric", view.name().into()),
        ("unit", view.unit().name().into()),
        ("min_percent", Json::Float(min)),
        ("total", view.all.into()),
        // Each row after the one it is below; of two on the same level the heavier first.
        ("lines", tree::top_down(content, view, min).0.into()),
    ])
}

pub(super) fn accounting(accounting: &Accounting) -> Json {
    let text = accounting.to_text();
    let fields = text.lines().filter_map(|line| line.split_once('='));
    let value = |name, value: &str| match value.parse::<i128>() {
        Ok(number) if !TEXTS.contains(&name) => match u64::try_from(number) {
            Ok(number) => number.into(),
            Err(_) => i64::try_from(number).map_or_else(|_| value.to_owned().into(), Json::Signed),
        },
        _ => value.to_owned().into(),
    };
    let fields: BTreeMap<_, _> =
        fields.map(|(name, text)| (name.to_owned(), value(name, text))).collect();
    Json::object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accounting_keeps_its_types() {
        let accounting = Accounting {
            program: "42".into(),
            utc_offset_s: -3600,
            process_cpu_ns: u64::MAX,
            ..Accounting::default()
        };
        let mut text = Vec::new();
        super::accounting(&accounting).write(&mut text).unwrap();
        let map: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(map["program"], "42");
        assert_eq!(map["utc_offset_s"], -3600);
        assert_eq!(map["process_cpu_ns"], u64::MAX);
    }
}
