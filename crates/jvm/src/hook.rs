//! The environment whose hook receives the class files. It is the last one, so that all other
//! agents receive the files as they would without perk. (JaCoCo identifies a class by a checksum of
//! its file.)
//!
//! The JVM first calls the environments that cannot retransform classes, which most transformers of
//! `-javaagent` use, and then those that can. Within each kind, older environments precede younger
//! ones. So perk's environment can retransform, and if a younger one appears, perk makes another
//! and abandons the old one. An environment for transformers that can retransform is made when an
//! agent adds its first one. That calls a native method, which perk replaces with a function
//! ([`watched`]).
//!
//! The JVM keeps the original file of each class that such an environment changes.

use std::ffi::c_void;
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};
use std::sync::{Mutex, TryLockError};

use perk_instrument::{COUNTS_HELPER, FIELDS_HELPER, HELPER, fields};
use perk_jvmti_sys::jni_sys::{JNIEnv, jboolean, jlong, jobject};
use perk_jvmti_sys::{
    Capabilities, Capability, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, jvmtiError, jvmtiEventCallbacks,
};

use crate::sync::lock;
use crate::{Jni, Jvmti};

/// The environment in use.
static HOOK: Mutex<Option<Jvmti>> = Mutex::new(None);
/// Whether younger environments may exist.
static IS_OVERTAKEN: AtomicBool = AtomicBool::new(false);
/// Whether the environment has been exchanged: a class may then meet the hooks of two environments.
static HAS_MOVED: AtomicBool = AtomicBool::new(false);
/// The native method's own function.
static HAS_TRANSFORMERS: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// `InstrumentationImpl.setHasRetransformableTransformers`
type HasTransformers = unsafe extern "system" fn(*mut JNIEnv, jobject, jlong, jboolean);

/// Makes an environment receive the class files: with `is_early` from the JVM's first class on, which is
/// possible while agents are loaded.
///
/// # Errors
/// The JVM's.
pub fn begin(
    hook: Jvmti,
    callbacks: &jvmtiEventCallbacks,
    is_early: bool,
) -> Result<(), jvmtiError> {
    let early: &[Capability] =
        if is_early { &[Capability::CanGenerateEarlyClassHookEvents] } else { &[] };
    enable(hook, early, callbacks)?;
    *lock(&HOOK) = Some(hook);
    Ok(())
}

fn enable(
    hook: Jvmti,
    more: &[Capability],
    callbacks: &jvmtiEventCallbacks,
) -> Result<(), jvmtiError> {
    let needed = [Capability::CanGenerateAllClassHookEvents, Capability::CanRetransformClasses];
    let capabilities: Capabilities = needed.iter().chain(more).copied().collect();
    hook.add_capabilities(capabilities)?;
    hook.set_callbacks(callbacks)?;
    hook.enable(JVMTI_EVENT_CLASS_FILE_LOAD_HOOK)
}

/// Ends the events of class files.
pub fn end() {
    if let Some(hook) = lock(&HOOK).take() {
        let _ = hook.disable(JVMTI_EVENT_CLASS_FILE_LOAD_HOOK);
        hook.dispose();
    }
}

/// Notes that agents may have made environments.
pub fn overtaken() {
    IS_OVERTAKEN.store(true, Relaxed);
}

/// Makes the environment the last one again. Returns whether it was not the last: its hook then
/// receives the current class once more.
pub fn move_last(jni: Jni<'_>, callbacks: &jvmtiEventCallbacks) -> bool {
    if !IS_OVERTAKEN.load(Relaxed) {
        return false;
    }
    let mut hook = match HOOK.try_lock() {
        Ok(hook) => hook,
        Err(TryLockError::Poisoned(hook)) => hook.into_inner(),
        // Another thread does this now. Its hook will not miss this class.
        Err(TryLockError::WouldBlock) => return false,
    };
    if !IS_OVERTAKEN.swap(false, Relaxed) {
        return false;
    }
    HAS_MOVED.store(true, Relaxed);
    let Some(next) = jni.new_jvmti().filter(|next| enable(*next, &[], callbacks).is_ok()) else {
        return false;
    };
    if let Some(before) = hook.replace(next) {
        let _ = before.disable(JVMTI_EVENT_CLASS_FILE_LOAD_HOOK);
    }
    true
}

/// Whether a class file has already passed the hook.
pub fn is_done(bytes: &[u8]) -> bool {
    let has = |text: &str| bytes.windows(text.len()).any(|it| it == text.as_bytes());
    let is_ours = || [HELPER, FIELDS_HELPER, COUNTS_HELPER, fields::PREFIX].into_iter().any(has);
    HAS_MOVED.load(Relaxed) && is_ours()
}

/// Returns the function to bind instead of a native method of
/// `sun.instrument.InstrumentationImpl`.
pub fn watched(name: &str, signature: &str, function: *mut c_void) -> Option<*mut c_void> {
    if (name, signature) != ("setHasRetransformableTransformers", "(JZ)V") {
        return None;
    }
    HAS_TRANSFORMERS.store(function, Relaxed);
    Some(has_transformers as *mut c_void)
}

/// Replaces the native method.
unsafe extern "system" fn has_transformers(
    env: *mut JNIEnv,
    this: jobject,
    agent: jlong,
    has: jboolean,
) {
    let function = HAS_TRANSFORMERS.load(Relaxed);
    // SAFETY: the function is the one that the JVM was about to bind to this native method; the
    // caller's arguments are for it.
    unsafe { transmute::<*mut c_void, HasTransformers>(function)(env, this, agent, has) };
    overtaken();
}
