//! Reads of memory that may not be there: a fault is an answer and not a crash.
//!
//! A read is one instruction at a known address. The handler of SIGSEGV and SIGBUS that [`install`]
//! puts before the JVM's recognises that address and continues after it; all other faults go to the
//! handler that was there. Where the JVM watches over its handlers (`-Xcheck:jni`), and once somebody
//! else has replaced perk's, the kernel copies each word instead, which takes a system call.
//!
//! All but [`install`] and [`PageCopies`] may be called in a signal handler.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::mem::{MaybeUninit, zeroed};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustc_hash::FxHashMap;

use crate::arch;

/// The signals of a read that fails.
const FAULTS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// The handlers that were there, in the order of [`FAULTS`].
static EARLIER: OnceLock<[libc::sigaction; 2]> = OnceLock::new();

/// Whether the kernel copies.
static COPIES: AtomicBool = AtomicBool::new(true);

/// Installs the handlers, once. Until then, and if that is not possible, the kernel copies.
pub fn install() {
    // SAFETY: the sets are plain data; the handler is part of this library, which is never unloaded.
    unsafe {
        let mut earlier: [libc::sigaction; 2] = zeroed();
        for (signal, place) in FAULTS.into_iter().zip(&mut earlier) {
            if libc::sigaction(signal, null_mut(), place) != 0 {
                return;
            }
        }
        if EARLIER.set(earlier).is_err() {
            return;
        }
        for (signal, mut its) in FAULTS.into_iter().zip(earlier) {
            its.sa_flags |= libc::SA_SIGINFO;
            its.sa_sigaction = on_fault as *const () as usize;
            if libc::sigaction(signal, &its, null_mut()) != 0 {
                return;
            }
        }
    }
    COPIES.store(false, Relaxed);
}

/// Checks that the handlers are still there. If not, the kernel copies from now on.
pub fn verify() {
    let is_there = |signal: c_int| {
        let mut its = MaybeUninit::uninit();
        // SAFETY: the kernel fills `its` if it succeeds.
        let handler = unsafe {
            (libc::sigaction(signal, null_mut(), its.as_mut_ptr()) == 0)
                .then(|| its.assume_init().sa_sigaction)
        };
        handler == Some(on_fault as *const () as usize)
    };
    if !COPIES.load(Relaxed) && !FAULTS.into_iter().all(is_there) {
        COPIES.store(true, Relaxed);
    }
}

/// Returns the eight bytes at an address; `None` if they cannot be read.
pub fn word(address: usize) -> Option<usize> {
    if address < 4096 {
        return None;
    }
    if COPIES.load(Relaxed) {
        return copied(address);
    }
    let mut value = 0_u64;
    // SAFETY: a read that fails continues at `arch::load_failed`; the value lives until the return.
    let is_read = unsafe { arch::load(address, &mut value) };
    (is_read != 0).then_some(value as usize)
}

/// Returns the bytes at an address; `None` if not all of them can be read, or the kernel does not copy.
pub fn bytes(address: usize, length: usize) -> Option<Vec<u8>> {
    // Both ends are looked at before there is room for a length that may be wrong.
    for end in [address, address.checked_add(length.checked_sub(1)?)?] {
        let mut byte = [0_u8];
        copy(end, &mut byte)?;
    }
    let mut bytes = vec![0; length];
    copy(address, &mut bytes)?;
    Some(bytes)
}

/// The words of a block.
const BLOCK_WORDS: usize = 16;
const BLOCK_BYTES: usize = BLOCK_WORDS * size_of::<usize>();
/// The blocks that are kept.
const BLOCKS: usize = 16;

/// Blocks of memory that the kernel has copied, so that a walk does not take a system call for each
/// word. For one walk of one thread.
#[derive(Debug)]
pub struct Blocks(Cell<[(usize, [usize; BLOCK_WORDS]); BLOCKS]>);

impl Default for Blocks {
    fn default() -> Self {
        Self(Cell::new([(0, [0; BLOCK_WORDS]); BLOCKS]))
    }
}

impl Blocks {
    /// Does as [`word`]. May be called in a signal handler.
    pub fn word(&self, address: usize) -> Option<usize> {
        if !COPIES.load(Relaxed) || !address.is_multiple_of(size_of::<usize>()) || address < 4096 {
            return word(address);
        }
        let number = address / BLOCK_BYTES;
        let blocks = self.0.as_ptr();
        // SAFETY: the cell is not shared between threads, and no reference outlives this call.
        let (known, words) = unsafe { (*blocks).get_mut(number % BLOCKS)? };
        if *known != number {
            *known = 0;
            // A block does not cross a page.
            copy(number * BLOCK_BYTES, words)?;
            *known = number;
        }
        words.get(address % BLOCK_BYTES / size_of::<usize>()).copied()
    }
}

/// Copies of pages, for a look at much memory that does not change, before [`install`]. Not for
/// signal handlers: it allocates.
#[derive(Debug, Default)]
pub struct PageCopies(RefCell<FxHashMap<usize, Option<Box<Page>>>>);

type Page = [usize; PAGE_BYTES / size_of::<usize>()];
const PAGE_BYTES: usize = 4096;

impl PageCopies {
    /// Does as [`word`].
    pub fn word(&self, address: usize) -> Option<usize> {
        if !address.is_multiple_of(size_of::<usize>()) || address < PAGE_BYTES {
            return word(address);
        }
        let mut pages = self.0.borrow_mut();
        let page = pages.entry(address / PAGE_BYTES).or_insert_with(|| {
            let mut page = Box::new([0; _]);
            copy(address & !(PAGE_BYTES - 1), &mut *page)?;
            Some(page)
        });
        page.as_ref()?.get(address % PAGE_BYTES / size_of::<usize>()).copied()
    }
}

/// Reads by a system call.
fn copied(address: usize) -> Option<usize> {
    let mut value = [0_usize];
    copy(address, &mut value)?;
    Some(value[0])
}

/// A number that any bytes are.
trait Number: Copy {}
impl Number for u8 {}
impl Number for usize {}

/// Fills numbers by a system call.
fn copy<T: Number>(address: usize, into: &mut [T]) -> Option<()> {
    let size = size_of_val(into);
    let here = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: size };
    let there = libc::iovec { iov_base: address as *mut c_void, iov_len: size };
    // SAFETY: the kernel writes at most these numbers, and checks the other address.
    let bytes = unsafe { libc::process_vm_readv(libc::getpid(), &here, 1, &there, 1, 0) };
    (bytes == size as isize).then_some(())
}

unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the interrupted thread's registers.
    if unsafe { arch::leave_load(context) } {
        return;
    }
    let index = usize::from(signal == FAULTS[1]);
    let Some(earlier) = EARLIER.get().map(|all| all[index]) else { return };
    // SAFETY: the handler is called as the kernel would have called it; without one, the signal's
    // default comes back, and the instruction fails again.
    unsafe {
        match earlier.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => _ = libc::sigaction(signal, &earlier, null_mut()),
            handler if earlier.sa_flags & libc::SA_SIGINFO != 0 => {
                type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
                std::mem::transmute::<usize, Handler>(handler)(signal, info, context);
            }
            handler => {
                type Handler = unsafe extern "C" fn(c_int);
                std::mem::transmute::<usize, Handler>(handler)(signal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_no_crash() {
        let here = 0x1234_5678_9abc_def0_usize;
        let (access, flags) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping overlaps nothing.
        let page = unsafe { libc::mmap(null_mut(), 4096, access, flags, -1, 0) } as usize;
        for _ in 0..2 {
            assert_eq!(word((&raw const here).addr()), Some(here));
            assert_eq!([0, 8, usize::MAX - 7, page].map(word), [None; 4]);
            assert_eq!(bytes((&raw const here).addr(), 3), Some(vec![0xf0, 0xde, 0xbc]));
            for (address, length) in [(0, 1), (page - 1, 2), (page, 1 << 30), (usize::MAX, 2)] {
                assert_eq!(bytes(address, length), None);
            }
            let (blocks, words) = (Blocks::default(), [7_usize, 8, 9]);
            let pages = PageCopies::default();
            for _ in 0..2 {
                let of_pages = words.each_ref().map(|it| pages.word((&raw const *it).addr()));
                assert_eq!(of_pages, words.map(Some));
                assert_eq!([0, 8, usize::MAX - 7, page].map(|it| pages.word(it)), [None; 4]);
                assert_eq!(
                    words.each_ref().map(|it| blocks.word((&raw const *it).addr())),
                    words.map(Some)
                );
                assert_eq!([0, 8, usize::MAX - 7, page].map(|it| blocks.word(it)), [None; 4]);
            }
            install();
        }
    }
}
