//! The agent's memory: its allocations are counted, so that the accounting can show their cost, and
//! regions that probes write to never move.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering::Relaxed};

static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with a counter of the live bytes.
pub(crate) struct Counting;

/// Returns the most bytes that the agent's own code held at once. (The JVM's allocations on the
/// agent's behalf, such as tags and JNI references, are not included.)
pub(crate) fn peak_bytes() -> u64 {
    PEAK_BYTES.load(Relaxed) as u64
}

fn grow(bytes: usize) {
    let live = LIVE_BYTES.fetch_add(bytes, Relaxed) + bytes;
    // A lost race costs at most the other thread's allocation at that moment.
    if live > PEAK_BYTES.load(Relaxed) {
        PEAK_BYTES.fetch_max(live, Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator unchanged; only counters are kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        LIVE_BYTES.fetch_sub(layout.size(), Relaxed);
        grow(new_size);
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

/// A type of which all zeroes is a valid value, as it consists of numbers.
pub(crate) trait Numbers {}
impl Numbers for AtomicU8 {}
impl Numbers for AtomicU32 {}

/// Reserves zeroed memory that is only used when it is written to.
pub(crate) fn reserve<T: Numbers>(len: usize) -> io::Result<&'static [T]> {
    let (read_write, private) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
    );
    // SAFETY: a new mapping, which nobody else has and which is never unmapped; all fields are
    // numbers, for which zeroes are valid.
    unsafe {
        let bytes = len * size_of::<T>();
        let memory = libc::mmap(null_mut(), bytes, read_write, private, -1, 0);
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(std::slice::from_raw_parts(memory.cast(), len))
    }
}
