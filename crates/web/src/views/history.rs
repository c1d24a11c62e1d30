//! Methods over time, and the labels of a service.

use perk_analysis::history::{History, HistoryOf, history as history_of};
use perk_profile::Profile;
use perk_profile::units::printable;
use perk_render::Json;
use perk_report::{flame, parse};

use super::flame::document;
use super::times::{metric, no_times};
use crate::app::App;
use crate::fault::Fault;
use crate::question::Question;
use crate::recording_store::PartDetail;
use crate::reply::Reply;
use crate::sources::{Origin, Source};

const KNOWN: [&str; 9] =
    ["metric", "method", "top", "focus", "ignore", "hide", "label", "thread", "version"];
/// Intervals of a history.
const INTERVALS: u64 = 60;
/// Methods of a history where nothing says how many, and the most of them.
const METHODS: usize = 10;
const MOST_METHODS: usize = 100;

/// The numbers of the methods that are on top of the stack most, or of the ones that a question names, by interval.
pub(crate) fn history(app: &App, source: &Source, question: &Question) -> Result<Reply, Fault> {
    question.check(&[&KNOWN])?;
    let filter = question.filter()?;
    let method = question.value("method", parse::name_pattern)?;
    let top = question.number("top")?.unwrap_or(METHODS).min(MOST_METHODS);
    // Times are those of all that was recorded.
    let detail = PartDetail { has_stacks: true, ..PartDetail::over_time(INTERVALS, &filter) };
    let source = &source.whole(&detail);
    let whole = app.profile(source)?;
    let profile = whole.profile();
    let metric = metric(source, &whole, question)?;
    let of = method.as_ref().map_or(HistoryOf::Top(top), HistoryOf::Like);
    let interval_ns = profile.recorded_ns() / INTERVALS;
    let found = history_of((profile, whole.tree()), &metric, &filter, interval_ns, &of);
    let found = found.ok_or_else(|| no_times(source, &metric.title()))?;
    let mut members = vec![
        ("version", Json::from(source.version)),
        ("begun_unix_ms", profile.created.map(|it| it.unix_ms).into()),
    ];
    members.extend(flame::of_metric(&metric, profile));
    members.extend(numbers(&found, profile, question.text("method")));
    let notes = flame::times_note(&filter).map(str::to_owned).into_iter();
    members.push(("notes", Json::list(notes.chain(source.times_note()))));
    document(members, source.version)
}

fn numbers(found: &History, profile: &Profile, pattern: Option<&str>) -> Vec<(&'static str, Json)> {
    let list = |numbers: &[u64]| Json::list(numbers.iter().copied());
    let methods = found.methods.iter().map(|it| {
        let name = it.method.map(|method| profile.symbols.method_name(method));
        let name = name.or_else(|| pattern.map(str::to_owned)).unwrap_or_default();
        Json::object([
            ("name", printable(&name).into()),
            ("self", list(&it.own)),
            ("total", list(&it.total)),
        ])
    });
    vec![
        ("interval_ns", found.interval_ns.into()),
        ("recorded_ns", found.recorded_ns.into()),
        ("all", list(&found.all)),
        ("methods", Json::list(methods)),
    ]
}

/// The labels of a service, with their values.
pub(crate) fn labels(source: &Source, question: &Question) -> Result<Reply, Fault> {
    question.check(&[&["version"]])?;
    match &source.origin {
        Origin::Service(moment) => Ok(Reply::json(&moment.labels()?)),
        _ => Err(Fault::nothing(format!("{} is no service of a store", source.name))),
    }
}
