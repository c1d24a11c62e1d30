//! What a running JVM does: its numbers, its threads, a thread dump.

use perk_live::{Vitals, ending, threads as thread_vitals};
use perk_profile::units::printable;
use perk_render::{Column, Json, LazyTable, Table};
use perk_report::Answer;

use super::flame::document;
use super::report;
use crate::app::App;
use crate::fault::Fault;
use crate::live::LiveMoment;
use crate::question::{OF_EXCERPT, Question};
use crate::reply::Reply;
use crate::sources::Source;

fn moment(source: &Source) -> Result<&LiveMoment, Fault> {
    let live = source.live();
    live.ok_or_else(|| Fault::nothing(format!("{} is no running JVM", source.name)))
}

/// How far the recording is, and the numbers of the part that the question is about.
pub(crate) fn live(app: &App, source: &Source, question: &Question) -> Result<Reply, Fault> {
    question.check(&[&["version"]])?;
    let LiveMoment { source: live, stretch } = moment(source)?;
    let progress = live.recording.progress();
    let end = progress.end.as_ref().map(|end| ending(end, live.jvm.state(), &live.jvm.title()));
    let counters = live.jvm.counters();
    let mut members = vec![
        ("version", Json::from(source.version)),
        ("title", printable(&live.jvm.title()).into()),
        ("program", printable(live.jvm.program()).into()),
        ("pid", u64::from(live.jvm.pid()).into()),
        ("state", live.state().into()),
        ("end", end.map(|line| printable(&line)).into()),
        ("begun_unix_ms", progress.begun_unix_ms.into()),
        ("increment_count", progress.increment_count.into()),
        ("silence_ns", (progress.silence.as_nanos() as u64).into()),
        ("recorded_ns", progress.end_ns.into()),
        ("kept_from_ns", progress.kept_from_ns.into()),
        ("from_ns", stretch.from_ns.into()),
        ("to_ns", stretch.to_ns.into()),
        ("heap_used_bytes", counters.map(|it| it.heap_used_bytes).into()),
        ("heap_bytes", counters.map(|it| it.heap_bytes).into()),
        ("class_count", counters.map(|it| it.class_count).into()),
    ];
    let selection = app.profile(source)?;
    if let Some(vitals) = Vitals::of(selection.profile()) {
        let groups = vitals.cpu_groups.iter().map(|&(group, ns)| {
            let (name, title) = (group.name(), group.title());
            Json::object([("group", Json::from(name)), ("title", title.into()), ("ns", ns.into())])
        });
        let states = vitals.states.iter().map(|&(state, ns)| {
            let (name, title) = (state.name(), state.title());
            Json::object([("state", Json::from(name)), ("title", title.into()), ("ns", ns.into())])
        });
        members.extend([
            ("part_ns", vitals.recorded_ns.into()),
            ("cpu_count", vitals.cpu_count.into()),
            ("process_cpu_ns", vitals.process_cpu_ns.into()),
            ("cpu", Json::list(groups)),
            ("states", Json::list(states)),
            ("allocated_bytes", vitals.allocated_bytes.into()),
            ("blocked_ns", vitals.blocked_ns.into()),
            ("gc_count", vitals.gc_count.into()),
            ("gc_pause_ns", vitals.gc_pause_ns.into()),
        ]);
    }
    document(members, source.version)
}

/// The threads with their state, CPU time and allocations, as a table.
pub(crate) fn threads(app: &App, source: &Source, question: &Question) -> Result<Reply, Fault> {
    question.check(&[&["version"], &OF_EXCERPT])?;
    moment(source)?;
    let key = format!("threads {} {}", source.id, source.version);
    let answer = app.answers.get(&key, || {
        let selection = app.profile(source)?;
        let profile = selection.profile();
        let threads = thread_vitals(profile);
        let table = (!threads.is_empty()).then(|| {
            let table: Table = LazyTable::of(&profile.symbols, "", threads)
                .column(Column::ns("cpu"), |it| it.cpu_ns)
                .column(Column::bytes("allocated"), |it| it.allocated_bytes)
                .column(Column::ns("blocked"), |it| it.blocked_ns)
                .column(Column::other("thread"), |it| profile.thread_name(it.thread))
                .column(Column::other("state"), |it| it.state.map_or("", |state| state.title()))
                .table()
                .into();
            table
        });
        Ok(Answer { table, ..Answer::default() })
    })?;
    report::reply(&answer, source.version, question)
}

/// The JVM's own thread dump, as a file.
pub(crate) fn thread_dump(source: &Source, question: &Question) -> Result<Reply, Fault> {
    question.check(&[&["version"]])?;
    let live = &moment(source)?.source;
    let text = live.jvm.thread_dump().map_err(|error| Fault::source(format!("{error:#}")))?;
    let reply = Reply::of(text.into_bytes(), "text/plain; charset=utf-8");
    Ok(reply.file(format!("perk-{}.threads.txt", live.jvm.pid())))
}
