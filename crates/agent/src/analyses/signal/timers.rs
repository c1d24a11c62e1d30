//! The clocks of threads: a kernel's timer each, or an event of `perf_event_open` where the interval is
//! shorter than the kernel's ticks, at which alone it looks at timers, or where its frames are wanted.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use rustc_hash::{FxHashMap, FxHashSet};

use super::handler::Watched;
use crate::os::event::{self, CpuEvent};
use crate::os::timer::CpuTimer;
use crate::os::{self, Tid};
use crate::random::Random;
use crate::roster::Slot;
use crate::sync::lock;

/// The clocks; see the module.
#[derive(Debug)]
pub(super) struct Timers {
    signal: libc::c_int,
    running: FxHashMap<Owner, Running>,
    /// The threads of the numbers that records may have.
    owners: FxHashMap<u64, Owner>,
    /// The threads that have ended, of which there may still be records.
    ended: Vec<Ended>,
    pool: Pool,
    random: Random,
    /// Whether the system permits events, and they are of use.
    has_events: bool,
    /// Whether the kernel's frames are wanted.
    has_kernel: bool,
    /// The threads that could not get a clock.
    refused_count: u64,
}

/// The cells for threads that have none, and the number of the last thread.
#[derive(Debug, Default)]
struct Pool {
    free: Vec<&'static Watched>,
    last: u64,
}

/// That of earlier sessions, of which signals may still be on their way.
static EARLIER: Mutex<Pool> = Mutex::new(Pool { free: Vec::new(), last: 0 });

/// A thread that has a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    /// One that runs Java code.
    Java(Slot),
    /// Another one, of the JVM or a library.
    Native(Tid),
}

/// The begin of a thread's intervals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) tid: Tid,
    /// The address of the JVM's thread; 0 without.
    pub(super) java_thread: usize,
    /// The CPU time so far, in nanoseconds.
    pub(super) cpu_ns: u64,
    pub(super) interval_ns: u64,
}

#[derive(Debug)]
struct Running {
    watched: &'static Watched,
    clock: Clock,
    tid: Tid,
}

/// What sends signals when intervals end.
#[derive(Debug)]
enum Clock {
    Timer { _timer: CpuTimer },
    Event { _event: CpuEvent },
}

/// A thread that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    watched: &'static Watched,
    pub(super) owner: Owner,
    /// The time of the end, by the clock of `System.nanoTime`.
    pub(super) at_ns: u64,
    /// The intervals that have ended without a signal, as the kernel looks at timers only at its ticks.
    pub(super) unseen_count: u64,
}

impl Ended {
    /// Returns the number of the thread.
    pub(super) fn number(&self) -> u64 {
        self.watched.number.load(Relaxed)
    }

    /// Returns the intervals for which there were signals.
    pub(super) fn expired_count(&self) -> u64 {
        self.watched.expired_count.load(Relaxed)
    }
}

impl Running {
    /// Deletes the timer.
    fn end(self, owner: Owner) -> Ended {
        let Self { watched, clock, tid } = self;
        let begin_ns = watched.begin_ns.load(Relaxed);
        // It may be gone.
        let cpu_ns = tid.cpu_ns().unwrap_or(begin_ns);
        drop(clock);
        let interval_ns = watched.interval_ns.load(Relaxed).max(1);
        let whole = cpu_ns.wrapping_sub(begin_ns) / interval_ns;
        let unseen_count = whole.saturating_sub(watched.expired_count.load(Relaxed));
        Ended { watched, owner, at_ns: os::nano_time(), unseen_count }
    }
}

impl Timers {
    /// Makes it for threads with this interval or a longer one. `has_kernel` has events record the
    /// kernel's frames.
    pub(super) fn new(signal: libc::c_int, interval_ns: u64, has_kernel: bool) -> Self {
        Self {
            signal,
            running: FxHashMap::default(),
            owners: FxHashMap::default(),
            ended: Vec::new(),
            pool: std::mem::take(&mut *lock(&EARLIER)),
            random: Random::default(),
            has_events: has_kernel || interval_ns < event::tick_ns(),
            has_kernel,
            refused_count: 0,
        }
    }

    /// Whether a thread has a clock.
    pub(super) fn has(&self, owner: Owner) -> bool {
        self.running.contains_key(&owner)
    }

    /// Returns the kernel's ids of the threads that have clocks.
    pub(super) fn tids(&self) -> FxHashSet<Tid> {
        self.running.values().map(|running| running.tid).collect()
    }

    /// Gives a thread a clock. Its first interval is shorter by a random part, so that the expected
    /// number of samples is exact for threads of any length.
    pub(super) fn add(&mut self, owner: Owner, start: Start) {
        let Start { tid, java_thread, cpu_ns, interval_ns } = start;
        // A native thread may become one that runs Java code.
        if owner != Owner::Native(tid) {
            self.remove(Owner::Native(tid));
        }
        let first_ns = self.random.below(interval_ns);
        let watched = self.pool.free.pop().unwrap_or_else(|| Box::leak(Box::default()));
        self.pool.last += 1;
        watched.number.store(self.pool.last, Relaxed);
        watched.java_thread.store(java_thread, Relaxed);
        watched.reset();
        watched.begin_ns.store((cpu_ns + first_ns).wrapping_sub(interval_ns), Relaxed);
        watched.interval_ns.store(interval_ns, Relaxed);
        watched.tid.store(tid.number(), Relaxed);
        match self.clock(tid, watched, first_ns) {
            Ok(clock) => {
                self.owners.insert(self.pool.last, owner);
                self.running.insert(owner, Running { watched, clock, tid });
            }
            Err(_) => {
                self.pool.free.push(watched);
                // A thread that has ended meanwhile has nothing to be measured.
                self.refused_count += u64::from(tid.cpu_ns().is_some());
            }
        }
    }

    /// Returns the number of a thread that has a clock.
    pub(super) fn number(&self, owner: Owner) -> Option<u64> {
        self.running.get(&owner).map(|running| running.watched.number.load(Relaxed))
    }

    fn clock(&mut self, tid: Tid, watched: &'static Watched, first_ns: u64) -> io::Result<Clock> {
        let value = std::ptr::from_ref(watched).addr();
        if self.has_events {
            match CpuEvent::new(tid, self.signal, value, first_ns, self.has_kernel) {
                Ok(event) => return Ok(Clock::Event { _event: event }),
                // Too many descriptors are in use; later there may be less. Or the thread has ended.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ESRCH)) => {}
                Err(_) => self.has_events = false,
            }
        }
        let interval_ns = watched.interval_ns.load(Relaxed);
        let timer = CpuTimer::new(tid, self.signal, value, interval_ns, first_ns)?;
        Ok(Clock::Timer { _timer: timer })
    }

    /// Takes the clock from a thread that ends. Those that run Java code call this themselves.
    pub(super) fn remove(&mut self, owner: Owner) {
        if let Some(running) = self.running.remove(&owner) {
            self.ended.push(running.end(owner));
        }
    }

    /// Takes all clocks.
    pub(super) fn clear(&mut self) {
        let ended = self.running.drain().map(|(owner, running)| running.end(owner));
        self.ended.extend(ended);
    }

    /// Returns the threads that have ended so far, as of now: records of theirs are older.
    pub(super) fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }

    /// Takes back threads that have ended, for another look.
    pub(super) fn put_back(&mut self, ended: Vec<Ended>) {
        self.ended.extend(ended);
    }

    /// Forgets threads that have ended: there are no records of them any more.
    pub(super) fn forget(&mut self, ended: &[Ended]) {
        for ended in ended {
            self.owners.remove(&ended.number());
            self.pool.free.push(ended.watched);
        }
    }

    /// Gives the cells to the next session.
    pub(super) fn release(&mut self) {
        let ended = self.take_ended();
        self.forget(&ended);
        *lock(&EARLIER) = std::mem::take(&mut self.pool);
        self.owners = FxHashMap::default();
    }

    /// Returns how many threads could not get a clock.
    pub(super) fn refused_count(&self) -> u64 {
        self.refused_count
    }

    /// Returns the thread of a number.
    pub(super) fn owner(&self, number: u64) -> Option<Owner> {
        self.owners.get(&number).copied()
    }
}
