//! A table of a heap dump: its columns, and how its rows are made.

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, StringViewArray, UInt32Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::error::Result;
use perk_heap::{ClassIndex, Error, Heap, ObjectId};

use crate::fault::fault;
use crate::recording::Recording;
use crate::table::{
    ColumnInfo, Part, RECORDING, Sink, Table, TableInfo, batch, flags, numbers, texts,
};

/// How the rows of a part of a heap are made, one after the other until the receiver fails.
type HeapRows<R> = dyn Fn(&Heap, Part, &mut dyn FnMut(R) -> Result<()>) -> Result<()> + Send + Sync;

/// A table of rows `R`.
pub(super) struct HeapTable<R> {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) rows: Box<HeapRows<R>>,
    /// The rows of a batch.
    pub(super) batch_rows: usize,
    pub(super) columns: Vec<HeapColumn<R>>,
}

/// A column of rows `R`.
pub(super) struct HeapColumn<R> {
    name: &'static str,
    about: &'static str,
    values: HeapValues<R>,
    /// Whether its values follow from how objects are held.
    has_holders: bool,
}

/// How the value of a row is found.
pub(super) enum HeapValues<R> {
    /// The number of the recording.
    Recording,
    /// A class by its name.
    Class(fn(&Heap, &R) -> Option<ClassIndex>),
    /// The address of an object, with all of its bits.
    Address(fn(&Heap, &R) -> Option<u64>),
    Number(fn(&Heap, &R) -> Option<u64>),
    Flag(fn(&Heap, &R) -> Option<bool>),
    Text(for<'a> fn(&'a Heap, &'a R) -> anyhow::Result<Option<Cow<'a, str>>>),
}

/// A row that is of an object.
pub(super) trait ObjectRow {
    fn object(&self) -> ObjectId;

    fn address(&self, heap: &Heap) -> u64 {
        heap.address(self.object())
    }
}

/// Gives the rows of a walk to a receiver until that fails.
pub(super) struct RowGate<'a, R> {
    receiver: &'a mut dyn FnMut(R) -> Result<()>,
    ended: Result<()>,
}

impl<'a, R> RowGate<'a, R> {
    pub(super) fn new(receiver: &'a mut dyn FnMut(R) -> Result<()>) -> Self {
        Self { receiver, ended: Ok(()) }
    }

    pub(super) fn send(&mut self, row: R) {
        if self.ended.is_ok() {
            self.ended = (self.receiver)(row);
        }
    }

    /// Walks over the parts of a heap that are in a part of its rows.
    pub(super) fn walk(
        mut self,
        heap: &Heap,
        part: Part,
        walk: impl Fn(&mut Self, usize) -> Result<(), Error>,
    ) -> Result<()> {
        for place in part.of(heap.part_count()) {
            walk(&mut self, place).map_err(|error| fault(error.into()))?;
            if self.ended.is_err() {
                break;
            }
        }
        self.ended
    }
}

/// The usual number of rows in a batch, which is that of DataFusion.
pub(super) const BATCH_ROWS: usize = 8192;

impl<R> HeapColumn<R> {
    pub(super) fn new(name: &'static str, values: HeapValues<R>, about: &'static str) -> Self {
        Self { name, about, values, has_holders: false }
    }

    /// A column whose values follow from how objects are held.
    pub(super) fn of_holders(
        name: &'static str,
        values: HeapValues<R>,
        about: &'static str,
    ) -> Self {
        Self { has_holders: true, ..Self::new(name, values, about) }
    }

    /// The column that each table begins with.
    pub(super) fn recording() -> Self {
        Self::new(RECORDING, HeapValues::Recording, "the recording, as in `recordings`")
    }
}

impl<R: ObjectRow> HeapColumn<R> {
    pub(super) fn address() -> Self {
        let address = HeapValues::Address(|heap, row: &R| Some(row.address(heap)));
        Self::new("address", address, "its address")
    }

    pub(super) fn class() -> Self {
        let class = HeapValues::Class(|heap, row: &R| Some(heap.class_of(row.object())));
        Self::new("class", class, "its class")
    }

    pub(super) fn shallow_bytes() -> Self {
        let bytes = HeapValues::Number(|heap, row: &R| Some(heap.shallow_bytes(row.object())));
        Self::new("shallow_bytes", bytes, "its own size")
    }

    pub(super) fn retained_bytes() -> Self {
        let bytes = HeapValues::Number(|heap, row: &R| Some(heap.retained_bytes(row.object())));
        let about = "its size and that of all that only it holds; 0 if it is not held";
        Self::of_holders("retained_bytes", bytes, about)
    }
}

impl<R> HeapValues<R> {
    fn kind(&self) -> &'static str {
        match self {
            HeapValues::Recording | HeapValues::Number(_) => "number",
            HeapValues::Address(_) => "address",
            HeapValues::Class(_) | HeapValues::Text(_) => "text",
            HeapValues::Flag(_) => "true or false",
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            HeapValues::Recording | HeapValues::Number(_) | HeapValues::Address(_) => {
                DataType::Int64
            }
            // All views are into one list of names: a name is not copied for each object.
            HeapValues::Class(_) => DataType::Utf8View,
            HeapValues::Text(_) => DataType::Utf8,
            HeapValues::Flag(_) => DataType::Boolean,
        }
    }
}

impl<R> Table for HeapTable<R> {
    fn info(&self) -> TableInfo {
        let columns = self.columns.iter().map(|it| ColumnInfo {
            name: it.name.into(),
            kind: it.values.kind().into(),
            about: it.about.into(),
        });
        TableInfo { name: self.name.into(), about: self.about.into(), columns: columns.collect() }
    }

    fn schema(&self) -> SchemaRef {
        let field = |it: &HeapColumn<R>| Field::new(it.name, it.values.data_type(), true);
        Arc::new(Schema::new(self.columns.iter().map(field).collect::<Vec<_>>()))
    }

    fn has_parts(&self, recording: &Recording) -> bool {
        recording.heap.is_some()
    }

    fn make(
        &self,
        recording: &Recording,
        columns: &[usize],
        part: Part,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        let Some(dump) = &recording.heap else { return Ok(()) };
        let schema = Arc::new(self.schema().project(columns)?);
        let columns: Vec<_> = columns.iter().map(|&at| &self.columns[at]).collect();
        let heap = dump.heap(columns.iter().any(|it| it.has_holders))?;
        let heap = &*heap;
        let has_classes = columns.iter().any(|it| matches!(it.values, HeapValues::Class(_)));
        let classes = heap.classes().iter().filter(|_| has_classes);
        let names = StringViewArray::from_iter_values(classes.map(|it| &it.name));
        let source = RowSource { recording, heap, names };
        let mut send = |rows: &mut Vec<R>| -> Result<()> {
            let arrays = columns.iter().map(|it| source.array(&it.values, rows));
            let arrays = arrays.collect::<Result<_>>()?;
            if let Some(lost) = heap.fault() {
                return Err(fault(anyhow::Error::from(lost).context(recording.file.clone())));
            }
            sink(batch(Arc::clone(&schema), arrays, rows.len())?)?;
            rows.clear();
            Ok(())
        };
        let mut rows = Vec::with_capacity(self.batch_rows);
        (self.rows)(heap, part, &mut |row| {
            rows.push(row);
            if rows.len() == self.batch_rows { send(&mut rows) } else { Ok(()) }
        })?;
        send(&mut rows)
    }
}

/// What rows are of.
struct RowSource<'a> {
    recording: &'a Recording,
    heap: &'a Heap,
    /// The names of the classes, if a column has them.
    names: StringViewArray,
}

impl RowSource<'_> {
    fn array<R>(&self, values: &HeapValues<R>, rows: &[R]) -> Result<ArrayRef> {
        let heap = self.heap;
        Ok(match values {
            HeapValues::Recording => numbers(rows.iter().map(|_| Some(self.recording.number))),
            HeapValues::Class(value) => {
                let classes = rows.iter().map(|row| Some(value(heap, row)?.0));
                take(&self.names, &UInt32Array::from_iter(classes), None)?
            }
            HeapValues::Address(value) => {
                let addresses = rows.iter().map(|row| Some(value(heap, row)?.cast_signed()));
                Arc::new(Int64Array::from_iter(addresses))
            }
            HeapValues::Number(value) => numbers(rows.iter().map(|row| value(heap, row))),
            HeapValues::Flag(value) => flags(rows.iter().map(|row| value(heap, row))),
            HeapValues::Text(value) => {
                let values = rows.iter().map(|row| value(heap, row));
                let values = values.collect::<anyhow::Result<Vec<_>>>().map_err(fault)?;
                texts(values.into_iter())
            }
        })
    }
}
