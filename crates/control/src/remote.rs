//! The control socket of an agent: where it is, the requests that it takes, and its answers.
//!
//! A connection carries one request, which is a line, and its answer. The answer consists of lines
//! `NAME=VALUE` and a last line, `ok` or `error TEXT`. The agent then closes the connection, unless the
//! request was `lease`, `hold` or `watch`: that connection and the recording end together. The peer that requested
//! it closes the connection, or is killed, and the agent ends the recording; or the recording ends for
//! another reason, and the agent closes the connection. With the option `grace` the recording continues for
//! that time without a connection. A request `hold`, whose connection stays open as well, takes it over.
//!
//! After the answer to `watch`, the connection carries the recording in perk's extended format. Every second
//! the agent adds an increment: the sections of what was measured since the last one, and the accounting so
//! far, which ends it. What follows the last accounting is the last increment.

mod answer;
mod place;
mod request;
mod verb;

use std::io::{self, BufRead, Read};

pub use answer::{AgentState, Answer, AnswerError, field};
pub use place::{
    ATTACH_OPTION, attach_options, attach_socket, folders, is_short_enough, socket_name,
};
pub use request::{LONGEST_REQUEST, Request, RequestError};
pub use verb::Verb;

/// The version of the protocol.
pub const PROTOCOL: u32 = 3;

/// A line of a peer's.
enum PeerLine {
    /// The line, without its end.
    Whole(Vec<u8>),
    /// The stream ended within the line.
    Cut,
    /// The line is longer than allowed.
    TooLong,
    /// The stream ended before the line.
    End,
}

/// Reads a line of up to `longest` bytes, without its end.
fn read_line(source: &mut impl BufRead, longest: usize) -> io::Result<PeerLine> {
    let mut line = Vec::new();
    source.by_ref().take(longest as u64 + 1).read_until(b'\n', &mut line)?;
    Ok(match line.pop() {
        None => PeerLine::End,
        Some(b'\n') => PeerLine::Whole(line),
        Some(_) if line.len() == longest => PeerLine::TooLong,
        Some(_) => PeerLine::Cut,
    })
}
