//! The other side of a connection: takes the agent's data, and sends commands.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use perk_control::Command;
use perk_testkit::hprof::Recording;
use perk_testkit::{JavaRun, Jdk, Outcome, RunningJava};

use crate::support::read_records;

/// The limit of the wait for something that must come.
const LIMIT: Duration = Duration::from_secs(60);
/// The time without data after which no more is expected.
const QUIET: Duration = Duration::from_millis(400);

pub(crate) struct Peer {
    pub(crate) running: RunningJava,
    pub(crate) stream: TcpStream,
    pub(crate) received: Vec<u8>,
    has_ended: bool,
}

impl Peer {
    /// Starts a program with `net` and more options, and waits until the agent has connected.
    pub(crate) fn start(jdk: &Jdk, options: &str, main: &str, args: &[&str]) -> Peer {
        Peer::start_at("127.0.0.1:0", None, jdk, options, main, args)
    }

    /// Starts like [`Peer::start`] and listens at `address`, which the agent knows by `name`.
    pub(crate) fn start_at(
        address: &str,
        name: Option<&str>,
        jdk: &Jdk,
        options: &str,
        main: &str,
        args: &[&str],
    ) -> Peer {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let net = match name {
            Some(name) => format!("{name}:{}", address.port()),
            None => address.to_string(),
        };
        let run = JavaRun::new(jdk).agent(&format!("{options},net={net}"));
        // The agent waits for a peer that does not read.
        let mut running = run.main(main).args(args).timeout(2 * LIMIT).spawn();
        listener.set_nonblocking(true).unwrap();
        let mut accepted = None;
        let deadline = Instant::now() + LIMIT;
        while accepted.is_none() {
            running.wait_until("a connection", |_| true);
            match listener.accept() {
                Ok((stream, _)) => accepted = Some(stream),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
            assert!(Instant::now() < deadline, "nobody connects");
            std::thread::sleep(Duration::from_millis(5));
        }
        let stream = accepted.unwrap();
        stream.set_nonblocking(false).unwrap();
        Peer { running, stream, received: Vec::new(), has_ended: false }
    }

    pub(crate) fn send(&mut self, command: Command) {
        self.send_bytes(&command.encode(1));
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Takes the data that comes in the next moment.
    fn take(&mut self, moment: Duration) -> bool {
        self.stream.set_read_timeout(Some(moment)).unwrap();
        let mut buffer = [0; 1 << 16];
        match self.stream.read(&mut buffer) {
            Ok(0) => self.has_ended = true,
            Ok(count) => self.received.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            Err(error) => panic!("{error} after {} bytes", self.received.len()),
        }
        !self.has_ended
    }

    /// Takes the data that comes for a time, at `bytes_per_s`.
    pub(crate) fn take_slowly(&mut self, bytes_per_s: u64, time: Duration) {
        let begin = Instant::now();
        self.stream.set_read_timeout(Some(LIMIT)).unwrap();
        let mut buffer = [0; 1 << 10];
        let mut taken = 0;
        while begin.elapsed() < time {
            let count = self.stream.read(&mut buffer).unwrap();
            self.received.extend_from_slice(&buffer[..count]);
            taken += count as u64;
            let due = begin + Duration::from_millis(1000 * taken / bytes_per_s);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
    }

    /// Takes all data until no more comes.
    pub(crate) fn take_all(&mut self) {
        while self.take(QUIET) {}
    }

    /// Waits until the data so far is as it should be.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, what: &str, mut is_there: impl FnMut(&[u8]) -> bool) {
        let deadline = Instant::now() + LIMIT;
        while !is_there(&self.received) {
            assert!(!self.has_ended, "the stream ends before {what}");
            assert!(Instant::now() < deadline, "no {what} comes");
            self.take(Duration::from_millis(20));
        }
    }

    /// Sends a command, and waits until there are more records of a kind.
    #[track_caller]
    pub(crate) fn ask(&mut self, command: Command, tag: u8) -> Recording {
        let count = |bytes: &[u8]| tags(bytes).iter().filter(|it| **it == tag).count();
        let before = count(&self.received);
        self.send(command);
        self.wait_for(&format!("{command:?}"), |bytes| count(bytes) > before);
        records(&self.received)
    }

    /// Returns the records so far.
    #[track_caller]
    pub(crate) fn records(&self) -> Recording {
        records(&self.received)
    }

    /// Lets a program that waits for it end.
    pub(crate) fn stop(&mut self) {
        std::fs::write(self.running.dir().join("stop"), "").unwrap();
    }

    /// Takes the rest of the stream and waits for the program's end.
    pub(crate) fn end(mut self) -> (Vec<u8>, Outcome) {
        while !self.has_ended {
            self.take(LIMIT);
        }
        // This is the behaviour of a peer that has received all data.
        let _ = self.stream.shutdown(Shutdown::Both);
        (self.received, self.running.wait())
    }

    /// Goes away, and waits for the program's end.
    pub(crate) fn leave(self) -> Outcome {
        let Peer { running, stream, .. } = self;
        drop(stream);
        running.wait()
    }
}

/// Returns the tags of the records that are whole, and the end of the last of them.
fn walk(bytes: &[u8]) -> (Vec<u8>, usize) {
    let mut tags = Vec::new();
    let nul = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let mut end = nul + 13;
    while let Some(head) = bytes.get(end..end + 9) {
        let length = u32::from_be_bytes(head[5..].try_into().unwrap()) as usize;
        if end + 9 + length > bytes.len() {
            break;
        }
        tags.push(head[0]);
        end += 9 + length;
    }
    (tags, end)
}

/// Returns the tags of the records that are whole.
pub(crate) fn tags(bytes: &[u8]) -> Vec<u8> {
    walk(bytes).0
}

#[track_caller]
fn records(bytes: &[u8]) -> Recording {
    match walk(bytes) {
        (tags, _) if tags.is_empty() => Recording::default(),
        (_, end) => read_records(&bytes[..end]).unwrap_or_else(|what| panic!("{what}")),
    }
}
