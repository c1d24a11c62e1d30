//! A check of a store: whether its pieces are whole, and what else is in it.

use std::collections::BTreeSet;

use anyhow::Result;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use object_store::ObjectStoreExt;

use crate::layout::{MANIFEST, ManifestName, STORE_FILE, Table, parse_manifest, piece_of};
use crate::manifest::{Compaction, PieceManifest};
use crate::schema;
use crate::selection::{HourPieces, Selection};
use crate::store::Store;

/// What a check has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
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
    pub async fn check_pieces(&self, selection: &dyn Selection) -> Result<Checked> {
        let mut checked = Checked::default();
        let hours = self.pieces(selection).await?;
        for hour in &hours {
            for at in 0..hour.len() {
                let one = HourPieces { pieces: vec![hour.pieces[at]], ..hour.clone() };
                match self.check_piece(&one).await {
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
    async fn check_piece(&self, piece: &HourPieces) -> Result<(usize, u64)> {
        let (slot, id) = (&piece.slot, piece.pieces[0]);
        let (name, rows) = match &piece.compaction {
            Some((number, compacted, _)) if *compacted == id => {
                let name = ManifestName::Compaction(*number);
                let found = self.manifest::<Compaction>(piece, name).await?;
                (name, found.rows)
            }
            _ => {
                let name = ManifestName::Piece(id);
                (name, self.manifest::<PieceManifest>(piece, name).await?.rows)
            }
        };
        let mut bytes = 0;
        for table in Table::ALL {
            for file in self.files(std::slice::from_ref(piece), table).await? {
                let path = file.meta.location.clone();
                bytes += file.bytes();
                let found = self.read(&path, table).await;
                let found = found.map_err(|error| anyhow::anyhow!("{self}: {path}: {error:#}"))?;
                if table == Table::Samples && found != rows {
                    let manifest = slot.manifest(&self.root, name);
                    anyhow::bail!("{self}: {path} has {found} rows, and {rows} in {manifest}");
                }
            }
        }
        Ok((rows, bytes))
    }

    async fn manifest<T: serde::de::DeserializeOwned>(
        &self,
        piece: &HourPieces,
        name: ManifestName,
    ) -> Result<T> {
        let path = piece.slot.manifest(&self.root, name);
        let bytes = self.get(&path).await?.unwrap_or_default();
        serde_json::from_slice(&bytes)
            .map_err(|_| anyhow::anyhow!("{self}: {path}: not a manifest that this perk knows"))
    }

    /// Reads a file to its end. Returns its rows.
    async fn read(&self, path: &object_store::path::Path, table: Table) -> Result<usize> {
        let bytes = self.objects.get(path).await?.bytes().await?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes)?;
        for field in schema::of(table).fields() {
            reader.schema().field_with_name(field.name())?;
        }
        let mut rows = 0;
        for batch in reader.build()? {
            rows += batch?.num_rows();
        }
        Ok(rows)
    }

    /// Finds the files that are of no piece.
    async fn sort_out(
        &self,
        hours: &[HourPieces],
        selection: &dyn Selection,
        checked: &mut Checked,
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
                    let service = crate::layout::value_of(service, "service").unwrap_or_default();
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
