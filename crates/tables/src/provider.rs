//! A table of all recordings for DataFusion. Each recording is a partition, or several of a heap dump, whose rows are made
//! while they are read.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::exec_err;
use datafusion::datasource::TableType;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use tokio::sync::mpsc::Sender;

use crate::fault::fault;
use crate::recording::Recording;
use crate::recordings::Recordings;
use crate::table::{Part, Table, slices};

/// The batches of rows that wait to be read.
const WAITING: usize = 2;

/// A table of recordings.
pub(crate) struct Provider {
    table: Arc<dyn Table>,
    recordings: Arc<Recordings>,
    /// The position of the one whose rows it has; `None` of all.
    at: Option<usize>,
}

impl Provider {
    /// The table of all recordings.
    pub(crate) fn new(table: Arc<dyn Table>, recordings: Arc<Recordings>) -> Self {
        Self { table, recordings, at: None }
    }

    /// The table of one recording, by its position.
    pub(crate) fn of_one(table: Arc<dyn Table>, recordings: Arc<Recordings>, at: usize) -> Self {
        Self { table, recordings, at: Some(at) }
    }
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Provider").field(&self.table.info().name).finish()
    }
}

#[async_trait]
impl TableProvider for Provider {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
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
        let schema = self.table.schema();
        let columns: Arc<[usize]> = match projection {
            Some(columns) => columns.as_slice().into(),
            None => (0..schema.fields().len()).collect(),
        };
        let schema = Arc::new(schema.project(&columns)?);
        let known = Arc::clone(&self.recordings);
        let recordings = tokio::task::spawn_blocking(move || known.get());
        let recordings =
            recordings.await.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let recordings = recordings.map_err(fault)?;
        let at = self.at.map_or(0..recordings.len(), |at| at..at + 1);
        let threads = session.config().target_partitions().max(1);
        let parts = at.flat_map(|at| {
            let count = if self.table.has_parts(&recordings[at]) { threads } else { 1 };
            (0..count).map(move |index| (at, Part { index, count }))
        });
        let partitions = parts.map(|(at, part)| {
            Arc::new(Partition {
                table: Arc::clone(&self.table),
                recordings: Arc::clone(&recordings),
                at,
                part,
                columns: Arc::clone(&columns),
                schema: Arc::clone(&schema),
            }) as Arc<dyn PartitionStream>
        });
        let partitions = partitions.collect();
        let plan = StreamingTableExec::try_new(schema.clone(), partitions, None, [], false, limit)?;
        Ok(Arc::new(plan))
    }
}

/// The rows of a recording, or of a part of it.
#[derive(Clone)]
struct Partition {
    table: Arc<dyn Table>,
    recordings: Arc<[Recording]>,
    at: usize,
    part: Part,
    columns: Arc<[usize]>,
    schema: SchemaRef,
}

impl Partition {
    /// Makes the rows, at most so many in a batch, until they are no longer wanted.
    fn send(&self, most_rows: usize, rows: &Sender<Result<RecordBatch>>) -> Result<()> {
        let mut sink = |batch: RecordBatch| {
            for piece in slices(&batch, most_rows) {
                if rows.blocking_send(Ok(piece)).is_err() {
                    return exec_err!("the query has ended");
                }
            }
            Ok(())
        };
        self.table.make(&self.recordings[self.at], &self.columns, self.part, &mut sink)
    }
}

impl std::fmt::Debug for Partition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Partition");
        shown.field("at", &self.at).field("part", &self.part).field("columns", &self.columns);
        shown.finish()
    }
}

impl PartitionStream for Partition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let most_rows = context.session_config().batch_size();
        let mut stream = RecordBatchReceiverStream::builder(Arc::clone(&self.schema), WAITING);
        let (partition, rows) = (self.clone(), stream.tx());
        // Making rows takes a while, which other tasks need not wait for.
        stream.spawn_blocking(move || partition.send(most_rows, &rows));
        stream.build()
    }
}
