//! Threads: ids, names, states and times.

use std::fs::{self, File};
use std::io::{self, Read};

use super::clock::clock_ns;

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
