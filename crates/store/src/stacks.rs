//! The stacks of a store as the call paths of a profile.

use anyhow::{Context, Result, anyhow};
use datafusion::arrow::array::{Array, AsArray, DictionaryArray, StructArray};
use datafusion::arrow::datatypes::Int32Type;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::ObjectStoreExt;
use object_store::path::Path;
use perk_profile::{Frame, FrameId, FrameKind, KeyedMap, Line, Method, NodeId, Profile};
use perk_tables::StackId;

use crate::columns::ids;
use crate::layout::Table;
use crate::schema;
use crate::selection::StoredFile;
use crate::store::{REQUESTS, Store};

/// The rows that are read at once.
const BATCH_ROWS: usize = 8 << 10;

/// Call paths, and their ids in the store.
#[derive(Debug, Default)]
pub(crate) struct StackPaths {
    /// A profile with the paths and no numbers.
    pub(crate) profile: Profile,
    pub(crate) nodes: KeyedMap<StackId, NodeId>,
}

impl Store {
    /// The call paths of these files of [`Table::Stacks`].
    ///
    /// # Errors
    /// A file cannot be read, in one line.
    pub(crate) async fn stacks(&self, files: &[StoredFile]) -> Result<StackPaths> {
        let mut paths = StackPaths::default();
        let mut batches = self.batches(files, Table::Stacks);
        while let Some(file) = batches.try_next().await? {
            for batch in file {
                paths.add(&batch)?;
            }
        }
        Ok(paths)
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
        let schema = match table {
            Table::Stacks => schema::with_dictionaries(table),
            Table::Samples | Table::Recordings => schema::of(table),
        };
        let options = ArrowReaderOptions::new().with_schema(schema);
        let rows = ParquetRecordBatchReaderBuilder::try_new_with_options(bytes, options)?;
        let rows = rows.with_batch_size(BATCH_ROWS).build()?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

impl StackPaths {
    /// Adds the stacks of a batch.
    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let Self { profile, nodes } = self;
        let fault = || anyhow!("the file is not of stacks");
        let ids = ids(batch, "stack")?;
        let frames = batch.column_by_name("frames").and_then(|it| it.as_list_opt::<i32>());
        let frames = frames.ok_or_else(fault)?;
        let values = frames.values().as_struct_opt().ok_or_else(fault)?;
        let of_rows = frame_ids(profile, values).ok_or_else(fault)?;
        for row in 0..frames.len() {
            let offsets = &frames.value_offsets()[row..row + 2];
            let path = of_rows.get(offsets[0] as usize..offsets[1] as usize).ok_or_else(fault)?;
            let node = profile.tree.insert(path.iter().copied());
            // Whose code a method is follows from the stacks that have traces.
            profile.trace(node, None);
            nodes.insert(StackId(ids.value(row).try_into()?), node);
        }
        Ok(())
    }
}

/// The frames of a column in a profile; `None` if it has other fields.
fn frame_ids(profile: &mut Profile, frames: &StructArray) -> Option<Vec<FrameId>> {
    let words = |name: &str| frames.column_by_name(name)?.as_dictionary_opt::<Int32Type>();
    let [classes, methods, signatures, sources, kinds] =
        ["class", "method", "signature", "source", "kind"].map(words);
    let symbols = &mut profile.symbols;
    let classes = Words::of(classes?, |name| symbols.class(name))?;
    let methods = Words::of(methods?, |name| symbols.strings.intern(name))?;
    let signatures = Words::of(signatures?, |name| symbols.strings.intern(name))?;
    let sources = Words::of(sources?, |name| symbols.strings.intern(name))?;
    let kind = |name: &str| FrameKind::ALL.into_iter().find(|it| it.name() == Some(name));
    let kinds = Words::of(kinds?, |name| kind(name).unwrap_or_default())?;
    let lines = frames.column_by_name("line")?.as_primitive_opt::<Int32Type>()?;
    let (no_class, no_name) = (symbols.class(""), symbols.strings.intern(""));
    let ids = (0..frames.len()).map(|row| {
        let class = classes.get(row).unwrap_or(no_class);
        let name = methods.get(row).unwrap_or(no_name);
        let (signature, source) = (signatures.get(row), sources.get(row));
        let method = symbols.method(Method { class, name, signature, source });
        let kind = kinds.get(row).unwrap_or_default();
        symbols.frame(Frame { method, bci: None, line: Line::from_hprof(lines.value(row)), kind })
    });
    Some(ids.collect())
}

/// What each word of a column means.
struct Words<'a, T> {
    column: &'a DictionaryArray<Int32Type>,
    meanings: Vec<Option<T>>,
}

impl<'a, T: Copy> Words<'a, T> {
    fn of(
        column: &'a DictionaryArray<Int32Type>,
        mut meaning: impl FnMut(&str) -> T,
    ) -> Option<Self> {
        let texts = column.values().as_string_opt::<i32>()?.iter();
        let meanings = texts.map(|it| it.map(&mut meaning)).collect();
        Some(Self { column, meanings })
    }

    fn get(&self, row: usize) -> Option<T> {
        let word = self.column.is_valid(row).then(|| self.column.keys().value(row) as usize)?;
        *self.meanings.get(word)?
    }
}
