//! The JVM's interface for its own management code (`jmm.h`), as far as heap dumps need it.

use std::ffi::{CString, c_void};
use std::path::Path;

use perk_jvmti_sys::jni_sys::{JNIEnv, jboolean, jint, jstring};

use super::{Jni, Reference};

/// `DumpHeap0`
type DumpHeap = unsafe extern "system" fn(*mut JNIEnv, jstring, jboolean) -> jint;
/// `JVM_GetManagement`
type GetManagement = unsafe extern "system" fn(jint) -> *const *const c_void;

/// The versions of the interface since JDK 14, and the index of `DumpHeap0` in the table of each.
/// The library that is part of a JDK requests one of them by its version, so a JVM that has it has
/// its table.
const VERSIONS: [(jint, usize); 2] = [
    // JDK 21
    (0x2004_0000, 30),
    // JDK 14
    (0x2003_0000, 29),
];

/// The JVM's own writer of heap dumps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeapDumper(DumpHeap);

impl HeapDumper {
    /// Finds the dumper of this JVM, if its interface is known. It is not requested before the JVM
    /// is up: JDK 17 crashes then.
    pub(crate) fn find(_: Jni<'_>) -> Option<Self> {
        // SAFETY: HotSpot exports the function with this signature; an interface it does not have
        // is null; the entry is the function that `jmm.h` has there.
        unsafe {
            let symbol = libc::dlsym(libc::RTLD_DEFAULT, c"JVM_GetManagement".as_ptr());
            if symbol.is_null() {
                return None;
            }
            let get = std::mem::transmute::<*mut c_void, GetManagement>(symbol);
            VERSIONS.iter().find_map(|&(version, place)| {
                let table = get(version);
                if table.is_null() {
                    return None;
                }
                let entry = *table.add(place);
                let function = std::mem::transmute::<*const c_void, DumpHeap>(entry);
                (!entry.is_null()).then_some(Self(function))
            })
        }
    }

    /// Writes all objects, dead ones included, to a file that must not exist yet. The program
    /// stands still meanwhile.
    ///
    /// # Errors
    /// The JVM's message, in one line.
    pub(crate) fn dump(self, jni: Jni<'_>, file: &Path) -> Result<(), String> {
        let no_name = || "the name of the temporary file cannot be passed to the JVM".to_owned();
        let name = file.to_str().and_then(|name| CString::new(name).ok()).ok_or_else(no_name)?;
        let name = jni.new_string(&name).ok_or_else(no_name)?;
        // SAFETY: the environment is this thread's, the reference valid.
        let result = unsafe { (self.0)(jni.raw(), name.raw(), false) };
        match jni.take_exception() {
            Some(text) => Err(text),
            None if result == 0 => Ok(()),
            None => Err(format!("the JVM's heap dump failed with code {result}")),
        }
    }
}
