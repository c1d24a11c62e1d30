//! The types of what the state's lists have.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

use perk_jvm::{LineTable, MethodRef};
use perk_jvmti_sys::jni_sys::{JNIEnv, jint, jobject};
use perk_jvmti_sys::jvmpi::{JVMPI_Event, JVMPI_Interface};
use rustc_hash::FxHashMap;

/// A change that the thread must send.
#[derive(Debug)]
pub(crate) enum CodeChange {
    Load(MethodCode),
    Unload {
        method: MethodRef,
        address: usize,
        /// Whether COMPILED_METHOD_LOAD of it is in the queue before.
        is_known: bool,
    },
}

/// A method's code.
#[derive(Debug)]
pub(crate) struct MethodCode {
    pub(crate) method: MethodRef,
    pub(crate) address: usize,
    pub(crate) size_bytes: jint,
    pub(crate) lines: Vec<(jint, jint)>,
}

pub(crate) type NewReference = unsafe extern "system" fn(*mut JNIEnv, jobject) -> jobject;
pub(crate) type DeleteReference = unsafe extern "system" fn(*mut JNIEnv, jobject);

/// The functions that were there before.
#[derive(Debug)]
pub(crate) struct Originals {
    pub(crate) new: NewReference,
    pub(crate) delete: DeleteReference,
    pub(crate) new_weak: NewReference,
    pub(crate) delete_weak: DeleteReference,
}

/// The calls of a thread.
#[derive(Debug)]
pub(crate) struct Calls {
    /// The upper half of the numbers of the thread's calls; not 0.
    pub(crate) serial: u32,
    /// The open calls: their methods, with `IS_SENT`. Only the thread itself uses them.
    pub(crate) open: UnsafeCell<Vec<usize>>,
    /// The number of entries and exits that were delivered. Only the thread itself changes them.
    pub(crate) entries: AtomicU64,
    pub(crate) exits: AtomicU64,
    /// The number of methods that virtual threads have entered on this thread.
    pub(crate) passed: AtomicU64,
}

// SAFETY: only the thread itself uses the open calls.
unsafe impl Send for Calls {}
// SAFETY: only the thread itself uses the open calls.
unsafe impl Sync for Calls {}

/// The numbers of a chunk, and the chunks.
pub(crate) const CHUNK: usize = 1 << 14;
pub(crate) const CHUNKS: usize = 1 << 10;

pub(crate) type Chunk = [AtomicPtr<MethodTarget>; CHUNK];
/// What an id of the JVM's points to.
pub(crate) type MethodTarget = std::ffi::c_void;

/// A method's id as the agent knows it, and its lines.
pub(crate) type MethodEntry = (MethodRef, LineTable);
pub(crate) type Tables = FxHashMap<MethodRef, MethodEntry>;

/// Numbers that two class files do not share, for all that is known: the length, the hash of the bytes, and
/// that of the class loader, as the agent may make different files of the same one.
pub(crate) type FileKey = (usize, u64, u32);

/// A thread. Only the thread itself writes to it.
#[derive(Debug, Default)]
pub(crate) struct HandlerThread {
    /// The number of handlers that it is in.
    pub(crate) depth: AtomicU32,
    /// The number of times that it left all handlers.
    pub(crate) ends: AtomicU32,
}

/// The agent's function.
pub(crate) type Notify = unsafe extern "C" fn(*mut JVMPI_Event);

/// The table. The agent writes its function into it.
#[derive(Debug)]
pub(crate) struct InterfaceTable(pub(crate) UnsafeCell<JVMPI_Interface>);

// SAFETY: only NotifyEvent changes, and it is read and written as a whole word.
unsafe impl Sync for InterfaceTable {}
