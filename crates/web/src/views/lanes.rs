//! What each thread did over time: its numbers, and its states.

use perk_analysis::lanes;
use perk_render::Json;
use perk_report::lanes as document;

use super::flame::document as reply;
use super::times::{self, interval_ns};
use crate::app::App;
use crate::fault::Fault;
use crate::question::Question;
use crate::recording_store::PartDetail;
use crate::reply::Reply;
use crate::sources::Source;

/// Threads with lanes of their own.
const THREADS: usize = 8;
/// The most of them.
const MOST_THREADS: usize = 1000;
/// Intervals of states, and the most of them.
const INTERVALS: u64 = 120;
const MOST_INTERVALS: u64 = 1000;

/// The CPU time, the waits and the allocations of each thread by interval.
pub(crate) fn lanes(app: &App, source: &Source, question: &Question) -> Result<Reply, Fault> {
    times::answer(app, source, question, |profile, metric, filter| {
        let threads = question.number("threads")?.unwrap_or(THREADS).min(MOST_THREADS);
        let interval_ns = interval_ns(question, profile)?;
        let lanes = lanes::lanes(profile, metric, filter, (interval_ns, threads));
        Ok(lanes.map(|it| document::lanes(&it, profile)))
    })
}

/// The states of each thread by interval.
pub(crate) fn states(app: &App, source: &Source, question: &Question) -> Result<Reply, Fault> {
    question.check(&[&["bucket-ms", "thread", "version"]])?;
    let filter = question.filter()?;
    let source = &source.whole(&PartDetail::over_time(INTERVALS, &filter));
    let whole = app.profile(source)?;
    let profile = whole.profile();
    let ms: Option<u64> = question.number("bucket-ms")?;
    let end_ns = lanes::states_end_ns(profile);
    let interval_ns = ms.map_or(end_ns.div_ceil(INTERVALS), |ms| ms.saturating_mul(1_000_000));
    let interval_ns = interval_ns.max(end_ns.div_ceil(MOST_INTERVALS)).max(1);
    let threads = lanes::states(profile, &filter, interval_ns);
    if threads.is_empty() {
        let line = format!("{} does not tell when its threads were in which state", source.name);
        return Err(Fault::nothing(line));
    }
    let mut members = vec![("version", Json::from(source.version))];
    members.extend(document::states(&threads, interval_ns));
    reply(members, source.version)
}
