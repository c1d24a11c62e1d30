//! What queries and other work on tables may take of the machine.

use std::io;

use anyhow::Context;
use perk_tables::Limits;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// The part of the machine's memory that is taken, if no option says how much.
const MEMORY_PART: usize = 4;
/// The stack of the threads that plan and run queries: addresses, of which those are memory that are used.
pub(crate) const STACK_BYTES: usize = 512 << 20;
/// The most room that is taken on disk.
const SPILL_BYTES: u64 = 64 << 30;

/// What a command may take: this memory, or a part of the machine's. The folder for what does not fit lives as long as the
/// first value.
///
/// # Errors
/// The folder cannot be made, in one line.
pub(crate) fn of_command(memory_bytes: Option<u64>) -> anyhow::Result<(TempDir, Limits)> {
    let spill = tempfile::Builder::new().prefix("perk-sql-").tempdir();
    let spill = spill.context("no folder for temporary files can be made")?;
    let limits = Limits {
        memory_bytes: memory_bytes.map_or_else(default_memory, |it| it as usize),
        spill: spill.path().to_owned(),
        spill_bytes: SPILL_BYTES,
    };
    Ok((spill, limits))
}

/// What runs queries. Terms of a long one are inside each other, and DataFusion visits them by recursion.
///
/// # Errors
/// No threads can be started.
pub(crate) fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().enable_all().thread_stack_size(STACK_BYTES).build()
}

/// A quarter of the machine's memory, or 1 GiB if that is not known; at most half of what it and the control groups of this
/// process leave.
fn default_memory() -> usize {
    let info = rustix::system::sysinfo();
    let bytes = (info.totalram as usize).saturating_mul(info.mem_unit as usize);
    let part = if bytes == 0 { 1 << 30 } else { bytes / MEMORY_PART };
    perk_heap::free_memory_bytes().map_or(part, |free| part.min((free / 2) as usize))
}
