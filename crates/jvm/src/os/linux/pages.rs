//! Memory in pages.

use std::ffi::c_void;
use std::fs;
use std::io;
use std::ptr::{NonNull, null_mut};

/// Returns the size of a page in bytes.
pub fn page_bytes() -> usize {
    // SAFETY: sysconf has no preconditions.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).ok().filter(|bytes| bytes.is_power_of_two()).unwrap_or(4096)
}

/// The error of memory that is not there.
pub fn no_memory() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOMEM)
}

/// Maps zeroes, which are only memory once they are written to.
///
/// # Errors
/// The kernel's.
pub fn map_zeroes(bytes: usize) -> io::Result<NonNull<c_void>> {
    map(null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_NORESERVE)
}

/// Maps zeroes at an address.
///
/// # Errors
/// The kernel's: `AlreadyExists` if something else is there.
pub fn map_zeroes_at(address: usize, bytes: usize) -> io::Result<NonNull<c_void>> {
    let flags = libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let memory = map(address as *mut _, bytes, libc::PROT_READ | libc::PROT_WRITE, flags)?;
    if memory.addr().get() == address {
        return Ok(memory);
    }
    // A kernel that does not know the flag takes the address as a wish.
    // SAFETY: it was mapped just now, and nobody else knows of it.
    unsafe { unmap(memory.as_ptr(), bytes) };
    Err(io::Error::from_raw_os_error(libc::EEXIST))
}

/// Returns an address that the kernel gives out now, and that is mapped to nothing.
///
/// # Errors
/// The kernel's.
pub fn free_address() -> io::Result<usize> {
    let page = map(null_mut(), page_bytes(), libc::PROT_NONE, 0)?;
    // SAFETY: it was mapped just now, and nobody else knows of it.
    unsafe { unmap(page.as_ptr(), page_bytes()) };
    Ok(page.addr().get())
}

fn map(address: *mut c_void, bytes: usize, access: i32, flags: i32) -> io::Result<NonNull<c_void>> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
    // SAFETY: a new mapping, which replaces no other one: without MAP_FIXED the address is a wish.
    let memory = unsafe { libc::mmap(address, bytes, access, flags, -1, 0) };
    let memory = NonNull::new(memory).filter(|_| memory != libc::MAP_FAILED);
    memory.ok_or_else(io::Error::last_os_error)
}

/// Takes a mapping away.
///
/// # Safety
/// It must be the caller's, and nobody may use it any more.
pub unsafe fn unmap(address: *mut c_void, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(address, bytes) };
}

/// Gives pages back to the system, which makes them again, as zeroes, when they are used. Returns whether it does.
///
/// # Safety
/// They must be of a mapping of [`map_zeroes`] that is the caller's, and nobody may use them now.
pub unsafe fn forget(start: usize, bytes: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe { libc::madvise(start as *mut c_void, bytes, libc::MADV_DONTNEED) == 0 }
}

/// The kernel may have switched them off: then the pages are small.
///
/// # Safety
/// The memory must be the caller's, and be aligned to huge pages.
pub unsafe fn ask_for_huge_pages(memory: *mut c_void, bytes: usize) {
    // SAFETY: the caller's promise; the contents stay.
    unsafe { libc::madvise(memory, bytes, libc::MADV_HUGEPAGE) };
}

/// Finds out which pages from an address on have memory: the lowest bit of each byte. Returns `false` if not
/// all of them are mapped.
pub fn are_resident(start: usize, pages: &mut [u8]) -> bool {
    // SAFETY: there is a byte for each page; the memory itself is not accessed, and a range that is not mapped
    // is an error.
    let result =
        unsafe { libc::mincore(start as *mut _, pages.len() * page_bytes(), pages.as_mut_ptr()) };
    result == 0
}

/// Has threads share the C library's arenas, from now on.
pub fn share_arenas() {
    // SAFETY: mallopt takes any numbers; the arenas that exist stay.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Returns the bytes of address space that the process can still map (`ulimit -v`, `ulimit -d`); `None` if
/// there is no limit, or the kernel does not say.
pub fn space_left() -> Option<u64> {
    let limit = |resource| {
        let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the answer lives until the call returns.
        let result = unsafe { libc::getrlimit(resource, &mut limits) };
        (result == 0 && limits.rlim_cur != libc::RLIM_INFINITY).then_some(limits.rlim_cur)
    };
    let limits = [limit(libc::RLIMIT_AS), limit(libc::RLIMIT_DATA)];
    if limits == [None; 2] {
        return None;
    }
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    // Pages: all, resident, shared, code, unused, data and stack.
    let pages = |place| statm.split_ascii_whitespace().nth(place)?.parse::<u64>().ok();
    let left = [0, 5].into_iter().zip(limits).filter_map(|(place, limit)| {
        Some(limit?.saturating_sub(pages(place)?.saturating_mul(page_bytes() as u64)))
    });
    left.min()
}
