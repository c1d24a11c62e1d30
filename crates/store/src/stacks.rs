//! The stacks of a store as the call paths of a profile.

use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use datafusion::arrow::array::{Array, AsArray, DictionaryArray, Int32Array, StructArray};
use datafusion::arrow::datatypes::Int32Type;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::runtime::SpawnedTask;
use datafusion::parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::ObjectStoreExt;
use perk_profile::{
    ClassId, Frame, FrameId, FrameKind, KeyedMap, Line, Method, NodeId, Profile, StrId, Symbols,
};
use perk_tables::StackId;
use tokio::sync::mpsc;

use crate::columns::ids;
use crate::layout::Table;
use crate::schema;
use crate::selection::StoredFile;
use crate::store::{REQUESTS, Store};

/// The rows that are read at once.
const BATCH_ROWS: usize = 4 << 10;
/// How many times as many are read ahead.
const BATCHES_AHEAD: usize = 16;

/// Call paths, and their ids in the store.
#[derive(Debug, Default)]
pub(crate) struct StackPaths {
    /// A profile with the paths and no numbers.
    pub(crate) profile: Profile,
    pub(crate) nodes: KeyedMap<StackId, NodeId>,
}

/// The rows of files of [`Table::Stacks`]. They are read ahead, also while nobody waits for them.
pub(crate) struct StackRows {
    batches: mpsc::Receiver<Result<RecordBatch>>,
    /// The reader, which ends with this.
    reader: SpawnedTask<()>,
}

impl Store {
    /// Begins to read files of [`Table::Stacks`].
    pub(crate) fn stack_rows(&self, files: Vec<StoredFile>) -> StackRows {
        let store = self.clone();
        let (sender, batches) = mpsc::channel(BATCHES_AHEAD);
        let reader = SpawnedTask::spawn(async move {
            let mut batches = store.batches(&files, Table::Stacks);
            while let Some(batch) = batches.next().await {
                if sender.send(batch).await.is_err() {
                    break;
                }
            }
        });
        StackRows { batches, reader }
    }

    /// The rows of files of a table, of one file after the other. Several are fetched at once.
    pub(crate) fn batches<'a>(
        &'a self,
        files: &'a [StoredFile],
        table: Table,
    ) -> BoxStream<'a, Result<RecordBatch>> {
        let fetched = stream::iter(files).map(move |file| async move {
            let path = &file.meta.location;
            let place = move || format!("{self}: {path}");
            let rows = async { rows(self.objects.get(path).await?.bytes().await?, table) };
            let rows = rows.await.with_context(place)?;
            anyhow::Ok(stream::iter(rows.map(move |it| it.with_context(place))))
        });
        fetched.buffered(REQUESTS).try_flatten().boxed()
    }
}

/// The rows of a file of a table.
fn rows(bytes: Bytes, table: Table) -> Result<ParquetRecordBatchReader> {
    let schema = match table {
        Table::Stacks => schema::with_dictionaries(table),
        Table::Samples | Table::Recordings => schema::of(table),
    };
    let options = ArrowReaderOptions::new().with_schema(schema);
    let rows = ParquetRecordBatchReaderBuilder::try_new_with_options(bytes, options)?;
    Ok(rows.with_batch_size(BATCH_ROWS).build()?)
}

impl StackRows {
    /// The call paths of the stacks that are wanted. There are no others in the profile, nor their methods.
    ///
    /// # Errors
    /// A file cannot be read, in one line.
    pub(crate) async fn paths(
        mut self,
        is_wanted: impl Fn(&StackId) -> bool,
    ) -> Result<StackPaths> {
        let mut paths = StackPaths::default();
        while let Some(batch) = self.batches.recv().await {
            paths.add(&batch?, &is_wanted)?;
        }
        self.reader.await.context("a file was not read to its end")?;
        Ok(paths)
    }
}

impl StackPaths {
    /// Adds the stacks of a batch that are wanted.
    fn add(&mut self, batch: &RecordBatch, is_wanted: impl Fn(&StackId) -> bool) -> Result<()> {
        let Self { profile, nodes } = self;
        let fault = || anyhow!("the file is not of stacks");
        let ids = ids(batch, "stack")?;
        let frames = batch.column_by_name("frames").and_then(|it| it.as_list_opt::<i32>());
        let frames = frames.ok_or_else(fault)?;
        let values = frames.values().as_struct_opt().ok_or_else(fault)?;
        let mut columns = FrameColumns::of(values, profile).ok_or_else(fault)?;
        let root = profile.tree.root();
        // The words of the last path, and its nodes: neighbours have most frames in common.
        let mut last: Vec<([i32; 6], NodeId)> = Vec::new();
        for row in 0..frames.len() {
            let id = StackId(ids.value(row).try_into()?);
            if !is_wanted(&id) || nodes.contains_key(&id) {
                continue;
            }
            let offsets = &frames.value_offsets()[row..row + 2];
            let rows = offsets[0] as usize..offsets[1] as usize;
            let pairs = last.iter().zip(rows.clone());
            let common = pairs.take_while(|(last, row)| last.0 == columns.words(*row)).count();
            last.truncate(common);
            let mut node = last.last().map_or(root, |it| it.1);
            for row in rows.skip(common) {
                let words = columns.words(row);
                let frame = columns.frame(row, words, &mut profile.symbols);
                node = profile.tree.insert_below(node, [frame]);
                last.push((words, node));
            }
            // Whose code a method is follows from the stacks that have traces.
            profile.trace(node, None);
            nodes.insert(id, node);
        }
        Ok(())
    }
}

/// The columns of frames, whose words are those of a profile.
struct FrameColumns<'a> {
    classes: Words<'a, ClassId>,
    methods: Words<'a, StrId>,
    signatures: Words<'a, StrId>,
    sources: Words<'a, StrId>,
    kinds: Words<'a, FrameKind>,
    lines: &'a Int32Array,
    /// The frames so far, by their words.
    frames: KeyedMap<[i32; 6], FrameId>,
    no_class: ClassId,
    no_name: StrId,
}

impl<'a> FrameColumns<'a> {
    /// The columns; `None` if these are others.
    fn of(frames: &'a StructArray, profile: &mut Profile) -> Option<Self> {
        let words = |name: &str| frames.column_by_name(name)?.as_dictionary_opt::<Int32Type>();
        let symbols = &mut profile.symbols;
        let kind = |name: &str| FrameKind::ALL.into_iter().find(|it| it.name() == Some(name));
        Some(Self {
            classes: Words::of(words("class")?, |name| symbols.class(name))?,
            methods: Words::of(words("method")?, |name| symbols.strings.intern(name))?,
            signatures: Words::of(words("signature")?, |name| symbols.strings.intern(name))?,
            sources: Words::of(words("source")?, |name| symbols.strings.intern(name))?,
            kinds: Words::of(words("kind")?, |name| kind(name).unwrap_or_default())?,
            lines: frames.column_by_name("line")?.as_primitive_opt::<Int32Type>()?,
            frames: KeyedMap::default(),
            no_class: symbols.class(""),
            no_name: symbols.strings.intern(""),
        })
    }

    /// The words and the line of a frame. Equal frames of a file usually have the same.
    fn words(&self, row: usize) -> [i32; 6] {
        let Self { classes, methods, signatures, sources, kinds, lines, .. } = self;
        [
            classes.word(row),
            methods.word(row),
            signatures.word(row),
            sources.word(row),
            kinds.word(row),
            lines.value(row),
        ]
    }

    /// The frame of a row, which has these words.
    fn frame(&mut self, row: usize, words: [i32; 6], symbols: &mut Symbols) -> FrameId {
        if let Some(&known) = self.frames.get(&words) {
            return known;
        }
        let class = self.classes.get(row).unwrap_or(self.no_class);
        let name = self.methods.get(row).unwrap_or(self.no_name);
        let (signature, source) = (self.signatures.get(row), self.sources.get(row));
        let method = symbols.method(Method { class, name, signature, source });
        let kind = self.kinds.get(row).unwrap_or_default();
        let line = Line::from_hprof(self.lines.value(row));
        let frame = symbols.frame(Frame { method, bci: None, line, kind });
        self.frames.insert(words, frame);
        frame
    }
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

    /// The word of a row; -1 if it has none.
    fn word(&self, row: usize) -> i32 {
        if self.column.is_valid(row) { self.column.keys().value(row) } else { -1 }
    }

    fn get(&self, row: usize) -> Option<T> {
        *self.meanings.get(usize::try_from(self.word(row)).ok()?)?
    }
}
