//! The events of methods from the JVM itself (`methods=vm`): those of all methods, native ones and those
//! of hidden classes too. The JVM only interprets meanwhile.

use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use perk_jvmti_sys::jni_sys::{JNIEnv, jboolean, jmethodID, jvalue};
use perk_jvmti_sys::jvmpi::jobjectID;
use perk_jvmti_sys::{
    Capability, JVMTI_EVENT_METHOD_ENTRY, JVMTI_EVENT_METHOD_EXIT, JvmtiEnv, jthread,
    jvmtiEventCallbacks,
};

use super::super::{Bridge, Id, bridge, events, notify, threads};
use super::calls;
use crate::guard::{Feature, contain};
use crate::jvm::{Borrowed, Jni};

/// What the events need. The JVM compiles less well with the last one.
pub(super) const NEEDED: [Capability; 3] = [
    Capability::CanGenerateMethodEntryEvents,
    Capability::CanGenerateMethodExitEvents,
    Capability::CanAccessLocalVariables,
];

/// How many times the events were switched off.
static PAUSES: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The value of [`PAUSES`] at the thread's last event.
    static LAST_PAUSE: Cell<u32> = const { Cell::new(0) };
}

/// Enters the callbacks into the table.
pub(super) fn fill(table: &mut jvmtiEventCallbacks) {
    table.MethodEntry = Some(method_entry);
    table.MethodExit = Some(method_exit);
}

/// Switches the events on or off.
pub(super) fn switch(bridge: &Bridge, on: bool) {
    if !on {
        PAUSES.fetch_add(1, Relaxed);
    }
    for event in [JVMTI_EVENT_METHOD_ENTRY, JVMTI_EVENT_METHOD_EXIT] {
        events::set(bridge, event, on);
    }
}

/// Runs `body` if the method is one of the program's on a platform thread. The event is of these kinds.
///
/// # Safety
/// The arguments must be those of the event.
unsafe fn event(
    kinds: u64,
    env: *mut JNIEnv,
    thread: jthread,
    body: impl FnOnce(&'static Bridge, Jni<'_>),
) {
    if !notify::tells_methods(kinds) {
        return;
    }
    contain(Feature::Jvmpi, || {
        let Some(bridge) = bridge() else { return };
        threads::meet(bridge, env);
        // SAFETY: the caller's promise.
        let (jni, thread) = unsafe { (Jni::from_raw(env), Borrowed::from_raw(thread)) };
        if thread.is_some_and(|thread| jni.is_virtual(&thread)) {
            return calls::pass();
        }
        // The ends of what was open at a pause were not seen.
        let pauses = PAUSES.load(Relaxed);
        if LAST_PAUSE.replace(pauses) != pauses {
            calls::forget();
        }
        body(bridge, jni);
    });
}

unsafe extern "system" fn method_entry(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
) {
    // SAFETY: the arguments are the event's.
    unsafe {
        event(calls::ENTRIES, env, thread, |bridge, jni| {
            calls::enter(env, method, || notify::quiet(|| receiver(bridge, jni)));
        });
    }
}

unsafe extern "system" fn method_exit(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
    _: jboolean,
    _: jvalue,
) {
    // SAFETY: the arguments are the event's.
    unsafe { event(calls::EXIT, env, thread, |_, _| calls::leave_method(env, method)) };
}

/// Returns the id of the object of the method that is entered; null for a static method.
fn receiver(bridge: &Bridge, jni: Jni<'_>) -> jobjectID {
    let object = bridge.jvmti.receiver(jni, 0);
    object.map_or(null_mut(), |object| Id::raw(bridge.objects.id(bridge.jvmti, &object)))
}
