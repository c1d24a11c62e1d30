//! Collections of garbage as the agent sees them.
//!
//! JVMTI reports them at safepoints, where no agent of JVMPI can run, and of the freed objects later
//! and on any thread. So a thread of the bridge's own ([`thread`]) sends one bracket after a
//! collection: GC_START, OBJECT_FREE of each object, CLASS_UNLOAD of each class, GC_FINISH. An id
//! ends in a bracket, not before. `DisableGC` and the handlers of events with object ids hold brackets
//! back ([`hold`]); the JVM itself collects meanwhile.

mod bracket;
mod freed;
mod hold;
mod thread;
mod waking;

use std::sync::atomic::Ordering::SeqCst;

use perk_jvmti_sys::jni_sys::jlong;
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_CLASS_UNLOAD, JVMPI_EVENT_GC_FINISH, JVMPI_EVENT_GC_START, JVMPI_EVENT_OBJECT_FREE,
};
use perk_jvmti_sys::{JVMTI_EVENT_GARBAGE_COLLECTION_FINISH, JVMTI_EVENT_OBJECT_FREE, JvmtiEnv};

pub(super) use hold::{disable, during, during_request, enable, thread_ended};
pub(super) use thread::require;
pub(super) use waking::wake;

use self::freed::{freed_count, take_freed};

use super::notify::{self, Phase};
use super::{Bridge, Id, bridge, classes, jvm_events, threads};
use crate::state::STATE;
use perk_jvm::sync::lock;
use perk_jvm::{Jni, Jvmti};

/// Whether the agent wants an event of a bracket.
fn is_wanted() -> bool {
    [JVMPI_EVENT_GC_START, JVMPI_EVENT_OBJECT_FREE, JVMPI_EVENT_CLASS_UNLOAD, JVMPI_EVENT_GC_FINISH]
        .into_iter()
        .any(notify::is_enabled)
}

/// Makes the JVM report the ends of objects from VMInit on, as ids must not outlive them. The thread is
/// started if it will be needed, and is announced before anything else is sent.
pub(super) fn begin(bridge: &'static Bridge, jni: Jni<'_>) {
    jvm_events::set(bridge, JVMTI_EVENT_OBJECT_FREE, true);
    if is_wanted() {
        thread::require(bridge, jni);
        thread::wait_for_start();
    }
}

/// Brings the JVM's events to what the agent wants of a bracket.
pub(super) fn switch(bridge: &'static Bridge, _: bool) {
    let is_wanted = is_wanted();
    if is_wanted && let Some(jni) = bridge.current_jni() {
        jni.without_exception(|| thread::require(bridge, jni));
    }
    jvm_events::set(bridge, JVMTI_EVENT_GARBAGE_COLLECTION_FINISH, is_wanted);
    classes::switch(bridge, is_wanted);
}

/// Makes the JVM collect for the bridge itself: the agent gets only the objects' ends, in
/// a later bracket.
pub(super) fn collect_quietly(jvmti: Jvmti) {
    STATE.gc.is_own.store(true, SeqCst);
    notify::quiet(|| jvmti.force_garbage_collection());
    STATE.gc.is_own.store(false, SeqCst);
}

/// `GarbageCollectionFinish`, at a safepoint: nothing but waking the thread is possible.
pub(super) unsafe extern "system" fn collection_finished(_: JvmtiEnv) {
    if !STATE.gc.is_own.load(SeqCst) {
        STATE.gc.collections.fetch_add(1, SeqCst);
        waking::wake();
    }
}

/// `ObjectFree`, on any thread
pub(super) unsafe extern "system" fn object_free(_: JvmtiEnv, tag: jlong) {
    let Some(id) = Id::from_tag(tag) else { return };
    let is_first = {
        let mut freed = lock(&STATE.gc.freed);
        freed.push(id);
        freed.len() == 1
    };
    if waking::is_started() {
        if is_first {
            waking::wake();
        }
    } else if let Some(bridge) = bridge().filter(|_| !hold::keeps_ids()) {
        // No event is sent, but the ids end.
        for id in take_freed() {
            bridge.objects.free(id);
            bridge.classes.bury(id);
            bridge.shapes.forget(id);
        }
    }
}

/// `RunGC`
pub(super) unsafe extern "C" fn run() {
    let Some(bridge) = bridge().filter(|_| notify::phase() == Phase::Live) else { return };
    if bridge.current_jni().is_none() || hold::is_held_by_caller() || waking::is_current() {
        return;
    }
    threads::critical(|| {
        let _collecting = lock(&STATE.gc.collecting);
        notify::quiet(|| bridge.jvmti.force_garbage_collection());
    });
    if is_wanted() {
        thread::deliver();
    }
}

/// Handles the JVM's end: what has been collected is sent before JVM_SHUT_DOWN.
pub(super) fn end() {
    let has_more = STATE.gc.collections.load(SeqCst) > thread::reported()
        || freed_count() > 0
        || thread::is_due();
    if has_more && is_wanted() && !waking::is_current() {
        thread::deliver();
    }
    thread::settle();
}
