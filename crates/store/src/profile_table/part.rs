//! The rows of a service.

use std::collections::{BTreeMap, BTreeSet};
use std::slice::from_ref;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use datafusion::arrow::array::{ArrayRef, Date32Array};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::streaming::PartitionStream;
use perk_analysis::LabelPattern;
use perk_profile::{Event, LabelSetId, Profile};
use perk_tables::{Recording, RecordingTable, fault, slices};

use super::{PartColumn, ProfileTable, RowSource};
use crate::encode::{maps, numbers, texts, times};
use crate::hour::Hour;
use crate::label_text::{self, LabelText};
use crate::load::NoAnswer;
use crate::question::Question;

/// The batches of rows that wait to be read.
const WAITING: usize = 2;
/// The most sets of labels whose numbers are distinguished: each is a profile of its own.
const MOST_LABEL_SETS: usize = 1000;

/// The rows of a service, hour by hour where they are distinguished.
#[derive(Clone, Debug)]
pub(super) struct ServiceStream {
    pub(super) table: ProfileTable,
    pub(super) question: Question,
    /// The hours; `None` for all of the time.
    pub(super) hours: Vec<Option<Hour>>,
    /// Whether labels are distinguished.
    pub(super) has_labels: bool,
    pub(super) columns: Arc<[usize]>,
    pub(super) schema: SchemaRef,
}

/// The part of a store that rows are of.
struct Part<'a> {
    service: &'a str,
    /// Its hour, and its first moment in milliseconds since 1970.
    hour: Option<(Hour, i64)>,
    labels: LabelText,
}

impl PartitionStream for ServiceStream {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let most_rows = context.session_config().batch_size();
        let mut stream = RecordBatchReceiverStream::builder(Arc::clone(&self.schema), WAITING);
        let (this, rows) = (self.clone(), stream.tx());
        stream.spawn(async move {
            for &hour in &this.hours {
                for batch in this.rows(hour).await? {
                    for piece in slices(&batch, most_rows) {
                        if rows.send(Ok(piece)).await.is_err() {
                            // Nobody wants more.
                            return Ok(());
                        }
                    }
                }
            }
            Ok(())
        });
        stream.build()
    }
}

impl ServiceStream {
    /// The rows of an hour, or of all of the time.
    async fn rows(&self, hour: Option<Hour>) -> Result<Vec<RecordBatch>> {
        let failed = |error| DataFusionError::External(Box::new(error));
        let question =
            hour.map_or_else(|| self.question.clone(), |hour| self.question.of_hour(hour));
        // Others read meanwhile, but do not keep what they read until this one is wanted.
        let _place = self.table.places.acquire().await.map_err(failed)?;
        let Some((profile, table)) = self.read(&question).await.map_err(fault)? else {
            return Ok(Vec::new());
        };
        let (this, hour) = (self.clone(), hour.zip(question.from_ms));
        let made = tokio::task::spawn_blocking(move || this.make(profile, &table, hour)).await;
        made.map_err(|error| DataFusionError::External(Box::new(error)))?
    }

    /// The numbers of a part, and the table that they are shown by; `None` if there are none.
    async fn read(&self, question: &Question) -> anyhow::Result<Option<(Profile, RecordingTable)>> {
        Ok(match &self.table.source {
            RowSource::Of(table) => self.profile(question).await?.map(|it| (it, table.clone())),
            RowSource::Diff(before, after) => {
                let [before, after] =
                    [self.side(question, before).await?, self.side(question, after).await?];
                before.zip(after).map(|(before, after)| {
                    let after = Recording::new(2, String::new(), after, None);
                    (before, RecordingTable::diff(after))
                })
            }
        })
    }

    async fn side(
        &self,
        question: &Question,
        label: &LabelPattern,
    ) -> anyhow::Result<Option<Profile>> {
        let labels = [&question.labels[..], from_ref(label)].concat();
        self.profile(&Question { labels, ..question.clone() }).await
    }

    async fn profile(&self, question: &Question) -> anyhow::Result<Option<Profile>> {
        match self.table.store.profile(question, &self.table.limits).await {
            Ok(profile) => Ok(Some(profile)),
            Err(error) => match error.downcast_ref::<NoAnswer>() {
                Some(NoAnswer::Nothing) => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// The rows of a profile, by its labels where they are distinguished.
    fn make(
        &self,
        profile: Profile,
        table: &RecordingTable,
        hour: Option<(Hour, i64)>,
    ) -> Result<Vec<RecordBatch>> {
        let service = self.question.service.as_deref().unwrap_or_default();
        let parts = match self.has_labels {
            true => by_labels(&profile).with_context(|| service.to_owned()).map_err(fault)?,
            false => vec![(LabelText::new(), profile)],
        };
        let part_columns = self.table.source.part_columns();
        let own = self.columns.iter().filter(|&&it| it >= part_columns.len());
        let own: Vec<_> = own.map(|it| it - part_columns.len()).collect();
        let batches = parts.into_iter().map(|(labels, profile)| {
            let recording = Recording::new(1, String::new(), profile, None);
            let rows = table.rows(&recording, &own)?;
            let part = Part { service, hour, labels };
            let mut own = rows.columns().iter();
            let columns = self.columns.iter().map(|&place| match part_columns.get(place) {
                Some(column) => part.array(*column, rows.num_rows()).map_err(fault),
                None => own.next().cloned().ok_or_else(|| fault(anyhow!("no column"))),
            });
            let columns = columns.collect::<Result<_>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
            let schema = Arc::clone(&self.schema);
            Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
        });
        batches.collect()
    }
}

impl Part<'_> {
    /// A column of its rows.
    fn array(&self, column: PartColumn, row_count: usize) -> anyhow::Result<ArrayRef> {
        let rows = 0..row_count;
        let (hour, begin_ms) = self.hour.unwrap_or((Hour::of(0), 0));
        Ok(match column {
            PartColumn::Service => texts(rows.map(|_| Some(self.service))),
            PartColumn::Date => Arc::new(Date32Array::from(vec![hour.days(); row_count])),
            PartColumn::Hour => numbers(rows.map(|_| Some(hour.number()))),
            PartColumn::Time => times(rows.map(|_| begin_ms)),
            PartColumn::Labels => maps(rows.map(|_| &*self.labels))?,
        })
    }
}

/// The numbers of a profile by their labels.
fn by_labels(profile: &Profile) -> anyhow::Result<Vec<(LabelText, Profile)>> {
    let sections = || {
        profile.events.iter().filter_map(|event| match event {
            Event::Section(section) => Some(section),
            _ => None,
        })
    };
    let ids: BTreeSet<_> = sections().flat_map(|it| it.rows().map(|(key, _)| key.labels)).collect();
    let mut sets: BTreeMap<LabelText, BTreeSet<LabelSetId>> = BTreeMap::new();
    for id in ids {
        let mut labels = label_text::texts(profile, profile.labels.get(id));
        labels.sort();
        sets.entry(labels).or_default().insert(id);
    }
    if sets.len() > MOST_LABEL_SETS {
        bail!(
            "more than {MOST_LABEL_SETS} sets of labels: ask for one, as in labels['version'] = '1.4.2', or ask samples"
        );
    }
    let part = |sets: BTreeSet<LabelSetId>| {
        let kept = sections().map(|section| {
            let mut section = section.clone();
            section.retain(|key| sets.contains(&key.labels));
            Event::Section(section)
        });
        // When numbers were measured, and the account, are of all labels.
        let mut part = profile.clone();
        part.events = kept.collect();
        part
    };
    Ok(sets.into_iter().map(|(labels, sets)| (labels, part(sets))).collect())
}

/// A comparison without numbers, whose columns are those of all.
pub(super) fn diff_of_nothing() -> RecordingTable {
    RecordingTable::diff(Recording::new(2, String::new(), Profile::default(), None))
}
