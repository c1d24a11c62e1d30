//! Errors of class files, and the reasons why a method or a constant cannot be written.

/// An error of a class file, with its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file, or the attribute that should hold it, ends too early.
    #[error("offset {offset}: the bytes end where {expected} is expected")]
    Truncated {
        /// The offset in the file.
        offset: usize,
        /// The expected value.
        expected: &'static str,
    },
    /// A value that is not valid there.
    #[error("offset {offset}: expected {expected}, found {found:#x}")]
    Unexpected {
        /// The offset in the file.
        offset: usize,
        /// The expected value.
        expected: &'static str,
        /// The value found.
        found: u32,
    },
    /// An index that does not name a constant of the expected kind.
    #[error("offset {offset}: constant {index} is not {expected}")]
    Constant {
        /// The offset of the constant in the file; that of the end of the constant pool if the pool
        /// has no such constant.
        offset: usize,
        /// The index in the constant pool.
        index: u16,
        /// The expected kind of constant.
        expected: &'static str,
    },
}

/// The reason why a constant cannot be added to a constant pool.
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
pub struct SkippedMethod {
    /// Its index among the class's methods.
    pub method: usize,
    /// The reason.
    pub reason: SkipReason,
}

/// The reason why a method was left as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkipReason {
    /// The method is abstract or native, or the class has no such method.
    #[error("it has no code")]
    NoCode,
    /// Its code, or a table of it, cannot be read.
    #[error("{0}")]
    Malformed(#[from] Error),
    /// The method would exceed a limit of the class file format (JVM specification 4.11).
    #[error("{what} would be {value}, at most {limit} are allowed")]
    TooLarge {
        /// The limited quantity, with its unit.
        what: &'static str,
        /// The value it would have.
        value: usize,
        /// The largest value allowed.
        limit: usize,
    },
    /// A conditional branch would be farther from its target than 16 bits can express.
    #[error("the branch at pc {pc} would be too far from its target")]
    BranchTooFar {
        /// The pc of the branch in the original code.
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
