//! Wakes the thread that sends brackets.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

use crate::state::STATE;

/// The time without progress after which `RunGC` returns without its events: their handler may wait
/// for a lock of the caller's, or the thread is suspended. A thread that only waits for a CPU is
/// not given up.
pub(crate) const STILL: Duration = Duration::from_secs(2);

/// Whether the thread was started.
pub(crate) fn is_started() -> bool {
    STATE.gc_thread.is_required.load(Relaxed)
}

/// Whether the calling thread is the one.
pub(crate) fn is_current() -> bool {
    STATE.gc_thread.handle.get().is_some_and(|it| it.id() == std::thread::current().id())
}

/// Has the thread look for work. This neither blocks nor allocates.
pub(crate) fn wake() {
    if let Some(handle) = STATE.gc_thread.handle.get() {
        handle.unpark();
    }
}

/// Does so if it waits for `EnableGC`.
pub(crate) fn wake_if_waiting() {
    if STATE.gc_thread.is_waiting.load(SeqCst) {
        wake();
    }
}
