//! What is written to as it is: pipes, terminals and other devices, and what is open already.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// How long somebody has to begin to read a pipe.
const READER_TIMEOUT: Duration = Duration::from_secs(30);
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// See the module.
#[derive(Debug)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
    /// Another descriptor, by its name.
    Descriptor(PathBuf),
    Pipe(PathBuf),
    Device(PathBuf),
}

impl Stream {
    /// What is open under a number, if a name stands for it (`/dev/stdout`).
    pub(crate) fn descriptor(name: &Path) -> Option<Self> {
        let number = match name.to_str()? {
            "/dev/stdout" => 1,
            "/dev/stderr" => 2,
            name => {
                let folders = ["/dev/fd/", "/proc/self/fd/"];
                folders.iter().find_map(|folder| name.strip_prefix(folder))?.parse::<u32>().ok()?
            }
        };
        Some(match number {
            1 => Self::Stdout,
            2 => Self::Stderr,
            _ => Self::Descriptor(name.to_owned()),
        })
    }

    /// Opens it to be written to.
    pub(crate) fn open(&self) -> io::Result<File> {
        match self {
            // It goes on where it is, shared with whoever has it: opened by its name it would be
            // overwritten.
            Self::Stdout => io::stdout().as_fd().try_clone_to_owned().map(File::from),
            Self::Stderr => io::stderr().as_fd().try_clone_to_owned().map(File::from),
            Self::Descriptor(path) => File::options().append(true).open(path),
            Self::Device(path) => open(path),
            Self::Pipe(path) => {
                let begin = Instant::now();
                loop {
                    match open(path) {
                        // Nobody reads it.
                        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {}
                        opened => return opened,
                    }
                    if begin.elapsed() > READER_TIMEOUT {
                        let seconds = READER_TIMEOUT.as_secs();
                        let what = format!("it is a pipe that nobody has read for {seconds} s");
                        return Err(io::Error::new(ErrorKind::TimedOut, what));
                    }
                    thread::sleep(LOOK_INTERVAL);
                }
            }
        }
    }

    /// Fails if it cannot be opened; a pipe's reader would notice.
    pub(crate) fn check(&self) -> io::Result<()> {
        match self {
            Self::Pipe(_) => Ok(()),
            _ => self.open().map(drop),
        }
    }
}

/// Opens a pipe or a device, and nothing else that may lie there by now.
fn open(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = File::options().write(true).custom_flags(flags).open(path)?;
    let kind = file.metadata()?.file_type();
    if !kind.is_fifo() && !kind.is_char_device() {
        return Err(io::Error::other("it has just been replaced"));
    }
    // Writing waits. (The standard library has this for sockets only; the kernel for all.)
    let blocking = UnixStream::from(OwnedFd::from(file));
    blocking.set_nonblocking(false)?;
    Ok(File::from(OwnedFd::from(blocking)))
}
