//! The agent's requests to the operating system: clocks, thread ids and thread states (Linux).

pub mod checked;
pub mod event;
mod stack;
pub mod timer;

use std::ffi::{CStr, OsStr, c_void};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::mem::ManuallyDrop;
use std::ops::{Deref, Range};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::ptr::{NonNull, null_mut};
use std::time::Duration;

pub use self::stack::Stack;

/// The kernel's id of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tid(i32);

impl Tid {
    /// Wraps an id that the JVM has.
    pub fn from_number(number: i32) -> Self {
        Self(number)
    }

    /// Returns the id as the kernel has it.
    pub fn number(self) -> i32 {
        self.0
    }

    /// Returns the id of the calling thread.
    pub fn current() -> Self {
        // SAFETY: gettid has no arguments and cannot fail.
        Self(unsafe { libc::gettid() })
    }

    /// Returns the CPU time that the thread has burned, in user and system mode; `None` once it has
    /// ended.
    pub fn cpu_ns(self) -> Option<u64> {
        clock_ns(self.cpu_clock())
    }

    /// Returns the clock of the thread's CPU time.
    fn cpu_clock(self) -> libc::clockid_t {
        // The kernel's encoding: the inverted id, "per thread" (4) and "as scheduled" (2).
        !self.0 << 3 | 6
    }

    /// Returns the first 15 bytes of the thread's name; `None` once it has ended.
    pub fn name(self) -> Option<String> {
        let name = fs::read(format!("/proc/self/task/{}/comm", self.0)).ok()?;
        Some(String::from_utf8_lossy(name.trim_ascii_end()).into_owned())
    }

    /// Whether the thread is on a CPU or waiting for one. A thread that blocks in a system call is
    /// not, whatever its Java state says. `None` if the kernel does not say.
    pub fn is_runnable(self) -> Option<bool> {
        let mut stat = [0; 512];
        let mut file = File::open(format!("/proc/self/task/{}/stat", self.0)).ok()?;
        let length = file.read(&mut stat).ok()?;
        // `tid (name) state …`: the name may hold anything, so the state is found from the end.
        let name_end = stat[..length].iter().rposition(|&byte| byte == b')')?;
        stat.get(name_end + 2).map(|&state| state == b'R')
    }
}

impl Tid {
    /// Returns the time for which the thread was ready and waited for a CPU; `None` if the kernel
    /// does not say.
    pub fn run_delay_ns(self) -> Option<u64> {
        self.times_ns().map(|[_, delay]| delay)
    }

    /// Returns the time that the thread had a CPU; `None` if the kernel does not say.
    pub fn run_ns(self) -> Option<u64> {
        self.times_ns().map(|[run, _]| run)
    }

    fn times_ns(self) -> Option<[u64; 2]> {
        let mut schedstat = [0; 128];
        let mut file = File::open(format!("/proc/self/task/{}/schedstat", self.0)).ok()?;
        let length = file.read(&mut schedstat).ok()?;
        // `ns-on-a-CPU ns-waiting-for-one slices`
        let text = std::str::from_utf8(&schedstat[..length]).ok()?;
        let mut numbers = text.split_ascii_whitespace().map(|it| it.parse().ok());
        Some([numbers.next()??, numbers.next()??])
    }
}

/// Returns the threads of the process.
pub fn own_tids() -> Vec<Tid> {
    let tid = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    fs::read_dir("/proc/self/task").into_iter().flatten().filter_map(tid).map(Tid).collect()
}

/// Writes to the program's stdout. The library's own stdout would not report that it is closed.
///
/// # Errors
/// The kernel's.
pub fn write_to_stdout(text: &[u8]) -> io::Result<()> {
    // SAFETY: the descriptor is written to and not closed. If it is not open, that is an error.
    let mut stdout = ManuallyDrop::new(unsafe { File::from_raw_fd(libc::STDOUT_FILENO) });
    stdout.write_all(text)
}

/// Returns the user whose rights the process has.
pub fn user_id() -> u32 {
    // SAFETY: geteuid has no arguments and cannot fail.
    unsafe { libc::geteuid() }
}

/// Returns the user whose rights the peer of a socket had when it connected.
pub fn peer_user(socket: &UnixStream) -> Option<u32> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of_val(&peer) as libc::socklen_t;
    // SAFETY: the descriptor is open; the answer and its length live until the call returns.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &mut length,
        )
    };
    (result == 0).then_some(peer.uid)
}

/// Waits until somebody connects to a listening socket, a connection is lost, or the time is over.
/// Returns whether the one and whether the other is the case.
///
/// # Errors
/// The kernel's.
pub fn wait_for_peers(
    listener: BorrowedFd<'_>,
    connection: Option<BorrowedFd<'_>>,
    limit: Duration,
) -> io::Result<(bool, bool)> {
    let pollfd = |fd, events| libc::pollfd { fd, events, revents: 0 };
    // The kernel passes over a negative descriptor. The end of a connection is reported unasked.
    let connection = connection.map_or(-1, |it| it.as_raw_fd());
    let mut both = [pollfd(listener.as_raw_fd(), libc::POLLIN), pollfd(connection, 0)];
    // SAFETY: the kernel reads and writes the array, which lives until the call returns.
    let result = unsafe {
        libc::poll(both.as_mut_ptr(), both.len() as libc::nfds_t, limit.as_millis() as libc::c_int)
    };
    match result {
        ..0 => Err(io::Error::last_os_error()),
        _ => Ok((both[0].revents != 0, both[1].revents != 0)),
    }
}

/// Returns the path of this library.
pub fn own_library() -> Option<PathBuf> {
    // SAFETY: `info` is plain pointers, which dladdr sets; the address is one of this library's.
    let name = unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let found = libc::dladdr(own_library as *const c_void, &mut info);
        (found != 0 && !info.dli_fname.is_null()).then(|| CStr::from_ptr(info.dli_fname))?
    };
    Some(OsStr::from_bytes(name.to_bytes()).into())
}

/// Returns the identity of a file that is replaced as a whole: its path, size and time.
pub fn build_of(file: &Path) -> Option<String> {
    let its = fs::metadata(file).ok()?;
    let (path, length) = (file.display(), its.len());
    Some(format!("{path} {length} {}.{:09}", its.mtime(), its.mtime_nsec()))
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

/// Returns the processor's count of cycles, which goes on at a constant rate; `None` if this kind of
/// processor has none.
pub fn cycle_count() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: each processor of this kind has the instruction.
    return Some(unsafe { std::arch::x86_64::_rdtsc() });
    #[cfg(not(target_arch = "x86_64"))]
    None
}

fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
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

/// Gives the blocks of a part of a file back to the file system; the part reads as zeroes from then
/// on. If the file system cannot do that, the blocks stay.
pub fn release_blocks(file: RawFd, bytes: Range<u64>) {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    let (start, length) = (bytes.start as libc::off_t, (bytes.end - bytes.start) as libc::off_t);
    // SAFETY: numbers only; a descriptor that is not open is an error.
    unsafe { libc::fallocate(file, mode, start, length) };
}

/// Returns the bytes written to a socket that the peer has not acknowledged; 0 if the kernel does
/// not say.
pub fn unsent_bytes(socket: BorrowedFd<'_>) -> usize {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the descriptor is open, and the kernel writes one int to `bytes`.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &mut bytes) };
    if result == 0 { usize::try_from(bytes).unwrap_or(0) } else { 0 }
}

/// Returns the bytes that a socket's peer offers to take now; `None` if the kernel does not say (it
/// does from Linux 5.4 on).
pub fn peer_window(socket: BorrowedFd<'_>) -> Option<u64> {
    /// The offset of `tcpi_snd_wnd` in `struct tcp_info`, four bytes.
    const PLACE: Range<usize> = 228..232;
    let mut info = [0_u8; 256];
    let mut length = info.len() as libc::socklen_t;
    let (level, option) = (libc::IPPROTO_TCP, libc::TCP_INFO);
    // SAFETY: the descriptor is open, and the kernel writes at most `length` bytes to `info`.
    let result = unsafe {
        let info = info.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), level, option, info, &mut length)
    };
    let bytes = info.get(PLACE).filter(|_| result == 0 && length as usize >= PLACE.end)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?).into())
}

/// Writes to stderr and ignores errors: there is nobody left to inform.
pub fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Registers `body` to be called when the process ends by `exit`.
pub fn at_exit(body: extern "C" fn()) {
    // SAFETY: the function is part of this library, which is never unloaded.
    unsafe { libc::atexit(body) };
}

/// Runs `body` with all signals blocked, which a thread that it starts inherits: the program's and
/// the JVM's signal handlers never run on it.
pub fn without_signals<T>(body: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are plain data that live until the calls return.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let result = body();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        result
    }
}

/// Returns the time of the clock that `System.nanoTime` reads.
pub fn nano_time() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC).unwrap_or(0)
}
