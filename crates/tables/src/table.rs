//! A table: its columns, and how the rows of a recording are made.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BooleanBuilder, FixedSizeBinaryBuilder, Int64Builder, MapBuilder, MapFieldNames,
    StringBuilder, TimestampNanosecondBuilder,
};
use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::error::Result;
use perk_profile::Label;

use crate::recording::Recording;
use crate::stacks::{STACK_ID_BYTES, StackId};

/// A table for people: `\d` and docs/sql.md show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableInfo {
    /// Its name in SQL.
    pub name: Cow<'static, str>,
    /// What a row is.
    pub about: Cow<'static, str>,
    /// Its columns, in order.
    pub columns: Vec<ColumnInfo>,
}

/// A column for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Its name in SQL, with its unit.
    pub name: Cow<'static, str>,
    /// Its type, in a word.
    pub kind: Cow<'static, str>,
    /// What it means, and when it is null.
    pub about: Cow<'static, str>,
}

/// A table of a recording, whatever its rows are.
pub(crate) trait Table: Send + Sync {
    fn info(&self) -> TableInfo;

    fn schema(&self) -> SchemaRef;

    /// Whether the rows of this recording are so many that several threads make them.
    fn has_parts(&self, _recording: &Recording) -> bool {
        false
    }

    /// Makes the rows of a part of a recording, with these columns, until `sink` fails.
    fn make(
        &self,
        recording: &Recording,
        columns: &[usize],
        part: Part,
        sink: &mut Sink<'_>,
    ) -> Result<()>;
}

/// A receiver of rows. It fails when nobody wants more.
pub(crate) type Sink<'a> = dyn FnMut(RecordBatch) -> Result<()> + 'a;

/// The column that names the recording.
pub(crate) const RECORDING: &str = "recording";

/// One of several parts of about the same size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Its number, from 0.
    pub(crate) index: usize,
    /// The number of all.
    pub(crate) count: usize,
}

impl Part {
    /// Its share of things that are numbered from 0.
    pub(crate) fn of(self, thing_count: usize) -> Range<usize> {
        let bound =
            |part: usize| (thing_count as u128 * part as u128 / self.count as u128) as usize;
        bound(self.index)..bound(self.index + 1)
    }
}

/// How the rows of a recording are made.
pub(crate) type Rows<R> = dyn Fn(&Recording) -> Vec<R> + Send + Sync;

/// A table of rows `R`.
pub(crate) struct TableOf<R> {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) rows: Box<Rows<R>>,
    pub(crate) columns: Vec<Column<R>>,
}

/// A column of rows `R`: its name, its values, and what they mean.
pub(crate) struct Column<R> {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) values: Values<R>,
}

/// How the value of a row is found.
pub(crate) enum Values<R> {
    Text(for<'a> fn(&'a Recording, &'a R) -> Option<&'a str>),
    Number(fn(&Recording, &R) -> Option<u64>),
    Flag(fn(&Recording, &R) -> Option<bool>),
    /// Nanoseconds since 1970.
    Time(fn(&Recording, &R) -> Option<i64>),
    Stack(fn(&Recording, &R) -> Option<StackId>),
    Labels(for<'a> fn(&'a Recording, &'a R) -> Cow<'a, [Label]>),
}

impl<R> Column<R> {
    pub(crate) fn new(name: &'static str, values: Values<R>, about: &'static str) -> Self {
        Self { name, about, values }
    }

    /// The column that each table begins with.
    pub(crate) fn recording() -> Self {
        let number = Values::Number(|recording, _| Some(recording.number));
        Self::new(RECORDING, number, "the recording, as in `recordings`")
    }
}

impl<R> Values<R> {
    fn kind(&self) -> &'static str {
        match self {
            Values::Text(_) => "text",
            Values::Number(_) => "number",
            Values::Flag(_) => "true or false",
            Values::Time(_) => "time",
            Values::Stack(_) => "stack",
            Values::Labels(_) => "labels",
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Values::Text(_) => DataType::Utf8,
            Values::Number(_) => DataType::Int64,
            Values::Flag(_) => DataType::Boolean,
            Values::Time(_) => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
            Values::Stack(_) => DataType::FixedSizeBinary(STACK_ID_BYTES),
            Values::Labels(_) => map_type(),
        }
    }

    fn array(&self, recording: &Recording, rows: &[R]) -> Result<ArrayRef> {
        Ok(match self {
            Values::Text(value) => texts(rows.iter().map(|row| value(recording, row))),
            Values::Number(value) => numbers(rows.iter().map(|row| value(recording, row))),
            Values::Flag(value) => flags(rows.iter().map(|row| value(recording, row))),
            Values::Time(value) => {
                let mut array = TimestampNanosecondBuilder::with_capacity(rows.len());
                rows.iter().for_each(|row| array.append_option(value(recording, row)));
                Arc::new(array.finish().with_timezone("UTC"))
            }
            Values::Stack(value) => {
                let mut array = FixedSizeBinaryBuilder::with_capacity(rows.len(), STACK_ID_BYTES);
                for row in rows {
                    match value(recording, row) {
                        Some(stack) => array.append_value(stack.0)?,
                        None => array.append_null(),
                    }
                }
                Arc::new(array.finish())
            }
            Values::Labels(value) => {
                labels(recording, rows.iter().map(|row| value(recording, row)))?
            }
        })
    }
}

pub(crate) fn texts<T: AsRef<str>>(values: impl Iterator<Item = Option<T>>) -> ArrayRef {
    let mut array = StringBuilder::new();
    values.for_each(|value| array.append_option(value));
    Arc::new(array.finish())
}

/// Numbers; those above 2^63 are 2^63 - 1.
pub(crate) fn numbers(values: impl ExactSizeIterator<Item = Option<u64>>) -> ArrayRef {
    let mut array = Int64Builder::with_capacity(values.len());
    let most = |it: u64| i64::try_from(it).unwrap_or(i64::MAX);
    values.for_each(|value| array.append_option(value.map(most)));
    Arc::new(array.finish())
}

pub(crate) fn flags(values: impl ExactSizeIterator<Item = Option<bool>>) -> ArrayRef {
    let mut array = BooleanBuilder::with_capacity(values.len());
    values.for_each(|value| array.append_option(value));
    Arc::new(array.finish())
}

/// Rows of these columns. A count has rows and no columns.
pub(crate) fn batch(
    schema: SchemaRef,
    arrays: Vec<ArrayRef>,
    row_count: usize,
) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(row_count));
    Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
}

/// The rows of a batch, at most so many at once.
pub fn slices(batch: &RecordBatch, most_rows: usize) -> impl Iterator<Item = RecordBatch> + '_ {
    let begins = (0..batch.num_rows()).step_by(most_rows.max(1));
    begins.map(move |from| batch.slice(from, most_rows.min(batch.num_rows() - from)))
}

/// The names of the parts of a map, which are those of Parquet.
pub fn map_names() -> MapFieldNames {
    MapFieldNames { entry: "key_value".into(), key: "key".into(), value: "value".into() }
}

/// Labels: a map from their keys to their values as text.
pub fn map_type() -> DataType {
    let MapFieldNames { entry, key, value } = map_names();
    let key = Field::new(key, DataType::Utf8, false);
    let value = Field::new(value, DataType::Utf8, true);
    let entries = DataType::Struct(Fields::from(vec![key, value]));
    DataType::Map(Arc::new(Field::new(entry, entries, false)), false)
}

fn labels<'a>(
    recording: &Recording,
    sets: impl Iterator<Item = Cow<'a, [Label]>>,
) -> Result<ArrayRef> {
    let symbols = &recording.profile.symbols;
    let mut array = MapBuilder::new(Some(map_names()), StringBuilder::new(), StringBuilder::new());
    for set in sets {
        for label in &*set {
            array.keys().append_value(symbols.strings.get(label.key));
            array.values().append_value(label.value_text(symbols));
        }
        array.append(true)?;
    }
    Ok(Arc::new(array.finish()))
}

impl<R> Table for TableOf<R> {
    fn info(&self) -> TableInfo {
        let columns = self.columns.iter().map(|it| ColumnInfo {
            name: it.name.into(),
            kind: it.values.kind().into(),
            about: it.about.into(),
        });
        TableInfo { name: self.name.into(), about: self.about.into(), columns: columns.collect() }
    }

    fn schema(&self) -> SchemaRef {
        let field = |it: &Column<R>| Field::new(it.name, it.values.data_type(), true);
        Arc::new(Schema::new(self.columns.iter().map(field).collect::<Vec<_>>()))
    }

    fn make(
        &self,
        recording: &Recording,
        columns: &[usize],
        _part: Part,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        let rows = (self.rows)(recording);
        let arrays = columns.iter().map(|&at| self.columns[at].values.array(recording, &rows));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let schema = Arc::new(self.schema().project(columns)?);
        sink(batch(schema, arrays, rows.len())?)
    }
}
