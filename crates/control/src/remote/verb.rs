//! The commands of the control socket, and the commands of HPROF with the same meaning.

use std::str::FromStr;

use crate::commands::{Command, Threads};

/// A command of the control socket, without its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Begin a recording, or resume one.
    Start,
    /// Begin a recording that ends with the connection.
    Lease,
    /// Begin a recording that is sent over the connection, and ends with it.
    Watch,
    /// Take over the recording that is under way: it ends with this connection.
    Hold,
    /// End a recording, or pause one.
    Stop,
    /// Write what was measured.
    Dump,
    /// Forget what was measured.
    Reset,
    /// Describe the agent.
    Status,
}

/// A line of the table of commands.
struct VerbRow {
    verb: Verb,
    name: &'static str,
    argument: &'static str,
    about: &'static str,
    /// The commands of HPROF that do the same to a part of the recording.
    hprof: &'static [Command],
}

/// The share of HPROF's commands that leaves nothing out.
const ALL_ROWS: f32 = 0.0;

const TABLE: [VerbRow; 8] = [
    VerbRow {
        verb: Verb::Start,
        name: "start",
        argument: "[OPTIONS]",
        about: "begin a recording with these options of the agent; without options, resume the \
                one that is paused",
        hprof: &[Command::CpuOn(Threads::All), Command::AllocOn],
    },
    VerbRow {
        verb: Verb::Lease,
        name: "lease",
        argument: "OPTIONS",
        about: "begin a recording with these options of the agent; it ends when the connection is \
                closed",
        hprof: &[],
    },
    VerbRow {
        verb: Verb::Watch,
        name: "watch",
        argument: "OPTIONS",
        about: "begin a recording with these options of the agent, which sends what it measures over the \
                connection every second; it ends when the connection is closed",
        hprof: &[],
    },
    VerbRow {
        verb: Verb::Hold,
        name: "hold",
        argument: "",
        about: "take over the recording that is under way from the connection that holds it; it ends when \
                this connection is closed, or its option grace later",
        hprof: &[],
    },
    VerbRow {
        verb: Verb::Stop,
        name: "stop",
        argument: "",
        about: "end the recording and finish its file; pause that of the JVM's command line",
        hprof: &[Command::CpuOff(Threads::All), Command::AllocOff],
    },
    VerbRow {
        verb: Verb::Dump,
        name: "dump",
        argument: "",
        about: "write what was measured since the last dump",
        hprof: &[
            Command::CpuSamples { cutoff: ALL_ROWS },
            Command::AllocSites { flags: 0, cutoff: ALL_ROWS },
        ],
    },
    VerbRow {
        verb: Verb::Reset,
        name: "reset",
        argument: "",
        about: "forget what was measured so far",
        hprof: &[Command::ClearCpu, Command::ClearSites],
    },
    VerbRow {
        verb: Verb::Status,
        name: "status",
        argument: "",
        about: "describe the agent and its recording",
        hprof: &[],
    },
];

impl Verb {
    /// Returns all commands.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|entry| entry.verb)
    }

    fn entry(self) -> &'static VerbRow {
        &TABLE[self as usize]
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Returns the syntax of the argument; empty if the command takes none.
    pub fn argument(self) -> &'static str {
        self.entry().argument
    }

    /// Returns a description of the effect.
    pub fn about(self) -> &'static str {
        self.entry().about
    }

    /// Returns the commands of HPROF that have this effect on CPU samples and on allocations.
    pub fn hprof(self) -> &'static [Command] {
        self.entry().hprof
    }
}

impl FromStr for Verb {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let entry = TABLE.iter().find(|entry| entry.name == text);
        entry.map(|entry| entry.verb).ok_or_else(|| {
            let names: Vec<_> = Self::all().map(Self::name).collect();
            format!("{text:?} is not a command; the commands are {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_its_line() {
        for verb in Verb::all() {
            assert_eq!((verb.entry().verb, verb.name().parse()), (verb, Ok(verb)));
        }
        let error = "begin".parse::<Verb>().unwrap_err();
        assert_eq!(
            error,
            "\"begin\" is not a command; the commands are start, lease, watch, hold, stop, dump, reset, status"
        );
    }

    #[test]
    fn no_command_of_hprof_means_two_things() {
        let all: Vec<_> = Verb::all().flat_map(Verb::hprof).collect();
        for (index, command) in all.iter().enumerate() {
            assert!(!all[..index].contains(command), "{command:?}");
        }
    }
}
