//! Hides perk's additions to classes, which are not part of the program:
//! `Class.getDeclaredFields0`, from which all of reflection has its fields, leaves them out. Their
//! names end in a random part for each JVM, so that no program requests them by name.

use std::ffi::c_void;
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::OnceLock;

use perk_instrument::Names;
use perk_jvmti_sys::jni_sys::{JNIEnv, jboolean, jclass, jobjectArray};

use crate::guard::{Feature, guard};
use crate::{Jni, ObjectRef};

/// The method's name and signature.
pub(super) const METHOD: (&str, &str) = ("getDeclaredFields0", "(Z)[Ljava/lang/reflect/Field;");

/// The type of its function.
type DeclaredFunction = unsafe extern "system" fn(
    env: *mut JNIEnv,
    class: jclass,
    only_public: jboolean,
) -> jobjectArray;

static FILTER: OnceLock<FieldFilter> = OnceLock::new();

struct FieldFilter {
    names: Names,
    /// The function that was there before.
    declared: DeclaredFunction,
}

/// Returns the function to bind instead of the method's function.
///
/// # Safety
/// The function must be that of [`METHOD`].
pub(super) unsafe fn exchange(names: Names, function: *mut c_void) -> *mut c_void {
    // SAFETY: the caller's promise.
    let declared = unsafe { transmute::<*mut c_void, DeclaredFunction>(function) };
    FILTER.get_or_init(|| FieldFilter { names, declared });
    declared_fields as *mut c_void
}

/// `Class.getDeclaredFields0`
unsafe extern "system" fn declared_fields(
    env: *mut JNIEnv,
    class: jclass,
    only_public: jboolean,
) -> jobjectArray {
    let Some(filter) = FILTER.get() else { return null_mut() };
    // SAFETY: the caller's arguments are for this function.
    let mut fields = unsafe { (filter.declared)(env, class, only_public) };
    // None of perk's fields is public.
    if only_public {
        return fields;
    }
    // The objects made here are not the program's.
    guard(Feature::Probes, || {
        // SAFETY: the environment is that of the calling thread, the array its own.
        let (jni, all) = unsafe { (Jni::from_raw(env), ObjectRef::from_raw(fields)) };
        if let Some(all) = all {
            // SAFETY: by the method's signature it is an array of fields.
            let others = unsafe { jni.without_fields(&all, |name| filter.names.is_field(name)) };
            fields = others.map_or(fields, |others| others.into_raw());
        }
    });
    fields
}
