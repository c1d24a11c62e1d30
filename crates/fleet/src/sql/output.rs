//! The rows of a result as text, CSV, JSON or Parquet, while they come.

use std::io::Write;
use std::path::Path;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::json::writer::{LineDelimited, WriterBuilder};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::properties::WriterProperties;
use perk_profile::units::printable;

/// The rows whose widths those of the columns of a text are.
const MEASURED_ROWS: usize = 1000;
/// The widest column of a text.
const MOST_WIDTH: usize = 120;
const GAP: &str = "  ";
/// The level of zstd in Parquet.
const ZSTD_LEVEL: i32 = 3;
/// The columns of EXPLAIN.
const PLAN: [&str; 2] = ["plan_type", "plan"];

/// A form of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Csv,
    Json,
    Parquet,
}

impl Form {
    /// The form that the name of a file says.
    pub(super) fn of(path: &Path) -> Option<Self> {
        Some(match path.extension()?.to_str()? {
            "txt" => Form::Text,
            "csv" => Form::Csv,
            "json" => Form::Json,
            "parquet" => Form::Parquet,
            _ => return None,
        })
    }
}

pub(super) type Sink = Box<dyn Write + Send>;

/// Where rows go.
pub(super) enum Output {
    Text {
        out: Sink,
        table: TextTable,
    },
    Csv(Box<csv::Writer<Sink>>),
    /// The sink, and whether a row was written.
    Json(Sink, bool),
    Parquet(Box<ArrowWriter<Sink>>),
}

impl Output {
    /// Begins the answer of a query: the names of its columns.
    pub(super) fn new(form: Form, out: Sink, schema: &SchemaRef) -> anyhow::Result<Self> {
        Ok(match form {
            Form::Text => Output::Text { out, table: TextTable::new(schema) },
            Form::Csv => {
                let mut out = csv::Writer::from_writer(out);
                out.write_record(schema.fields().iter().map(|it| it.name()))?;
                Output::Csv(Box::new(out))
            }
            Form::Json => Output::Json(out, false),
            Form::Parquet => {
                let compression = Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?);
                let properties = WriterProperties::builder().set_compression(compression).build();
                let writer = ArrowWriter::try_new(out, schema.clone(), Some(properties))?;
                Output::Parquet(Box::new(writer))
            }
        })
    }

    pub(super) fn batch(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        match self {
            Output::Text { out, table } => {
                table.rows.extend(cells(batch)?);
                if table.rows.len() >= MEASURED_ROWS {
                    table.write(out)?;
                }
            }
            Output::Csv(out) => {
                for row in cells(batch)? {
                    out.write_record(row)?;
                }
            }
            Output::Json(out, is_begun) => {
                let builder = WriterBuilder::new().with_explicit_nulls(true);
                let mut lines = builder.build::<_, LineDelimited>(Vec::new());
                lines.write(batch)?;
                lines.finish()?;
                let lines = lines.into_inner();
                for line in lines.split(|&byte| byte == b'\n').filter(|it| !it.is_empty()) {
                    out.write_all(if *is_begun { b",\n" } else { b"[" })?;
                    out.write_all(line)?;
                    *is_begun = true;
                }
            }
            Output::Parquet(writer) => writer.write(batch)?,
        }
        Ok(())
    }

    pub(super) fn end(self) -> anyhow::Result<()> {
        match self {
            Output::Text { mut out, mut table } => {
                table.write(&mut out)?;
                out.flush()?;
            }
            Output::Csv(mut out) => out.flush()?,
            Output::Json(mut out, is_begun) => {
                out.write_all(if is_begun { b"]\n" } else { b"[]\n" })?;
                out.flush()?;
            }
            Output::Parquet(writer) => writer.into_inner()?.flush()?,
        }
        Ok(())
    }
}

/// The rows of a batch as texts.
fn cells(batch: &RecordBatch) -> anyhow::Result<Vec<Vec<String>>> {
    let options = FormatOptions::default();
    let columns = batch.columns().iter();
    let columns = columns.map(|it| ArrayFormatter::try_new(it.as_ref(), &options));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let row = |at: usize| columns.iter().map(|it| Ok(it.value(at).try_to_string()?)).collect();
    (0..batch.num_rows()).map(row).collect()
}

/// Rows that wait for the widths of their columns.
pub(super) struct TextTable {
    names: Vec<String>,
    are_numbers: Vec<bool>,
    /// Whether it is the answer of EXPLAIN: texts of several lines.
    is_plan: bool,
    /// Known after the first rows.
    widths: Option<Vec<usize>>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    fn new(schema: &SchemaRef) -> Self {
        let names: Vec<_> = schema.fields().iter().map(|it| printable(it.name())).collect();
        let are_numbers = schema.fields().iter().map(|it| it.data_type().is_numeric()).collect();
        Self { is_plan: names == PLAN, names, are_numbers, widths: None, rows: Vec::new() }
    }

    /// Writes the rows that wait, after the names of the columns if these are the first.
    fn write(&mut self, out: &mut Sink) -> anyhow::Result<()> {
        let mut rows = std::mem::take(&mut self.rows);
        if self.is_plan {
            for line in rows.iter().flat_map(|row| row[1].lines()) {
                writeln!(out, "{}", printable(line))?;
            }
            return Ok(());
        }
        rows.iter_mut().flatten().for_each(|cell| *cell = printable(cell));
        if self.widths.is_none() {
            let width = |at: usize| {
                let cells = rows.iter().map(|row| row[at].chars().count());
                cells.max().unwrap_or(0).min(MOST_WIDTH).max(self.names[at].chars().count())
            };
            self.widths = Some((0..self.names.len()).map(width).collect());
            self.line(out, &self.names)?;
        }
        rows.iter().try_for_each(|row| self.line(out, row))
    }

    fn line(&self, out: &mut Sink, cells: &[String]) -> anyhow::Result<()> {
        let widths = self.widths.iter().flatten();
        let cells = cells.iter().zip(widths).zip(&self.are_numbers);
        let cells = cells.map(|((cell, &width), &is_number)| match is_number {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        });
        let line = cells.collect::<Vec<_>>().join(GAP);
        writeln!(out, "{}", line.trim_end())?;
        Ok(())
    }
}
