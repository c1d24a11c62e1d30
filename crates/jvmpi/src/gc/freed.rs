//! The ids whose objects are gone.

use std::sync::atomic::Ordering::Relaxed;

use super::super::Id;
use crate::state::STATE;
use perk_jvm::sync::lock;

/// Returns the number of ids whose objects are gone.
pub(super) fn freed_count() -> usize {
    lock(&STATE.gc.freed).len()
}

/// Takes the ids whose objects are gone.
pub(super) fn take_freed() -> Vec<Id> {
    std::mem::take(&mut *lock(&STATE.gc.freed))
}

/// Counts an event of a bracket, as a sign of life.
pub(super) fn step() {
    STATE.gc.steps.fetch_add(1, Relaxed);
}
