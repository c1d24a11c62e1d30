//! The counts of objects, as they are passed from records to the book and to the file.

use perk_profile::{Allocations, ClassId};

/// A record, with the site that it counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathSite {
    /// The index of the node; [`Calls::NO_PARENT`](crate::recorder::Calls::NO_PARENT) if no method is known.
    pub(super) node: u32,
    /// The line of the node's method; 0 if it is not given.
    pub(super) line: u16,
    /// The number of the class.
    pub(super) class: u32,
    /// The index of the record.
    pub(super) record: u32,
}

/// The objects of a site.
#[derive(Clone, Copy, Debug)]
pub(super) struct CountedSite {
    /// The index of the node; [`Calls::NO_PARENT`](crate::recorder::Calls::NO_PARENT) if no method is known.
    pub(super) node: u32,
    /// The line of the node's method; 0 if it is not given.
    pub(super) line: u16,
    pub(super) class: ClassId,
    pub(super) objects: Allocations,
}

/// The objects of a program, by site.
#[derive(Debug, Default)]
pub(super) struct ObjectCounts {
    /// The objects of each site, by the index of the record.
    pub(super) sites: Vec<Allocations>,
    /// The live objects without a site, by class.
    pub(super) others: Vec<(ClassId, Allocations)>,
}
