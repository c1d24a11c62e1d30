//! The stacks of a store as the call paths of a profile.

use anyhow::{Context, Result, anyhow};
use datafusion::arrow::array::{Array, AsArray, StructArray};
use datafusion::arrow::datatypes::Int32Type;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::ObjectStoreExt;
use object_store::path::Path;
use perk_profile::{Frame, FrameId, FrameKind, Line, Method, Profile};

use crate::layout::Table;
use crate::schema;
use crate::selection::StoredFile;
use crate::store::{REQUESTS, Store};

impl Store {
    /// A profile with the call paths of these files of [`Table::Stacks`], and no numbers.
    ///
    /// # Errors
    /// A file cannot be read, in one line.
    pub(crate) async fn stacks(&self, files: &[StoredFile]) -> Result<Profile> {
        let mut profile = Profile::default();
        let mut batches = self.batches(files, Table::Stacks);
        while let Some(file) = batches.try_next().await? {
            for batch in file {
                add(&mut profile, &batch)?;
            }
        }
        Ok(profile)
    }

    /// The rows of files of a table, of one file after the other. Several are read at once.
    pub(crate) fn batches<'a>(
        &'a self,
        files: &'a [StoredFile],
        table: Table,
    ) -> BoxStream<'a, Result<Vec<RecordBatch>>> {
        let batches = stream::iter(files).map(move |file| async move {
            let path = &file.meta.location;
            self.batches_of(path, table).await.with_context(|| format!("{self}: {path}"))
        });
        batches.buffered(REQUESTS).boxed()
    }

    async fn batches_of(&self, path: &Path, table: Table) -> Result<Vec<RecordBatch>> {
        let bytes = self.objects.get(path).await?.bytes().await?;
        let options = ArrowReaderOptions::new().with_schema(schema::of(table));
        let rows =
            ParquetRecordBatchReaderBuilder::try_new_with_options(bytes, options)?.build()?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// Adds the stacks of a batch to the call paths of a profile.
fn add(profile: &mut Profile, batch: &RecordBatch) -> Result<()> {
    let fault = || anyhow!("the file is not of stacks");
    let frames = batch.column_by_name("frames").and_then(|it| it.as_list_opt::<i32>());
    let frames = frames.ok_or_else(fault)?;
    let values = frames.values().as_struct_opt().ok_or_else(fault)?;
    let ids = frame_ids(profile, values).ok_or_else(fault)?;
    for row in 0..frames.len() {
        let offsets = &frames.value_offsets()[row..row + 2];
        let path = ids.get(offsets[0] as usize..offsets[1] as usize).ok_or_else(fault)?;
        let node = profile.tree.insert(path.iter().copied());
        profile.trace(node, None);
    }
    Ok(())
}

/// The frames of a column in a profile; `None` if it has other fields.
fn frame_ids(profile: &mut Profile, frames: &StructArray) -> Option<Vec<FrameId>> {
    let text = |name: &str| frames.column_by_name(name)?.as_string_opt::<i32>();
    let [classes, methods, signatures, sources, kinds] =
        ["class", "method", "signature", "source", "kind"].map(text);
    let (classes, methods, signatures) = (classes?, methods?, signatures?);
    let (sources, kinds) = (sources?, kinds?);
    let lines = frames.column_by_name("line")?.as_primitive_opt::<Int32Type>()?;
    let symbols = &mut profile.symbols;
    let ids = (0..frames.len()).map(|row| {
        let class = symbols.class(classes.value(row));
        let name = symbols.strings.intern(methods.value(row));
        let signature =
            signatures.is_valid(row).then(|| symbols.strings.intern(signatures.value(row)));
        let source = sources.is_valid(row).then(|| symbols.strings.intern(sources.value(row)));
        let method = symbols.method(Method { class, name, signature, source });
        let kind = kinds.is_valid(row).then(|| kinds.value(row));
        let kind = FrameKind::ALL.into_iter().find(|it| it.name() == kind).unwrap_or_default();
        let line = Line::from_hprof(lines.value(row));
        symbols.frame(Frame { method, bci: None, line, kind })
    });
    Some(ids.collect())
}
