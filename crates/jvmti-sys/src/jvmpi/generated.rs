// Written by `cargo run -p xtask -- jvmpi` from the table beside it.
// Change the table, not this file.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::offset_of;

use jni_sys::{JNIEnv, jboolean, jint, jlong, jmethodID, jobject};

use super::{JVMPI_RawMonitor, jobjectID};

pub const JVMPI_VERSION_1: jint = 0x10000001;
pub const JVMPI_VERSION_1_1: jint = 0x10000002;
pub const JVMPI_VERSION_1_2: jint = 0x10000003;
pub const JVMPI_SUCCESS: jint = 0;
pub const JVMPI_NOT_AVAILABLE: jint = 1;
pub const JVMPI_FAIL: jint = -1;
pub const JVMPI_EVENT_METHOD_ENTRY: jint = 1;
pub const JVMPI_EVENT_METHOD_ENTRY2: jint = 2;
pub const JVMPI_EVENT_METHOD_EXIT: jint = 3;
pub const JVMPI_EVENT_OBJECT_ALLOC: jint = 4;
pub const JVMPI_EVENT_OBJECT_FREE: jint = 5;
pub const JVMPI_EVENT_OBJECT_MOVE: jint = 6;
pub const JVMPI_EVENT_COMPILED_METHOD_LOAD: jint = 7;
pub const JVMPI_EVENT_COMPILED_METHOD_UNLOAD: jint = 8;
pub const JVMPI_EVENT_INSTRUCTION_START: jint = 9;
pub const JVMPI_EVENT_THREAD_START: jint = 33;
pub const JVMPI_EVENT_THREAD_END: jint = 34;
pub const JVMPI_EVENT_CLASS_LOAD_HOOK: jint = 35;
pub const JVMPI_EVENT_HEAP_DUMP: jint = 37;
pub const JVMPI_EVENT_JNI_GLOBALREF_ALLOC: jint = 38;
pub const JVMPI_EVENT_JNI_GLOBALREF_FREE: jint = 39;
pub const JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC: jint = 40;
pub const JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE: jint = 41;
pub const JVMPI_EVENT_CLASS_LOAD: jint = 42;
pub const JVMPI_EVENT_CLASS_UNLOAD: jint = 43;
pub const JVMPI_EVENT_DATA_DUMP_REQUEST: jint = 44;
pub const JVMPI_EVENT_DATA_RESET_REQUEST: jint = 45;
pub const JVMPI_EVENT_JVM_INIT_DONE: jint = 46;
pub const JVMPI_EVENT_JVM_SHUT_DOWN: jint = 47;
pub const JVMPI_EVENT_ARENA_NEW: jint = 48;
pub const JVMPI_EVENT_ARENA_DELETE: jint = 49;
pub const JVMPI_EVENT_OBJECT_DUMP: jint = 50;
pub const JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER: jint = 51;
pub const JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED: jint = 52;
pub const JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT: jint = 53;
pub const JVMPI_EVENT_MONITOR_CONTENDED_ENTER: jint = 54;
pub const JVMPI_EVENT_MONITOR_CONTENDED_ENTERED: jint = 55;
pub const JVMPI_EVENT_MONITOR_CONTENDED_EXIT: jint = 56;
pub const JVMPI_EVENT_MONITOR_WAIT: jint = 57;
pub const JVMPI_EVENT_MONITOR_WAITED: jint = 58;
pub const JVMPI_EVENT_MONITOR_DUMP: jint = 59;
pub const JVMPI_EVENT_GC_START: jint = 60;
pub const JVMPI_EVENT_GC_FINISH: jint = 61;
pub const JVMPI_MAX_EVENT_TYPE_VAL: jint = 61;
pub const JVMPI_EVENT_OBJ_ALLOC: jint = 4;
pub const JVMPI_EVENT_OBJ_FREE: jint = 5;
pub const JVMPI_EVENT_OBJ_MOVE: jint = 6;
pub const JVMPI_EVENT_LOAD_COMPILED_METHOD: jint = 7;
pub const JVMPI_EVENT_UNLOAD_COMPILED_METHOD: jint = 8;
pub const JVMPI_EVENT_DUMP_DATA_REQUEST: jint = 44;
pub const JVMPI_EVENT_RESET_DATA_REQUEST: jint = 45;
pub const JVMPI_EVENT_NEW_ARENA: jint = 48;
pub const JVMPI_EVENT_DELETE_ARENA: jint = 49;
pub const JVMPI_REQUESTED_EVENT: jint = 0x10000000;
pub const JVMPI_THREAD_RUNNABLE: jint = 1;
pub const JVMPI_THREAD_MONITOR_WAIT: jint = 2;
pub const JVMPI_THREAD_CONDVAR_WAIT: jint = 3;
pub const JVMPI_THREAD_SUSPENDED: jint = 0x8000;
pub const JVMPI_THREAD_INTERRUPTED: jint = 0x4000;
pub const JVMPI_MINIMUM_PRIORITY: jint = 1;
pub const JVMPI_NORMAL_PRIORITY: jint = 5;
pub const JVMPI_MAXIMUM_PRIORITY: jint = 10;
pub const JVMPI_NORMAL_OBJECT: jint = 0;
pub const JVMPI_CLASS: jint = 2;
pub const JVMPI_BOOLEAN: jint = 4;
pub const JVMPI_CHAR: jint = 5;
pub const JVMPI_FLOAT: jint = 6;
pub const JVMPI_DOUBLE: jint = 7;
pub const JVMPI_BYTE: jint = 8;
pub const JVMPI_SHORT: jint = 9;
pub const JVMPI_INT: jint = 10;
pub const JVMPI_LONG: jint = 11;
pub const JVMPI_DUMP_LEVEL_0: jint = 0;
pub const JVMPI_DUMP_LEVEL_1: jint = 1;
pub const JVMPI_DUMP_LEVEL_2: jint = 2;
pub const JVMPI_GC_ROOT_UNKNOWN: jint = 0xff;
pub const JVMPI_GC_ROOT_JNI_GLOBAL: jint = 0x1;
pub const JVMPI_GC_ROOT_JNI_LOCAL: jint = 0x2;
pub const JVMPI_GC_ROOT_JAVA_FRAME: jint = 0x3;
pub const JVMPI_GC_ROOT_NATIVE_STACK: jint = 0x4;
pub const JVMPI_GC_ROOT_STICKY_CLASS: jint = 0x5;
pub const JVMPI_GC_ROOT_THREAD_BLOCK: jint = 0x6;
pub const JVMPI_GC_ROOT_MONITOR_USED: jint = 0x7;
pub const JVMPI_GC_ROOT_THREAD_OBJ: jint = 0x8;
pub const JVMPI_GC_CLASS_DUMP: jint = 0x20;
pub const JVMPI_GC_INSTANCE_DUMP: jint = 0x21;
pub const JVMPI_GC_OBJ_ARRAY_DUMP: jint = 0x22;
pub const JVMPI_GC_PRIM_ARRAY_DUMP: jint = 0x23;
pub const JVMPI_MONITOR_JAVA: jint = 0x1;
pub const JVMPI_MONITOR_RAW: jint = 0x2;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Method {
    pub method_name: *mut c_char,
    pub method_signature: *mut c_char,
    pub start_lineno: jint,
    pub end_lineno: jint,
    pub method_id: jmethodID,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Field {
    pub field_name: *mut c_char,
    pub field_signature: *mut c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Lineno {
    pub offset: jint,
    pub lineno: jint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_HeapDumpArg {
    pub heap_dump_level: jint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_CallFrame {
    pub lineno: jint,
    pub method_id: jmethodID,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_CallTrace {
    pub env_id: *mut JNIEnv,
    pub num_frames: jint,
    pub frames: *mut JVMPI_CallFrame,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_class_load {
    pub class_name: *mut c_char,
    pub source_name: *mut c_char,
    pub num_interfaces: jint,
    pub num_methods: jint,
    pub methods: *mut JVMPI_Method,
    pub num_static_fields: jint,
    pub statics: *mut JVMPI_Field,
    pub num_instance_fields: jint,
    pub instances: *mut JVMPI_Field,
    pub class_id: jobjectID,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_class_unload {
    pub class_id: jobjectID,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_class_load_hook {
    pub class_data: *mut u8,
    pub class_data_len: jint,
    pub new_class_data: *mut u8,
    pub new_class_data_len: jint,
    pub malloc_f: Option<unsafe extern "C" fn(c_uint) -> *mut c_void>,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_obj_alloc {
    pub arena_id: jint,
    pub class_id: jobjectID,
    pub is_array: jint,
    pub size: jint,
    pub obj_id: jobjectID,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_obj_free {
    pub obj_id: jobjectID,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_obj_move {
    pub arena_id: jint,
    pub obj_id: jobjectID,
    pub new_arena_id: jint,
    pub new_obj_id: jobjectID,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_new_arena {
    pub arena_id: jint,
    pub arena_name: *mut c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_delete_arena {
    pub arena_id: jint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_thread_start {
    pub thread_name: *mut c_char,
    pub group_name: *mut c_char,
    pub parent_name: *mut c_char,
    pub thread_id: jobjectID,
    pub thread_env_id: *mut JNIEnv,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_heap_dump {
    pub dump_level: c_int,
    pub begin: *mut c_char,
    pub end: *mut c_char,
    pub num_traces: jint,
    pub traces: *mut JVMPI_CallTrace,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_monitor_dump {
    pub begin: *mut c_char,
    pub end: *mut c_char,
    pub num_traces: jint,
    pub traces: *mut JVMPI_CallTrace,
    pub threads_status: *mut jint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_object_dump {
    pub data_len: jint,
    pub data: *mut c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_jni_globalref_alloc {
    pub obj_id: jobjectID,
    pub ref_id: jobject,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_jni_globalref_free {
    pub ref_id: jobject,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_method {
    pub method_id: jmethodID,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_method_entry2 {
    pub method_id: jmethodID,
    pub obj_id: jobjectID,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_compiled_method_load {
    pub method_id: jmethodID,
    pub code_addr: *mut c_void,
    pub code_size: jint,
    pub lineno_table_size: jint,
    pub lineno_table: *mut JVMPI_Lineno,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_compiled_method_unload {
    pub method_id: jmethodID,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_raw_monitor {
    pub name: *mut c_char,
    pub id: JVMPI_RawMonitor,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_monitor {
    pub object: jobjectID,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_monitor_wait {
    pub object: jobjectID,
    pub timeout: jlong,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_gc_info {
    pub used_objects: jlong,
    pub used_object_space: jlong,
    pub total_object_space: jlong,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct JVMPI_Event_instruction {
    pub method_id: jmethodID,
    pub offset: jint,
    pub u: JVMPI_Event_instruction_u,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_instruction_if_info {
    pub is_true: jboolean,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_instruction_tableswitch_info {
    pub key: jint,
    pub low: jint,
    pub hi: jint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JVMPI_Event_instruction_lookupswitch_info {
    pub chosen_pair_index: jint,
    pub pairs_total: jint,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union JVMPI_Event_instruction_u {
    pub if_info: JVMPI_Event_instruction_if_info,
    pub tableswitch_info: JVMPI_Event_instruction_tableswitch_info,
    pub lookupswitch_info: JVMPI_Event_instruction_lookupswitch_info,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union JVMPI_Event_u {
    pub class_load: JVMPI_Event_class_load,
    pub class_unload: JVMPI_Event_class_unload,
    pub class_load_hook: JVMPI_Event_class_load_hook,
    pub obj_alloc: JVMPI_Event_obj_alloc,
    pub obj_free: JVMPI_Event_obj_free,
    pub obj_move: JVMPI_Event_obj_move,
    pub new_arena: JVMPI_Event_new_arena,
    pub delete_arena: JVMPI_Event_delete_arena,
    pub thread_start: JVMPI_Event_thread_start,
    pub heap_dump: JVMPI_Event_heap_dump,
    pub monitor_dump: JVMPI_Event_monitor_dump,
    pub object_dump: JVMPI_Event_object_dump,
    pub jni_globalref_alloc: JVMPI_Event_jni_globalref_alloc,
    pub jni_globalref_free: JVMPI_Event_jni_globalref_free,
    pub method: JVMPI_Event_method,
    pub method_entry2: JVMPI_Event_method_entry2,
    pub compiled_method_load: JVMPI_Event_compiled_method_load,
    pub compiled_method_unload: JVMPI_Event_compiled_method_unload,
    pub raw_monitor: JVMPI_Event_raw_monitor,
    pub monitor: JVMPI_Event_monitor,
    pub monitor_wait: JVMPI_Event_monitor_wait,
    pub gc_info: JVMPI_Event_gc_info,
    pub instruction: JVMPI_Event_instruction,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct JVMPI_Event {
    pub event_type: jint,
    pub env_id: *mut JNIEnv,
    pub u: JVMPI_Event_u,
}

#[repr(C)]
#[derive(Debug)]
pub struct JVMPI_Interface {
    pub version: jint,
    pub NotifyEvent: Option<unsafe extern "C" fn(event: *mut JVMPI_Event)>,
    pub EnableEvent: Option<unsafe extern "C" fn(event_type: jint, arg: *mut c_void) -> jint>,
    pub DisableEvent: Option<unsafe extern "C" fn(event_type: jint, arg: *mut c_void) -> jint>,
    pub RequestEvent: Option<unsafe extern "C" fn(event_type: jint, arg: *mut c_void) -> jint>,
    pub GetCallTrace: Option<unsafe extern "C" fn(trace: *mut JVMPI_CallTrace, depth: jint)>,
    pub ProfilerExit: Option<unsafe extern "C" fn(err_code: jint)>,
    pub RawMonitorCreate: Option<unsafe extern "C" fn(lock_name: *mut c_char) -> JVMPI_RawMonitor>,
    pub RawMonitorEnter: Option<unsafe extern "C" fn(lock_id: JVMPI_RawMonitor)>,
    pub RawMonitorExit: Option<unsafe extern "C" fn(lock_id: JVMPI_RawMonitor)>,
    pub RawMonitorWait: Option<unsafe extern "C" fn(lock_id: JVMPI_RawMonitor, ms: jlong)>,
    pub RawMonitorNotifyAll: Option<unsafe extern "C" fn(lock_id: JVMPI_RawMonitor)>,
    pub RawMonitorDestroy: Option<unsafe extern "C" fn(lock_id: JVMPI_RawMonitor)>,
    pub GetCurrentThreadCpuTime: Option<unsafe extern "C" fn() -> jlong>,
    pub SuspendThread: Option<unsafe extern "C" fn(env: *mut JNIEnv)>,
    pub ResumeThread: Option<unsafe extern "C" fn(env: *mut JNIEnv)>,
    pub GetThreadStatus: Option<unsafe extern "C" fn(env: *mut JNIEnv) -> jint>,
    pub ThreadHasRun: Option<unsafe extern "C" fn(env: *mut JNIEnv) -> jboolean>,
    pub CreateSystemThread: Option<
        unsafe extern "C" fn(
            name: *mut c_char,
            priority: jint,
            f: Option<unsafe extern "C" fn(*mut c_void)>,
        ) -> jint,
    >,
    pub SetThreadLocalStorage: Option<unsafe extern "C" fn(env_id: *mut JNIEnv, ptr: *mut c_void)>,
    pub GetThreadLocalStorage: Option<unsafe extern "C" fn(env_id: *mut JNIEnv) -> *mut c_void>,
    pub DisableGC: Option<unsafe extern "C" fn()>,
    pub EnableGC: Option<unsafe extern "C" fn()>,
    pub RunGC: Option<unsafe extern "C" fn()>,
    pub GetThreadObject: Option<unsafe extern "C" fn(env: *mut JNIEnv) -> jobjectID>,
    pub GetMethodClass: Option<unsafe extern "C" fn(mid: jmethodID) -> jobjectID>,
    pub jobjectID2jobject: Option<unsafe extern "C" fn(jid: jobjectID) -> jobject>,
    pub jobject2jobjectID: Option<unsafe extern "C" fn(j: jobject) -> jobjectID>,
    pub SuspendThreadList:
        Option<unsafe extern "C" fn(reqCount: jint, reqList: *mut *mut JNIEnv, results: *mut jint)>,
    pub ResumeThreadList:
        Option<unsafe extern "C" fn(reqCount: jint, reqList: *mut *mut JNIEnv, results: *mut jint)>,
}

pub const LAYOUT: &[(&str, usize)] = &[
    ("JVMPI_Method", size_of::<JVMPI_Method>()),
    ("JVMPI_Method.method_name", offset_of!(JVMPI_Method, method_name)),
    ("JVMPI_Method.method_signature", offset_of!(JVMPI_Method, method_signature)),
    ("JVMPI_Method.start_lineno", offset_of!(JVMPI_Method, start_lineno)),
    ("JVMPI_Method.end_lineno", offset_of!(JVMPI_Method, end_lineno)),
    ("JVMPI_Method.method_id", offset_of!(JVMPI_Method, method_id)),
    ("JVMPI_Field", size_of::<JVMPI_Field>()),
    ("JVMPI_Field.field_name", offset_of!(JVMPI_Field, field_name)),
    ("JVMPI_Field.field_signature", offset_of!(JVMPI_Field, field_signature)),
    ("JVMPI_Lineno", size_of::<JVMPI_Lineno>()),
    ("JVMPI_Lineno.offset", offset_of!(JVMPI_Lineno, offset)),
    ("JVMPI_Lineno.lineno", offset_of!(JVMPI_Lineno, lineno)),
    ("JVMPI_HeapDumpArg", size_of::<JVMPI_HeapDumpArg>()),
    ("JVMPI_HeapDumpArg.heap_dump_level", offset_of!(JVMPI_HeapDumpArg, heap_dump_level)),
    ("JVMPI_CallFrame", size_of::<JVMPI_CallFrame>()),
    ("JVMPI_CallFrame.lineno", offset_of!(JVMPI_CallFrame, lineno)),
    ("JVMPI_CallFrame.method_id", offset_of!(JVMPI_CallFrame, method_id)),
    ("JVMPI_CallTrace", size_of::<JVMPI_CallTrace>()),
    ("JVMPI_CallTrace.env_id", offset_of!(JVMPI_CallTrace, env_id)),
    ("JVMPI_CallTrace.num_frames", offset_of!(JVMPI_CallTrace, num_frames)),
    ("JVMPI_CallTrace.frames", offset_of!(JVMPI_CallTrace, frames)),
    ("JVMPI_Event", size_of::<JVMPI_Event>()),
    ("JVMPI_Event.event_type", offset_of!(JVMPI_Event, event_type)),
    ("JVMPI_Event.env_id", offset_of!(JVMPI_Event, env_id)),
    (
        "JVMPI_Event.u.class_load.class_name",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_class_load, class_name),
    ),
    (
        "JVMPI_Event.u.class_load.source_name",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_class_load, source_name),
    ),
    (
        "JVMPI_Event.u.class_load.num_interfaces",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_class_load, num_interfaces),
    ),
    (
        "JVMPI_Event.u.class_load.num_methods",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_class_load, num_methods),
    ),
    (
        "JVMPI_Event.u.class_load.methods",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_class_load, methods),
    ),
    (
        "JVMPI_Event.u.class_load.num_static_fields",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_class_load, num_static_fields),
    ),
    (
        "JVMPI_Event.u.class_load.statics",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_class_load, statics),
    ),
    (
        "JVMPI_Event.u.class_load.num_instance_fields",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_class_load, num_instance_fields),
    ),
    (
        "JVMPI_Event.u.class_load.instances",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_class_load, instances),
    ),
    (
        "JVMPI_Event.u.class_load.class_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_class_load, class_id),
    ),
    (
        "JVMPI_Event.u.class_unload.class_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_class_unload, class_id),
    ),
    (
        "JVMPI_Event.u.class_load_hook.class_data",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_class_load_hook, class_data),
    ),
    (
        "JVMPI_Event.u.class_load_hook.class_data_len",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_class_load_hook, class_data_len),
    ),
    (
        "JVMPI_Event.u.class_load_hook.new_class_data",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_class_load_hook, new_class_data),
    ),
    (
        "JVMPI_Event.u.class_load_hook.new_class_data_len",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_class_load_hook, new_class_data_len),
    ),
    (
        "JVMPI_Event.u.class_load_hook.malloc_f",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_class_load_hook, malloc_f),
    ),
    (
        "JVMPI_Event.u.obj_alloc.arena_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_obj_alloc, arena_id),
    ),
    (
        "JVMPI_Event.u.obj_alloc.class_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_obj_alloc, class_id),
    ),
    (
        "JVMPI_Event.u.obj_alloc.is_array",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_obj_alloc, is_array),
    ),
    (
        "JVMPI_Event.u.obj_alloc.size",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_obj_alloc, size),
    ),
    (
        "JVMPI_Event.u.obj_alloc.obj_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_obj_alloc, obj_id),
    ),
    (
        "JVMPI_Event.u.obj_free.obj_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_obj_free, obj_id),
    ),
    (
        "JVMPI_Event.u.obj_move.arena_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_obj_move, arena_id),
    ),
    (
        "JVMPI_Event.u.obj_move.obj_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_obj_move, obj_id),
    ),
    (
        "JVMPI_Event.u.obj_move.new_arena_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_obj_move, new_arena_id),
    ),
    (
        "JVMPI_Event.u.obj_move.new_obj_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_obj_move, new_obj_id),
    ),
    (
        "JVMPI_Event.u.new_arena.arena_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_new_arena, arena_id),
    ),
    (
        "JVMPI_Event.u.new_arena.arena_name",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_new_arena, arena_name),
    ),
    (
        "JVMPI_Event.u.delete_arena.arena_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_delete_arena, arena_id),
    ),
    (
        "JVMPI_Event.u.thread_start.thread_name",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_thread_start, thread_name),
    ),
    (
        "JVMPI_Event.u.thread_start.group_name",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_thread_start, group_name),
    ),
    (
        "JVMPI_Event.u.thread_start.parent_name",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_thread_start, parent_name),
    ),
    (
        "JVMPI_Event.u.thread_start.thread_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_thread_start, thread_id),
    ),
    (
        "JVMPI_Event.u.thread_start.thread_env_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_thread_start, thread_env_id),
    ),
    (
        "JVMPI_Event.u.heap_dump.dump_level",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_heap_dump, dump_level),
    ),
    (
        "JVMPI_Event.u.heap_dump.begin",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_heap_dump, begin),
    ),
    (
        "JVMPI_Event.u.heap_dump.end",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_heap_dump, end),
    ),
    (
        "JVMPI_Event.u.heap_dump.num_traces",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_heap_dump, num_traces),
    ),
    (
        "JVMPI_Event.u.heap_dump.traces",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_heap_dump, traces),
    ),
    (
        "JVMPI_Event.u.monitor_dump.begin",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_monitor_dump, begin),
    ),
    (
        "JVMPI_Event.u.monitor_dump.end",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_monitor_dump, end),
    ),
    (
        "JVMPI_Event.u.monitor_dump.num_traces",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_monitor_dump, num_traces),
    ),
    (
        "JVMPI_Event.u.monitor_dump.traces",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_monitor_dump, traces),
    ),
    (
        "JVMPI_Event.u.monitor_dump.threads_status",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_monitor_dump, threads_status),
    ),
    (
        "JVMPI_Event.u.object_dump.data_len",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_object_dump, data_len),
    ),
    (
        "JVMPI_Event.u.object_dump.data",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_object_dump, data),
    ),
    (
        "JVMPI_Event.u.jni_globalref_alloc.obj_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_jni_globalref_alloc, obj_id),
    ),
    (
        "JVMPI_Event.u.jni_globalref_alloc.ref_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_jni_globalref_alloc, ref_id),
    ),
    (
        "JVMPI_Event.u.jni_globalref_free.ref_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_jni_globalref_free, ref_id),
    ),
    (
        "JVMPI_Event.u.method.method_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_method, method_id),
    ),
    (
        "JVMPI_Event.u.method_entry2.method_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_method_entry2, method_id),
    ),
    (
        "JVMPI_Event.u.method_entry2.obj_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_method_entry2, obj_id),
    ),
    (
        "JVMPI_Event.u.compiled_method_load.method_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_compiled_method_load, method_id),
    ),
    (
        "JVMPI_Event.u.compiled_method_load.code_addr",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_compiled_method_load, code_addr),
    ),
    (
        "JVMPI_Event.u.compiled_method_load.code_size",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_compiled_method_load, code_size),
    ),
    (
        "JVMPI_Event.u.compiled_method_load.lineno_table_size",
        offset_of!(JVMPI_Event, u)
            + offset_of!(JVMPI_Event_compiled_method_load, lineno_table_size),
    ),
    (
        "JVMPI_Event.u.compiled_method_load.lineno_table",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_compiled_method_load, lineno_table),
    ),
    (
        "JVMPI_Event.u.compiled_method_unload.method_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_compiled_method_unload, method_id),
    ),
    (
        "JVMPI_Event.u.raw_monitor.name",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_raw_monitor, name),
    ),
    (
        "JVMPI_Event.u.raw_monitor.id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_raw_monitor, id),
    ),
    (
        "JVMPI_Event.u.monitor.object",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_monitor, object),
    ),
    (
        "JVMPI_Event.u.monitor_wait.object",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_monitor_wait, object),
    ),
    (
        "JVMPI_Event.u.monitor_wait.timeout",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_monitor_wait, timeout),
    ),
    (
        "JVMPI_Event.u.gc_info.used_objects",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_gc_info, used_objects),
    ),
    (
        "JVMPI_Event.u.gc_info.used_object_space",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_gc_info, used_object_space),
    ),
    (
        "JVMPI_Event.u.gc_info.total_object_space",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_gc_info, total_object_space),
    ),
    (
        "JVMPI_Event.u.instruction.method_id",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_instruction, method_id),
    ),
    (
        "JVMPI_Event.u.instruction.offset",
        offset_of!(JVMPI_Event, u) + offset_of!(JVMPI_Event_instruction, offset),
    ),
    (
        "JVMPI_Event.u.instruction.u.if_info.is_true",
        offset_of!(JVMPI_Event, u)
            + offset_of!(JVMPI_Event_instruction, u)
            + offset_of!(JVMPI_Event_instruction_if_info, is_true),
    ),
    (
        "JVMPI_Event.u.instruction.u.tableswitch_info.key",
        offset_of!(JVMPI_Event, u)
            + offset_of!(JVMPI_Event_instruction, u)
            + offset_of!(JVMPI_Event_instruction_tableswitch_info, key),
    ),
    (
        "JVMPI_Event.u.instruction.u.tableswitch_info.low",
        offset_of!(JVMPI_Event, u)
            + offset_of!(JVMPI_Event_instruction, u)
            + offset_of!(JVMPI_Event_instruction_tableswitch_info, low),
    ),
    (
        "JVMPI_Event.u.instruction.u.tableswitch_info.hi",
        offset_of!(JVMPI_Event, u)
            + offset_of!(JVMPI_Event_instruction, u)
            + offset_of!(JVMPI_Event_instruction_tableswitch_info, hi),
    ),
    (
        "JVMPI_Event.u.instruction.u.lookupswitch_info.chosen_pair_index",
        offset_of!(JVMPI_Event, u)
            + offset_of!(JVMPI_Event_instruction, u)
            + offset_of!(JVMPI_Event_instruction_lookupswitch_info, chosen_pair_index),
    ),
    (
        "JVMPI_Event.u.instruction.u.lookupswitch_info.pairs_total",
        offset_of!(JVMPI_Event, u)
            + offset_of!(JVMPI_Event_instruction, u)
            + offset_of!(JVMPI_Event_instruction_lookupswitch_info, pairs_total),
    ),
    ("JVMPI_Interface", size_of::<JVMPI_Interface>()),
    ("JVMPI_Interface.version", offset_of!(JVMPI_Interface, version)),
    ("JVMPI_Interface.NotifyEvent", offset_of!(JVMPI_Interface, NotifyEvent)),
    ("JVMPI_Interface.EnableEvent", offset_of!(JVMPI_Interface, EnableEvent)),
    ("JVMPI_Interface.DisableEvent", offset_of!(JVMPI_Interface, DisableEvent)),
    ("JVMPI_Interface.RequestEvent", offset_of!(JVMPI_Interface, RequestEvent)),
    ("JVMPI_Interface.GetCallTrace", offset_of!(JVMPI_Interface, GetCallTrace)),
    ("JVMPI_Interface.ProfilerExit", offset_of!(JVMPI_Interface, ProfilerExit)),
    ("JVMPI_Interface.RawMonitorCreate", offset_of!(JVMPI_Interface, RawMonitorCreate)),
    ("JVMPI_Interface.RawMonitorEnter", offset_of!(JVMPI_Interface, RawMonitorEnter)),
    ("JVMPI_Interface.RawMonitorExit", offset_of!(JVMPI_Interface, RawMonitorExit)),
    ("JVMPI_Interface.RawMonitorWait", offset_of!(JVMPI_Interface, RawMonitorWait)),
    ("JVMPI_Interface.RawMonitorNotifyAll", offset_of!(JVMPI_Interface, RawMonitorNotifyAll)),
    ("JVMPI_Interface.RawMonitorDestroy", offset_of!(JVMPI_Interface, RawMonitorDestroy)),
    (
        "JVMPI_Interface.GetCurrentThreadCpuTime",
        offset_of!(JVMPI_Interface, GetCurrentThreadCpuTime),
    ),
    ("JVMPI_Interface.SuspendThread", offset_of!(JVMPI_Interface, SuspendThread)),
    ("JVMPI_Interface.ResumeThread", offset_of!(JVMPI_Interface, ResumeThread)),
    ("JVMPI_Interface.GetThreadStatus", offset_of!(JVMPI_Interface, GetThreadStatus)),
    ("JVMPI_Interface.ThreadHasRun", offset_of!(JVMPI_Interface, ThreadHasRun)),
    ("JVMPI_Interface.CreateSystemThread", offset_of!(JVMPI_Interface, CreateSystemThread)),
    ("JVMPI_Interface.SetThreadLocalStorage", offset_of!(JVMPI_Interface, SetThreadLocalStorage)),
    ("JVMPI_Interface.GetThreadLocalStorage", offset_of!(JVMPI_Interface, GetThreadLocalStorage)),
    ("JVMPI_Interface.DisableGC", offset_of!(JVMPI_Interface, DisableGC)),
    ("JVMPI_Interface.EnableGC", offset_of!(JVMPI_Interface, EnableGC)),
    ("JVMPI_Interface.RunGC", offset_of!(JVMPI_Interface, RunGC)),
    ("JVMPI_Interface.GetThreadObject", offset_of!(JVMPI_Interface, GetThreadObject)),
    ("JVMPI_Interface.GetMethodClass", offset_of!(JVMPI_Interface, GetMethodClass)),
    ("JVMPI_Interface.jobjectID2jobject", offset_of!(JVMPI_Interface, jobjectID2jobject)),
    ("JVMPI_Interface.jobject2jobjectID", offset_of!(JVMPI_Interface, jobject2jobjectID)),
    ("JVMPI_Interface.SuspendThreadList", offset_of!(JVMPI_Interface, SuspendThreadList)),
    ("JVMPI_Interface.ResumeThreadList", offset_of!(JVMPI_Interface, ResumeThreadList)),
];
