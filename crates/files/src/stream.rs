//! Destinations that are written to directly: pipes, terminals and other devices, and open
//! descriptors.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The time that a pipe's reader has to open it.
const READER_TIMEOUT: Duration = Duration::from_secs(30);
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// A destination that is written to directly.
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
    /// Returns the open descriptor that a name represents (`/dev/stdout`), if it represents one.
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

    /// Opens the stream for writing.
    pub(crate) fn open(&self) -> io::Result<File> {
        match self {
            // The descriptor is duplicated, so that it shares the current position with its other
            // users. Opening it by name would overwrite it from the start.
            Self::Stdout => io::stdout().as_fd().try_clone_to_owned().map(File::from),
            Self::Stderr => io::stderr().as_fd().try_clone_to_owned().map(File::from),
            Self::Descriptor(path) => File::options().append(true).open(path),
            Self::Device(path) => open(path),
            Self::Pipe(path) => {
                let begin = Instant::now();
                loop {
                    match open(path) {
                        // The pipe does not have a reader yet.
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

    /// Fails if the stream cannot be opened. A pipe is not opened, because its reader would notice.
    pub(crate) fn check(&self) -> io::Result<()> {
        match self {
            Self::Pipe(_) => Ok(()),
            _ => self.open().map(drop),
        }
    }
}

/// Opens a pipe or a device. Anything else that has meanwhile taken its path is refused.
fn open(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = File::options().write(true).custom_flags(flags).open(path)?;
    let kind = file.metadata()?.file_type();
    if !kind.is_fifo() && !kind.is_char_device() {
        return Err(io::Error::other("it has just been replaced"));
    }
    // Writes must block. (The standard library has this only for sockets; the kernel for all
    // files.)
    let blocking = UnixStream::from(OwnedFd::from(file));
    blocking.set_nonblocking(false)?;
    Ok(File::from(OwnedFd::from(blocking)))
}
