//! Rows as the bytes of Parquet files.

use std::sync::Arc;

use anyhow::Result;
use datafusion::arrow::array::{
    ArrayRef, FixedSizeBinaryBuilder, Int32Builder, Int64Array, Int64Builder, ListBuilder,
    MapBuilder, StringArray, StringBuilder, StructBuilder, TimestampMillisecondArray,
};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_writer::ArrowWriterOptions;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::properties::{EnabledStatistics, WriterProperties};
use perk_profile::{NodeId, Profile};
use perk_tables::{STACK_ID_BYTES, StackId, frames, map_names};

use crate::layout::Table;
use crate::piece_id::PieceId;
use crate::rows::{MetricRow, RecordingRow, SampleRow};
use crate::schema;

/// The level of zstd: files are written once and read often.
const ZSTD_LEVEL: i32 = 3;

/// How long a file stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stay {
    /// Until the next compaction: a column of some hundred rows takes longer to begin than to write with zstd.
    Short,
    /// That of a compaction.
    Long,
}

/// How files are written: the types of columns are Parquet's own, without Arrow's description of them.
pub(crate) fn options(stay: Stay) -> Result<ArrowWriterOptions> {
    let compression = match stay {
        Stay::Short => Compression::SNAPPY,
        Stay::Long => Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?),
    };
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_created_by(concat!("perk ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    Ok(ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true))
}

/// The file of these columns.
pub(crate) fn file(table: Table, columns: Vec<ArrayRef>, stay: Stay) -> Result<Vec<u8>> {
    let batch = RecordBatch::try_new(schema::of(table), columns)?;
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), batch.schema(), options(stay)?)?;
    writer.write(&batch)?;
    Ok(writer.into_inner()?)
}

fn ids<'a>(ids: impl Iterator<Item = Option<&'a [u8; 16]>>) -> Result<ArrayRef> {
    let mut array = FixedSizeBinaryBuilder::new(STACK_ID_BYTES);
    for id in ids {
        match id {
            Some(id) => array.append_value(id)?,
            None => array.append_null(),
        }
    }
    Ok(Arc::new(array.finish()))
}

pub(crate) fn texts<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(texts.collect::<StringArray>())
}

pub(crate) fn numbers(numbers: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(numbers.collect::<Int64Array>())
}

pub(crate) fn times(times: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(TimestampMillisecondArray::from_iter_values(times).with_timezone("UTC"))
}

/// A builder of columns of labels.
pub(crate) fn map_builder() -> MapBuilder<StringBuilder, StringBuilder> {
    MapBuilder::new(Some(map_names()), StringBuilder::new(), StringBuilder::new())
}

pub(crate) fn maps<'a>(maps: impl Iterator<Item = &'a [(String, String)]>) -> Result<ArrayRef> {
    let mut array = map_builder();
    for map in maps {
        for (key, value) in map {
            array.keys().append_value(key);
            array.values().append_value(value);
        }
        array.append(true)?;
    }
    Ok(Arc::new(array.finish()))
}

/// The file of rows of `samples`, of recordings with these common labels.
pub(crate) fn samples(rows: &[&SampleRow<'_>], source: [u8; 16]) -> Result<Vec<u8>> {
    let columns = vec![
        times(rows.iter().map(|row| row.time_ms)),
        texts(rows.iter().map(|row| Some(&*row.metric))),
        texts(rows.iter().map(|row| Some(row.unit))),
        texts(rows.iter().map(|row| row.thread)),
        ids(rows.iter().map(|row| row.stack.as_ref().map(|it| &it.0)))?,
        texts(rows.iter().map(|row| row.subject.as_deref())),
        ids(rows.iter().map(|_| Some(&source)))?,
        maps(rows.iter().map(|row| row.labels))?,
        numbers(rows.iter().map(|row| Some(row.value))),
        numbers(rows.iter().map(|row| row.cpu_ns)),
    ];
    file(Table::Samples, columns, Stay::Short)
}

/// The file of stacks: their ids, and the nodes of their innermost frames.
pub(crate) fn stacks(
    profile: &Profile,
    stacks: impl Iterator<Item = (StackId, NodeId)>,
    stay: Stay,
) -> Result<Vec<u8>> {
    // In the order of call paths, in which neighbours have most frames in common.
    let paths = stacks.map(|(id, node)| (id, frames(profile, node)));
    let mut paths: Vec<_> = paths.collect();
    paths.sort_by(|a, b| (&a.1, a.0).cmp(&(&b.1, b.0)));
    paths.dedup_by_key(|it| it.0);
    let symbols = &profile.symbols;
    let name = |id| symbols.strings.get(id);
    let mut array = ListBuilder::new(StructBuilder::from_fields(schema::frame(), paths.len()));
    for (_, path) in &paths {
        for &frame in path {
            let frame = symbols.get_frame(frame);
            let method = symbols.get_method(frame.method);
            let texts = [
                (0, Some(symbols.class_name(method.class))),
                (1, Some(name(method.name))),
                (2, method.signature.map(name)),
                (3, method.source.map(name)),
                (5, frame.kind.name()),
            ];
            let row = array.values();
            for (at, text) in texts {
                field::<StringBuilder>(row, at)?.append_option(text);
            }
            field::<Int32Builder>(row, 4)?.append_value(frame.line.to_hprof());
            row.append(true);
        }
        array.append(true);
    }
    let columns =
        vec![ids(paths.iter().map(|path| Some(&path.0.0)))?, Arc::new(array.finish()) as ArrayRef];
    file(Table::Stacks, columns, stay)
}

/// The builder of a column of a struct.
fn field<B: datafusion::arrow::array::ArrayBuilder>(
    row: &mut StructBuilder,
    at: usize,
) -> Result<&mut B> {
    row.field_builder(at).ok_or_else(|| anyhow::anyhow!("column {at} has another type"))
}

/// The file of rows of `recordings`, each with its id.
pub(crate) fn recordings(rows: &[(PieceId, RecordingRow)]) -> Result<Vec<u8>> {
    let mut metrics = ListBuilder::new(StructBuilder::from_fields(schema::metric(), rows.len()));
    let mut notes = ListBuilder::new(StringBuilder::new());
    for (_, row) in rows {
        for MetricRow { metric, unit, total, period } in &row.metrics {
            let builder = metrics.values();
            field::<StringBuilder>(builder, 0)?.append_value(metric);
            field::<StringBuilder>(builder, 1)?.append_value(unit);
            field::<Int64Builder>(builder, 2)?.append_value(*total);
            field::<Int64Builder>(builder, 3)?.append_option(*period);
            builder.append(true);
        }
        metrics.append(true);
        row.notes.iter().for_each(|note| notes.values().append_value(note));
        notes.append(true);
    }
    let each = || rows.iter().map(|it| &it.1);
    let columns = vec![
        ids(rows.iter().map(|row| Some(&row.0.0)))?,
        ids(each().map(|row| Some(&row.source)))?,
        texts(each().map(|row| Some(&*row.file))),
        times(each().map(|row| row.created_ms)),
        numbers(each().map(|row| row.duration_ns)),
        numbers(each().map(|row| row.interval_ns)),
        texts(each().map(|row| row.program.as_deref())),
        texts(each().map(|row| row.jvm.as_deref())),
        numbers(each().map(|row| row.cpu_ns)),
        numbers(each().map(|row| row.perk_cpu_ns)),
        maps(each().map(|row| &*row.labels))?,
        maps(each().map(|row| &*row.accounting))?,
        Arc::new(metrics.finish()) as ArrayRef,
        Arc::new(notes.finish()) as ArrayRef,
    ];
    file(Table::Recordings, columns, Stay::Short)
}
