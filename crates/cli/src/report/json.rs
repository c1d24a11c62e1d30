//! The whole profile as JSON. Names of numbers end in their unit.

use std::collections::{BTreeMap, HashMap};

use perk_analysis::top::{self, MethodRow};
use perk_analysis::window::Shown;
use perk_profile::{Accounting, Metric, PathId, Profile, ThreadId, TraceId, deep};
use perk_render::{Column, Json, Table};

use super::jamaica::Counts;
use super::metric::MetricView;
use super::process::WholeProcess;
use super::{Content, Head, heap, tree, wall};

/// Stands for the outer frames of very deep paths.
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
) -> Json<'a> {
    let profile = content.profile;
    let view = content.samples();
    Json::object([
        ("file", file.into()),
        ("form", form.into()),
        ("window", content.window.as_ref().map(window).into()),
        // How much of each metric passes the filter, in words.
        ("filtered", Json::list(content.filtered.as_deref())),
        ("inferred", inferred(content)),
        ("created_unix_ms", profile.created.map(|created| created.unix_ms).into()),
        ("depth", profile.depth.into()),
        ("sample_count", view.map_or(0, |view| view.numbers.total).into()),
        // Less than all where the file has a cutoff.
        ("listed_sample_count", view.map_or(0, MetricView::listed).into()),
        ("interval_ns", profile.sample_interval_ns().into()),
        ("whole_process", WholeProcess::of(content).as_ref().map(WholeProcess::report).into()),
        ("where_to_begin", list(head.map(Head::report))),
        ("methods", list(view.map(|view| methods(content, view).top(top)))),
        ("paths", list(view.map(|view| paths(content, view, top)))),
        ("threads", threads(profile, view).into()),
        (
            "wall_states",
            content
                .view(&Metric::WallTime)
                .and_then(|view| wall::states(view, content.owners(), None))
                .into(),
        ),
        ("metrics", Json::list(content.metrics.iter().map(|view| metric(view, top)))),
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
fn window<'t>(shown: &'t Shown) -> Json<'t> {
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
fn list(table: Option<Table<'_>>) -> Json<'_> {
    table.map_or(Json::List(Vec::new()), Json::Table)
}

/// The traces that were cut: how many were joined to the longer traces that they most likely are the
/// end of, and how many were not, as longer traces differ about their callers.
fn inferred<'t>(content: &Content<'_>) -> Json<'t> {
    let joined = content.joined;
    match (joined.len(), joined.ambiguous_count) {
        (0, 0) => Json::Null,
        (traces, ambiguous) => Json::object([
            ("trace_count", traces.into()),
            ("ambiguous_trace_count", ambiguous.into()),
        ]),
    }
}

/// The methods by their samples, each with the traces that have it on top.
fn methods<'t>(content: &'t Content<'_>, view: &'t MetricView<'_>) -> Table<'t> {
    let profile = content.profile;
    let symbols = &profile.symbols;
    let method = |row: &MethodRow| symbols.get_method(row.method);
    let text = |id: Option<_>| id.map(|id| symbols.strings.get(id));
    let thread = |id: TraceId| {
        let thread = profile.get_trace(id).thread?;
        Some(u64::from(profile.get_thread(thread).serial))
    };
    let traces = move |row: &MethodRow| {
        Table::of(symbols, "", row.traces.clone())
            .column(Column::other("serial"), |it| u64::from(profile.get_trace(it.0).serial))
            .column(Column::other("thread_serial"), move |it| thread(it.0))
            .column(Column::count("self_count"), |it| it.1)
            // As many of its outer frames are not in the file.
            .column(Column::count("inferred_frame_count"), |it| {
                content.joined.inferred_frame_count(it.0) as u64
            })
            .table()
    };
    Table::of(symbols, "", top::methods(profile, &view.numbers))
        .column(Column::other("name"), |row| symbols.method_name(row.method))
        .column(Column::other("class"), move |row| symbols.class_name(method(row).class))
        .column(Column::other("method"), move |row| text(Some(method(row).name)))
        .column(Column::other("signature"), move |row| text(method(row).signature))
        .column(Column::other("source"), move |row| text(method(row).source))
        .column(Column::count("self_count"), |row| row.self_count)
        .column(Column::count("total_count"), |row| row.total_count)
        .column(Column::ns("self_cpu_ns"), |row| view.cpu_ns(row.self_count))
        .column(Column::ns("total_cpu_ns"), |row| view.cpu_ns(row.total_count))
        .column(Column::other("traces"), traces)
        .table()
}

/// The first `top` paths with samples, most first. Of very deep ones, where all together are more
/// than anybody can use, the outer frames are left out.
fn paths<'t>(content: &'t Content<'_>, view: &'t MetricView<'_>, top: usize) -> Table<'t> {
    let (tree, symbols) = (content.tree, &content.profile.symbols);
    let depths = tree.depths();
    let mut paths = view.columns().paths();
    paths.truncate(top);
    let limit = deep::limit_of_stacks(paths.iter().map(|path| depths[path.0.index()]));
    let limit = limit.unwrap_or(usize::MAX);
    let frames = move |path: PathId| {
        let is_cut = depths[path.index()] as usize > limit;
        let methods = tree.methods(path).take(limit);
        let names = methods.map(|method| Json::Method(symbols, method));
        Json::list(names.chain(is_cut.then(|| LEFT_OUT.into())))
    };
    Table::of(symbols, "", paths)
        .column(Column::count("self_count"), |it| it.1)
        .column(Column::ns("self_cpu_ns"), |it| view.cpu_ns(it.1))
        .column(Column::other("frames"), move |it| frames(it.0))
        .table()
}

/// All threads, each with its samples and methods where the profile distinguishes threads.
fn threads<'t>(profile: &'t Profile, view: Option<&'t MetricView<'_>>) -> Table<'t> {
    let counts = view.map(|view| top::threads(profile, &view.numbers)).unwrap_or_default();
    let counts: HashMap<_, _> = counts.into_iter().collect();
    let symbols = &profile.symbols;
    let is_apart = !counts.is_empty();
    let threads = profile.threads.iter().enumerate().map(move |(index, thread)| {
        let id = ThreadId::new(index);
        (id, thread, is_apart.then(|| counts.get(&id).copied().unwrap_or(0)))
    });
    let text = |id| symbols.strings.get(id);
    let methods = move |id: ThreadId, count: Option<u64>| {
        let of_thread = count.filter(|&count| count > 0).and(view);
        let methods =
            of_thread.map(|view| view.of_thread(id).methods().to_vec()).unwrap_or_default();
        Table::of(symbols, "", methods)
            .column(Column::method(), |row| row.method)
            .column(Column::count("self_count"), |row| row.own)
            .column(Column::count("total_count"), |row| row.total)
            .table()
    };
    Table::of(symbols, "", threads)
        .column(Column::other("serial"), |it| u64::from(it.1.serial))
        .column(Column::other("name"), move |it| text(it.1.name))
        .column(Column::other("group"), move |it| it.1.group.map(text))
        .column(Column::count("sample_count"), |it| it.2)
        .column(Column::ns("cpu_ns"), move |it| view?.cpu_ns(it.2?))
        .column(Column::other("methods"), move |it| methods(it.0, it.2))
        .table()
}

/// The numbers of one metric; of each list the first `top` rows.
fn metric<'t>(view: &'t MetricView<'_>, top: usize) -> Json<'t> {
    Json::object([
        ("metric", view.name().into()),
        ("unit", view.unit().name().into()),
        ("total", view.numbers.total.into()),
        ("methods", view.all_methods(None).top(top).into()),
        ("lines", view.lines().top(top).into()),
        ("edges", view.edge_table(None).top(top).into()),
        ("threads", view.threads().into()),
    ])
}

/// The call tree without the branches below `min` percent.
fn call_tree<'t>(content: &'t Content<'_>, view: &'t MetricView<'_>, min: f64) -> Json<'t> {
    Json::object([
        ("value", view.name().into()),
        ("unit", tree::unit(view).into()),
        ("min_percent", Json::Float(min)),
        ("total", view.numbers.total.into()),
        // Each row after the one it is below; of two on the same level the heavier first.
        ("lines", tree::top_down(content, view, min).0.into()),
    ])
}

fn accounting<'t>(accounting: &Accounting) -> Json<'t> {
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
