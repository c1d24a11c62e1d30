//! Events of threads' CPU time (`perf_event_open`, Linux): their signals come when an interval ends,
//! where those of timers wait for the kernel's next tick.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Tid;

/// The first version of `struct perf_event_attr`, which all kernels accept.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint: u32,
    config1: u64,
}

/// `struct f_owner_ex`.
#[repr(C)]
struct Owner {
    kind: libc::c_int,
    id: libc::pid_t,
}

/// The part of `siginfo_t` that tells of a file, as the kernel has it.
#[repr(C)]
struct FileInfo {
    signal: libc::c_int,
    error: libc::c_int,
    code: libc::c_int,
    padding: libc::c_int,
    band: libc::c_long,
    descriptor: libc::c_int,
}

const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
const DISABLED: u64 = 1;
const CLOSE_ON_EXEC: libc::c_ulong = 8;
const REFRESH: libc::c_ulong = 0x2402;
const PERIOD: libc::c_ulong = 0x4008_2404;
const F_SETSIG: libc::c_int = 10;
const F_SETOWN_EX: libc::c_int = 15;
const F_OWNER_TID: libc::c_int = 0;

/// The number of descriptors that events may have: an event with a larger one is refused.
const DESCRIPTORS: usize = 1 << 16;
/// The values of the events, by descriptor. Pages that are not written to are not in memory.
static VALUES: [AtomicUsize; DESCRIPTORS] = [const { AtomicUsize::new(0) }; DESCRIPTORS];

/// An event that sends its thread a signal when it has used an interval of CPU time, once. See
/// [`again`].
#[derive(Debug)]
pub(crate) struct CpuEvent(OwnedFd);

impl CpuEvent {
    /// Makes an event for a thread of this process. `value`, which is not 0, comes with its signals.
    ///
    /// # Errors
    /// The kernel's: events are not permitted, or the thread has ended. Half of the descriptors that
    /// the process may have are left for the program.
    pub(crate) fn new(
        tid: Tid,
        signal: libc::c_int,
        value: usize,
        first_ns: u64,
    ) -> io::Result<Self> {
        let attributes = Attributes {
            kind: SOFTWARE,
            size: size_of::<Attributes>() as u32,
            config: CPU_CLOCK,
            sample_period: first_ns.max(1),
            flags: DISABLED,
            wakeup_events: 1,
            ..Attributes::default()
        };
        let owner = Owner { kind: F_OWNER_TID, id: tid.0 };
        // SAFETY: the kernel reads the structs, which live until the calls return.
        unsafe {
            let (any_cpu, no_group) = (-1, -1);
            let opened = libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                tid.0,
                any_cpu,
                no_group,
                CLOSE_ON_EXEC,
            );
            if opened < 0 {
                return Err(io::Error::last_os_error());
            }
            let this = Self(OwnedFd::from_raw_fd(opened as RawFd));
            let descriptor = this.0.as_raw_fd();
            if descriptor as usize >= most_descriptors() {
                return Err(io::Error::from_raw_os_error(libc::EMFILE));
            }
            let check = |result: libc::c_int| match result {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            };
            VALUES[descriptor as usize].store(value, Ordering::Release);
            check(libc::fcntl(descriptor, F_SETSIG, signal))?;
            check(libc::fcntl(descriptor, F_SETOWN_EX, &raw const owner))?;
            check(libc::fcntl(descriptor, libc::F_SETFL, libc::O_ASYNC))?;
            check(libc::ioctl(descriptor, REFRESH, 1))?;
            Ok(this)
        }
    }
}

impl Drop for CpuEvent {
    fn drop(&mut self) {
        // A signal that is on its way finds no value, or that of the next event of this descriptor.
        if let Some(value) = VALUES.get(self.0.as_raw_fd() as usize) {
            value.store(0, Ordering::Release);
        }
    }
}

/// Returns the number of descriptors from which on they are the program's.
fn most_descriptors() -> usize {
    // SAFETY: the kernel fills the limits, which are plain numbers.
    let limit = unsafe {
        let mut limits: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limits);
        limits.rlim_cur
    };
    usize::try_from(limit / 2).unwrap_or(DESCRIPTORS).min(DESCRIPTORS)
}

/// Returns the descriptor and the value of an event that has sent a signal; `None` if something else
/// has sent it, or the event is no more. May be called in a signal handler.
///
/// # Safety
/// `info` must be what the kernel passes to a signal handler.
pub(crate) unsafe fn sender(info: *const libc::siginfo_t) -> Option<(RawFd, usize)> {
    // SAFETY: the caller's promise; the kernel fills these places for a file.
    let info = unsafe { &*info.cast::<FileInfo>() };
    if info.code <= 0 || info.code >= libc::SI_KERNEL {
        return None;
    }
    let index = usize::try_from(info.descriptor).ok()?;
    let value = VALUES.get(index)?.load(Ordering::Acquire);
    (value != 0).then_some((info.descriptor, value))
}

/// Has an event send a signal after the next interval. May be called in a signal handler.
pub(crate) fn again(descriptor: RawFd) {
    // SAFETY: the argument is a number; a descriptor that is not an event's is an error.
    unsafe { libc::ioctl(descriptor, REFRESH, 1) };
}

/// Sets the interval of an event from its next one on. May be called in a signal handler.
pub(crate) fn set_interval(descriptor: RawFd, interval_ns: u64) {
    // SAFETY: the kernel reads the number; a descriptor that is not an event's is an error.
    unsafe { libc::ioctl(descriptor, PERIOD, &raw const interval_ns) };
}

/// Returns the time between the kernel's ticks, in nanoseconds.
pub(crate) fn tick_ns() -> u64 {
    // SAFETY: the kernel fills the time.
    unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_getres(libc::CLOCK_REALTIME_COARSE, &mut time);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

extern "C" fn ignore(_: libc::c_int) {}

/// Has the process survive `SIGIO`, which the kernel sends if it has no memory for the signal of an
/// event, unless the program handles it.
pub(crate) fn survive_overflows() {
    // SAFETY: the actions are plain data; the handler does nothing.
    unsafe {
        let mut its: libc::sigaction = std::mem::zeroed();
        let read = libc::sigaction(libc::SIGIO, std::ptr::null(), &mut its) == 0;
        if read && its.sa_sigaction == libc::SIG_DFL {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = ignore as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(libc::SIGIO, &action, std::ptr::null_mut());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::{thread_cpu_ns, timer};
    use std::ffi::c_void;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    static COUNT: AtomicU64 = AtomicU64::new(0);

    unsafe extern "C" fn count(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
        // SAFETY: the kernel passes the place.
        if let Some((descriptor, 77)) = unsafe { sender(info) } {
            COUNT.fetch_add(1, Relaxed);
            set_interval(descriptor, 1_000_000);
            again(descriptor);
        }
    }

    #[test]
    fn each_interval_sends_a_signal() {
        let signal = timer::free_signal().unwrap();
        // SAFETY: the handler adds to a number and calls the kernel.
        unsafe { timer::handle(signal, count).unwrap() };
        let Ok(event) = CpuEvent::new(Tid::current(), signal, 77, 500_000) else {
            return eprintln!("NOT TESTED: this system does not permit events");
        };
        let begin = thread_cpu_ns();
        while thread_cpu_ns() - begin < 200_000_000 {}
        drop(event);
        let counted = COUNT.load(Relaxed);
        // Intervals begin anew after each signal.
        assert!((120..=202).contains(&counted), "{counted}");
    }
}
