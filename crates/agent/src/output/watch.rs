//! Output over the connection of a request `watch`. What is written waits in memory until it is sent, which
//! a thread of the agent does without the recorder's lock. A peer that does not read is given up, so that
//! neither the program nor its end depends on it.

use std::io::{self, Write};
use std::mem;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use perk_jvm::os;
use perk_jvm::sync::lock;

/// A peer that lets this many bytes wait is given up.
const MOST_WAITING_BYTES: usize = 64 << 20;
/// The time that the peer has to take what is sent at once. The rest is sent the next time.
const SEND_TIME: Duration = Duration::from_millis(500);
/// The time that the peer has to take the end of a recording.
const END_TIME: Duration = Duration::from_secs(2);

/// The connection.
#[derive(Debug)]
pub(crate) struct Watcher {
    stream: Arc<UnixStream>,
    waiting: Mutex<Vec<u8>>,
    /// Whether the peer has its answer: data follows it.
    is_answered: AtomicBool,
    is_lost: AtomicBool,
}

/// The writing end of the connection.
#[derive(Debug)]
pub(crate) struct WatchOutput(pub(crate) Arc<Watcher>);

impl Watcher {
    pub(crate) fn new(stream: Arc<UnixStream>) -> Arc<Self> {
        Arc::new(Self {
            stream,
            waiting: Mutex::default(),
            is_answered: AtomicBool::new(false),
            is_lost: AtomicBool::new(false),
        })
    }

    /// Notes that the peer has its answer.
    pub(crate) fn answered(&self) {
        self.is_answered.store(true, Relaxed);
    }

    /// Sends what waits, as far as the peer takes it in a moment.
    pub(crate) fn send(&self) {
        self.send_for(SEND_TIME);
    }

    fn send_for(&self, time: Duration) {
        if !self.is_answered.load(Relaxed) || self.is_lost.load(Relaxed) {
            return;
        }
        let begin = Instant::now();
        let mut bytes = mem::take(&mut *lock(&self.waiting));
        let mut sent = 0;
        while sent < bytes.len() {
            let left = time.saturating_sub(begin.elapsed());
            match os::send_within(self.stream.as_fd(), &bytes[sent..], left) {
                Ok(0) => break,
                Ok(count) => sent += count,
                Err(_) => return self.lose(),
            }
        }
        bytes.drain(..sent);
        let mut waiting = lock(&self.waiting);
        bytes.append(&mut waiting);
        *waiting = bytes;
    }

    fn lose(&self) {
        self.is_lost.store(true, Relaxed);
        *lock(&self.waiting) = Vec::new();
        // This wakes the control thread, which ends the recording.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl WatchOutput {
    /// Sends the rest. The peer then finds the end of the data.
    pub(super) fn finish(&mut self) {
        self.0.send_for(END_TIME);
        let _ = self.0.stream.shutdown(Shutdown::Write);
    }
}

impl Write for WatchOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let waiting_bytes = {
            let mut waiting = lock(&self.0.waiting);
            waiting.extend_from_slice(bytes);
            waiting.len()
        };
        if waiting_bytes > MOST_WAITING_BYTES {
            self.0.lose();
        }
        match self.0.is_lost.load(Relaxed) {
            true => Err(io::ErrorKind::NotConnected.into()),
            false => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
