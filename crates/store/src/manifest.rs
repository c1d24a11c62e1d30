//! What manifests say.

use serde::{Deserialize, Serialize};

use crate::layout::{STORE_FILE, VERSION};

/// The file that makes a folder a store.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoreFile {
    pub(crate) format: String,
    pub(crate) version: u32,
}

impl StoreFile {
    const FORMAT: &str = "perk-store";

    pub(crate) fn new() -> Self {
        Self { format: Self::FORMAT.to_owned(), version: VERSION }
    }

    /// Reads the file of a store.
    ///
    /// # Errors
    /// It is of something else or of a later version, in words.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let this: Self =
            serde_json::from_slice(bytes).map_err(|error| format!("{STORE_FILE}: {error}"))?;
        if this.format != Self::FORMAT {
            return Err(format!("{STORE_FILE} is of {:?}, not of a store of perk's", this.format));
        }
        if this.version > VERSION {
            return Err(format!(
                "the store has version {} of the layout, and this perk knows {VERSION}: use a later perk",
                this.version
            ));
        }
        Ok(this)
    }
}

/// The manifest of a piece: its name has the id, and its place the service and the hour.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PieceManifest {
    /// Its rows in `samples`.
    pub(crate) rows: usize,
    /// The bytes of its files, by table.
    pub(crate) bytes: [usize; 3],
}

/// The manifest of a compaction: one piece that has the content of others.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Compaction {
    /// The piece.
    pub(crate) piece: String,
    /// Its rows in `samples`.
    pub(crate) rows: usize,
    /// All pieces whose content it has, also from compactions before.
    pub(crate) replaced: Vec<String>,
}
