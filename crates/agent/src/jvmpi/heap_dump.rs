//! The request of a dump.

use super::Bridge;
use crate::jvm::Jni;

use perk_jvmti_sys::jvmpi::JVMPI_HeapDumpArg;

/// Sends HEAP_DUMP. `None` if it cannot.
///
/// # Safety
/// The argument must be the agent's, or null.
pub(super) unsafe fn request(
    _bridge: &Bridge,
    _jni: Jni<'_>,
    _level: *const JVMPI_HeapDumpArg,
) -> Option<()> {
    None
}
