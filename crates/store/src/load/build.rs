//! Sums as a profile.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use perk_profile::{
    Column, Event, Key, KeyedMap, Label, LabelSetId, LabelValue, LockKind, Metric, NodeId, Profile,
    Section, SectionHead, Subject, Thread, ThreadId, Timeline, TimelineHead, TimelineRow,
    Timestamp, Unit, WallState,
};

use super::no_answer::NoAnswer;
use super::recording_facts::Periods;
use super::sums::{NONE, SumKey, Sums};
use crate::label_text::LabelText;
use crate::stacks::StackPaths;

/// The metrics whose numbers are in one section.
const FAMILIES: [&[Metric]; 3] = [&Metric::OF_CALLS, &Metric::OF_LOCKS, &Metric::OF_OBJECTS];
/// Those of them that are always measured together: one without rows is 0.
const WHOLE_FAMILIES: usize = 2;
/// HPROF's number of the first thread.
const FIRST_THREAD: u32 = 200_001;

/// The times of a profile, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    /// Its start.
    pub(super) begin_ms: i64,
    /// Its end.
    pub(super) end_ms: i64,
    /// The length of the intervals that sums have as times, in milliseconds.
    pub(super) interval_ms: Option<i64>,
}

/// The numbers of a metric.
struct Numbers {
    metric: Metric,
    rows: KeyedMap<RowKey, u64>,
    /// By time, thread and node.
    times: BTreeMap<(i64, Option<ThreadId>, NodeId), u64>,
    /// The interval of CPU samples, which are added up as time.
    interval_ns: Option<u64>,
    /// The period of other samples.
    period: Option<u64>,
}

/// What a row of a section is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct RowKey {
    node: NodeId,
    thread: Option<ThreadId>,
    subject: Subject,
    labels: LabelSetId,
}

/// The profile of sums, with these call paths. It is the same in each run.
///
/// # Errors
/// There are no sums, or a stack has no frames, in one line.
pub(super) fn profile(
    paths: StackPaths,
    sums: Sums,
    periods: &Periods,
    times: Times,
) -> Result<Profile> {
    if sums.sums.is_empty() {
        bail!(NoAnswer::Nothing);
    }
    let StackPaths { mut profile, nodes } = paths;
    let of_stacks = sums.stacks.values().iter().map(|id| nodes.get(id).copied());
    let of_stacks: Option<Vec<NodeId>> = of_stacks.collect();
    let of_stacks = of_stacks.context("a stack has no frames")?;
    let threads = (FIRST_THREAD..).zip(sums.threads.values());
    let threads: Vec<_> =
        threads.map(|(serial, name)| thread(&mut profile, serial, name)).collect();
    let labels = sums.labels.values().iter().map(|set| label_set(&mut profile, set));
    let labels: Vec<_> = labels.collect();
    let created_ms = u64::try_from(times.begin_ms).unwrap_or(0);
    profile.created = Some(Timestamp { unix_ms: created_ms, utc_offset_s: 0 });
    let root = profile.tree.root();
    let mut metrics: Vec<_> = sums
        .metrics
        .values()
        .iter()
        .zip(&sums.intervals_ns)
        .map(|((name, unit), &interval_ns)| Numbers {
            interval_ns,
            ..Numbers::new(metric(name, unit), periods.get(name).copied())
        })
        .collect();
    let of_subjects = sums.sums.keys().filter(|it| it.subject != NONE);
    let of_subjects: BTreeSet<_> = of_subjects.map(|it| (it.metric, it.subject)).collect();
    let subjects = of_subjects.into_iter().map(|(of, name)| {
        let text = &sums.subjects.values()[name as usize];
        ((of, name), subject(&mut profile, &metrics[of as usize].metric, text))
    });
    let subjects: KeyedMap<_, _> = subjects.collect();
    for (&key, &amount) in &sums.sums {
        let SumKey { metric, stack, thread, subject, labels: set, time_ms } = key;
        let numbers = &mut metrics[metric as usize];
        let node = of_stacks.get(stack as usize).copied().unwrap_or(root);
        let thread = threads.get(thread as usize).copied();
        let subject = subjects.get(&(metric, subject)).copied().unwrap_or_default();
        let labels = labels.get(set as usize).copied().unwrap_or_default();
        let sum = numbers.rows.entry(RowKey { node, thread, subject, labels }).or_default();
        *sum = sum.saturating_add(amount);
        if times.interval_ms.is_some() {
            let sum = numbers.times.entry((time_ms, thread, node)).or_default();
            *sum = sum.saturating_add(amount);
        }
    }
    metrics.sort_by(|a, b| a.metric.name().cmp(b.metric.name()));
    let mut families: BTreeMap<usize, Vec<Numbers>> = BTreeMap::new();
    for (at, numbers) in metrics.into_iter().enumerate() {
        let family = FAMILIES.iter().position(|family| family.contains(&numbers.metric));
        families.entry(family.unwrap_or(FAMILIES.len() + at)).or_default().push(numbers);
    }
    for (at, family) in families.range_mut(..WHOLE_FAMILIES) {
        for metric in FAMILIES[*at] {
            if !family.iter().any(|it| it.metric == *metric) {
                family.push(Numbers::new(metric.clone(), None));
            }
        }
    }
    for family in families.into_values() {
        let section = section(&mut profile, &family);
        profile.events.push(Event::Section(section));
        let Some(interval_ms) = times.interval_ms else { continue };
        for numbers in family.into_iter().filter(|it| !it.rows.is_empty()) {
            let timeline = timeline(&mut profile, numbers, times, interval_ms);
            profile.events.push(Event::Timeline(timeline));
        }
    }
    Ok(profile)
}

fn thread(profile: &mut Profile, serial: u32, name: &str) -> ThreadId {
    let name = profile.symbols.strings.intern(name);
    let thread = Thread { serial, object_id: 0, name, group: None, parent_group: None };
    let id = profile.push_thread(thread);
    profile.events.push(Event::ThreadStart(id));
    id
}

fn label_set(profile: &mut Profile, labels: &LabelText) -> LabelSetId {
    let strings = &mut profile.symbols.strings;
    let label = |(key, value): &(String, String)| Label {
        key: strings.intern(key),
        value: LabelValue::Text(strings.intern(value)),
    };
    let labels = labels.iter().map(label).collect();
    profile.labels.set(labels)
}

pub(super) fn metric(name: &str, unit: &str) -> Metric {
    Metric::own(name).unwrap_or_else(|| {
        let units = [Unit::Count, Unit::Nanoseconds, Unit::Bytes];
        let unit = units.into_iter().find(|it| it.name() == unit).unwrap_or_default();
        Metric::other(name, unit)
    })
}

/// The subject that has this name.
fn subject(profile: &mut Profile, metric: &Metric, name: &str) -> Subject {
    if let Some(state) = WallState::of_name(name).filter(|_| *metric == Metric::WallTime) {
        return Subject::State(state);
    }
    let symbols = &mut profile.symbols;
    if metric.is_of_fields()
        && let Some((class, field)) = name.rsplit_once('.')
    {
        let class = symbols.class(class);
        return Subject::Field(class, symbols.strings.intern(field));
    }
    let class = symbols.class(name);
    match metric.is_of_locks() {
        true => Subject::Lock(class, LockKind::of_class(name)),
        false => Subject::Class(class),
    }
}

impl Numbers {
    fn new(metric: Metric, period: Option<u64>) -> Self {
        let (rows, times) = Default::default();
        Self { metric, rows, times, interval_ns: None, period }
    }

    fn count(&self, sum: u64) -> u64 {
        count(sum, self.interval_ns)
    }
}

/// The number of a sum: of CPU time it is that of samples.
pub(super) fn count(sum: u64, interval_ns: Option<u64>) -> u64 {
    let interval_ns = interval_ns.filter(|&it| it > 0);
    interval_ns.map_or(sum, |it| sum.saturating_add(it / 2) / it)
}

/// The section of the metrics of a family.
fn section(profile: &mut Profile, family: &[Numbers]) -> Section {
    let keys: BTreeSet<_> = family.iter().flat_map(|it| it.rows.keys().copied()).collect();
    let columns = family.iter().map(|numbers| {
        let total = numbers.rows.values().map(|&sum| numbers.count(sum));
        let total = total.fold(0, u64::saturating_add);
        Column {
            period: numbers.interval_ns.or(numbers.period),
            ..Column::new(numbers.metric.clone(), total)
        }
    });
    let mut section = Section::new(SectionHead::new(columns.collect::<Vec<_>>()));
    for key in keys {
        let numbers = family.iter().map(|it| it.rows.get(&key).map_or(0, |&sum| it.count(sum)));
        let trace = profile.trace(key.node, key.thread);
        let of = Key { trace, subject: key.subject, labels: key.labels };
        section.push(of, &numbers.collect::<Vec<_>>());
    }
    section
}

/// The times of a metric's numbers.
fn timeline(
    profile: &mut Profile,
    mut numbers: Numbers,
    times: Times,
    interval_ms: i64,
) -> Timeline {
    let Times { begin_ms, end_ms, .. } = times;
    let of_times = std::mem::take(&mut numbers.times);
    let rows = of_times.into_iter().map(|((time_ms, thread, node), sum)| {
        let tick = u64::try_from((time_ms - begin_ms) / interval_ms).unwrap_or(0);
        let trace = profile.trace(node, thread);
        TimelineRow { tick, thread, trace, count: numbers.count(sum) }
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_unstable();
    let end_ns = u64::try_from(end_ms - begin_ms).unwrap_or(0).saturating_mul(1_000_000);
    let tick_ns = interval_ms.unsigned_abs().saturating_mul(1_000_000);
    let head = TimelineHead { metric: numbers.metric, tick_ns, begin_ns: 0, end_ns };
    Timeline { head, rows: rows.into_iter().collect() }
}
