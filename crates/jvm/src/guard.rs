//! The boundary to the JVM: every callback body runs inside [`guard`].

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
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
/// The number of threads that are [`inside`] a callback.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// The time between two looks at it.
const LOOK: Duration = Duration::from_micros(200);

thread_local! {
    /// The thread's CPU clock when its outermost callback began, while it is in one.
    static BEGUN_NS: Cell<Option<u64>> = const { Cell::new(None) };
    /// Whether this thread is inside [`guard`].
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    /// Whether this thread is inside [`unheard`].
    static UNHEARD: Cell<bool> = const { Cell::new(false) };
}

/// Runs `body` and ignores the JVM's events on this thread meanwhile. The locks that they need are
/// held by another thread, which waits for this one.
pub fn unheard<T>(body: impl FnOnce() -> T) -> T {
    let outer = UNHEARD.replace(true);
    let answer = body();
    UNHEARD.set(outer);
    answer
}

/// Whether the calling thread is inside [`unheard`].
pub fn is_unheard() -> bool {
    UNHEARD.get()
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
    // A callback in a callback is part of the outer one's time.
    if BEGUN_NS.get().is_some() {
        return uncounted(|| contain(feature, body));
    }
    let begin_ns = os::thread_cpu_ns();
    BEGUN_NS.set(Some(begin_ns));
    uncounted(|| contain(feature, body));
    BEGUN_NS.set(None);
    CALLBACK_CPU_NS.fetch_add(os::thread_cpu_ns().saturating_sub(begin_ns), Relaxed);
}

/// Runs the body of a callback that may use the session's environment: [`all_have_left`] waits for its
/// end. It must not unwind.
pub fn inside<T>(body: impl FnOnce() -> T) -> T {
    INSIDE.fetch_add(1, SeqCst);
    let answer = body();
    INSIDE.fetch_sub(1, SeqCst);
    answer
}

/// Waits until no thread is in a callback, up to a limit. Returns whether none is.
pub fn all_have_left(limit: Duration) -> bool {
    let begin = Instant::now();
    while INSIDE.load(SeqCst) > 0 {
        if begin.elapsed() >= limit {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    true
}

/// Runs `body`, whose objects are not the program's.
pub fn uncounted<T>(body: impl FnOnce() -> T) -> T {
    let outer = GUARDED.replace(true);
    let answer = body();
    GUARDED.set(outer);
    answer
}

/// Whether the calling thread runs the body of a callback. Objects made then are not the program's.
pub fn is_guarded() -> bool {
    GUARDED.get()
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
    let running = BEGUN_NS.get().map_or(0, |begun| os::thread_cpu_ns().saturating_sub(begun));
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
