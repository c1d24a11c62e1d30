//! Libraries of this process.

use std::ffi::{CStr, CString, OsStr, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// A library that is open. It stays so.
#[derive(Clone, Copy, Debug)]
pub struct Library(NonNull<c_void>);

/// When the functions of a library are bound to those that they call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// All, as it is opened.
    Now,
    /// Each, as it is called.
    Lazy,
}

impl Library {
    /// Opens a library.
    ///
    /// # Errors
    /// The linker's reason.
    ///
    /// # Safety
    /// The library's initialisers run.
    pub unsafe fn open(file: &Path, binding: Binding) -> Result<Self, String> {
        let file = CString::new(file.as_os_str().as_bytes()).unwrap_or_default();
        let mode = if binding == Binding::Now { libc::RTLD_NOW } else { libc::RTLD_LAZY };
        // SAFETY: the name ends in NUL; the caller wants the initialisers to run.
        NonNull::new(unsafe { libc::dlopen(file.as_ptr(), mode) }).map(Self).ok_or_else(last_error)
    }

    /// Returns the address of a function or of data.
    pub fn symbol(self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the handle is open, as nobody closes it; the name ends in NUL.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }
}

/// Returns the address of a function or of data that a library of the program exports to all.
pub fn symbol(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the name ends in NUL.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}

fn last_error() -> String {
    // SAFETY: it returns null or a string that lives until the next such call of this thread.
    let error = unsafe { libc::dlerror() };
    if error.is_null() {
        return "unknown reason".to_owned();
    }
    // SAFETY: it is not null, and no other such call has come between.
    unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned()
}

/// Returns the path of the library that an address is in.
pub fn library_of(address: usize) -> Option<PathBuf> {
    // SAFETY: `info` is plain pointers, which dladdr sets; it takes any address. The name lives as
    // long as the library is loaded.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address as *const c_void, &mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        Some(OsStr::from_bytes(CStr::from_ptr(info.dli_fname).to_bytes()).into())
    }
}

/// Returns the path of this library.
pub fn own_library() -> Option<PathBuf> {
    library_of(own_library as *const () as usize)
}
