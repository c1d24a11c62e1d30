//! Compaction: the pieces of an hour become one, in an order in which a query for one stack reads little.

use std::collections::BTreeSet;

use anyhow::Result;
use datafusion::arrow::array::Array;
use datafusion::arrow::compute::concat_batches;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::prelude::{SessionContext, col};
use futures::{StreamExt, TryStreamExt};
use perk_tables::{Limits, StackId};

use crate::encode::{self, Stay};
use crate::layout::{ManifestName, Slot, Table, piece_of};
use crate::manifest::Compaction;
use crate::piece_id::PieceId;
use crate::read_dates::Dates;
use crate::schema;
use crate::selection::{HourPieces, Selection, StoredFile};
use crate::stacks::StackPaths;
use crate::store::Store;

/// The order of the rows of a compacted piece.
const ORDER: [&str; 7] = ["metric", "stack", "source", "time", "thread", "subject", "value"];

/// What a compaction has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionSummary {
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
    pub async fn compact(
        &self,
        selection: &dyn Selection,
        limits: &Limits,
    ) -> Result<CompactionSummary> {
        let context = self.context(limits)?;
        let mut done = CompactionSummary::default();
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
        done: &mut CompactionSummary,
    ) -> Result<()> {
        let slot = &hour.slot;
        let these = std::slice::from_ref(hour);
        let ids: Vec<_> = hour.pieces.iter().map(PieceId::to_string).collect();
        let id = PieceId::of(ids.concat().as_bytes());
        let stacks = self.files(these, Table::Stacks).await?;
        let recordings = self.files(these, Table::Recordings).await?;
        let files = self.files(these, Table::Samples).await?;
        let files = files.iter().chain(&stacks).chain(&recordings);
        let bytes_before = files.map(StoredFile::bytes).sum::<u64>();
        let (samples, rows) = self.merged_samples(context, hour).await?;
        let stacks = self.merged_stacks(hour, &stacks).await?;
        let recordings = self.merged_recordings(&recordings).await?;
        let bytes = [&samples, &stacks, &recordings].map(Vec::len).iter().sum::<usize>() as u64;
        for (table, bytes) in Table::ALL.into_iter().zip([samples, stacks, recordings]) {
            self.put_new(&slot.data(&self.root, table, id), bytes).await?;
        }
        let last = hour.compaction.as_ref();
        let number = last.map_or(1, |it| it.number + 1);
        let mut replaced = last.map(|it| it.replaced.clone()).unwrap_or_default();
        replaced.extend(&hour.pieces);
        let compaction = Compaction {
            piece: id.to_string(),
            rows,
            replaced: replaced.iter().map(PieceId::to_string).collect(),
        };
        let path = slot.manifest(&self.root, ManifestName::Compaction(number));
        if !self.put_new(&path, serde_json::to_vec(&compaction)?).await? {
            // Another compaction was first. If it had the same pieces, its files are these.
            if self.compaction(slot, number).await?.piece != id {
                self.remove_data(slot, id).await?;
            }
            return Ok(());
        }
        *done = CompactionSummary {
            hours: done.hours + 1,
            pieces: done.pieces + hour.len(),
            bytes_before: done.bytes_before + bytes_before,
            bytes: done.bytes + bytes,
        };
        for &piece in &hour.pieces {
            self.remove_piece(slot, piece).await?;
        }
        if let Some(last) = last {
            let name = ManifestName::Compaction(last.number);
            self.remove(&slot.manifest(&self.root, name)).await?;
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
        let frame = self.sample_rows(context, vec![hour.clone()])?;
        let schema = schema::of(Table::Samples);
        let frame = frame.sort(ORDER.map(|name| col(name).sort(true, true)).to_vec())?;
        let mut batches = frame.execute_stream().await?;
        let mut writer = ArrowWriter::try_new_with_options(
            Vec::new(),
            schema.clone(),
            encode::options(Stay::Long)?,
        )?;
        let mut rows = 0;
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            rows += batch.num_rows();
            writer.write(&batch.with_schema(schema.clone())?)?;
        }
        Ok((writer.into_inner()?, rows))
    }

    /// The stacks of all pieces, each once, but for those that compacted pieces of other hours of the date have.
    async fn merged_stacks(&self, hour: &HourPieces, files: &[StoredFile]) -> Result<Vec<u8>> {
        let date = self.pieces(&Dates(&[hour.slot.clone().of_date()])).await?;
        let others = date.iter().filter(|it| it.slot != hour.slot).filter_map(|it| {
            let pieces = vec![it.compaction.as_ref()?.piece];
            Some(HourPieces { pieces, ..it.clone() })
        });
        let others = self.files(&others.collect::<Vec<_>>(), Table::Stacks).await?;
        let mut elsewhere = self.stack_ids(&others).await?;
        // What this hour's compaction had before, others may do without.
        let own = hour.compaction.as_ref().map(|it| it.piece);
        let is_own = |file: &&StoredFile| own.is_some() && piece_of(&file.meta.location) == own;
        let own: Vec<_> = files.iter().filter(is_own).cloned().collect();
        for id in self.stack_ids(&own).await? {
            elsewhere.remove(&id);
        }
        let StackPaths { profile, nodes } = self.stack_rows(files.to_vec()).paths(|_| true).await?;
        let used = nodes.iter().filter(|it| !elsewhere.contains(it.0));
        let used = used.map(|(&id, &node)| (id, node));
        encode::stacks(&profile, used, Stay::Long)
    }

    /// The ids of the stacks of files.
    async fn stack_ids(&self, files: &[StoredFile]) -> Result<BTreeSet<StackId>> {
        let mut ids = BTreeSet::new();
        let mut batches = self.batches(files, Table::Stacks);
        while let Some(batch) = batches.try_next().await? {
            let column = crate::columns::ids(&batch, "stack")?;
            let values = (0..column.len()).map(|row| column.value(row));
            ids.extend(values.filter_map(|it| it.try_into().ok()).map(StackId));
        }
        Ok(ids)
    }

    /// The rows of `recordings` of all pieces.
    async fn merged_recordings(&self, files: &[StoredFile]) -> Result<Vec<u8>> {
        let batches = self.batches(files, Table::Recordings);
        let batches: Vec<_> = batches.try_collect().await?;
        let batch = concat_batches(&schema::of(Table::Recordings), &batches)?;
        encode::file(Table::Recordings, batch.columns().to_vec(), Stay::Long)
    }
}
