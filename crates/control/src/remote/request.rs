//! Requests: `start cpu=samples,file=/tmp/a.perk`, `stop`, `dump`, `reset`, `status`.

use std::fmt;
use std::io::{self, BufReader, Read, Write};

use super::verb::Verb;
use super::{PeerLine, read_line};

/// The longest request, in bytes.
pub const LONGEST_REQUEST: usize = 64 << 10;

/// A request to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Begin a recording with these options of the agent, or resume the one that is paused.
    Start(Option<String>),
    /// Begin a recording with these options of the agent. It ends when the connection does.
    Lease(String),
    /// Begin a recording with these options of the agent. The agent sends it over the connection after its
    /// answer, and ends it when the connection ends.
    Watch(String),
    /// Take over the recording that is under way: it ends when this connection does.
    Hold,
    /// End the recording, or pause that of the command line.
    Stop,
    /// Write what was measured since the last dump.
    Dump,
    /// Forget what was measured so far.
    Reset,
    /// Describe the agent and its recording.
    Status,
}

/// An error of a request. Its text is an answer for the peer.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The stream failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The stream ended before the line did.
    #[error("the request is cut off")]
    Cut,
    /// The line is longer than [`LONGEST_REQUEST`].
    #[error("the request is longer than {LONGEST_REQUEST} bytes")]
    TooLong,
    /// The line is not UTF-8.
    #[error("the request is not UTF-8")]
    NotUtf8,
    /// The options have a character that ends a request.
    #[error("the options have a line break")]
    LineBreak,
    /// The name of the command is unknown.
    #[error("{0}")]
    Unknown(String),
    /// An argument follows a command that takes none.
    #[error("{} takes no argument", .0.name())]
    Argument(Verb),
    /// A command lacks its argument.
    #[error("{} needs the options of a recording", .0.name())]
    NoOptions(Verb),
}

impl Request {
    /// Returns the command.
    pub fn verb(&self) -> Verb {
        match self {
            Self::Start(_) => Verb::Start,
            Self::Lease(_) => Verb::Lease,
            Self::Watch(_) => Verb::Watch,
            Self::Hold => Verb::Hold,
            Self::Stop => Verb::Stop,
            Self::Dump => Verb::Dump,
            Self::Reset => Verb::Reset,
            Self::Status => Verb::Status,
        }
    }

    /// Parses the line of a request, without its end.
    ///
    /// # Errors
    /// The command is unknown, has an argument that it does not take, or lacks one.
    pub fn parse(line: &str) -> Result<Self, RequestError> {
        let (name, argument) = line.split_once(' ').unwrap_or((line, ""));
        let verb: Verb = name.parse().map_err(RequestError::Unknown)?;
        match verb {
            Verb::Start => Ok(Self::Start(Some(argument.to_owned()).filter(|it| !it.is_empty()))),
            Verb::Lease | Verb::Watch if argument.is_empty() => Err(RequestError::NoOptions(verb)),
            Verb::Lease => Ok(Self::Lease(argument.to_owned())),
            Verb::Watch => Ok(Self::Watch(argument.to_owned())),
            verb if !argument.is_empty() => Err(RequestError::Argument(verb)),
            Verb::Hold => Ok(Self::Hold),
            Verb::Stop => Ok(Self::Stop),
            Verb::Dump => Ok(Self::Dump),
            Verb::Reset => Ok(Self::Reset),
            Verb::Status => Ok(Self::Status),
        }
    }

    /// Reads the request of a connection. `None` if the peer has closed it without one. At most
    /// [`LONGEST_REQUEST`] bytes are kept.
    ///
    /// # Errors
    /// The stream failed, or what it has is not a request.
    pub fn read(source: impl Read) -> Result<Option<Self>, RequestError> {
        match read_line(&mut BufReader::new(source), LONGEST_REQUEST)? {
            PeerLine::End => Ok(None),
            PeerLine::Cut => Err(RequestError::Cut),
            PeerLine::TooLong => Err(RequestError::TooLong),
            PeerLine::Whole(line) => {
                let line = String::from_utf8(line).map_err(|_| RequestError::NotUtf8)?;
                Self::parse(&line).map(Some)
            }
        }
    }

    /// Writes the line.
    ///
    /// # Errors
    /// The stream failed, or the options have a line break or are too long.
    pub fn write(&self, mut out: impl Write) -> Result<(), RequestError> {
        let mut line = self.to_string();
        if line.contains('\n') {
            return Err(RequestError::LineBreak);
        }
        if line.len() > LONGEST_REQUEST {
            return Err(RequestError::TooLong);
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
        Ok(out.flush()?)
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.verb().name())?;
        match self {
            Self::Start(Some(options)) | Self::Lease(options) | Self::Watch(options) => {
                write!(f, " {options}")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(options: &str) -> Request {
        Request::Start(Some(options.to_owned()))
    }

    #[test]
    fn requests_are_read_as_they_were_written() {
        for (request, line) in [
            (Request::Start(None), "start\n"),
            (start("cpu=samples,file=/a b/ü.perk"), "start cpu=samples,file=/a b/ü.perk\n"),
            (start(&"x".repeat(LONGEST_REQUEST - 6)), &*format!("start {:x<65530}\n", "")),
            (Request::Lease("cpu=samples".to_owned()), "lease cpu=samples\n"),
            (Request::Watch("cpu=samples".to_owned()), "watch cpu=samples\n"),
            (Request::Hold, "hold\n"),
            (Request::Stop, "stop\n"),
            (Request::Dump, "dump\n"),
            (Request::Reset, "reset\n"),
            (Request::Status, "status\n"),
        ] {
            let mut bytes = Vec::new();
            request.write(&mut bytes).unwrap();
            assert_eq!(String::from_utf8_lossy(&bytes), line);
            assert_eq!(Request::read(&*bytes).unwrap(), Some(request));
        }
        assert_eq!(Request::read(&b"start \n"[..]).unwrap(), Some(Request::Start(None)));
        assert_eq!(Request::read(&b"stop \nmore"[..]).unwrap(), Some(Request::Stop));
        assert_eq!(Request::read(&b""[..]).unwrap(), None);
    }

    #[test]
    fn what_is_not_a_request_is_refused() {
        let endless = std::io::repeat(b'x');
        let error = Request::read(endless).unwrap_err().to_string();
        assert_eq!(error, "the request is longer than 65536 bytes");
        for (bytes, message) in [
            (&b"stop"[..], "the request is cut off"),
            (b"start \xff\n", "the request is not UTF-8"),
            (b"\n", "\"\" is not a command; the commands are start,"),
            (b"STOP\n", "\"STOP\" is not a command"),
            (b"stop now\n", "stop takes no argument"),
            (b"lease\n", "lease needs the options of a recording"),
            (b"watch\n", "watch needs the options of a recording"),
            (b"status -v\n", "status takes no argument"),
        ] {
            let error = Request::read(bytes).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn what_could_not_be_read_is_not_written() {
        for (options, message) in [
            ("file=a\nb".to_owned(), "the options have a line break"),
            ("x".repeat(LONGEST_REQUEST - 5), "the request is longer than 65536 bytes"),
        ] {
            let mut bytes = Vec::new();
            assert_eq!(start(&options).write(&mut bytes).unwrap_err().to_string(), message);
            assert!(bytes.is_empty());
        }
    }
}
