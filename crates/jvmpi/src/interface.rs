//! The table of functions that the agent calls, and `GetEnv`, which hands it out.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::atomic::Ordering;

use perk_jvmti_sys::jni_sys::{JNI_ERR, JNI_OK, JavaVM, jint};
use perk_jvmti_sys::jvmpi::{
    JVMPI_Interface, JVMPI_VERSION_1, JVMPI_VERSION_1_1, JVMPI_VERSION_1_2,
};

use super::{
    agent, call_trace, events, gc, library, objects, raw_monitors, requests, suspension,
    system_threads, threads,
};
use crate::state::STATE;
use crate::state::entries::InterfaceTable;

/// Returns the table, which lives as long as the process.
fn table() -> &'static InterfaceTable {
    STATE.interface.table.get_or_init(|| {
        InterfaceTable(UnsafeCell::new(JVMPI_Interface {
            version: JVMPI_VERSION_1_2,
            NotifyEvent: None,
            EnableEvent: Some(events::enable_event),
            DisableEvent: Some(events::disable_event),
            RequestEvent: Some(requests::request_event),
            GetCallTrace: Some(call_trace::get_call_trace),
            ProfilerExit: Some(requests::profiler_exit),
            RawMonitorCreate: Some(raw_monitors::create),
            RawMonitorEnter: Some(raw_monitors::enter),
            RawMonitorExit: Some(raw_monitors::exit),
            RawMonitorWait: Some(raw_monitors::wait),
            RawMonitorNotifyAll: Some(raw_monitors::notify_all),
            RawMonitorDestroy: Some(raw_monitors::destroy),
            GetCurrentThreadCpuTime: Some(threads::current_cpu_time),
            SuspendThread: Some(suspension::suspend),
            ResumeThread: Some(suspension::resume),
            GetThreadStatus: Some(suspension::status),
            ThreadHasRun: Some(suspension::has_run),
            CreateSystemThread: Some(system_threads::create),
            SetThreadLocalStorage: Some(threads::set_storage),
            GetThreadLocalStorage: Some(threads::storage),
            DisableGC: Some(gc::disable),
            EnableGC: Some(gc::enable),
            RunGC: Some(gc::run),
            GetThreadObject: Some(threads::thread_object),
            GetMethodClass: Some(requests::method_class),
            jobjectID2jobject: Some(objects::object_of_id),
            jobject2jobjectID: Some(objects::id_of_object),
            SuspendThreadList: Some(suspension::suspend_list),
            ResumeThreadList: Some(suspension::resume_list),
        }))
    })
}

/// Makes the JVM answer `GetEnv` for JVMPI, in the table that every holder of the JVM's pointer uses.
///
/// # Safety
/// `vm` must be the running JVM.
pub(super) unsafe fn exchange_get_env(vm: *mut JavaVM) {
    // SAFETY: the caller's promise: the JVM's pointer is to its table, which is copied. The JVM reads
    // the pointer at each call, and nobody else runs yet.
    unsafe {
        let original = *vm;
        STATE.interface.original.store(original.cast_mut(), Ordering::Release);
        let mut table = std::ptr::read(original);
        table.v1_2.GetEnv = get_env;
        *vm = Box::leak(Box::new(table));
    }
}

unsafe extern "system" fn get_env(vm: *mut JavaVM, env: *mut *mut c_void, version: jint) -> jint {
    if ![JVMPI_VERSION_1, JVMPI_VERSION_1_1, JVMPI_VERSION_1_2].contains(&version) {
        let original = STATE.interface.original.load(Ordering::Acquire);
        // SAFETY: the JVM's own function, with the caller's arguments.
        return unsafe { ((*original).v1_2.GetEnv)(vm, env, version) };
    }
    if env.is_null() {
        return JNI_ERR;
    }
    library::asked(agent::notify_event());
    // SAFETY: the caller gives a place for the table.
    unsafe { *env = table().0.get().cast() };
    JNI_OK
}
