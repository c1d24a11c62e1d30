//! A recording that is asked.

use std::sync::OnceLock;

use perk_analysis::{MethodTree, Owners};
use perk_profile::{NodeId, Profile};

use crate::heap_dump::HeapDump;
use crate::stacks::{self, StackId};

/// A profile, and what several tables need of it.
#[derive(Debug)]
pub struct Recording {
    /// Its number in `recordings`, from 1.
    pub number: u64,
    /// The name of its file.
    pub file: String,
    /// The profile.
    pub profile: Profile,
    /// Its heap dump, if it has one.
    pub heap: Option<HeapDump>,
    stacks: OnceLock<Vec<StackId>>,
    tree: OnceLock<MethodTree>,
    owners: OnceLock<Owners>,
}

impl Recording {
    /// A recording of a file.
    pub fn new(number: u64, file: String, profile: Profile, heap: Option<HeapDump>) -> Self {
        let (stacks, tree, owners) = Default::default();
        Self { number, file, profile, heap, stacks, tree, owners }
    }

    /// The id of the stack of a node; `None` if it has no frames.
    pub(crate) fn stack(&self, node: NodeId) -> Option<StackId> {
        (node != self.profile.tree.root()).then(|| self.stacks()[node.index()])
    }

    pub(crate) fn stacks(&self) -> &[StackId] {
        self.stacks.get_or_init(|| stacks::stack_ids(&self.profile))
    }

    pub(crate) fn tree(&self) -> &MethodTree {
        self.tree.get_or_init(|| MethodTree::new(&self.profile))
    }

    pub(crate) fn owners(&self) -> &Owners {
        self.owners.get_or_init(|| Owners::new(&self.profile))
    }

    /// A time since the recording's start as nanoseconds since 1970; `None` if the file has no date.
    pub(crate) fn unix_ns(&self, since_start_ns: u64) -> Option<i64> {
        let start_ns = self.profile.created?.unix_ms.checked_mul(1_000_000)?;
        i64::try_from(start_ns.checked_add(since_start_ns)?).ok()
    }
}
