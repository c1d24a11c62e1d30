//! Waits for the end of a recording: its time, a signal, or the end of the JVM.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level::pipe};

use crate::run::not_ignored;
use perk_attach::Deadline;
use perk_attach::jvms::Process;

/// How often perk checks whether the JVM still runs.
const INTERVAL: Duration = Duration::from_millis(100);

/// The reason for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordingEnd {
    /// The time is over.
    Time,
    /// A signal came.
    Signal,
    /// The recording has ended, and so has the JVM, unless it still answers.
    Ended,
    /// Somebody else has ended the recording.
    Stopped,
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

    /// Waits. `lease` is the connection that the recording ends with.
    pub(super) fn wait(
        &self,
        lease: &UnixStream,
        process: &Process,
        time: Option<Duration>,
    ) -> io::Result<RecordingEnd> {
        let deadline = time.map(Deadline::after);
        loop {
            let left = match deadline {
                Some(deadline) => match deadline.left() {
                    Some(left) => left.min(INTERVAL),
                    None => return Ok(RecordingEnd::Time),
                },
                None => INTERVAL,
            };
            let mut sources =
                [PollFd::new(&self.signals, PollFlags::IN), PollFd::new(lease, PollFlags::empty())];
            match poll(&mut sources, Some(&left.try_into().map_err(io::Error::other)?)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let [signals, lease] = sources.map(|source| !source.revents().is_empty());
            if signals {
                return Ok(RecordingEnd::Signal);
            }
            if lease || process.is_gone() {
                return Ok(RecordingEnd::Ended);
            }
        }
    }
}
