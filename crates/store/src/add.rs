//! The writing of pieces.

use anyhow::Result;
use futures::TryStreamExt;
use object_store::ObjectStore;

use crate::layout::{ManifestName, parse_manifest};
use crate::manifest::PieceManifest;
use crate::piece::Piece;
use crate::store::Store;

impl Store {
    /// Adds a piece: its files, and then its manifest. Returns whether the store did not have it.
    ///
    /// # Errors
    /// The store cannot be written, in one line. What was written counts for nothing then.
    pub async fn add(&self, piece: &Piece) -> Result<bool> {
        if self.has(piece).await? {
            return Ok(false);
        }
        for (table, bytes) in piece.files() {
            let path = piece.slot.data(&self.root, table, piece.id);
            self.put_new(&path, bytes.to_vec()).await?;
        }
        let manifest =
            PieceManifest { rows: piece.rows, bytes: piece.files.each_ref().map(Vec::len) };
        let mut text = serde_json::to_vec(&manifest)?;
        text.push(b'\n');
        let path = piece.slot.manifest(&self.root, ManifestName::Piece(piece.id));
        self.put_new(&path, text).await
    }

    /// Whether the store has a piece, itself or in a compaction.
    async fn has(&self, piece: &Piece) -> Result<bool> {
        let path = piece.slot.manifest(&self.root, ManifestName::Piece(piece.id));
        if self.get(&path).await?.is_some() {
            return Ok(true);
        }
        let folder = piece.slot.manifests(&self.root);
        let offset = piece.slot.before_compactions(&self.root);
        let found = self.objects.list_with_offset(Some(&folder), &offset);
        let found: Vec<_> =
            found.try_collect().await.map_err(|error| self.fault(&folder, &error))?;
        let names = found.iter().filter_map(|it| parse_manifest(&self.root, &it.location));
        let hour = self.hour_pieces(piece.slot.clone(), names.map(|it| it.1).collect()).await?;
        Ok(hour.compaction.is_some_and(|it| it.replaced.contains(&piece.id)))
    }
}
