//! The files of a store as tables of DataFusion.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::TimestampMillisecondArray;
use datafusion::arrow::array::{ArrayRef, BooleanArray, Date32Array, Int64Array, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, DFSchema, ScalarValue, project_schema};
use datafusion::datasource::TableType;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use object_store::ObjectMeta;
use perk_tables::fault;

use crate::file_place::FilePlace;
use crate::hour::Hour;
use crate::layout::{Slot, Table};
use crate::read_dates::ReadDates;
use crate::schema;
use crate::selection::{HourPieces, Selection};
use crate::store::{INDEX_BYTES, Store};

/// A table of a store, with the columns of its folders' names: service and date, and the hour of samples.
#[derive(Debug)]
pub(crate) struct StoreTable {
    store: Store,
    place: FilePlace,
    table: Table,
    schema: TableSchema,
    /// The pieces; those of the whole store, as it is when the table is read, if `None`.
    pieces: Option<Vec<HourPieces>>,
    read: ReadDates,
}

impl StoreTable {
    pub(crate) fn new(store: Store, place: FilePlace, table: Table, read: ReadDates) -> Self {
        let mut folders: Vec<FieldRef> = vec![
            Arc::new(Field::new("service", DataType::Utf8, false)),
            Arc::new(Field::new("date", DataType::Date32, false)),
        ];
        if table == Table::Samples {
            folders.push(Arc::new(Field::new("hour", DataType::Int64, false)));
        }
        let schema =
            TableSchema::builder(schema::of(table)).with_table_partition_cols(folders).build();
        Self { store, place, table, schema, pieces: None, read }
    }

    /// The table of these pieces alone.
    pub(crate) fn of_pieces(
        store: Store,
        place: FilePlace,
        table: Table,
        pieces: Vec<HourPieces>,
    ) -> Self {
        Self { pieces: Some(pieces), ..Self::new(store, place, table, ReadDates::default()) }
    }

    /// The values of the folders' names.
    fn folders(&self, slot: &Slot) -> Vec<ScalarValue> {
        let mut values = vec![
            ScalarValue::Utf8(Some(slot.service.clone())),
            ScalarValue::Date32(Some(slot.hour.days())),
        ];
        if self.table == Table::Samples {
            values.push(ScalarValue::Int64(Some(slot.hour.number())));
        }
        values
    }
}

#[async_trait]
impl TableProvider for StoreTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.schema.table_schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        // They select hours here, and then rows.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let has_time = self.table == Table::Samples;
        let selection = FilterSelection::new(session, self.schema(), filters, has_time)?;
        let hours = match &self.pieces {
            Some(pieces) => pieces.clone(),
            None => self.store.pieces(&selection).await.map_err(fault)?,
        };
        let files = self.store.files(&hours, self.table).await.map_err(fault)?;
        self.read.add(hours);
        if files.is_empty() {
            let schema = project_schema(&self.schema(), projection)?;
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        let files = files.into_iter().map(|file| {
            let values = self.folders(&file.slot);
            let location = self.place.path(file.meta.location)?;
            let file = PartitionedFile::new_from_meta(ObjectMeta { location, ..file.meta });
            Ok(file.with_partition_values(values).with_metadata_size_hint(INDEX_BYTES))
        });
        let files: Vec<_> = files.collect::<anyhow::Result<_>>().map_err(fault)?;
        let source = ParquetSource::new(self.schema.clone())
            .with_pushdown_filters(false)
            .with_metadata_size_hint(INDEX_BYTES);
        let groups = FileGroup::new(files).split_files(session.config().target_partitions());
        let config = FileScanConfigBuilder::new(self.place.url.clone(), Arc::new(source))
            .with_file_groups(groups)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }
}

/// What the filters of a query leave of a store.
pub(crate) struct FilterSelection {
    /// Whether times are those of the hours; other tables have other times.
    has_time: bool,
    predicate: Option<PruningPredicate>,
}

impl FilterSelection {
    /// What filters of a table with these columns leave.
    pub(crate) fn new(
        session: &dyn Session,
        schema: SchemaRef,
        filters: &[Expr],
        has_time: bool,
    ) -> Result<Self> {
        let Some(filter) = conjunction(filters.iter().cloned()) else {
            return Ok(Self { has_time, predicate: None });
        };
        let named = DFSchema::try_from(Arc::clone(&schema))?;
        let filter = session.create_physical_expr(filter, &named)?;
        let predicate =
            PruningPredicateBuilder::new().with_file_schema(schema).try_build(filter).ok();
        Ok(Self { has_time, predicate })
    }
}

impl Selection for FilterSelection {
    fn has(&self, service: &str, hours: Option<(Hour, Hour)>) -> bool {
        let Some(predicate) = &self.predicate else { return true };
        let facts = Facts { has_time: self.has_time, service, hours };
        // What cannot be judged is read.
        predicate.prune(&facts).map_or(true, |kept| kept.into_iter().all(|it| it))
    }
}

/// What is known of a service, a date or an hour before its files are read.
struct Facts<'a> {
    has_time: bool,
    service: &'a str,
    hours: Option<(Hour, Hour)>,
}

impl Facts<'_> {
    fn bound(&self, column: &Column, of: impl Fn((Hour, Hour)) -> (Hour, i64)) -> Option<ArrayRef> {
        if column.name() == "service" {
            return Some(Arc::new(StringArray::from(vec![self.service])));
        }
        let (hour, time_ms) = of(self.hours?);
        Some(match column.name() {
            "date" => Arc::new(Date32Array::from(vec![hour.days()])),
            "hour" => Arc::new(Int64Array::from(vec![hour.number()])),
            "time" if self.has_time => {
                Arc::new(TimestampMillisecondArray::from(vec![time_ms]).with_timezone("UTC"))
            }
            _ => return None,
        })
    }
}

impl PruningStatistics for Facts<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bound(column, |(first, _)| (first, first.begin_ms()))
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bound(column, |(_, last)| (last, last.end_ms()))
    }

    fn num_containers(&self) -> usize {
        1
    }

    fn null_counts(&self, _column: &Column) -> Option<ArrayRef> {
        None
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        None
    }

    fn contained(&self, _column: &Column, _values: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
