//! Connections to the sockets of a JVM.

use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt,
};

use crate::inside::JvmFolder;
use crate::jvms::Jvm;

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// The end of the time that something may take.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Deadline {
    /// The moment in this time from now.
    pub fn after(time: Duration) -> Self {
        let now = Instant::now();
        // A time without an end is as good as a year.
        let year = Duration::from_secs(365 * 24 * 3600);
        Self(now.checked_add(time.min(year)).unwrap_or(now))
    }

    /// The time that is left; `None` if there is none.
    pub fn left(self) -> Option<Duration> {
        self.0.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }

    /// Waits a moment. `false` if there is no time left.
    pub fn pause(self) -> bool {
        let left = self.left();
        if let Some(left) = left {
            thread::sleep(left.min(PAUSE));
        }
        left.is_some()
    }
}

/// Connects to a socket of the JVM in one of its folders. `None` if there is no such socket, or nobody
/// listens at it.
///
/// # Errors
/// The file is another process's or not a socket, or the JVM does not accept the connection in time.
pub(crate) fn to(
    jvm: &Jvm,
    folder: &JvmFolder,
    name: &str,
    deadline: Deadline,
) -> io::Result<Option<UnixStream>> {
    let path = folder.path(name);
    let metadata = match folder.act(|| fs::symlink_metadata(&path))? {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let shown = || folder.seen.join(name).display().to_string();
    if !metadata.file_type().is_socket() {
        return Err(io::Error::other(format!("{} is not a socket", shown())));
    }
    if metadata.uid() != jvm.status.uid && metadata.uid() != 0 {
        return Err(io::Error::other(format!("{} belongs to another user", shown())));
    }
    let stream = folder.act(|| connect_to(&path, deadline))?;
    let stream = match stream {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(None),
        other => other?,
    };
    let peer = sockopt::socket_peercred(&stream)?;
    if peer.pid.as_raw_nonzero().get().unsigned_abs() != jvm.process.pid {
        return Err(io::Error::other(format!("{} is another process's", shown())));
    }
    Ok(Some(stream))
}

pub(crate) fn connect_to(path: &Path, deadline: Deadline) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket: OwnedFd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let address = SocketAddrUnix::new(path)?;
    loop {
        match connect(&socket, &address) {
            Ok(()) => break,
            // As many connections as the JVM allows wait already.
            Err(Errno::AGAIN) if deadline.pause() => {}
            Err(Errno::AGAIN) => return Err(io::ErrorKind::TimedOut.into()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// A stream whose reading and writing end with the deadline.
pub(crate) struct TimedStream {
    pub(crate) stream: UnixStream,
    pub(crate) deadline: Deadline,
}

impl TimedStream {
    fn left(&self) -> io::Result<Option<Duration>> {
        self.deadline.left().map(Some).ok_or_else(|| io::ErrorKind::TimedOut.into())
    }
}

/// The system reports a time limit of a socket as one that would block.
fn timed_out(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    }
}

impl io::Read for TimedStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer).map_err(timed_out)
    }
}

impl io::Write for TimedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes).map_err(timed_out)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_silent_peer_is_waited_for_no_longer_than_allowed() {
        let (stream, _peer) = UnixStream::pair().unwrap();
        let deadline = Deadline::after(Duration::from_millis(20));
        let mut timed = TimedStream { stream, deadline };
        let error = timed.read(&mut [0; 4]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(timed.write(b"x").unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(!deadline.pause());
    }
}
