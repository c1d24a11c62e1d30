//! HPROF files: the text and the binary format of the HPROF agent (JDK 1.2 to 8) and of perk, with
//! additional records of perk, and the tables of `cpu=old`, `-Xaprof` and `-Xprof`.
//!
//! All formats share the data model of [`perk_profile`]: [`read`] makes a
//! [`Profile`](perk_profile::Profile) of any file, [`Writer`] writes one record by record (as the
//! agent does) and [`write()`] writes a whole one. [`aprof`] and [`xprof`] are separate, as their
//! tables have no traces. `docs/formats` describes the formats byte by byte.
#![forbid(unsafe_code)]

pub mod aprof;
pub mod ascii;
pub mod binary;
mod error;
mod format;
pub mod heap;
mod line_reader;
mod lines;
mod numeral;
pub mod old;
mod read;
mod skipped;
mod units;
mod write;
pub mod xprof;

pub use binary::{BinaryForm, IdSize, Version};
pub use error::Error;
pub use format::{Format, recognise};
pub use line_reader::LineReader;
pub use read::read;
pub use skipped::SkippedLines;
pub use write::{
    CountedPath, CountedRow, MOST_COLUMNS, ThreadStart, TimedRow, Writer, write, write_packed,
};
