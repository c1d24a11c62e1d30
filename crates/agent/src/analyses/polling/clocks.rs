//! The clocks of the threads, and the CPU time of each that is still to be sampled.

use std::sync::Arc;

use perk_jvm::os::Tid;
use perk_profile::TraceId;
use rustc_hash::FxHashMap;

use crate::points::Points;
use crate::random::Random;
use crate::roster::Slot;
use crate::threads::LiveThread;

/// The number of ticks without CPU time after which a thread counts as idle.
const IDLE_AFTER_TICKS: u32 = 8;

/// One live thread.
#[derive(Debug)]
pub(super) struct ThreadClock {
    thread: Arc<LiveThread>,
    /// The CPU time as last read.
    cpu_ns: u64,
    /// The CPU time as far as it is to be sampled, and its random points: the thread is walked where
    /// it is met next after one.
    sampled_ns: u64,
    points: Points,
    /// The trace of its last walk.
    pub(super) last_trace: Option<TraceId>,
    quiet_ticks: u32,
    /// Whether its CPU time is to be sampled.
    is_sampled: bool,
}

/// All live threads.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    threads: Vec<ThreadClock>,
    /// Whether new threads are sampled.
    samples_new: bool,
    by_slot: FxHashMap<Slot, usize>,
    /// The position at which the round through the idle threads continues.
    next_idle: usize,
    random: Random,
}

/// A thread that has CPU time to be sampled.
#[derive(Clone, Debug)]
pub(super) struct SampleDebt {
    pub(super) thread: Arc<LiveThread>,
    /// The CPU time at which the thread was found due.
    cpu_ns: u64,
}

impl SampleDebt {
    /// Whether the thread runs now or waits for a CPU. If that is not known, it counts as running.
    pub(super) fn is_running(&self) -> bool {
        let Some(tid) = self.thread.tid() else { return true };
        // A clock that has advanced since is proof, and costs less than a request for the state.
        tid.cpu_ns().is_some_and(|cpu_ns| cpu_ns > self.cpu_ns) || tid.is_runnable().unwrap_or(true)
    }

    /// Whether the thread is known to wait at this moment.
    pub(super) fn waits(&self) -> bool {
        self.thread.tid().and_then(Tid::is_runnable) == Some(false)
    }
}

impl Clocks {
    pub(super) fn new(samples_new: bool) -> Self {
        Self { samples_new, ..Self::default() }
    }

    /// Samples a thread, or all present and future threads, from now on or no more. The clocks must
    /// have been read just now. Returns whether the thread exists.
    pub(super) fn set_sampled(&mut self, thread: Option<Slot>, is_sampled: bool) -> bool {
        match thread {
            None => {
                self.samples_new = is_sampled;
                self.threads.iter_mut().for_each(|watched| watched.is_sampled = is_sampled);
                true
            }
            Some(thread) => match self.find(thread) {
                Some(index) => {
                    self.threads[index].is_sampled = is_sampled;
                    true
                }
                None => false,
            },
        }
    }

    /// Watches a thread.
    pub(super) fn insert(&mut self, thread: Arc<LiveThread>, interval_ns: u64) {
        let points = Points::new(0, interval_ns, self.random.another());
        self.by_slot.insert(thread.slot, self.threads.len());
        self.threads.push(ThreadClock {
            cpu_ns: thread.first_cpu_ns(),
            thread,
            sampled_ns: 0,
            points,
            last_trace: None,
            quiet_ticks: 0,
            is_sampled: self.samples_new,
        });
    }

    /// Stops watching the thread at `index`.
    pub(super) fn remove(&mut self, index: usize) -> ThreadClock {
        let watched = self.threads.swap_remove(index);
        self.by_slot.remove(&watched.thread.slot);
        if let Some(moved) = self.threads.get(index) {
            self.by_slot.insert(moved.thread.slot, index);
        }
        watched
    }

    /// Returns the index of the thread with a slot.
    pub(super) fn find(&self, thread: Slot) -> Option<usize> {
        self.by_slot.get(&thread).copied()
    }

    /// Returns the index now of a thread that was due; `None` if the thread has ended.
    pub(super) fn find_due(&self, due: &SampleDebt) -> Option<usize> {
        let index = self.find(due.thread.slot);
        index.filter(|&index| Arc::ptr_eq(&self.threads[index].thread, &due.thread))
    }

    pub(super) fn get_mut(&mut self, index: usize) -> &mut ThreadClock {
        &mut self.threads[index]
    }

    /// Returns the threads without a kernel id.
    pub(super) fn without_tid(&self) -> Vec<Arc<LiveThread>> {
        let without = self.threads.iter().filter(|watched| watched.thread.tid().is_none());
        without.map(|watched| Arc::clone(&watched.thread)).collect()
    }

    /// Adds the CPU time that the thread at `index` has burned up to `cpu_ns`. Returns that CPU
    /// time.
    pub(super) fn advance(&mut self, index: usize, cpu_ns: u64) -> u64 {
        let watched = &mut self.threads[index];
        let burned_ns = cpu_ns.saturating_sub(watched.cpu_ns);
        watched.cpu_ns = cpu_ns;
        watched.thread.saw_cpu_ns(cpu_ns);
        if watched.is_sampled {
            watched.sampled_ns += burned_ns;
        }
        watched.quiet_ticks = if burned_ns > 0 { 0 } else { watched.quiet_ticks + 1 };
        burned_ns
    }

    /// Reads the clocks of the threads that burned CPU time lately; those to be walked are added to
    /// `due`. Returns the CPU time they burned since they were last read.
    pub(super) fn tick_busy(&mut self, due: &mut Vec<SampleDebt>) -> u64 {
        let mut burned_ns = 0;
        for index in 0..self.threads.len() {
            if self.threads[index].quiet_ticks < IDLE_AFTER_TICKS {
                burned_ns += self.read(index, due);
            }
        }
        burned_ns
    }

    /// Reads the clocks of `budget` idle threads, in turns.
    pub(super) fn tick_idle(&mut self, budget: usize, due: &mut Vec<SampleDebt>) {
        let count = self.threads.len();
        let first = self.next_idle.min(count);
        let is_idle = |&index: &usize| self.threads[index].quiet_ticks >= IDLE_AFTER_TICKS;
        let idle: Vec<usize> =
            (first..count).chain(0..first).filter(is_idle).take(budget).collect();
        for index in idle {
            self.read(index, due);
            self.next_idle = index + 1;
        }
    }

    fn read(&mut self, index: usize, due: &mut Vec<SampleDebt>) -> u64 {
        let Some(cpu_ns) = self.threads[index].thread.tid().and_then(Tid::cpu_ns) else { return 0 };
        let burned_ns = self.advance(index, cpu_ns);
        if burned_ns > 0 {
            due.extend(self.due(index));
        }
        burned_ns
    }

    /// Returns the thread at `index` if it is due: if its next point has come, and once early in its
    /// life, so that a short thread has a trace at all.
    pub(super) fn due(&self, index: usize) -> Option<SampleDebt> {
        let watched = &self.threads[index];
        let wanted = watched.points.next_ns() <= watched.sampled_ns || watched.last_trace.is_none();
        (wanted && watched.is_sampled)
            .then(|| SampleDebt { thread: Arc::clone(&watched.thread), cpu_ns: watched.cpu_ns })
    }

    /// Reads the clocks of all threads that have one.
    pub(super) fn read_all(&mut self) {
        for index in 0..self.threads.len() {
            if let Some(cpu_ns) = self.threads[index].thread.tid().and_then(Tid::cpu_ns) {
                self.advance(index, cpu_ns);
            }
        }
    }

    /// Returns how many threads there are.
    pub(super) fn len(&self) -> usize {
        self.threads.len()
    }

    /// Returns half to one and a half of `period_ns`: see [`Random::around`].
    pub(super) fn around(&mut self, period_ns: u64) -> u64 {
        self.random.around(period_ns)
    }
}

impl ThreadClock {
    /// Returns the slot of the thread.
    pub(super) fn slot(&self) -> Slot {
        self.thread.slot
    }

    /// Takes the number of intervals that are due.
    pub(super) fn take_samples(&mut self, interval_ns: u64) -> u64 {
        self.points.pass(self.sampled_ns, interval_ns, 1)
    }
}
