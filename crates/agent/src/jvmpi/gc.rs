//! Collections of garbage as the agent sees them.

use perk_jvmti_sys::JvmtiEnv;
use perk_jvmti_sys::jni_sys::jlong;

use super::{Id, bridge};

/// `ObjectFree`
pub(super) unsafe extern "system" fn object_free(_: JvmtiEnv, tag: jlong) {
    let Some(bridge) = bridge() else { return };
    if let Some(id) = Id::from_tag(tag) {
        bridge.objects.free(id);
        if let Some(jni) = bridge.current_jni()
            && bridge.classes.forget(jni, id)
        {
            bridge.shapes.forget(id);
        }
    }
}

/// `DisableGC`
pub(super) unsafe extern "C" fn disable() {}

/// `EnableGC`
pub(super) unsafe extern "C" fn enable() {}

/// `RunGC`
pub(super) unsafe extern "C" fn run() {}
