//! Waiting for a word to change (`futex(2)`).

use std::ptr::null;
use std::sync::atomic::{AtomicU32, Ordering::Acquire};

/// The end of a wait, by the monotonic clock.
#[derive(Debug)]
pub struct Deadline(libc::timespec);

impl Deadline {
    /// Returns the end of a wait that begins now.
    pub fn after_ms(ms: u64) -> Self {
        let now = monotonic();
        let nanoseconds = now.tv_nsec + (ms % 1000) as i64 * 1_000_000;
        // The kernel refuses times that it cannot count; this is 30000 years.
        let seconds = i64::try_from(ms / 1000).unwrap_or(i64::MAX).min(1 << 40);
        Self(libc::timespec {
            tv_sec: now.tv_sec + seconds + nanoseconds / 1_000_000_000,
            tv_nsec: nanoseconds % 1_000_000_000,
        })
    }

    fn is_over(&self) -> bool {
        let now = monotonic();
        (now.tv_sec, now.tv_nsec) >= (self.0.tv_sec, self.0.tv_nsec)
    }
}

fn monotonic() -> libc::timespec {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place lives until the call returns.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now
}

/// Waits while a word has a value, until the deadline if there is one.
pub fn wait(word: &AtomicU32, value: u32, deadline: Option<&Deadline>) {
    while word.load(Acquire) == value && !deadline.is_some_and(Deadline::is_over) {
        let operation = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
        let until = deadline.map_or(null(), |deadline| &raw const deadline.0);
        let no_word = null::<u32>();
        let any = libc::FUTEX_BITSET_MATCH_ANY;
        // SAFETY: the word and the deadline live until the call returns.
        unsafe {
            let word = word.as_ptr();
            libc::syscall(libc::SYS_futex, word, operation, value, until, no_word, any)
        };
    }
}

/// Wakes at most `count` threads that wait for a word.
pub fn wake(word: &AtomicU32, count: i32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word lives until the call returns.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, count) };
}
