//! A part of a store as one profile.

mod build;
mod counts;
mod index;
mod labels;
mod no_answer;
mod recording_facts;
mod session_sums;
mod sums;
mod totals;

use std::sync::Arc;

use anyhow::{Context, Result};
use datafusion::common::runtime::SpawnedTask;
use datafusion::parquet::arrow::ProjectionMask;
use datafusion::parquet::arrow::arrow_reader::ArrowReaderOptions;
use datafusion::parquet::arrow::async_reader::ParquetRecordBatchStreamBuilder;
use datafusion::prelude::{DataFrame, SessionContext, col};
use futures::{StreamExt, TryStreamExt, stream};
use perk_profile::{Metric, Profile};
use perk_tables::Limits;

use crate::file_place::FilePlace;
use crate::file_reader::FileReader;
use crate::layout::Table;
use crate::question::Question;
use crate::read_dates::Dates;
use crate::schema;
use crate::selection::{HourPieces, StoredFile};
use crate::stacks::StackPaths;
use crate::store::{REQUESTS, Store};
use crate::tables::StoreTable;

use build::Times;
pub use counts::{Counts, Group};
pub use labels::LabelValues;
pub use no_answer::NoAnswer;
use recording_facts::RecordingFacts;
pub(crate) use recording_facts::{Sources, all_labels};
use sums::{SumReader, Sums, columns};
pub use totals::Total;

/// The rows that are read at once.
const BATCH_ROWS: usize = 64 << 10;
/// The memory of a sum in maps and in a profile, in bytes.
const SUM_BYTES: usize = 200;

impl Store {
    /// The numbers that a question asks as one profile.
    ///
    /// # Errors
    /// The store cannot be read, has nothing of it, or has more than fits the memory, in one line.
    pub async fn profile(&self, question: &Question, limits: &Limits) -> Result<Profile> {
        let Part { pieces, facts, sums, paths } = self.part(question, limits).await?;
        let times = times(question, &pieces, &sums);
        let is_cpu_time = question.detail.is_cpu_time;
        let profile = build::profile(paths, sums, &facts.periods, times, is_cpu_time);
        let mut profile = profile.with_context(|| format!("{self}"))?;
        // Recordings can have different intervals; the numbers are of one.
        profile.accounting = facts.account(question, Metric::Samples.period(&profile));
        Ok(profile)
    }

    /// What a question asks, in sums.
    async fn part(&self, question: &Question, limits: &Limits) -> Result<Part> {
        let pieces = self.pieces(&question.window()).await?;
        let facts = Arc::new(self.recording_facts(&pieces).await?);
        // A compacted piece leaves stacks to those of other hours of its date.
        let has_compaction = pieces.iter().any(|it| it.compaction.is_some());
        let stacks = match question.detail.has_stacks {
            true if has_compaction => {
                self.files(&self.dates_of(&pieces).await?, Table::Stacks).await?
            }
            true => self.files(&pieces, Table::Stacks).await?,
            false => Vec::new(),
        };
        let stacks = self.stack_rows(stacks);
        let sums = self.sums(&pieces, &facts, question, limits).await?;
        let paths = stacks.paths(|it| sums.stacks.has(it)).await?;
        Ok(Part { pieces, facts, sums, paths })
    }

    /// The sums of pieces.
    async fn sums(
        &self,
        pieces: &[HourPieces],
        facts: &Arc<RecordingFacts>,
        question: &Question,
        limits: &Limits,
    ) -> Result<Sums> {
        let most = limits.memory_bytes / SUM_BYTES;
        if let Some(session) = &self.session {
            return self.sums_of_session(session, pieces, facts, question, most).await;
        }
        let question = Arc::new(question.clone());
        let files = self.files(pieces, Table::Samples).await?;
        let parts = stream::iter(files).map(|file| {
            let part =
                self.clone().sums_of_file(file, Arc::clone(&question), Arc::clone(facts), most);
            SpawnedTask::spawn(part)
        });
        let mut parts = parts.buffered(REQUESTS);
        let mut sums = Sums::default();
        while let Some(part) = parts.next().await {
            let part = part.context("a file was not read to its end")??;
            sums.merge(part, most).with_context(|| format!("{self}"))?;
        }
        Ok(sums)
    }

    /// All pieces of the dates of these.
    async fn dates_of(&self, pieces: &[HourPieces]) -> Result<Vec<HourPieces>> {
        let dates: Vec<_> = pieces.iter().map(|it| it.slot.clone().of_date()).collect();
        self.pieces(&Dates(&dates)).await
    }

    /// The sums of a file of `samples`.
    async fn sums_of_file(
        self,
        file: StoredFile,
        question: Arc<Question>,
        facts: Arc<RecordingFacts>,
        most: usize,
    ) -> Result<Sums> {
        let path = file.meta.location.clone();
        let file_hour = file.slot.hour;
        let has_edge = !question.has_all_of(file_hour);
        let read = async {
            let reader = FileReader { objects: Arc::clone(&self.objects), file: file.meta };
            let options =
                ArrowReaderOptions::new().with_schema(schema::with_dictionaries(Table::Samples));
            let builder =
                ParquetRecordBatchStreamBuilder::new_with_options(reader, options).await?;
            let columns = columns(&question, has_edge);
            let mask = ProjectionMask::columns(builder.parquet_schema(), columns);
            let mut batches = builder.with_projection(mask).with_batch_size(BATCH_ROWS).build()?;
            let mut reader = SumReader::new(&question, &facts.sources, most);
            while let Some(batch) = batches.try_next().await? {
                reader.add(&batch, file_hour, has_edge)?;
            }
            Ok(reader.finish())
        };
        let read: Result<_> = read.await;
        read.with_context(|| format!("{self}: {path}"))
    }

    /// The rows of `samples` that pieces have, with the columns of the files.
    pub(crate) fn sample_rows(
        &self,
        context: &SessionContext,
        pieces: Vec<HourPieces>,
    ) -> Result<DataFrame> {
        let table =
            StoreTable::of_pieces(self.clone(), FilePlace::of_session()?, Table::Samples, pieces);
        let columns = schema::of(Table::Samples);
        let columns: Vec<_> = columns.fields().iter().map(|it| col(it.name())).collect();
        Ok(context.read_table(Arc::new(table))?.select(columns)?)
    }
}

/// What a question asks of a store.
struct Part {
    pieces: Vec<HourPieces>,
    facts: Arc<RecordingFacts>,
    sums: Sums,
    paths: StackPaths,
}

/// The times of the answer: those of its numbers, or else those that are asked, as far as the store has them.
fn times(question: &Question, pieces: &[HourPieces], sums: &Sums) -> Times {
    let interval_ms = question.detail.times.interval_ms();
    let (begin_ms, end_ms) = match interval_ms {
        Some(interval_ms) => {
            let times = || sums.sums.keys().map(|it| it.time_ms);
            (times().min(), times().max().map(|it| it.saturating_add(interval_ms)))
        }
        None => {
            let hours = || pieces.iter().map(|it| it.slot.hour);
            let begin_ms =
                hours().min().map(|it| it.begin_ms().max(question.from_ms.unwrap_or(i64::MIN)));
            let end_ms =
                hours().max().map(|it| it.end_ms().min(question.to_ms.unwrap_or(i64::MAX)));
            (begin_ms, end_ms)
        }
    };
    let (begin_ms, end_ms) = (begin_ms.unwrap_or_default(), end_ms.unwrap_or_default());
    Times { begin_ms, end_ms, interval_ms }
}
