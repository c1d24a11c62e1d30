//! Signals.

use std::ffi::c_int;

/// What the kernel passes to a signal handler about the signal.
pub type SignalInfo = libc::siginfo_t;

/// Runs `body` with all signals blocked, which a thread that it starts inherits: the program's and
/// the JVM's signal handlers never run on it.
pub fn without_signals<T>(body: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are plain data that live until the calls return.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let result = body();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        result
    }
}

/// Runs the body of a signal handler, after which errno is what it was.
#[inline]
pub fn keeping_errno(body: impl FnOnce()) {
    // SAFETY: errno belongs to the thread, and stays where it is while the thread lives.
    let errno: &mut c_int = unsafe { &mut *libc::__errno_location() };
    let before = *errno;
    body();
    // SAFETY: the same place; `body` may have written to it.
    unsafe { libc::__errno_location().write(before) };
}
