//! Runs a command to its end and hands it the signals that perk gets.

use std::process::{Command, ExitStatus};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use std::{io, thread};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::exfiltrator::origin::Origin;
use signal_hook::low_level::siginfo::Cause;

const FORWARDED: [i32; 6] = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2];

/// The time between two looks at the command while it runs.
const LOOK: Duration = Duration::from_millis(250);

/// How a command ended, and when.
#[derive(Debug)]
pub(super) struct ProgramEnd {
    pub(super) pid: u32,
    pub(super) status: ExitStatus,
    pub(super) at: SystemTime,
}

/// Starts `command` and waits for its end, whatever signals arrive: perk has a profile to write
/// then. From here on these signals do not end perk. Meanwhile it calls `look` from time to time, with
/// the command's process id.
pub(super) fn run(
    command: &mut Command,
    look: &mut (dyn FnMut(u32) + Send),
) -> io::Result<ProgramEnd> {
    // What was to be ignored stays so for the child too.
    let mut signals = SignalsInfo::<WithOrigin>::new(not_ignored(&FORWARDED))?;
    let handle = signals.handle();

    let mut child = command.spawn()?;
    let pid = Pid::from_child(&child);
    let is_running = Mutex::new(true);
    let lock = || is_running.lock().unwrap_or_else(PoisonError::into_inner);
    thread::scope(|scope| {
        scope.spawn(|| {
            for origin in signals.forever() {
                let is_running = lock();
                if let Some(signal) = to_forward(&origin).filter(|_| *is_running) {
                    // It fails only where the child has ended.
                    let _ = kill_process(pid, signal);
                }
            }
        });
        let (is_running_now, over) = mpsc::channel::<()>();
        let id = child.id();
        scope.spawn(move || {
            while over.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                look(id);
            }
        });
        let ended = wait_unreaped(pid);
        let at = SystemTime::now();
        drop(is_running_now);
        // Until it is reaped below, nobody else has its process id.
        *lock() = false;
        handle.close();
        ended.and_then(|()| Ok(ProgramEnd { pid: child.id(), status: child.wait()?, at }))
    })
}

/// Waits until the child has ended, and leaves it to be reaped.
fn wait_unreaped(pid: Pid) -> io::Result<()> {
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The signal to pass on. The terminal sends Ctrl-C and Ctrl-\ to every process in front of it:
/// the child has these already.
fn to_forward(origin: &Origin) -> Option<Signal> {
    let from_terminal = origin.cause == Cause::Kernel && matches!(origin.signal, SIGINT | SIGQUIT);
    if from_terminal { None } else { Signal::from_named_raw(origin.signal) }
}

/// Those of the signals that perk was not started to ignore, by nohup or in a shell's background.
pub(crate) fn not_ignored(signals: &[i32]) -> Vec<i32> {
    let status = procfs::process::Process::myself().and_then(|process| process.status());
    // The status of gVisor has no signals.
    let ignored = status.map_or(0, |status| status.sigign);
    signals.iter().copied().filter(|signal| ignored >> (signal - 1) & 1 == 0).collect()
}
