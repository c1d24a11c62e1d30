//! HPROF files: the ASCII and the binary format of the HPROF agent (JDK 1.2 to 8) and of perk.
//!
//! Both formats share one vocabulary, that of [`perk_profile`]: [`read`] makes a
//! [`Profile`](perk_profile::Profile) of either, [`ascii::Writer`] and [`binary::Writer`] print
//! one, record by record (as the agent does) or whole ([`write`]). `docs/formats/hprof.md` has the
//! formats byte by byte.
#![forbid(unsafe_code)]

pub mod ascii;
pub mod binary;
mod error;
mod read;
mod write;

pub use error::Error;
pub use read::{Format, read, recognise};
pub use write::{ThreadStart, Writer, write};
