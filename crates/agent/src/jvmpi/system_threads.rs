//! `CreateSystemThread`

use std::ffi::{c_char, c_void};

use perk_jvmti_sys::jni_sys::{JNI_ERR, jint};

/// `CreateSystemThread`
pub(super) unsafe extern "C" fn create(
    _name: *mut c_char,
    _priority: jint,
    _body: Option<unsafe extern "C" fn(*mut c_void)>,
) -> jint {
    JNI_ERR
}
