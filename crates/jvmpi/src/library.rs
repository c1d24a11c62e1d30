//! The profiler's library: found as the JVM would find it, checked, loaded and started.

use std::ffi::{CString, c_char, c_void};
use std::fs::File;
use std::io::Read;
use std::mem::transmute;
use std::path::{Path, PathBuf};
use std::ptr::{NonNull, null_mut};

use perk_control::jvmpi::Library;
use perk_jvmti_sys::jni_sys::{JNI_OK, JavaVM, jint};

use super::agent;
use crate::state::STATE;
use crate::state::entries::Notify;
use perk_jvm::Jvmti;
use perk_jvm::sync::lock;
use perk_jvm::{arch, os};

/// The entry of a library.
type OnLoad = unsafe extern "system" fn(*mut JavaVM, *mut c_char, *mut c_void) -> jint;

/// Loads the library and calls its `JVM_OnLoad`.
///
/// # Safety
/// `vm` must be the running JVM.
///
/// # Errors
/// The reason why it does not run, in one line.
pub(super) unsafe fn start(vm: *mut JavaVM, jvmti: Jvmti, library: &Library) -> Result<(), String> {
    let name = &library.name;
    let path = path(jvmti, name);
    if let Some(path) = path.as_deref() {
        check(path).map_err(|reason| format!("{}: {reason}", path.display()))?;
    }
    let file = path.unwrap_or_else(|| file_name(name));
    // SAFETY: the library's initialisers run, as the user asks for.
    let handle = unsafe { os::Library::open(&file, os::Binding::Lazy) };
    let handle = handle.map_err(|reason| format!("cannot load the library {name}: {reason}"))?;
    let Some(entry) = handle.symbol(c"JVM_OnLoad") else {
        return Err(format!(
            "{} is not a JVMPI agent: it has no function JVM_OnLoad",
            file.display()
        ));
    };
    let options = library.options.as_deref().map(|it| CString::new(it).unwrap_or_default());
    // Agents keep the string, and cut it in place.
    let options = options.map_or(null_mut(), CString::into_raw);
    // SAFETY: the function is what JVMPI says, with the JVM and a string that ends in NUL, or null.
    let result = unsafe { transmute::<NonNull<c_void>, OnLoad>(entry)(vm, options, null_mut()) };
    match result {
        JNI_OK => Ok(()),
        _ => Err(format!("JVM_OnLoad of {name} failed with {result}")),
    }
}

/// Returns the path of a library; `None` if the system looks for it in `LD_LIBRARY_PATH` and its own
/// folders.
fn path(jvmti: Jvmti, name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name));
    }
    let folder = jvmti.system_property(c"sun.boot.library.path").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&folder).collect();
    if let Some(more) = std::env::var_os("LD_LIBRARY_PATH") {
        folders.extend(std::env::split_paths(&more));
    }
    folders.into_iter().map(|it| it.join(file_name(name))).find(|it| it.exists())
}

fn file_name(name: &str) -> PathBuf {
    match name.contains('/') {
        true => PathBuf::from(name),
        false => PathBuf::from(format!("lib{name}.so")),
    }
}

/// Checks that a file is a library for this machine. The system's own words for it are unclear.
fn check(path: &Path) -> Result<(), String> {
    let mut head = [0; 20];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    if let Err(error) = read {
        return match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Err("it is not a library".to_owned()),
            std::io::ErrorKind::NotFound => Err("there is no such library".to_owned()),
            _ => Err(format!("cannot read it: {error}")),
        };
    }
    let machine = u16::from_le_bytes([head[18], head[19]]);
    match (&head[..4], head[4]) {
        (b"\x7fELF", 1) => {
            Err("it is a 32-bit library: compile it for this machine, or find one of 64 bits"
                .to_owned())
        }
        (b"\x7fELF", 2) if machine == arch::ELF_MACHINE => Ok(()),
        (b"\x7fELF", _) => Err("it is a library for another machine".to_owned()),
        _ => Err("it is not a library".to_owned()),
    }
}

/// Notes that `GetEnv` is called, perhaps by a second agent.
pub(super) fn asked(set: Option<Notify>) {
    lock(&STATE.interface.set_before).extend(set);
}

/// Checks that one agent has set the function. The table has one place for it.
///
/// # Errors
/// The line that names both libraries.
pub(super) fn check_one_agent() -> Result<(), String> {
    let Some(last) = agent::notify_event().and_then(file_of) else { return Ok(()) };
    let others = std::mem::take(&mut *lock(&STATE.interface.set_before));
    match others.into_iter().filter_map(file_of).find(|other| *other != last) {
        None => Ok(()),
        Some(other) => Err(format!(
            "two JVMPI agents, {} and {}: JVMPI has room for one, so start the program with one of them",
            other.display(),
            last.display()
        )),
    }
}

/// Returns the library that a function is in.
fn file_of(function: Notify) -> Option<PathBuf> {
    os::library_of(function as *const () as usize)
}
