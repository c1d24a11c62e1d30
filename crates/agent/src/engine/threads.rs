//! The threads that the polling engine watches, and the CPU time each still has to be sampled for.

use std::sync::Arc;

use perk_profile::TraceId;
use rustc_hash::FxHashMap;

use crate::jvm::{Global, Jni};
use crate::os::Tid;
use crate::roster::Slot;

/// Ticks without CPU time after which a thread counts as idle.
const IDLE_AFTER_TICKS: u32 = 8;

/// One live thread.
#[derive(Debug)]
pub(super) struct Watched {
    /// Its slot in the roster.
    pub(super) thread: Slot,
    pub(super) reference: Arc<Global>,
    /// The kernel's id; `None` for threads that were there before the agent and can only be asked
    /// about through the JVM.
    pub(super) tid: Option<Tid>,
    /// CPU time as last read.
    cpu_ns: u64,
    /// CPU time not sampled yet. It begins at random below one interval, so that the expected
    /// number of samples is exact for threads of any length.
    pending_ns: u64,
    /// The trace of its last walk.
    pub(super) last_trace: Option<TraceId>,
    quiet_ticks: u32,
    /// Whether its CPU time is to be sampled.
    is_sampled: bool,
}

/// All live threads.
#[derive(Debug, Default)]
pub(super) struct ThreadTable {
    threads: Vec<Watched>,
    /// Whether threads that come are sampled.
    samples_new: bool,
    by_tid: FxHashMap<Tid, usize>,
    /// Where the round through the idle threads goes on.
    next_idle: usize,
    /// References of ended threads, for the sampler to delete when it does not use them.
    graveyard: Vec<Arc<Global>>,
    /// CPU time of all threads since they were first watched.
    java_cpu_ns: u64,
    random: u64,
}

/// A thread that has CPU time to be sampled.
#[derive(Clone, Debug)]
pub(super) struct Due {
    pub(super) thread: Slot,
    pub(super) reference: Arc<Global>,
    tid: Option<Tid>,
    /// CPU time when it was found due.
    cpu_ns: u64,
}

impl Due {
    /// Whether the thread runs now, or waits for a CPU. Where nobody can tell, it is taken to run.
    pub(super) fn is_running(&self) -> bool {
        let Some(tid) = self.tid else { return true };
        // A clock that went on since is proof and costs less than to ask for the state.
        tid.cpu_ns().is_some_and(|cpu_ns| cpu_ns > self.cpu_ns) || tid.is_runnable().unwrap_or(true)
    }

    /// Whether the thread is known to wait at this moment.
    pub(super) fn waits(&self) -> bool {
        self.tid.and_then(Tid::is_runnable) == Some(false)
    }
}

impl ThreadTable {
    pub(super) fn new(seed: u64, samples_new: bool) -> Self {
        Self { random: seed | 1, samples_new, ..Self::default() }
    }

    /// Samples a thread, or all and those that come, from now on or no more. The clocks must have
    /// been read just now. Answers whether there is such a thread.
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

    /// Watches a thread that has burned `cpu_ns` so far.
    pub(super) fn insert(
        &mut self,
        thread: Slot,
        reference: Global,
        tid: Option<Tid>,
        cpu_ns: u64,
        interval_ns: u64,
    ) {
        let pending_ns = self.next_random() % interval_ns;
        if let Some(tid) = tid {
            self.by_tid.insert(tid, self.threads.len());
        }
        self.threads.push(Watched {
            thread,
            reference: Arc::new(reference),
            tid,
            cpu_ns,
            pending_ns,
            last_trace: None,
            quiet_ticks: 0,
            is_sampled: self.samples_new,
        });
    }

    /// Stops watching the thread at `index`.
    pub(super) fn remove(&mut self, index: usize) -> Watched {
        let watched = self.threads.swap_remove(index);
        if let Some(tid) = watched.tid {
            self.by_tid.remove(&tid);
        }
        if let Some(tid) = self.threads.get(index).and_then(|moved| moved.tid) {
            self.by_tid.insert(tid, index);
        }
        self.graveyard.push(Arc::clone(&watched.reference));
        watched
    }

    pub(super) fn find_tid(&self, tid: Tid) -> Option<usize> {
        self.by_tid.get(&tid).copied()
    }

    pub(super) fn find(&self, thread: Slot) -> Option<usize> {
        self.threads.iter().position(|watched| watched.thread == thread)
    }

    /// Learns the kernel's id of the thread at `index`.
    pub(super) fn set_tid(&mut self, index: usize, tid: Tid) {
        self.threads[index].tid = Some(tid);
        self.by_tid.insert(tid, index);
    }

    /// Where a thread that was due is now; `None` if it has ended.
    pub(super) fn find_due(&self, due: &Due) -> Option<usize> {
        let index = match due.tid {
            Some(tid) => self.find_tid(tid),
            None => self.find(due.thread),
        };
        index.filter(|&index| self.threads[index].thread == due.thread)
    }

    pub(super) fn get_mut(&mut self, index: usize) -> &mut Watched {
        &mut self.threads[index]
    }

    /// All threads.
    pub(super) fn all(&self) -> Vec<(Slot, Arc<Global>)> {
        let all = self.threads.iter();
        all.map(|watched| (watched.thread, Arc::clone(&watched.reference))).collect()
    }

    /// The threads without a kernel id.
    pub(super) fn without_tid(&self) -> Vec<(Slot, Arc<Global>)> {
        let without = self.threads.iter().filter(|watched| watched.tid.is_none());
        without.map(|watched| (watched.thread, Arc::clone(&watched.reference))).collect()
    }

    /// Books the CPU time that the thread at `index` has burned up to `cpu_ns`; true if it is some.
    pub(super) fn advance(&mut self, index: usize, cpu_ns: u64) -> bool {
        let watched = &mut self.threads[index];
        let burned_ns = cpu_ns.saturating_sub(watched.cpu_ns);
        watched.cpu_ns = cpu_ns;
        if watched.is_sampled {
            watched.pending_ns += burned_ns;
        }
        watched.quiet_ticks = if burned_ns > 0 { 0 } else { watched.quiet_ticks + 1 };
        self.java_cpu_ns += burned_ns;
        burned_ns > 0
    }

    /// Reads the clocks of the threads that burned CPU time lately; those to be walked go to `due`.
    /// Answers what they burned since they were last read.
    pub(super) fn tick_busy(&mut self, interval_ns: u64, due: &mut Vec<Due>) -> u64 {
        let before_ns = self.java_cpu_ns;
        for index in 0..self.threads.len() {
            if self.threads[index].quiet_ticks < IDLE_AFTER_TICKS {
                self.read(index, interval_ns, due);
            }
        }
        self.java_cpu_ns - before_ns
    }

    /// Reads the clocks of `budget` idle threads, in turns.
    pub(super) fn tick_idle(&mut self, budget: usize, interval_ns: u64, due: &mut Vec<Due>) {
        let count = self.threads.len();
        let first = self.next_idle.min(count);
        let is_idle = |&index: &usize| self.threads[index].quiet_ticks >= IDLE_AFTER_TICKS;
        let idle: Vec<usize> =
            (first..count).chain(0..first).filter(is_idle).take(budget).collect();
        for index in idle {
            self.read(index, interval_ns, due);
            self.next_idle = index + 1;
        }
    }

    fn read(&mut self, index: usize, interval_ns: u64, due: &mut Vec<Due>) {
        if let Some(cpu_ns) = self.threads[index].tid.and_then(Tid::cpu_ns)
            && self.advance(index, cpu_ns)
        {
            due.extend(self.due(index, interval_ns));
        }
    }

    /// The thread at `index`, if it is to be walked: when it has a whole interval to be sampled for,
    /// and once early in its life, so that a short thread has a trace at all.
    pub(super) fn due(&self, index: usize, interval_ns: u64) -> Option<Due> {
        let watched = &self.threads[index];
        let wanted = watched.pending_ns >= interval_ns || watched.last_trace.is_none();
        (wanted && watched.is_sampled).then(|| Due {
            thread: watched.thread,
            reference: Arc::clone(&watched.reference),
            tid: watched.tid,
            cpu_ns: watched.cpu_ns,
        })
    }

    /// Reads the clocks of all threads that have one.
    pub(super) fn read_all(&mut self) {
        for index in 0..self.threads.len() {
            if let Some(cpu_ns) = self.threads[index].tid.and_then(Tid::cpu_ns) {
                self.advance(index, cpu_ns);
            }
        }
    }

    /// How many threads there are.
    pub(super) fn len(&self) -> usize {
        self.threads.len()
    }

    pub(super) fn java_cpu_ns(&self) -> u64 {
        self.java_cpu_ns
    }

    /// Hands out the references of ended threads.
    pub(super) fn take_graveyard(&mut self) -> Vec<Arc<Global>> {
        std::mem::take(&mut self.graveyard)
    }

    /// Puts back what could not be deleted yet.
    pub(super) fn bury(&mut self, references: Vec<Arc<Global>>) {
        self.graveyard.extend(references);
    }

    /// A pseudo-random number (xorshift64).
    pub(super) fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

impl Watched {
    /// Takes the whole intervals that it has to be sampled for.
    pub(super) fn take_samples(&mut self, interval_ns: u64) -> u64 {
        let samples = self.pending_ns / interval_ns;
        self.pending_ns %= interval_ns;
        samples
    }
}

/// Deletes the references that nobody uses any more; answers the others.
pub(super) fn delete_unused(jni: Jni<'_>, references: Vec<Arc<Global>>) -> Vec<Arc<Global>> {
    let mut used = Vec::new();
    for reference in references {
        match Arc::try_unwrap(reference) {
            Ok(reference) => jni.delete(reference),
            Err(reference) => used.push(reference),
        }
    }
    used
}
