//! Output over a socket. Whoever writes hands it over to a thread that sends it, and does not wait:
//! neither the program nor its end depends on a peer that is slow, or gone.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use std::{mem, thread};

use perk_control::messages::address;

use crate::os;
use crate::sync::lock;

/// How long one address is tried.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// What is written goes to the sender in pieces of at least this size, or when it is whole.
const PIECE_BYTES: usize = 64 << 10;
/// A peer that lets so much wait is given up.
const MOST_WAITING_BYTES: usize = 64 << 20;
/// Who is patient waits while so much waits.
const PATIENT_BYTES: usize = 4 << 20;
/// A peer that takes nothing for so long does not read any more, at the least and the most.
const STALL_TIMEOUTS: (Duration, Duration) = (Duration::from_secs(15), Duration::from_secs(60));
/// In between it is the time in which one that reads so slowly reads twice what its kernel has offered
/// to take: once that is full it takes nothing until a part of it is free, which was up to 1.5 times the
/// offer.
const LEAST_BYTES_PER_S: u64 = 10_000;
/// How often it is looked whether the peer takes anything: at first, and at most.
const LOOK_INTERVALS: (Duration, Duration) =
    (Duration::from_micros(100), Duration::from_millis(100));

/// A connection to a peer.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    shared: Arc<Shared>,
}

/// The end of a connection that is written to.
#[derive(Debug)]
pub(crate) struct Outbox {
    shared: Arc<Shared>,
    /// What is not handed over yet.
    piece: Vec<u8>,
    is_patient: bool,
}

#[derive(Debug)]
struct Shared {
    stream: TcpStream,
    /// As the options name it.
    peer: String,
    queue: Mutex<Queue>,
    queue_changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    pending: Vec<u8>,
    /// Bytes handed over and not taken by the kernel yet.
    waiting_bytes: usize,
    sent_bytes: u64,
    /// The most that the peer's kernel has offered to take at once; none where that is not known.
    window_bytes: Option<u64>,
    /// Nothing will be added.
    is_whole: bool,
    is_lost: bool,
}

impl Connection {
    /// Connects to the first address of a host that answers.
    pub(crate) fn open(host: &str, port: u16) -> io::Result<Self> {
        let mut tried = Err(io::ErrorKind::NotFound.into());
        for candidate in (host, port).to_socket_addrs()? {
            tried = TcpStream::connect_timeout(&candidate, CONNECT_TIMEOUT);
            if tried.is_ok() {
                break;
            }
        }
        let stream = tried?;
        // Answers are not held back until they fill a packet.
        stream.set_nodelay(true)?;
        let shared = Shared {
            stream,
            peer: address(host, port.into()),
            queue: Mutex::default(),
            queue_changed: Condvar::new(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The end to write to, and a thread that sends what is written. It calls `lost` when nobody is
    /// there any more to send anything to.
    pub(crate) fn outbox(&self, lost: fn()) -> io::Result<Outbox> {
        let shared = Arc::clone(&self.shared);
        let send = move || {
            shared.send();
            if lock(&shared.queue).is_lost {
                lost();
            }
        };
        let sender = thread::Builder::new().name("perk sender".to_owned());
        os::without_signals(|| sender.spawn(send))?;
        let shared = Arc::clone(&self.shared);
        Ok(Outbox { shared, piece: Vec::new(), is_patient: false })
    }

    /// Whether nobody is there any more to send anything to.
    pub(crate) fn is_lost(&self) -> bool {
        lock(&self.shared.queue).is_lost
    }
}

impl Read for &Connection {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        (&self.shared.stream).read(bytes)
    }
}

impl Outbox {
    /// See [`Output::set_patient`](super::Output::set_patient).
    pub(super) fn set_patient(&mut self, is_patient: bool) -> bool {
        mem::replace(&mut self.is_patient, is_patient)
    }

    pub(super) fn peer(&self) -> &str {
        &self.shared.peer
    }

    /// Returns when the peer's machine has all, or the peer is given up.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        let shared = &self.shared;
        let mut queue = lock(&shared.queue);
        queue.is_whole = true;
        shared.queue_changed.notify_all();
        // What the kernel holds may go with the machine that the program ran in, such as a container.
        let queue = shared.wait(queue, |queue| queue.waiting_bytes + shared.unsent_bytes() == 0)?;
        drop(queue);
        // A socket that is closed with commands unread would take back what it has sent.
        shared.stream.set_nonblocking(true)?;
        let _ = io::copy(&mut &shared.stream, &mut io::sink());
        shared.stream.shutdown(Shutdown::Write)
    }
}

impl Write for Outbox {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    /// Hands over what has been written.
    fn flush(&mut self) -> io::Result<()> {
        let shared = &self.shared;
        let mut queue = lock(&shared.queue);
        if self.is_patient {
            queue = shared.wait(queue, |queue| queue.waiting_bytes <= PATIENT_BYTES)?;
        }
        if queue.waiting_bytes + self.piece.len() > MOST_WAITING_BYTES {
            let mib = MOST_WAITING_BYTES >> 20;
            shared.lose(&mut queue, &format!("it reads too slowly, {mib} MiB wait for it"));
        }
        if queue.is_lost {
            return Err(io::ErrorKind::NotConnected.into());
        }
        queue.waiting_bytes += self.piece.len();
        queue.pending.append(&mut self.piece);
        shared.queue_changed.notify_all();
        Ok(())
    }
}

impl Shared {
    /// The sender's thread: sends what is handed over, until it is all.
    fn send(&self) {
        loop {
            let mut queue = lock(&self.queue);
            while queue.pending.is_empty() && !queue.is_whole && !queue.is_lost {
                queue = self.queue_changed.wait(queue).unwrap_or_else(|it| it.into_inner());
            }
            if queue.pending.is_empty() {
                return;
            }
            let pending = mem::take(&mut queue.pending);
            drop(queue);
            for piece in pending.chunks(PIECE_BYTES) {
                let sent = (&self.stream).write_all(piece);
                let mut queue = lock(&self.queue);
                if let Err(error) = sent {
                    return self.lose(&mut queue, &error.to_string());
                }
                queue.waiting_bytes -= piece.len();
                queue.sent_bytes += piece.len() as u64;
                queue.window_bytes = queue.window_bytes.max(os::peer_window(self.stream.as_fd()));
                self.queue_changed.notify_all();
            }
        }
    }

    /// Waits until `is_good`, for a peer that reads, however slowly.
    fn wait<'a>(
        &'a self,
        mut queue: MutexGuard<'a, Queue>,
        is_good: impl Fn(&Queue) -> bool,
    ) -> io::Result<MutexGuard<'a, Queue>> {
        // A piece is sent at once, but the kernel takes it bit by bit, as the peer takes what the
        // kernel has: either number changes only where the peer takes something.
        let progress = |queue: &Queue| (queue.sent_bytes, self.unsent_bytes());
        let (mut changed, mut before) = (Instant::now(), progress(&queue));
        let (mut interval, most) = LOOK_INTERVALS;
        while !is_good(&queue) {
            if queue.is_lost {
                return Err(io::ErrorKind::NotConnected.into());
            }
            let waited = self.queue_changed.wait_timeout(queue, interval);
            queue = waited.unwrap_or_else(|it| it.into_inner()).0;
            interval = most.min(2 * interval);
            // A connection that has ended keeps what it has not sent; to send nothing tells.
            if let Err(error) = (&self.stream).write(&[]) {
                self.lose(&mut queue, &error.to_string());
                continue;
            }
            let now = progress(&queue);
            if now != before {
                (changed, before) = (Instant::now(), now);
            } else if changed.elapsed() >= stall_timeout(queue.window_bytes) {
                let seconds = changed.elapsed().as_secs();
                self.lose(&mut queue, &format!("it has not read for {seconds} s"));
            }
        }
        Ok(queue)
    }

    /// Bytes that the kernel holds and the peer's has not taken.
    fn unsent_bytes(&self) -> usize {
        os::unsent_bytes(self.stream.as_fd())
    }

    /// Gives the peer up, and says so.
    fn lose(&self, queue: &mut Queue, why: &str) {
        if mem::replace(&mut queue.is_lost, true) {
            return;
        }
        queue.pending = Vec::new();
        let _ = self.stream.shutdown(Shutdown::Both);
        self.queue_changed.notify_all();
        os::say(&format!(
            "HPROF ERROR: perk has lost {}: {why}; the program continues without a profile\n",
            self.peer
        ));
    }
}

/// How long a peer may take nothing whose kernel has offered to take so much at once.
fn stall_timeout(window_bytes: Option<u64>) -> Duration {
    let (least, most) = STALL_TIMEOUTS;
    window_bytes
        .map_or(most, |bytes| Duration::from_secs(bytes / LEAST_BYTES_PER_S).clamp(least, most))
}
