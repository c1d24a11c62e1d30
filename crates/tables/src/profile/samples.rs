//! `samples`: all numbers, by time, thread, stack and labels.

use std::collections::BTreeMap;

use perk_profile::{Key, LabelSetId, Metric, Profile, Subject, ThreadId, Timeline, TraceId};

use super::names::unit;
use crate::recording::Recording;
use crate::table::{Column, TableOf, Values};

/// A number of one metric.
pub(super) struct Sample {
    metric: Metric,
    time_ns: Option<u64>,
    thread: Option<ThreadId>,
    trace: TraceId,
    subject: Option<String>,
    labels: LabelSetId,
    value: u64,
}

pub(super) fn samples() -> TableOf<Sample> {
    TableOf {
        name: "samples",
        about: "all numbers of the files; their sums are in `metrics`",
        rows: Box::new(rows),
        columns: vec![
            Column::recording(),
            Column::new(
                "metric",
                Values::Text(|_, row| Some(row.metric.name())),
                "the metric, as in --metric: samples, wall, allocated, blocked and so on",
            ),
            Column::new(
                "unit",
                Values::Text(|_, row| Some(unit(&row.metric))),
                "its unit: count, nanoseconds or bytes",
            ),
            Column::new(
                "time",
                Values::Time(|it, row| it.unix_ns(row.time_ns?)),
                "when it was measured, to within a tick of the recording; null if that is not known",
            ),
            Column::new(
                "thread",
                Values::Text(|it, row| Some(it.profile.thread_name(row.thread?))),
                "the name of the thread; null if it is not known",
            ),
            Column::new(
                "thread_serial",
                Values::Number(|it, row| Some(it.profile.get_thread(row.thread?).serial.into())),
                "the number of the thread in the recording, as in `threads`",
            ),
            Column::new(
                "stack",
                Values::Stack(|it, row| it.stack(it.profile.get_trace(row.trace).node)),
                "the stack, as in `stacks`; null if it is not known",
            ),
            Column::new(
                "subject",
                Values::Text(|_, row| row.subject.as_deref()),
                "what the number is of besides: the class of the objects or of the lock, a field, the state of the thread",
            ),
            Column::new(
                "labels",
                Values::Labels(|it, row| it.profile.labels.get(row.labels).into()),
                "the labels of the number: labels['service']",
            ),
            Column::new(
                "value",
                Values::Number(|_, row| Some(row.value)),
                "the number, in the unit of the metric",
            ),
            Column::new(
                "cpu_ns",
                Values::Number(|it, row| {
                    let interval_ns = it.profile.sample_interval_ns()?;
                    (row.metric == Metric::Samples).then(|| row.value.saturating_mul(interval_ns))
                }),
                "the CPU time of CPU samples: recordings can have different intervals; null for other metrics",
            ),
        ],
    }
}

fn rows(recording: &Recording) -> Vec<Sample> {
    let profile = &recording.profile;
    let mut rows = Vec::new();
    for metric in Metric::all_of(profile) {
        let mut times = times(profile, &metric);
        let numbers = metric.rows(profile).rows;
        for (at, &(Key { trace, subject, labels }, number)) in numbers.iter().enumerate() {
            let subject = match subject {
                Subject::None => None,
                Subject::State(state) => Some(state.name().to_owned()),
                subject => subject.label(&profile.symbols),
            };
            let thread = profile.get_trace(trace).thread;
            let sample = |time_ns, thread, value| Sample {
                metric: metric.clone(),
                time_ns,
                thread,
                trace,
                subject: subject.clone(),
                labels,
                value,
            };
            // Of a trace with several rows it is not known which one a time is of.
            let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
            let is_alone = beside.filter_map(|at| numbers.get(at)).all(|row| row.0.trace != trace);
            let timed = times.remove(&trace).unwrap_or_default();
            let sum = timed.iter().map(|it| it.2).fold(0, u64::saturating_add);
            if !is_alone || sum > number {
                rows.push(sample(None, thread, number));
                continue;
            }
            let of_time = timed
                .into_iter()
                .map(|(time_ns, of, value)| sample(Some(time_ns), thread.or(of), value));
            rows.extend(of_time);
            if number > sum {
                rows.push(sample(None, thread, number - sum));
            }
        }
    }
    rows
}

/// The times of a metric's numbers, by trace: nanoseconds since the recording's start, thread and number.
fn times(
    profile: &Profile,
    metric: &Metric,
) -> BTreeMap<TraceId, Vec<(u64, Option<ThreadId>, u64)>> {
    let mut times: BTreeMap<TraceId, Vec<_>> = BTreeMap::new();
    let of_metric = |it: &&Timeline| it.head.metric == *metric;
    for Timeline { head, rows } in profile.timelines().filter(of_metric) {
        for row in rows {
            let time = (head.time_ns(row.tick), row.thread, row.count);
            times.entry(row.trace).or_default().push(time);
        }
    }
    times
}
