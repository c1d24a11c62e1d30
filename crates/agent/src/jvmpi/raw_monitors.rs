//! The agent's raw monitors.

use std::ffi::c_char;
use std::ptr::null_mut;

use perk_jvmti_sys::jni_sys::jlong;
use perk_jvmti_sys::jvmpi::JVMPI_RawMonitor;

/// `RawMonitorCreate`
pub(super) unsafe extern "C" fn create(_name: *mut c_char) -> JVMPI_RawMonitor {
    null_mut()
}

/// `RawMonitorEnter`
pub(super) unsafe extern "C" fn enter(_monitor: JVMPI_RawMonitor) {}

/// `RawMonitorExit`
pub(super) unsafe extern "C" fn exit(_monitor: JVMPI_RawMonitor) {}

/// `RawMonitorWait`
pub(super) unsafe extern "C" fn wait(_monitor: JVMPI_RawMonitor, _ms: jlong) {}

/// `RawMonitorNotifyAll`
pub(super) unsafe extern "C" fn notify_all(_monitor: JVMPI_RawMonitor) {}

/// `RawMonitorDestroy`
pub(super) unsafe extern "C" fn destroy(_monitor: JVMPI_RawMonitor) {}
