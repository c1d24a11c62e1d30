//! The request of a dump.

use super::Bridge;
use crate::jvm::Jni;

/// Sends MONITOR_DUMP. `None` if it cannot.
pub(super) fn request(_bridge: &Bridge, _jni: Jni<'_>) -> Option<()> {
    None
}
