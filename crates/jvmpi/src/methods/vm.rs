//! The events of methods from the JVM itself (`methods=vm`): those of all methods, native ones and those
//! of hidden classes too. The JVM only interprets meanwhile.

use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use perk_jvmti_sys::jni_sys::{JNIEnv, jboolean, jmethodID, jvalue};
use perk_jvmti_sys::jvmpi::{JVMPI_EVENT_CLASS_LOAD, jobjectID};
use perk_jvmti_sys::{
    Capability, JVMTI_EVENT_METHOD_ENTRY, JVMTI_EVENT_METHOD_EXIT, JvmtiEnv, jthread,
    jvmtiEventCallbacks,
};

use super::super::{Bridge, Id, bridge, jvm_events, notify, threads};
use super::calls;
use crate::state::STATE;
use perk_jvm::guard::{Feature, contain};
use perk_jvm::{Jni, MethodRef, ObjectRef};

/// What the events need. The JVM compiles less well with the last one.
pub(super) const NEEDED: [Capability; 3] = [
    Capability::CanGenerateMethodEntryEvents,
    Capability::CanGenerateMethodExitEvents,
    Capability::CanAccessLocalVariables,
];

thread_local! {
    /// The value of `STATE.vm.pauses` at the thread's last event.
    static LAST_PAUSE: Cell<u32> = const { Cell::new(0) };
    /// How many methods of perk's helper the thread is in: the probes of other events call them.
    static OWN_DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Enters the callbacks into the table.
pub(super) fn fill(table: &mut jvmtiEventCallbacks) {
    table.MethodEntry = Some(method_entry);
    table.MethodExit = Some(method_exit);
}

/// Switches the events on or off.
pub(super) fn switch(bridge: &Bridge, on: bool) {
    if !on {
        STATE.vm.pauses.fetch_add(1, Relaxed);
    }
    for event in [JVMTI_EVENT_METHOD_ENTRY, JVMTI_EVENT_METHOD_EXIT] {
        jvm_events::set(bridge, event, on);
    }
}

/// Whether a method is one of the helper's.
fn is_own(method: jmethodID) -> bool {
    STATE.own.hidden.get().is_some_and(|own| own.iter().any(|it| it.raw() == method))
}

/// Runs `body` if the method is one of the program's on a platform thread. The event is of these kinds.
///
/// # Safety
/// The arguments must be those of the event.
unsafe fn event(
    kinds: u64,
    env: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
    body: impl FnOnce(&'static Bridge, Jni<'_>),
) {
    if !notify::sends_methods(kinds) {
        return;
    }
    // The ends of what was open at a pause were not seen.
    let pauses = STATE.vm.pauses.load(Relaxed);
    if LAST_PAUSE.replace(pauses) != pauses {
        calls::forget();
        OWN_DEPTH.set(0);
    }
    let own_depth = OWN_DEPTH.get();
    if is_own(method) {
        let is_entry = kinds != calls::EXIT;
        return OWN_DEPTH.set(if is_entry { own_depth + 1 } else { own_depth.saturating_sub(1) });
    }
    if own_depth > 0 {
        return;
    }
    contain(Feature::Jvmpi, || {
        let Some(bridge) = bridge() else { return };
        threads::meet(bridge, env);
        // SAFETY: the caller's promise.
        let (jni, thread) = unsafe { (Jni::from_raw(env), ObjectRef::from_raw(thread)) };
        if thread.is_some_and(|thread| jni.is_virtual(&thread)) {
            return calls::pass();
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
        event(calls::ENTRIES, env, thread, method, |bridge, jni| {
            know(bridge, jni, method);
            calls::enter(env, method, || notify::quiet(|| receiver(bridge, jni)));
        });
    }
}

/// Has the agent know the class of a method that is entered: one may be used before the thread that has
/// prepared it announces it.
///
/// # Safety
/// The method must be one of the JVM's.
unsafe fn know(bridge: &Bridge, jni: Jni<'_>, method: jmethodID) {
    let known = STATE.vm.known.get_or_init(|| (0..4096).map(|_| AtomicUsize::new(0)).collect());
    let place = &known[(method as usize >> 3) % known.len()];
    if place.load(Relaxed) != method as usize && notify::is_enabled(JVMPI_EVENT_CLASS_LOAD) {
        // SAFETY: the caller's promise.
        let method = unsafe { MethodRef::from_raw(method) };
        jni.without_exception(|| _ = bridge.announce_method(jni, method));
        place.store(method.raw() as usize, Relaxed);
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
    unsafe { event(calls::EXIT, env, thread, method, |_, _| calls::leave_method(env, method)) };
}

/// Returns the id of the object of the method that is entered; null for a static method.
fn receiver(bridge: &Bridge, jni: Jni<'_>) -> jobjectID {
    let object = bridge.jvmti.receiver(jni, 0);
    object.map_or(null_mut(), |object| Id::raw(bridge.objects.id(bridge.jvmti, &object)))
}
