//! Suspending and resuming threads, and their states.

use perk_jvmti_sys::jni_sys::{JNI_FALSE, JNIEnv, jboolean, jint};

/// `SuspendThread`
pub(super) unsafe extern "C" fn suspend(_env: *mut JNIEnv) {}

/// `ResumeThread`
pub(super) unsafe extern "C" fn resume(_env: *mut JNIEnv) {}

/// `SuspendThreadList`
pub(super) unsafe extern "C" fn suspend_list(
    _count: jint,
    _list: *mut *mut JNIEnv,
    _results: *mut jint,
) {
}

/// `ResumeThreadList`
pub(super) unsafe extern "C" fn resume_list(
    _count: jint,
    _list: *mut *mut JNIEnv,
    _results: *mut jint,
) {
}

/// `GetThreadStatus`
pub(super) unsafe extern "C" fn status(_env: *mut JNIEnv) -> jint {
    0
}

/// `ThreadHasRun`
pub(super) unsafe extern "C" fn has_run(_env: *mut JNIEnv) -> jboolean {
    JNI_FALSE
}
