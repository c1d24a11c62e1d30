//! The stacks of a store as the call paths of a profile.

use anyhow::{Context, Result, anyhow};
use datafusion::arrow::array::{Array, AsArray, DictionaryArray, Int32Array, StructArray};
use datafusion::arrow::datatypes::Int32Type;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::ObjectStoreExt;
use object_store::path::Path;
use perk_profile::{
    ClassId, Frame, FrameId, FrameKind, KeyedMap, Line, Method, NodeId, Profile, StrId, Symbols,
};
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
    /// The call paths of these files of [`Table::Stacks`], of the stacks that are wanted. There are no others in the profile, nor
    /// their methods.
    ///
    /// # Errors
    /// A file cannot be read, in one line.
    pub(crate) async fn stacks(
        &self,
        files: &[StoredFile],
        is_wanted: impl Fn(&StackId) -> bool,
    ) -> Result<StackPaths> {
        let mut paths = StackPaths::default();
        let mut batches = self.batches(files, Table::Stacks);
        while let Some(file) = batches.try_next().await? {
            for batch in file {
                paths.add(&batch, &is_wanted)?;
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
    /// Adds the stacks of a batch that are wanted.
    fn add(&mut self, batch: &RecordBatch, is_wanted: impl Fn(&StackId) -> bool) -> Result<()> {
        let Self { profile, nodes } = self;
        let fault = || anyhow!("the file is not of stacks");
        let ids = ids(batch, "stack")?;
        let frames = batch.column_by_name("frames").and_then(|it| it.as_list_opt::<i32>());
        let frames = frames.ok_or_else(fault)?;
        let values = frames.values().as_struct_opt().ok_or_else(fault)?;
        let columns = FrameColumns::of(values, profile).ok_or_else(fault)?;
        let root = profile.tree.root();
        // The frames of the last path, and their nodes: neighbours have most frames in common.
        let mut last: Vec<(usize, NodeId)> = Vec::new();
        for row in 0..frames.len() {
            let id = StackId(ids.value(row).try_into()?);
            if !is_wanted(&id) || nodes.contains_key(&id) {
                continue;
            }
            let offsets = &frames.value_offsets()[row..row + 2];
            let rows = offsets[0] as usize..offsets[1] as usize;
            let pairs = last.iter().zip(rows.clone());
            let common = pairs.take_while(|(last, row)| columns.are_same(last.0, *row)).count();
            last.truncate(common);
            let mut node = last.last().map_or(root, |it| it.1);
            for row in rows.skip(common) {
                let frame = columns.frame(row, &mut profile.symbols);
                node = profile.tree.insert_below(node, [frame]);
                last.push((row, node));
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
            no_class: symbols.class(""),
            no_name: symbols.strings.intern(""),
        })
    }

    /// Whether two rows have the same frame, by their words: a word that a dictionary has twice only takes longer.
    fn are_same(&self, a: usize, b: usize) -> bool {
        let Self { classes, methods, signatures, sources, kinds, lines, .. } = self;
        lines.value(a) == lines.value(b)
            && methods.are_same(a, b)
            && classes.are_same(a, b)
            && signatures.are_same(a, b)
            && sources.are_same(a, b)
            && kinds.are_same(a, b)
    }

    /// The frame of a row.
    fn frame(&self, row: usize, symbols: &mut Symbols) -> FrameId {
        let class = self.classes.get(row).unwrap_or(self.no_class);
        let name = self.methods.get(row).unwrap_or(self.no_name);
        let (signature, source) = (self.signatures.get(row), self.sources.get(row));
        let method = symbols.method(Method { class, name, signature, source });
        let kind = self.kinds.get(row).unwrap_or_default();
        symbols.frame(Frame {
            method,
            bci: None,
            line: Line::from_hprof(self.lines.value(row)),
            kind,
        })
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

    /// Whether two rows have the same word.
    fn are_same(&self, a: usize, b: usize) -> bool {
        let word = |row| self.column.is_valid(row).then(|| self.column.keys().value(row));
        word(a) == word(b)
    }

    fn get(&self, row: usize) -> Option<T> {
        let word = self.column.is_valid(row).then(|| self.column.keys().value(row) as usize)?;
        *self.meanings.get(word)?
    }
}
