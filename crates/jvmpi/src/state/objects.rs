//! The ids of objects, and what is known of each.

use std::sync::RwLock;
use std::sync::atomic::AtomicI64;

use crate::objects::kinds::InstanceKinds;
use crate::objects::records::ObjectRecords;

/// The ids, and what is known of the objects.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    /// The number of ids that were given.
    pub(crate) given: AtomicI64,
    /// The number of walks that gave objects ids. Who gives an id to an object that others may know
    /// holds it for writing, in `critical`; a walk adds one. OBJECT_ALLOC holds it for reading.
    pub(crate) walks: RwLock<u64>,
    pub(crate) records: ObjectRecords,
    pub(crate) kinds: InstanceKinds,
}
