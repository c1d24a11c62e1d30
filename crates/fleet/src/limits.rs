//! What queries and other work on tables may take of the machine.

use std::path::Path;

use anyhow::Context;
use perk_tables::Limits;
use tempfile::TempDir;

/// The part of the machine's memory that is taken, if no option says how much.
const MEMORY_PART: usize = 4;
/// The most room that is taken on disk.
const SPILL_BYTES: u64 = 64 << 30;

/// A folder for what does not fit the memory.
///
/// # Errors
/// It cannot be made, in one line.
pub(crate) fn spill_folder() -> anyhow::Result<TempDir> {
    let spill = tempfile::Builder::new().prefix("perk-sql-").tempdir();
    spill.context("no folder for temporary files can be made")
}

/// The limits: this memory, or a part of the machine's.
pub(crate) fn of(memory_bytes: Option<u64>, spill: &Path) -> Limits {
    Limits {
        memory_bytes: memory_bytes.map_or_else(default_memory, |it| it as usize),
        spill: spill.to_owned(),
        spill_bytes: SPILL_BYTES,
    }
}

/// A quarter of the machine's memory, or 1 GiB if that is not known.
fn default_memory() -> usize {
    let info = rustix::system::sysinfo();
    let bytes = (info.totalram as usize).saturating_mul(info.mem_unit as usize);
    if bytes == 0 { 1 << 30 } else { bytes / MEMORY_PART }
}
