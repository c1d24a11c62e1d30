//! The memory and the exports of the JVM, for libraries that rustc compiles without cargo.

use std::ffi::{CString, c_char, c_int, c_void};

use crate::src::vm::Symbols;

unsafe extern "C" {
    fn process_vm_readv(
        pid: c_int,
        local: *const [usize; 2],
        locals: usize,
        remote: *const [usize; 2],
        remotes: usize,
        flags: usize,
    ) -> isize;
    pub fn getpid() -> c_int;
    pub fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Fills memory with that at an address. Returns whether all of it can be read.
pub fn copy(address: usize, to: &mut [u8]) -> bool {
    let local = [to.as_mut_ptr() as usize, to.len()];
    let read = unsafe { process_vm_readv(getpid(), &local, 1, &[address, to.len()], 1, 0) };
    read == to.len() as isize
}

/// Returns the word at an address.
pub fn word(address: usize) -> Option<usize> {
    let mut word = [0; size_of::<usize>()];
    copy(address, &mut word).then(|| usize::from_le_bytes(word))
}

/// What a library that is open exports.
pub struct Exports(pub *mut c_void);

impl Symbols for Exports {
    fn address(&self, name: &str) -> Option<usize> {
        let name = CString::new(name).ok()?;
        let address = unsafe { dlsym(self.0, name.as_ptr()) } as usize;
        (address != 0).then_some(address)
    }
}
