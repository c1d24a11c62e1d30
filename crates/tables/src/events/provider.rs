//! The rows of a table of events: the files are read again for each query, and of each event the columns that it names.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::TableType;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use perk_formats::jfr::events::{self, EventField, EventSink, Value};
use perk_open::{Options, Source, display_name};
use tokio::sync::mpsc::Sender;

use super::Events;
use super::builder::Columns;
use super::table::EventTable;
use crate::fault::fault;

/// The batches that wait for the query.
const WAITING_BATCHES: usize = 2;
/// The size of a batch with long texts, about.
const BATCH_BYTES: usize = 4 << 20;

/// The table of a type of events.
pub(super) struct EventProvider {
    events: Arc<Events>,
    table: Arc<EventTable>,
}

impl EventProvider {
    pub(super) fn new(events: Arc<Events>, table: Arc<EventTable>) -> Self {
        Self { events, table }
    }
}

impl std::fmt::Debug for EventProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("EventProvider").field(&self.table.name).finish()
    }
}

#[async_trait]
impl TableProvider for EventProvider {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.table.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = &self.table.schema;
        let all: Vec<usize>;
        let columns = match projection {
            Some(columns) => columns,
            None => {
                all = (0..schema.fields().len()).collect();
                &all
            }
        };
        let schema = Arc::new(schema.project(columns)?);
        // The first column is the number of the recording.
        let wanted = columns.iter().filter_map(|&at| self.table.fields.get(at.checked_sub(1)?));
        let wanted: Arc<[EventField]> = wanted.cloned().collect();
        // A partition holds one file's chunk at a time.
        let files = &self.events.files;
        let count = session.config().target_partitions().min(files.len()).max(1);
        let partitions = (0..count).map(|first| {
            Arc::new(Partition {
                events: Arc::clone(&self.events),
                files: files.iter().skip(first).step_by(count).cloned().collect(),
                table: Arc::clone(&self.table),
                wanted: Arc::clone(&wanted),
                recording_at: columns.iter().position(|&at| at == 0),
                schema: Arc::clone(&schema),
            }) as Arc<dyn PartitionStream>
        });
        let partitions = partitions.collect();
        let plan = StreamingTableExec::try_new(schema.clone(), partitions, None, [], false, limit)?;
        Ok(Arc::new(plan))
    }
}

/// The rows of some of the files, one after the other.
#[derive(Clone)]
struct Partition {
    events: Arc<Events>,
    files: Vec<(u64, PathBuf)>,
    table: Arc<EventTable>,
    wanted: Arc<[EventField]>,
    /// The place of the recording's number among the columns, if it is one of them.
    recording_at: Option<usize>,
    schema: SchemaRef,
}

impl std::fmt::Debug for Partition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Partition").field("files", &self.files).finish_non_exhaustive()
    }
}

impl PartitionStream for Partition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        let mut stream = RecordBatchReceiverStream::builder(schema, WAITING_BATCHES);
        let rows = context.session_config().batch_size().max(1);
        let (partition, out) = (self.clone(), stream.tx());
        stream.spawn_blocking(move || {
            partition
                .files
                .iter()
                .try_for_each(|(recording, path)| partition.read(*recording, path, rows, &out))
        });
        stream.build()
    }
}

impl Partition {
    fn read(
        &self,
        recording: u64,
        path: &Path,
        rows: usize,
        out: &Sender<Result<RecordBatch>>,
    ) -> Result<()> {
        // When the file was opened it was read to its end, within the memory that files may take.
        let options = Options { max_memory_bytes: Some(u64::MAX), ..Options::default() };
        let columns = Columns::new(&self.wanted);
        let mut sink =
            Batches { partition: self, recording, columns, count: 0, rows, out, ended: Ok(true) };
        let name = &self.table.name;
        let source = Source::at(path).map_err(fault)?;
        let read =
            source.read(&options, |_, input| events::read(input, name, &self.wanted, &mut sink));
        let bad_count = read.map_err(fault)?;
        sink.send();
        sink.ended?;
        if bad_count > 0 {
            let file = display_name(path);
            (self.events.say)(&format!(
                "{file}: events of {name} that are not as their type says, and left out: {bad_count}"
            ));
        }
        Ok(())
    }
}

/// Makes batches of events.
struct Batches<'a> {
    partition: &'a Partition,
    recording: u64,
    columns: Columns,
    /// The number of events since the last batch.
    count: usize,
    /// The most events of a batch.
    rows: usize,
    out: &'a Sender<Result<RecordBatch>>,
    /// Whether somebody waits for more, or what went wrong.
    ended: Result<bool>,
}

impl EventSink for Batches<'_> {
    fn value(&mut self, node: usize, value: Value<'_>) {
        self.columns.push(node, value);
    }

    fn end_event(&mut self) -> ControlFlow<()> {
        self.count += 1;
        if self.count >= self.rows || self.columns.bytes >= BATCH_BYTES {
            self.send();
        }
        match self.ended {
            Ok(true) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}

impl Batches<'_> {
    /// Sends the events since the last batch.
    fn send(&mut self) {
        if self.count > 0 && matches!(self.ended, Ok(true)) {
            self.ended = self.batch().map(|it| self.out.blocking_send(Ok(it)).is_ok());
        }
    }

    fn batch(&mut self) -> Result<RecordBatch> {
        let count = std::mem::take(&mut self.count);
        let mut arrays = self.columns.take()?;
        if let Some(at) = self.partition.recording_at {
            let number = i64::try_from(self.recording).unwrap_or(i64::MAX);
            let numbers: ArrayRef = Arc::new(Int64Array::from_value(number, count));
            arrays.insert(at, numbers);
        }
        let schema = Arc::clone(&self.partition.schema);
        // A count has rows and no columns.
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
    }
}
