//! The recordings that are asked, whose profiles may be read late.

use std::sync::{Arc, OnceLock};

use anyhow::anyhow;

use crate::recording::Recording;

type Read = dyn Fn() -> anyhow::Result<Vec<Recording>> + Send + Sync;

/// The recordings that are asked. Their profiles are read when a table or a function first needs them.
pub struct Recordings {
    read: Box<Read>,
    /// Those that are read, or why they cannot be.
    known: OnceLock<Result<Arc<[Recording]>, String>>,
}

impl std::fmt::Debug for Recordings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recordings").field("known", &self.known).finish_non_exhaustive()
    }
}

impl Recordings {
    /// Recordings that `read` gives.
    pub fn new(read: impl Fn() -> anyhow::Result<Vec<Recording>> + Send + Sync + 'static) -> Self {
        Self { read: Box::new(read), known: OnceLock::new() }
    }

    /// The recordings.
    pub(crate) fn get(&self) -> anyhow::Result<Arc<[Recording]>> {
        let known = self.known.get_or_init(|| match (self.read)() {
            Ok(recordings) => Ok(recordings.into()),
            Err(error) => Err(format!("{error:#}")),
        });
        known.clone().map_err(|error| anyhow!(error))
    }
}

impl From<Vec<Recording>> for Recordings {
    fn from(recordings: Vec<Recording>) -> Self {
        let known = OnceLock::from(Ok(recordings.into()));
        Self { read: Box::new(|| Ok(Vec::new())), known }
    }
}
