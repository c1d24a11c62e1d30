//! Columns of events, made value by value.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BooleanBuilder, FixedSizeBinaryBuilder, Float64Builder, Int64Builder, ListArray,
    StringBuilder, StructArray, TimestampNanosecondBuilder,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields, TimeUnit};
use datafusion::error::Result;
use perk_formats::jfr::events::{EventField, FieldKind, Value};

use crate::stacks::{STACK_ID_BYTES, ShownStacks};

/// The bytes of a value that is no text, about.
const VALUE_BYTES: usize = 8;

/// The type of the values of a field.
pub(super) fn data_type(kind: &FieldKind) -> DataType {
    match kind {
        FieldKind::Flag => DataType::Boolean,
        FieldKind::Number | FieldKind::Timespan => DataType::Int64,
        FieldKind::Decimal => DataType::Float64,
        FieldKind::Text | FieldKind::Mixed => DataType::Utf8,
        FieldKind::Time => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        FieldKind::Stack => DataType::FixedSizeBinary(STACK_ID_BYTES),
        FieldKind::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        FieldKind::List(kind) => DataType::List(item(kind)),
    }
}

pub(super) fn field(field: &EventField) -> FieldRef {
    Arc::new(Field::new(&field.name, data_type(&field.kind), true))
}

fn item(kind: &FieldKind) -> FieldRef {
    Arc::new(Field::new_list_field(data_type(kind), true))
}

/// The columns of a batch of events, by node ([`EventSink`](perk_formats::jfr::events::EventSink)).
pub(super) struct Columns {
    nodes: Vec<Node>,
    /// The nodes of the columns.
    tops: Vec<usize>,
    stacks: ShownStacks,
    /// The size of the values, about.
    pub(super) bytes: usize,
}

/// The values of a node.
enum Node {
    Flag(BooleanBuilder),
    Number(Int64Builder),
    Decimal(Float64Builder),
    Text(StringBuilder),
    Time(TimestampNanosecondBuilder),
    Stack(FixedSizeBinaryBuilder),
    Struct { fields: Fields, children: Vec<usize>, is_valid: Vec<bool> },
    List { item: FieldRef, child: usize, ends: Vec<i32>, is_valid: Vec<bool> },
}

impl Columns {
    pub(super) fn new(fields: &[EventField]) -> Self {
        let stacks = ShownStacks::default();
        let mut columns = Self { nodes: Vec::new(), tops: Vec::new(), stacks, bytes: 0 };
        columns.tops = fields.iter().map(|it| columns.add(&it.kind)).collect();
        columns
    }

    /// Adds a node and those below it; returns its number.
    fn add(&mut self, kind: &FieldKind) -> usize {
        let at = self.nodes.len();
        self.nodes.push(match kind {
            FieldKind::Flag => Node::Flag(BooleanBuilder::new()),
            FieldKind::Number | FieldKind::Timespan => Node::Number(Int64Builder::new()),
            FieldKind::Decimal => Node::Decimal(Float64Builder::new()),
            FieldKind::Text | FieldKind::Mixed => Node::Text(StringBuilder::new()),
            FieldKind::Time => Node::Time(TimestampNanosecondBuilder::new().with_timezone("UTC")),
            FieldKind::Stack => Node::Stack(FixedSizeBinaryBuilder::new(STACK_ID_BYTES)),
            FieldKind::Struct(inner) => {
                let fields = inner.iter().map(field).collect();
                Node::Struct { fields, children: Vec::new(), is_valid: Vec::new() }
            }
            FieldKind::List(inner) => {
                let (ends, is_valid) = (Vec::new(), Vec::new());
                Node::List { item: item(inner), child: at + 1, ends, is_valid }
            }
        });
        match kind {
            FieldKind::Struct(inner) => {
                let nodes: Vec<_> = inner.iter().map(|it| self.add(&it.kind)).collect();
                if let Node::Struct { children, .. } = &mut self.nodes[at] {
                    *children = nodes;
                }
            }
            FieldKind::List(inner) => {
                self.add(inner);
            }
            _ => {}
        }
        at
    }

    pub(super) fn push(&mut self, node: usize, value: Value<'_>) {
        self.bytes += VALUE_BYTES;
        match (&mut self.nodes[node], value) {
            (Node::Flag(array), Value::Flag(flag)) => array.append_value(flag),
            (Node::Number(array), Value::Number(it) | Value::Timespan(it)) => {
                array.append_value(it);
            }
            (Node::Decimal(array), Value::Decimal(it)) => array.append_value(it),
            (Node::Text(array), Value::Text(text)) => {
                self.bytes += text.len();
                array.append_value(text);
            }
            (Node::Time(array), Value::Time(it)) => array.append_value(it),
            (Node::Stack(array), Value::Stack(profile, node)) => {
                // Its length is that of all.
                match self.stacks.id(profile, node).map(|id| array.append_value(id.0)) {
                    Some(Ok(())) => {}
                    _ => array.append_null(),
                }
            }
            (Node::Struct { is_valid, .. }, Value::Struct) => is_valid.push(true),
            (Node::List { ends, is_valid, .. }, Value::List(count)) => {
                // A chunk has less than 2^31 bytes.
                let count = i32::try_from(count).unwrap_or(i32::MAX);
                ends.push(ends.last().copied().unwrap_or(0).saturating_add(count));
                is_valid.push(true);
            }
            _ => self.push_null(node),
        }
    }

    fn push_null(&mut self, node: usize) {
        match &mut self.nodes[node] {
            Node::Flag(array) => array.append_null(),
            Node::Number(array) => array.append_null(),
            Node::Decimal(array) => array.append_null(),
            Node::Text(array) => array.append_null(),
            Node::Time(array) => array.append_null(),
            Node::Stack(array) => array.append_null(),
            Node::Struct { children, is_valid, .. } => {
                is_valid.push(false);
                for child in children.clone() {
                    self.push_null(child);
                }
            }
            Node::List { ends, is_valid, .. } => {
                ends.push(ends.last().copied().unwrap_or(0));
                is_valid.push(false);
            }
        }
    }

    /// The columns of the values so far. The next ones begin anew.
    pub(super) fn take(&mut self) -> Result<Vec<ArrayRef>> {
        self.bytes = 0;
        self.tops.clone().into_iter().map(|node| self.take_node(node)).collect()
    }

    fn take_node(&mut self, node: usize) -> Result<ArrayRef> {
        Ok(match &mut self.nodes[node] {
            Node::Flag(array) => Arc::new(array.finish()),
            Node::Number(array) => Arc::new(array.finish()),
            Node::Decimal(array) => Arc::new(array.finish()),
            Node::Text(array) => Arc::new(array.finish()),
            Node::Time(array) => Arc::new(array.finish()),
            Node::Stack(array) => Arc::new(array.finish()),
            Node::Struct { fields, children, is_valid } => {
                let (fields, children) = (fields.clone(), children.clone());
                let (count, nulls) = (is_valid.len(), nulls(is_valid));
                let arrays = children.into_iter().map(|it| self.take_node(it));
                let arrays = arrays.collect::<Result<_>>()?;
                Arc::new(StructArray::try_new_with_length(fields, arrays, nulls, count)?)
            }
            Node::List { item, child, ends, is_valid } => {
                let (item, child, nulls) = (item.clone(), *child, nulls(is_valid));
                let offsets: Vec<i32> = std::iter::once(0).chain(ends.drain(..)).collect();
                let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
                let values = self.take_node(child)?;
                Arc::new(ListArray::try_new(item, offsets, values, nulls)?)
            }
        })
    }
}

fn nulls(is_valid: &mut Vec<bool>) -> Option<NullBuffer> {
    Some(NullBuffer::from(std::mem::take(is_valid)))
}
