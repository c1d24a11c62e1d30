//! The times for which the JVM stands still to collect garbage.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use perk_jvm::os;
use perk_jvm::sync::lock;
use perk_profile::{Accounting, Pause, PauseKind};

use crate::recorder::{Book, DumpSection, Place, Recorder, Sections};

/// The pauses between two looks that are known one by one.
const SLOTS: usize = 256;
/// The most pauses between two dumps; of more, the longer half stays each time.
const MOST: usize = 1 << 16;

/// All pauses so far; see the module.
#[derive(Debug)]
pub(crate) struct Pauses {
    /// Whether the output holds single pauses.
    are_written: bool,
    /// The time at which the pause began that is now.
    begun_ns: AtomicU64,
    count: AtomicU64,
    ns: AtomicU64,
    longest_ns: AtomicU64,
    /// The last pauses. The thread that stops the others writes them and may wait for nobody: those that it
    /// has stopped may hold a lock.
    slots: [Slot; SLOTS],
    recent: Mutex<RecentPauses>,
}

#[derive(Debug, Default)]
struct Slot {
    begin_ns: AtomicU64,
    ns: AtomicU64,
}

/// The pauses since the last dump.
#[derive(Debug, Default)]
struct RecentPauses {
    /// The number of pauses that were looked at.
    seen: u64,
    /// Their times, by the clock of [`os::nano_time`].
    pauses: Vec<Pause>,
}

impl Pauses {
    pub(crate) fn new(are_written: bool) -> Self {
        Self {
            are_written,
            begun_ns: AtomicU64::new(0),
            count: AtomicU64::new(0),
            ns: AtomicU64::new(0),
            longest_ns: AtomicU64::new(0),
            slots: std::array::from_fn(|_| Slot::default()),
            recent: Mutex::default(),
        }
    }

    /// Notes that the JVM stands still on the calling thread.
    pub(crate) fn started(&self) {
        self.begun_ns.store(os::nano_time(), Relaxed);
    }

    /// Notes the end of the pause.
    pub(crate) fn finished(&self) {
        self.add(self.begun_ns.load(Relaxed), os::nano_time());
    }

    fn add(&self, begin_ns: u64, end_ns: u64) {
        let ns = end_ns.saturating_sub(begin_ns);
        let count = self.count.load(Relaxed);
        let slot = &self.slots[count as usize % SLOTS];
        slot.begin_ns.store(begin_ns, Relaxed);
        slot.ns.store(ns, Relaxed);
        self.ns.fetch_add(ns, Relaxed);
        self.longest_ns.fetch_max(ns, Relaxed);
        self.count.store(count + 1, Release);
    }

    /// Takes the pauses since the last look. Calls no JVM function.
    pub(crate) fn look(&self) {
        if self.are_written {
            lock(&self.recent).look(self);
        }
    }

    /// Forgets what was so far.
    pub(crate) fn clear(&self) {
        let mut recent = lock(&self.recent);
        [&self.ns, &self.longest_ns, &self.count].iter().for_each(|it| it.store(0, Relaxed));
        *recent = RecentPauses::default();
    }

    /// The longest pause is that of a new file from now on.
    pub(crate) fn begin_part(&self) {
        self.longest_ns.store(0, Relaxed);
    }

    /// Adds the sums to the account.
    pub(crate) fn sum_up(&self, accounting: &mut Accounting) {
        accounting.gc_count = self.count.load(Relaxed);
        accounting.gc_pause_ns = self.ns.load(Relaxed);
        accounting.gc_longest_pause_ns = self.longest_ns.load(Relaxed);
    }
}

impl RecentPauses {
    fn look(&mut self, all: &Pauses) {
        let count = all.count.load(Acquire);
        let first = self.seen.max(count.saturating_sub(SLOTS as u64));
        self.seen = count;
        for place in first..count {
            let slot = &all.slots[place as usize % SLOTS];
            let (begin_ns, duration_ns) = (slot.begin_ns.load(Relaxed), slot.ns.load(Relaxed));
            self.pauses.push(Pause { begin_ns, duration_ns, kind: PauseKind::Collection });
        }
        if self.pauses.len() >= MOST {
            self.pauses.sort_unstable_by_key(|it| std::cmp::Reverse(it.duration_ns));
            self.pauses.truncate(MOST / 2);
        }
    }
}

impl Book for Pauses {
    fn place(&self) -> Place {
        Place::Pauses
    }

    fn write(&self, recorder: &mut Recorder, sections: &mut Sections<'_>) -> io::Result<()> {
        if !self.are_written {
            return Ok(());
        }
        let mut recent = lock(&self.recent);
        recent.look(self);
        let begun_ns = recorder.begun_ns();
        let since = |it: &Pause| Pause { begin_ns: it.begin_ns.saturating_sub(begun_ns), ..*it };
        let pauses: Vec<_> = recent.pauses.iter().map(since).collect();
        if !sections.are_of_flush() {
            recent.pauses.clear();
        }
        drop(recent);
        sections.put(recorder, DumpSection::Pauses(&pauses))
    }

    fn release(&self) {
        lock(&self.recent).pauses = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pause_is_known_and_the_longer_ones_stay() {
        let pauses = Pauses::new(true);
        let known = || lock(&pauses.recent).pauses.len();
        pauses.add(10, 15);
        pauses.add(20, 21);
        pauses.look();
        pauses.look();
        assert_eq!(known(), 2);
        // The ring has room for fewer: the first are gone, and the sums have them.
        (0..=SLOTS as u64).for_each(|at| pauses.add(100 * at, 100 * at + 2));
        pauses.look();
        assert_eq!(known(), 2 + SLOTS);
        let mut accounting = Accounting::default();
        pauses.sum_up(&mut accounting);
        let sums = (accounting.gc_count, accounting.gc_pause_ns, accounting.gc_longest_pause_ns);
        assert_eq!(sums, (3 + SLOTS as u64, 6 + 2 * (1 + SLOTS as u64), 5));
        for _ in 0..MOST / SLOTS {
            (0..SLOTS as u64).for_each(|at| pauses.add(at, at + 1));
            pauses.look();
        }
        assert!(known() < MOST);
        assert!(lock(&pauses.recent).pauses.iter().any(|it| it.duration_ns == 5));
        pauses.clear();
        assert_eq!(known(), 0);
    }
}
