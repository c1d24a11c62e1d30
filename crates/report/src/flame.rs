//! The part of a flame graph that is seen, and numbers over time, as documents.

use std::collections::HashMap;

use perk_analysis::flame::{FlameGraph, FlameLabel, FlameNode, FlameView, LabelCalls};
use perk_analysis::times::{HeatMap, PauseSeries, Series};
use perk_analysis::{Filter, Owner};
use perk_profile::units::printable;
use perk_profile::{Metric, Profile, names};
use perk_render::Json;

/// The time that a sample of a metric represents, in nanoseconds; `None` where it represents none.
pub fn sample_ns(metric: &Metric, profile: &Profile) -> Option<u64> {
    match metric {
        Metric::Samples => profile.sample_interval_ns(),
        Metric::WallTime => metric.period(profile),
        _ => None,
    }
}

/// The facts on the metric of a graph of these profiles; of two, the second decides.
pub fn of_metric(metric: &Metric, profile: &Profile) -> Vec<(&'static str, Json)> {
    vec![
        ("metric", metric.name().to_owned().into()),
        ("title", metric.title().into()),
        ("unit", metric.unit().name().into()),
        ("sample_ns", sample_ns(metric, profile).into()),
    ]
}

/// The counted calls of what is seen of a graph from the top down: of the method of each node in all, and by the node
/// above it.
pub fn calls(view: &FlameView, calls: &LabelCalls) -> Vec<(&'static str, Json)> {
    let mut above: Vec<u32> = Vec::new();
    let (mut all, mut by_caller, mut estimated) = (Vec::new(), Vec::new(), Vec::new());
    for node in &view.nodes {
        above.truncate(node.level as usize);
        let pair = above.last().map_or_else(Default::default, |it| calls.by(*it, node.label));
        all.push(calls.count(node.label));
        by_caller.push(pair.count);
        estimated.push(pair.estimated_count);
        above.push(node.label);
    }
    vec![
        ("calls", Json::list(all)),
        ("calls_by_caller", Json::list(by_caller)),
        ("estimated_calls", Json::list(estimated)),
    ]
}

/// What is seen of a graph: its nodes in columns, each after the one above, and the labels that they have, and those
/// on the path to the root that is shown.
pub fn nodes(
    graph: &FlameGraph,
    view: &FlameView,
    path: &[u32],
    is_of_two: bool,
) -> Vec<(&'static str, Json)> {
    let side = usize::from(is_of_two);
    let mut places: HashMap<u32, i64> = HashMap::new();
    let mut ids: Vec<u32> = Vec::new();
    let mut frame = |label: u32| {
        if graph.label(label).is_none() {
            return -1;
        }
        *places.entry(label).or_insert_with(|| {
            ids.push(label);
            ids.len() as i64 - 1
        })
    };
    let frames: Vec<i64> = view.nodes.iter().map(|node| frame(node.label)).collect();
    for &label in path {
        frame(label);
    }
    let labels: Vec<&FlameLabel> = ids.iter().filter_map(|&id| graph.label(id)).collect();
    let column = |number: &dyn Fn(&FlameNode) -> u64| Json::list(view.nodes.iter().map(number));
    let mut members = vec![
        ("total", graph.total()[side].into()),
        ("above", Json::list(view.above.iter().map(|sum| sum[side]))),
        ("names", Json::list(names(&labels))),
        ("ids", Json::list(ids)),
        ("kinds", Json::list(labels.iter().map(|it| it.kind.name()))),
        ("owners", Json::list(labels.iter().map(|it| it.owner.map(owner)))),
        ("level", column(&|node| node.level.into())),
        ("frame", Json::List(frames.into_iter().map(Json::Signed).collect())),
        ("self", column(&|node| node.own[side])),
        ("total_of", column(&|node| node.total[side])),
        ("more", column(&|node| node.left_out.into())),
    ];
    if is_of_two {
        members.extend([
            ("before", graph.total()[0].into()),
            ("before_self", column(&|node| node.own[0])),
            ("before_total", column(&|node| node.total[0])),
        ]);
    }
    members
}

/// The names of labels, with the types of methods where names would otherwise be the same.
fn names(labels: &[&FlameLabel]) -> Vec<String> {
    let mut uses: HashMap<&str, u32> = HashMap::new();
    labels.iter().for_each(|label| *uses.entry(&label.text).or_default() += 1);
    let name = |label: &&FlameLabel| {
        let types = names::parameters(&label.signature).filter(|_| uses[&*label.text] > 1);
        let types = types.map_or_else(String::new, |types| format!("({})", types.join(", ")));
        printable(&format!("{}{types}", label.text))
    };
    labels.iter().map(name).collect()
}

fn owner(owner: Owner) -> &'static str {
    match owner {
        Owner::Yours => "yours",
        Owner::Library => "library",
        Owner::Jdk => "jdk",
        Owner::Jvm => "jvm",
    }
}

/// Numbers by thread and interval.
pub fn series(series: &Series, profile: &Profile) -> Vec<(&'static str, Json)> {
    let name = |id| printable(profile.symbols.strings.get(id));
    let threads = series.threads.iter().map(|thread| {
        Json::object([
            ("name", thread.name.map(name).into()),
            ("total", thread.total.into()),
            ("numbers", Json::list(thread.numbers.iter().copied())),
        ])
    });
    vec![
        ("interval_ns", series.interval_ns.into()),
        ("recorded_ns", series.recorded_ns.into()),
        ("all", Json::list(series.all.iter().copied())),
        ("threads", Json::list(threads)),
        ("other_thread_count", series.other_count.into()),
    ]
}

/// Pauses of the program by kind and interval.
pub fn pauses(pauses: &[PauseSeries]) -> Json {
    Json::list(pauses.iter().map(|it| {
        Json::object([
            ("kind", it.kind.name().into()),
            ("count", it.count.into()),
            ("total_ns", it.total_ns.into()),
            ("longest_ns", it.longest_ns.into()),
            ("numbers", Json::list(it.numbers.iter().copied())),
        ])
    }))
}

/// A heat map.
pub fn heat_map(map: &HeatMap) -> Vec<(&'static str, Json)> {
    vec![
        ("column_ns", map.column_ns.into()),
        ("cell_ns", map.cell_ns.into()),
        ("height", map.height.into()),
        ("numbers", Json::list(map.numbers.iter().copied())),
    ]
}

/// What a filter leaves out of numbers over time, in words; `None` where nothing is left out for it.
pub fn times_note(filter: &Filter) -> Option<&'static str> {
    (!filter.labels.is_empty())
        .then_some("left out, as times are known by stack alone: numbers by label")
}
