//! Waits for the end of a recording: the time asked for, a signal, or the end of the JVM.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level::pipe};

use super::socket::Deadline;
use crate::jvms::Process;
use crate::run::not_ignored;

/// How often perk looks whether the JVM is there.
const INTERVAL: Duration = Duration::from_millis(100);

/// The reason for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The time is over.
    Time,
    /// A signal came.
    Signal,
    /// The JVM has ended.
    Ended,
}

/// The signals that end a recording. The second one ends perk.
pub(super) struct Interrupt {
    signals: UnixStream,
}

impl Interrupt {
    pub(super) fn new() -> io::Result<Self> {
        let (signals, sender) = UnixStream::pair()?;
        let is_second = Arc::new(AtomicBool::new(false));
        for signal in not_ignored(&[SIGINT, SIGTERM, SIGHUP]) {
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&is_second))?;
            flag::register(signal, Arc::clone(&is_second))?;
            pipe::register(signal, sender.try_clone()?)?;
        }
        Ok(Self { signals })
    }

    pub(super) fn wait(&self, process: &Process, time: Option<Duration>) -> io::Result<Why> {
        let deadline = time.map(Deadline::after);
        loop {
            let left = match deadline {
                Some(deadline) => match deadline.left() {
                    Some(left) => left.min(INTERVAL),
                    None => return Ok(Why::Time),
                },
                None => INTERVAL,
            };
            self.signals.set_read_timeout(Some(left))?;
            match (&self.signals).read(&mut [0]) {
                Ok(_) => return Ok(Why::Signal),
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock
                            | io::ErrorKind::TimedOut
                            | io::ErrorKind::Interrupted
                    ) => {}
                Err(error) => return Err(error),
            }
            if process.is_gone() {
                return Ok(Why::Ended);
            }
        }
    }
}
