//! The ASCII format (`format=a`), version 1.0.1.
//!
//! Source of the format: the HPROF manual's excerpts and files of the JDK 8 agent; see
//! `docs/formats/hprof.md`.

mod reader;
mod writer;

pub use reader::read;
pub use writer::Writer;

/// The line that ends the header's prose.
const PROSE_END: &str = "--------";
/// Leads a line of the accounting, which stands in the prose of files that perk's tool wrote.
const ACCOUNTING: &str = "    perk: ";
