//! The sums of the rows of `samples` that a question asks.

use std::sync::Arc;

use anyhow::{Result, bail};
use datafusion::arrow::array::{Array, ArrayRef, DictionaryArray, FixedSizeBinaryArray, MapArray};
use datafusion::arrow::datatypes::{Int32Type, Int64Type, TimestampMillisecondType};
use datafusion::arrow::record_batch::RecordBatch;
use perk_profile::KeyedMap;
use perk_tables::StackId;

use super::index::Index;
use super::no_answer::NoAnswer;
use super::{Sources, all_labels};
use crate::columns::{ids, map, maps, numbers, texts, words};
use crate::hour::Hour;
use crate::label_text::LabelText;
use crate::question::{KeptLabels, KeptTimes, Question};

/// What is not known, as an index.
pub(super) const NONE: u32 = u32::MAX;

/// What a sum is of, by the indexes of [`Sums`]; [`NONE`] where that is not known or not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SumKey {
    pub(super) metric: u32,
    pub(super) stack: u32,
    pub(super) thread: u32,
    pub(super) subject: u32,
    pub(super) labels: u32,
    /// Milliseconds since 1970, or those of the hour; 0 if times are not asked.
    pub(super) time_ms: i64,
}

/// Sums, and what they are of.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// Names and units.
    pub(super) metrics: Index<(String, String)>,
    pub(super) stacks: Index<StackId>,
    pub(super) threads: Index<String>,
    pub(super) subjects: Index<String>,
    pub(super) labels: Index<LabelText>,
    /// Of CPU samples their time in nanoseconds: recordings can have different intervals.
    pub(super) sums: KeyedMap<SumKey, u64>,
    /// The shortest interval of the samples of each metric, in nanoseconds.
    pub(super) intervals_ns: Vec<Option<u64>>,
}

impl Sums {
    fn metric(&mut self, metric: (String, String)) -> u32 {
        let index = self.metrics.of(metric);
        self.intervals_ns.resize(self.metrics.len(), None);
        index
    }

    fn add_interval(&mut self, metric: u32, interval_ns: Option<u64>) {
        let known = &mut self.intervals_ns[metric as usize];
        *known = match (*known, interval_ns) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }

    fn add_sum(&mut self, key: SumKey, amount: u64) {
        let sum = self.sums.entry(key).or_default();
        *sum = sum.saturating_add(amount);
    }

    /// Adds the sums of another part.
    ///
    /// # Errors
    /// There are more than `most` sums.
    pub(super) fn merge(&mut self, other: Self, most: usize) -> Result<()> {
        if self.sums.is_empty() {
            *self = other;
            return self.check(most);
        }
        let metrics: Vec<_> = other.metrics.into_values().map(|it| self.metric(it)).collect();
        for (&metric, interval_ns) in metrics.iter().zip(other.intervals_ns) {
            self.add_interval(metric, interval_ns);
        }
        let stacks: Vec<_> = other.stacks.into_values().map(|it| self.stacks.of(it)).collect();
        let threads: Vec<_> = other.threads.into_values().map(|it| self.threads.of(it)).collect();
        let subjects = other.subjects.into_values().map(|it| self.subjects.of(it));
        let subjects: Vec<_> = subjects.collect();
        let labels: Vec<_> = other.labels.into_values().map(|it| self.labels.of(it)).collect();
        let of = |indexes: &[u32], index| indexes.get(index as usize).copied().unwrap_or(NONE);
        for (key, amount) in other.sums {
            let key = SumKey {
                metric: of(&metrics, key.metric),
                stack: of(&stacks, key.stack),
                thread: of(&threads, key.thread),
                subject: of(&subjects, key.subject),
                labels: of(&labels, key.labels),
                time_ms: key.time_ms,
            };
            self.add_sum(key, amount);
        }
        self.check(most)
    }

    fn check(&self, most: usize) -> Result<()> {
        if self.sums.len() > most {
            bail!(NoAnswer::TooMuch(most));
        }
        Ok(())
    }
}

/// What reads the rows of a file.
pub(super) struct SumReader<'a> {
    question: &'a Question,
    sources: &'a Sources,
    /// The most sums.
    most: usize,
    sums: Sums,
    thread_words: Words,
    subject_words: Words,
    /// By source and own labels: the labels that are kept; `None` if they are not those that are asked.
    labels: KeyedMap<([u8; 16], LabelText), Option<u32>>,
    /// Those of the last row without labels of its own.
    last_labels: Option<([u8; 16], Option<u32>)>,
}

impl<'a> SumReader<'a> {
    pub(super) fn new(question: &'a Question, sources: &'a Sources, most: usize) -> Self {
        let (sums, thread_words, subject_words, labels, last_labels) = Default::default();
        Self { question, sources, most, sums, thread_words, subject_words, labels, last_labels }
    }

    pub(super) fn finish(self) -> Sums {
        self.sums
    }

    /// Adds the rows of a batch, which has the columns of [`columns`].
    ///
    /// # Errors
    /// It has other columns, or there are too many sums.
    pub(super) fn add(&mut self, batch: &RecordBatch, hour: Hour, has_edge: bool) -> Result<()> {
        let detail = &self.question.detail;
        let metrics = self.metrics(batch)?;
        let stacks = detail.has_stacks.then(|| ids(batch, "stack")).transpose()?;
        let subjects = detail.has_stacks.then(|| words(batch, "subject")).transpose()?;
        if let Some(subjects) = subjects {
            self.subject_words.read(subjects, &mut self.sums.subjects)?;
        }
        let values = numbers::<Int64Type>(batch, "value")?;
        let cpu_ns = numbers::<Int64Type>(batch, "cpu_ns")?;
        let threads = detail.has_threads.then(|| words(batch, "thread")).transpose()?;
        if let Some(threads) = threads {
            self.thread_words.read(threads, &mut self.sums.threads)?;
        }
        let hour_ms = hour.begin_ms();
        let interval_ms = detail.times.interval_ms();
        let times = (interval_ms.is_some() || has_edge)
            .then(|| numbers::<TimestampMillisecondType>(batch, "time"))
            .transpose()?;
        let labels = self.question.needs_labels().then(|| LabelColumns::of(batch)).transpose()?;
        let mut run = Run::default();
        for (row, &metric) in metrics.iter().enumerate() {
            let time_ms = times.map_or(hour_ms, |it| it.value(row));
            if metric == NONE || (has_edge && !self.question.has_time(time_ms)) {
                continue;
            }
            let labels = match &labels {
                Some(labels) => match self.labels(labels, row)? {
                    Some(labels) => labels,
                    None => continue,
                },
                None => NONE,
            };
            let key = SumKey {
                metric,
                stack: match stacks {
                    Some(stacks) => run.stack(stacks, row, &mut self.sums.stacks)?,
                    None => NONE,
                },
                thread: threads.map_or(NONE, |it| self.thread_words.of(it, row)),
                subject: subjects.map_or(NONE, |it| self.subject_words.of(it, row)),
                labels,
                time_ms: match detail.times {
                    KeptTimes::Intervals(ms) => time_ms - time_ms.rem_euclid(ms.max(1)),
                    KeptTimes::Hours => hour_ms,
                    KeptTimes::Nothing => 0,
                },
            };
            let value = u64::try_from(values.value(row)).unwrap_or(0);
            let amount = match cpu_ns.is_valid(row) {
                true => {
                    let cpu_ns = u64::try_from(cpu_ns.value(row)).unwrap_or(0);
                    self.sums.add_interval(key.metric, cpu_ns.checked_div(value));
                    cpu_ns
                }
                false => value,
            };
            // Compacted rows of a stack follow each other.
            if run.key == Some(key) {
                run.amount = run.amount.saturating_add(amount);
            } else {
                run.end(&mut self.sums);
                (run.key, run.amount) = (Some(key), amount);
            }
        }
        run.end(&mut self.sums);
        self.sums.check(self.most)
    }

    /// The metric of each row; [`NONE`] if it is not asked.
    fn metrics(&mut self, batch: &RecordBatch) -> Result<Vec<u32>> {
        let (names, units) = (words(batch, "metric")?, words(batch, "unit")?);
        let (name_texts, unit_texts) = (texts(names)?, texts(units)?);
        let mut last = ((-1, -1), NONE);
        let rows = names.keys().values().iter().zip(units.keys().values());
        let metrics = rows.map(|(&name, &unit)| {
            if last.0 != (name, unit) {
                let metric = (name_texts.value(name as usize), unit_texts.value(unit as usize));
                let is_asked = self.question.metric.as_ref().is_none_or(|it| it == metric.0);
                let mut index = || self.sums.metric((metric.0.into(), metric.1.into()));
                last = ((name, unit), if is_asked { index() } else { NONE });
            }
            last.1
        });
        Ok(metrics.collect())
    }

    /// The labels of a row that are kept; `None` if they are not those that are asked.
    fn labels(&mut self, columns: &LabelColumns<'_>, row: usize) -> Result<Option<u32>> {
        let source = <[u8; 16]>::try_from(columns.sources.value(row))?;
        let has_own = columns.own.value_length(row) > 0;
        // Most numbers have the labels of their recording alone, whose numbers follow each other.
        if let Some((_, found)) = self.last_labels.filter(|it| !has_own && it.0 == source) {
            return Ok(found);
        }
        let found = self.find_labels((source, map(columns.own, row)));
        if !has_own {
            self.last_labels = Some((source, found));
        }
        Ok(found)
    }

    fn find_labels(&mut self, key: ([u8; 16], LabelText)) -> Option<u32> {
        if let Some(&known) = self.labels.get(&key) {
            return known;
        }
        let all = all_labels(self.sources, &key.0, &key.1);
        let is_kept = |(key, _): &(&&str, &&str)| self.question.detail.labels.has(key);
        let kept = match self.question.detail.labels {
            KeptLabels::OfRecordings => all_labels(self.sources, &key.0, &[]),
            _ => all.clone(),
        };
        let kept = kept.iter().filter(is_kept).map(|(&key, &value)| (key.into(), value.into()));
        let found = self.question.has_labels(&all).then(|| self.sums.labels.of(kept.collect()));
        self.labels.insert(key, found);
        found
    }
}

/// The columns that make the labels of rows.
struct LabelColumns<'a> {
    sources: &'a FixedSizeBinaryArray,
    own: &'a MapArray,
}

impl<'a> LabelColumns<'a> {
    fn of(batch: &'a RecordBatch) -> Result<Self> {
        Ok(Self { sources: ids(batch, "source")?, own: maps(batch, "labels")? })
    }
}

/// The indexes of the words of a dictionary, which several batches can share.
#[derive(Default)]
struct Words {
    dictionary: Option<ArrayRef>,
    indexes: Vec<u32>,
}

impl Words {
    fn read(
        &mut self,
        words: &DictionaryArray<Int32Type>,
        index: &mut Index<String>,
    ) -> Result<()> {
        if self.dictionary.as_ref().is_some_and(|it| Arc::ptr_eq(it, words.values())) {
            return Ok(());
        }
        let texts = texts(words)?.iter();
        self.indexes = texts.map(|it| it.map_or(NONE, |it| index.of_text(it))).collect();
        self.dictionary = Some(Arc::clone(words.values()));
        Ok(())
    }

    fn of(&self, words: &DictionaryArray<Int32Type>, row: usize) -> u32 {
        let word = words.is_valid(row).then(|| words.keys().value(row) as usize);
        word.and_then(|it| self.indexes.get(it).copied()).unwrap_or(NONE)
    }
}

/// The last rows, if they are of the same.
#[derive(Default)]
struct Run {
    key: Option<SumKey>,
    amount: u64,
    stack: Option<([u8; 16], u32)>,
}

impl Run {
    fn stack(
        &mut self,
        stacks: &FixedSizeBinaryArray,
        row: usize,
        index: &mut Index<StackId>,
    ) -> Result<u32> {
        if !stacks.is_valid(row) {
            return Ok(NONE);
        }
        let id = <[u8; 16]>::try_from(stacks.value(row))?;
        match self.stack {
            Some((last, found)) if last == id => Ok(found),
            _ => {
                let found = index.of(StackId(id));
                self.stack = Some((id, found));
                Ok(found)
            }
        }
    }

    fn end(&mut self, sums: &mut Sums) {
        if let Some(key) = self.key.take() {
            sums.add_sum(key, self.amount);
        }
    }
}

/// The columns that a question needs.
pub(super) fn columns(question: &Question, has_edge: bool) -> Vec<&'static str> {
    let mut columns = vec!["metric", "unit", "value", "cpu_ns"];
    if question.detail.times.interval_ms().is_some() || has_edge {
        columns.push("time");
    }
    if question.detail.has_stacks {
        columns.extend(["stack", "subject"]);
    }
    if question.detail.has_threads {
        columns.push("thread");
    }
    if question.needs_labels() {
        columns.extend(["source", "labels"]);
    }
    columns
}
