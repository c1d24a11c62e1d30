//! The helper class and the function of its native method.

use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;

use perk_jvm::guard::{Feature, contain};
use perk_jvm::probes::{HelperClass, HelperNative};
use perk_jvm::{Jni, Local, ObjectRef};
use perk_jvmti_sys::jni_sys::{JNIEnv, jclass, jlong, jobject};

use super::Bytecodes;

/// `java/helper/java/lang/PerkCounts.java`, compiled; a test compares the two.
const HELPER_CLASS: &[u8] = include_bytes!("PerkCounts.class");

static BYTECODES: OnceLock<&'static Bytecodes> = OnceLock::new();

/// The native method of the helper class.
static NATIVES: [HelperNative; 1] =
    [HelperNative(c"begin", "(Ljava/lang/Thread;J)Ljava/lang/PerkCounts;", begin as *const c_void)];

/// The constant of the helper class in the place of an address.
const UNREAD: [u8; 8] = 0x5065_726b_436e_7473_u64.to_be_bytes();

/// Returns the helper class of an analysis, with the address of counters that are not read.
pub(super) fn helper(bytecodes: &'static Bytecodes, unread: i64) -> HelperClass {
    let _ = BYTECODES.set(bytecodes);
    let mut bytes = HELPER_CLASS.to_vec();
    let place = bytes.windows(UNREAD.len()).position(|it| it == UNREAD);
    let constant = place.and_then(|place| bytes[place..].first_chunk_mut());
    if let Some(constant) = constant {
        *constant = unread.to_be_bytes();
    }
    let plain = perk_instrument::COUNTS_HELPER;
    HelperClass { plain, bytes: bytes.into(), natives: &NATIVES, exchanges: Vec::new() }
}

extern "system" fn begin(
    env: *mut JNIEnv,
    _: jclass,
    thread: jobject,
    of_carrier: jlong,
) -> jobject {
    let mut state = ptr::null_mut();
    contain(Feature::Probes, || {
        // SAFETY: the JVM passes the calling thread's environment and a reference.
        let (jni, thread) = unsafe { (Jni::from_raw(env), ObjectRef::from_raw(thread)) };
        if let (Some(bytecodes), Some(thread)) = (BYTECODES.get(), thread) {
            let begun = bytecodes.begin_thread(jni, &thread, of_carrier);
            state = begun.map_or(state, Local::into_raw);
        }
    });
    state
}
