//! The reasons why a file cannot be read.

/// A fault in a file, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file begins with neither format's header.
    #[error(
        "not an HPROF file: it does not begin with \"JAVA PROFILE 1.0\" (the first bytes are {found})"
    )]
    NotHprof {
        /// The first bytes, in printable form.
        found: String,
    },
    /// The input cannot be read further.
    #[error("{message}")]
    Input {
        /// The kind of the failure.
        kind: std::io::ErrorKind,
        /// The system's message.
        message: String,
    },
    /// A fault in a binary file.
    #[error("offset {offset}: {what}")]
    Binary {
        /// Bytes from the beginning of the file to the record at fault.
        offset: usize,
        /// The description of what was found and what was expected.
        what: String,
    },
    /// A binary file ends inside a record.
    #[error("offset {offset}: the file is cut off in {what}")]
    Cut {
        /// Bytes from the beginning of the file to the incomplete record.
        offset: usize,
        /// The description of what was expected there, and what is left.
        what: String,
    },
    /// A fault in an ASCII file.
    #[error("line {line}: {what}")]
    Ascii {
        /// The line at fault, from 1.
        line: usize,
        /// The description of what was found and what was expected.
        what: String,
    },
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()) {
            Some(error) => error.clone(),
            None => Self::Input { kind: error.kind(), message: error.to_string() },
        }
    }
}
