//! The threads that get samples, and the time of each that is still to be booked.

use std::sync::Arc;

use perk_jvm::os::{self, Tid};
use perk_profile::{TraceId, WallState};
use rustc_hash::FxHashMap;

use super::ledger::{Counts, Ledger};
use crate::roster::Slot;
use crate::threads::LiveThread;

/// The time of a thread that is to be booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Booking {
    pub(super) slot: Slot,
    /// `None` if the thread was never met in such a state.
    pub(super) trace: Option<TraceId>,
    pub(super) state: WallState,
    pub(super) ns: u64,
    /// The times between which it passed, by the clock of `System.nanoTime`.
    pub(super) times: (u64, u64),
}

/// A thread that gets samples.
#[derive(Debug)]
struct ThreadEntry {
    thread: Arc<LiveThread>,
    /// The time up to which everything is booked, by the clock of `System.nanoTime`, and the begin of what was
    /// taken last.
    booked_ns: u64,
    taken_from_ns: u64,
    /// The time of the last visit.
    seen_ns: u64,
    last: Option<Sample>,
    /// The trace on which it last ran or waited for a CPU, and the last sample that did neither.
    ran_at: Option<TraceId>,
    slept: Option<Sample>,
    ledger: Ledger,
}

/// The last sample of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) trace: TraceId,
    pub(super) state: WallState,
    pub(super) counts: Counts,
}

impl Sample {
    /// Whether the thread ran or waited for a CPU.
    fn is_active(self) -> bool {
        self.state == WallState::Running
    }
}

/// The threads that get samples; see the module.
#[derive(Debug, Default)]
pub(super) struct Table {
    threads: Vec<ThreadEntry>,
    by_slot: FxHashMap<Slot, usize>,
    /// The position at which the round continues.
    next: usize,
    visit_count: u64,
}

/// A thread that a visit must look at.
#[derive(Clone, Debug)]
pub(super) struct VisitTarget {
    pub(super) thread: Arc<LiveThread>,
    pub(super) last: Option<Sample>,
}

impl Table {
    /// Watches a thread from now on.
    pub(super) fn insert(&mut self, thread: Arc<LiveThread>, now_ns: u64) {
        self.by_slot.insert(thread.slot, self.threads.len());
        self.threads.push(ThreadEntry {
            ledger: Ledger::new(Counts::of(&thread)),
            thread,
            booked_ns: now_ns,
            taken_from_ns: now_ns,
            seen_ns: now_ns,
            last: None,
            ran_at: None,
            slept: None,
        });
    }

    /// Leaves out the time so far.
    pub(super) fn begin_at(&mut self, now_ns: u64) {
        for watched in &mut self.threads {
            (watched.booked_ns, watched.seen_ns, watched.last) = (now_ns, now_ns, None);
            watched.ledger = Ledger::new(Counts::of(&watched.thread));
        }
    }

    /// Watches a thread no more. Returns the time that is still to be booked.
    pub(super) fn remove(&mut self, slot: Slot, now_ns: u64) -> Vec<Booking> {
        let Some(index) = self.by_slot.remove(&slot) else { return Vec::new() };
        let mut watched = self.threads.swap_remove(index);
        if let Some(moved) = self.threads.get(index) {
            self.by_slot.insert(moved.thread.slot, index);
        }
        watched.settle(now_ns)
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
    pub(super) fn pass(&mut self, most: usize) -> (usize, Option<VisitTarget>) {
        let most = most.min(self.threads.len());
        for visited in 1..=most {
            if self.next >= self.threads.len() {
                self.next = 0;
            }
            let watched = &mut self.threads[self.next];
            self.next += 1;
            self.visit_count += 1;
            if !watched.stands_still() {
                let moving =
                    VisitTarget { thread: Arc::clone(&watched.thread), last: watched.last };
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

    /// Notes a sample, which represents the time since the last visit. Returns the time before that,
    /// which is the last sample's, and the sample's, for booking.
    pub(super) fn sampled(
        &mut self,
        thread: &Arc<LiveThread>,
        sample: Sample,
        now_ns: u64,
    ) -> Vec<Booking> {
        // The thread may have ended meanwhile; its time was booked then.
        let Some(watched) = self.find(thread) else { return Vec::new() };
        let stood_ns = watched.take_ns(watched.seen_ns);
        let before = watched.last.filter(|_| stood_ns > 0);
        let stood = before.map(|it| watched.booking(Some(it.trace), it.state, stood_ns));
        let ns = watched.take_ns(now_ns);
        watched.seen_ns = now_ns;
        watched.book(sample, ns).into_iter().chain(stood).collect()
    }

    /// Returns all time up to now. That of threads which were never met is left for later, unless
    /// this is the last time.
    pub(super) fn settle(&mut self, now_ns: u64, last: bool) -> Vec<Booking> {
        let met = |watched: &&mut ThreadEntry| last || watched.last.is_some();
        self.threads.iter_mut().filter(met).flat_map(|watched| watched.settle(now_ns)).collect()
    }

    fn find(&mut self, thread: &Arc<LiveThread>) -> Option<&mut ThreadEntry> {
        let index = *self.by_slot.get(&thread.slot)?;
        self.threads.get_mut(index).filter(|it| Arc::ptr_eq(&it.thread, thread))
    }
}

impl ThreadEntry {
    /// Whether the thread has certainly done nothing since its last sample. In `Object.wait` it can
    /// be notified, which makes it wait for the monitor instead, without doing anything itself.
    fn stands_still(&self) -> bool {
        let Some(Sample { state, counts, .. }) = self.last else { return false };
        !matches!(state, WallState::Running | WallState::Waiting)
            && counts.cpu_ns.is_some()
            && self.thread.tid().and_then(Tid::cpu_ns) == counts.cpu_ns
    }

    /// Returns the time up to `now_ns` that was not taken before.
    fn take_ns(&mut self, now_ns: u64) -> u64 {
        let ns = now_ns.saturating_sub(self.booked_ns);
        self.taken_from_ns = self.booked_ns;
        self.booked_ns = self.booked_ns.max(now_ns);
        ns
    }

    fn booking(&self, trace: Option<TraceId>, state: WallState, ns: u64) -> Booking {
        let times = (self.taken_from_ns, self.booked_ns);
        Booking { slot: self.thread.slot, trace, state, ns, times }
    }

    /// Books the time that a sample represents.
    fn book(&mut self, sample: Sample, ns: u64) -> Vec<Booking> {
        let before = self.last.replace(sample);
        if !sample.is_active() {
            self.slept = Some(sample);
            let rest_ns = self.ledger.hold(sample.counts, ns);
            return vec![self.booking(Some(sample.trace), sample.state, rest_ns)];
        }
        self.ran_at = Some(sample.trace);
        // A thread that has not run since it was met active cannot have begun to sleep.
        let has_waited =
            before.is_some_and(|it| it.is_active() && it.counts.cpu_ns == sample.counts.cpu_ns);
        self.divide(sample.counts, ns, self.slept.filter(|_| !has_waited))
    }

    /// Books the time up to now, of which there is no sample.
    fn settle(&mut self, now_ns: u64) -> Vec<Booking> {
        self.seen_ns = now_ns;
        let ns = self.take_ns(now_ns);
        let last = self.last.map_or_else(Counts::default, |it| it.counts);
        let now = if self.stands_still() { last } else { Counts::of(&self.thread) };
        let cpu_ns = now.cpu_ns.or(last.cpu_ns);
        if let Some(it) = self.last
            && !it.is_active()
            && cpu_ns.is_none()
        {
            return vec![self.booking(Some(it.trace), it.state, ns)];
        }
        let counts = Counts { cpu_ns, ..now };
        let slept = self.last.filter(|it| !it.is_active()).or(self.slept);
        self.divide(counts, ns, slept)
    }

    /// Divides time among running, waiting for a CPU and the rest, which belongs to the last sample that
    /// did neither. Without one the thread waits for a CPU, which the kernel counts once it has one.
    fn divide(&mut self, counts: Counts, ns: u64, slept: Option<Sample>) -> Vec<Booking> {
        let split = self.ledger.split(counts, ns);
        let rest = match (slept, self.ran_at) {
            (Some(it), _) => self.booking(Some(it.trace), it.state, split.rest_ns),
            (None, Some(trace)) => {
                self.ledger.prepay(split.rest_ns);
                self.booking(Some(trace), WallState::Runnable, split.rest_ns)
            }
            // It was never met. Threads that run or wait for a CPU are counted, so it slept somewhere.
            (None, None) => self.booking(None, WallState::Vm, split.rest_ns),
        };
        let running = self.booking(self.ran_at, WallState::Running, split.running_ns);
        let runnable = self.booking(self.ran_at, WallState::Runnable, split.runnable_ns);
        vec![running, runnable, rest]
    }
}
