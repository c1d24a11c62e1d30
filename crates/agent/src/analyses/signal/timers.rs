//! The clocks of threads: a kernel's timer each, or an event of `perf_event_open`.
//!
//! The kernel looks at timers at its ticks alone: a program whose phases are in step with the ticks is
//! met at some of its places alone, however random the points are. Events have no ticks, and cost a
//! thread that starts and ends a tenth of a millisecond. So where the system permits events, threads
//! that run Java code have one after some CPU time, and all threads at once if the interval is
//! shorter than the ticks or the kernel's frames are wanted. An event also costs some microseconds at each
//! switch to the thread. So threads that are switched to often keep timers: waits take a program out of step
//! with the ticks. The JIT's threads keep them, too: their samples have no phases to tell.

use std::ffi::c_int;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use perk_jvm::os::event::{self, CpuEvent, has_thread_ended, is_out_of_descriptors};
use perk_jvm::os::timer::CpuTimer;
use perk_jvm::os::{self, Tid};
use perk_jvm::sync::lock;
use rustc_hash::{FxHashMap, FxHashSet};

use super::handler::TimerThread;
use crate::points::Points;
use crate::random::Random;
use crate::roster::Slot;

/// The clocks; see the module.
#[derive(Debug)]
pub(super) struct Timers {
    signal: c_int,
    running: FxHashMap<Owner, ThreadTimer>,
    /// The threads of the numbers that records may have.
    owners: FxHashMap<u64, Owner>,
    /// The threads that have ended, of which there may still be records.
    ended: Vec<ThreadEnd>,
    pool: Pool,
    random: Random,
    /// Whether threads begin with events.
    begins_with_events: bool,
    /// Whether the system permits events.
    has_events: bool,
    /// Whether the kernel's frames are wanted.
    has_kernel: bool,
    /// The threads that could not get a clock.
    refused_count: u64,
}

/// The cells for threads that have none, and the number of the last thread.
#[derive(Debug, Default)]
struct Pool {
    free: Vec<&'static TimerThread>,
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

/// The CPU time of a thread after which the switches to it are counted again.
const PACE_NS: u64 = 100_000_000;
/// The switches to a thread in a second of its CPU time, from which on it has a timer, and up to which it has an
/// event.
const OFTEN: u64 = 1000;
const SELDOM: u64 = 500;

#[derive(Debug)]
struct ThreadTimer {
    watched: &'static TimerThread,
    clock: Clock,
    tid: Tid,
    pace: Pace,
}

/// The switches to a thread, as last seen.
#[derive(Debug, Default)]
struct Pace {
    /// The intervals for which there were signals.
    expired_count: u64,
    /// The CPU time at the last count, in nanoseconds, and the count.
    seen: Option<(u64, u64)>,
}

impl Pace {
    /// Returns the switches in a second of CPU time since the last answer, if there was enough time; 0 if
    /// the kernel does not count them.
    fn look(&mut self, tid: Tid, cpu_ns: u64) -> Option<u64> {
        if self.seen.is_some_and(|(then_ns, _)| cpu_ns.saturating_sub(then_ns) < PACE_NS) {
            return None;
        }
        let switch_count = tid.switch_count().unwrap_or(0);
        let (then_ns, then_count) = self.seen.replace((cpu_ns, switch_count))?;
        let switches = u128::from(switch_count.saturating_sub(then_count));
        Some((switches * 1_000_000_000 / u128::from(cpu_ns - then_ns)) as u64)
    }
}

/// What sends signals when intervals end.
#[derive(Debug)]
enum Clock {
    Timer { _timer: CpuTimer },
    Event { _event: CpuEvent },
}

/// A thread that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadEnd {
    watched: &'static TimerThread,
    pub(super) owner: Owner,
    /// The time of the end, by the clock of `System.nanoTime`.
    pub(super) at_ns: u64,
    /// The intervals for which there were signals.
    pub(super) expired_count: u64,
    /// The intervals whose points have passed without a signal.
    pub(super) unseen_count: u64,
}

impl ThreadEnd {
    /// Returns the number of the thread.
    pub(super) fn number(&self) -> u64 {
        self.watched.number.load(Relaxed)
    }
}

impl ThreadTimer {
    /// Deletes the timer.
    fn end(self, owner: Owner) -> ThreadEnd {
        let Self { watched, clock, tid, .. } = self;
        // It may be gone.
        let cpu_ns = tid.cpu_ns().unwrap_or(0);
        drop(clock);
        let expired_count = watched.expired_count.load(Relaxed);
        let unseen_count = watched.pass(cpu_ns);
        ThreadEnd { watched, owner, at_ns: os::nano_time(), expired_count, unseen_count }
    }
}

impl Timers {
    /// Makes it for threads with this interval or a longer one. `has_kernel` has events record the
    /// kernel's frames.
    pub(super) fn new(signal: c_int, interval_ns: u64, has_kernel: bool) -> Self {
        Self {
            signal,
            running: FxHashMap::default(),
            owners: FxHashMap::default(),
            ended: Vec::new(),
            pool: std::mem::take(&mut *lock(&EARLIER)),
            random: Random::default(),
            begins_with_events: has_kernel || interval_ns < event::tick_ns(),
            has_events: true,
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

    /// Gives a thread a clock, which sends a signal at each of its random [`Points`].
    pub(super) fn add(&mut self, owner: Owner, start: Start) {
        let Start { tid, java_thread, cpu_ns, interval_ns } = start;
        // A native thread may become one that runs Java code.
        if owner != Owner::Native(tid) {
            self.remove(Owner::Native(tid));
        }
        let points = Points::new(cpu_ns, interval_ns, self.random.another());
        let watched = self.pool.free.pop().unwrap_or_else(|| Box::leak(Box::default()));
        self.pool.last += 1;
        watched.number.store(self.pool.last, Relaxed);
        watched.java_thread.store(java_thread, Relaxed);
        watched.reset(points, self.random.below(interval_ns));
        watched.interval_ns.store(interval_ns, Relaxed);
        watched.tid.store(tid.number(), Relaxed);
        match self.clock(tid, watched, cpu_ns, points.next_ns()) {
            Ok(clock) => {
                self.owners.insert(self.pool.last, owner);
                self.running
                    .insert(owner, ThreadTimer { watched, clock, tid, pace: Pace::default() });
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

    /// Makes a clock for a thread, whose CPU time is `cpu_ns`, that sends its first signal at `at_ns`.
    fn clock(
        &mut self,
        tid: Tid,
        watched: &'static TimerThread,
        cpu_ns: u64,
        at_ns: u64,
    ) -> io::Result<Clock> {
        if self.begins_with_events
            && let Ok(Some(event)) = self.event(tid, watched, at_ns - cpu_ns)
        {
            return Ok(Clock::Event { _event: event });
        }
        self.timer(tid, watched, at_ns)
    }

    /// Makes a timer for a thread that sends its first signal at this CPU time.
    fn timer(&self, tid: Tid, watched: &'static TimerThread, at_ns: u64) -> io::Result<Clock> {
        let value = std::ptr::from_ref(watched).addr();
        Ok(Clock::Timer { _timer: CpuTimer::new(tid, self.signal, value, at_ns)? })
    }

    /// Makes an event for a thread that sends its first signal after this CPU time; `None` if
    /// events are not permitted.
    ///
    /// # Errors
    /// Too many descriptors are in use; later there may be less. Or the thread has ended.
    fn event(
        &mut self,
        tid: Tid,
        watched: &'static TimerThread,
        after_ns: u64,
    ) -> io::Result<Option<CpuEvent>> {
        let value = std::ptr::from_ref(watched).addr();
        let event = self
            .has_events
            .then(|| CpuEvent::new(tid, self.signal, value, after_ns, self.has_kernel))
            .transpose();
        match event {
            Err(error) if !is_out_of_descriptors(&error) && !has_thread_ended(&error) => {
                self.has_events = false;
                Ok(None)
            }
            event => event,
        }
    }

    /// Gives events to the threads that run Java code, had samples by their timers and are seldom switched to, and
    /// timers to those that are switched to often.
    pub(super) fn refine(&mut self) {
        let mut running = std::mem::take(&mut self.running);
        let of_java = running.iter_mut().filter(|(owner, _)| matches!(owner, Owner::Java(_)));
        for (_, it) in of_java {
            if !self.has_events {
                break;
            }
            let watched = it.watched;
            let expired_count = watched.expired_count.load(Relaxed);
            if std::mem::replace(&mut it.pace.expired_count, expired_count) == expired_count {
                continue;
            }
            let Some(cpu_ns) = it.tid.cpu_ns() else { continue };
            let pace = match self.begins_with_events {
                true => Some(0),
                false => it.pace.look(it.tid, cpu_ns),
            };
            // The handler sets the next signal if this one comes too early.
            match (&it.clock, pace) {
                (Clock::Timer { .. }, Some(..=SELDOM)) => {
                    match self.event(it.tid, watched, watched.next_ns().saturating_sub(cpu_ns)) {
                        Ok(Some(event)) => it.clock = Clock::Event { _event: event },
                        Err(error) if is_out_of_descriptors(&error) => break,
                        _ => {}
                    }
                }
                (Clock::Event { .. }, Some(OFTEN..)) => {
                    if let Ok(timer) = self.timer(it.tid, watched, watched.next_ns()) {
                        it.clock = timer;
                    }
                }
                _ => {}
            }
        }
        self.running = running;
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
    pub(super) fn take_ended(&mut self) -> Vec<ThreadEnd> {
        std::mem::take(&mut self.ended)
    }

    /// Takes back threads that have ended, for another look.
    pub(super) fn put_back(&mut self, ended: Vec<ThreadEnd>) {
        self.ended.extend(ended);
    }

    /// Forgets threads that have ended: there are no records of them any more.
    pub(super) fn forget(&mut self, ended: &[ThreadEnd]) {
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
