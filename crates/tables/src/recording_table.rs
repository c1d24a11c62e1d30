//! Tables of single recordings, for those who know other tables of recordings than [`session`](crate::session).

use std::sync::Arc;

use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::Result;

use crate::profile::{self, diff, flame};
use crate::recording::Recording;
use crate::table::{Part, RECORDING, Table, TableInfo};

/// The tables that are made of the sums of a recording, whatever their times, threads and labels are.
const OF_SUMS: [&str; 5] = ["edges", "lines", "locks", "methods", "sites"];

/// A table of one recording, without the column that names it.
#[derive(Clone)]
pub struct RecordingTable {
    table: Arc<dyn Table>,
    /// The columns that are left out at the begin.
    skipped: usize,
}

impl std::fmt::Debug for RecordingTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RecordingTable").field(&self.table.info().name).finish()
    }
}

impl RecordingTable {
    /// `edges`, `lines`, `locks`, `methods` and `sites`, which sums are enough for.
    pub fn of_sums() -> Vec<Self> {
        let tables = profile::all().into_iter();
        tables.filter(|it| OF_SUMS.contains(&&*it.info().name)).map(Self::new).collect()
    }

    /// The call tree with the numbers of a metric: `flame('samples')`. It has no rows where the recording has not the metric.
    pub fn flame(metric: &str) -> Self {
        Self::new(Arc::new(flame::flame(metric.to_owned())))
    }

    /// A recording beside this one, by method: `diff(1, 2)`.
    pub fn diff(after: Recording) -> Self {
        Self::new(Arc::new(diff::diff(Arc::new([after]), 0)))
    }

    fn new(table: Arc<dyn Table>) -> Self {
        let info = table.info();
        let skipped = info.columns.iter().take_while(|it| it.name == RECORDING).count();
        Self { table, skipped }
    }

    /// The table for people.
    pub fn info(&self) -> TableInfo {
        let mut info = self.table.info();
        info.columns.drain(..self.skipped);
        info
    }

    /// Its columns.
    pub fn schema(&self) -> SchemaRef {
        let schema = self.table.schema();
        let columns: Vec<_> = schema.fields().iter().skip(self.skipped).cloned().collect();
        Arc::new(Schema::new(columns))
    }

    /// The rows of a recording, with the columns at these places.
    ///
    /// # Errors
    /// There are no such columns.
    pub fn rows(&self, recording: &Recording, columns: &[usize]) -> Result<RecordBatch> {
        let mut rows = RecordBatch::new_empty(Arc::new(self.schema().project(columns)?));
        let columns: Vec<_> = columns.iter().map(|place| place + self.skipped).collect();
        self.table.make(recording, &columns, Part { index: 0, count: 1 }, &mut |batch| {
            rows = batch;
            Ok(())
        })?;
        Ok(rows)
    }
}
