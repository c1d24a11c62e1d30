//! `event_types`: the types of events, with the number of these.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::datasource::MemTable;
use datafusion::error::Result;

use super::Events;
use crate::table::{ColumnInfo, TableInfo};

pub(super) const NAME: &str = "event_types";

/// The table for people.
pub(super) fn info() -> TableInfo {
    let column = |name: &'static str, kind: &'static str, about: &'static str| ColumnInfo {
        name: name.into(),
        kind: kind.into(),
        about: about.into(),
    };
    TableInfo {
        name: NAME.into(),
        about: "the types of events of JFR recordings: each is a table".into(),
        columns: vec![
            column("event_type", "text", "the name of the type, and of its table"),
            column("label", "text", "its label, for people"),
            column("events", "number", "the number of its events, in all files"),
        ],
    }
}

pub(super) fn table(events: &Events) -> Result<MemTable> {
    let tables = || events.tables.values();
    let count = |count| i64::try_from(count).unwrap_or(i64::MAX);
    let columns: [(&str, ArrayRef); 3] = [
        ("event_type", Arc::new(StringArray::from_iter_values(tables().map(|it| &it.name)))),
        ("label", Arc::new(StringArray::from_iter_values(tables().map(|it| &it.label)))),
        ("events", Arc::new(Int64Array::from_iter_values(tables().map(|it| count(it.count))))),
    ];
    let batch = RecordBatch::try_from_iter(columns)?;
    MemTable::try_new(batch.schema(), vec![vec![batch]])
}
