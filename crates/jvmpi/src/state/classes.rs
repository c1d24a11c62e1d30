//! The classes that the agent knows.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use perk_jvm::Weak;
use rustc_hash::FxHashMap;

use crate::id::Id;

/// The classes that have an id.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    pub(crate) by_id: Mutex<FxHashMap<Id, ClassEntry>>,
    /// Whether the classes that were there when CLASS_UNLOAD was enabled have ids.
    pub(crate) are_known: AtomicBool,
    /// References to delete: their classes ended where the JVM could not be called.
    pub(crate) buried: Mutex<Vec<Weak>>,
}

#[derive(Debug)]
pub(crate) struct ClassEntry {
    pub(crate) reference: Weak,
    /// Whether CLASS_LOAD was sent without a request.
    pub(crate) is_announced: bool,
    /// Whether CLASS_UNLOAD will be sent: of prepared classes, and of those that were requested.
    pub(crate) has_end: bool,
}
