// Written by `cargo run -p xtask -- jvmti JAVA_HOME` from the jvmti.h of JDK 25.
// Change the generator, not this file.

use std::ffi::{c_char, c_void};
use std::mem::offset_of;

use jni_sys::{
    JNIEnv, JNINativeInterface_, jboolean, jchar, jclass, jdouble, jfieldID, jfloat, jint, jlong,
    jmethodID, jobject, jvalue,
};

use crate::{Capabilities, jrawMonitorID, jvmtiEnv};

pub type jthread = jobject;
pub type jthreadGroup = jobject;
pub type jlocation = jlong;
pub const JVMTI_VERSION_1: jint = 0x30010000;
pub const JVMTI_VERSION_1_0: jint = 0x30010000;
pub const JVMTI_VERSION_1_1: jint = 0x30010100;
pub const JVMTI_VERSION_1_2: jint = 0x30010200;
pub const JVMTI_VERSION_9: jint = 0x30090000;
pub const JVMTI_VERSION_11: jint = 0x300B0000;
pub const JVMTI_VERSION_19: jint = 0x30130000;
pub const JVMTI_VERSION_21: jint = 0x30150000;
pub const JVMTI_THREAD_STATE_ALIVE: jint = 0x0001;
pub const JVMTI_THREAD_STATE_TERMINATED: jint = 0x0002;
pub const JVMTI_THREAD_STATE_RUNNABLE: jint = 0x0004;
pub const JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER: jint = 0x0400;
pub const JVMTI_THREAD_STATE_WAITING: jint = 0x0080;
pub const JVMTI_THREAD_STATE_WAITING_INDEFINITELY: jint = 0x0010;
pub const JVMTI_THREAD_STATE_WAITING_WITH_TIMEOUT: jint = 0x0020;
pub const JVMTI_THREAD_STATE_SLEEPING: jint = 0x0040;
pub const JVMTI_THREAD_STATE_IN_OBJECT_WAIT: jint = 0x0100;
pub const JVMTI_THREAD_STATE_PARKED: jint = 0x0200;
pub const JVMTI_THREAD_STATE_SUSPENDED: jint = 0x100000;
pub const JVMTI_THREAD_STATE_INTERRUPTED: jint = 0x200000;
pub const JVMTI_THREAD_STATE_IN_NATIVE: jint = 0x400000;
pub const JVMTI_THREAD_STATE_VENDOR_1: jint = 0x10000000;
pub const JVMTI_THREAD_STATE_VENDOR_2: jint = 0x20000000;
pub const JVMTI_THREAD_STATE_VENDOR_3: jint = 0x40000000;
pub const JVMTI_JAVA_LANG_THREAD_STATE_MASK: jint = JVMTI_THREAD_STATE_TERMINATED
    | JVMTI_THREAD_STATE_ALIVE
    | JVMTI_THREAD_STATE_RUNNABLE
    | JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER
    | JVMTI_THREAD_STATE_WAITING
    | JVMTI_THREAD_STATE_WAITING_INDEFINITELY
    | JVMTI_THREAD_STATE_WAITING_WITH_TIMEOUT;
pub const JVMTI_JAVA_LANG_THREAD_STATE_NEW: jint = 0;
pub const JVMTI_JAVA_LANG_THREAD_STATE_TERMINATED: jint = JVMTI_THREAD_STATE_TERMINATED;
pub const JVMTI_JAVA_LANG_THREAD_STATE_RUNNABLE: jint =
    JVMTI_THREAD_STATE_ALIVE | JVMTI_THREAD_STATE_RUNNABLE;
pub const JVMTI_JAVA_LANG_THREAD_STATE_BLOCKED: jint =
    JVMTI_THREAD_STATE_ALIVE | JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER;
pub const JVMTI_JAVA_LANG_THREAD_STATE_WAITING: jint =
    JVMTI_THREAD_STATE_ALIVE | JVMTI_THREAD_STATE_WAITING | JVMTI_THREAD_STATE_WAITING_INDEFINITELY;
pub const JVMTI_JAVA_LANG_THREAD_STATE_TIMED_WAITING: jint =
    JVMTI_THREAD_STATE_ALIVE | JVMTI_THREAD_STATE_WAITING | JVMTI_THREAD_STATE_WAITING_WITH_TIMEOUT;
pub const JVMTI_THREAD_MIN_PRIORITY: jint = 1;
pub const JVMTI_THREAD_NORM_PRIORITY: jint = 5;
pub const JVMTI_THREAD_MAX_PRIORITY: jint = 10;
pub const JVMTI_HEAP_FILTER_TAGGED: jint = 0x4;
pub const JVMTI_HEAP_FILTER_UNTAGGED: jint = 0x8;
pub const JVMTI_HEAP_FILTER_CLASS_TAGGED: jint = 0x10;
pub const JVMTI_HEAP_FILTER_CLASS_UNTAGGED: jint = 0x20;
pub const JVMTI_VISIT_OBJECTS: jint = 0x100;
pub const JVMTI_VISIT_ABORT: jint = 0x8000;
pub const JVMTI_CLASS_STATUS_VERIFIED: jint = 1;
pub const JVMTI_CLASS_STATUS_PREPARED: jint = 2;
pub const JVMTI_CLASS_STATUS_INITIALIZED: jint = 4;
pub const JVMTI_CLASS_STATUS_ERROR: jint = 8;
pub const JVMTI_CLASS_STATUS_ARRAY: jint = 16;
pub const JVMTI_CLASS_STATUS_PRIMITIVE: jint = 32;
pub const JVMTI_VERSION_INTERFACE_JNI: jint = 0x00000000;
pub const JVMTI_VERSION_INTERFACE_JVMTI: jint = 0x30000000;
pub const JVMTI_VERSION_MASK_INTERFACE_TYPE: jint = 0x70000000;
pub const JVMTI_VERSION_MASK_MAJOR: jint = 0x0FFF0000;
pub const JVMTI_VERSION_MASK_MINOR: jint = 0x0000FF00;
pub const JVMTI_VERSION_MASK_MICRO: jint = 0x000000FF;
pub const JVMTI_VERSION_SHIFT_MAJOR: jint = 16;
pub const JVMTI_VERSION_SHIFT_MINOR: jint = 8;
pub const JVMTI_VERSION_SHIFT_MICRO: jint = 0;
pub const JVMTI_RESOURCE_EXHAUSTED_OOM_ERROR: jint = 0x0001;
pub const JVMTI_RESOURCE_EXHAUSTED_JAVA_HEAP: jint = 0x0002;
pub const JVMTI_RESOURCE_EXHAUSTED_THREADS: jint = 0x0004;

#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct jvmtiHeapReferenceKind(pub jint);
pub const JVMTI_HEAP_REFERENCE_CLASS: jvmtiHeapReferenceKind = jvmtiHeapReferenceKind(1);
pub const JVMTI_HEAP_REFERENCE_FIELD: jvmtiHeapReferenceKind = jvmtiHeapReferenceKind(2);
pub const JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT: jvmtiHeapReferenceKind = jvmtiHeapReferenceKind(3);
pub const JVMTI_HEAP_REFERENCE_CLASS_LOADER: jvmtiHeapReferenceKind = jvmtiHeapReferenceKind(4);
pub const JVMTI_HEAP_REFERENCE_SIGNERS: jvmtiHeapReferenceKind = jvmtiHeapReferenceKind(5);
pub const JVMTI_HEAP_REFERENCE_PROTECTION_DOMAIN: jvmtiHeapReferenceKind =
    jvmtiHeapReferenceKind(6);
pub const JVMTI_HEAP_REFERENCE_INTERFACE: jvmtiHeapReferenceKind = jvmtiHeapReferenceKind(7);
pub const JVMTI_HEAP_REFERENCE_STATIC_FIELD: jvmtiHeapReferenceKind = jvmtiHeapReferenceKind(8);
pub const JVMTI_HEAP_REFERENCE_CONSTANT_POOL: jvmtiHeapReferenceKind = jvmtiHeapReferenceKind(9);
pub const JVMTI_HEAP_REFERENCE_SUPERCLASS: jvmtiHeapReferenceKind = jvmtiHeapReferenceKind(10);
pub const JVMTI_HEAP_REFERENCE_JNI_GLOBAL: jvmtiHeapReferenceKind = jvmtiHeapReferenceKind(21);
pub const JVMTI_HEAP_REFERENCE_SYSTEM_CLASS: jvmtiHeapReferenceKind = jvmtiHeapReferenceKind(22);
pub const JVMTI_HEAP_REFERENCE_MONITOR: jvmtiHeapReferenceKind = jvmtiHeapReferenceKind(23);
pub const JVMTI_HEAP_REFERENCE_STACK_LOCAL: jvmtiHeapReferenceKind = jvmtiHeapReferenceKind(24);
pub const JVMTI_HEAP_REFERENCE_JNI_LOCAL: jvmtiHeapReferenceKind = jvmtiHeapReferenceKind(25);
pub const JVMTI_HEAP_REFERENCE_THREAD: jvmtiHeapReferenceKind = jvmtiHeapReferenceKind(26);
pub const JVMTI_HEAP_REFERENCE_OTHER: jvmtiHeapReferenceKind = jvmtiHeapReferenceKind(27);

impl jvmtiHeapReferenceKind {
    /// The name that `jvmti.h` has for this value.
    pub const fn name(self) -> &'static str {
        match self {
            JVMTI_HEAP_REFERENCE_CLASS => "JVMTI_HEAP_REFERENCE_CLASS",
            JVMTI_HEAP_REFERENCE_FIELD => "JVMTI_HEAP_REFERENCE_FIELD",
            JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT => "JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT",
            JVMTI_HEAP_REFERENCE_CLASS_LOADER => "JVMTI_HEAP_REFERENCE_CLASS_LOADER",
            JVMTI_HEAP_REFERENCE_SIGNERS => "JVMTI_HEAP_REFERENCE_SIGNERS",
            JVMTI_HEAP_REFERENCE_PROTECTION_DOMAIN => "JVMTI_HEAP_REFERENCE_PROTECTION_DOMAIN",
            JVMTI_HEAP_REFERENCE_INTERFACE => "JVMTI_HEAP_REFERENCE_INTERFACE",
            JVMTI_HEAP_REFERENCE_STATIC_FIELD => "JVMTI_HEAP_REFERENCE_STATIC_FIELD",
            JVMTI_HEAP_REFERENCE_CONSTANT_POOL => "JVMTI_HEAP_REFERENCE_CONSTANT_POOL",
            JVMTI_HEAP_REFERENCE_SUPERCLASS => "JVMTI_HEAP_REFERENCE_SUPERCLASS",
            JVMTI_HEAP_REFERENCE_JNI_GLOBAL => "JVMTI_HEAP_REFERENCE_JNI_GLOBAL",
            JVMTI_HEAP_REFERENCE_SYSTEM_CLASS => "JVMTI_HEAP_REFERENCE_SYSTEM_CLASS",
            JVMTI_HEAP_REFERENCE_MONITOR => "JVMTI_HEAP_REFERENCE_MONITOR",
            JVMTI_HEAP_REFERENCE_STACK_LOCAL => "JVMTI_HEAP_REFERENCE_STACK_LOCAL",
            JVMTI_HEAP_REFERENCE_JNI_LOCAL => "JVMTI_HEAP_REFERENCE_JNI_LOCAL",
            JVMTI_HEAP_REFERENCE_THREAD => "JVMTI_HEAP_REFERENCE_THREAD",
            JVMTI_HEAP_REFERENCE_OTHER => "JVMTI_HEAP_REFERENCE_OTHER",
            _ => "unknown jvmtiHeapReferenceKind",
        }
    }
}

#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct jvmtiPrimitiveType(pub jint);
pub const JVMTI_PRIMITIVE_TYPE_BOOLEAN: jvmtiPrimitiveType = jvmtiPrimitiveType(90);
pub const JVMTI_PRIMITIVE_TYPE_BYTE: jvmtiPrimitiveType = jvmtiPrimitiveType(66);
pub const JVMTI_PRIMITIVE_TYPE_CHAR: jvmtiPrimitiveType = jvmtiPrimitiveType(67);
pub const JVMTI_PRIMITIVE_TYPE_SHORT: jvmtiPrimitiveType = jvmtiPrimitiveType(83);
pub const JVMTI_PRIMITIVE_TYPE_INT: jvmtiPrimitiveType = jvmtiPrimitiveType(73);
pub const JVMTI_PRIMITIVE_TYPE_LONG: jvmtiPrimitiveType = jvmtiPrimitiveType(74);
pub const JVMTI_PRIMITIVE_TYPE_FLOAT: jvmtiPrimitiveType = jvmtiPrimitiveType(70);
pub const JVMTI_PRIMITIVE_TYPE_DOUBLE: jvmtiPrimitiveType = jvmtiPrimitiveType(68);

impl jvmtiPrimitiveType {
    /// The name that `jvmti.h` has for this value.
    pub const fn name(self) -> &'static str {
        match self {
            JVMTI_PRIMITIVE_TYPE_BOOLEAN => "JVMTI_PRIMITIVE_TYPE_BOOLEAN",
            JVMTI_PRIMITIVE_TYPE_BYTE => "JVMTI_PRIMITIVE_TYPE_BYTE",
            JVMTI_PRIMITIVE_TYPE_CHAR => "JVMTI_PRIMITIVE_TYPE_CHAR",
            JVMTI_PRIMITIVE_TYPE_SHORT => "JVMTI_PRIMITIVE_TYPE_SHORT",
            JVMTI_PRIMITIVE_TYPE_INT => "JVMTI_PRIMITIVE_TYPE_INT",
            JVMTI_PRIMITIVE_TYPE_LONG => "JVMTI_PRIMITIVE_TYPE_LONG",
            JVMTI_PRIMITIVE_TYPE_FLOAT => "JVMTI_PRIMITIVE_TYPE_FLOAT",
            JVMTI_PRIMITIVE_TYPE_DOUBLE => "JVMTI_PRIMITIVE_TYPE_DOUBLE",
            _ => "unknown jvmtiPrimitiveType",
        }
    }
}

#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct jvmtiHeapObjectFilter(pub jint);
pub const JVMTI_HEAP_OBJECT_TAGGED: jvmtiHeapObjectFilter = jvmtiHeapObjectFilter(1);
pub const JVMTI_HEAP_OBJECT_UNTAGGED: jvmtiHeapObjectFilter = jvmtiHeapObjectFilter(2);
pub const JVMTI_HEAP_OBJECT_EITHER: jvmtiHeapObjectFilter = jvmtiHeapObjectFilter(3);

impl jvmtiHeapObjectFilter {
    /// The name that `jvmti.h` has for this value.
    pub const fn name(self) -> &'static str {
        match self {
            JVMTI_HEAP_OBJECT_TAGGED => "JVMTI_HEAP_OBJECT_TAGGED",
            JVMTI_HEAP_OBJECT_UNTAGGED => "JVMTI_HEAP_OBJECT_UNTAGGED",
            JVMTI_HEAP_OBJECT_EITHER => "JVMTI_HEAP_OBJECT_EITHER",
            _ => "unknown jvmtiHeapObjectFilter",
        }
    }
}

#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct jvmtiHeapRootKind(pub jint);
pub const JVMTI_HEAP_ROOT_JNI_GLOBAL: jvmtiHeapRootKind = jvmtiHeapRootKind(1);
pub const JVMTI_HEAP_ROOT_SYSTEM_CLASS: jvmtiHeapRootKind = jvmtiHeapRootKind(2);
pub const JVMTI_HEAP_ROOT_MONITOR: jvmtiHeapRootKind = jvmtiHeapRootKind(3);
pub const JVMTI_HEAP_ROOT_STACK_LOCAL: jvmtiHeapRootKind = jvmtiHeapRootKind(4);
pub const JVMTI_HEAP_ROOT_JNI_LOCAL: jvmtiHeapRootKind = jvmtiHeapRootKind(5);
pub const JVMTI_HEAP_ROOT_THREAD: jvmtiHeapRootKind = jvmtiHeapRootKind(6);
pub const JVMTI_HEAP_ROOT_OTHER: jvmtiHeapRootKind = jvmtiHeapRootKind(7);

impl jvmtiHeapRootKind {
    /// The name that `jvmti.h` has for this value.
    pub const fn name(self) -> &'static str {
        match self {
            JVMTI_HEAP_ROOT_JNI_GLOBAL => "JVMTI_HEAP_ROOT_JNI_GLOBAL",
            JVMTI_HEAP_ROOT_SYSTEM_CLASS => "JVMTI_HEAP_ROOT_SYSTEM_CLASS",
            JVMTI_HEAP_ROOT_MONITOR => "JVMTI_HEAP_ROOT_MONITOR",
            JVMTI_HEAP_ROOT_STACK_LOCAL => "JVMTI_HEAP_ROOT_STACK_LOCAL",
            JVMTI_HEAP_ROOT_JNI_LOCAL => "JVMTI_HEAP_ROOT_JNI_LOCAL",
            JVMTI_HEAP_ROOT_THREAD => "JVMTI_HEAP_ROOT_THREAD",
            JVMTI_HEAP_ROOT_OTHER => "JVMTI_HEAP_ROOT_OTHER",
            _ => "unknown jvmtiHeapRootKind",
        }
    }
}

#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct jvmtiObjectReferenceKind(pub jint);
pub const JVMTI_REFERENCE_CLASS: jvmtiObjectReferenceKind = jvmtiObjectReferenceKind(1);
pub const JVMTI_REFERENCE_FIELD: jvmtiObjectReferenceKind = jvmtiObjectReferenceKind(2);
pub const JVMTI_REFERENCE_ARRAY_ELEMENT: jvmtiObjectReferenceKind = jvmtiObjectReferenceKind(3);
pub const JVMTI_REFERENCE_CLASS_LOADER: jvmtiObjectReferenceKind = jvmtiObjectReferenceKind(4);
pub const JVMTI_REFERENCE_SIGNERS: jvmtiObjectReferenceKind = jvmtiObjectReferenceKind(5);
pub const JVMTI_REFERENCE_PROTECTION_DOMAIN: jvmtiObjectReferenceKind = jvmtiObjectReferenceKind(6);
pub const JVMTI_REFERENCE_INTERFACE: jvmtiObjectReferenceKind = jvmtiObjectReferenceKind(7);
pub const JVMTI_REFERENCE_STATIC_FIELD: jvmtiObjectReferenceKind = jvmtiObjectReferenceKind(8);
pub const JVMTI_REFERENCE_CONSTANT_POOL: jvmtiObjectReferenceKind = jvmtiObjectReferenceKind(9);

impl jvmtiObjectReferenceKind {
    /// The name that `jvmti.h` has for this value.
    pub const fn name(self) -> &'static str {
        match self {
            JVMTI_REFERENCE_CLASS => "JVMTI_REFERENCE_CLASS",
            JVMTI_REFERENCE_FIELD => "JVMTI_REFERENCE_FIELD",
            JVMTI_REFERENCE_ARRAY_ELEMENT => "JVMTI_REFERENCE_ARRAY_ELEMENT",
            JVMTI_REFERENCE_CLASS_LOADER => "JVMTI_REFERENCE_CLASS_LOADER",
            JVMTI_REFERENCE_SIGNERS => "JVMTI_REFERENCE_SIGNERS",
            JVMTI_REFERENCE_PROTECTION_DOMAIN => "JVMTI_REFERENCE_PROTECTION_DOMAIN",
            JVMTI_REFERENCE_INTERFACE => "JVMTI_REFERENCE_INTERFACE",
            JVMTI_REFERENCE_STATIC_FIELD => "JVMTI_REFERENCE_STATIC_FIELD",
            JVMTI_REFERENCE_CONSTANT_POOL => "JVMTI_REFERENCE_CONSTANT_POOL",
            _ => "unknown jvmtiObjectReferenceKind",
        }
    }
}

#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct jvmtiIterationControl(pub jint);
pub const JVMTI_ITERATION_CONTINUE: jvmtiIterationControl = jvmtiIterationControl(1);
pub const JVMTI_ITERATION_IGNORE: jvmtiIterationControl = jvmtiIterationControl(2);
pub const JVMTI_ITERATION_ABORT: jvmtiIterationControl = jvmtiIterationControl(0);

impl jvmtiIterationControl {
    /// The name that `jvmti.h` has for this value.
    pub const fn name(self) -> &'static str {
        match self {
            JVMTI_ITERATION_CONTINUE => "JVMTI_ITERATION_CONTINUE",
            JVMTI_ITERATION_IGNORE => "JVMTI_ITERATION_IGNORE",
            JVMTI_ITERATION_ABORT => "JVMTI_ITERATION_ABORT",
            _ => "unknown jvmtiIterationControl",
        }
    }
}

#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct jvmtiEventMode(pub jint);
pub const JVMTI_ENABLE: jvmtiEventMode = jvmtiEventMode(1);
pub const JVMTI_DISABLE: jvmtiEventMode = jvmtiEventMode(0);

impl jvmtiEventMode {
    /// The name that `jvmti.h` has for this value.
    pub const fn name(self) -> &'static str {
        match self {
            JVMTI_ENABLE => "JVMTI_ENABLE",
            JVMTI_DISABLE => "JVMTI_DISABLE",
            _ => "unknown jvmtiEventMode",
        }
    }
}

#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct jvmtiParamTypes(pub jint);
pub const JVMTI_TYPE_JBYTE: jvmtiParamTypes = jvmtiParamTypes(101);
pub const JVMTI_TYPE_JCHAR: jvmtiParamTypes = jvmtiParamTypes(102);
pub const JVMTI_TYPE_JSHORT: jvmtiParamTypes = jvmtiParamTypes(103);
pub const JVMTI_TYPE_JINT: jvmtiParamTypes = jvmtiParamTypes(104);
pub const JVMTI_TYPE_JLONG: jvmtiParamTypes = jvmtiParamTypes(105);
pub const JVMTI_TYPE_JFLOAT: jvmtiParamTypes = jvmtiParamTypes(106);
pub const JVMTI_TYPE_JDOUBLE: jvmtiParamTypes = jvmtiParamTypes(107);
pub const JVMTI_TYPE_JBOOLEAN: jvmtiParamTypes = jvmtiParamTypes(108);
pub const JVMTI_TYPE_JOBJECT: jvmtiParamTypes = jvmtiParamTypes(109);
pub const JVMTI_TYPE_JTHREAD: jvmtiParamTypes = jvmtiParamTypes(110);
pub const JVMTI_TYPE_JCLASS: jvmtiParamTypes = jvmtiParamTypes(111);
pub const JVMTI_TYPE_JVALUE: jvmtiParamTypes = jvmtiParamTypes(112);
pub const JVMTI_TYPE_JFIELDID: jvmtiParamTypes = jvmtiParamTypes(113);
pub const JVMTI_TYPE_JMETHODID: jvmtiParamTypes = jvmtiParamTypes(114);
pub const JVMTI_TYPE_CCHAR: jvmtiParamTypes = jvmtiParamTypes(115);
pub const JVMTI_TYPE_CVOID: jvmtiParamTypes = jvmtiParamTypes(116);
pub const JVMTI_TYPE_JNIENV: jvmtiParamTypes = jvmtiParamTypes(117);

impl jvmtiParamTypes {
    /// The name that `jvmti.h` has for this value.
    pub const fn name(self) -> &'static str {
        match self {
            JVMTI_TYPE_JBYTE => "JVMTI_TYPE_JBYTE",
            JVMTI_TYPE_JCHAR => "JVMTI_TYPE_JCHAR",
            JVMTI_TYPE_JSHORT => "JVMTI_TYPE_JSHORT",
            JVMTI_TYPE_JINT => "JVMTI_TYPE_JINT",
            JVMTI_TYPE_JLONG => "JVMTI_TYPE_JLONG",
            JVMTI_TYPE_JFLOAT => "JVMTI_TYPE_JFLOAT",
            JVMTI_TYPE_JDOUBLE => "JVMTI_TYPE_JDOUBLE",
            JVMTI_TYPE_JBOOLEAN => "JVMTI_TYPE_JBOOLEAN",
            JVMTI_TYPE_JOBJECT => "JVMTI_TYPE_JOBJECT",
            JVMTI_TYPE_JTHREAD => "JVMTI_TYPE_JTHREAD",
            JVMTI_TYPE_JCLASS => "JVMTI_TYPE_JCLASS",
            JVMTI_TYPE_JVALUE => "JVMTI_TYPE_JVALUE",
            JVMTI_TYPE_JFIELDID => "JVMTI_TYPE_JFIELDID",
            JVMTI_TYPE_JMETHODID => "JVMTI_TYPE_JMETHODID",
            JVMTI_TYPE_CCHAR => "JVMTI_TYPE_CCHAR",
            JVMTI_TYPE_CVOID => "JVMTI_TYPE_CVOID",
            JVMTI_TYPE_JNIENV => "JVMTI_TYPE_JNIENV",
            _ => "unknown jvmtiParamTypes",
        }
    }
}

#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct jvmtiParamKind(pub jint);
pub const JVMTI_KIND_IN: jvmtiParamKind = jvmtiParamKind(91);
pub const JVMTI_KIND_IN_PTR: jvmtiParamKind = jvmtiParamKind(92);
pub const JVMTI_KIND_IN_BUF: jvmtiParamKind = jvmtiParamKind(93);
pub const JVMTI_KIND_ALLOC_BUF: jvmtiParamKind = jvmtiParamKind(94);
pub const JVMTI_KIND_ALLOC_ALLOC_BUF: jvmtiParamKind = jvmtiParamKind(95);
pub const JVMTI_KIND_OUT: jvmtiParamKind = jvmtiParamKind(96);
pub const JVMTI_KIND_OUT_BUF: jvmtiParamKind = jvmtiParamKind(97);

impl jvmtiParamKind {
    /// The name that `jvmti.h` has for this value.
    pub const fn name(self) -> &'static str {
        match self {
            JVMTI_KIND_IN => "JVMTI_KIND_IN",
            JVMTI_KIND_IN_PTR => "JVMTI_KIND_IN_PTR",
            JVMTI_KIND_IN_BUF => "JVMTI_KIND_IN_BUF",
            JVMTI_KIND_ALLOC_BUF => "JVMTI_KIND_ALLOC_BUF",
            JVMTI_KIND_ALLOC_ALLOC_BUF => "JVMTI_KIND_ALLOC_ALLOC_BUF",
            JVMTI_KIND_OUT => "JVMTI_KIND_OUT",
            JVMTI_KIND_OUT_BUF => "JVMTI_KIND_OUT_BUF",
            _ => "unknown jvmtiParamKind",
        }
    }
}

#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct jvmtiTimerKind(pub jint);
pub const JVMTI_TIMER_USER_CPU: jvmtiTimerKind = jvmtiTimerKind(30);
pub const JVMTI_TIMER_TOTAL_CPU: jvmtiTimerKind = jvmtiTimerKind(31);
pub const JVMTI_TIMER_ELAPSED: jvmtiTimerKind = jvmtiTimerKind(32);

impl jvmtiTimerKind {
    /// The name that `jvmti.h` has for this value.
    pub const fn name(self) -> &'static str {
        match self {
            JVMTI_TIMER_USER_CPU => "JVMTI_TIMER_USER_CPU",
            JVMTI_TIMER_TOTAL_CPU => "JVMTI_TIMER_TOTAL_CPU",
            JVMTI_TIMER_ELAPSED => "JVMTI_TIMER_ELAPSED",
            _ => "unknown jvmtiTimerKind",
        }
    }
}

#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct jvmtiPhase(pub jint);
pub const JVMTI_PHASE_ONLOAD: jvmtiPhase = jvmtiPhase(1);
pub const JVMTI_PHASE_PRIMORDIAL: jvmtiPhase = jvmtiPhase(2);
pub const JVMTI_PHASE_START: jvmtiPhase = jvmtiPhase(6);
pub const JVMTI_PHASE_LIVE: jvmtiPhase = jvmtiPhase(4);
pub const JVMTI_PHASE_DEAD: jvmtiPhase = jvmtiPhase(8);

impl jvmtiPhase {
    /// The name that `jvmti.h` has for this value.
    pub const fn name(self) -> &'static str {
        match self {
            JVMTI_PHASE_ONLOAD => "JVMTI_PHASE_ONLOAD",
            JVMTI_PHASE_PRIMORDIAL => "JVMTI_PHASE_PRIMORDIAL",
            JVMTI_PHASE_START => "JVMTI_PHASE_START",
            JVMTI_PHASE_LIVE => "JVMTI_PHASE_LIVE",
            JVMTI_PHASE_DEAD => "JVMTI_PHASE_DEAD",
            _ => "unknown jvmtiPhase",
        }
    }
}

#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct jvmtiVerboseFlag(pub jint);
pub const JVMTI_VERBOSE_OTHER: jvmtiVerboseFlag = jvmtiVerboseFlag(0);
pub const JVMTI_VERBOSE_GC: jvmtiVerboseFlag = jvmtiVerboseFlag(1);
pub const JVMTI_VERBOSE_CLASS: jvmtiVerboseFlag = jvmtiVerboseFlag(2);
pub const JVMTI_VERBOSE_JNI: jvmtiVerboseFlag = jvmtiVerboseFlag(4);

impl jvmtiVerboseFlag {
    /// The name that `jvmti.h` has for this value.
    pub const fn name(self) -> &'static str {
        match self {
            JVMTI_VERBOSE_OTHER => "JVMTI_VERBOSE_OTHER",
            JVMTI_VERBOSE_GC => "JVMTI_VERBOSE_GC",
            JVMTI_VERBOSE_CLASS => "JVMTI_VERBOSE_CLASS",
            JVMTI_VERBOSE_JNI => "JVMTI_VERBOSE_JNI",
            _ => "unknown jvmtiVerboseFlag",
        }
    }
}

#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct jvmtiJlocationFormat(pub jint);
pub const JVMTI_JLOCATION_JVMBCI: jvmtiJlocationFormat = jvmtiJlocationFormat(1);
pub const JVMTI_JLOCATION_MACHINEPC: jvmtiJlocationFormat = jvmtiJlocationFormat(2);
pub const JVMTI_JLOCATION_OTHER: jvmtiJlocationFormat = jvmtiJlocationFormat(0);

impl jvmtiJlocationFormat {
    /// The name that `jvmti.h` has for this value.
    pub const fn name(self) -> &'static str {
        match self {
            JVMTI_JLOCATION_JVMBCI => "JVMTI_JLOCATION_JVMBCI",
            JVMTI_JLOCATION_MACHINEPC => "JVMTI_JLOCATION_MACHINEPC",
            JVMTI_JLOCATION_OTHER => "JVMTI_JLOCATION_OTHER",
            _ => "unknown jvmtiJlocationFormat",
        }
    }
}

#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct jvmtiError(pub jint);
pub const JVMTI_ERROR_NONE: jvmtiError = jvmtiError(0);
pub const JVMTI_ERROR_INVALID_THREAD: jvmtiError = jvmtiError(10);
pub const JVMTI_ERROR_INVALID_THREAD_GROUP: jvmtiError = jvmtiError(11);
pub const JVMTI_ERROR_INVALID_PRIORITY: jvmtiError = jvmtiError(12);
pub const JVMTI_ERROR_THREAD_NOT_SUSPENDED: jvmtiError = jvmtiError(13);
pub const JVMTI_ERROR_THREAD_SUSPENDED: jvmtiError = jvmtiError(14);
pub const JVMTI_ERROR_THREAD_NOT_ALIVE: jvmtiError = jvmtiError(15);
pub const JVMTI_ERROR_INVALID_OBJECT: jvmtiError = jvmtiError(20);
pub const JVMTI_ERROR_INVALID_CLASS: jvmtiError = jvmtiError(21);
pub const JVMTI_ERROR_CLASS_NOT_PREPARED: jvmtiError = jvmtiError(22);
pub const JVMTI_ERROR_INVALID_METHODID: jvmtiError = jvmtiError(23);
pub const JVMTI_ERROR_INVALID_LOCATION: jvmtiError = jvmtiError(24);
pub const JVMTI_ERROR_INVALID_FIELDID: jvmtiError = jvmtiError(25);
pub const JVMTI_ERROR_INVALID_MODULE: jvmtiError = jvmtiError(26);
pub const JVMTI_ERROR_NO_MORE_FRAMES: jvmtiError = jvmtiError(31);
pub const JVMTI_ERROR_OPAQUE_FRAME: jvmtiError = jvmtiError(32);
pub const JVMTI_ERROR_TYPE_MISMATCH: jvmtiError = jvmtiError(34);
pub const JVMTI_ERROR_INVALID_SLOT: jvmtiError = jvmtiError(35);
pub const JVMTI_ERROR_DUPLICATE: jvmtiError = jvmtiError(40);
pub const JVMTI_ERROR_NOT_FOUND: jvmtiError = jvmtiError(41);
pub const JVMTI_ERROR_INVALID_MONITOR: jvmtiError = jvmtiError(50);
pub const JVMTI_ERROR_NOT_MONITOR_OWNER: jvmtiError = jvmtiError(51);
pub const JVMTI_ERROR_INTERRUPT: jvmtiError = jvmtiError(52);
pub const JVMTI_ERROR_INVALID_CLASS_FORMAT: jvmtiError = jvmtiError(60);
pub const JVMTI_ERROR_CIRCULAR_CLASS_DEFINITION: jvmtiError = jvmtiError(61);
pub const JVMTI_ERROR_FAILS_VERIFICATION: jvmtiError = jvmtiError(62);
pub const JVMTI_ERROR_UNSUPPORTED_REDEFINITION_METHOD_ADDED: jvmtiError = jvmtiError(63);
pub const JVMTI_ERROR_UNSUPPORTED_REDEFINITION_SCHEMA_CHANGED: jvmtiError = jvmtiError(64);
pub const JVMTI_ERROR_INVALID_TYPESTATE: jvmtiError = jvmtiError(65);
pub const JVMTI_ERROR_UNSUPPORTED_REDEFINITION_HIERARCHY_CHANGED: jvmtiError = jvmtiError(66);
pub const JVMTI_ERROR_UNSUPPORTED_REDEFINITION_METHOD_DELETED: jvmtiError = jvmtiError(67);
pub const JVMTI_ERROR_UNSUPPORTED_VERSION: jvmtiError = jvmtiError(68);
pub const JVMTI_ERROR_NAMES_DONT_MATCH: jvmtiError = jvmtiError(69);
pub const JVMTI_ERROR_UNSUPPORTED_REDEFINITION_CLASS_MODIFIERS_CHANGED: jvmtiError = jvmtiError(70);
pub const JVMTI_ERROR_UNSUPPORTED_REDEFINITION_METHOD_MODIFIERS_CHANGED: jvmtiError =
    jvmtiError(71);
pub const JVMTI_ERROR_UNSUPPORTED_REDEFINITION_CLASS_ATTRIBUTE_CHANGED: jvmtiError = jvmtiError(72);
pub const JVMTI_ERROR_UNSUPPORTED_OPERATION: jvmtiError = jvmtiError(73);
pub const JVMTI_ERROR_UNMODIFIABLE_CLASS: jvmtiError = jvmtiError(79);
pub const JVMTI_ERROR_UNMODIFIABLE_MODULE: jvmtiError = jvmtiError(80);
pub const JVMTI_ERROR_NOT_AVAILABLE: jvmtiError = jvmtiError(98);
pub const JVMTI_ERROR_MUST_POSSESS_CAPABILITY: jvmtiError = jvmtiError(99);
pub const JVMTI_ERROR_NULL_POINTER: jvmtiError = jvmtiError(100);
pub const JVMTI_ERROR_ABSENT_INFORMATION: jvmtiError = jvmtiError(101);
pub const JVMTI_ERROR_INVALID_EVENT_TYPE: jvmtiError = jvmtiError(102);
pub const JVMTI_ERROR_ILLEGAL_ARGUMENT: jvmtiError = jvmtiError(103);
pub const JVMTI_ERROR_NATIVE_METHOD: jvmtiError = jvmtiError(104);
pub const JVMTI_ERROR_CLASS_LOADER_UNSUPPORTED: jvmtiError = jvmtiError(106);
pub const JVMTI_ERROR_OUT_OF_MEMORY: jvmtiError = jvmtiError(110);
pub const JVMTI_ERROR_ACCESS_DENIED: jvmtiError = jvmtiError(111);
pub const JVMTI_ERROR_WRONG_PHASE: jvmtiError = jvmtiError(112);
pub const JVMTI_ERROR_INTERNAL: jvmtiError = jvmtiError(113);
pub const JVMTI_ERROR_UNATTACHED_THREAD: jvmtiError = jvmtiError(115);
pub const JVMTI_ERROR_INVALID_ENVIRONMENT: jvmtiError = jvmtiError(116);
pub const JVMTI_ERROR_MAX: jvmtiError = jvmtiError(116);

impl jvmtiError {
    /// The name that `jvmti.h` has for this value.
    pub const fn name(self) -> &'static str {
        match self {
            JVMTI_ERROR_NONE => "JVMTI_ERROR_NONE",
            JVMTI_ERROR_INVALID_THREAD => "JVMTI_ERROR_INVALID_THREAD",
            JVMTI_ERROR_INVALID_THREAD_GROUP => "JVMTI_ERROR_INVALID_THREAD_GROUP",
            JVMTI_ERROR_INVALID_PRIORITY => "JVMTI_ERROR_INVALID_PRIORITY",
            JVMTI_ERROR_THREAD_NOT_SUSPENDED => "JVMTI_ERROR_THREAD_NOT_SUSPENDED",
            JVMTI_ERROR_THREAD_SUSPENDED => "JVMTI_ERROR_THREAD_SUSPENDED",
            JVMTI_ERROR_THREAD_NOT_ALIVE => "JVMTI_ERROR_THREAD_NOT_ALIVE",
            JVMTI_ERROR_INVALID_OBJECT => "JVMTI_ERROR_INVALID_OBJECT",
            JVMTI_ERROR_INVALID_CLASS => "JVMTI_ERROR_INVALID_CLASS",
            JVMTI_ERROR_CLASS_NOT_PREPARED => "JVMTI_ERROR_CLASS_NOT_PREPARED",
            JVMTI_ERROR_INVALID_METHODID => "JVMTI_ERROR_INVALID_METHODID",
            JVMTI_ERROR_INVALID_LOCATION => "JVMTI_ERROR_INVALID_LOCATION",
            JVMTI_ERROR_INVALID_FIELDID => "JVMTI_ERROR_INVALID_FIELDID",
            JVMTI_ERROR_INVALID_MODULE => "JVMTI_ERROR_INVALID_MODULE",
            JVMTI_ERROR_NO_MORE_FRAMES => "JVMTI_ERROR_NO_MORE_FRAMES",
            JVMTI_ERROR_OPAQUE_FRAME => "JVMTI_ERROR_OPAQUE_FRAME",
            JVMTI_ERROR_TYPE_MISMATCH => "JVMTI_ERROR_TYPE_MISMATCH",
            JVMTI_ERROR_INVALID_SLOT => "JVMTI_ERROR_INVALID_SLOT",
            JVMTI_ERROR_DUPLICATE => "JVMTI_ERROR_DUPLICATE",
            JVMTI_ERROR_NOT_FOUND => "JVMTI_ERROR_NOT_FOUND",
            JVMTI_ERROR_INVALID_MONITOR => "JVMTI_ERROR_INVALID_MONITOR",
            JVMTI_ERROR_NOT_MONITOR_OWNER => "JVMTI_ERROR_NOT_MONITOR_OWNER",
            JVMTI_ERROR_INTERRUPT => "JVMTI_ERROR_INTERRUPT",
            JVMTI_ERROR_INVALID_CLASS_FORMAT => "JVMTI_ERROR_INVALID_CLASS_FORMAT",
            JVMTI_ERROR_CIRCULAR_CLASS_DEFINITION => "JVMTI_ERROR_CIRCULAR_CLASS_DEFINITION",
            JVMTI_ERROR_FAILS_VERIFICATION => "JVMTI_ERROR_FAILS_VERIFICATION",
            JVMTI_ERROR_UNSUPPORTED_REDEFINITION_METHOD_ADDED => {
                "JVMTI_ERROR_UNSUPPORTED_REDEFINITION_METHOD_ADDED"
            }
            JVMTI_ERROR_UNSUPPORTED_REDEFINITION_SCHEMA_CHANGED => {
                "JVMTI_ERROR_UNSUPPORTED_REDEFINITION_SCHEMA_CHANGED"
            }
            JVMTI_ERROR_INVALID_TYPESTATE => "JVMTI_ERROR_INVALID_TYPESTATE",
            JVMTI_ERROR_UNSUPPORTED_REDEFINITION_HIERARCHY_CHANGED => {
                "JVMTI_ERROR_UNSUPPORTED_REDEFINITION_HIERARCHY_CHANGED"
            }
            JVMTI_ERROR_UNSUPPORTED_REDEFINITION_METHOD_DELETED => {
                "JVMTI_ERROR_UNSUPPORTED_REDEFINITION_METHOD_DELETED"
            }
            JVMTI_ERROR_UNSUPPORTED_VERSION => "JVMTI_ERROR_UNSUPPORTED_VERSION",
            JVMTI_ERROR_NAMES_DONT_MATCH => "JVMTI_ERROR_NAMES_DONT_MATCH",
            JVMTI_ERROR_UNSUPPORTED_REDEFINITION_CLASS_MODIFIERS_CHANGED => {
                "JVMTI_ERROR_UNSUPPORTED_REDEFINITION_CLASS_MODIFIERS_CHANGED"
            }
            JVMTI_ERROR_UNSUPPORTED_REDEFINITION_METHOD_MODIFIERS_CHANGED => {
                "JVMTI_ERROR_UNSUPPORTED_REDEFINITION_METHOD_MODIFIERS_CHANGED"
            }
            JVMTI_ERROR_UNSUPPORTED_REDEFINITION_CLASS_ATTRIBUTE_CHANGED => {
                "JVMTI_ERROR_UNSUPPORTED_REDEFINITION_CLASS_ATTRIBUTE_CHANGED"
            }
            JVMTI_ERROR_UNSUPPORTED_OPERATION => "JVMTI_ERROR_UNSUPPORTED_OPERATION",
            JVMTI_ERROR_UNMODIFIABLE_CLASS => "JVMTI_ERROR_UNMODIFIABLE_CLASS",
            JVMTI_ERROR_UNMODIFIABLE_MODULE => "JVMTI_ERROR_UNMODIFIABLE_MODULE",
            JVMTI_ERROR_NOT_AVAILABLE => "JVMTI_ERROR_NOT_AVAILABLE",
            JVMTI_ERROR_MUST_POSSESS_CAPABILITY => "JVMTI_ERROR_MUST_POSSESS_CAPABILITY",
            JVMTI_ERROR_NULL_POINTER => "JVMTI_ERROR_NULL_POINTER",
            JVMTI_ERROR_ABSENT_INFORMATION => "JVMTI_ERROR_ABSENT_INFORMATION",
            JVMTI_ERROR_INVALID_EVENT_TYPE => "JVMTI_ERROR_INVALID_EVENT_TYPE",
            JVMTI_ERROR_ILLEGAL_ARGUMENT => "JVMTI_ERROR_ILLEGAL_ARGUMENT",
            JVMTI_ERROR_NATIVE_METHOD => "JVMTI_ERROR_NATIVE_METHOD",
            JVMTI_ERROR_CLASS_LOADER_UNSUPPORTED => "JVMTI_ERROR_CLASS_LOADER_UNSUPPORTED",
            JVMTI_ERROR_OUT_OF_MEMORY => "JVMTI_ERROR_OUT_OF_MEMORY",
            JVMTI_ERROR_ACCESS_DENIED => "JVMTI_ERROR_ACCESS_DENIED",
            JVMTI_ERROR_WRONG_PHASE => "JVMTI_ERROR_WRONG_PHASE",
            JVMTI_ERROR_INTERNAL => "JVMTI_ERROR_INTERNAL",
            JVMTI_ERROR_UNATTACHED_THREAD => "JVMTI_ERROR_UNATTACHED_THREAD",
            JVMTI_ERROR_INVALID_ENVIRONMENT => "JVMTI_ERROR_INVALID_ENVIRONMENT",
            _ => "unknown jvmtiError",
        }
    }
}

#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct jvmtiEvent(pub jint);
pub const JVMTI_MIN_EVENT_TYPE_VAL: jvmtiEvent = jvmtiEvent(50);
pub const JVMTI_EVENT_VM_INIT: jvmtiEvent = jvmtiEvent(50);
pub const JVMTI_EVENT_VM_DEATH: jvmtiEvent = jvmtiEvent(51);
pub const JVMTI_EVENT_THREAD_START: jvmtiEvent = jvmtiEvent(52);
pub const JVMTI_EVENT_THREAD_END: jvmtiEvent = jvmtiEvent(53);
pub const JVMTI_EVENT_CLASS_FILE_LOAD_HOOK: jvmtiEvent = jvmtiEvent(54);
pub const JVMTI_EVENT_CLASS_LOAD: jvmtiEvent = jvmtiEvent(55);
pub const JVMTI_EVENT_CLASS_PREPARE: jvmtiEvent = jvmtiEvent(56);
pub const JVMTI_EVENT_VM_START: jvmtiEvent = jvmtiEvent(57);
pub const JVMTI_EVENT_EXCEPTION: jvmtiEvent = jvmtiEvent(58);
pub const JVMTI_EVENT_EXCEPTION_CATCH: jvmtiEvent = jvmtiEvent(59);
pub const JVMTI_EVENT_SINGLE_STEP: jvmtiEvent = jvmtiEvent(60);
pub const JVMTI_EVENT_FRAME_POP: jvmtiEvent = jvmtiEvent(61);
pub const JVMTI_EVENT_BREAKPOINT: jvmtiEvent = jvmtiEvent(62);
pub const JVMTI_EVENT_FIELD_ACCESS: jvmtiEvent = jvmtiEvent(63);
pub const JVMTI_EVENT_FIELD_MODIFICATION: jvmtiEvent = jvmtiEvent(64);
pub const JVMTI_EVENT_METHOD_ENTRY: jvmtiEvent = jvmtiEvent(65);
pub const JVMTI_EVENT_METHOD_EXIT: jvmtiEvent = jvmtiEvent(66);
pub const JVMTI_EVENT_NATIVE_METHOD_BIND: jvmtiEvent = jvmtiEvent(67);
pub const JVMTI_EVENT_COMPILED_METHOD_LOAD: jvmtiEvent = jvmtiEvent(68);
pub const JVMTI_EVENT_COMPILED_METHOD_UNLOAD: jvmtiEvent = jvmtiEvent(69);
pub const JVMTI_EVENT_DYNAMIC_CODE_GENERATED: jvmtiEvent = jvmtiEvent(70);
pub const JVMTI_EVENT_DATA_DUMP_REQUEST: jvmtiEvent = jvmtiEvent(71);
pub const JVMTI_EVENT_MONITOR_WAIT: jvmtiEvent = jvmtiEvent(73);
pub const JVMTI_EVENT_MONITOR_WAITED: jvmtiEvent = jvmtiEvent(74);
pub const JVMTI_EVENT_MONITOR_CONTENDED_ENTER: jvmtiEvent = jvmtiEvent(75);
pub const JVMTI_EVENT_MONITOR_CONTENDED_ENTERED: jvmtiEvent = jvmtiEvent(76);
pub const JVMTI_EVENT_RESOURCE_EXHAUSTED: jvmtiEvent = jvmtiEvent(80);
pub const JVMTI_EVENT_GARBAGE_COLLECTION_START: jvmtiEvent = jvmtiEvent(81);
pub const JVMTI_EVENT_GARBAGE_COLLECTION_FINISH: jvmtiEvent = jvmtiEvent(82);
pub const JVMTI_EVENT_OBJECT_FREE: jvmtiEvent = jvmtiEvent(83);
pub const JVMTI_EVENT_VM_OBJECT_ALLOC: jvmtiEvent = jvmtiEvent(84);
pub const JVMTI_EVENT_SAMPLED_OBJECT_ALLOC: jvmtiEvent = jvmtiEvent(86);
pub const JVMTI_EVENT_VIRTUAL_THREAD_START: jvmtiEvent = jvmtiEvent(87);
pub const JVMTI_EVENT_VIRTUAL_THREAD_END: jvmtiEvent = jvmtiEvent(88);
pub const JVMTI_MAX_EVENT_TYPE_VAL: jvmtiEvent = jvmtiEvent(88);

impl jvmtiEvent {
    /// The name that `jvmti.h` has for this value.
    pub const fn name(self) -> &'static str {
        match self {
            JVMTI_EVENT_VM_INIT => "JVMTI_EVENT_VM_INIT",
            JVMTI_EVENT_VM_DEATH => "JVMTI_EVENT_VM_DEATH",
            JVMTI_EVENT_THREAD_START => "JVMTI_EVENT_THREAD_START",
            JVMTI_EVENT_THREAD_END => "JVMTI_EVENT_THREAD_END",
            JVMTI_EVENT_CLASS_FILE_LOAD_HOOK => "JVMTI_EVENT_CLASS_FILE_LOAD_HOOK",
            JVMTI_EVENT_CLASS_LOAD => "JVMTI_EVENT_CLASS_LOAD",
            JVMTI_EVENT_CLASS_PREPARE => "JVMTI_EVENT_CLASS_PREPARE",
            JVMTI_EVENT_VM_START => "JVMTI_EVENT_VM_START",
            JVMTI_EVENT_EXCEPTION => "JVMTI_EVENT_EXCEPTION",
            JVMTI_EVENT_EXCEPTION_CATCH => "JVMTI_EVENT_EXCEPTION_CATCH",
            JVMTI_EVENT_SINGLE_STEP => "JVMTI_EVENT_SINGLE_STEP",
            JVMTI_EVENT_FRAME_POP => "JVMTI_EVENT_FRAME_POP",
            JVMTI_EVENT_BREAKPOINT => "JVMTI_EVENT_BREAKPOINT",
            JVMTI_EVENT_FIELD_ACCESS => "JVMTI_EVENT_FIELD_ACCESS",
            JVMTI_EVENT_FIELD_MODIFICATION => "JVMTI_EVENT_FIELD_MODIFICATION",
            JVMTI_EVENT_METHOD_ENTRY => "JVMTI_EVENT_METHOD_ENTRY",
            JVMTI_EVENT_METHOD_EXIT => "JVMTI_EVENT_METHOD_EXIT",
            JVMTI_EVENT_NATIVE_METHOD_BIND => "JVMTI_EVENT_NATIVE_METHOD_BIND",
            JVMTI_EVENT_COMPILED_METHOD_LOAD => "JVMTI_EVENT_COMPILED_METHOD_LOAD",
            JVMTI_EVENT_COMPILED_METHOD_UNLOAD => "JVMTI_EVENT_COMPILED_METHOD_UNLOAD",
            JVMTI_EVENT_DYNAMIC_CODE_GENERATED => "JVMTI_EVENT_DYNAMIC_CODE_GENERATED",
            JVMTI_EVENT_DATA_DUMP_REQUEST => "JVMTI_EVENT_DATA_DUMP_REQUEST",
            JVMTI_EVENT_MONITOR_WAIT => "JVMTI_EVENT_MONITOR_WAIT",
            JVMTI_EVENT_MONITOR_WAITED => "JVMTI_EVENT_MONITOR_WAITED",
            JVMTI_EVENT_MONITOR_CONTENDED_ENTER => "JVMTI_EVENT_MONITOR_CONTENDED_ENTER",
            JVMTI_EVENT_MONITOR_CONTENDED_ENTERED => "JVMTI_EVENT_MONITOR_CONTENDED_ENTERED",
            JVMTI_EVENT_RESOURCE_EXHAUSTED => "JVMTI_EVENT_RESOURCE_EXHAUSTED",
            JVMTI_EVENT_GARBAGE_COLLECTION_START => "JVMTI_EVENT_GARBAGE_COLLECTION_START",
            JVMTI_EVENT_GARBAGE_COLLECTION_FINISH => "JVMTI_EVENT_GARBAGE_COLLECTION_FINISH",
            JVMTI_EVENT_OBJECT_FREE => "JVMTI_EVENT_OBJECT_FREE",
            JVMTI_EVENT_VM_OBJECT_ALLOC => "JVMTI_EVENT_VM_OBJECT_ALLOC",
            JVMTI_EVENT_SAMPLED_OBJECT_ALLOC => "JVMTI_EVENT_SAMPLED_OBJECT_ALLOC",
            JVMTI_EVENT_VIRTUAL_THREAD_START => "JVMTI_EVENT_VIRTUAL_THREAD_START",
            JVMTI_EVENT_VIRTUAL_THREAD_END => "JVMTI_EVENT_VIRTUAL_THREAD_END",
            _ => "unknown jvmtiEvent",
        }
    }
}

pub type jvmtiStartFunction =
    unsafe extern "system" fn(jvmti_env: *mut jvmtiEnv, jni_env: *mut JNIEnv, arg: *mut c_void);

pub type jvmtiHeapIterationCallback = unsafe extern "system" fn(
    class_tag: jlong,
    size: jlong,
    tag_ptr: *mut jlong,
    length: jint,
    user_data: *mut c_void,
) -> jint;

pub type jvmtiHeapReferenceCallback = unsafe extern "system" fn(
    reference_kind: jvmtiHeapReferenceKind,
    reference_info: *const jvmtiHeapReferenceInfo,
    class_tag: jlong,
    referrer_class_tag: jlong,
    size: jlong,
    tag_ptr: *mut jlong,
    referrer_tag_ptr: *mut jlong,
    length: jint,
    user_data: *mut c_void,
) -> jint;

pub type jvmtiPrimitiveFieldCallback = unsafe extern "system" fn(
    kind: jvmtiHeapReferenceKind,
    info: *const jvmtiHeapReferenceInfo,
    object_class_tag: jlong,
    object_tag_ptr: *mut jlong,
    value: jvalue,
    value_type: jvmtiPrimitiveType,
    user_data: *mut c_void,
) -> jint;

pub type jvmtiArrayPrimitiveValueCallback = unsafe extern "system" fn(
    class_tag: jlong,
    size: jlong,
    tag_ptr: *mut jlong,
    element_count: jint,
    element_type: jvmtiPrimitiveType,
    elements: *const c_void,
    user_data: *mut c_void,
) -> jint;

pub type jvmtiStringPrimitiveValueCallback = unsafe extern "system" fn(
    class_tag: jlong,
    size: jlong,
    tag_ptr: *mut jlong,
    value: *const jchar,
    value_length: jint,
    user_data: *mut c_void,
) -> jint;

pub type jvmtiReservedCallback = unsafe extern "system" fn() -> jint;

pub type jvmtiHeapObjectCallback = unsafe extern "system" fn(
    class_tag: jlong,
    size: jlong,
    tag_ptr: *mut jlong,
    user_data: *mut c_void,
) -> jvmtiIterationControl;

pub type jvmtiHeapRootCallback = unsafe extern "system" fn(
    root_kind: jvmtiHeapRootKind,
    class_tag: jlong,
    size: jlong,
    tag_ptr: *mut jlong,
    user_data: *mut c_void,
) -> jvmtiIterationControl;

pub type jvmtiStackReferenceCallback = unsafe extern "system" fn(
    root_kind: jvmtiHeapRootKind,
    class_tag: jlong,
    size: jlong,
    tag_ptr: *mut jlong,
    thread_tag: jlong,
    depth: jint,
    method: jmethodID,
    slot: jint,
    user_data: *mut c_void,
) -> jvmtiIterationControl;

pub type jvmtiObjectReferenceCallback = unsafe extern "system" fn(
    reference_kind: jvmtiObjectReferenceKind,
    class_tag: jlong,
    size: jlong,
    tag_ptr: *mut jlong,
    referrer_tag: jlong,
    referrer_index: jint,
    user_data: *mut c_void,
) -> jvmtiIterationControl;

pub type jvmtiExtensionFunction = unsafe extern "C" fn(jvmti_env: *mut jvmtiEnv, ...) -> jvmtiError;

pub type jvmtiExtensionEvent = unsafe extern "C" fn(jvmti_env: *mut jvmtiEnv, ...);

pub type jvmtiEventReserved = unsafe extern "system" fn();

pub type jvmtiEventBreakpoint = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
    location: jlocation,
);

pub type jvmtiEventClassFileLoadHook = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    class_being_redefined: jclass,
    loader: jobject,
    name: *const c_char,
    protection_domain: jobject,
    class_data_len: jint,
    class_data: *const u8,
    new_class_data_len: *mut jint,
    new_class_data: *mut *mut u8,
);

pub type jvmtiEventClassLoad = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    thread: jthread,
    klass: jclass,
);

pub type jvmtiEventClassPrepare = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    thread: jthread,
    klass: jclass,
);

pub type jvmtiEventCompiledMethodLoad = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    method: jmethodID,
    code_size: jint,
    code_addr: *const c_void,
    map_length: jint,
    map: *const jvmtiAddrLocationMap,
    compile_info: *const c_void,
);

pub type jvmtiEventCompiledMethodUnload = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    method: jmethodID,
    code_addr: *const c_void,
);

pub type jvmtiEventDataDumpRequest = unsafe extern "system" fn(jvmti_env: *mut jvmtiEnv);

pub type jvmtiEventDynamicCodeGenerated = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    name: *const c_char,
    address: *const c_void,
    length: jint,
);

pub type jvmtiEventException = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
    location: jlocation,
    exception: jobject,
    catch_method: jmethodID,
    catch_location: jlocation,
);

pub type jvmtiEventExceptionCatch = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
    location: jlocation,
    exception: jobject,
);

pub type jvmtiEventFieldAccess = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
    location: jlocation,
    field_klass: jclass,
    object: jobject,
    field: jfieldID,
);

pub type jvmtiEventFieldModification = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
    location: jlocation,
    field_klass: jclass,
    object: jobject,
    field: jfieldID,
    signature_type: c_char,
    new_value: jvalue,
);

pub type jvmtiEventFramePop = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
    was_popped_by_exception: jboolean,
);

pub type jvmtiEventGarbageCollectionFinish = unsafe extern "system" fn(jvmti_env: *mut jvmtiEnv);

pub type jvmtiEventGarbageCollectionStart = unsafe extern "system" fn(jvmti_env: *mut jvmtiEnv);

pub type jvmtiEventMethodEntry = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
);

pub type jvmtiEventMethodExit = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
    was_popped_by_exception: jboolean,
    return_value: jvalue,
);

pub type jvmtiEventMonitorContendedEnter = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
);

pub type jvmtiEventMonitorContendedEntered = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
);

pub type jvmtiEventMonitorWait = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
    timeout: jlong,
);

pub type jvmtiEventMonitorWaited = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
    timed_out: jboolean,
);

pub type jvmtiEventNativeMethodBind = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
    address: *mut c_void,
    new_address_ptr: *mut *mut c_void,
);

pub type jvmtiEventObjectFree = unsafe extern "system" fn(jvmti_env: *mut jvmtiEnv, tag: jlong);

pub type jvmtiEventResourceExhausted = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    flags: jint,
    reserved: *const c_void,
    description: *const c_char,
);

pub type jvmtiEventSampledObjectAlloc = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
    object_klass: jclass,
    size: jlong,
);

pub type jvmtiEventSingleStep = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    thread: jthread,
    method: jmethodID,
    location: jlocation,
);

pub type jvmtiEventThreadEnd =
    unsafe extern "system" fn(jvmti_env: *mut jvmtiEnv, jni_env: *mut JNIEnv, thread: jthread);

pub type jvmtiEventThreadStart =
    unsafe extern "system" fn(jvmti_env: *mut jvmtiEnv, jni_env: *mut JNIEnv, thread: jthread);

pub type jvmtiEventVirtualThreadEnd = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    virtual_thread: jthread,
);

pub type jvmtiEventVirtualThreadStart = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    virtual_thread: jthread,
);

pub type jvmtiEventVMDeath =
    unsafe extern "system" fn(jvmti_env: *mut jvmtiEnv, jni_env: *mut JNIEnv);

pub type jvmtiEventVMInit =
    unsafe extern "system" fn(jvmti_env: *mut jvmtiEnv, jni_env: *mut JNIEnv, thread: jthread);

pub type jvmtiEventVMObjectAlloc = unsafe extern "system" fn(
    jvmti_env: *mut jvmtiEnv,
    jni_env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
    object_klass: jclass,
    size: jlong,
);

pub type jvmtiEventVMStart =
    unsafe extern "system" fn(jvmti_env: *mut jvmtiEnv, jni_env: *mut JNIEnv);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiThreadInfo {
    pub name: *mut c_char,
    pub priority: jint,
    pub is_daemon: jboolean,
    pub thread_group: jthreadGroup,
    pub context_class_loader: jobject,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiMonitorStackDepthInfo {
    pub monitor: jobject,
    pub stack_depth: jint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiThreadGroupInfo {
    pub parent: jthreadGroup,
    pub name: *mut c_char,
    pub max_priority: jint,
    pub is_daemon: jboolean,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiFrameInfo {
    pub method: jmethodID,
    pub location: jlocation,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiStackInfo {
    pub thread: jthread,
    pub state: jint,
    pub frame_buffer: *mut jvmtiFrameInfo,
    pub frame_count: jint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiHeapReferenceInfoField {
    pub index: jint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiHeapReferenceInfoArray {
    pub index: jint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiHeapReferenceInfoConstantPool {
    pub index: jint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiHeapReferenceInfoStackLocal {
    pub thread_tag: jlong,
    pub thread_id: jlong,
    pub depth: jint,
    pub method: jmethodID,
    pub location: jlocation,
    pub slot: jint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiHeapReferenceInfoJniLocal {
    pub thread_tag: jlong,
    pub thread_id: jlong,
    pub depth: jint,
    pub method: jmethodID,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiHeapReferenceInfoReserved {
    pub reserved1: jlong,
    pub reserved2: jlong,
    pub reserved3: jlong,
    pub reserved4: jlong,
    pub reserved5: jlong,
    pub reserved6: jlong,
    pub reserved7: jlong,
    pub reserved8: jlong,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union jvmtiHeapReferenceInfo {
    pub field: jvmtiHeapReferenceInfoField,
    pub array: jvmtiHeapReferenceInfoArray,
    pub constant_pool: jvmtiHeapReferenceInfoConstantPool,
    pub stack_local: jvmtiHeapReferenceInfoStackLocal,
    pub jni_local: jvmtiHeapReferenceInfoJniLocal,
    pub other: jvmtiHeapReferenceInfoReserved,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct jvmtiHeapCallbacks {
    pub heap_iteration_callback: Option<jvmtiHeapIterationCallback>,
    pub heap_reference_callback: Option<jvmtiHeapReferenceCallback>,
    pub primitive_field_callback: Option<jvmtiPrimitiveFieldCallback>,
    pub array_primitive_value_callback: Option<jvmtiArrayPrimitiveValueCallback>,
    pub string_primitive_value_callback: Option<jvmtiStringPrimitiveValueCallback>,
    pub reserved5: Option<jvmtiReservedCallback>,
    pub reserved6: Option<jvmtiReservedCallback>,
    pub reserved7: Option<jvmtiReservedCallback>,
    pub reserved8: Option<jvmtiReservedCallback>,
    pub reserved9: Option<jvmtiReservedCallback>,
    pub reserved10: Option<jvmtiReservedCallback>,
    pub reserved11: Option<jvmtiReservedCallback>,
    pub reserved12: Option<jvmtiReservedCallback>,
    pub reserved13: Option<jvmtiReservedCallback>,
    pub reserved14: Option<jvmtiReservedCallback>,
    pub reserved15: Option<jvmtiReservedCallback>,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiClassDefinition {
    pub klass: jclass,
    pub class_byte_count: jint,
    pub class_bytes: *const u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiMonitorUsage {
    pub owner: jthread,
    pub entry_count: jint,
    pub waiter_count: jint,
    pub waiters: *mut jthread,
    pub notify_waiter_count: jint,
    pub notify_waiters: *mut jthread,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiLineNumberEntry {
    pub start_location: jlocation,
    pub line_number: jint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiLocalVariableEntry {
    pub start_location: jlocation,
    pub length: jint,
    pub name: *mut c_char,
    pub signature: *mut c_char,
    pub generic_signature: *mut c_char,
    pub slot: jint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiParamInfo {
    pub name: *mut c_char,
    pub kind: jvmtiParamKind,
    pub base_type: jvmtiParamTypes,
    pub null_ok: jboolean,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiExtensionFunctionInfo {
    pub func: Option<jvmtiExtensionFunction>,
    pub id: *mut c_char,
    pub short_description: *mut c_char,
    pub param_count: jint,
    pub params: *mut jvmtiParamInfo,
    pub error_count: jint,
    pub errors: *mut jvmtiError,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiExtensionEventInfo {
    pub extension_event_index: jint,
    pub id: *mut c_char,
    pub short_description: *mut c_char,
    pub param_count: jint,
    pub params: *mut jvmtiParamInfo,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiTimerInfo {
    pub max_value: jlong,
    pub may_skip_forward: jboolean,
    pub may_skip_backward: jboolean,
    pub kind: jvmtiTimerKind,
    pub reserved1: jlong,
    pub reserved2: jlong,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiAddrLocationMap {
    pub start_address: *const c_void,
    pub location: jlocation,
}

/// A capability that an agent can ask a JVM for; the value is the number of its bit.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    /// `can_tag_objects`
    CanTagObjects = 0,
    /// `can_generate_field_modification_events`
    CanGenerateFieldModificationEvents = 1,
    /// `can_generate_field_access_events`
    CanGenerateFieldAccessEvents = 2,
    /// `can_get_bytecodes`
    CanGetBytecodes = 3,
    /// `can_get_synthetic_attribute`
    CanGetSyntheticAttribute = 4,
    /// `can_get_owned_monitor_info`
    CanGetOwnedMonitorInfo = 5,
    /// `can_get_current_contended_monitor`
    CanGetCurrentContendedMonitor = 6,
    /// `can_get_monitor_info`
    CanGetMonitorInfo = 7,
    /// `can_pop_frame`
    CanPopFrame = 8,
    /// `can_redefine_classes`
    CanRedefineClasses = 9,
    /// `can_signal_thread`
    CanSignalThread = 10,
    /// `can_get_source_file_name`
    CanGetSourceFileName = 11,
    /// `can_get_line_numbers`
    CanGetLineNumbers = 12,
    /// `can_get_source_debug_extension`
    CanGetSourceDebugExtension = 13,
    /// `can_access_local_variables`
    CanAccessLocalVariables = 14,
    /// `can_maintain_original_method_order`
    CanMaintainOriginalMethodOrder = 15,
    /// `can_generate_single_step_events`
    CanGenerateSingleStepEvents = 16,
    /// `can_generate_exception_events`
    CanGenerateExceptionEvents = 17,
    /// `can_generate_frame_pop_events`
    CanGenerateFramePopEvents = 18,
    /// `can_generate_breakpoint_events`
    CanGenerateBreakpointEvents = 19,
    /// `can_suspend`
    CanSuspend = 20,
    /// `can_redefine_any_class`
    CanRedefineAnyClass = 21,
    /// `can_get_current_thread_cpu_time`
    CanGetCurrentThreadCpuTime = 22,
    /// `can_get_thread_cpu_time`
    CanGetThreadCpuTime = 23,
    /// `can_generate_method_entry_events`
    CanGenerateMethodEntryEvents = 24,
    /// `can_generate_method_exit_events`
    CanGenerateMethodExitEvents = 25,
    /// `can_generate_all_class_hook_events`
    CanGenerateAllClassHookEvents = 26,
    /// `can_generate_compiled_method_load_events`
    CanGenerateCompiledMethodLoadEvents = 27,
    /// `can_generate_monitor_events`
    CanGenerateMonitorEvents = 28,
    /// `can_generate_vm_object_alloc_events`
    CanGenerateVmObjectAllocEvents = 29,
    /// `can_generate_native_method_bind_events`
    CanGenerateNativeMethodBindEvents = 30,
    /// `can_generate_garbage_collection_events`
    CanGenerateGarbageCollectionEvents = 31,
    /// `can_generate_object_free_events`
    CanGenerateObjectFreeEvents = 32,
    /// `can_force_early_return`
    CanForceEarlyReturn = 33,
    /// `can_get_owned_monitor_stack_depth_info`
    CanGetOwnedMonitorStackDepthInfo = 34,
    /// `can_get_constant_pool`
    CanGetConstantPool = 35,
    /// `can_set_native_method_prefix`
    CanSetNativeMethodPrefix = 36,
    /// `can_retransform_classes`
    CanRetransformClasses = 37,
    /// `can_retransform_any_class`
    CanRetransformAnyClass = 38,
    /// `can_generate_resource_exhaustion_heap_events`
    CanGenerateResourceExhaustionHeapEvents = 39,
    /// `can_generate_resource_exhaustion_threads_events`
    CanGenerateResourceExhaustionThreadsEvents = 40,
    /// `can_generate_early_vmstart`
    CanGenerateEarlyVmstart = 41,
    /// `can_generate_early_class_hook_events`
    CanGenerateEarlyClassHookEvents = 42,
    /// `can_generate_sampled_object_alloc_events`
    CanGenerateSampledObjectAllocEvents = 43,
    /// `can_support_virtual_threads`
    CanSupportVirtualThreads = 44,
}

impl Capability {
    /// Every capability, in the order of the bits.
    pub const ALL: [Self; 45] = [
        Self::CanTagObjects,
        Self::CanGenerateFieldModificationEvents,
        Self::CanGenerateFieldAccessEvents,
        Self::CanGetBytecodes,
        Self::CanGetSyntheticAttribute,
        Self::CanGetOwnedMonitorInfo,
        Self::CanGetCurrentContendedMonitor,
        Self::CanGetMonitorInfo,
        Self::CanPopFrame,
        Self::CanRedefineClasses,
        Self::CanSignalThread,
        Self::CanGetSourceFileName,
        Self::CanGetLineNumbers,
        Self::CanGetSourceDebugExtension,
        Self::CanAccessLocalVariables,
        Self::CanMaintainOriginalMethodOrder,
        Self::CanGenerateSingleStepEvents,
        Self::CanGenerateExceptionEvents,
        Self::CanGenerateFramePopEvents,
        Self::CanGenerateBreakpointEvents,
        Self::CanSuspend,
        Self::CanRedefineAnyClass,
        Self::CanGetCurrentThreadCpuTime,
        Self::CanGetThreadCpuTime,
        Self::CanGenerateMethodEntryEvents,
        Self::CanGenerateMethodExitEvents,
        Self::CanGenerateAllClassHookEvents,
        Self::CanGenerateCompiledMethodLoadEvents,
        Self::CanGenerateMonitorEvents,
        Self::CanGenerateVmObjectAllocEvents,
        Self::CanGenerateNativeMethodBindEvents,
        Self::CanGenerateGarbageCollectionEvents,
        Self::CanGenerateObjectFreeEvents,
        Self::CanForceEarlyReturn,
        Self::CanGetOwnedMonitorStackDepthInfo,
        Self::CanGetConstantPool,
        Self::CanSetNativeMethodPrefix,
        Self::CanRetransformClasses,
        Self::CanRetransformAnyClass,
        Self::CanGenerateResourceExhaustionHeapEvents,
        Self::CanGenerateResourceExhaustionThreadsEvents,
        Self::CanGenerateEarlyVmstart,
        Self::CanGenerateEarlyClassHookEvents,
        Self::CanGenerateSampledObjectAllocEvents,
        Self::CanSupportVirtualThreads,
    ];

    /// The name that `jvmti.h` has for this capability.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CanTagObjects => "can_tag_objects",
            Self::CanGenerateFieldModificationEvents => "can_generate_field_modification_events",
            Self::CanGenerateFieldAccessEvents => "can_generate_field_access_events",
            Self::CanGetBytecodes => "can_get_bytecodes",
            Self::CanGetSyntheticAttribute => "can_get_synthetic_attribute",
            Self::CanGetOwnedMonitorInfo => "can_get_owned_monitor_info",
            Self::CanGetCurrentContendedMonitor => "can_get_current_contended_monitor",
            Self::CanGetMonitorInfo => "can_get_monitor_info",
            Self::CanPopFrame => "can_pop_frame",
            Self::CanRedefineClasses => "can_redefine_classes",
            Self::CanSignalThread => "can_signal_thread",
            Self::CanGetSourceFileName => "can_get_source_file_name",
            Self::CanGetLineNumbers => "can_get_line_numbers",
            Self::CanGetSourceDebugExtension => "can_get_source_debug_extension",
            Self::CanAccessLocalVariables => "can_access_local_variables",
            Self::CanMaintainOriginalMethodOrder => "can_maintain_original_method_order",
            Self::CanGenerateSingleStepEvents => "can_generate_single_step_events",
            Self::CanGenerateExceptionEvents => "can_generate_exception_events",
            Self::CanGenerateFramePopEvents => "can_generate_frame_pop_events",
            Self::CanGenerateBreakpointEvents => "can_generate_breakpoint_events",
            Self::CanSuspend => "can_suspend",
            Self::CanRedefineAnyClass => "can_redefine_any_class",
            Self::CanGetCurrentThreadCpuTime => "can_get_current_thread_cpu_time",
            Self::CanGetThreadCpuTime => "can_get_thread_cpu_time",
            Self::CanGenerateMethodEntryEvents => "can_generate_method_entry_events",
            Self::CanGenerateMethodExitEvents => "can_generate_method_exit_events",
            Self::CanGenerateAllClassHookEvents => "can_generate_all_class_hook_events",
            Self::CanGenerateCompiledMethodLoadEvents => "can_generate_compiled_method_load_events",
            Self::CanGenerateMonitorEvents => "can_generate_monitor_events",
            Self::CanGenerateVmObjectAllocEvents => "can_generate_vm_object_alloc_events",
            Self::CanGenerateNativeMethodBindEvents => "can_generate_native_method_bind_events",
            Self::CanGenerateGarbageCollectionEvents => "can_generate_garbage_collection_events",
            Self::CanGenerateObjectFreeEvents => "can_generate_object_free_events",
            Self::CanForceEarlyReturn => "can_force_early_return",
            Self::CanGetOwnedMonitorStackDepthInfo => "can_get_owned_monitor_stack_depth_info",
            Self::CanGetConstantPool => "can_get_constant_pool",
            Self::CanSetNativeMethodPrefix => "can_set_native_method_prefix",
            Self::CanRetransformClasses => "can_retransform_classes",
            Self::CanRetransformAnyClass => "can_retransform_any_class",
            Self::CanGenerateResourceExhaustionHeapEvents => {
                "can_generate_resource_exhaustion_heap_events"
            }
            Self::CanGenerateResourceExhaustionThreadsEvents => {
                "can_generate_resource_exhaustion_threads_events"
            }
            Self::CanGenerateEarlyVmstart => "can_generate_early_vmstart",
            Self::CanGenerateEarlyClassHookEvents => "can_generate_early_class_hook_events",
            Self::CanGenerateSampledObjectAllocEvents => "can_generate_sampled_object_alloc_events",
            Self::CanSupportVirtualThreads => "can_support_virtual_threads",
        }
    }
}

/// The functions an agent registers for events: the slot of event `n` is number `n - 50`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct jvmtiEventCallbacks {
    /// Slot 1: VM Initialization Event.
    pub VMInit: Option<jvmtiEventVMInit>,
    /// Slot 2: VM Death Event.
    pub VMDeath: Option<jvmtiEventVMDeath>,
    /// Slot 3: Thread Start.
    pub ThreadStart: Option<jvmtiEventThreadStart>,
    /// Slot 4: Thread End.
    pub ThreadEnd: Option<jvmtiEventThreadEnd>,
    /// Slot 5: Class File Load Hook.
    pub ClassFileLoadHook: Option<jvmtiEventClassFileLoadHook>,
    /// Slot 6: Class Load.
    pub ClassLoad: Option<jvmtiEventClassLoad>,
    /// Slot 7: Class Prepare.
    pub ClassPrepare: Option<jvmtiEventClassPrepare>,
    /// Slot 8: VM Start Event.
    pub VMStart: Option<jvmtiEventVMStart>,
    /// Slot 9: Exception.
    pub Exception: Option<jvmtiEventException>,
    /// Slot 10: Exception Catch.
    pub ExceptionCatch: Option<jvmtiEventExceptionCatch>,
    /// Slot 11: Single Step.
    pub SingleStep: Option<jvmtiEventSingleStep>,
    /// Slot 12: Frame Pop.
    pub FramePop: Option<jvmtiEventFramePop>,
    /// Slot 13: Breakpoint.
    pub Breakpoint: Option<jvmtiEventBreakpoint>,
    /// Slot 14: Field Access.
    pub FieldAccess: Option<jvmtiEventFieldAccess>,
    /// Slot 15: Field Modification.
    pub FieldModification: Option<jvmtiEventFieldModification>,
    /// Slot 16: Method Entry.
    pub MethodEntry: Option<jvmtiEventMethodEntry>,
    /// Slot 17: Method Exit.
    pub MethodExit: Option<jvmtiEventMethodExit>,
    /// Slot 18: Native Method Bind.
    pub NativeMethodBind: Option<jvmtiEventNativeMethodBind>,
    /// Slot 19: Compiled Method Load.
    pub CompiledMethodLoad: Option<jvmtiEventCompiledMethodLoad>,
    /// Slot 20: Compiled Method Unload.
    pub CompiledMethodUnload: Option<jvmtiEventCompiledMethodUnload>,
    /// Slot 21: Dynamic Code Generated.
    pub DynamicCodeGenerated: Option<jvmtiEventDynamicCodeGenerated>,
    /// Slot 22: Data Dump Request.
    pub DataDumpRequest: Option<jvmtiEventDataDumpRequest>,
    /// Slot 23: Reserved.
    pub reserved72: Option<jvmtiEventReserved>,
    /// Slot 24: Monitor Wait.
    pub MonitorWait: Option<jvmtiEventMonitorWait>,
    /// Slot 25: Monitor Waited.
    pub MonitorWaited: Option<jvmtiEventMonitorWaited>,
    /// Slot 26: Monitor Contended Enter.
    pub MonitorContendedEnter: Option<jvmtiEventMonitorContendedEnter>,
    /// Slot 27: Monitor Contended Entered.
    pub MonitorContendedEntered: Option<jvmtiEventMonitorContendedEntered>,
    /// Slot 28: Reserved.
    pub reserved77: Option<jvmtiEventReserved>,
    /// Slot 29: Reserved.
    pub reserved78: Option<jvmtiEventReserved>,
    /// Slot 30: Reserved.
    pub reserved79: Option<jvmtiEventReserved>,
    /// Slot 31: Resource Exhausted.
    pub ResourceExhausted: Option<jvmtiEventResourceExhausted>,
    /// Slot 32: Garbage Collection Start.
    pub GarbageCollectionStart: Option<jvmtiEventGarbageCollectionStart>,
    /// Slot 33: Garbage Collection Finish.
    pub GarbageCollectionFinish: Option<jvmtiEventGarbageCollectionFinish>,
    /// Slot 34: Object Free.
    pub ObjectFree: Option<jvmtiEventObjectFree>,
    /// Slot 35: VM Object Allocation.
    pub VMObjectAlloc: Option<jvmtiEventVMObjectAlloc>,
    /// Slot 36: Reserved.
    pub reserved85: Option<jvmtiEventReserved>,
    /// Slot 37: Sampled Object Allocation.
    pub SampledObjectAlloc: Option<jvmtiEventSampledObjectAlloc>,
    /// Slot 38: Virtual Thread Start.
    pub VirtualThreadStart: Option<jvmtiEventVirtualThreadStart>,
    /// Slot 39: Virtual Thread End.
    pub VirtualThreadEnd: Option<jvmtiEventVirtualThreadEnd>,
}

/// The function table. A slot that the running JVM does not have is `None`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct jvmtiInterface_1 {
    /// Slot 1: Reserved.
    pub reserved1: *mut c_void,
    /// Slot 2: Set Event Notification Mode.
    pub SetEventNotificationMode: Option<
        unsafe extern "C" fn(
            env: *mut jvmtiEnv,
            mode: jvmtiEventMode,
            event_type: jvmtiEvent,
            event_thread: jthread,
            ...
        ) -> jvmtiError,
    >,
    /// Slot 3: Get All Modules.
    pub GetAllModules: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            module_count_ptr: *mut jint,
            modules_ptr: *mut *mut jobject,
        ) -> jvmtiError,
    >,
    /// Slot 4: Get All Threads.
    pub GetAllThreads: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            threads_count_ptr: *mut jint,
            threads_ptr: *mut *mut jthread,
        ) -> jvmtiError,
    >,
    /// Slot 5: Suspend Thread.
    pub SuspendThread:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, thread: jthread) -> jvmtiError>,
    /// Slot 6: Resume Thread.
    pub ResumeThread:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, thread: jthread) -> jvmtiError>,
    /// Slot 7: Stop Thread.
    pub StopThread: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            exception: jobject,
        ) -> jvmtiError,
    >,
    /// Slot 8: Interrupt Thread.
    pub InterruptThread:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, thread: jthread) -> jvmtiError>,
    /// Slot 9: Get Thread Info.
    pub GetThreadInfo: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            info_ptr: *mut jvmtiThreadInfo,
        ) -> jvmtiError,
    >,
    /// Slot 10: Get Owned Monitor Info.
    pub GetOwnedMonitorInfo: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            owned_monitor_count_ptr: *mut jint,
            owned_monitors_ptr: *mut *mut jobject,
        ) -> jvmtiError,
    >,
    /// Slot 11: Get Current Contended Monitor.
    pub GetCurrentContendedMonitor: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            monitor_ptr: *mut jobject,
        ) -> jvmtiError,
    >,
    /// Slot 12: Run Agent Thread.
    pub RunAgentThread: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            proc: Option<jvmtiStartFunction>,
            arg: *const c_void,
            priority: jint,
        ) -> jvmtiError,
    >,
    /// Slot 13: Get Top Thread Groups.
    pub GetTopThreadGroups: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            group_count_ptr: *mut jint,
            groups_ptr: *mut *mut jthreadGroup,
        ) -> jvmtiError,
    >,
    /// Slot 14: Get Thread Group Info.
    pub GetThreadGroupInfo: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            group: jthreadGroup,
            info_ptr: *mut jvmtiThreadGroupInfo,
        ) -> jvmtiError,
    >,
    /// Slot 15: Get Thread Group Children.
    pub GetThreadGroupChildren: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            group: jthreadGroup,
            thread_count_ptr: *mut jint,
            threads_ptr: *mut *mut jthread,
            group_count_ptr: *mut jint,
            groups_ptr: *mut *mut jthreadGroup,
        ) -> jvmtiError,
    >,
    /// Slot 16: Get Frame Count.
    pub GetFrameCount: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            count_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    /// Slot 17: Get Thread State.
    pub GetThreadState: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            thread_state_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    /// Slot 18: Get Current Thread.
    pub GetCurrentThread: Option<
        unsafe extern "system" fn(env: *mut jvmtiEnv, thread_ptr: *mut jthread) -> jvmtiError,
    >,
    /// Slot 19: Get Frame Location.
    pub GetFrameLocation: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            method_ptr: *mut jmethodID,
            location_ptr: *mut jlocation,
        ) -> jvmtiError,
    >,
    /// Slot 20: Notify Frame Pop.
    pub NotifyFramePop: Option<
        unsafe extern "system" fn(env: *mut jvmtiEnv, thread: jthread, depth: jint) -> jvmtiError,
    >,
    /// Slot 21: Get Local Variable - Object.
    pub GetLocalObject: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value_ptr: *mut jobject,
        ) -> jvmtiError,
    >,
    /// Slot 22: Get Local Variable - Int.
    pub GetLocalInt: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    /// Slot 23: Get Local Variable - Long.
    pub GetLocalLong: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value_ptr: *mut jlong,
        ) -> jvmtiError,
    >,
    /// Slot 24: Get Local Variable - Float.
    pub GetLocalFloat: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value_ptr: *mut jfloat,
        ) -> jvmtiError,
    >,
    /// Slot 25: Get Local Variable - Double.
    pub GetLocalDouble: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value_ptr: *mut jdouble,
        ) -> jvmtiError,
    >,
    /// Slot 26: Set Local Variable - Object.
    pub SetLocalObject: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value: jobject,
        ) -> jvmtiError,
    >,
    /// Slot 27: Set Local Variable - Int.
    pub SetLocalInt: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value: jint,
        ) -> jvmtiError,
    >,
    /// Slot 28: Set Local Variable - Long.
    pub SetLocalLong: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value: jlong,
        ) -> jvmtiError,
    >,
    /// Slot 29: Set Local Variable - Float.
    pub SetLocalFloat: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value: jfloat,
        ) -> jvmtiError,
    >,
    /// Slot 30: Set Local Variable - Double.
    pub SetLocalDouble: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            slot: jint,
            value: jdouble,
        ) -> jvmtiError,
    >,
    /// Slot 31: Create Raw Monitor.
    pub CreateRawMonitor: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            name: *const c_char,
            monitor_ptr: *mut jrawMonitorID,
        ) -> jvmtiError,
    >,
    /// Slot 32: Destroy Raw Monitor.
    pub DestroyRawMonitor:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, monitor: jrawMonitorID) -> jvmtiError>,
    /// Slot 33: Raw Monitor Enter.
    pub RawMonitorEnter:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, monitor: jrawMonitorID) -> jvmtiError>,
    /// Slot 34: Raw Monitor Exit.
    pub RawMonitorExit:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, monitor: jrawMonitorID) -> jvmtiError>,
    /// Slot 35: Raw Monitor Wait.
    pub RawMonitorWait: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            monitor: jrawMonitorID,
            millis: jlong,
        ) -> jvmtiError,
    >,
    /// Slot 36: Raw Monitor Notify.
    pub RawMonitorNotify:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, monitor: jrawMonitorID) -> jvmtiError>,
    /// Slot 37: Raw Monitor Notify All.
    pub RawMonitorNotifyAll:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, monitor: jrawMonitorID) -> jvmtiError>,
    /// Slot 38: Set Breakpoint.
    pub SetBreakpoint: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            location: jlocation,
        ) -> jvmtiError,
    >,
    /// Slot 39: Clear Breakpoint.
    pub ClearBreakpoint: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            location: jlocation,
        ) -> jvmtiError,
    >,
    /// Slot 40: Get Named Module.
    pub GetNamedModule: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            class_loader: jobject,
            package_name: *const c_char,
            module_ptr: *mut jobject,
        ) -> jvmtiError,
    >,
    /// Slot 41: Set Field Access Watch.
    pub SetFieldAccessWatch: Option<
        unsafe extern "system" fn(env: *mut jvmtiEnv, klass: jclass, field: jfieldID) -> jvmtiError,
    >,
    /// Slot 42: Clear Field Access Watch.
    pub ClearFieldAccessWatch: Option<
        unsafe extern "system" fn(env: *mut jvmtiEnv, klass: jclass, field: jfieldID) -> jvmtiError,
    >,
    /// Slot 43: Set Field Modification Watch.
    pub SetFieldModificationWatch: Option<
        unsafe extern "system" fn(env: *mut jvmtiEnv, klass: jclass, field: jfieldID) -> jvmtiError,
    >,
    /// Slot 44: Clear Field Modification Watch.
    pub ClearFieldModificationWatch: Option<
        unsafe extern "system" fn(env: *mut jvmtiEnv, klass: jclass, field: jfieldID) -> jvmtiError,
    >,
    /// Slot 45: Is Modifiable Class.
    pub IsModifiableClass: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            is_modifiable_class_ptr: *mut jboolean,
        ) -> jvmtiError,
    >,
    /// Slot 46: Allocate.
    pub Allocate: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            size: jlong,
            mem_ptr: *mut *mut u8,
        ) -> jvmtiError,
    >,
    /// Slot 47: Deallocate.
    pub Deallocate:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, mem: *mut u8) -> jvmtiError>,
    /// Slot 48: Get Class Signature.
    pub GetClassSignature: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            signature_ptr: *mut *mut c_char,
            generic_ptr: *mut *mut c_char,
        ) -> jvmtiError,
    >,
    /// Slot 49: Get Class Status.
    pub GetClassStatus: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            status_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    /// Slot 50: Get Source File Name.
    pub GetSourceFileName: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            source_name_ptr: *mut *mut c_char,
        ) -> jvmtiError,
    >,
    /// Slot 51: Get Class Modifiers.
    pub GetClassModifiers: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            modifiers_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    /// Slot 52: Get Class Methods.
    pub GetClassMethods: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            method_count_ptr: *mut jint,
            methods_ptr: *mut *mut jmethodID,
        ) -> jvmtiError,
    >,
    /// Slot 53: Get Class Fields.
    pub GetClassFields: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            field_count_ptr: *mut jint,
            fields_ptr: *mut *mut jfieldID,
        ) -> jvmtiError,
    >,
    /// Slot 54: Get Implemented Interfaces.
    pub GetImplementedInterfaces: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            interface_count_ptr: *mut jint,
            interfaces_ptr: *mut *mut jclass,
        ) -> jvmtiError,
    >,
    /// Slot 55: Is Interface.
    pub IsInterface: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            is_interface_ptr: *mut jboolean,
        ) -> jvmtiError,
    >,
    /// Slot 56: Is Array Class.
    pub IsArrayClass: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            is_array_class_ptr: *mut jboolean,
        ) -> jvmtiError,
    >,
    /// Slot 57: Get Class Loader.
    pub GetClassLoader: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            classloader_ptr: *mut jobject,
        ) -> jvmtiError,
    >,
    /// Slot 58: Get Object Hash Code.
    pub GetObjectHashCode: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            object: jobject,
            hash_code_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    /// Slot 59: Get Object Monitor Usage.
    pub GetObjectMonitorUsage: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            object: jobject,
            info_ptr: *mut jvmtiMonitorUsage,
        ) -> jvmtiError,
    >,
    /// Slot 60: Get Field Name (and Signature).
    pub GetFieldName: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            field: jfieldID,
            name_ptr: *mut *mut c_char,
            signature_ptr: *mut *mut c_char,
            generic_ptr: *mut *mut c_char,
        ) -> jvmtiError,
    >,
    /// Slot 61: Get Field Declaring Class.
    pub GetFieldDeclaringClass: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            field: jfieldID,
            declaring_class_ptr: *mut jclass,
        ) -> jvmtiError,
    >,
    /// Slot 62: Get Field Modifiers.
    pub GetFieldModifiers: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            field: jfieldID,
            modifiers_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    /// Slot 63: Is Field Synthetic.
    pub IsFieldSynthetic: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            field: jfieldID,
            is_synthetic_ptr: *mut jboolean,
        ) -> jvmtiError,
    >,
    /// Slot 64: Get Method Name (and Signature).
    pub GetMethodName: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            name_ptr: *mut *mut c_char,
            signature_ptr: *mut *mut c_char,
            generic_ptr: *mut *mut c_char,
        ) -> jvmtiError,
    >,
    /// Slot 65: Get Method Declaring Class.
    pub GetMethodDeclaringClass: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            declaring_class_ptr: *mut jclass,
        ) -> jvmtiError,
    >,
    /// Slot 66: Get Method Modifiers.
    pub GetMethodModifiers: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            modifiers_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    /// Slot 67: Clear Frame Pop.
    pub ClearAllFramePops:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, thread: jthread) -> jvmtiError>,
    /// Slot 68: Get Max Locals.
    pub GetMaxLocals: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            max_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    /// Slot 69: Get Arguments Size.
    pub GetArgumentsSize: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            size_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    /// Slot 70: Get Line Number Table.
    pub GetLineNumberTable: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            entry_count_ptr: *mut jint,
            table_ptr: *mut *mut jvmtiLineNumberEntry,
        ) -> jvmtiError,
    >,
    /// Slot 71: Get Method Location.
    pub GetMethodLocation: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            start_location_ptr: *mut jlocation,
            end_location_ptr: *mut jlocation,
        ) -> jvmtiError,
    >,
    /// Slot 72: Get Local Variable Table.
    pub GetLocalVariableTable: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            entry_count_ptr: *mut jint,
            table_ptr: *mut *mut jvmtiLocalVariableEntry,
        ) -> jvmtiError,
    >,
    /// Slot 73: Set Native Method Prefix.
    pub SetNativeMethodPrefix:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, prefix: *const c_char) -> jvmtiError>,
    /// Slot 74: Set Native Method Prefixes.
    pub SetNativeMethodPrefixes: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            prefix_count: jint,
            prefixes: *mut *mut c_char,
        ) -> jvmtiError,
    >,
    /// Slot 75: Get Bytecodes.
    pub GetBytecodes: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            bytecode_count_ptr: *mut jint,
            bytecodes_ptr: *mut *mut u8,
        ) -> jvmtiError,
    >,
    /// Slot 76: Is Method Native.
    pub IsMethodNative: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            is_native_ptr: *mut jboolean,
        ) -> jvmtiError,
    >,
    /// Slot 77: Is Method Synthetic.
    pub IsMethodSynthetic: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            is_synthetic_ptr: *mut jboolean,
        ) -> jvmtiError,
    >,
    /// Slot 78: Get Loaded Classes.
    pub GetLoadedClasses: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            class_count_ptr: *mut jint,
            classes_ptr: *mut *mut jclass,
        ) -> jvmtiError,
    >,
    /// Slot 79: Get Classloader Classes.
    pub GetClassLoaderClasses: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            initiating_loader: jobject,
            class_count_ptr: *mut jint,
            classes_ptr: *mut *mut jclass,
        ) -> jvmtiError,
    >,
    /// Slot 80: Pop Frame.
    pub PopFrame:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, thread: jthread) -> jvmtiError>,
    /// Slot 81: Force Early Return - Object.
    pub ForceEarlyReturnObject: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            value: jobject,
        ) -> jvmtiError,
    >,
    /// Slot 82: Force Early Return - Int.
    pub ForceEarlyReturnInt: Option<
        unsafe extern "system" fn(env: *mut jvmtiEnv, thread: jthread, value: jint) -> jvmtiError,
    >,
    /// Slot 83: Force Early Return - Long.
    pub ForceEarlyReturnLong: Option<
        unsafe extern "system" fn(env: *mut jvmtiEnv, thread: jthread, value: jlong) -> jvmtiError,
    >,
    /// Slot 84: Force Early Return - Float.
    pub ForceEarlyReturnFloat: Option<
        unsafe extern "system" fn(env: *mut jvmtiEnv, thread: jthread, value: jfloat) -> jvmtiError,
    >,
    /// Slot 85: Force Early Return - Double.
    pub ForceEarlyReturnDouble: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            value: jdouble,
        ) -> jvmtiError,
    >,
    /// Slot 86: Force Early Return - Void.
    pub ForceEarlyReturnVoid:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, thread: jthread) -> jvmtiError>,
    /// Slot 87: Redefine Classes.
    pub RedefineClasses: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            class_count: jint,
            class_definitions: *const jvmtiClassDefinition,
        ) -> jvmtiError,
    >,
    /// Slot 88: Get Version Number.
    pub GetVersionNumber:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, version_ptr: *mut jint) -> jvmtiError>,
    /// Slot 89: Get Capabilities.
    pub GetCapabilities: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            capabilities_ptr: *mut Capabilities,
        ) -> jvmtiError,
    >,
    /// Slot 90: Get Source Debug Extension.
    pub GetSourceDebugExtension: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            source_debug_extension_ptr: *mut *mut c_char,
        ) -> jvmtiError,
    >,
    /// Slot 91: Is Method Obsolete.
    pub IsMethodObsolete: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            method: jmethodID,
            is_obsolete_ptr: *mut jboolean,
        ) -> jvmtiError,
    >,
    /// Slot 92: Suspend Thread List.
    pub SuspendThreadList: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            request_count: jint,
            request_list: *const jthread,
            results: *mut jvmtiError,
        ) -> jvmtiError,
    >,
    /// Slot 93: Resume Thread List.
    pub ResumeThreadList: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            request_count: jint,
            request_list: *const jthread,
            results: *mut jvmtiError,
        ) -> jvmtiError,
    >,
    /// Slot 94: Add Module Reads.
    pub AddModuleReads: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            module: jobject,
            to_module: jobject,
        ) -> jvmtiError,
    >,
    /// Slot 95: Add Module Exports.
    pub AddModuleExports: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            module: jobject,
            pkg_name: *const c_char,
            to_module: jobject,
        ) -> jvmtiError,
    >,
    /// Slot 96: Add Module Opens.
    pub AddModuleOpens: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            module: jobject,
            pkg_name: *const c_char,
            to_module: jobject,
        ) -> jvmtiError,
    >,
    /// Slot 97: Add Module Uses.
    pub AddModuleUses: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            module: jobject,
            service: jclass,
        ) -> jvmtiError,
    >,
    /// Slot 98: Add Module Provides.
    pub AddModuleProvides: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            module: jobject,
            service: jclass,
            impl_class: jclass,
        ) -> jvmtiError,
    >,
    /// Slot 99: Is Modifiable Module.
    pub IsModifiableModule: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            module: jobject,
            is_modifiable_module_ptr: *mut jboolean,
        ) -> jvmtiError,
    >,
    /// Slot 100: Get All Stack Traces.
    pub GetAllStackTraces: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            max_frame_count: jint,
            stack_info_ptr: *mut *mut jvmtiStackInfo,
            thread_count_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    /// Slot 101: Get Thread List Stack Traces.
    pub GetThreadListStackTraces: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread_count: jint,
            thread_list: *const jthread,
            max_frame_count: jint,
            stack_info_ptr: *mut *mut jvmtiStackInfo,
        ) -> jvmtiError,
    >,
    /// Slot 102: Get Thread Local Storage.
    pub GetThreadLocalStorage: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            data_ptr: *mut *mut c_void,
        ) -> jvmtiError,
    >,
    /// Slot 103: Set Thread Local Storage.
    pub SetThreadLocalStorage: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            data: *const c_void,
        ) -> jvmtiError,
    >,
    /// Slot 104: Get Stack Trace.
    pub GetStackTrace: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            start_depth: jint,
            max_frame_count: jint,
            frame_buffer: *mut jvmtiFrameInfo,
            count_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    /// Slot 105: Reserved.
    pub reserved105: *mut c_void,
    /// Slot 106: Get Tag.
    pub GetTag: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            object: jobject,
            tag_ptr: *mut jlong,
        ) -> jvmtiError,
    >,
    /// Slot 107: Set Tag.
    pub SetTag: Option<
        unsafe extern "system" fn(env: *mut jvmtiEnv, object: jobject, tag: jlong) -> jvmtiError,
    >,
    /// Slot 108: Force Garbage Collection.
    pub ForceGarbageCollection: Option<unsafe extern "system" fn(env: *mut jvmtiEnv) -> jvmtiError>,
    /// Slot 109: Iterate Over Objects Reachable From Object.
    pub IterateOverObjectsReachableFromObject: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            object: jobject,
            object_reference_callback: Option<jvmtiObjectReferenceCallback>,
            user_data: *const c_void,
        ) -> jvmtiError,
    >,
    /// Slot 110: Iterate Over Reachable Objects.
    pub IterateOverReachableObjects: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            heap_root_callback: Option<jvmtiHeapRootCallback>,
            stack_ref_callback: Option<jvmtiStackReferenceCallback>,
            object_ref_callback: Option<jvmtiObjectReferenceCallback>,
            user_data: *const c_void,
        ) -> jvmtiError,
    >,
    /// Slot 111: Iterate Over Heap.
    pub IterateOverHeap: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            object_filter: jvmtiHeapObjectFilter,
            heap_object_callback: Option<jvmtiHeapObjectCallback>,
            user_data: *const c_void,
        ) -> jvmtiError,
    >,
    /// Slot 112: Iterate Over Instances Of Class.
    pub IterateOverInstancesOfClass: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            object_filter: jvmtiHeapObjectFilter,
            heap_object_callback: Option<jvmtiHeapObjectCallback>,
            user_data: *const c_void,
        ) -> jvmtiError,
    >,
    /// Slot 113: Reserved.
    pub reserved113: *mut c_void,
    /// Slot 114: Get Objects With Tags.
    pub GetObjectsWithTags: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            tag_count: jint,
            tags: *const jlong,
            count_ptr: *mut jint,
            object_result_ptr: *mut *mut jobject,
            tag_result_ptr: *mut *mut jlong,
        ) -> jvmtiError,
    >,
    /// Slot 115: Follow References.
    pub FollowReferences: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            heap_filter: jint,
            klass: jclass,
            initial_object: jobject,
            callbacks: *const jvmtiHeapCallbacks,
            user_data: *const c_void,
        ) -> jvmtiError,
    >,
    /// Slot 116: Iterate Through Heap.
    pub IterateThroughHeap: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            heap_filter: jint,
            klass: jclass,
            callbacks: *const jvmtiHeapCallbacks,
            user_data: *const c_void,
        ) -> jvmtiError,
    >,
    /// Slot 117: Reserved.
    pub reserved117: *mut c_void,
    /// Slot 118: Suspend All Virtual Threads.
    pub SuspendAllVirtualThreads: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            except_count: jint,
            except_list: *const jthread,
        ) -> jvmtiError,
    >,
    /// Slot 119: Resume All Virtual Threads.
    pub ResumeAllVirtualThreads: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            except_count: jint,
            except_list: *const jthread,
        ) -> jvmtiError,
    >,
    /// Slot 120: Set JNI Function Table.
    pub SetJNIFunctionTable: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            function_table: *const JNINativeInterface_,
        ) -> jvmtiError,
    >,
    /// Slot 121: Get JNI Function Table.
    pub GetJNIFunctionTable: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            function_table: *mut *mut JNINativeInterface_,
        ) -> jvmtiError,
    >,
    /// Slot 122: Set Event Callbacks.
    pub SetEventCallbacks: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            callbacks: *const jvmtiEventCallbacks,
            size_of_callbacks: jint,
        ) -> jvmtiError,
    >,
    /// Slot 123: Generate Events.
    pub GenerateEvents:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, event_type: jvmtiEvent) -> jvmtiError>,
    /// Slot 124: Get Extension Functions.
    pub GetExtensionFunctions: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            extension_count_ptr: *mut jint,
            extensions: *mut *mut jvmtiExtensionFunctionInfo,
        ) -> jvmtiError,
    >,
    /// Slot 125: Get Extension Events.
    pub GetExtensionEvents: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            extension_count_ptr: *mut jint,
            extensions: *mut *mut jvmtiExtensionEventInfo,
        ) -> jvmtiError,
    >,
    /// Slot 126: Set Extension Event Callback.
    pub SetExtensionEventCallback: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            extension_event_index: jint,
            callback: Option<jvmtiExtensionEvent>,
        ) -> jvmtiError,
    >,
    /// Slot 127: Dispose Environment.
    pub DisposeEnvironment: Option<unsafe extern "system" fn(env: *mut jvmtiEnv) -> jvmtiError>,
    /// Slot 128: Get Error Name.
    pub GetErrorName: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            error: jvmtiError,
            name_ptr: *mut *mut c_char,
        ) -> jvmtiError,
    >,
    /// Slot 129: Get JLocation Format.
    pub GetJLocationFormat: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            format_ptr: *mut jvmtiJlocationFormat,
        ) -> jvmtiError,
    >,
    /// Slot 130: Get System Properties.
    pub GetSystemProperties: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            count_ptr: *mut jint,
            property_ptr: *mut *mut *mut c_char,
        ) -> jvmtiError,
    >,
    /// Slot 131: Get System Property.
    pub GetSystemProperty: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            property: *const c_char,
            value_ptr: *mut *mut c_char,
        ) -> jvmtiError,
    >,
    /// Slot 132: Set System Property.
    pub SetSystemProperty: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            property: *const c_char,
            value_ptr: *const c_char,
        ) -> jvmtiError,
    >,
    /// Slot 133: Get Phase.
    pub GetPhase: Option<
        unsafe extern "system" fn(env: *mut jvmtiEnv, phase_ptr: *mut jvmtiPhase) -> jvmtiError,
    >,
    /// Slot 134: Get Current Thread CPU Timer Information.
    pub GetCurrentThreadCpuTimerInfo: Option<
        unsafe extern "system" fn(env: *mut jvmtiEnv, info_ptr: *mut jvmtiTimerInfo) -> jvmtiError,
    >,
    /// Slot 135: Get Current Thread CPU Time.
    pub GetCurrentThreadCpuTime:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, nanos_ptr: *mut jlong) -> jvmtiError>,
    /// Slot 136: Get Thread CPU Timer Information.
    pub GetThreadCpuTimerInfo: Option<
        unsafe extern "system" fn(env: *mut jvmtiEnv, info_ptr: *mut jvmtiTimerInfo) -> jvmtiError,
    >,
    /// Slot 137: Get Thread CPU Time.
    pub GetThreadCpuTime: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            nanos_ptr: *mut jlong,
        ) -> jvmtiError,
    >,
    /// Slot 138: Get Timer Information.
    pub GetTimerInfo: Option<
        unsafe extern "system" fn(env: *mut jvmtiEnv, info_ptr: *mut jvmtiTimerInfo) -> jvmtiError,
    >,
    /// Slot 139: Get Time.
    pub GetTime:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, nanos_ptr: *mut jlong) -> jvmtiError>,
    /// Slot 140: Get Potential Capabilities.
    pub GetPotentialCapabilities: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            capabilities_ptr: *mut Capabilities,
        ) -> jvmtiError,
    >,
    /// Slot 141: Reserved.
    pub reserved141: *mut c_void,
    /// Slot 142: Add Capabilities.
    pub AddCapabilities: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            capabilities_ptr: *const Capabilities,
        ) -> jvmtiError,
    >,
    /// Slot 143: Relinquish Capabilities.
    pub RelinquishCapabilities: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            capabilities_ptr: *const Capabilities,
        ) -> jvmtiError,
    >,
    /// Slot 144: Get Available Processors.
    pub GetAvailableProcessors: Option<
        unsafe extern "system" fn(env: *mut jvmtiEnv, processor_count_ptr: *mut jint) -> jvmtiError,
    >,
    /// Slot 145: Get Class Version Numbers.
    pub GetClassVersionNumbers: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            minor_version_ptr: *mut jint,
            major_version_ptr: *mut jint,
        ) -> jvmtiError,
    >,
    /// Slot 146: Get Constant Pool.
    pub GetConstantPool: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            klass: jclass,
            constant_pool_count_ptr: *mut jint,
            constant_pool_byte_count_ptr: *mut jint,
            constant_pool_bytes_ptr: *mut *mut u8,
        ) -> jvmtiError,
    >,
    /// Slot 147: Get Environment Local Storage.
    pub GetEnvironmentLocalStorage: Option<
        unsafe extern "system" fn(env: *mut jvmtiEnv, data_ptr: *mut *mut c_void) -> jvmtiError,
    >,
    /// Slot 148: Set Environment Local Storage.
    pub SetEnvironmentLocalStorage:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, data: *const c_void) -> jvmtiError>,
    /// Slot 149: Add To Bootstrap Class Loader Search.
    pub AddToBootstrapClassLoaderSearch:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, segment: *const c_char) -> jvmtiError>,
    /// Slot 150: Set Verbose Flag.
    pub SetVerboseFlag: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            flag: jvmtiVerboseFlag,
            value: jboolean,
        ) -> jvmtiError,
    >,
    /// Slot 151: Add To System Class Loader Search.
    pub AddToSystemClassLoaderSearch:
        Option<unsafe extern "system" fn(env: *mut jvmtiEnv, segment: *const c_char) -> jvmtiError>,
    /// Slot 152: Retransform Classes.
    pub RetransformClasses: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            class_count: jint,
            classes: *const jclass,
        ) -> jvmtiError,
    >,
    /// Slot 153: Get Owned Monitor Stack Depth Info.
    pub GetOwnedMonitorStackDepthInfo: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            monitor_info_count_ptr: *mut jint,
            monitor_info_ptr: *mut *mut jvmtiMonitorStackDepthInfo,
        ) -> jvmtiError,
    >,
    /// Slot 154: Get Object Size.
    pub GetObjectSize: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            object: jobject,
            size_ptr: *mut jlong,
        ) -> jvmtiError,
    >,
    /// Slot 155: Get Local Instance.
    pub GetLocalInstance: Option<
        unsafe extern "system" fn(
            env: *mut jvmtiEnv,
            thread: jthread,
            depth: jint,
            value_ptr: *mut jobject,
        ) -> jvmtiError,
    >,
    /// Slot 156: Set Heap Sampling Interval.
    pub SetHeapSamplingInterval: Option<
        unsafe extern "system" fn(env: *mut jvmtiEnv, sampling_interval: jint) -> jvmtiError,
    >,
}

/// Each slot of [`jvmtiEventCallbacks`] with its place in bytes.
pub const CALLBACK_OFFSETS: [(&str, usize); 39] = [
    ("VMInit", offset_of!(jvmtiEventCallbacks, VMInit)),
    ("VMDeath", offset_of!(jvmtiEventCallbacks, VMDeath)),
    ("ThreadStart", offset_of!(jvmtiEventCallbacks, ThreadStart)),
    ("ThreadEnd", offset_of!(jvmtiEventCallbacks, ThreadEnd)),
    ("ClassFileLoadHook", offset_of!(jvmtiEventCallbacks, ClassFileLoadHook)),
    ("ClassLoad", offset_of!(jvmtiEventCallbacks, ClassLoad)),
    ("ClassPrepare", offset_of!(jvmtiEventCallbacks, ClassPrepare)),
    ("VMStart", offset_of!(jvmtiEventCallbacks, VMStart)),
    ("Exception", offset_of!(jvmtiEventCallbacks, Exception)),
    ("ExceptionCatch", offset_of!(jvmtiEventCallbacks, ExceptionCatch)),
    ("SingleStep", offset_of!(jvmtiEventCallbacks, SingleStep)),
    ("FramePop", offset_of!(jvmtiEventCallbacks, FramePop)),
    ("Breakpoint", offset_of!(jvmtiEventCallbacks, Breakpoint)),
    ("FieldAccess", offset_of!(jvmtiEventCallbacks, FieldAccess)),
    ("FieldModification", offset_of!(jvmtiEventCallbacks, FieldModification)),
    ("MethodEntry", offset_of!(jvmtiEventCallbacks, MethodEntry)),
    ("MethodExit", offset_of!(jvmtiEventCallbacks, MethodExit)),
    ("NativeMethodBind", offset_of!(jvmtiEventCallbacks, NativeMethodBind)),
    ("CompiledMethodLoad", offset_of!(jvmtiEventCallbacks, CompiledMethodLoad)),
    ("CompiledMethodUnload", offset_of!(jvmtiEventCallbacks, CompiledMethodUnload)),
    ("DynamicCodeGenerated", offset_of!(jvmtiEventCallbacks, DynamicCodeGenerated)),
    ("DataDumpRequest", offset_of!(jvmtiEventCallbacks, DataDumpRequest)),
    ("reserved72", offset_of!(jvmtiEventCallbacks, reserved72)),
    ("MonitorWait", offset_of!(jvmtiEventCallbacks, MonitorWait)),
    ("MonitorWaited", offset_of!(jvmtiEventCallbacks, MonitorWaited)),
    ("MonitorContendedEnter", offset_of!(jvmtiEventCallbacks, MonitorContendedEnter)),
    ("MonitorContendedEntered", offset_of!(jvmtiEventCallbacks, MonitorContendedEntered)),
    ("reserved77", offset_of!(jvmtiEventCallbacks, reserved77)),
    ("reserved78", offset_of!(jvmtiEventCallbacks, reserved78)),
    ("reserved79", offset_of!(jvmtiEventCallbacks, reserved79)),
    ("ResourceExhausted", offset_of!(jvmtiEventCallbacks, ResourceExhausted)),
    ("GarbageCollectionStart", offset_of!(jvmtiEventCallbacks, GarbageCollectionStart)),
    ("GarbageCollectionFinish", offset_of!(jvmtiEventCallbacks, GarbageCollectionFinish)),
    ("ObjectFree", offset_of!(jvmtiEventCallbacks, ObjectFree)),
    ("VMObjectAlloc", offset_of!(jvmtiEventCallbacks, VMObjectAlloc)),
    ("reserved85", offset_of!(jvmtiEventCallbacks, reserved85)),
    ("SampledObjectAlloc", offset_of!(jvmtiEventCallbacks, SampledObjectAlloc)),
    ("VirtualThreadStart", offset_of!(jvmtiEventCallbacks, VirtualThreadStart)),
    ("VirtualThreadEnd", offset_of!(jvmtiEventCallbacks, VirtualThreadEnd)),
];

/// Each slot of [`jvmtiInterface_1`] with its place in bytes.
pub const FUNCTION_OFFSETS: [(&str, usize); 156] = [
    ("reserved1", offset_of!(jvmtiInterface_1, reserved1)),
    ("SetEventNotificationMode", offset_of!(jvmtiInterface_1, SetEventNotificationMode)),
    ("GetAllModules", offset_of!(jvmtiInterface_1, GetAllModules)),
    ("GetAllThreads", offset_of!(jvmtiInterface_1, GetAllThreads)),
    ("SuspendThread", offset_of!(jvmtiInterface_1, SuspendThread)),
    ("ResumeThread", offset_of!(jvmtiInterface_1, ResumeThread)),
    ("StopThread", offset_of!(jvmtiInterface_1, StopThread)),
    ("InterruptThread", offset_of!(jvmtiInterface_1, InterruptThread)),
    ("GetThreadInfo", offset_of!(jvmtiInterface_1, GetThreadInfo)),
    ("GetOwnedMonitorInfo", offset_of!(jvmtiInterface_1, GetOwnedMonitorInfo)),
    ("GetCurrentContendedMonitor", offset_of!(jvmtiInterface_1, GetCurrentContendedMonitor)),
    ("RunAgentThread", offset_of!(jvmtiInterface_1, RunAgentThread)),
    ("GetTopThreadGroups", offset_of!(jvmtiInterface_1, GetTopThreadGroups)),
    ("GetThreadGroupInfo", offset_of!(jvmtiInterface_1, GetThreadGroupInfo)),
    ("GetThreadGroupChildren", offset_of!(jvmtiInterface_1, GetThreadGroupChildren)),
    ("GetFrameCount", offset_of!(jvmtiInterface_1, GetFrameCount)),
    ("GetThreadState", offset_of!(jvmtiInterface_1, GetThreadState)),
    ("GetCurrentThread", offset_of!(jvmtiInterface_1, GetCurrentThread)),
    ("GetFrameLocation", offset_of!(jvmtiInterface_1, GetFrameLocation)),
    ("NotifyFramePop", offset_of!(jvmtiInterface_1, NotifyFramePop)),
    ("GetLocalObject", offset_of!(jvmtiInterface_1, GetLocalObject)),
    ("GetLocalInt", offset_of!(jvmtiInterface_1, GetLocalInt)),
    ("GetLocalLong", offset_of!(jvmtiInterface_1, GetLocalLong)),
    ("GetLocalFloat", offset_of!(jvmtiInterface_1, GetLocalFloat)),
    ("GetLocalDouble", offset_of!(jvmtiInterface_1, GetLocalDouble)),
    ("SetLocalObject", offset_of!(jvmtiInterface_1, SetLocalObject)),
    ("SetLocalInt", offset_of!(jvmtiInterface_1, SetLocalInt)),
    ("SetLocalLong", offset_of!(jvmtiInterface_1, SetLocalLong)),
    ("SetLocalFloat", offset_of!(jvmtiInterface_1, SetLocalFloat)),
    ("SetLocalDouble", offset_of!(jvmtiInterface_1, SetLocalDouble)),
    ("CreateRawMonitor", offset_of!(jvmtiInterface_1, CreateRawMonitor)),
    ("DestroyRawMonitor", offset_of!(jvmtiInterface_1, DestroyRawMonitor)),
    ("RawMonitorEnter", offset_of!(jvmtiInterface_1, RawMonitorEnter)),
    ("RawMonitorExit", offset_of!(jvmtiInterface_1, RawMonitorExit)),
    ("RawMonitorWait", offset_of!(jvmtiInterface_1, RawMonitorWait)),
    ("RawMonitorNotify", offset_of!(jvmtiInterface_1, RawMonitorNotify)),
    ("RawMonitorNotifyAll", offset_of!(jvmtiInterface_1, RawMonitorNotifyAll)),
    ("SetBreakpoint", offset_of!(jvmtiInterface_1, SetBreakpoint)),
    ("ClearBreakpoint", offset_of!(jvmtiInterface_1, ClearBreakpoint)),
    ("GetNamedModule", offset_of!(jvmtiInterface_1, GetNamedModule)),
    ("SetFieldAccessWatch", offset_of!(jvmtiInterface_1, SetFieldAccessWatch)),
    ("ClearFieldAccessWatch", offset_of!(jvmtiInterface_1, ClearFieldAccessWatch)),
    ("SetFieldModificationWatch", offset_of!(jvmtiInterface_1, SetFieldModificationWatch)),
    ("ClearFieldModificationWatch", offset_of!(jvmtiInterface_1, ClearFieldModificationWatch)),
    ("IsModifiableClass", offset_of!(jvmtiInterface_1, IsModifiableClass)),
    ("Allocate", offset_of!(jvmtiInterface_1, Allocate)),
    ("Deallocate", offset_of!(jvmtiInterface_1, Deallocate)),
    ("GetClassSignature", offset_of!(jvmtiInterface_1, GetClassSignature)),
    ("GetClassStatus", offset_of!(jvmtiInterface_1, GetClassStatus)),
    ("GetSourceFileName", offset_of!(jvmtiInterface_1, GetSourceFileName)),
    ("GetClassModifiers", offset_of!(jvmtiInterface_1, GetClassModifiers)),
    ("GetClassMethods", offset_of!(jvmtiInterface_1, GetClassMethods)),
    ("GetClassFields", offset_of!(jvmtiInterface_1, GetClassFields)),
    ("GetImplementedInterfaces", offset_of!(jvmtiInterface_1, GetImplementedInterfaces)),
    ("IsInterface", offset_of!(jvmtiInterface_1, IsInterface)),
    ("IsArrayClass", offset_of!(jvmtiInterface_1, IsArrayClass)),
    ("GetClassLoader", offset_of!(jvmtiInterface_1, GetClassLoader)),
    ("GetObjectHashCode", offset_of!(jvmtiInterface_1, GetObjectHashCode)),
    ("GetObjectMonitorUsage", offset_of!(jvmtiInterface_1, GetObjectMonitorUsage)),
    ("GetFieldName", offset_of!(jvmtiInterface_1, GetFieldName)),
    ("GetFieldDeclaringClass", offset_of!(jvmtiInterface_1, GetFieldDeclaringClass)),
    ("GetFieldModifiers", offset_of!(jvmtiInterface_1, GetFieldModifiers)),
    ("IsFieldSynthetic", offset_of!(jvmtiInterface_1, IsFieldSynthetic)),
    ("GetMethodName", offset_of!(jvmtiInterface_1, GetMethodName)),
    ("GetMethodDeclaringClass", offset_of!(jvmtiInterface_1, GetMethodDeclaringClass)),
    ("GetMethodModifiers", offset_of!(jvmtiInterface_1, GetMethodModifiers)),
    ("ClearAllFramePops", offset_of!(jvmtiInterface_1, ClearAllFramePops)),
    ("GetMaxLocals", offset_of!(jvmtiInterface_1, GetMaxLocals)),
    ("GetArgumentsSize", offset_of!(jvmtiInterface_1, GetArgumentsSize)),
    ("GetLineNumberTable", offset_of!(jvmtiInterface_1, GetLineNumberTable)),
    ("GetMethodLocation", offset_of!(jvmtiInterface_1, GetMethodLocation)),
    ("GetLocalVariableTable", offset_of!(jvmtiInterface_1, GetLocalVariableTable)),
    ("SetNativeMethodPrefix", offset_of!(jvmtiInterface_1, SetNativeMethodPrefix)),
    ("SetNativeMethodPrefixes", offset_of!(jvmtiInterface_1, SetNativeMethodPrefixes)),
    ("GetBytecodes", offset_of!(jvmtiInterface_1, GetBytecodes)),
    ("IsMethodNative", offset_of!(jvmtiInterface_1, IsMethodNative)),
    ("IsMethodSynthetic", offset_of!(jvmtiInterface_1, IsMethodSynthetic)),
    ("GetLoadedClasses", offset_of!(jvmtiInterface_1, GetLoadedClasses)),
    ("GetClassLoaderClasses", offset_of!(jvmtiInterface_1, GetClassLoaderClasses)),
    ("PopFrame", offset_of!(jvmtiInterface_1, PopFrame)),
    ("ForceEarlyReturnObject", offset_of!(jvmtiInterface_1, ForceEarlyReturnObject)),
    ("ForceEarlyReturnInt", offset_of!(jvmtiInterface_1, ForceEarlyReturnInt)),
    ("ForceEarlyReturnLong", offset_of!(jvmtiInterface_1, ForceEarlyReturnLong)),
    ("ForceEarlyReturnFloat", offset_of!(jvmtiInterface_1, ForceEarlyReturnFloat)),
    ("ForceEarlyReturnDouble", offset_of!(jvmtiInterface_1, ForceEarlyReturnDouble)),
    ("ForceEarlyReturnVoid", offset_of!(jvmtiInterface_1, ForceEarlyReturnVoid)),
    ("RedefineClasses", offset_of!(jvmtiInterface_1, RedefineClasses)),
    ("GetVersionNumber", offset_of!(jvmtiInterface_1, GetVersionNumber)),
    ("GetCapabilities", offset_of!(jvmtiInterface_1, GetCapabilities)),
    ("GetSourceDebugExtension", offset_of!(jvmtiInterface_1, GetSourceDebugExtension)),
    ("IsMethodObsolete", offset_of!(jvmtiInterface_1, IsMethodObsolete)),
    ("SuspendThreadList", offset_of!(jvmtiInterface_1, SuspendThreadList)),
    ("ResumeThreadList", offset_of!(jvmtiInterface_1, ResumeThreadList)),
    ("AddModuleReads", offset_of!(jvmtiInterface_1, AddModuleReads)),
    ("AddModuleExports", offset_of!(jvmtiInterface_1, AddModuleExports)),
    ("AddModuleOpens", offset_of!(jvmtiInterface_1, AddModuleOpens)),
    ("AddModuleUses", offset_of!(jvmtiInterface_1, AddModuleUses)),
    ("AddModuleProvides", offset_of!(jvmtiInterface_1, AddModuleProvides)),
    ("IsModifiableModule", offset_of!(jvmtiInterface_1, IsModifiableModule)),
    ("GetAllStackTraces", offset_of!(jvmtiInterface_1, GetAllStackTraces)),
    ("GetThreadListStackTraces", offset_of!(jvmtiInterface_1, GetThreadListStackTraces)),
    ("GetThreadLocalStorage", offset_of!(jvmtiInterface_1, GetThreadLocalStorage)),
    ("SetThreadLocalStorage", offset_of!(jvmtiInterface_1, SetThreadLocalStorage)),
    ("GetStackTrace", offset_of!(jvmtiInterface_1, GetStackTrace)),
    ("reserved105", offset_of!(jvmtiInterface_1, reserved105)),
    ("GetTag", offset_of!(jvmtiInterface_1, GetTag)),
    ("SetTag", offset_of!(jvmtiInterface_1, SetTag)),
    ("ForceGarbageCollection", offset_of!(jvmtiInterface_1, ForceGarbageCollection)),
    (
        "IterateOverObjectsReachableFromObject",
        offset_of!(jvmtiInterface_1, IterateOverObjectsReachableFromObject),
    ),
    ("IterateOverReachableObjects", offset_of!(jvmtiInterface_1, IterateOverReachableObjects)),
    ("IterateOverHeap", offset_of!(jvmtiInterface_1, IterateOverHeap)),
    ("IterateOverInstancesOfClass", offset_of!(jvmtiInterface_1, IterateOverInstancesOfClass)),
    ("reserved113", offset_of!(jvmtiInterface_1, reserved113)),
    ("GetObjectsWithTags", offset_of!(jvmtiInterface_1, GetObjectsWithTags)),
    ("FollowReferences", offset_of!(jvmtiInterface_1, FollowReferences)),
    ("IterateThroughHeap", offset_of!(jvmtiInterface_1, IterateThroughHeap)),
    ("reserved117", offset_of!(jvmtiInterface_1, reserved117)),
    ("SuspendAllVirtualThreads", offset_of!(jvmtiInterface_1, SuspendAllVirtualThreads)),
    ("ResumeAllVirtualThreads", offset_of!(jvmtiInterface_1, ResumeAllVirtualThreads)),
    ("SetJNIFunctionTable", offset_of!(jvmtiInterface_1, SetJNIFunctionTable)),
    ("GetJNIFunctionTable", offset_of!(jvmtiInterface_1, GetJNIFunctionTable)),
    ("SetEventCallbacks", offset_of!(jvmtiInterface_1, SetEventCallbacks)),
    ("GenerateEvents", offset_of!(jvmtiInterface_1, GenerateEvents)),
    ("GetExtensionFunctions", offset_of!(jvmtiInterface_1, GetExtensionFunctions)),
    ("GetExtensionEvents", offset_of!(jvmtiInterface_1, GetExtensionEvents)),
    ("SetExtensionEventCallback", offset_of!(jvmtiInterface_1, SetExtensionEventCallback)),
    ("DisposeEnvironment", offset_of!(jvmtiInterface_1, DisposeEnvironment)),
    ("GetErrorName", offset_of!(jvmtiInterface_1, GetErrorName)),
    ("GetJLocationFormat", offset_of!(jvmtiInterface_1, GetJLocationFormat)),
    ("GetSystemProperties", offset_of!(jvmtiInterface_1, GetSystemProperties)),
    ("GetSystemProperty", offset_of!(jvmtiInterface_1, GetSystemProperty)),
    ("SetSystemProperty", offset_of!(jvmtiInterface_1, SetSystemProperty)),
    ("GetPhase", offset_of!(jvmtiInterface_1, GetPhase)),
    ("GetCurrentThreadCpuTimerInfo", offset_of!(jvmtiInterface_1, GetCurrentThreadCpuTimerInfo)),
    ("GetCurrentThreadCpuTime", offset_of!(jvmtiInterface_1, GetCurrentThreadCpuTime)),
    ("GetThreadCpuTimerInfo", offset_of!(jvmtiInterface_1, GetThreadCpuTimerInfo)),
    ("GetThreadCpuTime", offset_of!(jvmtiInterface_1, GetThreadCpuTime)),
    ("GetTimerInfo", offset_of!(jvmtiInterface_1, GetTimerInfo)),
    ("GetTime", offset_of!(jvmtiInterface_1, GetTime)),
    ("GetPotentialCapabilities", offset_of!(jvmtiInterface_1, GetPotentialCapabilities)),
    ("reserved141", offset_of!(jvmtiInterface_1, reserved141)),
    ("AddCapabilities", offset_of!(jvmtiInterface_1, AddCapabilities)),
    ("RelinquishCapabilities", offset_of!(jvmtiInterface_1, RelinquishCapabilities)),
    ("GetAvailableProcessors", offset_of!(jvmtiInterface_1, GetAvailableProcessors)),
    ("GetClassVersionNumbers", offset_of!(jvmtiInterface_1, GetClassVersionNumbers)),
    ("GetConstantPool", offset_of!(jvmtiInterface_1, GetConstantPool)),
    ("GetEnvironmentLocalStorage", offset_of!(jvmtiInterface_1, GetEnvironmentLocalStorage)),
    ("SetEnvironmentLocalStorage", offset_of!(jvmtiInterface_1, SetEnvironmentLocalStorage)),
    (
        "AddToBootstrapClassLoaderSearch",
        offset_of!(jvmtiInterface_1, AddToBootstrapClassLoaderSearch),
    ),
    ("SetVerboseFlag", offset_of!(jvmtiInterface_1, SetVerboseFlag)),
    ("AddToSystemClassLoaderSearch", offset_of!(jvmtiInterface_1, AddToSystemClassLoaderSearch)),
    ("RetransformClasses", offset_of!(jvmtiInterface_1, RetransformClasses)),
    ("GetOwnedMonitorStackDepthInfo", offset_of!(jvmtiInterface_1, GetOwnedMonitorStackDepthInfo)),
    ("GetObjectSize", offset_of!(jvmtiInterface_1, GetObjectSize)),
    ("GetLocalInstance", offset_of!(jvmtiInterface_1, GetLocalInstance)),
    ("SetHeapSamplingInterval", offset_of!(jvmtiInterface_1, SetHeapSamplingInterval)),
];
