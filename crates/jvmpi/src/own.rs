//! What is perk's own among the program's classes.

use std::ffi::CStr;

use perk_instrument::EVENTS_HELPER;

use super::Bridge;
use perk_jvm::{Jni, Reference};

/// Whether a class is one of perk's own.
pub(crate) fn is_own(bridge: &Bridge, jni: Jni<'_>, class: &(impl Reference + ?Sized)) -> bool {
    bridge.probes.helper.get().is_some_and(|helper| jni.same(*helper, class))
}

/// Whether a class file of this name is one of perk's own.
pub(crate) fn is_own_name(name: &CStr) -> bool {
    name.to_bytes().starts_with(EVENTS_HELPER.as_bytes())
}
