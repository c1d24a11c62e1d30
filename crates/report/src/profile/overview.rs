//! The first page of a profile in a browser: what limits the program, where to begin, and what there is to ask
//! for. Everything but tables that may be long.

use perk_analysis::labels;
use perk_profile::units::{percent, plural};
use perk_profile::{FrameId, Line, Metric};
use perk_render::Json;

use super::content::Content;
use super::head::Head;
use super::json::{accounting, inferred, list, window};
use super::limits::LimitsView;
use super::metric::MetricView;
use super::process::WholeProcess;
use super::wall;

/// The schema and its version. Fields are added within a version; none is renamed, removed or given another
/// meaning.
const SCHEMA: &str = "perk.overview/1";

/// The overview of a file, with `count` methods to begin with of each kind.
/// `has_folders` says whether there are folders to look for source files in.
pub(super) fn overview(
    content: &Content<'_>,
    (file, form): (&str, &str),
    (count, has_folders): (usize, bool),
) -> Json {
    let profile = content.profile;
    let limits = content.limits();
    let run = profile.accounting.as_ref();
    let [first_limits, more_limits] = limits.map_or([None, None], LimitsView::overview);
    let wall = content.view(&Metric::WallTime);
    let metrics = content.metrics.iter().chain(&content.of_fields);
    Json::object([
        ("schema", SCHEMA.into()),
        ("file", file.into()),
        ("form", form.into()),
        ("program", run.map(|it| it.program.as_str()).into()),
        ("jvm", run.map(|it| it.jvm.as_str()).into()),
        ("pid", run.map(|it| u64::from(it.pid)).into()),
        ("created_unix_ms", profile.created.map(|created| created.unix_ms).into()),
        ("recorded_ns", profile.timelines().next().map(|_| profile.recorded_ns()).into()),
        ("window", content.window.as_ref().map(window).into()),
        ("filtered", Json::list(content.filtered.as_deref())),
        ("inferred", inferred(content)),
        ("totals", Json::list(content.totals())),
        ("facts", Json::list(facts(content))),
        ("conditions", Json::list(content.conditions())),
        ("losses", content.losses().into()),
        ("notes", Json::list(profile.notes.iter().map(String::as_str))),
        ("whole_process", WholeProcess::of(content).as_ref().map(WholeProcess::report).into()),
        ("limits", list(first_limits)),
        ("more_limits", list(more_limits)),
        ("more_limits_title", limits.and_then(LimitsView::more_rows).into()),
        ("working", limits.map_or(Json::Null, LimitsView::working)),
        ("repeated_calls", list(limits.map(LimitsView::repeated_calls))),
        ("where_to_begin", list(content.head(count).map(Head::overview))),
        ("wall_states", wall.and_then(|view| wall::states(view, content.owners(), None)).into()),
        ("metrics", Json::list(metrics.map(metric))),
        ("labels", Json::list(labels::keys(profile).into_iter().map(label))),
        ("thread_count", profile.threads.len().into()),
        ("views", Json::list(views(content, has_folders))),
        ("accounting", run.map(accounting).into()),
        ("accounting_lines", Json::list(run.map(crate::accounting::lines).unwrap_or_default())),
    ])
}

/// What is shown and how well it was measured, in a few words each.
fn facts(content: &Content<'_>) -> Vec<String> {
    let count = |count: u64| plural(count, "sample");
    let samples = Metric::Samples.total(content.profile);
    let Some(run) = content.profile.accounting.as_ref().filter(|it| it.sample_count > 0) else {
        let is_sampled = content.view(&Metric::Samples).is_some();
        return if is_sampled { vec![count(samples)] } else { content.totals() };
    };
    let shown = match run.sample_count {
        all if all == samples => count(samples),
        all => format!("{samples} of {}", count(all)),
    };
    let own = (run.process_cpu_ns > 0)
        .then(|| format!("perk {} %", percent(run.perk_cpu_ns, run.process_cpu_ns)));
    let all = [shown, format!("{} without a stack", run.unattributed_count)];
    all.into_iter().chain(own).collect()
}

fn metric(view: &MetricView<'_>) -> Json {
    Json::object([
        ("metric", view.name().into()),
        ("title", view.metric.title().into()),
        ("unit", view.unit().name().into()),
        ("total", view.all.into()),
        ("listed", view.listed().into()),
        ("sample_ns", view.interval_ns().into()),
        ("has_paths", view.has_paths().into()),
        ("has_lines", view.has_lines().into()),
    ])
}

fn label((key, count): (String, usize)) -> Json {
    Json::object([("key", Json::from(key)), ("value_count", count.into())])
}

/// The names of the views that have something to show.
fn views(content: &Content<'_>, has_folders: bool) -> Vec<&'static str> {
    let profile = content.profile;
    let main = content.main_view();
    let has_paths = main.is_some_and(MetricView::has_paths);
    let symbols = &profile.symbols;
    let has_source = (0..symbols.frame_count())
        .any(|index| matches!(symbols.get_frame(FrameId::new(index)).line, Line::Number(_)));
    let names = [
        ("flame", has_paths),
        ("methods", symbols.method_count() > 0),
        ("tree", has_paths),
        ("lines", content.line_view().is_some()),
        ("source", has_folders && has_source && content.line_view().is_some()),
        ("bytecodes", content.metrics.iter().any(|view| view.name() == "bytecodes")),
        ("edges", content.has_edges()),
        ("threads", main.is_some() && !profile.threads.is_empty()),
        ("states", wall::thread_states(profile).is_some()),
        ("thread-states", profile.time_series().any(|it| it.metric == Metric::WallTime)),
        ("timeline", profile.timelines().next().is_some()),
        ("monitors", content.contention.is_some()),
        ("sites", content.objects.is_some() || content.fields.is_some()),
        ("classes", content.objects.is_some() || profile.heaps().next().is_some()),
        ("field", content.fields.is_some()),
        ("accounting", profile.accounting.is_some()),
    ];
    names.into_iter().filter_map(|(name, is_there)| is_there.then_some(name)).collect()
}
