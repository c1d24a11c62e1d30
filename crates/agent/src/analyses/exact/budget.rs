//! The memory of call trees and their sites, and its limit (`memlimit`).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The bytes of a node: itself, its part of the tables of its tree, and the sums that a dump needs.
pub(super) const NODE_BYTES: u64 = 104;
/// The bytes of a record in the same sense.
pub(super) const RECORD_BYTES: u64 = 340;

/// The memory; see the module.
#[derive(Debug)]
pub(super) struct Budget {
    limit_bytes: u64,
    used_bytes: AtomicU64,
    is_spent: AtomicBool,
}

impl Budget {
    pub(super) fn new(limit_bytes: u64) -> Self {
        let (used_bytes, is_spent) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { limit_bytes, used_bytes, is_spent }
    }

    /// Takes a number of bytes. Returns whether they are left.
    pub(super) fn take(&self, bytes: u64) -> bool {
        let more = |used| (used + bytes <= self.limit_bytes).then_some(used + bytes);
        let is_taken = self.used_bytes.fetch_update(Relaxed, Relaxed, more).is_ok();
        if !is_taken {
            self.is_spent.store(true, Relaxed);
        }
        is_taken
    }

    /// Returns the limit, if it was reached.
    pub(super) fn reached(&self) -> Option<u64> {
        self.is_spent.load(Relaxed).then_some(self.limit_bytes)
    }
}
