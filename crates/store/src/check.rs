//! A check of a store: whether its pieces are whole, and what else is in it.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use object_store::ObjectStoreExt;
use object_store::path::Path;

use crate::layout::{
    MANIFEST, ManifestName, STORE_FILE, Table, parse_manifest, piece_of, value_of,
};
use crate::manifest::PieceManifest;
use crate::piece_id::PieceId;
use crate::schema;
use crate::selection::{HourPieces, Selection};
use crate::store::Store;

/// What a check has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// The pieces that are whole.
    pub pieces: usize,
    /// Their rows in `samples`.
    pub rows: usize,
    /// The bytes of their files.
    pub bytes: u64,
    /// What is wrong with others, a line each.
    pub faults: Vec<String>,
    /// Files that count for nothing: of pieces without a manifest, or that a compaction has.
    pub leftovers: Vec<String>,
    /// Files that are not of a store.
    pub foreign: Vec<String>,
}

impl Store {
    /// Reads all files of a selection, and compares them with their manifests.
    ///
    /// # Errors
    /// The store cannot be listed, in one line.
    pub async fn check_pieces(&self, selection: &dyn Selection) -> Result<CheckReport> {
        let mut checked = CheckReport::default();
        let hours = self.pieces(selection).await?;
        for hour in &hours {
            for &id in &hour.pieces {
                match self.check_piece(hour, id).await {
                    Ok((rows, bytes)) => {
                        checked.pieces += 1;
                        checked.rows += rows;
                        checked.bytes += bytes;
                    }
                    Err(error) => checked.faults.push(format!("{error:#}")),
                }
            }
        }
        self.sort_out(&hours, selection, &mut checked).await?;
        Ok(checked)
    }

    /// The rows and the bytes of a piece.
    async fn check_piece(&self, hour: &HourPieces, id: PieceId) -> Result<(usize, u64)> {
        let slot = &hour.slot;
        let compaction = hour.compaction.as_ref().filter(|it| it.piece == id);
        let name =
            compaction.map_or(ManifestName::Piece(id), |it| ManifestName::Compaction(it.number));
        let manifest = slot.manifest(&self.root, name);
        let expected_rows = match compaction {
            Some(last) => last.rows,
            None => {
                let bytes = self.get(&manifest).await?.unwrap_or_default();
                let found = serde_json::from_slice::<PieceManifest>(&bytes);
                found.map_err(|_| self.unknown(&manifest))?.rows
            }
        };
        let mut all_bytes = 0;
        for table in Table::ALL {
            let path = slot.data(&self.root, table, id);
            let found = self.read(&path, table).await;
            let (rows, bytes) = found.with_context(|| format!("{self}: {path}"))?;
            all_bytes += bytes;
            if table == Table::Samples && rows != expected_rows {
                bail!("{self}: {path} has {rows} rows, and {expected_rows} in {manifest}");
            }
        }
        Ok((expected_rows, all_bytes))
    }

    /// Reads a file to its end. Returns its rows and its bytes.
    async fn read(&self, path: &Path, table: Table) -> Result<(usize, u64)> {
        let content = self.objects.get(path).await?.bytes().await?;
        let bytes = content.len() as u64;
        let reader = ParquetRecordBatchReaderBuilder::try_new(content)?;
        for field in schema::of(table).fields() {
            reader.schema().field_with_name(field.name())?;
        }
        let mut rows = 0;
        for batch in reader.build()? {
            rows += batch?.num_rows();
        }
        Ok((rows, bytes))
    }

    /// Finds the files that are of no piece.
    async fn sort_out(
        &self,
        hours: &[HourPieces],
        selection: &dyn Selection,
        checked: &mut CheckReport,
    ) -> Result<()> {
        let mut counted = BTreeSet::new();
        for hour in hours {
            for (&id, table) in hour.pieces.iter().flat_map(|id| Table::ALL.map(|it| (id, it))) {
                counted.insert(hour.slot.data(&self.root, table, id));
            }
            for &name in &hour.leftovers {
                checked.leftovers.push(hour.slot.manifest(&self.root, name).to_string());
            }
        }
        for file in self.list(&self.root).await? {
            let path = file.location;
            let parts: Vec<_> = path.prefix_match(&self.root).into_iter().flatten().collect();
            let parts: Vec<_> = parts.iter().map(|it| it.as_ref()).collect();
            let is_data = Table::ALL.iter().any(|it| parts.first() == Some(&it.name()))
                && piece_of(&path).is_some();
            match parts[..] {
                [STORE_FILE] => {}
                [MANIFEST, ..] if parse_manifest(&self.root, &path).is_some() => {}
                [_, service, ..] if is_data => {
                    let service = value_of(service, "service").unwrap_or_default();
                    if selection.has(&service, None) && !counted.contains(&path) {
                        checked.leftovers.push(path.to_string());
                    }
                }
                _ => checked.foreign.push(path.to_string()),
            }
        }
        Ok(())
    }
}
