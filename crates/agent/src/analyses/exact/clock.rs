//! The clock: a thread that, at each tick, books the time of each platform thread since the tick
//! before on the context in which it meets the thread. Probes do not read any time for that. Ticks
//! do not depend on the actions of the program, so that the expected time of a context is right.
//!
//! CPU time is booked where the thread is met running. What a thread that waits by now has burned
//! since the last tick stays pending until then.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use perk_jvm::guard::{Feature, contain, inside};
use perk_jvm::os::{self, Tid};
use perk_jvm::sync::lock;
use perk_jvm::{Global, Jni, Local, Reference};
use perk_jvmti_sys::JvmtiEnv;
use perk_jvmti_sys::jni_sys::JNIEnv;
use perk_profile::CALL_TICK_NS;

use super::state::{Position, States};
use super::tree::{OpenCalls, Tree};
use crate::common::Common;

/// The way in which calls are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timing {
    /// Not at all.
    None,
    /// By the clock's ticks, in CPU time.
    CpuTick,
    /// By the clock's ticks, in wall time.
    WallTick,
    /// In wall time, which each probe reads.
    WallExact,
}

impl Timing {
    /// Whether the time is booked at ticks.
    pub(super) fn ticks(self) -> bool {
        matches!(self, Self::CpuTick | Self::WallTick)
    }
}

/// The time between two ticks.
const TICK: Duration = Duration::from_nanos(CALL_TICK_NS);
/// The limit of the interval between reads, in ticks: a thread without CPU time is read less and
/// less often, and so is one that stays where it is if the clock is that of the wall.
const MAX_IDLE_TICKS: u32 = 31;
/// A thread whose clock stands still waits, or waits for a CPU, perhaps because of the clock's thread.
/// The kernel is asked which it is if this many ticks in a row have found it so: that takes longer
/// than all other work of a tick.
const TICKS_PER_STATE: u32 = 4;

/// The number of ticks after which the clock's thread reads its own CPU time.
const TICKS_PER_OWN_READ: u64 = 16;

/// The clock; see the module.
#[derive(Debug)]
pub(super) struct Clock {
    /// The number of the recording: what a thread knows of an earlier one is of no use.
    number: u64,
    timing: Timing,
    states: OnceLock<&'static States>,
    carriers: Mutex<Vec<&'static Carrier>>,
    stopped: AtomicBool,
    cpu_ns: AtomicU64,
}

/// A platform thread that is counted, or carries virtual threads that are.
#[derive(Debug)]
pub(super) struct Carrier {
    tid: Tid,
    /// The thread's own state.
    pub(super) state: Global,
    /// The thread's own tree, once it has reached a probe.
    pub(super) own: OnceLock<&'static Tree>,
    /// The tree of the virtual threads that it carries, once it has carried one.
    guests: OnceLock<&'static Tree>,
    /// Whether it may carry a virtual thread.
    has_guests: AtomicBool,
    pace: Mutex<Pace>,
}

#[derive(Debug)]
struct Pace {
    /// The thread's CPU time, or the time, as last read.
    read_ns: u64,
    /// The time that is not booked yet.
    pending_ns: u64,
    /// The position as last read.
    position: Position,
    idle_ticks: u32,
    wait_ticks: u32,
    /// The number of ticks in a row that have found its clock standing still.
    still_ticks: u32,
}

thread_local! {
    /// The thread, and the number of the clock that knows it.
    static CARRIER: Cell<Option<(u64, &'static Carrier)>> = const { Cell::new(None) };
}

impl Clock {
    pub(super) fn new(timing: Timing) -> Self {
        static CLOCK_COUNT: AtomicU64 = AtomicU64::new(0);
        Self {
            number: CLOCK_COUNT.fetch_add(1, Relaxed),
            timing,
            states: OnceLock::new(),
            carriers: Mutex::default(),
            stopped: AtomicBool::new(false),
            cpu_ns: AtomicU64::new(0),
        }
    }

    /// Returns the CPU time of the clock's thread.
    pub(super) fn own_cpu_ns(&self) -> u64 {
        self.cpu_ns.load(Relaxed)
    }

    /// Starts the clock; its thread runs only if it is needed.
    pub(super) fn start(
        &'static self,
        common: &Common,
        jni: Jni<'_>,
        states: &'static States,
    ) -> Result<(), String> {
        let _ = self.states.set(states);
        if !self.timing.ticks() {
            return Ok(());
        }
        let thread = common.threads.new_own(jni, c"perk clock")?;
        let started = common.jvmti.run_agent_thread(&*thread, clock_main, self);
        started.map_err(|error| format!("RunAgentThread: {error}"))
    }

    fn run(&self, jni: Jni<'_>) {
        for tick in 1_u64.. {
            std::thread::sleep(TICK);
            // The JVM may be gone.
            if self.stopped.load(Relaxed) {
                break;
            }
            self.each(Some(jni), Carrier::tick);
            if tick.is_multiple_of(TICKS_PER_OWN_READ) {
                self.cpu_ns.store(os::thread_cpu_ns(), Relaxed);
            }
        }
    }

    /// Books all time up to now. Without JNI, it is booked where the threads were met last.
    pub(super) fn refresh(&self, jni: Option<Jni<'_>>) {
        self.each(jni, Carrier::read);
    }

    fn each(&self, jni: Option<Jni<'_>>, action: impl Fn(&Carrier, &Self, Option<Jni<'_>>)) {
        if self.timing.ticks() {
            lock(&self.carriers).iter().for_each(|carrier| action(carrier, self, jni));
        }
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// Returns the calling platform thread, if it is known.
    pub(super) fn known_carrier(&self) -> Option<&'static Carrier> {
        let (number, carrier) = CARRIER.get()?;
        (number == self.number).then_some(carrier)
    }

    /// Returns the calling platform thread.
    pub(super) fn carrier(&self, jni: Jni<'_>) -> Option<&'static Carrier> {
        if let Some(known) = self.known_carrier() {
            return Some(known);
        }
        let state = self.states.get()?.make(jni)?;
        let pace = Pace {
            read_ns: self.read_ns(Tid::current()).unwrap_or(0),
            pending_ns: 0,
            position: Position(0),
            idle_ticks: 0,
            wait_ticks: 0,
            still_ticks: 0,
        };
        let carrier: &'static Carrier = Box::leak(Box::new(Carrier {
            tid: Tid::current(),
            state: jni.global(&state)?,
            own: OnceLock::new(),
            guests: OnceLock::new(),
            has_guests: AtomicBool::new(false),
            pace: Mutex::new(pace),
        }));
        CARRIER.set(Some((self.number, carrier)));
        lock(&self.carriers).push(carrier);
        Some(carrier)
    }

    /// Ends the calling platform thread. Returns the trees it had: its own, and that of the virtual
    /// threads that it carried.
    pub(super) fn thread_ended(
        &self,
        jni: Jni<'_>,
    ) -> (Option<&'static Tree>, Option<&'static Tree>) {
        let Some(carrier) = self.known_carrier() else { return (None, None) };
        CARRIER.set(None);
        if self.timing.ticks() {
            carrier.read(self, Some(jni));
        }
        lock(&self.carriers).retain(|it| !std::ptr::eq(*it, carrier));
        let trees = (carrier.own.get().copied(), carrier.guests.get().copied());
        // SAFETY: `carrier` made it from a box, and it has been removed from the only list that had
        // it.
        let carrier = unsafe { Box::from_raw(std::ptr::from_ref(carrier).cast_mut()) };
        jni.delete(carrier.state);
        trees
    }

    /// Forgets the platform threads, which continue. Nobody may use them any more.
    pub(super) fn release(&self, jni: Jni<'_>) {
        for carrier in std::mem::take(&mut *lock(&self.carriers)) {
            // SAFETY: `carrier` made it from a box, and the list that had it is empty now; threads
            // know it by the number of this clock only.
            let carrier = unsafe { Box::from_raw(std::ptr::from_ref(carrier).cast_mut()) };
            jni.delete(carrier.state);
        }
    }

    /// Whether virtual threads were counted.
    pub(super) fn has_guests(&self) -> bool {
        lock(&self.carriers).iter().any(|carrier| carrier.has_guests.load(Relaxed))
    }

    /// Returns the platform threads and their trees.
    pub(super) fn threads(&self) -> Vec<(Tid, &'static Tree)> {
        let carriers = lock(&self.carriers);
        carriers.iter().filter_map(|it| Some((it.tid, *it.own.get()?))).collect()
    }

    /// Adds the times of the running calls up to now, with an exact clock.
    pub(super) fn add_running(&self, jni: Jni<'_>, running: &mut OpenCalls, now_ns: u64) {
        let Some(states) = self.states.get() else { return };
        for carrier in lock(&self.carriers).iter() {
            let guest = carrier.guest(states, jni);
            for state in [Some(&carrier.state as &dyn Reference), guest.as_ref().map(|it| it as _)]
            {
                let Some(state) = state else { continue };
                let node = states.position(jni, state).node();
                let since_ns = states.since_ns(jni, state);
                if node != 0 && since_ns != 0 {
                    *running.entry(node).or_default() += now_ns.saturating_sub(since_ns);
                }
            }
        }
    }

    /// Returns the clock's time of a thread.
    fn read_ns(&self, tid: Tid) -> Option<u64> {
        match self.timing {
            Timing::CpuTick => tid.cpu_ns(),
            _ => Some(os::nano_time()),
        }
    }
}

impl Carrier {
    /// Returns the tree of the virtual threads that it carries.
    pub(super) fn guests(&self, acquire: impl FnOnce() -> &'static Tree) -> &'static Tree {
        self.guests.get_or_init(acquire)
    }

    /// Notes that it now carries the virtual thread with this state: its time goes there.
    pub(super) fn carry(&self, states: &States, jni: Jni<'_>, state: &dyn Reference) {
        self.has_guests.store(true, Relaxed);
        states.set_guest(jni, &self.state, Some(state));
    }

    /// Notes that it carries none any more.
    pub(super) fn put_down(&self, states: &States, jni: Jni<'_>) {
        states.set_guest(jni, &self.state, None);
    }

    /// Returns the state of the virtual thread that it carries.
    pub(super) fn guest<'a>(&self, states: &States, jni: Jni<'a>) -> Option<Local<'a>> {
        if !self.has_guests.load(Relaxed) {
            return None;
        }
        states.guest(jni, &self.state)
    }

    fn tick(&self, clock: &Clock, jni: Option<Jni<'_>>) {
        let mut pace = lock(&self.pace);
        if pace.wait_ticks > 0 {
            pace.wait_ticks -= 1;
        } else if self.advance(clock, &mut pace, jni, false) {
            pace.idle_ticks = 0;
        } else {
            pace.idle_ticks = (pace.idle_ticks * 2 + 1).min(MAX_IDLE_TICKS);
            pace.wait_ticks = pace.idle_ticks;
        }
    }

    fn read(&self, clock: &Clock, jni: Option<Jni<'_>>) {
        self.advance(clock, &mut lock(&self.pace), jni, true);
    }

    /// Books the time since the last time; with `all`, also that of a thread that waits. Returns
    /// whether the thread is to be read at the next tick.
    fn advance(&self, clock: &Clock, pace: &mut Pace, jni: Option<Jni<'_>>, all: bool) -> bool {
        let read_ns = clock.read_ns(self.tid).unwrap_or(pace.read_ns);
        let spent_ns = read_ns.saturating_sub(pace.read_ns);
        pace.read_ns = read_ns;
        pace.pending_ns += spent_ns;
        if spent_ns == 0 && !(all && pace.pending_ns > 0) {
            return false;
        }
        let before = pace.position;
        if let (Some(jni), Some(states)) = (jni, clock.states.get()) {
            pace.position = match self.guest(states, jni) {
                Some(guest) => states.position(jni, &guest),
                None => states.position(jni, &self.state),
            };
        }
        let is_met = match clock.timing {
            Timing::CpuTick if !all => self.is_running(pace),
            _ => true,
        };
        if is_met && pace.position.node() != 0 {
            // SAFETY: probes and the agent store only addresses of nodes.
            unsafe { Tree::book(pace.position.node(), std::mem::take(&mut pace.pending_ns)) };
        }
        clock.timing == Timing::CpuTick || before != pace.position
    }

    /// Whether the thread runs now, or waits for a CPU. A clock that has advanced is proof.
    fn is_running(&self, pace: &mut Pace) -> bool {
        if self.tid.cpu_ns().is_some_and(|cpu_ns| cpu_ns > pace.read_ns) {
            pace.still_ticks = 0;
            return true;
        }
        pace.still_ticks += 1;
        if pace.still_ticks < TICKS_PER_STATE {
            return false;
        }
        pace.still_ticks = 0;
        self.tid.is_runnable() != Some(false)
    }
}

/// The clock thread's entry.
unsafe extern "system" fn clock_main(_: JvmtiEnv, env: *mut JNIEnv, clock: *mut c_void) {
    // SAFETY: `start` passed a reference that lives as long as the process.
    let clock: &'static Clock = unsafe { &*clock.cast_const().cast() };
    // SAFETY: the JVM gives the agent thread its own environment, valid until we return.
    let jni = unsafe { Jni::from_raw(env) };
    // The end of a recording in a running program waits for the thread.
    inside(|| contain(Feature::Probes, || clock.run(jni)));
}
