//! Failures.

use std::io;

/// The reason why a dump cannot be analysed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read, or a scratch file cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is not a dump, or is damaged beyond use; the text says where and how.
    #[error(transparent)]
    Format(#[from] perk_hprof::Error),
    /// The file is none that holds a heap.
    #[error("it is not a heap dump: it begins with \"{}\"", head[..head.len().min(16)].escape_ascii())]
    NotDump {
        /// The first bytes of its content, which is unpacked.
        head: Vec<u8>,
    },
    /// The dump cannot be analysed with these options; the text says why and what to do.
    #[error("{0}")]
    Refused(String),
}
