//! The removal of tags whose objects are gone.

use std::ffi::c_void;
use std::ptr::null_mut;

use perk_jvmti_sys::jni_sys::{jint, jlong};
use perk_jvmti_sys::{call, jvmtiHeapCallbacks, jvmtiHeapReferenceInfo, jvmtiHeapReferenceKind};

use crate::{Jni, Jvmti, Reference};

impl Jvmti {
    /// Makes the JVM look for tags of objects that are gone, and report them on the calling thread,
    /// by `ObjectFree`. It does not wait for those that another thread reports.
    ///
    /// A walk of the heap does so. This one begins and ends at a new object. The JVM does the same
    /// when `ObjectFree` is enabled, but that may be a deadlock: if its own thread wants to do so at
    /// the same time, it waits without a safepoint for the end of the events.
    pub fn sweep_tags(self, jni: Jni<'_>) {
        let object = jni.object_class().and_then(|class| jni.allocate(class));
        let Some(object) = object else { return };
        let callbacks =
            jvmtiHeapCallbacks { heap_reference_callback: Some(stay), ..Default::default() };
        let (env, no_class, no_argument) = (self.raw(), null_mut(), null_mut());
        // SAFETY: the environment and reference are valid; the callback does not call the JVM.
        unsafe { call!(env, FollowReferences, 0, no_class, object.raw(), &callbacks, no_argument) };
    }
}

/// The callback of a walk of the heap that does not follow any reference.
pub(super) unsafe extern "system" fn stay(
    _: jvmtiHeapReferenceKind,
    _: *const jvmtiHeapReferenceInfo,
    _: jlong,
    _: jlong,
    _: jlong,
    _: *mut jlong,
    _: *mut jlong,
    _: jint,
    _: *mut c_void,
) -> jint {
    0
}
