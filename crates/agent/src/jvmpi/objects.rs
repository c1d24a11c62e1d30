//! The ids of objects.

use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use perk_jvmti_sys::jni_sys::jobject;
use perk_jvmti_sys::jvmpi::jobjectID;

use super::threads::critical;
use super::{Id, bridge};
use crate::jvm::{Borrowed, Jvmti, Reference};
use crate::sync::lock;

/// The ids; see the module.
#[derive(Debug, Default)]
pub(super) struct Objects {
    /// The number of ids that were given.
    given: AtomicI64,
    /// Held while an object that others may know gets its id.
    tagging: Mutex<()>,
}

impl Objects {
    /// Returns the id of an object, which gets one if it has none.
    pub(super) fn id(&self, jvmti: Jvmti, object: &(impl Reference + ?Sized)) -> Id {
        let known = || Id::from_tag(jvmti.tag(object));
        known().unwrap_or_else(|| {
            critical(|| {
                let _tagging = lock(&self.tagging);
                known().unwrap_or_else(|| {
                    let id = self.next();
                    jvmti.set_tag(object, id.0);
                    id
                })
            })
        })
    }

    /// Returns an id that no object has.
    pub(super) fn next(&self) -> Id {
        Id((self.given.fetch_add(1, Relaxed) + 1) << 4)
    }
}

impl super::Bridge {
    /// Sends OBJECT_ALLOC of an object that the agent asks for. `None` if there is no such object.
    pub(super) fn request_object(&self, _jni: crate::jvm::Jni<'_>, _id: jobjectID) -> Option<()> {
        None
    }
}

/// `jobjectID2jobject`
pub(super) unsafe extern "C" fn object_of_id(_id: jobjectID) -> jobject {
    null_mut()
}

/// `jobject2jobjectID`
pub(super) unsafe extern "C" fn id_of_object(object: jobject) -> jobjectID {
    // SAFETY: the agent passes a reference of its own, or null.
    let object = unsafe { Borrowed::from_raw(object) };
    let id = bridge().zip(object).map(|(bridge, object)| bridge.objects.id(bridge.jvmti, &object));
    id.map_or(null_mut(), Id::raw)
}
