//! The threads that get samples, and the time of each that is still to be booked.

use std::sync::Arc;

use perk_profile::{TraceId, WallState};
use rustc_hash::FxHashMap;

use crate::os::{self, Tid};
use crate::roster::Slot;
use crate::threads::LiveThread;

/// The place on which a thread's time is booked.
pub(super) type Place = (TraceId, WallState);

/// The time of a thread that is to be booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Booking {
    pub(super) slot: Slot,
    /// `None` if the thread was never met.
    pub(super) place: Option<Place>,
    pub(super) ns: u64,
}

/// A thread that gets samples.
#[derive(Debug)]
struct Watched {
    thread: Arc<LiveThread>,
    /// The time up to which everything is booked, by the clock of `System.nanoTime`.
    booked_ns: u64,
    /// The time of the last visit.
    seen_ns: u64,
    last: Option<Sample>,
}

/// The last sample of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) trace: TraceId,
    pub(super) state: WallState,
    /// The reading of the thread's CPU clock, if it was possible.
    pub(super) cpu_ns: Option<u64>,
    /// The time for which it had waited for a CPU, if the kernel says.
    pub(super) delay_ns: Option<u64>,
}

impl Sample {
    /// Returns the part of the time since the sample before in which a thread waited for a CPU,
    /// of `ns` in which it wanted one. A look cannot tell: the thread that looks may have taken the
    /// CPU for that.
    fn waited_ns(&self, before: Option<Self>, ns: u64) -> u64 {
        let since = |now: Option<u64>, then: Option<Option<u64>>| {
            now?.checked_sub(then.unwrap_or(Some(0))?)
        };
        let ran = since(self.cpu_ns, before.map(|it| it.cpu_ns));
        let waited = since(self.delay_ns, before.map(|it| it.delay_ns));
        match ran.zip(waited) {
            Some((ran, waited)) if ran + waited > 0 => {
                (u128::from(ns) * u128::from(waited) / u128::from(ran + waited)) as u64
            }
            _ => 0,
        }
    }
}

/// The threads that get samples; see the module.
#[derive(Debug, Default)]
pub(super) struct Table {
    threads: Vec<Watched>,
    by_slot: FxHashMap<Slot, usize>,
    /// The position at which the round continues.
    next: usize,
    visit_count: u64,
}

/// A thread that a visit must look at.
#[derive(Clone, Debug)]
pub(super) struct Moving {
    pub(super) thread: Arc<LiveThread>,
    pub(super) last: Option<Sample>,
}

impl Table {
    /// Watches a thread from now on.
    pub(super) fn insert(&mut self, thread: Arc<LiveThread>, now_ns: u64) {
        self.by_slot.insert(thread.slot, self.threads.len());
        self.threads.push(Watched { thread, booked_ns: now_ns, seen_ns: now_ns, last: None });
    }

    /// Leaves out the time so far.
    pub(super) fn begin_at(&mut self, now_ns: u64) {
        for watched in &mut self.threads {
            (watched.booked_ns, watched.seen_ns, watched.last) = (now_ns, now_ns, None);
        }
    }

    /// Watches a thread no more. Returns the time that is still to be booked.
    pub(super) fn remove(&mut self, slot: Slot, now_ns: u64) -> Option<Booking> {
        let index = self.by_slot.remove(&slot)?;
        let mut watched = self.threads.swap_remove(index);
        if let Some(moved) = self.threads.get(index) {
            self.by_slot.insert(moved.thread.slot, index);
        }
        Some(watched.book_until(now_ns))
    }

    /// Returns how many threads there are.
    pub(super) fn len(&self) -> usize {
        self.threads.len()
    }

    pub(super) fn visit_count(&self) -> u64 {
        self.visit_count
    }

    /// Visits threads in turn, at most `most`, up to the first that may have moved since its last
    /// sample. Returns how many it visited, and that thread.
    pub(super) fn pass(&mut self, most: usize) -> (usize, Option<Moving>) {
        let most = most.min(self.threads.len());
        for visited in 1..=most {
            if self.next >= self.threads.len() {
                self.next = 0;
            }
            let watched = &mut self.threads[self.next];
            self.next += 1;
            self.visit_count += 1;
            if !watched.stands_still() {
                let moving = Moving { thread: Arc::clone(&watched.thread), last: watched.last };
                return (visited, Some(moving));
            }
            watched.seen_ns = os::nano_time();
        }
        (most, None)
    }

    /// Notes that a thread is as it was at its last sample.
    pub(super) fn saw(&mut self, thread: &Arc<LiveThread>, now_ns: u64) {
        if let Some(watched) = self.find(thread) {
            watched.seen_ns = now_ns;
        }
    }

    /// Notes a sample, which stands for the time since the last visit. Returns the time before that,
    /// which is the last sample's, and the sample's, for booking.
    pub(super) fn sampled(
        &mut self,
        thread: &Arc<LiveThread>,
        sample: Sample,
        now_ns: u64,
    ) -> Vec<Booking> {
        // The thread may have ended meanwhile; its time was booked then.
        let Some(watched) = self.find(thread) else { return Vec::new() };
        let mut bookings = Vec::with_capacity(3);
        let before = watched.last;
        if watched.last.is_some() && watched.seen_ns > watched.booked_ns {
            let seen_ns = watched.seen_ns;
            bookings.push(watched.book_until(seen_ns));
        }
        watched.last = Some(sample);
        let mut booking = watched.book_until(now_ns);
        if sample.state == WallState::Running {
            let ns = sample.waited_ns(before, booking.ns);
            let place = Some((sample.trace, WallState::Runnable));
            bookings.push(Booking { place, ns, ..booking });
            booking.ns -= ns;
        }
        bookings.push(booking);
        watched.seen_ns = now_ns;
        bookings
    }

    /// Returns all time up to now. That of threads which were never met is left for later, unless
    /// this is the last time.
    pub(super) fn settle(&mut self, now_ns: u64, last: bool) -> Vec<Booking> {
        let met = |watched: &&mut Watched| last || watched.last.is_some();
        let bookings = self.threads.iter_mut().filter(met).map(|watched| {
            watched.seen_ns = now_ns;
            watched.book_until(now_ns)
        });
        bookings.collect()
    }

    fn find(&mut self, thread: &Arc<LiveThread>) -> Option<&mut Watched> {
        let index = *self.by_slot.get(&thread.slot)?;
        self.threads.get_mut(index).filter(|it| Arc::ptr_eq(&it.thread, thread))
    }
}

impl Watched {
    /// Whether the thread has certainly done nothing since its last sample. In `Object.wait` it can
    /// be notified, which makes it wait for the monitor instead, without doing anything itself.
    fn stands_still(&self) -> bool {
        let Some(Sample { state, cpu_ns: Some(cpu_ns), .. }) = self.last else { return false };
        !matches!(state, WallState::Running | WallState::Waiting)
            && self.thread.tid().and_then(Tid::cpu_ns) == Some(cpu_ns)
    }

    fn book_until(&mut self, now_ns: u64) -> Booking {
        let ns = now_ns.saturating_sub(self.booked_ns);
        self.booked_ns = self.booked_ns.max(now_ns);
        let place = self.last.map(|sample| (sample.trace, sample.state));
        Booking { slot: self.thread.slot, place, ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_on_a_cpu_and_time_waiting_for_one_are_told_apart() {
        let at = |cpu_ns, delay_ns| Sample {
            trace: TraceId::new(0),
            state: WallState::Running,
            cpu_ns,
            delay_ns,
        };
        let before = Some(at(Some(1000), Some(500)));
        assert_eq!(at(Some(1030), Some(510)).waited_ns(before, 100), 25);
        assert_eq!(at(Some(1030), Some(500)).waited_ns(before, 100), 0);
        assert_eq!(at(Some(1000), Some(540)).waited_ns(before, 100), 100);
        assert_eq!(at(Some(1000), Some(500)).waited_ns(before, 100), 0);
        // The first sample counts from the thread's start.
        assert_eq!(at(Some(30), Some(10)).waited_ns(None, 100), 25);
        // Without the kernel's word the thread counts as running.
        assert_eq!(at(Some(1030), None).waited_ns(before, 100), 0);
        assert_eq!(at(Some(1030), Some(510)).waited_ns(Some(at(None, None)), 100), 0);
    }
}
