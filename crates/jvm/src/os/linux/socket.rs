//! Sockets: who is at the other end, and what it has taken.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

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
    // The kernel skips a negative descriptor. It reports the end of a connection in any case.
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

/// Sends bytes to the peer of a socket, once it can take some within a time. Returns the number of bytes
/// that it took; 0 if the time is over.
///
/// # Errors
/// The kernel's: the connection is lost.
pub fn send_within(socket: BorrowedFd<'_>, bytes: &[u8], limit: Duration) -> io::Result<usize> {
    let mut one = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the kernel reads and writes the one entry, which lives until the call returns; it reads
    // `bytes.len()` bytes of the slice.
    let sent = unsafe {
        match libc::poll(&raw mut one, 1, limit.as_millis() as libc::c_int) {
            ..0 => -1,
            0 => 0,
            _ => libc::send(one.fd, bytes.as_ptr().cast(), bytes.len(), flags),
        }
    };
    if sent >= 0 {
        return Ok(sent as usize);
    }
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock => Ok(0),
        _ => Err(error),
    }
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
