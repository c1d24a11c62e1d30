//! The ids of objects.

use perk_jvmti_sys::jvmpi::jobjectID;

/// The id of an object: its tag. It is a multiple of 16 and never 0; ids of ended objects are not used
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id(pub(crate) i64);

impl Id {
    /// Wraps a tag; `None` if the object has none.
    pub(crate) fn from_tag(tag: i64) -> Option<Self> {
        (tag > 0).then_some(Self(tag))
    }

    /// Wraps an argument of the agent's, which may be anything.
    pub(crate) fn from_raw(id: jobjectID) -> Option<Self> {
        Self::from_tag(id as i64)
    }

    /// Returns the id as the agent has it.
    pub(crate) fn raw(self) -> jobjectID {
        self.0 as jobjectID
    }
}
