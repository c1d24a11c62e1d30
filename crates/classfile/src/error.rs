//! What can be wrong with a class file, and why a method or a constant cannot be written.

/// What is wrong with a class file, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file, or the attribute that should hold it, ends too early.
    #[error("offset {offset}: the bytes end where {expected} is expected")]
    Truncated {
        /// Bytes from the beginning of the file.
        offset: usize,
        /// What should be there.
        expected: &'static str,
    },
    /// A value that cannot be there.
    #[error("offset {offset}: expected {expected}, found {found:#x}")]
    Unexpected {
        /// Bytes from the beginning of the file.
        offset: usize,
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: u32,
    },
    /// An index that names no constant of the wanted kind.
    #[error("offset {offset}: constant {index} is not {expected}")]
    Constant {
        /// Bytes from the beginning of the file to the constant; to the end of the constant pool
        /// if the pool has no such constant.
        offset: usize,
        /// The index in the constant pool.
        index: u16,
        /// What the constant should be.
        expected: &'static str,
    },
}

/// Why a constant cannot be added to a constant pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// The pool has as many constants as a class file can count (JVM specification 4.11).
    #[error("the constant pool is full")]
    Full,
    /// A string of more than 65,535 bytes (JVM specification 4.4.7).
    #[error("a string of {bytes} bytes is too long for a constant")]
    TooLong {
        /// Its length as modified UTF-8.
        bytes: usize,
    },
}

/// A method that was left as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its index among the class's methods.
    pub method: usize,
    /// Why.
    pub reason: SkipReason,
}

/// Why a method was left as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkipReason {
    /// It is abstract or native, or the class has no such method.
    #[error("it has no code")]
    NoCode,
    /// Its code, or a table of it, cannot be read.
    #[error("{0}")]
    Malformed(#[from] Error),
    /// It would pass a limit of the class file format (JVM specification 4.11).
    #[error("{what} would be {value}, at most {limit} are allowed")]
    TooLarge {
        /// What is limited, with its unit.
        what: &'static str,
        /// What it would be.
        value: usize,
        /// The most there can be.
        limit: usize,
    },
    /// A conditional branch would be farther from its target than 16 bits can say.
    #[error("the branch at pc {pc} would be too far from its target")]
    BranchTooFar {
        /// Where the branch is in the original code.
        pc: u16,
    },
    /// A pc of the edit, of a branch or of a table is not that of an instruction.
    #[error("no instruction begins at pc {pc}")]
    NotAnInstruction {
        /// The pc in the original code.
        pc: i32,
    },
    /// The constant that it needs cannot be added.
    #[error("{0}")]
    Pool(#[from] PoolError),
}
