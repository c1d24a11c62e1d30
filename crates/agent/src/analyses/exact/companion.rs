//! The analyses whose probes the engine places together with its own: a class is changed once.

use perk_instrument::{ClassFile, CountedCode, Error, MethodCalls, MethodName};

use crate::analyses::bytecodes::Bytecodes;
use crate::analyses::counters::Counters;
use crate::analyses::counts::CallCounts;

/// An analysis with counters in the code that the engine changes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Companion {
    /// It counts the executions of blocks.
    Bytecodes(&'static Bytecodes),
    /// It counts the entries of methods, and the calls that they make.
    Calls(&'static CallCounts),
}

impl Companion {
    /// Returns the analysis of bytecodes, if it is that one.
    pub(super) fn bytecodes(self) -> Option<&'static Bytecodes> {
        match self {
            Self::Bytecodes(bytecodes) => Some(bytecodes),
            Self::Calls(_) => None,
        }
    }

    /// Returns the analysis of calls, if it is that one.
    pub(super) fn calls(self) -> Option<&'static CallCounts> {
        match self {
            Self::Bytecodes(_) => None,
            Self::Calls(calls) => Some(calls),
        }
    }

    /// Returns the counters of threads.
    pub(super) fn counters(self) -> &'static Counters {
        match self {
            Self::Bytecodes(bytecodes) => bytecodes.counters(),
            Self::Calls(calls) => calls.counters(),
        }
    }

    /// Notes a class that gets probes: see [`Methods::class`](perk_instrument::Methods::class).
    ///
    /// # Errors
    /// What is wrong with its file.
    pub(super) fn class(self, file: &ClassFile<'_>) -> Result<(), Error> {
        match self {
            Self::Bytecodes(_) => Ok(()),
            Self::Calls(counts) => counts.class(file),
        }
    }

    /// Returns the first of new counters: see [`Methods::counters`](perk_instrument::Methods::counters).
    pub(super) fn new_counters(self, count: usize) -> Option<u32> {
        match self {
            Self::Bytecodes(bytecodes) => bytecodes.new_counters(count),
            Self::Calls(calls) => calls.new_counters(count),
        }
    }

    /// Notes a method with counters of blocks.
    pub(super) fn counted(self, method: &MethodName<'_>, code: CountedCode<'_>) {
        if let Self::Bytecodes(bytecodes) = self {
            bytecodes.counted(method, code);
        }
    }

    /// Notes a method with counters of its entries and calls.
    pub(super) fn entered(self, method: &MethodName<'_>, calls: MethodCalls<'_>) {
        if let Self::Calls(counts) = self {
            counts.entered(method, calls);
        }
    }
}
