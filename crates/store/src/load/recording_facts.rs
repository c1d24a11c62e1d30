//! What recordings say of themselves: their labels and accounts.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use anyhow::{Context, Result};
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{Int64Type, TimestampMillisecondType};
use datafusion::arrow::record_batch::RecordBatch;
use futures::TryStreamExt;
use perk_profile::Accounting;

use crate::columns::{ids, map, maps, numbers};
use crate::label_text::LabelText;
use crate::layout::Table;
use crate::question::Question;
use crate::selection::HourPieces;
use crate::store::Store;

/// The labels of recordings, by the id in the rows of their numbers.
pub(crate) type Sources = HashMap<[u8; 16], LabelText>;

/// What the recordings of pieces say.
#[derive(Debug, Default)]
pub(super) struct RecordingFacts {
    pub(super) sources: Sources,
    accounts: Vec<Account>,
    pub(super) periods: Periods,
    /// By the id of labels: the start of the first recording that has them, in milliseconds since 1970.
    begins_ms: HashMap<[u8; 16], i64>,
}

/// By the name of a metric: the longest period of its samples, which decides how large errors can be.
pub(super) type Periods = HashMap<String, u64>;

/// The account of a recording.
#[derive(Debug)]
struct Account {
    source: [u8; 16],
    created_ms: i64,
    accounting: Accounting,
}

impl RecordingFacts {
    /// The account of the recordings that begin in the time of a question, and have its labels. Samples are counted as
    /// those of this interval.
    pub(super) fn account(
        &self,
        question: &Question,
        interval_ns: Option<u64>,
    ) -> Option<Accounting> {
        let is_asked = |it: &&Account| {
            let labels = all_labels(&self.sources, &it.source, &[]);
            question.has_time(it.created_ms) && question.has_labels(&labels)
        };
        let asked = self.accounts.iter().filter(is_asked).map(|it| {
            let begin_ns = u64::try_from(it.created_ms).ok().map(|ms| ms.saturating_mul(1_000_000));
            let interval_ns = interval_ns.unwrap_or(it.accounting.interval_ns);
            (begin_ns, it.accounting.with_interval(interval_ns))
        });
        let asked: Vec<_> = asked.collect();
        Accounting::of_jvms(asked.iter().map(|(begin_ns, account)| (*begin_ns, account)))
    }

    /// By labels: the start of the first recording that has them, in milliseconds since 1970.
    pub(super) fn begins_ms(&self) -> HashMap<&LabelText, i64> {
        let mut begins_ms = HashMap::new();
        for (source, labels) in &self.sources {
            let Some(&of_source) = self.begins_ms.get(source) else { continue };
            let begin_ms = begins_ms.entry(labels).or_insert(of_source);
            *begin_ms = of_source.min(*begin_ms);
        }
        begins_ms
    }
}

/// The labels of a number: those of its recording, and its own, which have precedence.
pub(crate) fn all_labels<'a>(
    sources: &'a Sources,
    source: &[u8; 16],
    own: &'a [(String, String)],
) -> BTreeMap<&'a str, &'a str> {
    let common = sources.get(source).map_or(&[][..], |it| it);
    common.iter().chain(own).map(|(key, value)| (&**key, &**value)).collect()
}

impl Store {
    /// The labels of the recordings of pieces.
    pub(crate) async fn sources(&self, pieces: &[HourPieces]) -> Result<Sources> {
        Ok(self.recording_facts(pieces).await?.sources)
    }

    pub(super) async fn recording_facts(&self, pieces: &[HourPieces]) -> Result<RecordingFacts> {
        let mut facts = RecordingFacts::default();
        let files = self.files(pieces, Table::Recordings).await?;
        let mut batches = self.batches(&files, Table::Recordings);
        while let Some(batch) = batches.try_next().await? {
            let (sources, labels) = (ids(&batch, "source")?, maps(&batch, "labels")?);
            let accounts = maps(&batch, "accounting")?;
            let created = numbers::<TimestampMillisecondType>(&batch, "created")?;
            add_periods(&batch, &mut facts.periods)?;
            for row in 0..batch.num_rows() {
                let source = <[u8; 16]>::try_from(sources.value(row))?;
                facts.sources.entry(source).or_insert_with(|| map(labels, row));
                let created_ms = created.value(row);
                let begin_ms = facts.begins_ms.entry(source).or_insert(created_ms);
                *begin_ms = created_ms.min(*begin_ms);
                let lines = map(accounts, row);
                if lines.is_empty() {
                    continue;
                }
                let mut text = String::new();
                for (name, value) in lines {
                    let _ = writeln!(text, "{name}={value}");
                }
                let accounting = Accounting::from_text(&text);
                facts.accounts.push(Account { source, created_ms, accounting });
            }
        }
        Ok(facts)
    }
}

/// Adds the periods of the metrics of all rows.
fn add_periods(batch: &RecordBatch, periods: &mut Periods) -> Result<()> {
    let metrics = batch.column_by_name("metrics").and_then(|it| it.as_list_opt::<i32>());
    let metrics = metrics.and_then(|it| it.values().as_struct_opt());
    let metrics = metrics.context("the file is not of recordings")?;
    let names = metrics.column_by_name("metric").and_then(|it| it.as_string_opt::<i32>());
    let of_names = metrics.column_by_name("period");
    let of_names = of_names.and_then(|it| it.as_primitive_opt::<Int64Type>());
    let pairs = names.zip(of_names).into_iter().flat_map(|(names, of)| names.iter().zip(of));
    for (name, period) in pairs {
        let Some((name, period)) = name.zip(period) else { continue };
        let period = u64::try_from(period).unwrap_or(0);
        match periods.get_mut(name) {
            Some(known) => *known = period.max(*known),
            None => _ = periods.insert(name.to_owned(), period),
        }
    }
    Ok(())
}
