//! A running JVM whose recording is shown while it is made: `perk top` and `perk serve`.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use perk_attach::jvms::{Counters, Jvm, Process};
use perk_attach::{Control, PATIENCE, litter, load_agent, may_ask, thread_dump};
use perk_control::remote::Request;
use perk_live::{Jvm as _, JvmCounters, JvmState, LiveRecording, ending};

use crate::args::{AgentArguments, MeasurementArgs};
use crate::attach::begin;
use crate::run::Analyses;

/// The time that a JVM has to send the end of its recording.
const END_TIME: Duration = Duration::from_secs(2);
/// The time between two looks at a process that ends.
const LOOK_TIME: Duration = Duration::from_millis(10);
/// The time for which a JVM that ends can answer after the end of its recording.
const LAST_ANSWERS_TIME: Duration = Duration::from_secs(1);

/// A JVM and its recording, which ends when this is dropped.
pub(crate) struct WatchedJvm {
    pub(crate) jvm: Jvm,
    pub(crate) recording: Arc<LiveRecording>,
    connection: UnixStream,
    timeout: Duration,
    is_stopped: AtomicBool,
    /// Whether the JVM answered after the end of the recording, once that has ended.
    outlives: OnceLock<bool>,
    /// How the JVM has ended, once it has.
    exit: Arc<OnceLock<Option<ExitStatus>>>,
}

impl WatchedJvm {
    /// Begins the recording that these arguments describe, as `perk attach` does.
    ///
    /// # Errors
    /// As those of `perk attach`.
    pub(crate) fn begin(
        jvm: Jvm,
        timeout: Duration,
        agent: &AgentArguments,
    ) -> anyhow::Result<Self> {
        let measured =
            MeasurementArgs { agent: agent.clone(), top: None, quiet: false, output: Vec::new() };
        let analyses = Analyses::of_running(&measured)?;
        may_ask(&jvm)?;
        let control = match Control::of(&jvm) {
            Some(control) => control,
            None => load_agent(&jvm, timeout)?,
        };
        control.check(timeout)?;
        let watch = |analyses: &Analyses<'_>| {
            control.watch(analyses.watched_options().to_string(), PATIENCE)
        };
        let (_, connection) = begin(analyses, &watch)?;
        litter::remove(&jvm);
        let recording = LiveRecording::start(connection.try_clone()?)?;
        let (is_stopped, outlives) = (AtomicBool::new(false), OnceLock::new());
        let exit = exit_of(&jvm.process)?;
        Ok(Self { jvm, recording, connection, timeout, is_stopped, outlives, exit })
    }

    /// The state of a JVM whose recording has ended with it. Its process is there for a moment longer.
    fn ended(&self) -> JvmState {
        let deadline = Instant::now() + END_TIME;
        while self.exit.get().is_none() && Instant::now() < deadline {
            thread::sleep(LOOK_TIME);
        }
        JvmState::Ended(self.exit.get().copied().flatten())
    }

    /// Ends the recording, whose last part then is in it. `false` if the JVM does not answer.
    pub(crate) fn stop(&self) -> bool {
        self.is_stopped.store(true, Relaxed);
        if self.recording.end().is_none()
            && let Some(control) = Control::of(&self.jvm)
        {
            // What it answers does not matter: the end of the recording comes, or it does not.
            let _ = control.ask(&Request::Stop, END_TIME);
        }
        self.recording.wait_for_end(END_TIME).is_some()
    }

    /// Whether the recording has ended with the JVM, whose process may be there for a moment longer.
    fn has_ended(&self) -> bool {
        let answers = || {
            // A JVM that ends answers for a moment longer than it records.
            let deadline = Instant::now() + LAST_ANSWERS_TIME;
            while self.exit.get().is_none() && Instant::now() < deadline {
                thread::sleep(LOOK_TIME);
            }
            let control = Control::of(&self.jvm).filter(|_| self.exit.get().is_none());
            control.is_some_and(|it| it.ask(&Request::Status, END_TIME).is_ok())
        };
        self.recording.end().is_some() && !self.outlives.get_or_init(answers)
    }

    /// How the recording has ended, if this has not ended it.
    pub(crate) fn farewell(&self) -> Option<String> {
        let end = self.recording.end().filter(|_| !self.is_stopped.load(Relaxed))?;
        Some(ending(&end, self.state(), &self.jvm.title()))
    }
}

/// Looks how a process ends, at the moment of its end: once its parent has asked, the system no longer knows.
fn exit_of(process: &Process) -> anyhow::Result<Arc<OnceLock<Option<ExitStatus>>>> {
    let (process, exit) = (process.try_clone()?, Arc::new(OnceLock::new()));
    let seen = Arc::clone(&exit);
    thread::spawn(move || seen.set(process.wait_for_exit()));
    Ok(exit)
}

impl Drop for WatchedJvm {
    fn drop(&mut self) {
        let _ = self.connection.shutdown(Shutdown::Both);
    }
}

impl perk_live::Jvm for WatchedJvm {
    fn program(&self) -> &str {
        &self.jvm.program
    }

    fn pid(&self) -> u32 {
        self.jvm.process.pid
    }

    fn state(&self) -> JvmState {
        match self.jvm.process.status() {
            Ok(status) if matches!(status.state, 'T' | 't') => JvmState::Stopped,
            Ok(status) if matches!(status.state, 'Z' | 'X') || self.has_ended() => self.ended(),
            Ok(_) => JvmState::Running,
            Err(_) => self.ended(),
        }
    }

    fn counters(&self) -> Option<JvmCounters> {
        Counters::of(&self.jvm).map(|counters| counters.values())
    }

    fn thread_dump(&self) -> anyhow::Result<String> {
        thread_dump(&self.jvm, self.timeout)
    }
}
