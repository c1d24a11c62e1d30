//! The JVM's own memory and exports, for the crate that knows its structures.

use std::ffi::CString;

use perk_hotspot::vm::{Memory, MissingDescription, Monitors, Symbols, Vm};

use crate::os::{self, checked};

/// The process's memory.
#[derive(Clone, Copy, Debug)]
pub struct ProcessMemory;

impl Memory for ProcessMemory {
    fn word(&self, address: usize) -> Option<usize> {
        checked::word(address)
    }
}

/// The same, for the tables that the JVM exports.
#[derive(Default)]
struct TableMemory(checked::PageCopies);

impl Memory for TableMemory {
    fn word(&self, address: usize) -> Option<usize> {
        self.0.word(address)
    }
}

/// The data that the JVM exports, by name.
struct VmExports;

impl Symbols for VmExports {
    fn address(&self, name: &str) -> Option<usize> {
        let name = CString::new(name).ok()?;
        os::symbol(&name).map(|symbol| symbol.addr().get())
    }
}

/// Returns the structures of this JVM.
///
/// # Errors
///
/// Names the first description that it does not have.
pub fn structures() -> Result<Vm, MissingDescription> {
    Vm::new(&TableMemory::default(), &VmExports)
}

/// Returns how this JVM holds monitors.
pub(crate) fn monitors() -> Result<Monitors, MissingDescription> {
    Monitors::new(&TableMemory::default(), &VmExports)
}
