//! Profile formats. Each is a module that implements [`FileFormat`], and a line of [`FORMATS`].
//! HPROF's own readers and writers are those of `perk-hprof`, JamaicaVM's those of `perk-jamaica`.
//!
//! Readers take any bytes. Input that they cannot read is an [`Error`] with the place and with the
//! text that was expected there.
#![forbid(unsafe_code)]

pub mod async_profiler;
pub mod collapsed;
mod deep;
pub mod fields_page;
mod file_format;
pub mod flamegraph;
mod foreign;
pub mod hprof;
pub mod jamaica;
pub mod jfr;
pub mod memory;
pub mod perf_script;
pub mod pprof;
pub mod shared_fields;
pub mod source_page;
pub mod speedscope;
pub mod svg;
pub mod xprof;

mod builder;
mod columns;
#[cfg(test)]
mod fixture;
mod frame_name;
mod lines;
mod name;
mod page;
mod registry;
mod stacks;
mod times;

pub use file_format::{
    Depth, Detail, Document, FileFormat, FormatContent, FormatFacts, Lead, LeadRow, Metrics,
    Reading, View,
};
pub use foreign::{Foreign, foreign};
pub use frame_name::is_jvm_source;
pub use registry::{FORMATS, HEAD_BYTES, by_name, recognise, table};

/// The reason why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An HPROF file, or one of its tables, cannot be read.
    #[error(transparent)]
    Hprof(#[from] perk_hprof::Error),
    /// A Jamaica profile cannot be read.
    #[error(transparent)]
    Jamaica(#[from] perk_jamaica::Error),
    /// perk does not read this format.
    #[error("perk writes {title} and does not read it")]
    WrittenOnly {
        /// The format's name in messages.
        title: &'static str,
    },
    /// The rest of the input cannot be read.
    #[error("{message}")]
    Input {
        /// The kind of the failure.
        kind: std::io::ErrorKind,
        /// The system's message.
        message: String,
    },
    /// A line of a text format is not what it should be.
    #[error("line {line}: expected {expected}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// The text that was expected there.
        expected: &'static str,
    },
    /// The bytes from some place on are not what they should be.
    #[error("byte {offset}: expected {expected}")]
    Offset {
        /// The place, from 0.
        offset: usize,
        /// The data that was expected there.
        expected: &'static str,
    },
    /// An entry of a table inside the file is not what it should be.
    #[error("{table}[{index}]: expected {expected}")]
    Entry {
        /// The table's name in the file.
        table: &'static str,
        /// The entry, from 0.
        index: usize,
        /// The data that was expected there.
        expected: &'static str,
    },
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Input { kind: error.kind(), message: error.to_string() }
    }
}
