//! Columns of a store's files by their names.

use anyhow::{Context, Result};
use datafusion::arrow::array::{Array, AsArray, DictionaryArray, FixedSizeBinaryArray, MapArray};
use datafusion::arrow::array::{PrimitiveArray, StringArray};
use datafusion::arrow::datatypes::{ArrowPrimitiveType, Int32Type};
use datafusion::arrow::record_batch::RecordBatch;

use crate::label_text::LabelText;

fn other(name: &str) -> String {
    format!("the column {name} has another type")
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a dyn Array> {
    let column =
        batch.column_by_name(name).with_context(|| format!("there is no column {name}"))?;
    Ok(column.as_ref())
}

pub(crate) fn ids<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a FixedSizeBinaryArray> {
    column(batch, name)?.as_fixed_size_binary_opt().with_context(|| other(name))
}

pub(crate) fn maps<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a MapArray> {
    column(batch, name)?.as_map_opt().with_context(|| other(name))
}

pub(crate) fn numbers<'a, T: ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a PrimitiveArray<T>> {
    column(batch, name)?.as_primitive_opt().with_context(|| other(name))
}

/// A column of texts that is read as a dictionary.
pub(crate) fn words<'a>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a DictionaryArray<Int32Type>> {
    column(batch, name)?.as_dictionary_opt().with_context(|| other(name))
}

/// The texts of a dictionary.
pub(crate) fn texts(words: &DictionaryArray<Int32Type>) -> Result<&StringArray> {
    words.values().as_string_opt().context("a dictionary is not of texts")
}

/// The entries of a row of labels.
pub(crate) fn map(maps: &MapArray, row: usize) -> LabelText {
    let entries = maps.value(row);
    let [keys, values] = entries.columns() else { return LabelText::new() };
    let (keys, values) = (keys.as_string_opt::<i32>(), values.as_string_opt::<i32>());
    let pairs = keys.zip(values).into_iter().flat_map(|(keys, values)| keys.iter().zip(values));
    pairs.filter_map(|(key, value)| Some((key?.to_owned(), value?.to_owned()))).collect()
}
