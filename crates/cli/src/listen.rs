//! `perk listen`: the other side of an agent with `net=host:port`. What comes is written to a file
//! as it comes; commands go back.

mod commands;
mod records;

use std::io::{self, IsTerminal, Read, Write, stderr, stdout};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{iter, mem, thread};

use anyhow::{Context, anyhow, bail};
use perk_files::{Access, Destination};
use perk_profile::units::{self, plural};
use rustix::net::sockopt;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use self::commands::Sender;
use self::records::{Record, Records, StreamKind};
use crate::args::ListenArgs;
use crate::{output, talk};

/// How often the line on a terminal changes.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);
/// How long a profile's header may take from the connection on.
const HEADER_TIMEOUT: Duration = Duration::from_secs(60);
/// A peer whose machine is gone is noticed after these two minutes.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_COUNT: u32 = 6;

/// Receives one program's profile, from its connection to its end.
pub(crate) fn listen(args: &ListenArgs) -> anyhow::Result<ExitCode> {
    if let Some(path) = &args.output {
        output::check(path)?;
    }
    let asked = SocketAddr::new(args.bind, args.port);
    let listener = TcpListener::bind(asked).with_context(|| format!("cannot listen on {asked}"))?;
    let address = listener.local_addr()?;
    talk::say(format_args!("listening on {address}; start java with the agent and net={address}"));
    if !args.bind.is_loopback() {
        talk::say(format_args!("anybody who can reach {address} can connect, without a password"));
    }
    let (stream, from) = listener.accept().context("nobody connects")?;
    // The one program is here.
    drop(listener);
    talk::say(format_args!("connected from {from}"));
    stream.set_nodelay(true)?;
    find_dead_peers(&stream)?;
    let is_stopped = stop_on_signals(&stream)?;
    let sender = Arc::new(Sender::new(stream.try_clone()?));
    let (typed, given) = (Arc::clone(&sender), sender);
    let (list, pause) = (args.send.clone(), args.after);
    thread::spawn(move || given.send_all(&list, pause));
    thread::spawn(move || typed.send_typed());
    let mut received = Reception::new(args, address.port());
    let result = received.take(stream);
    received.finish(result, is_stopped.load(Relaxed))
}

/// Closes the connection at a signal that would end perk, so that what has come is kept.
fn stop_on_signals(stream: &TcpStream) -> anyhow::Result<Arc<AtomicBool>> {
    let is_stopped = Arc::new(AtomicBool::new(false));
    let (stopped, stream) = (Arc::clone(&is_stopped), stream.try_clone()?);
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::spawn(move || {
        for _ in signals.forever() {
            stopped.store(true, Relaxed);
            let _ = stream.shutdown(Shutdown::Both);
        }
    });
    Ok(is_stopped)
}

/// Has the kernel ask after a peer from which nothing comes, so that the connection breaks off when
/// its machine is gone. A program may well have nothing to send until its end.
fn find_dead_peers(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_tcp_keepidle(stream, KEEPALIVE_AFTER)?;
    sockopt::set_tcp_keepintvl(stream, KEEPALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(stream, KEEPALIVE_COUNT)?;
    sockopt::set_socket_keepalive(stream, true)?;
    Ok(())
}

/// The data received so far.
struct Reception<'a> {
    args: &'a ListenArgs,
    /// The requested path, or the default one, without an ending until the kind is known.
    path: Option<PathBuf>,
    default_name: String,
    destination: Option<Destination>,
    records: Records,
    bytes: u64,
    progress: ReceptionProgress,
}

impl<'a> Reception<'a> {
    fn new(args: &'a ListenArgs, port: u16) -> Self {
        Self {
            args,
            path: args.output.clone(),
            default_name: format!("perk-{port}"),
            destination: None,
            records: Records::default(),
            bytes: 0,
            progress: ReceptionProgress::new(),
        }
    }

    /// Writes what comes until nothing more does.
    fn take(&mut self, mut stream: TcpStream) -> anyhow::Result<()> {
        let mut buffer = vec![0; 1 << 16];
        let begin = Instant::now();
        loop {
            let limit = self.time_limit(begin);
            // No time means no limit; a limit that is over is as short as possible.
            stream.set_read_timeout(limit.map(|limit| limit.max(Duration::from_millis(1))))?;
            let count = match stream.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(self.silence());
                }
                Err(error) => return Err(error).context("the connection was lost"),
            };
            let room = self.args.max_bytes - self.bytes - self.records.beginning_bytes();
            let new = &buffer[..count.min(usize::try_from(room).unwrap_or(usize::MAX))];
            self.keep(new)?;
            if new.len() < count {
                let most = self.args.max_bytes;
                bail!("the peer sends more than {most} bytes; --max-bytes allows more");
            }
            self.progress.show(self.bytes, &self.records);
        }
    }

    /// How long something may take to come.
    fn time_limit(&self, begin: Instant) -> Option<Duration> {
        match self.args.idle_timeout {
            Some(limit) => Some(limit).filter(|limit| !limit.is_zero()),
            None if self.records.kind().is_some() => None,
            None => Some(HEADER_TIMEOUT.saturating_sub(begin.elapsed())),
        }
    }

    /// What is said of a peer that has sent nothing for as long as it may.
    fn silence(&self) -> anyhow::Error {
        match self.args.idle_timeout {
            Some(limit) => {
                anyhow!("no data for {limit:?}; --idle-timeout allows more")
            }
            None => anyhow!(
                "no header of a profile for {} s; --idle-timeout allows more",
                HEADER_TIMEOUT.as_secs()
            ),
        }
    }

    /// Writes what has come.
    fn keep(&mut self, new: &[u8]) -> anyhow::Result<()> {
        let progress = &mut self.progress;
        let checked = self.records.take(new, |record| {
            progress.clear();
            tell(record);
        });
        // What came before the kind was known is small, and kept until then.
        let (before, new) = match (&self.destination, self.records.kind()) {
            (Some(_), _) => (Vec::new(), new),
            (None, Some(kind)) => {
                self.open(kind)?;
                (self.records.beginning(), &new[..0])
            }
            (None, None) => (Vec::new(), &new[..0]),
        };
        if let Some(destination) = &self.destination {
            let mut file = destination.file();
            let written = file.write_all(&before).and_then(|()| file.write_all(new));
            written.with_context(|| self.cannot_write())?;
            self.bytes += (before.len() + new.len()) as u64;
        }
        checked.map_err(|what| anyhow!("the received data is not HPROF: {what}"))
    }

    /// Opens the file, or what else is meant by its name.
    fn open(&mut self, kind: StreamKind) -> anyhow::Result<()> {
        let name = &self.default_name;
        let path = self.path.get_or_insert_with(|| format!("{name}.{}", kind.ending()).into());
        // A peer may send the contents of its heap at any time.
        let destination = Destination::open(path, Access::Owner);
        let mut destination = destination.with_context(|| self.cannot_write())?;
        if let Destination::File(part) = &mut destination {
            part.keep();
        }
        self.destination = Some(destination);
        Ok(())
    }

    fn cannot_write(&self) -> String {
        let name = self.path.as_deref().unwrap_or(Path::new("perk"));
        match &self.destination {
            Some(Destination::File(part)) => {
                format!("cannot write {} as {}", name.display(), part.path().display())
            }
            _ => format!("cannot write {}", name.display()),
        }
    }

    /// Gives the file its name, with all records that are whole.
    fn finish(mut self, taken: anyhow::Result<()>, is_stopped: bool) -> anyhow::Result<ExitCode> {
        self.progress.clear();
        // At a signal the connection is closed from here.
        let taken = if is_stopped { Ok(()) } else { taken };
        let Some(mut destination) = self.destination.take() else {
            return taken.and_then(|()| bail!("no profile was received"));
        };
        let path = self.path.unwrap_or_default();
        let mut whole_bytes = self.bytes;
        if let Destination::File(part) = &mut destination {
            whole_bytes = self.records.whole_bytes().unwrap_or(self.bytes).min(self.bytes);
            let named = part.file().set_len(whole_bytes).and_then(|()| part.finish());
            named.with_context(|| {
                format!("cannot write {}; it is {}", path.display(), part.path().display())
            })?;
        }
        if whole_bytes < self.bytes {
            let left_out = units::bytes(self.bytes - whole_bytes);
            talk::say(format_args!(
                "the profile ends inside a record; its last {left_out} are left out"
            ));
        }
        let contents: Vec<_> =
            iter::once(units::bytes(whole_bytes)).chain(self.records.counted()).collect();
        talk::say(format_args!("wrote {} ({})", path.display(), contents.join(", ")));
        taken.map(|()| ExitCode::SUCCESS)
    }
}

/// Prints the answer to a command that has all in one record.
fn tell(record: Record) {
    let Record::HeapSummary { live_bytes, live_count, allocated_bytes, allocated_count } = record;
    let (live, allocated) =
        (plural(live_count.into(), "object"), plural(allocated_count, "object"));
    // A closed stdout has nobody who reads it.
    let _ = writeln!(
        stdout(),
        "heap: {live} of {live_bytes} bytes live, {allocated} of {allocated_bytes} bytes allocated"
    );
}

/// A line on a terminal that says how much has come.
struct ReceptionProgress {
    is_terminal: bool,
    shown: Option<Instant>,
    is_visible: bool,
}

impl ReceptionProgress {
    fn new() -> Self {
        Self { is_terminal: stderr().is_terminal(), shown: None, is_visible: false }
    }

    fn show(&mut self, bytes: u64, records: &Records) {
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() >= PROGRESS_INTERVAL);
        if self.is_terminal && is_due {
            let contents: Vec<_> =
                iter::once(units::bytes(bytes)).chain(records.counted()).collect();
            talk::print(format_args!("\r\x1b[Kperk: {}", contents.join(", ")));
            (self.shown, self.is_visible) = (Some(Instant::now()), true);
        }
    }

    fn clear(&mut self) {
        if mem::replace(&mut self.is_visible, false) {
            talk::print(format_args!("\r\x1b[K"));
        }
    }
}
