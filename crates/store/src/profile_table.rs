//! Tables whose rows are made of the numbers of a service as one profile, as `perk report` makes them.

mod conditions;
mod function;
mod part;

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::TableType;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use perk_analysis::LabelPattern;
use perk_tables::{ColumnInfo, Limits, RecordingTable, TableInfo, fault, map_type};
use tokio::sync::Semaphore;

use crate::question::{Detail, KeptLabels, KeptTimes, Question};
use crate::store::Store;
use crate::tables::FilterSelection;

use conditions::Conditions;
pub(crate) use function::TableFunction;
use part::ServiceStream;

/// The services whose numbers are read at once: each takes its part of the memory.
const AT_ONCE: usize = 2;

const SERVICE: &str = "service";
const DATE: &str = "date";
const HOUR: &str = "hour";
const TIME: &str = "time";
const LABELS: &str = "labels";
/// The column of the metric, in tables that have it.
const METRIC: &str = "metric";

/// What the rows of a table are made of.
#[derive(Clone, Debug)]
pub(crate) enum RowSource {
    /// The rows of a recording.
    Of(RecordingTable),
    /// A comparison of the numbers with the first label with those with the second.
    Diff(LabelPattern, LabelPattern),
}

/// A table of services, whose hours and labels it distinguishes where they are asked.
#[derive(Clone, Debug)]
pub(crate) struct ProfileTable {
    store: Store,
    limits: Limits,
    source: RowSource,
    schema: SchemaRef,
    places: Arc<Semaphore>,
}

/// A column that says which part of a store a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartColumn {
    Service,
    Date,
    Hour,
    Time,
    Labels,
}

impl PartColumn {
    const ALL: [Self; 5] = [Self::Service, Self::Date, Self::Hour, Self::Time, Self::Labels];

    fn field(self) -> Field {
        let (name, data_type) = match self {
            Self::Service => (SERVICE, DataType::Utf8),
            Self::Date => (DATE, DataType::Date32),
            Self::Hour => (HOUR, DataType::Int64),
            Self::Time => (TIME, DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))),
            Self::Labels => (LABELS, map_type()),
        };
        Field::new(name, data_type, true)
    }

    fn info(self) -> ColumnInfo {
        let (name, kind, about) = match self {
            Self::Service => (SERVICE, "text", "the service"),
            Self::Date => (DATE, "date", "the date, in UTC"),
            Self::Hour => (HOUR, "number", "the hour of the day, in UTC"),
            Self::Time => (
                TIME,
                "time",
                "the begin of the hour, or of the part of it that conditions leave; these are kept to 10 seconds",
            ),
            Self::Labels => (LABELS, "labels", "the labels of the numbers: labels['version']"),
        };
        ColumnInfo { name: name.into(), kind: kind.into(), about: about.into() }
    }
}

impl RowSource {
    /// The columns that say which part a row is of. The sides of a comparison differ in their labels.
    fn part_columns(&self) -> &'static [PartColumn] {
        match self {
            RowSource::Of(_) => &PartColumn::ALL,
            RowSource::Diff(..) => &PartColumn::ALL[..4],
        }
    }

    fn own_schema(&self) -> SchemaRef {
        match self {
            RowSource::Of(table) => table.schema(),
            RowSource::Diff(..) => part::diff_of_nothing().schema(),
        }
    }

    /// The table for people.
    fn info(&self) -> TableInfo {
        let mut info = match self {
            RowSource::Of(table) => table.info(),
            RowSource::Diff(before, after) => TableInfo {
                name: format!("diff('{before}', '{after}')").into(),
                about:
                    "two labels side by side: the numbers of each metric that both have, by method"
                        .into(),
                ..part::diff_of_nothing().info()
            },
        };
        let columns = self.part_columns().iter().map(|it| it.info());
        info.columns.splice(0..0, columns);
        info
    }
}

impl ProfileTable {
    pub(crate) fn new(
        store: &Store,
        limits: &Limits,
        places: &Arc<Semaphore>,
        source: RowSource,
    ) -> Self {
        let fields = source.part_columns().iter().map(|it| Arc::new(it.field()));
        let fields: Vec<_> = fields.chain(source.own_schema().fields().iter().cloned()).collect();
        let limits = Limits { memory_bytes: limits.memory_bytes / AT_ONCE, ..limits.clone() };
        let schema = Arc::new(Schema::new(fields));
        Self { store: store.clone(), limits, source, schema, places: Arc::clone(places) }
    }

    /// The places of services whose numbers are read.
    pub(crate) fn places() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(AT_ONCE))
    }
}

/// The tables and their names.
pub(crate) fn tables() -> Vec<(String, RowSource)> {
    let named = |it: RecordingTable| (it.info().name.into_owned(), RowSource::Of(it));
    RecordingTable::of_sums().into_iter().map(named).collect()
}

/// All tables for people, and then the functions that are tables.
pub(crate) fn infos() -> Vec<TableInfo> {
    let mut infos: Vec<_> = tables().into_iter().map(|(_, source)| source.info()).collect();
    infos.extend(function::examples().iter().map(RowSource::info));
    infos
}

#[async_trait]
impl TableProvider for ProfileTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(filters.iter().map(|it| conditions::pushdown(it)).collect())
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let columns: Arc<[usize]> = match projection {
            Some(columns) => columns.as_slice().into(),
            None => (0..self.schema.fields().len()).collect(),
        };
        let schema = Arc::new(self.schema.project(&columns)?);
        let conditions = Conditions::of(filters);
        if conditions.is_nothing {
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        let selection = FilterSelection::new(session, self.schema(), filters, true)?;
        let pieces = self.store.pieces(&selection).await.map_err(fault)?;
        let asked = self.source.part_columns();
        let has = |column: &PartColumn| {
            asked.iter().position(|it| it == column).is_some_and(|place| columns.contains(&place))
        };
        let has_hours = [PartColumn::Date, PartColumn::Hour, PartColumn::Time].iter().any(has);
        let has_labels = has(&PartColumn::Labels);
        // The pieces are in the order of services and hours.
        let services = pieces.chunk_by(|a, b| a.service() == b.service());
        let partitions = services.map(|pieces| {
            let hours = pieces.iter().map(|it| Some(it.hour()));
            Arc::new(ServiceStream {
                table: self.clone(),
                question: question(pieces[0].service(), &conditions, has_labels),
                hours: if has_hours { hours.collect() } else { vec![None] },
                has_labels,
                columns: Arc::clone(&columns),
                schema: Arc::clone(&schema),
            }) as Arc<dyn PartitionStream>
        });
        let partitions: Vec<_> = partitions.collect();
        if partitions.is_empty() {
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        let plan = StreamingTableExec::try_new(schema, partitions, None, [], false, limit)?;
        Ok(Arc::new(plan))
    }
}

/// What is asked of a service: sums of all that conditions leave.
fn question(service: &str, conditions: &Conditions, has_labels: bool) -> Question {
    let Conditions { from_ms, to_ms, labels, metric, is_nothing: _ } = conditions.clone();
    Question {
        service: Some(service.to_owned()),
        from_ms,
        to_ms,
        labels,
        metric,
        detail: Detail {
            times: KeptTimes::Nothing,
            has_stacks: true,
            has_threads: false,
            labels: match has_labels {
                true => KeptLabels::All,
                false => KeptLabels::Of(Vec::new()),
            },
            is_cpu_time: false,
        },
    }
}
