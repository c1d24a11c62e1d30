//! The request of a dump.

use super::Bridge;
use crate::jvm::Jni;

use perk_jvmti_sys::jvmpi::jobjectID;

/// Sends OBJECT_DUMP of an object. `None` if there is no such object.
pub(super) fn request(_bridge: &Bridge, _jni: Jni<'_>, _id: jobjectID) -> Option<()> {
    None
}
