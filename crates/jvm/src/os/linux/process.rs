//! The process: its user, its output and its end.

use std::fs::File;
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;

/// Returns the user whose rights the process has.
pub fn user_id() -> u32 {
    // SAFETY: geteuid has no arguments and cannot fail.
    unsafe { libc::geteuid() }
}

/// Writes to the program's stdout. The library's own stdout would not report that it is closed.
///
/// # Errors
/// The kernel's.
pub fn write_to_stdout(text: &[u8]) -> io::Result<()> {
    // SAFETY: the descriptor is written to and not closed. If it is not open, that is an error.
    let mut stdout = ManuallyDrop::new(unsafe { File::from_raw_fd(libc::STDOUT_FILENO) });
    stdout.write_all(text)
}

/// Writes to stderr and ignores errors: there is nobody left to inform.
pub fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Registers `body` to be called when the process ends by `exit`.
pub fn at_exit(body: extern "C" fn()) {
    // SAFETY: the function is part of this library, which is never unloaded.
    unsafe { libc::atexit(body) };
}
