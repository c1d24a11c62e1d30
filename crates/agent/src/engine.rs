//! Where samples come from: of CPU time, and of allocations.

mod allocations;
mod monitors;
mod polling;
mod sampler;
mod threads;

pub(crate) use allocations::AllocationSampler;
pub(crate) use monitors::{Monitors, bind};
pub(crate) use polling::PollingEngine;

use std::sync::Arc;

use crate::jvm::{Global, Jni, Reference};
use crate::os::Tid;
use crate::roster::Slot;
use crate::session::Session;

/// Stacks deeper than this are walked to this depth, whatever `depth` says.
const MAX_FRAMES: u32 = 1 << 16;

/// A source of CPU samples. It hears of threads as they come and go, and books samples through
/// [`Session::record`]. All methods are called without any of the session's locks held.
pub(crate) trait Engine: Send + Sync {
    /// Its name in the accounting.
    fn name(&self) -> &'static str;

    /// Begins to sample.
    ///
    /// # Errors
    /// What the JVM refused, for one line on stderr.
    fn start(&'static self, jni: Jni<'_>, session: &'static Session) -> Result<(), String>;

    /// Samples a thread, or all and those that come, from now on or no more.
    ///
    /// # Errors
    /// What the JVM refused, or that there is no such thread: for one line on stderr.
    fn set_sampled(
        &'static self,
        jni: Jni<'_>,
        session: &'static Session,
        thread: Option<Slot>,
        is_sampled: bool,
    ) -> Result<(), String>;

    /// Keeps so many frames of each sample from now on.
    fn set_depth(&self, depth: u32);

    /// A thread has started. `on_it` tells that the call comes from that thread itself.
    fn thread_started(&self, jni: Jni<'_>, thread: &dyn Reference, slot: Slot, on_it: bool);

    /// Whether the calling thread is known from before its start was told: the main thread, and
    /// those that were listed while they were starting.
    fn knows_current(&self, jni: Jni<'_>, thread: &dyn Reference) -> bool;

    /// The calling thread ends. Answers the slot it had.
    fn thread_ended(&self, jni: Jni<'_>, thread: &dyn Reference, session: &Session)
    -> Option<Slot>;

    /// Whether a thread is one of the engine's, which is never reported.
    fn is_own_thread(&self, jni: Jni<'_>, thread: &dyn Reference) -> bool;

    /// All threads that live.
    fn threads(&self) -> Vec<(Slot, Arc<Global>)>;

    /// The slot of a thread that lives.
    fn slot(&self, tid: Tid) -> Option<Slot>;

    /// Books the CPU time that is known and not booked yet. Calls no JVM function.
    fn settle(&self, session: &Session);

    /// Ends sampling; returns when the last sample is booked, or after a few seconds.
    fn stop(&self);

    /// What it did so far.
    fn account(&self) -> EngineAccount;
}

/// An engine's part of the accounting; the fields are those of
/// [`Accounting`](perk_profile::Accounting).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EngineAccount {
    pub(crate) walk_count: u64,
    pub(crate) failed_walk_count: u64,
    pub(crate) unattributed_count: u64,
    pub(crate) virtual_sample_count: u64,
    pub(crate) java_cpu_ns: u64,
    /// CPU time of the engine's own threads.
    pub(crate) engine_cpu_ns: u64,
}
