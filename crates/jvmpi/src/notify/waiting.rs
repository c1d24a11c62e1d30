//! The events of a thread before its THREAD_START. They wait for it.
//!
//! A native thread that attaches to the JVM makes the object of its `Thread`, and runs the constructor,
//! before the JVM reports its start; so does main at the JVM's end. At VMInit the threads that are there
//! run while they are announced. The agent knows a thread by its THREAD_START, so what comes before is
//! sent just after it, in its order.

use std::cell::Cell;

use perk_jvmti_sys::jni_sys::{JNIEnv, jint};
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_MONITOR_CONTENDED_ENTER, JVMPI_EVENT_MONITOR_CONTENDED_ENTERED,
    JVMPI_EVENT_MONITOR_CONTENDED_EXIT, JVMPI_EVENT_MONITOR_WAIT, JVMPI_EVENT_MONITOR_WAITED,
    JVMPI_EVENT_OBJECT_ALLOC, JVMPI_Event_u,
};

use super::{DOING, HAS_CLASSES, OF_METHODS, OF_REFERENCES, Relaxed, bit, deliver};
use super::{announce_classes, threads};
use crate::state::STATE;
use crate::{Id, bridge};

/// The kinds that wait: they name the thread, and nothing that ends meanwhile.
const KINDS: u64 = OF_METHODS
    | OF_REFERENCES
    | bit(JVMPI_EVENT_OBJECT_ALLOC)
    | bit(JVMPI_EVENT_MONITOR_CONTENDED_ENTER)
    | bit(JVMPI_EVENT_MONITOR_CONTENDED_ENTERED)
    | bit(JVMPI_EVENT_MONITOR_CONTENDED_EXIT)
    | bit(JVMPI_EVENT_MONITOR_WAIT)
    | bit(JVMPI_EVENT_MONITOR_WAITED);

/// The most events that wait on a thread; more are counted as not sent. To start takes a thousand.
const MOST: usize = 1 << 14;

type EventQueue = Vec<(jint, JVMPI_Event_u)>;

thread_local! {
    /// The calling thread's environment from its THREAD_START to its THREAD_END; else 0.
    static STARTED: Cell<usize> = const { Cell::new(0) };
    static WAITING: Cell<EventQueue> = const { Cell::new(EventQueue::new()) };
}

/// Whether THREAD_START of the calling thread was sent. If it was sent just now, what has waited for it is
/// sent first.
#[inline]
pub(crate) fn has_started(env: *mut JNIEnv) -> bool {
    STARTED.get() == env as usize || start(env)
}

/// Whether an event of this kind waits for the calling thread's start.
pub(super) fn must_wait(kind: jint, env: *mut JNIEnv) -> bool {
    KINDS & bit(kind) != 0 && !has_started(env)
}

/// Whether THREAD_START of the calling thread was sent, and nothing has to wait any more.
pub(super) fn is_announced() -> bool {
    STARTED.get() != 0
}

#[cold]
fn start(env: *mut JNIEnv) -> bool {
    if !threads::is_announced(env) {
        return false;
    }
    STARTED.set(env as usize);
    if DOING.get() == HAS_CLASSES {
        announce_classes();
    }
    for (kind, contents) in WAITING.take() {
        if kind == JVMPI_EVENT_OBJECT_ALLOC && !publish_object(contents) {
            continue;
        }
        deliver(kind, 0, env, contents);
    }
    true
}

/// Makes OBJECT_FREE of a new object be sent, too. Returns false if the object has ended.
fn publish_object(contents: JVMPI_Event_u) -> bool {
    // SAFETY: the event is OBJECT_ALLOC.
    let id = Id::from_raw(unsafe { contents.obj_alloc }.obj_id);
    let Some((bridge, id)) = bridge().zip(id) else { return false };
    bridge.objects.publish(id);
    bridge.objects.record(id).is_some()
}

/// Has an event of the calling thread wait.
#[cold]
pub(super) fn add(kind: jint, contents: JVMPI_Event_u) {
    let mut waiting = WAITING.take();
    match waiting.len() < MOST {
        true => waiting.push((kind, contents)),
        false => _ = STATE.delivery.late[kind as usize].fetch_add(1, Relaxed),
    }
    WAITING.set(waiting);
}

/// Handles the end of the calling thread, whose THREAD_END was sent if its THREAD_START was.
pub(crate) fn thread_ended() {
    STARTED.set(0);
    for (kind, _) in WAITING.take() {
        STATE.delivery.late[kind as usize].fetch_add(1, Relaxed);
    }
}
