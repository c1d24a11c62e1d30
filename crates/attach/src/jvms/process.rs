//! A process and its files in `/proc`, by a handle: another process that gets the same id later is
//! never taken for it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use procfs::process::Stat;
use procfs::{Current as _, FromRead as _, Uptime, ticks_per_second};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// The length of a process's command line or environment that is read.
const MOST_BYTES: u64 = 4 << 20;

/// A process.
///
/// procfs's own type does not give its handle away, drops the empty words of a command line, and refuses
/// text that is not UTF-8.
#[derive(Debug)]
pub struct Process {
    /// Its id in perk's namespace.
    pub pid: u32,
    /// Its folder in `/proc`. After the end of the process it has no files, even if the id is
    /// another's by then.
    folder: OwnedFd,
}

/// The fields of `/proc/PID/status`.
///
/// procfs refuses a status without all fields of Linux, such as that of gVisor, whose JVMs are listed too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The letter of the state: `R`, `S`, `T`, `Z`, …
    pub state: char,
    /// The effective user, in perk's namespace.
    pub uid: u32,
    /// The effective group, in perk's namespace.
    pub gid: u32,
    /// Its id in its own namespace.
    pub inner_pid: u32,
    /// The signals that have handlers, one bit each.
    caught: u64,
}

impl Process {
    /// Opens the process. `None` if there is none of that id.
    pub fn open(pid: u32) -> io::Result<Option<Self>> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match open(format!("/proc/{pid}"), flags, Mode::empty()) {
            Ok(folder) => Ok(Some(Self { pid, folder })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Another handle of the same process.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { pid: self.pid, folder: self.folder.try_clone()? })
    }

    /// The handle, for functions that take paths relative to one.
    pub fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// The path of one of its files, valid as long as this handle.
    pub fn path(&self, name: &str) -> PathBuf {
        path_in(&self.folder, name)
    }

    /// The content of one of its files.
    pub fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        use io::Read;
        let mut bytes = Vec::new();
        fs::File::open(self.path(name))?.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Its current state.
    pub fn status(&self) -> io::Result<Status> {
        Ok(Status::of(&String::from_utf8_lossy(&self.read("status")?)))
    }

    /// Whether it has ended.
    pub fn is_gone(&self) -> bool {
        self.stat().is_none_or(|stat| matches!(stat.state, 'Z' | 'X'))
    }

    /// How it has ended. The system keeps this until the parent has asked, and shows it to some users.
    pub fn exit(&self) -> Option<ExitStatus> {
        let stat = self.stat().filter(|stat| matches!(stat.state, 'Z' | 'X'))?;
        // To others the status is 0.
        let user = rustix::process::geteuid();
        let is_shown = user.is_root() || self.status().is_ok_and(|it| it.uid == user.as_raw());
        stat.exit_code.filter(|_| is_shown).map(ExitStatus::from_raw)
    }

    /// Waits until it ends, and returns how, if that is known then.
    pub fn wait_for_exit(&self) -> Option<ExitStatus> {
        let pid = Pid::from_raw(self.pid.try_into().ok()?)?;
        let process = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        // It is still the same one.
        if self.is_gone() {
            return self.exit();
        }
        while poll(&mut [PollFd::new(&process, PollFlags::IN)], None)
            .is_err_and(|it| it == Errno::INTR)
        {}
        self.exit()
    }

    fn stat(&self) -> Option<Stat> {
        Stat::from_read(&*self.read("stat").ok()?).ok()
    }

    /// The time of its start, in ticks since the system's; together with the id it is one process's alone.
    pub fn start_ticks(&self) -> Option<u64> {
        self.stat().map(|stat| stat.starttime)
    }

    /// Its CPU time so far, in user and kernel mode.
    pub fn cpu_time(&self) -> Option<Duration> {
        let stat = self.stat()?;
        Some(Duration::from_secs_f64((stat.utime + stat.stime) as f64 / ticks_per_second() as f64))
    }

    /// The time since its start, if the system gives it.
    pub fn age(&self) -> Option<Duration> {
        let start = self.stat()?.starttime as f64 / ticks_per_second() as f64;
        let now = Uptime::current().ok()?.uptime;
        Duration::try_from_secs_f64((now - start).max(0.0)).ok()
    }

    /// The words of its command line.
    pub fn command_line(&self) -> Vec<String> {
        let bytes = self.read("cmdline").unwrap_or_default();
        let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
        let words = bytes.split(|&byte| byte == 0);
        words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    /// A variable of the environment that it was started with.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        let environment = self.read("environ").ok()?;
        let mut variables = environment.split(|&byte| byte == 0);
        let value = variables.find_map(|variable| {
            variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec)
        });
        value.map(OsString::from_vec)
    }

    /// The path that the process has for one of its files. `/proc` names them from perk's root, so that
    /// they begin with the folder that is the root of a process after `chroot`.
    pub fn inner_path(&self, path: PathBuf) -> PathBuf {
        let root = fs::read_link(self.path("root")).unwrap_or_default();
        match path.strip_prefix(root) {
            Ok(below) => Path::new("/").join(below),
            Err(_) => path,
        }
    }

    /// Whether it is in the same namespace of this kind as perk: `pid`, `mnt`, `user`. `None` if
    /// that cannot be seen.
    pub fn shares(&self, namespace: &str) -> Option<bool> {
        let its = fs::read_link(self.path(&format!("ns/{namespace}"))).ok()?;
        let own = fs::read_link(format!("/proc/self/ns/{namespace}")).ok()?;
        Some(its == own)
    }

    /// Whether one of its threads has this name, of which the kernel keeps 15 bytes.
    pub fn has_thread(&self, name: &str) -> bool {
        let tasks = fs::read_dir(self.path("task")).into_iter().flatten().flatten();
        let mut names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
        names.any(|it| it.trim_end() == name)
    }
}

impl Status {
    fn of(text: &str) -> Self {
        let field = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(':'));
            lines.find(|it| it.0 == name).map_or("", |it| it.1.trim())
        };
        // The real, effective, saved and file system ids.
        let effective = |name| {
            let id = field(name).split_whitespace().nth(1);
            id.and_then(|id| id.parse().ok()).unwrap_or_default()
        };
        let inner_pid = field("NSpid").split_whitespace().next_back().unwrap_or(field("Pid"));
        Self {
            state: field("State").chars().next().unwrap_or_default(),
            uid: effective("Uid"),
            gid: effective("Gid"),
            inner_pid: inner_pid.parse().unwrap_or_default(),
            caught: u64::from_str_radix(field("SigCgt"), 16).unwrap_or_default(),
        }
    }

    /// Whether the process has a handler for the signal.
    pub fn catches(&self, signal: i32) -> bool {
        self.caught >> (signal - 1) & 1 == 1
    }
}

/// The path of a file in an open folder, valid as long as the folder is open.
pub fn path_in(folder: &impl AsRawFd, name: impl AsRef<Path>) -> PathBuf {
    Path::new(&format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_parsed() {
        let text = "Name:\tjava\nState:\tS (sleeping)\nPid:\t20\nUid:\t0\t1000\t0\t0\n\
                    Gid:\t5\t6\t5\t5\nNSpid:\t20\t7\nSigCgt:\t0000000180005ccf\n";
        let status = Status::of(text);
        let expected =
            Status { state: 'S', uid: 1000, gid: 6, inner_pid: 7, caught: 0x1_8000_5ccf };
        assert_eq!(status, expected);
        assert!(status.catches(3) && !status.catches(5));
        assert_eq!(Status::of("Pid:\t20\n").inner_pid, 20);
    }

    #[test]
    fn this_process_is_read() {
        let process = Process::open(std::process::id()).unwrap().unwrap();
        assert_eq!(process.status().unwrap().uid, rustix::process::geteuid().as_raw());
        assert!(!process.is_gone() && process.age().unwrap() < Duration::from_secs(3600));
        let arguments: Vec<_> = std::env::args().collect();
        assert_eq!(process.command_line(), arguments);
        assert_eq!(process.variable("PATH"), std::env::var_os("PATH"));
        assert_eq!(process.variable("PAT"), None);
        assert_eq!(process.shares("pid"), Some(true));
    }

    #[test]
    fn a_process_that_ended_is_gone() {
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let process = Process::open(child.id()).unwrap().unwrap();
        assert!(!process.is_gone());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(process.is_gone() && process.read("cmdline").is_err());
    }
}
