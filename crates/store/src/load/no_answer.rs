//! Why a question has no answer.

use std::fmt;

/// Why a question has no answer, though the store can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// Nothing was recorded of it.
    Nothing,
    /// There are more numbers than these, which fit the memory.
    TooMuch(usize),
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoAnswer::Nothing => f.write_str("nothing was recorded of this"),
            NoAnswer::TooMuch(most) => write!(
                f,
                "more than {most} numbers do not fit the memory: ask for less time, for one service, or without \
                 times, threads and labels"
            ),
        }
    }
}

impl std::error::Error for NoAnswer {}
