//! Why a file cannot be read.

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file begins with neither format's header.
    #[error(
        "not an HPROF file: it does not begin with \"JAVA PROFILE 1.0\" (the first bytes are {found})"
    )]
    NotHprof {
        /// The first bytes, made printable.
        found: String,
    },
    /// The input cannot be read on.
    #[error("{message}")]
    Input {
        /// What kind of failure it was.
        kind: std::io::ErrorKind,
        /// What the system said.
        message: String,
    },
    /// A fault in a binary file.
    #[error("offset {offset}: {what}")]
    Binary {
        /// Bytes from the beginning of the file to the record at fault.
        offset: usize,
        /// What was found and what was expected.
        what: String,
    },
    /// A binary file ends inside a record.
    #[error("offset {offset}: the file is cut off in {what}")]
    Cut {
        /// Bytes from the beginning of the file to the record that is not whole.
        offset: usize,
        /// What was expected there, and what is left.
        what: String,
    },
    /// A fault in an ASCII file.
    #[error("line {line}: {what}")]
    Ascii {
        /// The line at fault, from 1.
        line: usize,
        /// What was found and what was expected.
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
