//! What questions about the whole heap found. Each takes a walk over all objects, so it is kept, and the index of a
//! large dump has it.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::suspects::SUSPECT_SHARE;
use crate::{Heap, HeldRow, ObjectId, Package, SetSize, Suspect, TreeLimits};

/// The biggest objects that are kept.
pub(crate) const BIGGEST: usize = 1000;
/// The rows of the dominator tree that are kept.
pub(crate) const TREE_ROWS: usize = 1000;

/// What was found, as far as it was asked for.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Findings {
    /// What the instances of each class retain.
    #[serde(with = "found")]
    pub(crate) class_sizes: OnceLock<Vec<SetSize>>,
    #[serde(with = "found")]
    pub(crate) packages: OnceLock<Vec<Package>>,
    /// The objects that retain most: the first [`BIGGEST`].
    #[serde(with = "found")]
    pub(crate) biggest: OnceLock<Vec<ObjectId>>,
    /// The suspects with [`SUSPECT_SHARE`].
    #[serde(with = "found")]
    pub(crate) suspects: OnceLock<Vec<Suspect>>,
    /// The rows of the tree below the roots with [`TREE_ROWS`], each with its place in the order of what they retain.
    #[serde(with = "found")]
    pub(crate) tree: OnceLock<Vec<(usize, HeldRow)>>,
}

impl Findings {
    /// Finds all of a heap.
    pub(crate) fn find_all(heap: &Heap) {
        heap.class_sizes();
        heap.packages();
        heap.biggest(BIGGEST);
        // A file that cannot be read is an error of the question.
        let _ = heap.suspects(SUSPECT_SHARE);
        heap.held_tree(None, TreeLimits::new(heap.totals().reachable.bytes, TREE_ROWS));
    }
}

/// A value that may have been found.
mod found {
    use std::sync::OnceLock;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<T: Serialize, S: Serializer>(
        found: &OnceLock<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        found.get().serialize(serializer)
    }

    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<OnceLock<T>, D::Error> {
        let found = Option::<T>::deserialize(deserializer)?;
        Ok(found.map_or_else(OnceLock::new, OnceLock::from))
    }
}
