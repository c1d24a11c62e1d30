//! Sums that a session of a cluster makes: it adds up the rows where they are read, and what comes here is as large as the
//! answer.

use std::sync::Arc;

use anyhow::{Context, Result};
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::functions::core::expr_fn::nullif;
use datafusion::functions_aggregate::expr_fn::sum;
use datafusion::prelude::{DataFrame, Expr, SessionContext, col, lit};
use futures::TryStreamExt;

use super::RecordingFacts;
use super::sums::{SumReader, Sums, columns};
use crate::file_place::FilePlace;
use crate::hour::{HOUR_MS, Hour};
use crate::layout::Table;
use crate::question::{Detail, KeptTimes, Question};
use crate::rows::TICK_MS;
use crate::schema;
use crate::selection::HourPieces;
use crate::store::Store;
use crate::tables::StoreTable;

/// The columns that are added up.
const SUMMED: [&str; 2] = ["value", "cpu_ns"];
/// What rows of one sum have in common besides: the interval of CPU samples, as each can have another, and whether there is one.
const INTERVAL: &str = "interval_ns";
const IS_TIMED: &str = "is_timed";

impl Store {
    /// The sums of pieces, by a session that finds files as machines of a cluster do.
    pub(super) async fn sums_of_session(
        &self,
        session: &SessionContext,
        pieces: &[HourPieces],
        facts: &RecordingFacts,
        question: &Question,
        most: usize,
    ) -> Result<Sums> {
        // Rows have no hour when they come: it is an interval.
        let times = match question.detail.times {
            KeptTimes::Hours => KeptTimes::Intervals(HOUR_MS),
            times => times,
        };
        let detail = Detail { times, ..question.detail.clone() };
        let question = Question { detail, ..question.clone() };
        let has_edge = !pieces.iter().all(|it| question.has_all_of(it.slot.hour));
        let place = FilePlace::of_cluster(self.address())?;
        let table = StoreTable::of_pieces(self.clone(), place, Table::Samples, pieces.to_vec());
        let rows = session.read_table(Arc::new(table))?;
        let mut batches = sums(rows, &question, has_edge)?.execute_stream().await?;
        let mut reader = SumReader::new(&question, &facts.sources, most);
        // The session has left out what is before and after the time.
        let (any_hour, has_edge) = (Hour::of(0), false);
        while let Some(batch) = batches.try_next().await.with_context(|| format!("{self}"))? {
            reader.add(&as_in_files(&batch)?, any_hour, has_edge)?;
        }
        Ok(reader.finish())
    }
}

/// The sums of rows by what a question distinguishes.
fn sums(mut rows: DataFrame, question: &Question, has_edge: bool) -> Result<DataFrame> {
    if let Some(metric) = &question.metric {
        rows = rows.filter(col("metric").eq(lit(metric.as_str())))?;
    }
    let from_ms = question.from_ms.filter(|_| has_edge);
    if let Some(from_ms) = from_ms {
        rows = rows.filter(col("time").gt_eq(time(from_ms - from_ms.rem_euclid(TICK_MS))))?;
    }
    if let Some(to_ms) = question.to_ms.filter(|_| has_edge) {
        rows = rows.filter(col("time").lt(time(to_ms)))?;
    }
    let groups = columns(question, false).into_iter().filter(|it| !SUMMED.contains(it));
    let mut groups: Vec<_> = groups
        .map(|name| match question.detail.times.interval_ms() {
            Some(interval_ms) if name == "time" => begin(interval_ms).alias(name),
            _ => col(name),
        })
        .collect();
    groups.push((col("cpu_ns") / nullif(col("value"), lit(0_i64))).alias(INTERVAL));
    groups.push(col("cpu_ns").is_not_null().alias(IS_TIMED));
    let sums = SUMMED.map(|name| sum(col(name)).alias(name));
    Ok(rows.aggregate(groups, sums.into())?)
}

fn time(unix_ms: i64) -> Expr {
    lit(ScalarValue::TimestampMillisecond(Some(unix_ms), Some("UTC".into())))
}

/// The begin of the interval that a time is in.
fn begin(interval_ms: i64) -> Expr {
    let unix_ms = || datafusion::prelude::cast(col("time"), DataType::Int64);
    let interval = || lit(interval_ms);
    let rest = (unix_ms() % interval() + interval()) % interval();
    datafusion::prelude::cast(unix_ms() - rest, schema::time())
}

/// A batch with texts as dictionaries, which is how files have them.
fn as_in_files(batch: &RecordBatch) -> Result<RecordBatch> {
    let of_files = schema::with_dictionaries(Table::Samples);
    let columns = batch.schema_ref().fields().iter().zip(batch.columns());
    let columns = columns.map(|(field, column)| match of_files.field_with_name(field.name()) {
        Ok(of_file) if of_file.data_type() != column.data_type() => {
            let column = cast(column, of_file.data_type())?;
            Ok((field.as_ref().clone().with_data_type(of_file.data_type().clone()), column))
        }
        _ => Ok((field.as_ref().clone(), Arc::clone(column))),
    });
    let columns: Vec<(_, ArrayRef)> = columns.collect::<Result<_>>()?;
    let (fields, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}
