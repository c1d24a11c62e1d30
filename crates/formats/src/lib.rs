//! Profile formats other than HPROF, each a module with a `write` and a `read`.
//!
//! Readers take any bytes: what they cannot read is an [`Error`] that says where it stands and
//! what was expected there.
#![forbid(unsafe_code)]

pub mod async_profiler;
pub mod collapsed;
mod deep;
pub mod flamegraph;
pub mod jamaica;
pub mod jfr;
pub mod perf_script;
pub mod pprof;
pub mod shared_fields;
pub mod speedscope;
pub mod svg;
pub mod xprof;

mod builder;
mod columns;
#[cfg(test)]
mod fixture;
mod frame_name;
mod graph;
mod lines;
mod name;
mod stacks;

/// Why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input cannot be read on.
    #[error("{message}")]
    Input {
        /// What kind of failure it was.
        kind: std::io::ErrorKind,
        /// What the system said.
        message: String,
    },
    /// A line of a text format is not what it should be.
    #[error("line {line}: expected {expected}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What should stand there.
        expected: &'static str,
    },
    /// The bytes from some place on are not what they should be.
    #[error("byte {offset}: expected {expected}")]
    Offset {
        /// The place, from 0.
        offset: usize,
        /// What should stand there.
        expected: &'static str,
    },
    /// An entry of a table inside the file is not what it should be.
    #[error("{table}[{index}]: expected {expected}")]
    Entry {
        /// The table's name in the file.
        table: &'static str,
        /// The entry, from 0.
        index: usize,
        /// What should stand there.
        expected: &'static str,
    },
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Input { kind: error.kind(), message: error.to_string() }
    }
}
