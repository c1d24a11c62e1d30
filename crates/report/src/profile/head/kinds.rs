//! The kinds of numbers that advice is on, each with its methods.

use std::cell::OnceCell;

use perk_analysis::advice::{self, Advice, AdviceRow, Sources};
use perk_analysis::calls::CallTable;
use perk_analysis::{Charges, Naming};
use perk_profile::units::{amount, duration};
use perk_profile::{Accounting, Metric, Subject, Unit, WallState, metric};

use crate::profile::content::Content;
use crate::profile::metric::MetricView;
use crate::selection::metric::is_of_jamaica;

/// The kind of numbers of threads that wait.
const WAITING: &str = "waiting";

/// Metrics of other tools that have no other name than their unit.
const UNITS: [&str; 2] = ["bytes", "ns"];

/// The methods by one kind of numbers.
#[derive(Debug)]
pub(super) struct Kind {
    /// What the numbers are of: `CPU`, `allocated`.
    pub(super) title: String,
    /// What everything is, after its number.
    pub(super) whole: String,
    pub(super) metric: String,
    pub(super) unit: Unit,
    /// The time that each represents, if they are samples.
    each_ns: Option<u64>,
    /// Of everything.
    pub(super) total: u64,
    pub(super) advice: Vec<Advice>,
    /// Whether the calls of a method say where to save.
    pub(super) has_calls: bool,
    /// Whether the numbers are calls: those of a method do not have the calls that it makes.
    pub(super) is_of_calls: bool,
    /// Whether the numbers are of threads that wait.
    pub(super) is_of_waits: bool,
}

impl Kind {
    pub(super) fn number(&self, number: u64) -> String {
        match self.each_ns {
            Some(each) => duration(number.saturating_mul(each)),
            None => amount(number, self.unit),
        }
    }
}

/// The kinds of numbers that the content has, with the first `count` methods of each.
pub(super) fn kinds(content: &Content<'_>, count: usize) -> Vec<Kind> {
    let (profile, tree) = (content.profile, content.tree);
    let table = content.calls.as_ref().map(|calls| &calls.table);
    let charges = |naming| Charges::new(profile, tree, content.owners(), naming);
    let words = charges(Naming::Words);
    let callees = OnceCell::new();
    let callees = || callees.get_or_init(|| charges(Naming::Callees));
    let sources =
        |charges| Sources { profile, tree, charges, joined: content.joined, calls: table };
    let is_asked = |metric: &Metric| content.asked.as_ref().is_none_or(|asked| asked == metric);
    // Counts of methods without their callers say nothing of what fewer calls would save, one
    // that allocates an object is not where its fields are accessed, and the JVM's threads are not the
    // program's. Wall-clock samples have all waits.
    let has_wall = content.asked.is_none() && content.view(&Metric::WallTime).is_some();
    let is_in_wall = |metric: &Metric| has_wall && *metric == Metric::WaitedTime;
    let is_meant = |metric: &Metric| {
        is_asked(metric)
            && !is_in_wall(metric)
            && !is_of_jamaica(metric)
            && !metric.is_of_fields()
            && (content.asked.is_some() || metric.name() != metric::JVM)
    };
    let mut kinds = Vec::new();
    if content.main_view().is_some_and(|view| is_of_jamaica(&view.metric)) {
        return kinds;
    }
    for view in content.metrics.iter().filter(|view| is_meant(&view.metric)) {
        if view.metric == Metric::WallTime {
            kinds.extend(wall_kinds(content, view, [&words, callees()], count, table));
            continue;
        }
        let rows = view.metric.rows(profile).rows.into_iter();
        let mut rows: Vec<AdviceRow> =
            rows.map(|(key, number)| (key.trace, key.subject.class(), number)).collect();
        let mut total = view.all;
        let is_wait = matches!(view.metric, Metric::WaitedTime | Metric::WaitCount);
        let charges = if is_wait { callees() } else { &words };
        if is_wait {
            charges.keep_program(&mut rows, |row| content.path(row.0));
            total = rows.iter().map(|row| row.2).fold(0, u64::saturating_add);
            rows.iter_mut().for_each(|row| row.1 = None);
        }
        let is_of_calls = view.metric == Metric::Calls;
        let advice = match is_of_calls {
            true => sources(charges).advice_on_calls(&rows, count),
            false => sources(charges).advice(&rows, count),
        };
        let kind = Kind {
            title: title(content, &view.metric),
            whole: whole(content, &view.metric),
            metric: view.name().to_owned(),
            unit: view.unit(),
            each_ns: view.cpu_ns(1),
            total,
            has_calls: matches!(view.metric, Metric::Samples | Metric::SelfTime),
            is_of_calls,
            is_of_waits: is_wait,
            advice,
        };
        kinds.push(kind);
    }
    // A file with callers and callees and no paths.
    if let Some(calls) = &content.calls
        && calls.columns.is_none()
        && content.asked.is_none()
    {
        let table = &calls.table;
        let (metric, unit, total) = match table.self_ns {
            0 => (Metric::Calls, Unit::Count, table.count),
            ns => (Metric::SelfTime, Unit::Nanoseconds, ns),
        };
        let has_calls = metric == Metric::SelfTime;
        let advice = advice::of_calls(profile, table, count);
        let is_of_calls = !has_calls;
        let whole = whole(content, &metric);
        let (title, metric) = (title(content, &metric), metric.name().to_owned());
        kinds.push(Kind {
            title,
            whole,
            metric,
            unit,
            each_ns: None,
            total,
            advice,
            has_calls,
            is_of_calls,
            is_of_waits: false,
        });
    }
    kinds.retain(|kind| !kind.advice.is_empty());
    kinds
}

/// What the threads wait for; where nothing else has it, also what they run.
fn wall_kinds(
    content: &Content<'_>,
    view: &MetricView<'_>,
    [words, callees]: [&Charges; 2],
    count: usize,
    calls: Option<&CallTable>,
) -> Vec<Kind> {
    let (profile, tree, joined) = (content.profile, content.tree, content.joined);
    let mut rows = view.metric.rows(profile).rows;
    callees.keep_program(&mut rows, |row| content.path(row.0.trace));
    let total = rows.iter().map(|row| row.1).fold(0, u64::saturating_add);
    let kind = |title: &str, is_wanted: fn(WallState) -> bool, charges| {
        let is_wanted = |state: Subject| matches!(state, Subject::State(it) if is_wanted(it));
        let rows = rows.iter().filter(|row| is_wanted(row.0.subject));
        let rows: Vec<AdviceRow> = rows.map(|&(key, number)| (key.trace, None, number)).collect();
        Kind {
            title: title.to_owned(),
            whole: view.metric.title(),
            metric: view.name().to_owned(),
            unit: view.unit(),
            each_ns: None,
            total,
            advice: Sources { profile, tree, charges, joined, calls }.advice(&rows, count),
            has_calls: false,
            is_of_calls: false,
            is_of_waits: title == WAITING,
        }
    };
    let has_time = content.samples().is_some() && content.asked.is_none();
    let running = |state: WallState| state == WallState::Running;
    let runnable = |state: WallState| state == WallState::Runnable;
    let active =
        (!has_time).then(|| [kind("running", running, words), kind("runnable", runnable, words)]);
    let waiting = kind(WAITING, WallState::is_waiting, callees);
    active.into_iter().flatten().chain([waiting]).collect()
}

/// What all of the numbers of a metric are, after their sum: `of 12 MB allocated`, `of 7 calls`.
fn whole(content: &Content<'_>, metric: &Metric) -> String {
    let title = title(content, metric);
    match metric {
        Metric::Samples if content.profile.sample_interval_ns().is_none() => "samples".to_owned(),
        Metric::Samples => "of CPU time".to_owned(),
        Metric::SelfTime if title == "CPU" => "of CPU time in calls".to_owned(),
        Metric::SelfTime => "in calls".to_owned(),
        Metric::BlockedTime => "blocked by locks".to_owned(),
        Metric::WaitedTime => "waited".to_owned(),
        Metric::BlockingTime => "blocked by others".to_owned(),
        // The number has its unit.
        metric if metric.is_other() && UNITS.contains(&&*title) => String::new(),
        metric if metric.is_other() && metric.unit() != Unit::Count => format!("of {title}"),
        _ => title,
    }
}

/// What a metric is of, in a word.
fn title(content: &Content<'_>, metric: &Metric) -> String {
    let accounting = content.profile.accounting.as_ref();
    let clock = accounting.map_or("", |accounting| &accounting.clock);
    let is_uncollected = accounting.is_some_and(Accounting::counts_uncollected);
    match metric {
        Metric::LiveBytes if is_uncollected => "uncollected".to_owned(),
        Metric::LiveObjects if is_uncollected => "uncollected objects".to_owned(),
        Metric::Samples => "CPU".to_owned(),
        Metric::SelfTime if clock == "cpu" => "CPU".to_owned(),
        Metric::SelfTime => "time".to_owned(),
        Metric::BlockedTime => "locks".to_owned(),
        Metric::BlockingTime => "blocking".to_owned(),
        Metric::WaitedTime => WAITING.to_owned(),
        metric => metric.title().replace(" bytes", ""),
    }
}

#[cfg(test)]
mod tests {
    use perk_analysis::{InferredCallers, MethodTree};
    use perk_profile::{Column, Key, Profile, Section, SectionHead};

    use super::*;
    use crate::profile::fixture::trace;

    /// A library waits in a pool for longer than the program runs.
    #[test]
    fn what_runs_and_what_waits_are_parts_of_one_whole() {
        let mut profile = Profile::default();
        let own = trace(&mut profile, &["com.acme.Main.main"], None);
        let library = trace(&mut profile, &["java.lang.Thread.run", "io.netty.Loop.run"], None);
        let mut section = Section::new(SectionHead::new([Column::new(Metric::WallTime, 130)]));
        for (trace, state, ns) in [
            (own, WallState::Running, 10),
            (own, WallState::Runnable, 30),
            (library, WallState::Parked, 90),
        ] {
            section.push(Key::new(trace, Subject::State(state)), &[ns]);
        }
        profile.events.push(section.into());
        let (tree, joined) = (MethodTree::new(&profile), InferredCallers::default());
        let content = Content::of_metric(&profile, &tree, &joined, None);
        let kinds: Vec<_> = kinds(&content, 5)
            .into_iter()
            .map(|kind| (kind.title, kind.total, kind.advice[0].number))
            .collect();
        let kind = |title: &str, ns| (title.to_owned(), 40, ns);
        assert_eq!(kinds, [kind("running", 10), kind("runnable", 30)]);
    }
}
