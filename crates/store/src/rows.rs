//! The rows of a store's tables.

use std::collections::HashMap;

use perk_profile::{LabelSetId, Metric, Profile};
use perk_tables::{Sample, StackId};
use twox_hash::xxhash3_128::Hasher;

use crate::label_text::LabelText;
use crate::origin::Origin;

/// The times of a store are to within this, which makes a row of the samples of a stack and thread within it.
pub(crate) const TICK_MS: i64 = 10_000;

/// A row of `samples`. Rows are ordered by these fields, in which order files compress well, and a query for one
/// stack reads little.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SampleRow<'a> {
    pub(crate) metric: String,
    pub(crate) unit: &'static str,
    pub(crate) stack: Option<StackId>,
    pub(crate) thread: Option<&'a str>,
    pub(crate) subject: Option<String>,
    pub(crate) labels: &'a [(String, String)],
    /// Milliseconds since 1970.
    pub(crate) time_ms: i64,
    pub(crate) value: i64,
    pub(crate) cpu_ns: Option<i64>,
}

/// The most that a number of a store can be.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl<'a> SampleRow<'a> {
    pub(crate) fn new(
        profile: &'a Profile,
        stacks: &[StackId],
        labels: &'a HashMap<LabelSetId, LabelText>,
        created_ms: i64,
        sample: Sample,
    ) -> Self {
        let node = profile.get_trace(sample.trace).node;
        let since_ms = number(sample.time_ns.unwrap_or(0) / 1_000_000);
        let time_ms = created_ms.saturating_add(since_ms);
        Self {
            stack: (node != profile.tree.root()).then(|| stacks[node.index()]),
            thread: sample.thread.map(|it| profile.thread_name(it)),
            labels: labels.get(&sample.labels).map_or(&[], |it| it),
            time_ms: time_ms - time_ms.rem_euclid(TICK_MS),
            value: number(sample.value),
            cpu_ns: sample.cpu_ns(profile).map(number),
            metric: sample.metric.name().to_owned(),
            unit: sample.metric.unit().name(),
            subject: sample.subject,
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        let numbers = |it: &Self| (it.stack, it.thread, it.time_ms);
        numbers(self) == numbers(other)
            && (&self.metric, &self.subject) == (&other.metric, &other.subject)
            && self.labels == other.labels
    }

    /// Adds all of the row to a hash.
    pub(crate) fn hash_into(&self, hasher: &mut Hasher) {
        let labels = self.labels.iter().flat_map(|(key, value)| [&**key, value]);
        let texts = [Some(&*self.metric), Some(self.unit), self.thread, self.subject.as_deref()];
        for text in texts.into_iter().chain(labels.map(Some)) {
            // Lengths distinguish texts that follow each other.
            hasher.write(&text.map_or(u64::MAX, |it| it.len() as u64).to_le_bytes());
            hasher.write(text.unwrap_or_default().as_bytes());
        }
        hasher.write(&self.stack.unwrap_or_default().0);
        for number in [self.time_ms, self.value, self.cpu_ns.unwrap_or(-1)] {
            hasher.write(&number.to_le_bytes());
        }
    }
}

/// Orders rows, and adds up those that differ in their numbers alone.
pub(crate) fn add_up(rows: &mut Vec<SampleRow<'_>>) {
    rows.sort_unstable();
    rows.dedup_by(|next, row| {
        let is_like = next.is_like(row);
        if is_like {
            row.value = row.value.saturating_add(next.value);
            row.cpu_ns = row.cpu_ns.zip(next.cpu_ns).map(|(a, b)| a.saturating_add(b));
        }
        is_like
    });
}

/// A metric of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MetricRow {
    pub(crate) metric: String,
    pub(crate) unit: &'static str,
    /// The sum of all numbers, also of those that the file leaves out.
    pub(crate) total: i64,
    /// The nanoseconds or bytes from sample to sample; `None` if all was counted, or it is not known.
    pub(crate) period: Option<i64>,
}

/// A row of `recordings`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordingRow {
    pub(crate) source: [u8; 16],
    pub(crate) file: String,
    pub(crate) created_ms: i64,
    pub(crate) duration_ns: Option<i64>,
    pub(crate) interval_ns: Option<i64>,
    pub(crate) program: Option<String>,
    pub(crate) jvm: Option<String>,
    pub(crate) cpu_ns: Option<i64>,
    pub(crate) perk_cpu_ns: Option<i64>,
    pub(crate) labels: LabelText,
    /// The lines of the account.
    pub(crate) accounting: LabelText,
    pub(crate) metrics: Vec<MetricRow>,
    pub(crate) notes: Vec<String>,
}

impl RecordingRow {
    pub(crate) fn new(
        profile: &Profile,
        origin: &Origin,
        created_ms: i64,
        source: [u8; 16],
        labels: &LabelText,
    ) -> Self {
        let account = profile.accounting.as_ref();
        let text = account.map(|it| it.to_text()).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once('='));
        // An account has a line for each number that perk knows; most are 0.
        let lines = lines.filter(|line| !matches!(line.1, "" | "0"));
        let metrics = Metric::all_of(profile).into_iter().map(|metric| MetricRow {
            total: number(metric.total(profile)),
            period: metric.period(profile).map(number),
            unit: metric.unit().name(),
            metric: metric.name().to_owned(),
        });
        Self {
            source,
            file: origin.file.clone(),
            created_ms,
            duration_ns: account.map(|it| number(it.wall_ns)),
            interval_ns: profile.sample_interval_ns().map(number),
            program: account.map(|it| it.program.clone()),
            jvm: account.map(|it| it.jvm.clone()),
            cpu_ns: account.map(|it| number(it.process_cpu_ns)),
            perk_cpu_ns: account.map(|it| number(it.perk_cpu_ns)),
            labels: labels.clone(),
            accounting: lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            metrics: metrics.collect(),
            notes: profile.notes.clone(),
        }
    }

    /// The row of a later hour of the recording: what was counted for all of it is in the row of the first.
    pub(crate) fn without_counts(&self) -> Self {
        Self {
            duration_ns: None,
            cpu_ns: None,
            perk_cpu_ns: None,
            accounting: LabelText::new(),
            metrics: Vec::new(),
            notes: Vec::new(),
            ..self.clone()
        }
    }
}
