//! The memory of a thread's stack.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::null_mut;

use super::pages::{are_resident, page_bytes};

/// The pages that the kernel is asked about at once.
const PAGES_AT_ONCE: usize = 1 << 12;

/// The address range of a thread's stack, which grows downwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack(Range<usize>);

impl Stack {
    /// Returns the stack of the calling thread.
    pub fn of_current() -> Option<Self> {
        let mut attributes = MaybeUninit::uninit();
        let (mut start, mut bytes) = (null_mut(), 0);
        // SAFETY: the attributes are made by the first call, read by the second, and destroyed once;
        // all places live until the calls return.
        unsafe {
            if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
                return None;
            }
            let known = libc::pthread_attr_getstack(attributes.as_ptr(), &mut start, &mut bytes);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            (known == 0).then(|| Self(start as usize..start as usize + bytes))
        }
    }

    /// Returns the bytes from the lowest page that has been written to, to the top; `None` if the
    /// stack is gone. The kernel gives a page memory when it is written to for the first time, and
    /// nobody takes it back while the thread lives.
    pub fn high_water_bytes(&self) -> Option<usize> {
        let page_bytes = page_bytes();
        let (mut at, end) = (self.0.start.next_multiple_of(page_bytes), self.0.end);
        let mut lowest = None;
        let mut resident = [0_u8; PAGES_AT_ONCE];
        while at < end && lowest.is_none() {
            let bytes = (end - at).min(PAGES_AT_ONCE * page_bytes);
            let pages = &mut resident[..bytes.div_ceil(page_bytes)];
            let is_known = are_resident(at, pages);
            let lowest_of = || pages.iter().position(|page| page & 1 != 0);
            lowest = is_known.then(lowest_of).flatten().map(|page| at + page * page_bytes);
            at += bytes;
        }
        lowest.map(|lowest| end - lowest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::thread::Builder;

    /// Uses this number of KiB of the stack, and a little more.
    fn use_kib(count: u32) -> u8 {
        let page = black_box([1_u8; 1024]);
        if count == 0 { page[0] } else { use_kib(count - 1).wrapping_add(black_box(page)[1]) }
    }

    #[test]
    fn the_deepest_use_is_known() {
        let used = |kib: u32| {
            let body = move || {
                use_kib(kib);
                Stack::of_current().and_then(|stack| stack.high_water_bytes()).unwrap_or(0)
            };
            Builder::new().stack_size(64 << 20).spawn(body).unwrap().join().unwrap()
        };
        let (little, much) = (used(10), used(8_000));
        assert!((10 << 10..200 << 10).contains(&little), "{little}");
        assert!((8_000 << 10..32 << 20).contains(&much), "{much}");
    }

    #[test]
    fn an_ended_thread_has_no_stack() {
        let nowhere = Stack(1 << 46..(1 << 46) + (1 << 20));
        assert_eq!(nowhere.high_water_bytes(), None);
    }
}
