//! The boundary to the JVM: every callback body runs inside [`guard`].

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::time::{Duration, Instant};

use crate::os;

/// The purpose of a callback; a feature that panics is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Keeping track of threads.
    Threads,
    /// Keeping track of classes.
    Classes,
    /// Counting calls and allocations.
    Probes,
    /// Keeping track of monitors.
    Monitors,
    /// Taking samples.
    Sampling,
    /// Writing dumps.
    Dumping,
    /// Showing the profile while it is recorded.
    Flushing,
    /// Obeying the commands of a peer.
    Commands,
    /// Starting at VMInit.
    Starting,
    /// Being the JVM's side of JVMPI.
    Jvmpi,
}

static OFF: AtomicU32 = AtomicU32::new(0);
static FAULTS: AtomicU64 = AtomicU64::new(0);
static CALLBACK_CPU_NS: AtomicU64 = AtomicU64::new(0);
/// The number of threads that are [`inside`] a callback, in parts: threads on several processors would wait
/// for each other's writes to one number.
static INSIDE: [Part; PARTS] = [const { Part(AtomicUsize::new(0)) }; PARTS];
/// The number of threads that have chosen their part.
static CHOSEN: AtomicUsize = AtomicUsize::new(0);

const PARTS: usize = 16;

/// A number with a cache line of its own.
#[repr(align(64))]
struct Part(AtomicUsize);

/// The time between two looks at it.
const LOOK: Duration = Duration::from_micros(200);
/// The number of spans, of which the shortest is that of the readings alone.
const READINGS: u32 = 16;

/// Of this many brief callbacks, one is measured. The number is odd, as the begins and the ends of waits take turns.
const BRIEF: u32 = 31;

/// The state of the callbacks of a thread. It is one variable, as each one costs a call to find it.
struct ThreadState {
    /// The thread's CPU clock when its outermost measured callback began, while it is in one.
    begun_ns: Cell<Option<u64>>,
    /// The CPU time of measured callbacks.
    booked_ns: Cell<u64>,
    /// The number of brief callbacks.
    brief_count: Cell<u32>,
    /// The thread's part of [`INSIDE`], plus 1; 0 if it has not chosen one yet.
    part: Cell<usize>,
    /// Whether this thread is inside a callback.
    is_guarded: Cell<bool>,
    /// Whether this thread is inside [`unheard`].
    is_unheard: Cell<bool>,
}

thread_local! {
    static STATE: ThreadState = const {
        ThreadState {
            begun_ns: Cell::new(None),
            booked_ns: Cell::new(0),
            brief_count: Cell::new(0),
            part: Cell::new(0),
            is_guarded: Cell::new(false),
            is_unheard: Cell::new(false),
        }
    };
}

impl ThreadState {
    /// Returns the thread's part of [`INSIDE`].
    fn part(&self) -> &'static Part {
        if self.part.get() == 0 {
            self.part.set(CHOSEN.fetch_add(1, Relaxed) % PARTS + 1);
        }
        &INSIDE[self.part.get() - 1]
    }
}

/// Runs `body` and ignores the JVM's events on this thread meanwhile. The locks that they need are
/// held by another thread, which waits for this one.
pub fn unheard<T>(body: impl FnOnce() -> T) -> T {
    let outer = STATE.with(|state| state.is_unheard.replace(true));
    let answer = body();
    STATE.with(|state| state.is_unheard.set(outer));
    answer
}

/// Whether the calling thread is inside [`unheard`].
pub fn is_unheard() -> bool {
    STATE.with(|state| state.is_unheard.get())
}

/// Runs the body of a callback unless its feature is off, contains a panic, and books the CPU time
/// as perk's own.
pub fn guard(feature: Feature, body: impl FnOnce()) {
    if is_unheard() {
        return;
    }
    inside(|| requested(feature, body));
}

/// Does the same for a request of the program's, which is not a callback: it may end the session.
pub fn requested(feature: Feature, body: impl FnOnce()) {
    measured(|| uncounted(|| contain(feature, body)));
}

/// Does the same as [`guard`] for a callback that is frequent and shorter than a reading of the thread's CPU clock:
/// one of [`BRIEF`] is measured, and counts for all of them. What takes longer, now and then, is in [`measured`].
pub fn brief(feature: Feature, body: impl FnOnce()) {
    STATE.with(|state| {
        if state.is_unheard.get() {
            return;
        }
        let count = state.brief_count.get().wrapping_add(1);
        state.brief_count.set(count);
        let outer = state.is_guarded.replace(true);
        let is_measured = count.is_multiple_of(BRIEF) && state.begun_ns.get().is_none();
        let begun = is_measured.then(|| (os::thread_cpu_ns(), state.booked_ns.get()));
        inside(|| contain(feature, body));
        if let Some((begun_ns, booked_ns)) = begun {
            let spent_ns = os::thread_cpu_ns().saturating_sub(begun_ns + reading_ns());
            let booked_ns = state.booked_ns.get() - booked_ns;
            let brief_ns = spent_ns.saturating_sub(booked_ns) * u64::from(BRIEF);
            CALLBACK_CPU_NS.fetch_add(brief_ns, Relaxed);
        }
        state.is_guarded.set(outer);
    });
}

/// Runs `body` and books its CPU time as perk's own. What is inside of another is part of that one's time.
pub fn measured<T>(body: impl FnOnce() -> T) -> T {
    if STATE.with(|state| state.begun_ns.get().is_some()) {
        return body();
    }
    let _own = OwnTime::begin();
    body()
}

/// The CPU time of the calling thread, which is perk's own until the end.
struct OwnTime {
    begun_ns: u64,
}

impl OwnTime {
    fn begin() -> Self {
        let begun_ns = os::thread_cpu_ns();
        STATE.with(|state| state.begun_ns.set(Some(begun_ns)));
        Self { begun_ns }
    }
}

impl Drop for OwnTime {
    fn drop(&mut self) {
        let ns = os::thread_cpu_ns().saturating_sub(self.begun_ns);
        CALLBACK_CPU_NS.fetch_add(ns, Relaxed);
        STATE.with(|state| {
            state.begun_ns.set(None);
            state.booked_ns.set(state.booked_ns.get() + ns);
        });
    }
}

/// Returns how much of a span between two readings of the thread's CPU clock is the readings' own.
fn reading_ns() -> u64 {
    static READING_NS: OnceLock<u64> = OnceLock::new();
    *READING_NS.get_or_init(|| {
        let spans = (0..READINGS).map(|_| {
            let begun_ns = os::thread_cpu_ns();
            os::thread_cpu_ns().saturating_sub(begun_ns)
        });
        spans.min().unwrap_or(0)
    })
}

/// Runs the body of a callback that may use the session's environment: [`all_have_left`] waits for its
/// end. It must not unwind.
pub fn inside<T>(body: impl FnOnce() -> T) -> T {
    let Part(inside) = STATE.with(ThreadState::part);
    inside.fetch_add(1, SeqCst);
    let answer = body();
    inside.fetch_sub(1, SeqCst);
    answer
}

/// Waits until no thread is in a callback, up to a limit. Returns whether none is.
pub fn all_have_left(limit: Duration) -> bool {
    let begin = Instant::now();
    while INSIDE.iter().any(|Part(inside)| inside.load(SeqCst) > 0) {
        if begin.elapsed() >= limit {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    true
}

/// Runs `body`, whose objects are not the program's.
pub fn uncounted<T>(body: impl FnOnce() -> T) -> T {
    let outer = STATE.with(|state| state.is_guarded.replace(true));
    let answer = body();
    STATE.with(|state| state.is_guarded.set(outer));
    answer
}

/// Whether the calling thread runs the body of a callback. Objects made then are not the program's.
pub fn is_guarded() -> bool {
    STATE.with(|state| state.is_guarded.get())
}

/// Runs `body` unless its feature is off. A panic is counted, reported in one line, and switches
/// the feature off; the program continues.
pub fn contain(feature: Feature, body: impl FnOnce()) {
    let bit = 1 << feature as u32;
    if OFF.load(Relaxed) & bit == 0 && catch_unwind(AssertUnwindSafe(body)).is_err() {
        OFF.fetch_or(bit, Relaxed);
        FAULTS.fetch_add(1, Relaxed);
        os::say(&format!("HPROF ERROR: perk continues without {feature:?} after this fault\n"));
    }
}

/// Returns how many features were switched off.
pub fn faults() -> u64 {
    FAULTS.load(Relaxed)
}

/// Returns the CPU time spent in callbacks that have returned, and in the calling thread's.
pub fn callback_cpu_ns() -> u64 {
    let begun_ns = STATE.with(|state| state.begun_ns.get());
    let running = begun_ns.map_or(0, |begun_ns| os::thread_cpu_ns().saturating_sub(begun_ns));
    CALLBACK_CPU_NS.load(Relaxed) + running
}

/// Installs a hook that prints a panic as one line on stderr.
pub fn install_panic_line() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let message = panic.payload_as_str().unwrap_or("a fault");
        os::say(&format!("HPROF ERROR: perk: {message} [{place}]\n"));
    }));
}
