//! The JVM's interface for its own management code (`jmm.h`): heap dumps and diagnostic commands.

use std::ffi::{CStr, CString, c_void};
use std::path::Path;
use std::ptr::NonNull;

use perk_jvmti_sys::jni_sys::{JNIEnv, jboolean, jint, jstring};

use crate::{Jni, Local, Reference, os};

/// `DumpHeap0`
type DumpHeapFunction = unsafe extern "system" fn(*mut JNIEnv, jstring, jboolean) -> jint;
/// `ExecuteDiagnosticCommand`
type ExecuteFunction = unsafe extern "system" fn(*mut JNIEnv, jstring) -> jstring;
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

/// The entries from `DumpHeap0` to `ExecuteDiagnosticCommand`.
const TO_COMMANDS: usize = 9;

/// Returns the entry of the table that is this number of entries after `DumpHeap0`, if the JVM's interface is
/// known. It is not requested before the JVM is up: JDK 17 crashes then.
fn entry(_: Jni<'_>, after: usize) -> Option<*const c_void> {
    // SAFETY: HotSpot exports the function with this signature; an interface it does not have is
    // null; the table has such an entry.
    unsafe {
        let symbol = os::symbol(c"JVM_GetManagement")?;
        let get = std::mem::transmute::<NonNull<c_void>, GetManagement>(symbol);
        VERSIONS.iter().find_map(|&(version, place)| {
            let table = get(version);
            let entry = (!table.is_null()).then(|| *table.add(place + after));
            entry.filter(|entry| !entry.is_null())
        })
    }
}

impl Jni<'_> {
    /// Returns the size of the heap and the part of it that is free, as `Runtime` gives them.
    pub fn memory_bytes(self) -> Option<[i64; 2]> {
        let env = self.raw();
        let class = self.find_class(c"java/lang/Runtime")?;
        let get = self.static_method(&class, c"getRuntime", c"()Ljava/lang/Runtime;")?;
        // SAFETY: the environment is this thread's; methods and objects fit each other; results are
        // checked before they are used.
        unsafe {
            let call = (**env).v1_1.CallStaticObjectMethodA;
            let runtime = self.checked(call(env, class.raw(), get.raw(), std::ptr::null()))?;
            let long = |name| {
                let method = self.method(&class, name, c"()J")?;
                let call = (**env).v1_1.CallLongMethodA;
                let answer = call(env, runtime.raw(), method.raw(), std::ptr::null());
                self.clear_exception();
                Some(answer)
            };
            Some([long(c"totalMemory")?, long(c"freeMemory")?])
        }
    }
}

/// The JVM's own writer of heap dumps.
#[derive(Clone, Copy, Debug)]
pub struct HeapDumper(DumpHeapFunction);

impl HeapDumper {
    /// Finds the dumper of this JVM, if its interface is known.
    pub fn find(jni: Jni<'_>) -> Option<Self> {
        // SAFETY: the entry is the function that `jmm.h` has there.
        entry(jni, 0)
            .map(|it| Self(unsafe { std::mem::transmute::<*const c_void, DumpHeapFunction>(it) }))
    }

    /// Writes all objects, dead ones included, to a file that must not exist yet. The program
    /// stands still meanwhile.
    ///
    /// # Errors
    /// The JVM's message, in one line.
    pub fn dump(self, jni: Jni<'_>, file: &Path) -> Result<(), String> {
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

/// The JVM's diagnostic commands, those of `jcmd`.
#[derive(Clone, Copy, Debug)]
pub struct Commands(ExecuteFunction);

impl Commands {
    /// Finds the commands of this JVM, if its interface is known.
    pub fn find(jni: Jni<'_>) -> Option<Self> {
        let entry = entry(jni, TO_COMMANDS)?;
        // SAFETY: the entry is the function that `jmm.h` has there.
        Some(Self(unsafe { std::mem::transmute::<*const c_void, ExecuteFunction>(entry) }))
    }

    /// Executes a command and returns what it prints.
    ///
    /// # Errors
    /// The JVM's message, in one line.
    pub fn execute(self, jni: Jni<'_>, command: &CStr) -> Result<String, String> {
        let command = jni.new_string(command).ok_or("the JVM makes no string")?;
        // SAFETY: the environment is this thread's, the reference valid; the new one is ours, and
        // is that of a string.
        let printed = unsafe {
            let printed = Local::from_raw(jni, (self.0)(jni.raw(), command.raw()));
            if let Some(text) = jni.take_exception() {
                return Err(text);
            }
            printed.and_then(|printed| jni.text(&printed))
        };
        printed.ok_or_else(|| "the JVM's command printed nothing".to_owned())
    }
}
