//! The numbers of a profile one by one, with all that is known of each.

use std::collections::BTreeMap;

use perk_profile::{Key, LabelSetId, Metric, Profile, Subject, ThreadId, Timeline, TraceId};

/// A number of one metric: a row of `samples`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The metric.
    pub metric: Metric,
    /// When it was measured, in nanoseconds since the recording's start; `None` if that is not known.
    pub time_ns: Option<u64>,
    /// The thread; `None` if it is not known.
    pub thread: Option<ThreadId>,
    /// The call trace.
    pub trace: TraceId,
    /// What the number is of besides: the class of the objects or of the lock, a field, the state of the thread.
    pub subject: Option<String>,
    /// Its labels.
    pub labels: LabelSetId,
    /// The number, in the unit of the metric.
    pub value: u64,
}

impl Sample {
    /// The CPU time of CPU samples: recordings can have different intervals; `None` for other metrics.
    pub fn cpu_ns(&self, profile: &Profile) -> Option<u64> {
        let interval_ns = profile.sample_interval_ns()?;
        (self.metric == Metric::Samples).then(|| self.value.saturating_mul(interval_ns))
    }

    /// All numbers of a profile. Their sums are those of its metrics.
    pub fn all(profile: &Profile) -> Vec<Sample> {
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
                let is_alone =
                    beside.filter_map(|at| numbers.get(at)).all(|row| row.0.trace != trace);
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
