//! Threads of the agent's own: threads of Java, daemons, that run a function of the agent's.

use std::ffi::{CStr, c_char, c_void};
use std::mem::transmute;
use std::ptr::null_mut;

use perk_jvmti_sys::JvmtiEnv;
use perk_jvmti_sys::jni_sys::{JNI_ERR, JNI_OK, JNIEnv, jint};

use super::notify::{self, Phase};
use super::{Bridge, bridge};

/// The function that a thread runs. Its argument is null.
type Body = unsafe extern "C" fn(*mut c_void);

impl Bridge {
    /// Starts a thread. `None` if that cannot be.
    fn start_thread(&self, name: &CStr, priority: jint, body: Body) -> Option<()> {
        let jni = self.current_jni()?;
        let mut is_started = None;
        jni.without_exception(|| {
            notify::quiet(|| {
                let Some(group) = self.jvmti.top_thread_group(jni) else { return };
                let Some(thread) = jni.new_thread(&group, name) else { return };
                let argument = body as *const c_void;
                // SAFETY: the argument is the one that `run` takes.
                let result = unsafe { self.jvmti.start_thread(&thread, priority, run, argument) };
                is_started = result.ok();
            });
        });
        is_started
    }
}

/// Runs a thread of the agent's. Its start and end are events as those of other threads.
unsafe extern "system" fn run(_: JvmtiEnv, _: *mut JNIEnv, body: *mut c_void) {
    // SAFETY: the argument of `start_thread`, which is a function of this type.
    unsafe { transmute::<*mut c_void, Body>(body)(null_mut()) };
}

/// `CreateSystemThread`
pub(super) unsafe extern "C" fn create(
    name: *mut c_char,
    priority: jint,
    body: Option<Body>,
) -> jint {
    let started = bridge().zip(body).and_then(|(bridge, body)| {
        if notify::phase() != Phase::Live {
            return None;
        }
        // SAFETY: the agent passes a string that ends in NUL, or null.
        let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
        bridge.start_thread(name, priority, body)
    });
    if started.is_some() { JNI_OK } else { JNI_ERR }
}
