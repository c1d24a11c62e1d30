//! The profile that JamaicaVM's profiling VM writes: one number per line, after its keyword. perk's
//! agent writes it, too. `docs/formats/jamaica.md` describes the lines.
//!
//! [`read`] makes a [`Profile`](perk_profile::Profile) of a file, [`write()`] and [`write_part`] do
//! the reverse. [`metric`] has the names of the numbers.
#![forbid(unsafe_code)]

mod append;
mod lines;
pub mod metric;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use append::{Flaw, flaw};
pub use reader::read;
pub use writer::{write, write_part, written_total};

/// The beginnings of the lines.
const KEYWORDS: [&str; 12] = [
    "HEAP_REFS",
    "HEAP_USE",
    "INSTANTIATION_COUNT",
    "PROFILE",
    "PROFILE_CLASS_USED_VIA_REFLECTION",
    "PROFILE_CYCLES",
    "PROFILE_INVOKE",
    "PROFILE_LINES",
    "PROFILE_NATIVE",
    "PROFILE_NEWARRAY",
    "PROFILE_THREAD",
    "PROFILE_THREADS",
];

/// The beginning of a line for people, which perk skips.
const NOTE: &str = "PERK_NOTE";

/// The reason why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The rest of the input cannot be read.
    #[error("{message}")]
    Input {
        /// The kind of the failure.
        kind: std::io::ErrorKind,
        /// The system's message.
        message: String,
    },
    /// A line is not what it should be.
    #[error("line {line}: expected {expected}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// The text that was expected there.
        expected: &'static str,
    },
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Input { kind: error.kind(), message: error.to_string() }
    }
}

/// Whether a file that begins with `head` is such a profile.
pub fn recognise(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let keyword = line.split(|&byte| byte == b':').next().unwrap_or_default();
    let mut known = KEYWORDS.iter().chain([&NOTE]);
    keyword.len() < line.len() && known.any(|known| known.as_bytes() == keyword)
}
