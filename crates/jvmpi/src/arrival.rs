//! The arrival of an event of the JVM's: who handles it, and what the thread is meanwhile.

use perk_jvmti_sys::jni_sys::{JNIEnv, jobject};
use perk_jvmti_sys::jthread;

use super::{Bridge, bridge, cpu, notify, threads};
use perk_jvm::guard::{Feature, contain};
use perk_jvm::{Jni, ObjectRef};

/// Runs `body` with the bridge and the thread's environment. Events of the bridge's own doing are not
/// handled. `thread` is the one that the event names; it may be null.
///
/// # Safety
/// `env` must be the calling thread's environment, `thread` a reference or null.
pub(crate) unsafe fn event(
    env: *mut JNIEnv,
    thread: jthread,
    body: impl FnOnce(&'static Bridge, Jni<'_>),
) {
    if !notify::is_quiet() {
        // SAFETY: the caller's promise.
        cpu::own(|| unsafe { any_event(env, thread, body) });
    }
}

/// Runs `body` so for an event that comes very often.
///
/// # Safety
/// As of [`event`].
pub(crate) unsafe fn frequent_event(
    env: *mut JNIEnv,
    thread: jthread,
    body: impl FnOnce(&'static Bridge, Jni<'_>),
) {
    if !notify::is_quiet() {
        // SAFETY: the caller's promise.
        cpu::own_often(|| unsafe { any_event(env, thread, body) });
    }
}

/// Runs `body` so, also for an event of the bridge's own doing.
///
/// # Safety
/// As of [`event`].
pub(crate) unsafe fn any_event(
    env: *mut JNIEnv,
    thread: jthread,
    body: impl FnOnce(&'static Bridge, Jni<'_>),
) {
    contain(Feature::Jvmpi, || {
        if let Some(bridge) = bridge() {
            threads::meet(bridge, env);
            // SAFETY: the caller's promise.
            let (jni, thread) = unsafe { (Jni::from_raw(env), ObjectRef::from_raw(thread)) };
            jni.without_exception(|| {
                // Only the account has it.
                let is_virtual =
                    bridge.options.verbose && thread.is_some_and(|it| jni.is_virtual(&it));
                notify::of_thread(is_virtual, || body(bridge, jni));
            });
        }
    });
}

/// Handles an event of an object. `body` has the bridge, the thread's environment and the object.
///
/// # Safety
/// `env` must be the calling thread's environment, the others references or null.
pub(crate) unsafe fn object_event(
    env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
    body: impl FnOnce(&'static Bridge, Jni<'_>, &ObjectRef<'_>),
) {
    // SAFETY: the caller's promise; the reference is good until the callback returns.
    unsafe {
        event(env, thread, |bridge, jni| {
            if let Some(object) = ObjectRef::from_raw(object) {
                body(bridge, jni, &object);
            }
        });
    }
}
