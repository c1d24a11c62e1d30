//! The threads that the agent knows.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU64};
use std::sync::{Arc, Mutex};

use perk_jvm::Global;
use rustc_hash::FxHashMap;

/// A thread from its start to its end.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) env: usize,
    /// It is deleted when nobody uses the record any more.
    pub(crate) reference: ManuallyDrop<Global>,
    /// The id of the thread's object; 0 while it has none.
    pub(crate) id: AtomicI64,
    /// The agent's word.
    pub(crate) storage: AtomicPtr<c_void>,
    /// Whether the thread does what no other may wait for: see `critical`.
    pub(crate) is_critical: AtomicBool,
    /// Whether THREAD_START was sent, or would have been if it were enabled.
    pub(crate) is_announced: AtomicBool,
    /// Whether its THREAD_END was sent. It is not suspended any more: the agent could not resume it.
    pub(crate) has_ended: AtomicBool,
    /// Its suspension by the agent: see `suspension`. 0 for none.
    pub(crate) suspension: AtomicU64,
    /// The CPU time when the agent last resumed the thread, in nanoseconds.
    pub(crate) resumed_at_ns: AtomicU64,
    /// Its state in a function of raw monitors, as `GetThreadStatus` has it; 0 outside.
    pub(crate) raw_monitor_state: AtomicI32,
}

/// The registry.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    pub(crate) by_env: Mutex<FxHashMap<usize, Arc<Thread>>>,
}
