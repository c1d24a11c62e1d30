//! Compaction: the pieces of an hour become one, in an order in which a query for one stack reads little.

use std::collections::BTreeSet;

use anyhow::Result;
use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::compute::concat_batches;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::prelude::{SessionContext, col};
use futures::StreamExt;
use perk_tables::{Limits, StackId, stack_ids};

use crate::encode;
use crate::layout::{ManifestName, Slot, Table};
use crate::manifest::Compaction;
use crate::piece_id::PieceId;
use crate::schema;
use crate::selection::{HourPieces, Selection, StoredFile};
use crate::store::Store;
use crate::tables::StoreTable;

/// The order of the rows of a compacted piece.
const ORDER: [&str; 7] = ["metric", "stack", "source", "time", "thread", "subject", "value"];

/// What a compaction has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// The hours of services whose pieces became one.
    pub hours: usize,
    /// The pieces that they had.
    pub pieces: usize,
    /// The bytes of all their files before.
    pub bytes_before: u64,
    /// The bytes of the files after it.
    pub bytes: u64,
}

impl Store {
    /// Makes one piece of the pieces of each hour of a selection. Another process may do the same meanwhile: the first has
    /// its way. What a compaction that was killed has left is removed.
    ///
    /// # Errors
    /// The store cannot be read or written, in one line. What is done so far stays.
    pub async fn compact(&self, selection: &dyn Selection, limits: &Limits) -> Result<Compacted> {
        let context = perk_tables::context(limits)?;
        context.register_object_store(Self::object_url()?.as_ref(), self.objects.clone());
        let mut done = Compacted::default();
        for hour in self.pieces(selection).await? {
            if hour.len() > 1 {
                self.compact_hour(&context, &hour, &mut done).await?;
            } else {
                self.remove_leftovers(&hour).await?;
            }
        }
        Ok(done)
    }

    async fn compact_hour(
        &self,
        context: &SessionContext,
        hour: &HourPieces,
        done: &mut Compacted,
    ) -> Result<()> {
        let slot = &hour.slot;
        let these = std::slice::from_ref(hour);
        let ids: Vec<_> = hour.pieces.iter().map(PieceId::to_string).collect();
        let id = PieceId::of(ids.concat().as_bytes());
        let mut before = 0;
        for table in Table::ALL {
            before += self.files(these, table).await?.iter().map(StoredFile::bytes).sum::<u64>();
        }
        let (samples, rows) = self.merged_samples(context, hour).await?;
        let stacks = self.merged_stacks(hour).await?;
        let recordings = self.merged_recordings(hour).await?;
        let bytes = [&samples, &stacks, &recordings].map(Vec::len).iter().sum::<usize>() as u64;
        for (table, bytes) in Table::ALL.into_iter().zip([samples, stacks, recordings]) {
            self.put_new(&slot.data(&self.root, table, id), bytes).await?;
        }
        let last = hour.compaction.as_ref();
        let number = last.map_or(1, |it| it.0 + 1);
        let mut replaced = last.map(|it| it.2.clone()).unwrap_or_default();
        replaced.extend(&hour.pieces);
        let compaction = Compaction {
            piece: id.to_string(),
            rows,
            replaced: replaced.iter().map(PieceId::to_string).collect(),
        };
        let path = slot.manifest(&self.root, ManifestName::Compaction(number));
        if !self.put_new(&path, serde_json::to_vec(&compaction)?).await? {
            // Another compaction was first. If it had the same pieces, its files are these.
            if self.compaction(slot, number).await?.1 != id {
                self.remove_data(slot, id).await?;
            }
            return Ok(());
        }
        *done = Compacted {
            hours: done.hours + 1,
            pieces: done.pieces + hour.len(),
            bytes_before: done.bytes_before + before,
            bytes: done.bytes + bytes,
        };
        for &piece in &hour.pieces {
            self.remove_piece(slot, piece).await?;
        }
        if let Some((number, ..)) = last {
            self.remove(&slot.manifest(&self.root, ManifestName::Compaction(*number))).await?;
        }
        self.remove_leftovers(hour).await
    }

    /// Removes a piece that a compaction has.
    async fn remove_piece(&self, slot: &Slot, id: PieceId) -> Result<()> {
        self.remove(&slot.manifest(&self.root, ManifestName::Piece(id))).await?;
        self.remove_data(slot, id).await
    }

    async fn remove_data(&self, slot: &Slot, id: PieceId) -> Result<()> {
        for table in Table::ALL {
            self.remove(&slot.data(&self.root, table, id)).await?;
        }
        Ok(())
    }

    /// Removes what compactions should have removed.
    async fn remove_leftovers(&self, hour: &HourPieces) -> Result<()> {
        for &name in &hour.leftovers {
            match name {
                ManifestName::Piece(id) => self.remove_piece(&hour.slot, id).await?,
                ManifestName::Compaction(_) => {
                    self.remove(&hour.slot.manifest(&self.root, name)).await?;
                }
            }
        }
        Ok(())
    }

    /// The rows of all pieces in order, as a file.
    async fn merged_samples(
        &self,
        context: &SessionContext,
        hour: &HourPieces,
    ) -> Result<(Vec<u8>, usize)> {
        let table = StoreTable::of_pieces(self.clone(), Table::Samples, vec![hour.clone()]);
        let schema = schema::of(Table::Samples);
        let columns: Vec<_> = schema.fields().iter().map(|it| col(it.name())).collect();
        let frame = context.read_table(std::sync::Arc::new(table))?.select(columns)?;
        let frame = frame.sort(ORDER.map(|name| col(name).sort(true, true)).to_vec())?;
        let mut batches = frame.execute_stream().await?;
        let mut writer =
            ArrowWriter::try_new_with_options(Vec::new(), schema.clone(), encode::options()?)?;
        let mut rows = 0;
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            rows += batch.num_rows();
            writer.write(&batch.with_schema(schema.clone())?)?;
        }
        Ok((writer.into_inner()?, rows))
    }

    /// The stacks of all pieces, each once, but for those that compacted pieces of other hours of the date have.
    async fn merged_stacks(&self, hour: &HourPieces) -> Result<Vec<u8>> {
        let date = self.pieces(&Date(&hour.slot)).await?;
        let others = date.iter().filter(|it| it.slot != hour.slot).filter_map(|it| {
            let (_, piece, _) = it.compaction.as_ref()?;
            Some(HourPieces { pieces: vec![*piece], ..it.clone() })
        });
        let others: Vec<_> = others.collect();
        let mut elsewhere = BTreeSet::new();
        for file in self.files(&others, Table::Stacks).await? {
            elsewhere.extend(self.stack_ids(file).await?);
        }
        let files = self.files(std::slice::from_ref(hour), Table::Stacks).await?;
        // What this hour's compaction had before, others may do without.
        let own = hour.compaction.as_ref().map(|it| it.1);
        for file in &files {
            if own.is_some_and(|own| crate::layout::piece_of(&file.meta.location) == Some(own)) {
                for id in self.stack_ids(file.clone()).await? {
                    elsewhere.remove(&id);
                }
            }
        }
        let profile = self.stacks(&files).await?;
        let ids = stack_ids(&profile);
        let nodes =
            profile.traces().iter().map(|it| it.node).filter(|it| *it != profile.tree.root());
        let used: BTreeSet<_> = nodes.map(|node| ids[node.index()]).collect();
        encode::stacks(&profile, &ids, &used.difference(&elsewhere).copied().collect())
    }

    /// The ids of the stacks of a file.
    async fn stack_ids(&self, file: StoredFile) -> Result<Vec<StackId>> {
        let mut ids = Vec::new();
        for batch in self.batches(file, Table::Stacks).await? {
            let column = batch.column_by_name("stack").and_then(|it| it.as_fixed_size_binary_opt());
            let values = column.into_iter().flat_map(|it| (0..it.len()).map(|row| it.value(row)));
            ids.extend(values.filter_map(|it| it.try_into().ok()).map(StackId));
        }
        Ok(ids)
    }

    /// The rows of `recordings` of all pieces.
    async fn merged_recordings(&self, hour: &HourPieces) -> Result<Vec<u8>> {
        let mut batches = Vec::new();
        for file in self.files(std::slice::from_ref(hour), Table::Recordings).await? {
            batches.extend(self.batches(file, Table::Recordings).await?);
        }
        let schema = schema::of(Table::Recordings);
        let batch = concat_batches(&schema, &batches)?;
        encode::file(Table::Recordings, batch.columns().to_vec())
    }
}

/// The date of a service.
struct Date<'a>(&'a Slot);

impl Selection for Date<'_> {
    fn has(&self, service: &str, hours: Option<(crate::Hour, crate::Hour)>) -> bool {
        let date = self.0.hour.first_of_date();
        let is_in = |(first, last)| first <= date.last_of_date() && last >= date;
        service == self.0.service && hours.is_none_or(is_in)
    }
}
