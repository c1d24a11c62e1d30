//! A table of all recordings for DataFusion. Each recording is a partition, whose rows are made when they are read.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::DataFusionError;
use datafusion::datasource::TableType;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::{StreamExt, TryStreamExt, stream};

use crate::recording::Recording;
use crate::recordings::Recordings;
use crate::session::fault;
use crate::table::Table;

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
        _session: &dyn Session,
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
        let partitions = at.map(|at| {
            Arc::new(Partition {
                table: Arc::clone(&self.table),
                recordings: Arc::clone(&recordings),
                at,
                columns: Arc::clone(&columns),
                schema: Arc::clone(&schema),
            }) as Arc<dyn PartitionStream>
        });
        let partitions = partitions.collect();
        let plan = StreamingTableExec::try_new(schema.clone(), partitions, None, [], false, limit)?;
        Ok(Arc::new(plan))
    }
}

/// The rows of one recording.
struct Partition {
    table: Arc<dyn Table>,
    recordings: Arc<[Recording]>,
    at: usize,
    columns: Arc<[usize]>,
    schema: SchemaRef,
}

impl std::fmt::Debug for Partition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Partition").field("at", &self.at).field("columns", &self.columns).finish()
    }
}

impl PartitionStream for Partition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (table, recordings) = (Arc::clone(&self.table), Arc::clone(&self.recordings));
        let (at, columns) = (self.at, Arc::clone(&self.columns));
        let rows = context.session_config().batch_size();
        // Making rows takes a while, which other tasks need not wait for.
        let batch = async move {
            let made = tokio::task::spawn_blocking(move || table.batch(&recordings[at], &columns));
            made.await.map_err(|error| DataFusionError::External(Box::new(error)))?
        };
        let parts = stream::once(batch).map_ok(move |batch| {
            let starts = (0..batch.num_rows()).step_by(rows.max(1));
            let part = move |from: usize| Ok(batch.slice(from, rows.min(batch.num_rows() - from)));
            stream::iter(starts.map(part))
        });
        let parts = parts.try_flatten().boxed();
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), parts))
    }
}
