//! The columns of a store's files.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use perk_tables::{STACK_ID_BYTES, map_type};

use crate::layout::Table;

/// A time to the millisecond, in UTC.
pub(crate) fn time() -> DataType {
    DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))
}

fn list(of: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(of, true)))
}

/// The columns of a frame.
pub(crate) fn frame() -> Fields {
    Fields::from(vec![
        Field::new("class", DataType::Utf8, true),
        Field::new("method", DataType::Utf8, true),
        Field::new("signature", DataType::Utf8, true),
        Field::new("source", DataType::Utf8, true),
        Field::new("line", DataType::Int32, true),
        Field::new("kind", DataType::Utf8, true),
    ])
}

/// The columns of a recording's metric.
pub(crate) fn metric() -> Fields {
    Fields::from(vec![
        Field::new("metric", DataType::Utf8, true),
        Field::new("unit", DataType::Utf8, true),
        Field::new("total", DataType::Int64, true),
        Field::new("period", DataType::Int64, true),
    ])
}

/// The columns of the files of a table. Those of the folders' names, such as the service, are not in them.
pub(crate) fn of(table: Table) -> SchemaRef {
    let id = || DataType::FixedSizeBinary(STACK_ID_BYTES);
    let columns = match table {
        Table::Samples => vec![
            Field::new("time", time(), false),
            Field::new("metric", DataType::Utf8, false),
            Field::new("unit", DataType::Utf8, false),
            Field::new("thread", DataType::Utf8, true),
            Field::new("stack", id(), true),
            Field::new("subject", DataType::Utf8, true),
            Field::new("source", id(), false),
            Field::new("labels", map_type(), false),
            Field::new("value", DataType::Int64, false),
            Field::new("cpu_ns", DataType::Int64, true),
        ],
        Table::Stacks => vec![
            Field::new("stack", id(), false),
            Field::new("frames", list(DataType::Struct(frame())), false),
        ],
        Table::Recordings => vec![
            Field::new("recording", id(), false),
            Field::new("source", id(), false),
            Field::new("file", DataType::Utf8, true),
            Field::new("created", time(), false),
            Field::new("duration_ns", DataType::Int64, true),
            Field::new("interval_ns", DataType::Int64, true),
            Field::new("program", DataType::Utf8, true),
            Field::new("jvm", DataType::Utf8, true),
            Field::new("cpu_ns", DataType::Int64, true),
            Field::new("perk_cpu_ns", DataType::Int64, true),
            Field::new("labels", map_type(), false),
            Field::new("accounting", map_type(), false),
            Field::new("metrics", list(DataType::Struct(metric())), false),
            Field::new("notes", list(DataType::Utf8), false),
        ],
    };
    Arc::new(Schema::new(columns))
}

/// The same, with texts as dictionaries, which is how files have them.
pub(crate) fn with_dictionaries(table: Table) -> SchemaRef {
    let schema = of(table);
    let fields = schema.fields().iter().map(|it| with_dictionary(it));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn with_dictionary(field: &Field) -> Field {
    let of_fields = |fields: &Fields| fields.iter().map(|it| with_dictionary(it)).collect();
    let data_type = match field.data_type() {
        DataType::Utf8 => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        DataType::List(of) => DataType::List(Arc::new(with_dictionary(of))),
        DataType::Struct(fields) => DataType::Struct(of_fields(fields)),
        // Those of labels are few.
        other => other.clone(),
    };
    field.clone().with_data_type(data_type)
}
