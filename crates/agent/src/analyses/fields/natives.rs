//! The helper class and the functions of its native methods.

use std::ffi::c_void;
use std::sync::OnceLock;

use perk_jvm::guard::{Feature, contain, uncounted};
use perk_jvm::probes::{HelperClass, HelperNative};
use perk_jvm::{Jni, Local, ObjectRef};
use perk_jvmti_sys::jni_sys::{JNIEnv, jclass, jint, jlong, jobject};

use super::SharedFields;
use super::extended::NO_FIELD;

/// `java/helper/java/lang/PerkFields.java`, compiled; a test compares the two.
const HELPER_CLASS: &[u8] = include_bytes!("PerkFields.class");

static FIELDS: OnceLock<&'static SharedFields> = OnceLock::new();

/// The native methods of the helper class.
static NATIVES: [HelperNative; 8] = [
    HelperNative(c"begin", "(Ljava/lang/Thread;)Ljava/lang/PerkFields;", begin as *const c_void),
    HelperNative(c"refill", "(Ljava/lang/PerkFields;I)I", refill as *const c_void),
    HelperNative(c"known", "(Ljava/lang/Class;)J", known as *const c_void),
    HelperNative(c"resolve", "(Ljava/lang/Object;I)J", resolve as *const c_void),
    HelperNative(c"resolveOffset", "(Ljava/lang/Class;J)I", resolve_offset as *const c_void),
    HelperNative(c"tag", "(Ljava/lang/Object;I)I", tag as *const c_void),
    HelperNative(c"carry", "(J)V", carry as *const c_void),
    HelperNative(c"lost", "()V", lost as *const c_void),
];

/// Returns the helper class of an analysis.
pub(super) fn helper(fields: &'static SharedFields) -> HelperClass {
    let _ = FIELDS.set(fields);
    let (plain, bytes) = (perk_instrument::FIELDS_HELPER, HELPER_CLASS);
    HelperClass { plain, bytes: bytes.into(), natives: &NATIVES, exchanges: Vec::new() }
}

/// Runs `body` with the analysis and an argument of the calling method.
fn on_object(
    env: *mut JNIEnv,
    object: jobject,
    body: impl FnOnce(&'static SharedFields, Jni<'_>, &ObjectRef<'_>),
) {
    // The accesses that perk itself makes by JNI are not the program's.
    uncounted(|| {
        contain(Feature::Probes, || {
            // SAFETY: the JVM passes the calling thread's environment and a reference.
            let (jni, object) = unsafe { (Jni::from_raw(env), ObjectRef::from_raw(object)) };
            if let (Some(fields), Some(object)) = (FIELDS.get(), object) {
                body(fields, jni, &object);
            }
        });
    });
}

extern "system" fn begin(env: *mut JNIEnv, _: jclass, thread: jobject) -> jobject {
    let mut state = std::ptr::null_mut();
    on_object(env, thread, |fields, jni, thread| {
        state = fields.begin_thread(jni, thread).map_or(std::ptr::null_mut(), Local::into_raw);
    });
    state
}

extern "system" fn refill(env: *mut JNIEnv, _: jclass, state: jobject, units: jint) -> jint {
    let mut index = 0;
    on_object(env, state, |fields, jni, state| {
        index = fields.refill(jni, state, units as u32) as jint;
    });
    index
}

extern "system" fn known(env: *mut JNIEnv, _: jclass, class: jclass) -> jlong {
    let mut data = 0;
    on_object(env, class, |fields, jni, class| data = fields.class_data(jni, class));
    data
}

extern "system" fn resolve(env: *mut JNIEnv, _: jclass, object: jobject, field: jint) -> jlong {
    let mut place = 0;
    on_object(env, object, |fields, jni, object| {
        place = fields.resolve(jni, object, field as u32) as jlong;
    });
    place
}

extern "system" fn resolve_offset(
    env: *mut JNIEnv,
    _: jclass,
    class: jclass,
    offset: jlong,
) -> jint {
    let mut unit = NO_FIELD;
    on_object(env, class, |fields, jni, class| {
        unit = fields.unit_at(jni, class, offset as u64).unwrap_or(NO_FIELD);
    });
    unit as jint
}

extern "system" fn tag(env: *mut JNIEnv, _: jclass, object: jobject, index: jint) -> jint {
    let mut tagged = 0;
    on_object(env, object, |fields, _, object| {
        tagged = fields.tag(object, index as u32) as jint;
    });
    tagged
}

extern "system" fn carry(_: *mut JNIEnv, _: jclass, counter: jlong) {
    contain(Feature::Probes, || {
        if let Some(fields) = FIELDS.get() {
            fields.records.carry(counter as u64);
        }
    });
}

extern "system" fn lost(_: *mut JNIEnv, _: jclass) {
    contain(Feature::Probes, || {
        if let Some(fields) = FIELDS.get() {
            fields.records.lose();
        }
    });
}
