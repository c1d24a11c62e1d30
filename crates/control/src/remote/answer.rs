//! Answers: lines `NAME=VALUE`, and `ok` or `error TEXT`.

use std::fmt::{self, Display};
use std::io::{self, BufReader, Read, Write};
use std::str::FromStr;

use perk_profile::units::printable;

use super::{PeerLine, read_line};

/// The longest line of an answer, in bytes.
const LONGEST_LINE: usize = 256 << 10;
/// The most lines of an answer.
const MOST_LINES: usize = 1000;

/// The names of the fields of answers.
pub mod field {
    /// The version of perk.
    pub const PERK: &str = "perk";
    /// The version of the protocol.
    pub const PROTOCOL: &str = "protocol";
    /// The process id of the JVM in its own namespace.
    pub const PID: &str = "pid";
    /// The name and version of the JVM.
    pub const JVM: &str = "jvm";
    /// The [state](super::AgentState) of the agent.
    pub const STATE: &str = "state";
    /// The options of the recording.
    pub const OPTIONS: &str = "options";
    /// The file of the recording: its absolute path, as the JVM sees it.
    pub const FILE: &str = "file";
    /// The time since the recording began, in milliseconds.
    pub const ELAPSED_MS: &str = "elapsed_ms";
    /// The time for which a recording continues without the connection that holds it, in milliseconds.
    pub const GRACE_MS: &str = "grace_ms";
    /// A name of the options that nothing in the program has.
    pub const UNMATCHED: &str = "unmatched";
    /// Names in the program that could be meant instead, with [`SEPARATOR`] between; that of a method has a `#`
    /// after its class. An answer has the field several times.
    pub const NAMES: &str = "names";
    /// What is between names.
    pub const SEPARATOR: &str = ";";
    /// The interface that another profiler uses. Only agents with such a profiler have this field.
    pub const PROFILER: &str = "profiler";
}

/// The state of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentState {
    /// There is no recording.
    Idle,
    /// A recording is under way.
    Recording,
    /// There is a recording that measures nothing at present.
    Paused,
}

const STATES: [(AgentState, &str); 3] = [
    (AgentState::Idle, "idle"),
    (AgentState::Recording, "recording"),
    (AgentState::Paused, "paused"),
];

impl Display for AgentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(STATES[*self as usize].1)
    }
}

impl FromStr for AgentState {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        STATES.iter().find(|it| it.1 == text).map(|it| it.0).ok_or(())
    }
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The names and values of the fields.
    pub fields: Vec<(String, String)>,
    /// The error, as one line for a person.
    pub result: Result<(), String>,
}

/// An error in reading an answer.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// The stream failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The stream ended before the last line.
    #[error("the agent closed the connection without an answer")]
    Cut,
    /// The lines are not those of an answer.
    #[error("the agent gave an answer that this version of perk does not understand")]
    Garbage,
}

impl Answer {
    /// Creates the answer to a request that was obeyed.
    pub fn ok() -> Self {
        Self { fields: Vec::new(), result: Ok(()) }
    }

    /// Creates the answer to a request that was not obeyed.
    pub fn error(text: impl Display) -> Self {
        Self { fields: Vec::new(), result: Err(text.to_string()) }
    }

    /// Adds a field.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Display) -> Self {
        self.fields.push((name.to_owned(), value.to_string()));
        self
    }

    /// Returns the value of a field.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|it| it.0 == name).map(|it| &*it.1)
    }

    /// Returns all values of a field.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |it| it.0 == name).map(|it| &*it.1)
    }

    /// Returns the state of the agent.
    pub fn state(&self) -> Option<AgentState> {
        self.get(field::STATE)?.parse().ok()
    }

    /// Writes the lines. Line breaks in a value and in the text of the error are escaped.
    ///
    /// # Errors
    /// The stream failed.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let mut text = String::new();
        for (name, value) in &self.fields {
            text += &format!("{name}={}\n", printable(value));
        }
        text += &match &self.result {
            Ok(()) => "ok\n".to_owned(),
            Err(error) => format!("error {}\n", printable(error)),
        };
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Reads an answer. Lines of a newer agent's that have no `=` are not an answer.
    ///
    /// # Errors
    /// The stream failed or ended early, or has something else.
    pub fn read(source: impl Read) -> Result<Self, AnswerError> {
        // What follows the answer to `watch` stays in the source.
        let mut source = BufReader::with_capacity(1, source);
        let mut fields = Vec::new();
        while fields.len() < MOST_LINES {
            let line = match read_line(&mut source, LONGEST_LINE)? {
                PeerLine::Whole(line) => {
                    String::from_utf8(line).map_err(|_| AnswerError::Garbage)?
                }
                PeerLine::Cut | PeerLine::End => return Err(AnswerError::Cut),
                PeerLine::TooLong => return Err(AnswerError::Garbage),
            };
            if line == "ok" {
                return Ok(Self { fields, result: Ok(()) });
            }
            if let Some(text) = line.strip_prefix("error ") {
                return Ok(Self { fields, result: Err(text.to_owned()) });
            }
            let (name, value) = line.split_once('=').ok_or(AnswerError::Garbage)?;
            fields.push((name.to_owned(), value.to_owned()));
        }
        Err(AnswerError::Garbage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_they_were_written() {
        let status = Answer::ok()
            .with(field::PERK, "0.1.0")
            .with(field::PROTOCOL, super::super::PROTOCOL)
            .with(field::STATE, AgentState::Recording)
            .with(field::OPTIONS, "cpu=samples,file=/ü");
        for (answer, text) in [
            (Answer::ok(), "ok\n"),
            (Answer::error("no room"), "error no room\n"),
            (
                status.clone(),
                "perk=0.1.0\nprotocol=3\nstate=recording\noptions=cpu=samples,file=/ü\nok\n",
            ),
        ] {
            let mut bytes = Vec::new();
            answer.write(&mut bytes).unwrap();
            assert_eq!(String::from_utf8_lossy(&bytes), text);
            assert_eq!(Answer::read(&*bytes).unwrap(), answer);
        }
        assert_eq!((status.get(field::PID), status.state()), (None, Some(AgentState::Recording)));
        for (state, name) in STATES {
            assert_eq!((state.to_string().as_str(), name.parse()), (name, Ok(state)));
        }
    }

    #[test]
    fn a_line_break_does_not_end_a_line() {
        let mut bytes = Vec::new();
        Answer::error("a\nok").with(field::FILE, "/a\nok\n").write(&mut bytes).unwrap();
        let answer = Answer::read(&*bytes).unwrap();
        assert_eq!(answer.get(field::FILE), Some("/a\\nok\\n"));
        assert_eq!(answer.result, Err("a\\nok".to_owned()));
    }

    #[test]
    fn other_bytes_are_not_an_answer() {
        for bytes in [&b""[..], b"perk=1\n", b"ok", b"error x"] {
            assert!(matches!(Answer::read(bytes), Err(AnswerError::Cut)), "{bytes:?}");
        }
        for bytes in [&b"hello\n"[..], b"a=\xff\nok\n", b"error\n"] {
            assert!(matches!(Answer::read(bytes), Err(AnswerError::Garbage)), "{bytes:?}");
        }
        let endless = std::io::repeat(b'x');
        assert!(matches!(Answer::read(endless), Err(AnswerError::Garbage)));
        let lines = "a=b\n".repeat(MOST_LINES + 1);
        assert!(matches!(Answer::read(lines.as_bytes()), Err(AnswerError::Garbage)));
    }
}
