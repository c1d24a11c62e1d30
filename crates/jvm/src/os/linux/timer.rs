//! Timers of threads' CPU time (Linux).

use std::io;
use std::mem::zeroed;
use std::ptr::null_mut;

use super::thread::Tid;

/// `struct sigevent` of the kernel, for `SIGEV_THREAD_ID`.
#[repr(C)]
struct SignalEvent {
    value: usize,
    signal: libc::c_int,
    notify: libc::c_int,
    tid: i32,
    padding: [libc::c_int; 11],
}

/// The part of `siginfo_t` about a timer, in the kernel's layout.
#[repr(C)]
struct TimerInfo {
    signal: libc::c_int,
    error: libc::c_int,
    code: libc::c_int,
    padding: libc::c_int,
    timer: libc::c_int,
    overrun: libc::c_int,
    value: usize,
}

/// A timer that sends its thread a signal at a time of the thread's CPU clock, once. See [`again`].
#[derive(Debug)]
pub struct CpuTimer(libc::c_int);

/// A signal of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// The value that the timer was made with.
    pub value: usize,
    /// The kernel's id of the timer.
    pub timer: libc::c_int,
}

impl CpuTimer {
    /// Makes a timer for a thread of this process. `value` comes with its signals, the first of which
    /// comes at `at_ns` of the thread's CPU time.
    ///
    /// # Errors
    /// The kernel's: the thread has ended, or there are too many timers (`ulimit -i`).
    pub fn new(tid: Tid, signal: libc::c_int, value: usize, at_ns: u64) -> io::Result<Self> {
        let mut event = SignalEvent {
            value,
            signal,
            notify: libc::SIGEV_THREAD_ID,
            tid: tid.number(),
            padding: [0; 11],
        };
        let mut timer: libc::c_int = 0;
        // SAFETY: the kernel reads `event` and writes `timer`, which live until the calls return. The
        // library's functions wrap the timer's id, so the kernel is called itself.
        unsafe {
            let made = libc::syscall(
                libc::SYS_timer_create,
                tid.cpu_clock(),
                &raw mut event,
                &raw mut timer,
            );
            if made != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        let this = Self(timer);
        match again(timer, at_ns) {
            0 => Ok(this),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Has a timer send a signal at a time of its thread's CPU clock. The kernel looks at it at its ticks.
/// Returns the kernel's result: 0, or -1 for one that is no more. May be called in a signal handler.
pub fn again(timer: libc::c_int, at_ns: u64) -> libc::c_long {
    let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let times = libc::itimerspec { it_interval: never, it_value: timespec(at_ns.max(1)) };
    let nowhere: *mut libc::itimerspec = null_mut();
    let flags = libc::TIMER_ABSTIME;
    // SAFETY: the kernel reads `times`, which lives until the call returns; an id that no timer has is
    // an error.
    unsafe { libc::syscall(libc::SYS_timer_settime, timer, flags, &raw const times, nowhere) }
}

impl Drop for CpuTimer {
    fn drop(&mut self) {
        // SAFETY: the timer is this one's; a signal of it that is pending is removed.
        unsafe { libc::syscall(libc::SYS_timer_delete, self.0) };
    }
}

impl Expiry {
    /// Returns the signal of a timer; `None` if something else has sent it. May be called in a signal
    /// handler.
    ///
    /// # Safety
    /// `info` must be what the kernel passes to a signal handler.
    pub unsafe fn of(info: *const libc::siginfo_t) -> Option<Self> {
        // SAFETY: the caller's promise; the kernel fills these places for a timer.
        let info = unsafe { &*info.cast::<TimerInfo>() };
        let &TimerInfo { value, timer, .. } = info;
        (info.code == libc::SI_TIMER).then_some(Self { value, timer })
    }
}

/// Returns the signal that timers send: the last real-time signal that nobody handles, or that
/// `handler` handles already. The standard ones belong to programs and to other profilers.
pub fn free_signal(handler: Handler) -> Option<libc::c_int> {
    let ours = handler as *const () as usize;
    let is_free = |&signal: &libc::c_int| {
        // SAFETY: the kernel fills `its` if it succeeds.
        unsafe {
            let mut its: libc::sigaction = zeroed();
            libc::sigaction(signal, null_mut(), &mut its) == 0
                && [libc::SIG_DFL, ours].contains(&its.sa_sigaction)
        }
    };
    (libc::SIGRTMIN()..=libc::SIGRTMAX()).rev().find(is_free)
}

/// A handler of signals of timers.
pub type Handler = unsafe extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut std::ffi::c_void);

/// Installs a handler. System calls that the signal interrupts are restarted.
///
/// # Errors
/// The kernel's.
///
/// # Safety
/// The handler must only do what is allowed in a signal handler.
pub unsafe fn handle(signal: libc::c_int, handler: Handler) -> io::Result<()> {
    // SAFETY: the action is plain data; the caller's promise.
    let done = unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigaction(signal, &action, null_mut())
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn timespec(ns: u64) -> libc::timespec {
    let (seconds, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
    libc::timespec { tv_sec: seconds as libc::time_t, tv_nsec: rest as libc::c_long }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::c_void;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    static COUNT: AtomicU64 = AtomicU64::new(0);
    static OTHER: AtomicU64 = AtomicU64::new(0);

    unsafe extern "C" fn count(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
        // SAFETY: the kernel passes the place.
        match unsafe { Expiry::of(info) } {
            Some(Expiry { value: 77, timer }) => {
                COUNT.fetch_add(1, Relaxed);
                again(timer, crate::os::thread_cpu_ns() + 10_000_000);
            }
            _ => _ = OTHER.fetch_add(1, Relaxed),
        }
    }

    #[test]
    fn each_time_sends_a_signal() {
        let signal = free_signal(count).unwrap();
        // SAFETY: the handler adds to numbers and sets a timer.
        unsafe { handle(signal, count).unwrap() };
        let begin = crate::os::thread_cpu_ns();
        let timer = CpuTimer::new(Tid::current(), signal, 77, begin + 50_000_000).unwrap();
        while crate::os::thread_cpu_ns() - begin < 40_000_000 {}
        assert_eq!(COUNT.load(Relaxed), 0);
        while crate::os::thread_cpu_ns() - begin < 400_000_000 {}
        drop(timer);
        let counted = COUNT.load(Relaxed);
        // Each is late by a jiffy, or more where the thread shares its CPU with others.
        assert!((3..=36).contains(&counted), "{counted}");
        // SAFETY: the handler is there.
        unsafe { libc::raise(signal) };
        assert_eq!(OTHER.load(Relaxed), 1);
    }
}
