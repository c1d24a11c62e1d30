//! `DisableGC`, `EnableGC`, and the handlers of events with object ids: while they hold them back, no
//! bracket begins.
//!
//! `DisableGC` counts for the process. Handlers count for their threads: a bracket begins when each
//! handler that ran when it was due has ended. If none could run at that time, busy programs would
//! never see one. A bracket that has begun continues to its end while handlers begin: no id ends in it
//! whose object was there when it was due. A request of the agent's counts as a handler from its begin.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{
    Ordering::Acquire, Ordering::Relaxed, Ordering::Release, Ordering::SeqCst,
};
use std::time::{Duration, Instant};

use perk_jvmti_sys::jni_sys::jint;
use perk_jvmti_sys::jvmpi::*;

use super::waking;
use crate::state::STATE;
use crate::state::entries::HandlerThread;
use perk_jvm::sync::lock;

/// The time for which `DisableGC` waits for a handler of a bracket: the handler may wait for a lock
/// of the caller's.
const WAIT: Duration = Duration::from_millis(200);
const LOOK: Duration = Duration::from_micros(100);

struct ThreadHold {
    holder: Arc<HandlerThread>,
    /// `DisableGC` less `EnableGC` of this thread.
    held: Cell<i64>,
}

impl ThreadHold {
    fn new() -> Self {
        let holder = Arc::<HandlerThread>::default();
        lock(&STATE.hold.threads).push(Arc::clone(&holder));
        Self { holder, held: Cell::new(0) }
    }
}

impl Drop for ThreadHold {
    fn drop(&mut self) {
        self.undo();
        lock(&STATE.hold.threads).retain(|it| !Arc::ptr_eq(it, &self.holder));
    }
}

impl ThreadHold {
    /// Takes back what the thread holds.
    fn undo(&self) {
        for _ in 0..self.held.replace(0) {
            release();
        }
    }
}

thread_local! {
    static CURRENT: ThreadHold = ThreadHold::new();
}

/// Whether an event of this kind names objects outside of a bracket.
const fn has_ids(kind: jint) -> bool {
    const KINDS: u64 = 1 << JVMPI_EVENT_CLASS_LOAD
        | 1 << JVMPI_EVENT_OBJECT_ALLOC
        | 1 << JVMPI_EVENT_THREAD_START
        | 1 << JVMPI_EVENT_METHOD_ENTRY2
        | 1 << JVMPI_EVENT_HEAP_DUMP
        | 1 << JVMPI_EVENT_OBJECT_DUMP
        | 1 << JVMPI_EVENT_MONITOR_DUMP
        | 1 << JVMPI_EVENT_JNI_GLOBALREF_ALLOC
        | 1 << JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC
        | 1 << JVMPI_EVENT_MONITOR_CONTENDED_ENTER
        | 1 << JVMPI_EVENT_MONITOR_CONTENDED_ENTERED
        | 1 << JVMPI_EVENT_MONITOR_CONTENDED_EXIT
        | 1 << JVMPI_EVENT_MONITOR_WAIT
        | 1 << JVMPI_EVENT_MONITOR_WAITED;
    KINDS & 1 << kind != 0
}

/// Runs `body`, a request of the agent's for a kind of event.
pub(crate) fn during_request(kind: jint, body: impl FnOnce()) {
    let count = u32::from(matches!(
        kind,
        JVMPI_EVENT_HEAP_DUMP | JVMPI_EVENT_OBJECT_DUMP | JVMPI_EVENT_MONITOR_DUMP
    ));
    STATE.hold.dumps.fetch_add(count, SeqCst);
    during(kind, body);
    STATE.hold.dumps.fetch_sub(count, SeqCst);
}

/// Whether an event of this kind is part of a bracket.
const fn is_of_bracket(kind: jint) -> bool {
    const KINDS: u64 = 1 << JVMPI_EVENT_GC_START
        | 1 << JVMPI_EVENT_OBJECT_FREE
        | 1 << JVMPI_EVENT_CLASS_UNLOAD
        | 1 << JVMPI_EVENT_GC_FINISH;
    KINDS & 1 << kind != 0
}

/// Runs `body`, the handler of a kind of event.
pub(crate) fn during(kind: jint, body: impl FnOnce()) {
    if is_of_bracket(kind) {
        STATE.hold.is_handled.store(true, SeqCst);
        body();
        return STATE.hold.is_handled.store(false, SeqCst);
    }
    if !has_ids(kind) {
        return body();
    }
    let change = |by: i32| {
        CURRENT.try_with(|current| {
            let holder = &current.holder;
            let depth = holder.depth.load(Relaxed).wrapping_add_signed(by);
            if depth == 0 {
                holder.ends.store(holder.ends.load(Relaxed).wrapping_add(1), Relaxed);
            }
            holder.depth.store(depth, Release);
        })
    };
    // A thread at its very end is not counted.
    let is_counted = change(1).is_ok();
    body();
    if is_counted {
        let _ = change(-1);
    }
}

/// Whether `DisableGC` is in force.
pub(super) fn is_held() -> bool {
    STATE.hold.held.load(SeqCst) > 0
}

/// Whether `DisableGC` is in force, or a dump is under way: ids do not end without a bracket either.
pub(super) fn keeps_ids() -> bool {
    is_held() || STATE.hold.dumps.load(SeqCst) > 0
}

/// Whether the calling thread has disabled the collection, or is in a handler for which it is.
pub(super) fn is_held_by_caller() -> bool {
    let by_caller = |it: &ThreadHold| it.held.get() > 0 || it.holder.depth.load(Relaxed) > 0;
    CURRENT.try_with(by_caller).unwrap_or(true)
}

/// `DisableGC`
pub(crate) unsafe extern "C" fn disable() {
    STATE.hold.held.fetch_add(1, SeqCst);
    let _ = CURRENT.try_with(|current| {
        current.held.set(current.held.get() + 1);
        let is_first = current.held.get() == 1 && current.holder.depth.load(Relaxed) == 0;
        if STATE.hold.is_open.load(SeqCst) && is_first && !waking::is_current() {
            wait_for_end();
        }
    });
}

/// Waits for the end of the bracket.
fn wait_for_end() {
    let (mut last, mut since) = (STATE.gc.steps.load(Relaxed), Instant::now());
    while STATE.hold.is_open.load(SeqCst) {
        let limit = if STATE.hold.is_handled.load(SeqCst) { WAIT } else { waking::STILL };
        if since.elapsed() >= limit {
            return;
        }
        std::thread::sleep(LOOK);
        let now = STATE.gc.steps.load(Relaxed);
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
}

/// `EnableGC`
pub(crate) unsafe extern "C" fn enable() {
    if release() {
        let _ = CURRENT.try_with(|current| current.held.set(current.held.get() - 1));
    }
}

/// Returns whether there was anything to take back.
fn release() -> bool {
    let mut held = STATE.hold.held.load(Relaxed);
    while held > 0 {
        match STATE.hold.held.compare_exchange_weak(held, held - 1, SeqCst, Relaxed) {
            Ok(_) => {
                if held == 1 {
                    waking::wake_if_waiting();
                }
                return true;
            }
            Err(now) => held = now,
        }
    }
    false
}

/// Takes back what the calling thread holds, which ends for the JVM.
pub(crate) fn thread_ended() {
    let _ = CURRENT.try_with(ThreadHold::undo);
}

/// The handlers that a bracket waits for.
#[derive(Debug)]
pub(super) struct Handlers {
    since: Instant,
    waited_for: Vec<(Arc<HandlerThread>, u32)>,
}

impl Handlers {
    /// Returns those that run now, except for the calling thread's.
    pub(super) fn running() -> Self {
        let running = |it: &&Arc<HandlerThread>| it.depth.load(Acquire) > 0;
        let threads = lock(&STATE.hold.threads);
        let threads = threads.iter().filter(running);
        let waited_for = threads.map(|it| (Arc::clone(it), it.ends.load(Relaxed))).collect();
        Self { since: Instant::now(), waited_for }
    }

    /// Whether all of them have ended, or `limit` has passed.
    pub(super) fn have_ended(&mut self, limit: Option<Duration>) -> bool {
        let runs = |it: &(Arc<HandlerThread>, u32)| {
            it.0.depth.load(Acquire) > 0 && it.0.ends.load(Relaxed) == it.1
        };
        self.waited_for.retain(runs);
        self.waited_for.is_empty() || limit.is_some_and(|limit| self.since.elapsed() >= limit)
    }
}

/// Opens a bracket; false if `DisableGC` is in force.
pub(super) fn open() -> bool {
    STATE.hold.is_open.store(true, SeqCst);
    let may = !is_held();
    if !may {
        STATE.hold.is_open.store(false, SeqCst);
    }
    may
}

/// Ends it.
pub(super) fn close() {
    STATE.hold.is_open.store(false, SeqCst);
}
