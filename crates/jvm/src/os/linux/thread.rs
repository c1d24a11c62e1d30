//! Threads: ids, names, states and times.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use super::clock::clock_ns;
use super::file::most_descriptors;

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
    pub(super) fn cpu_clock(self) -> libc::clockid_t {
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
        ThreadFiles::default().is_runnable(self)
    }

    /// Returns the time for which the thread was ready and waited for a CPU; `None` if the kernel
    /// does not say.
    pub fn run_delay_ns(self) -> Option<u64> {
        ThreadFiles::default().run_delay_ns(self)
    }

    /// Returns the time that the thread had a CPU; `None` if the kernel does not say.
    pub fn run_ns(self) -> Option<u64> {
        ThreadFiles::default().schedule(self).map(|[run, ..]| run)
    }

    /// Returns how often the thread was switched to; `None` if the kernel does not say.
    pub fn switch_count(self) -> Option<u64> {
        ThreadFiles::default().schedule(self).map(|[.., slices]| slices)
    }
}

/// The most files that stay open.
const MOST_FILES: usize = 32;

/// The kernel's files of the threads that are looked at often. They stay open, as to find one takes the
/// kernel many times as long as to write its text.
#[derive(Debug, Default)]
pub struct ThreadFiles(Vec<(Tid, &'static str, File)>);

impl ThreadFiles {
    /// Does as [`Tid::is_runnable`].
    pub fn is_runnable(&mut self, tid: Tid) -> Option<bool> {
        let mut stat = [0; 512];
        let stat = self.read(tid, "stat", &mut stat)?;
        // `tid (name) state …`: the name may hold anything, so the state is found from the end.
        let name_end = stat.iter().rposition(|&byte| byte == b')')?;
        stat.get(name_end + 2).map(|&state| state == b'R')
    }

    /// Does as [`Tid::run_delay_ns`].
    pub fn run_delay_ns(&mut self, tid: Tid) -> Option<u64> {
        self.schedule(tid).map(|[_, delay, _]| delay)
    }

    /// Returns the nanoseconds on a CPU, those of waits for one, and the number of slices of time on a CPU.
    fn schedule(&mut self, tid: Tid) -> Option<[u64; 3]> {
        let mut schedstat = [0; 128];
        let text = std::str::from_utf8(self.read(tid, "schedstat", &mut schedstat)?).ok()?;
        let mut numbers = text.split_ascii_whitespace().map(|it| it.parse().ok());
        Some([numbers.next()??, numbers.next()??, numbers.next()??])
    }

    /// Reads a file of a thread.
    fn read<'a>(&mut self, tid: Tid, name: &'static str, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
        let Self(files) = self;
        let known = files.iter().position(|file| (file.0, file.1) == (tid, name));
        let file = match known {
            Some(index) => files.remove(index).2,
            None => File::open(format!("/proc/self/task/{}/{name}", tid.0)).ok()?,
        };
        // The file of a thread that has ended cannot be read, also if there is another one of this id.
        let length = match file.read_at(buffer, 0) {
            Err(_) if known.is_some() => return self.read(tid, name, buffer),
            length => length.ok()?,
        };
        if known.is_some() || (file.as_raw_fd() as usize) < most_descriptors() {
            files.truncate(MOST_FILES - 1);
            files.insert(0, (tid, name, file));
        }
        Some(&buffer[..length])
    }
}

/// Returns the threads of the process.
pub fn own_tids() -> Vec<Tid> {
    let tid = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    fs::read_dir("/proc/self/task").into_iter().flatten().filter_map(tid).map(Tid).collect()
}
