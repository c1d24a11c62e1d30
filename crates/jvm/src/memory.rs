//! The agent's memory: its allocations are counted, so that the accounting can show their cost, and
//! regions that probes write to never move.

mod region;

use std::alloc::{GlobalAlloc, Layout, System, alloc, dealloc, handle_alloc_error};
use std::io;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::os;

static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with a counter of the live bytes.
#[derive(Debug)]
pub struct CountingAllocator;

/// Returns the most bytes that the agent's own code held at once. (The JVM's allocations on the
/// agent's behalf, such as tags and JNI references, are not included.)
pub fn peak_bytes() -> u64 {
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
unsafe impl GlobalAlloc for CountingAllocator {
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

pub use self::region::{Region, be_sparing, is_short, set_short};

/// A type of which all zeroes is a valid value, as it consists of numbers.
pub trait Numbers {}
impl Numbers for AtomicU8 {}
impl Numbers for AtomicU32 {}
impl Numbers for AtomicU64 {}

/// The size and the alignment of a huge page.
const HUGE: usize = 2 << 20;

/// The pages of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// For regions that are used here and there.
    Small,
    /// For regions that are read at random: the processor then finds the place of more of it without
    /// reading page tables, which takes long in a virtual machine above all.
    Huge,
}

/// Reserves zeroed memory of a size that is known. It is only used when it is written to, page by page.
pub fn reserve<T: Numbers>(len: usize) -> io::Result<&'static [T]> {
    let bytes = len * size_of::<T>();
    if !region::leaves_room(bytes) {
        return Err(os::no_memory());
    }
    let memory = os::map_zeroes(bytes)?;
    // SAFETY: a new mapping of that size, which nobody else has and which stays; all fields are
    // numbers, for which zeroes are valid.
    Ok(unsafe { std::slice::from_raw_parts(memory.as_ptr().cast(), len) })
}

/// Sets words that `reserve` made to 0. Whole pages go back to the system, which makes them again when
/// they are written to.
pub fn clear(words: &[AtomicU64]) {
    let first = words.as_ptr() as usize;
    let start = first.next_multiple_of(os::page_bytes());
    let end = (first + size_of_val(words)) & !(os::page_bytes() - 1);
    let is_done = start < end
        // SAFETY: the pages are of an anonymous mapping of the agent's own and wholly within the words,
        // which nobody else uses now; the system gives zeroes for them.
        && unsafe { os::forget(start, end - start) };
    let index = |address: usize| (address - first) / size_of::<AtomicU64>();
    let edges = if is_done { [&words[..index(start)], &words[index(end)..]] } else { [words, &[]] };
    edges.into_iter().flatten().for_each(|word| word.store(0, Relaxed));
}

/// Tables of at least this size are on huge pages.
const LARGE_TABLE: usize = HUGE / 2;

/// Zeroed numbers that stay at one address; many of them are on huge pages.
#[derive(Debug)]
pub struct Table<T: Numbers> {
    start: NonNull<T>,
    len: usize,
}

// SAFETY: it owns the numbers, as a box does.
unsafe impl<T: Numbers + Send> Send for Table<T> {}

impl<T: Numbers> Table<T> {
    /// Makes a table of at least one number; `None` if there is no memory for it.
    pub fn new(len: usize) -> Option<Self> {
        let layout = Self::layout(len);
        // SAFETY: a table has a size; zeroes are valid for numbers. If it is on huge pages, it is
        // aligned to them.
        unsafe {
            let memory = alloc(layout);
            let start = NonNull::new(memory.cast())?;
            if layout.align() == HUGE {
                os::ask_for_huge_pages(memory.cast(), layout.size());
            }
            memory.write_bytes(0, layout.size());
            Some(Self { start, len })
        }
    }

    /// Makes a small table.
    pub fn small(len: usize) -> Self {
        Self::new(len).unwrap_or_else(|| handle_alloc_error(Self::layout(len)))
    }

    fn layout(len: usize) -> Layout {
        let layout = Layout::array::<T>(len.max(1)).expect("a table fits into memory");
        match layout.size() {
            LARGE_TABLE.. => {
                layout.align_to(HUGE).expect("a table fits into memory").pad_to_align()
            }
            _ => layout,
        }
    }
}

impl<T: Numbers> Deref for Table<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `new` made as many.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Numbers> Drop for Table<T> {
    fn drop(&mut self) {
        // SAFETY: `new` allocated it with this layout.
        unsafe { dealloc(self.start.as_ptr().cast(), Self::layout(self.len)) }
    }
}
