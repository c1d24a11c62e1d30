//! `perk listen`: the other side of an agent with `net=host:port`. What comes is written to a file
//! as it comes; commands go back.

mod commands;
mod records;

use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Write, stderr, stdout};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{iter, mem, thread};

use anyhow::{Context, bail};
use perk_control::Command;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use self::commands::Sender;
use self::records::{Kind, Record, Records};
use crate::args::ListenArgs;
use crate::output::check_folder;
use crate::{show, talk};

/// How often the line on a terminal changes.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Receives one program's profile, from its connection to its end.
pub(crate) fn listen(args: &ListenArgs) -> anyhow::Result<ExitCode> {
    if let Some(path) = &args.output {
        if path.is_dir() {
            bail!("cannot write {}: it is a folder", path.display());
        }
        check_folder(path).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let asked = SocketAddr::new(args.bind, args.port);
    let listener = TcpListener::bind(asked).with_context(|| format!("cannot listen at {asked}"))?;
    let address = listener.local_addr()?;
    talk::say(format_args!("listening at {address}; start java with the agent and net={address}"));
    if !args.bind.is_loopback() {
        talk::say(format_args!(
            "whoever can reach {address} can connect: nothing is asked of them"
        ));
    }
    let (stream, from) = listener.accept().context("nobody connects")?;
    // The one program is here.
    drop(listener);
    talk::say(format_args!("connected from {from}"));
    stream.set_nodelay(true)?;
    let is_stopped = stop_on_signals(&stream)?;
    let sender = Arc::new(Sender::new(stream.try_clone()?));
    let (typed, given) = (Arc::clone(&sender), sender);
    let (list, pause) = (args.send.clone(), args.after);
    thread::spawn(move || given.send_all(&list, pause));
    thread::spawn(move || typed.send_typed());
    let mut received = Received::new(args, address.port());
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

/// What has come so far.
struct Received {
    /// As it was asked for, or as it is to be called: without an ending until the kind is known.
    path: Option<PathBuf>,
    default_name: String,
    file: Option<File>,
    records: Records,
    bytes: u64,
    progress: Progress,
}

impl Received {
    fn new(args: &ListenArgs, port: u16) -> Self {
        Self {
            path: args.output.clone(),
            default_name: format!("perk-{port}"),
            file: None,
            records: Records::default(),
            bytes: 0,
            progress: Progress::new(),
        }
    }

    /// Writes what comes until nothing more does.
    fn take(&mut self, mut stream: TcpStream) -> anyhow::Result<()> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = match stream.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error).context("the connection broke off"),
            };
            let new = &buffer[..count];
            let progress = &mut self.progress;
            let checked = self.records.take(new, |record| {
                progress.clear();
                tell(record);
            });
            let kind = self.records.kind();
            // What came before the kind was known is small, and kept until then.
            let (before, new) = match (&self.file, kind) {
                (Some(_), _) => (Vec::new(), new),
                (None, Some(_)) => (self.records.beginning(), &new[..0]),
                (None, None) => (Vec::new(), &new[..0]),
            };
            if let (None, Some(kind)) = (&self.file, kind) {
                self.open(kind)?;
            }
            if let Some(file) = &mut self.file {
                let part = part(self.path.as_deref());
                let written = file.write_all(&before).and_then(|()| file.write_all(new));
                written.with_context(|| format!("cannot write {}", part.display()))?;
                self.bytes += (before.len() + new.len()) as u64;
            }
            if let Err(what) = checked {
                bail!("what comes is no HPROF: {what}");
            }
            self.progress.show(self.bytes, &self.records);
        }
    }

    /// Opens the file under the name it has until it is whole.
    fn open(&mut self, kind: Kind) -> anyhow::Result<()> {
        let name = &self.default_name;
        let path = self.path.get_or_insert_with(|| format!("{name}.{}", kind.ending()).into());
        let part = part(Some(path));
        let file = File::create(&part).with_context(|| format!("cannot write {}", part.display()));
        self.file = Some(file?);
        Ok(())
    }

    /// Gives the file its name, with all records that are whole.
    fn finish(mut self, taken: anyhow::Result<()>, is_stopped: bool) -> anyhow::Result<ExitCode> {
        self.progress.clear();
        // At a signal the connection is closed from here.
        let taken = if is_stopped { Ok(()) } else { taken };
        let (Some(file), Some(path)) = (&self.file, &self.path) else {
            return taken.and_then(|()| bail!("nothing came that could be a profile"));
        };
        let part = part(Some(path));
        let whole_bytes = self.records.whole_bytes().unwrap_or(self.bytes).min(self.bytes);
        let keep = file.set_len(whole_bytes).and_then(|()| fs::rename(&part, path));
        keep.with_context(|| format!("cannot write {}", path.display()))?;
        if whole_bytes < self.bytes {
            let left_out = show::bytes(self.bytes - whole_bytes);
            talk::say(format_args!("it ends inside a record; {left_out} of that are left out"));
        }
        let contents: Vec<_> =
            iter::once(show::bytes(whole_bytes)).chain(self.records.counted()).collect();
        talk::say(format_args!("wrote {} ({})", path.display(), contents.join(", ")));
        taken.map(|()| ExitCode::SUCCESS)
    }
}

/// The name of a file that is not whole.
fn part(path: Option<&Path>) -> PathBuf {
    let mut name = path.unwrap_or(Path::new("perk")).as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// Prints the answer to a command that has all in one record.
fn tell(record: Record) {
    let Record::HeapSummary { live_bytes, live_count, allocated_bytes, allocated_count } = record;
    let (live, allocated) =
        (show::plural(live_count.into(), "object"), show::plural(allocated_count, "object"));
    // A closed stdout has nobody who reads it.
    let _ = writeln!(
        stdout(),
        "heap: {live} of {live_bytes} bytes live, {allocated} of {allocated_bytes} bytes allocated"
    );
}

/// A line on a terminal that says how much has come.
struct Progress {
    is_terminal: bool,
    shown: Option<Instant>,
    is_visible: bool,
}

impl Progress {
    fn new() -> Self {
        Self { is_terminal: stderr().is_terminal(), shown: None, is_visible: false }
    }

    fn show(&mut self, bytes: u64, records: &Records) {
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() >= PROGRESS_INTERVAL);
        if self.is_terminal && is_due {
            let contents: Vec<_> =
                iter::once(show::bytes(bytes)).chain(records.counted()).collect();
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

/// A time to wait: `500ms`, `2s`.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let units = [("ms", 1), ("s", 1000)];
    let split = units.iter().find_map(|&(unit, ms)| Some((text.strip_suffix(unit)?, ms)));
    let time = split.and_then(|(number, ms)| number.parse::<u32>().ok()?.checked_mul(ms));
    let time = time.map(|ms| Duration::from_millis(ms.into()));
    time.ok_or_else(|| "use a whole number and ms or s, such as 2s".to_owned())
}

/// A command by its name.
pub(crate) fn command(text: &str) -> Result<Command, String> {
    text.parse()
}

/// An address of this machine.
pub(crate) fn address(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| "use an IP address of this machine, such as 127.0.0.1".to_owned())
}
