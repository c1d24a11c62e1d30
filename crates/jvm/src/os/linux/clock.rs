//! Clocks.

/// Returns the CPU time of the calling thread.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// Returns the CPU time of the whole process.
pub fn process_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0)
}

/// Returns the time of a clock that nobody adjusts.
pub fn raw_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC_RAW).unwrap_or(0)
}

pub(super) fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes to `time`, which lives until the call returns; a clock that does
    // not exist is an error.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    (result == 0).then(|| time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}

/// Returns local time minus UTC at `unix_s`, in seconds.
pub fn utc_offset_s(unix_s: u64) -> i32 {
    // SAFETY: `tm` is plain numbers and a pointer that localtime_r sets; zeroes are valid.
    let mut local: libc::tm = unsafe { std::mem::zeroed() };
    let time = unix_s as libc::time_t;
    // SAFETY: both pointers are valid for the call.
    let result = unsafe { libc::localtime_r(&time, &mut local) };
    if result.is_null() { 0 } else { local.tm_gmtoff as i32 }
}

/// Returns the time of the clock that `System.nanoTime` reads.
pub fn nano_time() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC).unwrap_or(0)
}
