//! CLASS_LOAD_HOOK: the agent may exchange the file of a class that is about to be loaded.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_uchar, c_uint, c_void};
use std::hash::{DefaultHasher, Hasher};
use std::ptr::null_mut;

use perk_jvmti_sys::jni_sys::{JNIEnv, jclass, jint, jobject};
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_CLASS_LOAD_HOOK, JVMPI_Event_class_load_hook, JVMPI_Event_u,
};
use perk_jvmti_sys::{JvmtiEnv, call};

use super::own;
use super::{Bridge, bridge, cpu, methods, notify, threads};
use crate::state::STATE;
use crate::state::entries::FileKey;
use perk_jvm::guard::{Feature, contain};
use perk_jvm::os::checked;
use perk_jvm::sync::lock;
use perk_jvm::{Jni, ObjectRef};

thread_local! {
    /// The memory that handlers which run now have had from `malloc_f`: its address and size.
    static ALLOCATED: RefCell<Vec<(usize, usize)>> = const { RefCell::new(Vec::new()) };
}

/// Returns the key of a file that a class loader loads; null for the JVM's own loader.
///
/// # Safety
/// The loader must be a reference of the calling thread's.
unsafe fn key(bridge: &Bridge, file: &[u8], loader: jobject) -> FileKey {
    let mut hasher = DefaultHasher::new();
    hasher.write(file);
    // SAFETY: the caller's promise.
    let loader = unsafe { ObjectRef::from_raw(loader) };
    let identity = loader.and_then(|it| bridge.jvmti.identity(&it)).unwrap_or(0);
    (file.len(), hasher.finish(), identity)
}

/// A class file in memory of the JVM.
#[derive(Clone, Copy, Debug)]
struct ClassFile {
    bytes: *mut c_uchar,
    length: jint,
}

impl ClassFile {
    /// Copies a file into memory of the JVM.
    fn copy(bridge: &Bridge, bytes: &[u8]) -> Option<Self> {
        let length = jint::try_from(bytes.len()).ok()?;
        Some(Self { bytes: bridge.jvmti.copy(bytes)?, length })
    }

    /// # Safety
    /// The memory must hold a file for the lifetime chosen.
    unsafe fn slice<'a>(self) -> &'a [u8] {
        let length = usize::try_from(self.length).unwrap_or(0);
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.bytes, length) }
    }
}

/// `ClassFileLoadHook`. The probes of methods come after the agent's changes.
pub(super) unsafe extern "system" fn class_file_load_hook(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    redefined: jclass,
    loader: jobject,
    name: *const c_char,
    _: jobject,
    length: jint,
    bytes: *const c_uchar,
    new_length: *mut jint,
    new_bytes: *mut *mut c_uchar,
) {
    let hook = || {
        let Some(bridge) = bridge() else { return };
        // SAFETY: the JVM passes a string, or null.
        let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
        let file = ClassFile { bytes: bytes.cast_mut(), length };
        // SAFETY: the JVM passes a file and a loader; `changed` returns a file of the JVM's memory.
        let (old, changed) = unsafe {
            let old = file.slice();
            let changed = match redefined.is_null() {
                // What the bridge loads is the program's, too, except for the helper.
                true if !own::is_own_name(name) => asked(bridge, env, file, loader),
                true => None,
                false => earlier(bridge, old, loader),
            };
            (old, changed)
        };
        // SAFETY: `asked` and `earlier` return a file of the agent's or of the JVM's memory, with
        // its length; nobody else uses it.
        let current = changed.map_or(old, |changed| unsafe { changed.slice() });
        let with_probes = methods::class_file(bridge, name, current);
        let last = with_probes.and_then(|bytes| ClassFile::copy(bridge, &bytes));
        if let Some(last) = last.or(changed) {
            // SAFETY: the JVM gives places for the new file, which it frees; that of the agent is
            // given back if it is not the last one.
            unsafe {
                if let Some(changed) = changed.filter(|changed| changed.bytes != last.bytes) {
                    bridge.jvmti.free(changed.bytes);
                }
                new_length.write(last.length);
                new_bytes.write(last.bytes);
            }
        }
    };
    cpu::own(|| contain(Feature::Jvmpi, hook));
}

/// Returns what the agent once made of a file.
///
/// # Safety
/// The loader must be a reference of the calling thread's.
unsafe fn earlier(bridge: &Bridge, file: &[u8], loader: jobject) -> Option<ClassFile> {
    if lock(&STATE.class_files.changed).is_empty() {
        return None;
    }
    // SAFETY: the caller's promise.
    let key = unsafe { key(bridge, file, loader) };
    lock(&STATE.class_files.changed).get(&key).and_then(|it| ClassFile::copy(bridge, it))
}

/// Asks the agent, if it wants to be. There is no environment while the JVM loads its first classes.
///
/// # Safety
/// The loader must be a reference of the calling thread's.
unsafe fn asked(
    bridge: &Bridge,
    env: *mut JNIEnv,
    file: ClassFile,
    loader: jobject,
) -> Option<ClassFile> {
    if !notify::is_enabled(JVMPI_EVENT_CLASS_LOAD_HOOK) {
        return None;
    }
    let mut answer = None;
    let mut ask = || answer = changed(bridge, env, file);
    if env.is_null() {
        ask();
    } else {
        threads::meet(bridge, env);
        // SAFETY: the JVM passes the calling thread's environment.
        unsafe { Jni::from_raw(env) }.without_exception(ask);
    }
    if let Some(new) = answer {
        // SAFETY: both are files; the caller's promise.
        let (key, new) = unsafe { (key(bridge, file.slice(), loader), new.slice()) };
        lock(&STATE.class_files.changed).insert(key, new.to_vec());
    }
    answer
}

/// Returns what the agent makes of a class file; `None` if it leaves it as it is, or gives nothing that
/// can be one.
fn changed(bridge: &Bridge, env: *mut JNIEnv, file: ClassFile) -> Option<ClassFile> {
    let outer = ALLOCATED.with_borrow(Vec::len);
    let answer = notify::ask(JVMPI_EVENT_CLASS_LOAD_HOOK, env, || JVMPI_Event_u {
        class_load_hook: JVMPI_Event_class_load_hook {
            class_data: file.bytes,
            class_data_len: file.length,
            new_class_data: file.bytes,
            new_class_data_len: file.length,
            malloc_f: Some(allocate),
        },
    });
    let allocated = ALLOCATED.with_borrow_mut(|all| all.split_off(outer.min(all.len())));
    // SAFETY: the event is of this kind.
    let answer = unsafe { answer?.class_load_hook };
    let new = ClassFile { bytes: answer.new_class_data, length: answer.new_class_data_len };
    let length = usize::try_from(new.length).ok().filter(|length| *length > 0)?;
    if new.bytes.is_null() || new.bytes == file.bytes {
        return None;
    }
    match allocated.iter().find(|(address, _)| *address == new.bytes as usize) {
        Some((_, room)) => (length <= *room).then_some(new),
        // The JVM will free the file, so it must be in memory of the JVM's. It may be garbage, too.
        None => ClassFile::copy(bridge, &checked::bytes(new.bytes as usize, length)?),
    }
}

/// `malloc_f`
unsafe extern "C" fn allocate(size_bytes: c_uint) -> *mut c_void {
    let Some(bridge) = bridge() else { return null_mut() };
    let mut memory = null_mut();
    // SAFETY: the environment is valid, `memory` lives until the call returns.
    let result = unsafe { call!(bridge.jvmti.raw(), Allocate, size_bytes.into(), &mut memory) };
    if result.ok().is_err() || memory.is_null() {
        return null_mut();
    }
    ALLOCATED.with_borrow_mut(|all| all.push((memory as usize, size_bytes as usize)));
    memory.cast()
}
