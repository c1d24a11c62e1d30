//! The JVMs of this machine: those that run, and those that start later.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use perk_attach::jvms::{Jvm, Process, ProcessView};
use perk_profile::units::plural;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::files::retry_left;
use super::recorded;
use super::state::{End, Recorder, Woken};
use crate::talk::say;

/// The time between two looks at the processes.
const LOOK: Duration = Duration::from_secs(1);
/// The time between two attempts to take what JVMs have left for which the spool had no room.
const RETRY: Duration = Duration::from_secs(10);
/// The age of a process from which on it is no longer about to become a JVM.
const YOUNG: Duration = Duration::from_secs(10);
/// The bytes of the stack of a JVM's thread.
const STACK_BYTES: usize = 512 << 10;

/// A process that was looked at.
#[derive(Debug)]
struct SeenProcess {
    /// The program that it runs, which it can change.
    program: Option<PathBuf>,
    since: Instant,
    is_jvm: bool,
    /// The time of its start, in ticks: another process can have its id later.
    start_ticks: Option<u64>,
}

/// The processes that were looked at, and the threads of those that are JVMs.
#[derive(Debug, Default)]
struct Jvms {
    seen: HashMap<u32, SeenProcess>,
    threads: HashMap<u32, JoinHandle<()>>,
}

/// Records JVMs until a signal, or with `--once` each of them once.
///
/// # Errors
/// The system has no thread, `/proc` cannot be read, or with `--once` there is no JVM.
pub(crate) fn follow(shared: &Arc<Recorder>) -> anyhow::Result<ExitCode> {
    take_signals(shared)?;
    raise_file_limit();
    let settings = shared.settings();
    let mut jvms = Jvms::default();
    if settings.is_once {
        jvms.look(shared)?;
        if jvms.threads.is_empty() {
            bail!("there is no JVM to record (perk ps lists them)");
        }
        jvms.threads.drain().for_each(|(_, thread)| drop(thread.join()));
    } else {
        let names: Vec<_> = settings.places.iter().map(|it| &*it.name).collect();
        say(format_args!("records files of {:?} to {}", settings.every, names.join(", ")));
        let (mut retried, mut is_first) = (Instant::now(), true);
        while shared.ending().is_none() {
            jvms.look(shared)?;
            if is_first && !settings.jvms.is_empty() && jvms.threads.is_empty() {
                say(format_args!("no JVM {} runs yet", settings.jvms.join(", ")));
            }
            is_first = false;
            if retried.elapsed() >= RETRY {
                retry_left(shared);
                retried = Instant::now();
            }
            if let Woken::End(_) = shared.wait(None, Instant::now() + LOOK) {
                break;
            }
        }
        let count = jvms.threads.values().filter(|it| !it.is_finished()).count();
        if shared.ending() == Some(End::Recorder) && count > 0 {
            let recordings = plural(count as u64, "recording");
            let verb = if count == 1 { "continues" } else { "continue" };
            say(format_args!("ends; {recordings} {verb} for 10 min, for the next perk record"));
        }
        jvms.threads.drain().for_each(|(_, thread)| drop(thread.join()));
    }
    let is_all = shared.finish();
    Ok(if settings.is_once && !is_all { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// SIGHUP reads the settings again, Ctrl-C ends all recordings, and SIGTERM leaves them to the next recorder.
fn take_signals(shared: &Arc<Recorder>) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    let shared = Arc::clone(shared);
    let thread = thread::Builder::new().name("perk signals".to_owned());
    thread.spawn(move || {
        for signal in signals.forever() {
            match signal {
                SIGHUP => shared.reload(),
                // It does not wait for JVMs that do not answer: their recordings end by themselves.
                SIGINT if shared.ending().is_some() => std::process::exit(130),
                SIGINT => shared.end(End::All),
                _ => shared.end(End::Recorder),
            }
        }
    })?;
    Ok(())
}

/// Takes as many open files as may be: a JVM needs four.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

impl Jvms {
    /// Looks for processes that have become JVMs, and begins to record them.
    fn look(&mut self, shared: &Arc<Recorder>) -> anyhow::Result<()> {
        self.threads.retain(|pid, thread| {
            // The process may run another program by now.
            if thread.is_finished() {
                self.seen.remove(pid);
            }
            !thread.is_finished()
        });
        let entries = fs::read_dir("/proc").context("cannot read /proc")?.flatten();
        let pids: HashSet<u32> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        self.seen.retain(|pid, _| pids.contains(pid));
        for pid in pids {
            if let Some(jvm) = self.new_jvm(pid) {
                let is_meant = |name: &String| jvm.is_meant(name);
                let wanted = &shared.settings().jvms;
                if wanted.is_empty() || wanted.iter().any(is_meant) {
                    let shared = Arc::clone(shared);
                    let builder = thread::Builder::new().stack_size(STACK_BYTES);
                    let builder = builder.name(format!("perk {pid}"));
                    let thread = builder.spawn(move || recorded::record(&jvm, &shared))?;
                    self.threads.insert(pid, thread);
                }
            }
        }
        Ok(())
    }

    /// The JVM that a process has become since the last look.
    fn new_jvm(&mut self, pid: u32) -> Option<Jvm> {
        let program = fs::read_link(format!("/proc/{pid}/exe")).ok();
        if let Some(seen) = self.seen.get(&pid)
            && seen.program == program
            && (seen.is_jvm || seen.since.elapsed() > YOUNG)
        {
            let start_ticks = || Process::open(pid).ok()??.start_ticks();
            // The thread of the earlier process may still have its last files.
            if !seen.is_jvm || self.threads.contains_key(&pid) || seen.start_ticks == start_ticks()
            {
                return None;
            }
        }
        let since = match self.seen.get(&pid) {
            Some(seen) if seen.program == program => seen.since,
            _ => Instant::now(),
        };
        // Threads of the kernel have no program.
        let view = program.as_ref().and_then(|_| Process::open(pid).ok()?);
        let start_ticks = view.as_ref().and_then(Process::start_ticks);
        let jvm = match view.and_then(|process| ProcessView::of(process).ok()) {
            Some(ProcessView::Jvm(jvm)) => Some(jvm),
            _ => None,
        };
        self.seen.insert(pid, SeenProcess { program, since, is_jvm: jvm.is_some(), start_ticks });
        jvm
    }
}
