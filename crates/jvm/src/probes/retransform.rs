//! Probes in classes that are loaded already.

use perk_jvmti_sys::jni_sys::jclass;
use perk_jvmti_sys::jvmtiError;

use crate::{Jvmti, ObjectRef};

/// Makes the JVM pass classes to the hooks of class files again. If the JVM refuses a class, it
/// changes none of the classes of that call. The two halves of the list are then passed separately,
/// and so on; `refused` gets the classes that the JVM refuses alone.
///
/// # Safety
/// They must be references to classes, and be valid meanwhile.
pub unsafe fn retransform(
    jvmti: Jvmti,
    classes: &[jclass],
    refused: &mut dyn FnMut(&ObjectRef<'_>, jvmtiError),
) {
    // SAFETY: the caller's promise.
    let Err(error) = (unsafe { jvmti.retransform(classes) }) else { return };
    match classes {
        [] => {}
        [class] => {
            // SAFETY: the caller's promise.
            if let Some(class) = unsafe { ObjectRef::from_raw(*class) } {
                refused(&class, error);
            }
        }
        _ => {
            let (first, second) = classes.split_at(classes.len() / 2);
            // SAFETY: the caller's promise.
            unsafe {
                retransform(jvmti, first, refused);
                retransform(jvmti, second, refused);
            }
        }
    }
}
