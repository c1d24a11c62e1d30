//! Numbers over time: by thread, and as a heat map.

use perk_analysis::times;
use perk_profile::{Metric, Profile};
use perk_render::Json;
use perk_report::{Selection, flame};

use super::flame::document;
use crate::app::App;
use crate::fault::Fault;
use crate::question::Question;
use crate::recording_store::PartDetail;
use crate::reply::Reply;
use crate::sources::Source;

const KNOWN: [&str; 10] = [
    "metric",
    "by",
    "bucket-ms",
    "threads",
    "focus",
    "ignore",
    "hide",
    "label",
    "thread",
    "version",
];
const KNOWN_OF_STRIP: [&str; 6] = ["focus", "ignore", "hide", "label", "thread", "version"];
/// Intervals of the strip.
const STRIP_INTERVALS: u64 = 240;
/// The time of a sample in an interval of the strip is at most this part of it: otherwise samples that come together
/// would be more than the processors can do.
const SAMPLES_OF_INTERVAL: u64 = 20;
/// Intervals of a recording where nothing says how long they are.
const INTERVALS: u64 = 600;
/// Threads with numbers of their own.
const THREADS: usize = 100;
/// The most of them.
const MOST_THREADS: usize = 1000;

/// The numbers of a metric by thread and interval.
pub(crate) fn timeline(app: &App, source: &Source, question: &Question) -> Result<Reply, Fault> {
    answer(app, source, question, |profile, metric, filter| {
        let interval_ns = interval_ns(question, profile)?;
        let threads = question.number("threads")?.unwrap_or(THREADS).min(MOST_THREADS);
        let series = times::series(profile, metric, filter, (interval_ns, threads));
        Ok(series.map(|it| flame::series(&it, profile)))
    })
}

/// The length of the intervals that a question is about.
pub(super) fn interval_ns(question: &Question, profile: &Profile) -> Result<u64, Fault> {
    let ms: Option<u64> = question.number("bucket-ms")?;
    Ok(ms.map_or(profile.recorded_ns() / INTERVALS, |ms| ms.saturating_mul(1_000_000)))
}

/// The strip above all views: each metric whose times are known, and the pauses, by interval.
pub(crate) fn strip(app: &App, source: &Source, question: &Question) -> Result<Reply, Fault> {
    question.check(&[&KNOWN_OF_STRIP])?;
    let filter = question.filter()?;
    // Times are those of all that was recorded.
    let source = &source.whole(&PartDetail::over_time(STRIP_INTERVALS, &filter));
    let whole = app.profile(source)?;
    let profile = whole.profile();
    let begin_ns = source.times_from_ns();
    let metrics = times::metrics(profile);
    let each_ns = metrics.iter().filter_map(|metric| flame::sample_ns(metric, profile)).max();
    let least_ns = (profile.recorded_ns().saturating_sub(begin_ns) / STRIP_INTERVALS)
        .max(each_ns.unwrap_or(0).saturating_mul(SAMPLES_OF_INTERVAL));
    // Of metrics with ticks of other lengths, the longest is the interval of all.
    let series = |interval_ns| {
        let of = |metric| times::series(profile, metric, &filter, (interval_ns, 0));
        metrics.iter().filter_map(|metric| Some((metric, of(metric)?))).collect::<Vec<_>>()
    };
    let interval_ns = series(least_ns).iter().map(|it| it.1.interval_ns).max();
    // A profile without times has a strip without lanes.
    let interval_ns = interval_ns.unwrap_or_else(|| least_ns.max(1));
    let mut all = series(interval_ns);
    let length = all.iter().map(|it| it.1.all.len()).max().unwrap_or(0);
    all.iter_mut().for_each(|it| it.1.all.resize(length, 0));
    let known = all.into_iter().map(|(metric, series)| (metric.clone(), series.all));
    let clock = (interval_ns, length);
    // What is known of all threads together cannot be filtered.
    let others = match filter.is_empty() {
        true => times::time_series(profile, clock),
        false => Vec::new(),
    };
    let series = known.chain(others).map(|(metric, numbers)| {
        let numbers = ("numbers", Json::list(numbers));
        Json::object(flame::of_metric(&metric, profile).into_iter().chain([numbers]))
    });
    let members = vec![
        ("version", Json::from(source.version)),
        ("begun_unix_ms", profile.created.map(|it| it.unix_ms).into()),
        ("begin_ns", begin_ns.into()),
        ("recorded_ns", profile.recorded_ns().into()),
        ("interval_ns", interval_ns.into()),
        (
            "cpu_count",
            profile.accounting.as_ref().map(|it| it.cpu_count).filter(|&it| it > 0).into(),
        ),
        ("series", Json::list(series)),
        ("pauses", flame::pauses(&times::pauses(profile, clock))),
        ("notes", Json::list(notes(source, &filter))),
    ];
    document(members, source.version)
}

/// The numbers of a metric by second and part of a second.
pub(crate) fn heat_map(app: &App, source: &Source, question: &Question) -> Result<Reply, Fault> {
    answer(app, source, question, |profile, metric, filter| {
        Ok(times::heat_map(profile, metric, filter).map(|it| flame::heat_map(&it)))
    })
}

pub(super) type Members = Vec<(&'static str, Json)>;

pub(super) fn answer(
    app: &App,
    source: &Source,
    question: &Question,
    members: impl FnOnce(&Profile, &Metric, &perk_analysis::Filter) -> Result<Option<Members>, Fault>,
) -> Result<Reply, Fault> {
    question.check(&[&KNOWN])?;
    if question.text("by").is_some_and(|by| by != "thread") {
        return Err(Fault::question("by: times are by thread"));
    }
    let filter = question.filter()?;
    // Times are those of all that was recorded.
    let detail = PartDetail { has_threads: true, ..PartDetail::over_time(INTERVALS, &filter) };
    let source = &source.whole(&detail);
    let whole = app.profile(source)?;
    let profile = whole.profile();
    let metric = metric(source, &whole, question)?;
    let found = members(profile, &metric, &filter)?;
    let found = found.ok_or_else(|| no_times(source, &metric.title()))?;
    let mut all = vec![("version", Json::from(source.version))];
    all.extend(flame::of_metric(&metric, profile));
    all.extend(found);
    all.push(("notes", Json::list(notes(source, &filter))));
    document(all, source.version)
}

/// What is left out of numbers over time, in lines.
fn notes(source: &Source, filter: &perk_analysis::Filter) -> Vec<String> {
    flame::times_note(filter).map(str::to_owned).into_iter().chain(source.times_note()).collect()
}

/// The metric of a question; without one the first whose times are known.
pub(super) fn metric(
    source: &Source,
    whole: &Selection,
    question: &Question,
) -> Result<Metric, Fault> {
    match question.text("metric") {
        Some(name) => Ok(whole.metric(name)?),
        None => {
            let first = times::metrics(whole.profile()).into_iter().next();
            first.ok_or_else(|| no_times(source, "numbers"))
        }
    }
}

pub(super) fn no_times(source: &Source, what: &str) -> Fault {
    Fault::nothing(format!("{} does not tell when its {what} were measured", source.name))
}

/// The collections of garbage, as far as the recording knows them: their number and their pauses.
pub(crate) fn collections(app: &App, source: &Source, question: &Question) -> Result<Reply, Fault> {
    question.check(&[&["version"]])?;
    let whole = app.profile(source)?;
    let run = whole.profile().accounting.as_ref();
    let members = vec![
        ("version", Json::from(source.version)),
        ("count", run.map(|it| it.gc_count).into()),
        ("pause_ns", run.map(|it| it.gc_pause_ns).into()),
        ("longest_pause_ns", run.map(|it| it.gc_longest_pause_ns).into()),
    ];
    document(members, source.version)
}
