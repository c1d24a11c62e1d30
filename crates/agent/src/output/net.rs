//! Output over a socket. The writer hands its data over to a thread that sends it, and does not
//! wait: neither the program nor its end depends on a peer that is slow or gone.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use std::{mem, thread};

use perk_control::messages::address;
use perk_jvm::os;
use perk_jvm::sync::lock;

/// The time for which one address is tried.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The least size of the pieces that go to the sender, unless the data is whole.
const PIECE_BYTES: usize = 64 << 10;
/// A peer that lets this many bytes wait is given up.
const MOST_WAITING_BYTES: usize = 64 << 20;
/// A patient writer waits while this many bytes wait.
const PATIENT_BYTES: usize = 4 << 20;
/// The least and the greatest time after which a peer that takes no data is taken not to read any
/// more.
const STALL_TIMEOUTS: (Duration, Duration) = (Duration::from_secs(15), Duration::from_secs(60));
/// The rate of the slowest reader, which gives the timeout between these limits: the time in which
/// it reads twice the bytes that its kernel has offered to take. Once that buffer is full it takes
/// no data until a part of it is free, which was up to 1.5 times the offer.
const LEAST_BYTES_PER_S: u64 = 10_000;
/// The first and the longest interval between checks whether the peer takes data.
const LOOK_INTERVALS: (Duration, Duration) =
    (Duration::from_micros(100), Duration::from_millis(100));

/// A connection to a peer.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    shared: Arc<OutboxState>,
}

/// The writing end of a connection.
#[derive(Debug)]
pub(crate) struct Outbox {
    shared: Arc<OutboxState>,
    /// The bytes that are not handed over yet.
    piece: Vec<u8>,
    is_patient: bool,
}

#[derive(Debug)]
struct OutboxState {
    stream: TcpStream,
    /// The peer's name in the options.
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
    /// The most that the peer's kernel has offered to take at once; `None` if that is not known.
    window_bytes: Option<u64>,
    /// Whether no data will be added.
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
        let shared = OutboxState {
            stream,
            peer: address(host, port.into()),
            queue: Mutex::default(),
            queue_changed: Condvar::new(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns the writing end, and starts a thread that sends its data. The thread calls `lost`
    /// when the peer is gone.
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

    /// Whether the peer is gone.
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

    /// Returns when the peer's machine has all data, or the peer is given up.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        let shared = &self.shared;
        let mut queue = lock(&shared.queue);
        queue.is_whole = true;
        shared.queue_changed.notify_all();
        // The kernel's data can be lost together with the machine that the program ran in, such as
        // a container.
        let queue = shared.wait(queue, |queue| queue.waiting_bytes + shared.unsent_bytes() == 0)?;
        drop(queue);
        // Closing a socket with unread commands would discard the data that it has sent.
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

    /// Hands over the data so far.
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

impl OutboxState {
    /// Runs the sender's thread: sends the data that is handed over, until it is whole.
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

    /// Waits until `is_good` while the peer reads, however slowly.
    fn wait<'a>(
        &'a self,
        mut queue: MutexGuard<'a, Queue>,
        is_good: impl Fn(&Queue) -> bool,
    ) -> io::Result<MutexGuard<'a, Queue>> {
        // A piece is sent at once, but the kernel takes it in parts, as the peer takes the kernel's
        // data: both numbers change only if the peer takes data.
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
            // A connection that has ended keeps its unsent data; an empty write shows that it has
            // ended.
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

    /// Returns the bytes that the kernel holds and the peer's kernel has not taken.
    fn unsent_bytes(&self) -> usize {
        os::unsent_bytes(self.stream.as_fd())
    }

    /// Gives the peer up and reports it.
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

/// Returns how long a peer may take no data if its kernel has offered to take this much at once.
fn stall_timeout(window_bytes: Option<u64>) -> Duration {
    let (least, most) = STALL_TIMEOUTS;
    window_bytes
        .map_or(most, |bytes| Duration::from_secs(bytes / LEAST_BYTES_PER_S).clamp(least, most))
}
