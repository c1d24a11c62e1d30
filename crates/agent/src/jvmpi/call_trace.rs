//! `GetCallTrace`

use perk_jvmti_sys::jni_sys::jint;
use perk_jvmti_sys::jvmpi::JVMPI_CallTrace;

/// `GetCallTrace`
pub(super) unsafe extern "C" fn get_call_trace(_trace: *mut JVMPI_CallTrace, _depth: jint) {}
