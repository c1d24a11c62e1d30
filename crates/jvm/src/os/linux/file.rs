//! Files.

use std::ffi::c_void;
use std::fs::{self, File};
use std::io;
use std::ops::{Deref, Range};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::ptr::{NonNull, null_mut};

/// Returns the identity of a file that is replaced as a whole: its path, size and time.
pub fn build_of(file: &Path) -> Option<String> {
    let its = fs::metadata(file).ok()?;
    let (path, length) = (file.display(), its.len());
    Some(format!("{path} {length} {}.{:09}", its.mtime(), its.mtime_nsec()))
}

/// Returns the number of descriptors from which on they are the program's.
pub(super) fn most_descriptors() -> usize {
    // SAFETY: the kernel fills the limits, which are plain numbers.
    let limit = unsafe {
        let mut limits: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limits);
        limits.rlim_cur
    };
    usize::try_from(limit / 2).unwrap_or(usize::MAX)
}

/// The contents of a file, in memory that is the file's own: neither copied nor allocated. The file
/// must not become shorter.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<c_void>,
    length: usize,
}

// SAFETY: the memory is only read, and stays where it is.
unsafe impl Send for Mapping {}

/// When the pages of a mapping come into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// All, at once.
    Now,
    /// Each when it is read.
    AsRead,
}

impl Mapping {
    /// Maps the first bytes of a file, which has as many.
    pub fn of(file: &File, length: usize, load: Load) -> Option<Self> {
        let populate = if load == Load::Now { libc::MAP_POPULATE } else { 0 };
        let flags = libc::MAP_PRIVATE | populate;
        let (access, descriptor) = (libc::PROT_READ, file.as_raw_fd());
        // SAFETY: a new mapping overlaps nothing; a length of 0 is an error.
        let start = unsafe { libc::mmap(null_mut(), length, access, flags, descriptor, 0) };
        let start = NonNull::new(start).filter(|_| start != libc::MAP_FAILED)?;
        Some(Self { start, length })
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes are mapped until `self` is dropped.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.length) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr(), self.length) };
    }
}

/// Gives the blocks of a part of a file back to the file system; the part reads as zeroes from then
/// on. If the file system cannot do that, the blocks stay.
pub fn release_blocks(file: RawFd, bytes: Range<u64>) {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    let (start, length) = (bytes.start as libc::off_t, (bytes.end - bytes.start) as libc::off_t);
    // SAFETY: numbers only; a descriptor that is not open is an error.
    unsafe { libc::fallocate(file, mode, start, length) };
}

/// Opens a file for reading, but no link to one, and without a wait for the other end of a pipe.
///
/// # Errors
/// The kernel's.
pub fn open_in_place(file: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    File::options().read(true).custom_flags(flags).open(file)
}
