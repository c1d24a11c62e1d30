//! Regions: numbers that probes write to, at addresses that never change, in memory that grows.
//!
//! The largest size of a region is not known in advance, and must not be reserved: a reservation counts
//! against the limit of address space (`ulimit -v`), by which the program may run only just. So a region
//! has a *window*, which is a range of addresses far away from those that the system gives out, and of
//! which only the part in use is mapped. A region that cannot grow stays as it is: its user counts
//! without a place for each number from then on.

use std::io;
use std::marker::PhantomData;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::{HUGE, Numbers, Pages};
use crate::os;
use crate::sync::lock;

/// The least and the most that a region grows by, if the system has that much.
const LEAST_PIECE: usize = 64 << 10;
const LARGEST_PIECE: usize = 64 << 20;
/// The windows that are tried: each lies below the previous one.
const TRIES: usize = 64;
/// The address space that perk leaves to the program, if there is a limit.
const LEFT_BYTES: u64 = 16 << 20;
/// With less than this, it is short.
const SHORT_BYTES: u64 = 4 << 30;

/// The address below which the next window ends; 0 before the first one.
static BELOW: Mutex<usize> = Mutex::new(0);
/// Whether a region could not grow.
static IS_SHORT: AtomicBool = AtomicBool::new(false);

/// Whether the system has refused address space that perk needed.
pub fn is_short() -> bool {
    IS_SHORT.load(Ordering::Relaxed)
}

/// Notes that it has.
pub fn set_short() {
    IS_SHORT.store(true, Ordering::Relaxed);
}

/// Zeroed numbers that stay at one address; see the module.
#[derive(Debug)]
pub struct Region<T: Numbers> {
    start: usize,
    /// The size of the window in bytes.
    most_bytes: usize,
    mapped_bytes: AtomicUsize,
    growing: Mutex<()>,
    pages: Pages,
    numbers: PhantomData<T>,
}

impl<T: Numbers> Region<T> {
    /// Makes a region of at most this number of numbers, of which some can be used.
    ///
    /// # Errors
    /// The system's error if there is no memory for any.
    pub fn new(most: usize, pages: Pages) -> io::Result<Self> {
        let most_bytes = (most * size_of::<T>()).next_multiple_of(HUGE);
        let mut below = lock(&BELOW);
        for _ in 0..TRIES {
            let start = match below.checked_sub(most_bytes) {
                Some(start) if start > most_bytes => start,
                _ => far_address()?.saturating_sub(most_bytes),
            } & !(HUGE - 1);
            // Regions have gaps between them, so that no access beyond one meets the next.
            *below = start.saturating_sub(HUGE);
            let (mapped_bytes, growing) = (AtomicUsize::new(0), Mutex::default());
            let region =
                Self { start, most_bytes, mapped_bytes, growing, pages, numbers: PhantomData };
            match region.map(0, region.least_piece()) {
                Ok(()) => return Ok(region),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(os::no_memory())
    }

    /// Makes at least this number of numbers usable. Returns whether they are.
    pub fn grow(&self, len: usize) -> bool {
        let wanted = len * size_of::<T>();
        if wanted <= self.mapped_bytes.load(Ordering::Acquire) {
            return true;
        }
        let _growing = lock(&self.growing);
        let mapped = self.mapped_bytes.load(Ordering::Acquire);
        if wanted <= mapped {
            return true;
        }
        if wanted > self.most_bytes {
            return false;
        }
        let least = (wanted - mapped).next_multiple_of(os::page_bytes());
        let usual = (mapped / 2).clamp(self.least_piece(), LARGEST_PIECE);
        let piece = least.max(usual).next_multiple_of(self.least_piece());
        let mut pieces = [piece.min(self.most_bytes - mapped), least].into_iter();
        let has_grown = pieces.any(|piece| leaves_room(piece) && self.map(mapped, piece).is_ok());
        if !has_grown {
            set_short();
        }
        has_grown
    }

    /// Returns the numbers that can be used now.
    pub fn all(&self) -> &'static [T] {
        let len = self.mapped_bytes.load(Ordering::Acquire) / size_of::<T>();
        // SAFETY: this number of bytes from `start` on was mapped by `map`, as zeroes, which are valid for
        // numbers; only `give_back` unmaps them.
        unsafe { std::slice::from_raw_parts(self.start as *const T, len) }
    }

    /// Returns the address of the first number.
    pub fn address(&self) -> u64 {
        self.start as u64
    }

    /// Gives the memory back to the system.
    ///
    /// # Safety
    /// Nobody may use the numbers any more.
    pub unsafe fn give_back(&self) {
        let mapped = self.mapped_bytes.swap(0, Ordering::AcqRel);
        // SAFETY: this number of bytes was mapped by `map`; the caller's promise.
        unsafe { os::unmap(self.start as *mut _, mapped) };
    }

    fn least_piece(&self) -> usize {
        if self.pages == Pages::Huge { HUGE } else { LEAST_PIECE }
    }

    /// Maps the next piece of the window.
    fn map(&self, mapped: usize, bytes: usize) -> io::Result<()> {
        let memory = os::map_zeroes_at(self.start + mapped, bytes)?;
        if self.pages == Pages::Huge {
            // SAFETY: it was mapped just now; a window and its pieces are multiples of a huge page.
            unsafe { os::ask_for_huge_pages(memory.as_ptr(), bytes) };
        }
        self.mapped_bytes.store(mapped + bytes, Ordering::Release);
        Ok(())
    }
}

/// Returns an address far below those that the system gives out, which it does from above. (Where it does
/// so from below, it has not come so far by then.)
fn far_address() -> io::Result<usize> {
    os::free_address().map(|address| address - address / 16)
}

/// Has the threads share the C library's arenas if there is little address space: each takes 64 MiB of it,
/// and threads take them until nothing is left.
pub fn be_sparing() {
    if os::space_left().is_some_and(|left| left < SHORT_BYTES) {
        os::share_arenas();
    }
}

/// Whether the program has some of its address space left, if there is a limit, after this number of bytes more.
pub(super) fn leaves_room(bytes: usize) -> bool {
    os::space_left().is_none_or(|left| left >= LEFT_BYTES + bytes as u64)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;

    #[test]
    fn numbers_stay_where_they_are_while_a_region_grows() {
        let region = Region::<AtomicU64>::new(1 << 30, Pages::Small).unwrap();
        let other = Region::<AtomicU64>::new(1 << 30, Pages::Huge).unwrap();
        let first = region.all();
        first[7].store(5, Relaxed);
        other.all()[7].store(6, Relaxed);
        let mut lens = vec![first.len()];
        for len in [1 << 16, (1 << 16) + 1, 1 << 22] {
            assert!(region.grow(len) && other.grow(len));
            lens.push(region.all().len());
            assert!(*lens.last().unwrap() >= len);
            assert_eq!(region.all()[len - 1].load(Relaxed), 0);
            region.all()[len - 1].store(1, Relaxed);
        }
        assert!(std::ptr::eq(&first[7], &region.all()[7]));
        assert_eq!((first[7].load(Relaxed), other.all()[7].load(Relaxed)), (5, 6));
        // Address space is taken as it is needed.
        assert!(lens.iter().all(|len| len * 8 < 100 << 20), "{lens:?}");
        assert!(!region.grow((1 << 30) + 1));
        // SAFETY: nobody uses them below.
        unsafe { [&region, &other].into_iter().for_each(|it| it.give_back()) };
    }

    #[test]
    fn regions_with_one_window_are_apart() {
        let regions: Vec<_> =
            (0..100).map(|_| Region::<AtomicU64>::new(1 << 10, Pages::Small).unwrap()).collect();
        for (number, region) in regions.iter().enumerate() {
            assert!(region.grow(1 << 10) && !region.grow(1 << 30));
            region.all().iter().for_each(|it| it.store(number as u64, Relaxed));
        }
        for (number, region) in regions.iter().enumerate() {
            assert!(region.all().iter().all(|it| it.load(Relaxed) == number as u64));
        }
    }
}
