//! A wait that lasts, and the row that it is booked on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use perk_jvm::{Global, Jni};
use perk_profile::{ClassId, LockKind, Waits};

use super::held::{HolderRecord, nanoseconds};
use super::sampled::{WaitGoal, WaitStart, Weight};
use crate::series::SeriesBook;

/// The counts of a row since the last section.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// The serial number of the thread that waits, if traces distinguish threads.
    pub(super) thread: Option<u32>,
    blocked_count: AtomicU64,
    blocked_ns: AtomicU64,
    wait_count: AtomicU64,
    waited_ns: AtomicU64,
}

/// A thread that waits.
#[derive(Debug)]
pub(super) struct ThreadWait {
    /// The row of the wait, with its weight; `None` if it is decided at its end whether it is booked.
    pub(super) row: Option<(Arc<Row>, u64)>,
    /// The lock's class; `None` if nobody asked for it yet.
    pub(super) class: Option<ClassId>,
    pub(super) kind: LockKind,
    pub(super) what: WaitGoal,
    pub(super) begun: WaitStart,
    /// The time from which the wait is not booked yet.
    since: Instant,
    /// The thread if it is virtual: the registry has no reference to it.
    pub(super) thread: Option<Arc<Global>>,
    /// The lock whose holder is looked for; the monitor of a virtual thread, or of a thread that waits to
    /// be notified: the JVM does not report it from JDK 23 on. In a program that runs already it
    /// reports none.
    pub(super) object: Option<Arc<Global>>,
    pub(super) held: HolderRecord,
}

impl Row {
    /// Returns a row of waits of a thread, if traces distinguish threads.
    pub(super) fn of(thread: Option<u32>) -> Self {
        Self { thread, ..Self::default() }
    }

    pub(super) fn add(&self, what: WaitGoal, Weight { count, ns }: Weight) {
        let (counts, times) = match what {
            WaitGoal::Lock => (&self.blocked_count, &self.blocked_ns),
            WaitGoal::Notice => (&self.wait_count, &self.waited_ns),
        };
        counts.fetch_add(count, Relaxed);
        times.fetch_add(ns, Relaxed);
    }

    pub(super) fn get(&self) -> Waits {
        Waits {
            blocked_count: self.blocked_count.load(Relaxed),
            blocked_ns: self.blocked_ns.load(Relaxed),
            wait_count: self.wait_count.load(Relaxed),
            waited_ns: self.waited_ns.load(Relaxed),
        }
    }

    pub(super) fn take(&self) -> Waits {
        Waits {
            blocked_count: self.blocked_count.swap(0, Relaxed),
            blocked_ns: self.blocked_ns.swap(0, Relaxed),
            wait_count: self.wait_count.swap(0, Relaxed),
            waited_ns: self.waited_ns.swap(0, Relaxed),
        }
    }
}

impl ThreadWait {
    /// Returns a wait that has begun, without a row: for a lock of a class, if that is known, and of a kind.
    pub(super) fn new(
        (class, kind): (Option<ClassId>, LockKind),
        what: WaitGoal,
        begun: WaitStart,
        object: Option<Arc<Global>>,
    ) -> Self {
        let (since, held) = (begun.at, HolderRecord::new(begun.at));
        Self { row: None, class, kind, what, begun, since, thread: None, object, held }
    }

    /// Books the rest of a wait that has ended.
    pub(super) fn end(mut self, jni: Jni<'_>, series: &SeriesBook, now: Instant) {
        self.book(series, now);
        self.held.end(now);
        delete(jni, self.thread);
        delete(jni, self.object);
    }

    /// Books the time up to now, if the wait has a row.
    pub(super) fn book(&mut self, series: &SeriesBook, now: Instant) {
        if let Some((row, weight)) = &self.row {
            let lasted_ns = nanoseconds(now - self.since);
            let ns = lasted_ns.saturating_mul(*weight);
            row.add(self.what, Weight { count: 0, ns });
            series.add(self.what.series(), row.thread, lasted_ns, ns);
        }
        self.since = now;
    }

    /// Whether it has lasted so long that it is recorded for sure.
    pub(super) fn is_long(&self, now: Instant) -> bool {
        now - self.begun.at >= Duration::from_nanos(self.begun.interval_ns)
    }

    pub(super) fn delete(self, jni: Jni<'_>) {
        delete(jni, self.thread);
        delete(jni, self.object);
    }
}

/// Deletes a reference unless it is still used elsewhere.
pub(super) fn delete(jni: Jni<'_>, reference: Option<Arc<Global>>) {
    if let Some(reference) = reference.and_then(Arc::into_inner) {
        jni.delete(reference);
    }
}
