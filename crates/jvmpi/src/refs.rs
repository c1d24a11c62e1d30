//! The events of global references: the functions of JNI that make and delete them are exchanged when
//! one of the events is first enabled, and stay.

use perk_jvmti_sys::jni_sys::{JNIEnv, jint, jobject};
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_JNI_GLOBALREF_ALLOC, JVMPI_EVENT_JNI_GLOBALREF_FREE,
    JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC, JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE,
    JVMPI_Event_jni_globalref_alloc, JVMPI_Event_jni_globalref_free, JVMPI_Event_u,
};

use super::{Bridge, Id, arrival, notify};
use crate::state::STATE;
use crate::state::entries::{DeleteReference, NewReference, Originals};
use perk_jvm::os;
use perk_jvm::{Functions, ObjectRef};

/// Exchanges the functions, once.
pub(super) fn switch(bridge: &'static Bridge, on: bool) {
    if !on || STATE.refs.originals.get().is_some() {
        return;
    }
    let exchange = |functions: &mut Functions| {
        let originals = Originals {
            new: functions.NewGlobalRef,
            delete: functions.DeleteGlobalRef,
            new_weak: functions.NewWeakGlobalRef,
            delete_weak: functions.DeleteWeakGlobalRef,
        };
        if STATE.refs.originals.set(originals).is_ok() {
            functions.NewGlobalRef = new_global;
            functions.DeleteGlobalRef = delete_global;
            functions.NewWeakGlobalRef = new_weak;
            functions.DeleteWeakGlobalRef = delete_weak;
        }
    };
    // SAFETY: each function calls the one that was there.
    if let Err(error) = unsafe { bridge.jvmti.exchange_functions(exchange) } {
        os::say(&format!("HPROF ERROR: the JVM keeps its JNI functions: {error}\n"));
    }
}

unsafe extern "system" fn new_global(env: *mut JNIEnv, object: jobject) -> jobject {
    // SAFETY: the caller's promises are those of JNI.
    unsafe { made(JVMPI_EVENT_JNI_GLOBALREF_ALLOC, env, object, |it| it.new) }
}

unsafe extern "system" fn new_weak(env: *mut JNIEnv, object: jobject) -> jobject {
    // SAFETY: the caller's promises are those of JNI.
    unsafe { made(JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC, env, object, |it| it.new_weak) }
}

unsafe extern "system" fn delete_global(env: *mut JNIEnv, reference: jobject) {
    // SAFETY: the caller's promises are those of JNI.
    unsafe { deleted(JVMPI_EVENT_JNI_GLOBALREF_FREE, env, reference, |it| it.delete) }
}

unsafe extern "system" fn delete_weak(env: *mut JNIEnv, reference: jobject) {
    // SAFETY: the caller's promises are those of JNI.
    unsafe { deleted(JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE, env, reference, |it| it.delete_weak) }
}

/// Makes a reference, and sends its event.
///
/// # Safety
/// The arguments must be as JNI specifies.
unsafe fn made(
    kind: jint,
    env: *mut JNIEnv,
    object: jobject,
    original: impl FnOnce(&Originals) -> NewReference,
) -> jobject {
    let Some(originals) = STATE.refs.originals.get() else { return std::ptr::null_mut() };
    // SAFETY: the caller's promise.
    let ref_id = unsafe { original(originals)(env, object) };
    if !ref_id.is_null() && notify::is_wanted(kind) {
        // SAFETY: the arguments are as JNI specifies: the environment is the calling thread's, and
        // the object its reference.
        unsafe {
            arrival::frequent_event(env, std::ptr::null_mut(), |bridge, jni| {
                let id = notify::quiet(|| {
                    // A weak reference's object may be gone.
                    let object = jni.local(&ObjectRef::from_raw(object)?)?;
                    Some(bridge.objects.id(bridge.jvmti, &object))
                });
                let obj_id = id.map_or(std::ptr::null_mut(), Id::raw);
                let jni_globalref_alloc = JVMPI_Event_jni_globalref_alloc { obj_id, ref_id };
                notify::send(kind, env, || JVMPI_Event_u { jni_globalref_alloc });
            });
        }
    }
    ref_id
}

/// Reports a reference's end, and then deletes it: another thread may get the same one afterwards.
///
/// # Safety
/// The arguments must be as JNI specifies.
unsafe fn deleted(
    kind: jint,
    env: *mut JNIEnv,
    ref_id: jobject,
    original: impl FnOnce(&Originals) -> DeleteReference,
) {
    if !ref_id.is_null() && notify::is_wanted(kind) {
        // SAFETY: the caller's promise.
        unsafe {
            arrival::frequent_event(env, std::ptr::null_mut(), |_, _| {
                let jni_globalref_free = JVMPI_Event_jni_globalref_free { ref_id };
                notify::send(kind, env, || JVMPI_Event_u { jni_globalref_free });
            });
        }
    }
    if let Some(originals) = STATE.refs.originals.get() {
        // SAFETY: the caller's promise.
        unsafe { original(originals)(env, ref_id) };
    }
}
