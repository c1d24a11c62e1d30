//! HPROF files: the text and the binary format of the HPROF agent (JDK 1.2 to 8) and of perk, with
//! perk's own records where it needs more; and the tables of `cpu=old` and `-Xaprof`.
//!
//! All share one vocabulary, that of [`perk_profile`]: [`read`] makes a
//! [`Profile`](perk_profile::Profile) of any, [`Writer`] prints one record by record (as the agent
//! does) and [`write()`] whole. [`aprof`] stands apart, as its table has no traces. `docs/formats`
//! has the formats byte by byte.
#![forbid(unsafe_code)]

pub mod aprof;
pub mod ascii;
pub mod binary;
mod error;
mod format;
pub mod heap;
mod line_reader;
mod lines;
pub mod old;
mod read;
mod units;
mod write;

pub use binary::{BinaryForm, IdSize, Version};
pub use error::Error;
pub use format::{Format, recognise};
pub use line_reader::LineReader;
pub use read::read;
pub use write::{ThreadStart, Writer, write};
