//! A place for a monitor. It never moves and is used again, so a thread that comes late finds a monitor
//! that it does not mean, and leaves it.

use std::ffi::c_char;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize};

use perk_jvmti_sys::jni_sys::JNIEnv;
use perk_jvmti_sys::jvmpi::JVMPI_RawMonitor;

use perk_jvm::os::futex::{self, Deadline};
use perk_jvm::sync::lock;

/// The number of blocks, for a million monitors.
pub(crate) const BLOCKS: usize = 14;

/// The bit of [`MonitorSlot::word`] that says the place is locked.
const LOCKED: u32 = 1;
/// What one thread that waits to enter adds to [`MonitorSlot::word`].
const ONE_ENTERING: u32 = 2;

/// A thread in a queue: its identity and environment.
#[derive(Clone, Copy, Debug)]
struct Member {
    who: usize,
    env: usize,
}

/// The threads that wait, for the record: they wait for the words of the place.
#[derive(Debug, Default)]
struct Queues {
    entering: Vec<Member>,
    /// Those that wait to be notified.
    waiting: Vec<Member>,
}

/// A monitor at a moment. Threads are given by their environments, null for those without one.
#[derive(Debug)]
pub(crate) struct MonitorSnapshot {
    pub(crate) name: *mut c_char,
    pub(crate) handle: JVMPI_RawMonitor,
    pub(crate) owner: *mut JNIEnv,
    /// How often the owner has entered it.
    pub(crate) entry_count: u32,
    pub(crate) entering: Vec<*mut JNIEnv>,
    pub(crate) waiting: Vec<*mut JNIEnv>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct MonitorSlot {
    /// How often the place became a monitor or ceased to be one: odd while it is one.
    generation: AtomicU32,
    /// [`LOCKED`], and the number of threads that wait to enter.
    word: AtomicU32,
    owner: AtomicUsize,
    owner_env: AtomicUsize,
    /// How often the owner has entered. Only the owner writes it.
    entry_count: AtomicU32,
    /// How often all threads were notified.
    notice: AtomicU32,
    name: AtomicPtr<c_char>,
    queues: Mutex<Queues>,
}

impl MonitorSlot {
    /// Makes it a monitor. Returns its generation.
    pub(super) fn begin(&self, name: *mut c_char) -> u32 {
        self.name.store(name, Relaxed);
        self.generation.fetch_add(1, AcqRel) + 1
    }

    /// Ends the monitor of a generation, which the caller has locked. Whether it did: others may use it.
    pub(super) fn retire(&self, generation: u32) -> bool {
        let queues = lock(&self.queues);
        let is_free = queues.entering.is_empty() && queues.waiting.is_empty();
        is_free
            && self
                .generation
                .compare_exchange(generation, generation.wrapping_add(1), AcqRel, Relaxed)
                .is_ok()
    }

    /// Whether it is the monitor of a generation.
    pub(super) fn is(&self, generation: u32) -> bool {
        self.generation.load(Acquire) == generation
    }

    pub(super) fn generation(&self) -> u32 {
        self.generation.load(Acquire)
    }

    pub(super) fn name(&self) -> *mut c_char {
        self.name.load(Relaxed)
    }

    pub(super) fn is_owner(&self, who: usize) -> bool {
        self.owner.load(Relaxed) == who
    }

    pub(super) fn entry_count(&self) -> u32 {
        self.entry_count.load(Relaxed)
    }

    /// Locks the place if nobody has.
    pub(super) fn try_lock(&self) -> bool {
        let mut word = 0;
        while let Err(now) = self.word.compare_exchange_weak(word, word | LOCKED, Acquire, Relaxed)
        {
            if now & LOCKED != 0 {
                return false;
            }
            word = now;
        }
        true
    }

    /// Unlocks the place. Whether others wait to enter.
    pub(super) fn unlock(&self) -> bool {
        let has_entering = self.word.fetch_and(!LOCKED, Release) & !LOCKED != 0;
        if has_entering {
            futex::wake(&self.word, 1);
        }
        has_entering
    }

    /// Makes a thread that has locked the place the owner.
    pub(super) fn own(&self, who: usize, env: usize, entry_count: u32) {
        self.entry_count.store(entry_count, Relaxed);
        self.owner_env.store(env, Relaxed);
        self.owner.store(who, Relaxed);
    }

    pub(super) fn enter_again(&self) {
        self.entry_count.store(self.entry_count().saturating_add(1), Relaxed);
    }

    /// Counts an exit of the owner. Whether it was the last one.
    pub(super) fn exit_once(&self) -> bool {
        let left = self.entry_count().saturating_sub(1);
        if left > 0 {
            self.entry_count.store(left, Relaxed);
        }
        left == 0
    }

    /// Ends the caller's ownership, and unlocks the place. Whether others wait to enter.
    pub(super) fn disown(&self) -> bool {
        self.own(0, 0, 0);
        self.unlock()
    }

    /// Notes that the owner will wait to be notified. Returns what to wait for.
    pub(super) fn begin_wait(&self, who: usize, env: *mut JNIEnv) -> u32 {
        lock(&self.queues).waiting.push(Member { who, env: env as usize });
        self.notice.load(Relaxed)
    }

    pub(super) fn wait(&self, notice: u32, deadline: Option<&Deadline>) {
        futex::wait(&self.notice, notice, deadline);
    }

    /// Notes that a thread waits no more.
    pub(super) fn end_wait(&self, who: usize) {
        let mut queues = lock(&self.queues);
        let Queues { entering, waiting } = &mut *queues;
        for queue in [waiting, entering] {
            if let Some(index) = queue.iter().position(|it| it.who == who) {
                queue.remove(index);
                return;
            }
        }
    }

    /// Wakes all threads that wait to be notified. They wait to enter now.
    pub(super) fn notify_all(&self) {
        let mut queues = lock(&self.queues);
        let Queues { entering, waiting } = &mut *queues;
        if !waiting.is_empty() {
            entering.append(waiting);
            self.notice.fetch_add(1, Release);
            futex::wake(&self.notice, i32::MAX);
        }
    }

    /// Returns the monitor at this moment.
    pub(super) fn moment(&self, handle: usize) -> MonitorSnapshot {
        // A thread that was notified and enters again is there twice.
        let envs = |queue: &[Member]| {
            let is_first =
                |index: usize| queue[..index].iter().all(|it| it.who != queue[index].who);
            let members = (0..queue.len()).filter(|&index| is_first(index));
            members.map(|index| queue[index].env as *mut JNIEnv).collect()
        };
        let queues = lock(&self.queues);
        let entry_count = self.entry_count();
        let owner = match entry_count {
            0 => null_mut(),
            _ => self.owner_env.load(Relaxed) as *mut JNIEnv,
        };
        MonitorSnapshot {
            name: self.name(),
            handle: handle as JVMPI_RawMonitor,
            owner,
            entry_count,
            entering: envs(&queues.entering),
            waiting: envs(&queues.waiting),
        }
    }
}

/// A thread that waits to enter.
#[derive(Debug)]
pub(super) struct EntryWaiter<'a> {
    place: &'a MonitorSlot,
    who: usize,
}

impl<'a> EntryWaiter<'a> {
    /// Notes that a thread waits to enter the monitor of a generation; `None` if that is gone. From now
    /// on it is not destroyed, and a release sees that somebody waits.
    pub(super) fn begin(
        place: &'a MonitorSlot,
        generation: u32,
        who: usize,
        env: *mut JNIEnv,
    ) -> Option<Self> {
        let mut queues = lock(&place.queues);
        if !place.is(generation) {
            return None;
        }
        queues.entering.push(Member { who, env: env as usize });
        place.word.fetch_add(ONE_ENTERING, Relaxed);
        Some(Self { place, who })
    }

    /// Locks the place, and ends the wait.
    pub(super) fn lock(self) {
        let Self { place, who } = self;
        let mut word = place.word.load(Relaxed);
        loop {
            if word & LOCKED != 0 {
                futex::wait(&place.word, word, None);
                word = place.word.load(Relaxed);
                continue;
            }
            let locked = (word | LOCKED) - ONE_ENTERING;
            match place.word.compare_exchange_weak(word, locked, Acquire, Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        let mut queues = lock(&place.queues);
        // The last of them is this wait: a handler may have waited for the same monitor in between.
        if let Some(index) = queues.entering.iter().rposition(|it| it.who == who) {
            queues.entering.remove(index);
        }
    }
}
