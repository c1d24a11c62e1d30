//! The JVM that is recorded, as far as the recording does not show it.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use perk_profile::units::bytes;

use crate::End;

/// Whether a JVM runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JvmState {
    /// It runs.
    Running,
    /// A signal (SIGSTOP) or a debugger has stopped it.
    Stopped,
    /// Its process has ended, in this way if that is known: the system tells the parent of a process alone.
    Ended(Option<ExitStatus>),
}

/// How a process has ended, after its name: ` has ended with exit code 143`.
pub fn exit_text(status: Option<ExitStatus>) -> String {
    match status.map(|it| (it.code(), it.signal())) {
        Some((Some(code), _)) => format!(" has ended with exit code {code}"),
        Some((_, Some(signal))) => format!(" was ended by signal {signal}"),
        _ => " has ended".to_owned(),
    }
}

/// Why a recording has ended, in a sentence; `title` names its JVM.
pub fn ending(end: &End, state: JvmState, title: &str) -> String {
    match (end, state) {
        (End::Ended, JvmState::Ended(status)) => title.to_owned() + &exit_text(status),
        (End::Ended, _) => format!("another request ended the recording of {title}"),
        (End::Lost(reason), JvmState::Ended(status)) => {
            format!("{title}{}, without its last second: {reason}", exit_text(status))
        }
        (End::Lost(reason), _) => format!("the recording of {title} is lost: {reason}"),
    }
}

/// What a JVM says about itself, beside the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JvmCounters {
    /// The bytes of the heap that were used at the end of the last collection.
    pub heap_used_bytes: u64,
    /// The bytes of the heap.
    pub heap_bytes: u64,
    /// The classes that are loaded.
    pub class_count: u64,
}

impl JvmCounters {
    /// The heap and the classes in a line.
    pub fn line(&self) -> String {
        let mut parts = Vec::new();
        if self.heap_used_bytes > 0 {
            let (used, all) = (bytes(self.heap_used_bytes), bytes(self.heap_bytes));
            parts.push(format!("heap {used} of {all} at the last collection"));
        }
        if self.class_count > 0 {
            parts.push(format!("{} classes", self.class_count));
        }
        parts.join(" · ")
    }
}

/// A JVM that is recorded.
pub trait Jvm: Send + Sync {
    /// Its main class or jar.
    fn program(&self) -> &str;

    /// Its process id.
    fn pid(&self) -> u32;

    /// Whether it runs.
    fn state(&self) -> JvmState;

    /// The numbers that it keeps for `jstat`; `None` if it keeps none.
    fn counters(&self) -> Option<JvmCounters>;

    /// Has it print its threads.
    ///
    /// # Errors
    /// It does not; the reason in one line.
    fn thread_dump(&self) -> anyhow::Result<String>;

    /// The program and the process: `shop.jar · pid 4711`.
    fn title(&self) -> String {
        format!("{} · pid {}", self.program(), self.pid())
    }
}
