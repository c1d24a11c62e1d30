//! The memory that reading may take: a small file can contain much, as it is packed or because its
//! stacks are deep or its names differ.
//!
//! The limit is that of a thread, which sets it and then reads; what it measures is the memory of the
//! process, by the kernel's numbers. Readers ask [`is_full`] in all loops that take memory without
//! reading on, and stop; the code that set the limit finds that the profile is not whole.

use std::cell::Cell;
use std::fs::File;
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

// Threads read at the same time: the limit of one must not stop another, which would not find out.
thread_local! {
    /// The memory of the process that is too much; 0 for none.
    static LIMIT_BYTES: Cell<u64> = const { Cell::new(0) };
    static IS_FULL: Cell<bool> = const { Cell::new(false) };
    /// The steps since the last look.
    static STEPS: Cell<usize> = const { Cell::new(0) };
}
/// The steps between two looks. Each is a frame or a name at most: some hundred bytes.
const STEPS_PER_LOOK: usize = 1 << 13;

/// The limit of this thread that is set as long as this lives.
#[derive(Debug)]
pub struct Limit {
    base_bytes: u64,
    /// It stays in its thread.
    of_thread: PhantomData<*const ()>,
}

impl Limit {
    /// Allows that the process takes `bytes` more than now.
    pub fn new(bytes: u64) -> Self {
        let base_bytes = resident_bytes().unwrap_or(0);
        let limit = Self { base_bytes, of_thread: PhantomData };
        IS_FULL.set(false);
        limit.allow(bytes);
        limit
    }

    /// Allows that the process takes `bytes` more than when the limit was set first.
    pub fn allow(&self, bytes: u64) {
        LIMIT_BYTES.set(self.base_bytes.saturating_add(bytes).max(1));
    }

    /// Looks whether the process has taken more. Once it has, this is so to the end.
    pub fn is_exceeded(&self) -> bool {
        look()
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        LIMIT_BYTES.set(0);
        IS_FULL.set(false);
    }
}

/// Whether more memory is taken than allowed, as far as known. `steps` is the number of frames, names
/// or rows that were made since the last question.
#[inline]
pub(crate) fn is_full(steps: usize) -> bool {
    let count = STEPS.get().wrapping_add(steps);
    STEPS.set(count);
    if count >= STEPS_PER_LOOK { look() } else { IS_FULL.get() }
}

#[cold]
fn look() -> bool {
    STEPS.set(0);
    let limit_bytes = LIMIT_BYTES.get();
    if limit_bytes > 0 && resident_bytes().is_some_and(|bytes| bytes > limit_bytes) {
        IS_FULL.set(true);
    }
    IS_FULL.get()
}

/// Returns the memory that the process has, if the kernel reports it. procfs would open the file each time.
fn resident_bytes() -> Option<u64> {
    static STATM: OnceLock<Option<File>> = OnceLock::new();
    let statm = STATM.get_or_init(|| File::open("/proc/self/statm").ok()).as_ref()?;
    let mut text = [0; 128];
    let count = statm.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(&text[..count]).ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_number_follows_what_is_taken() {
        const BYTES: usize = 64 << 20;
        let before = resident_bytes().unwrap();
        let taken = vec![1_u8; BYTES];
        let after = resident_bytes().unwrap();
        // Other tests run meanwhile.
        assert!(after > before + BYTES as u64 / 2, "{before} {after} {}", taken.len());
    }
    #[test]
    fn the_limit_of_one_thread_does_not_stop_another() {
        let limit = Limit::new(0);
        let _taken = vec![1_u8; 64 << 20];
        assert!(limit.is_exceeded());
        assert!(is_full(1));
        std::thread::scope(|scope| {
            let other =
                scope.spawn(|| is_full(STEPS_PER_LOOK) || Limit::new(u64::MAX).is_exceeded());
            assert!(!other.join().unwrap());
        });
        // What the other thread set is not this one's, either.
        assert!(is_full(1));
    }
}
