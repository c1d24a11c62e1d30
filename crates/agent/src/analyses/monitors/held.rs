//! What is known of the thread that has the lock which another one waits for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::roster::Slot;

/// What is booked on a stack that has a lock of a class, since the last section.
#[derive(Debug, Default)]
pub(super) struct HolderBook {
    pub(super) blocking_ns: AtomicU64,
    /// The number of waits that looks met.
    pub(super) sample_count: AtomicU64,
    /// Those that a single look met.
    pub(super) short_count: AtomicU64,
}

/// What is known of the holder in a wait.
#[derive(Debug)]
pub(super) struct HolderRecord {
    by: Option<Arc<HolderBook>>,
    /// The time from which the wait is not booked on a holder yet.
    since: Instant,
    look_count: u32,
}

/// The holder of a lock at a look.
pub(super) struct HolderView {
    pub(super) thread: Option<Slot>,
    pub(super) book: Arc<HolderBook>,
    pub(super) is_known: bool,
}

impl HolderRecord {
    pub(super) fn new(begun: Instant) -> Self {
        Self { by: None, since: begun, look_count: 0 }
    }

    /// Books the time up to now on the holder seen last.
    pub(super) fn settle(&mut self, now: Instant) {
        if let Some(book) = &self.by {
            book.blocking_ns.fetch_add(nanoseconds(now - self.since), Relaxed);
        }
        self.since = now;
    }

    /// Books the rest of a wait that has ended.
    pub(super) fn end(mut self, now: Instant) {
        self.settle(now);
        if let Some(book) = self.by.filter(|_| self.look_count == 1) {
            book.short_count.fetch_add(1, Relaxed);
        }
    }

    /// Notes what a look has found. A lock without an owner may be between two of them: then the holder
    /// seen before or after has the time.
    pub(super) fn saw(&mut self, found: &HolderView, now: Instant) {
        if !found.is_known && self.by.is_some() {
            return;
        }
        self.look_count += 1;
        found.book.sample_count.fetch_add(1, Relaxed);
        self.by = Some(Arc::clone(&found.book));
        if found.is_known {
            self.settle(now);
        }
    }
}

/// Returns a duration in nanoseconds.
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}
