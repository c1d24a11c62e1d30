//! What is counted exactly, as it is handed to the recorder.

use perk_profile::{Allocations, ClassId};

/// A node as a dump sees it: what came since the last dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) count: u64,
    /// The time of the calls without what they called.
    pub(crate) self_ns: u64,
    /// The time of the calls with all that they called; a recursive call counts again in the call
    /// around it.
    pub(crate) total_ns: u64,
    /// How many calls were made from it.
    pub(crate) callee_count: u64,
    /// The number of the method; [`Calls::LOST`] for the node of paths that are not known.
    pub(crate) method: u32,
    /// The parent's place among the nodes of the tree, which come in an order in which parents are
    /// first; [`Calls::NO_PARENT`] for a thread's first methods.
    pub(crate) parent: u32,
    /// The caller's line; 0 where it is not told.
    pub(crate) line: u16,
}

impl Calls {
    pub(crate) const NO_PARENT: u32 = u32::MAX;
    pub(crate) const LOST: u32 = u32::MAX >> 1;

    /// Whether it stands for paths that are not known.
    pub(crate) fn is_lost(&self) -> bool {
        self.method == Self::LOST
    }

    /// The number of the method.
    pub(crate) fn method_index(&self) -> usize {
        self.method as usize
    }
}

/// The nodes of a tree that have sites, and those that lead to them.
#[derive(Debug, Default)]
pub(crate) struct SitePaths {
    /// In an order in which parents are first.
    pub(crate) nodes: Vec<PathNode>,
    pub(crate) sites: Vec<PathSite>,
}

/// A method in its context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathNode {
    /// The number of the method, as in [`Calls`].
    pub(crate) method: u32,
    /// The parent's place; [`Calls::NO_PARENT`] for a thread's first methods.
    pub(crate) parent: u32,
    /// The line from which the parent calls it; 0 where it is not told.
    pub(crate) line: u16,
}

/// A record and what it is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathSite {
    /// The place of the node; [`Calls::NO_PARENT`] where no method is known.
    pub(crate) node: u32,
    /// The line of the node's method; 0 where it is not told.
    pub(crate) line: u16,
    /// The number of the class.
    pub(crate) class: u32,
    /// The index of the record.
    pub(crate) record: u32,
}

/// The objects of a program, by site.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    /// By the index of the record.
    pub(crate) sites: Vec<Allocations>,
    /// The live objects that have no site, by class.
    pub(crate) others: Vec<(ClassId, Allocations)>,
}
