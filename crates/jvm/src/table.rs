//! The table of JNI functions, which an agent may exchange.

use std::ptr::null_mut;

pub use perk_jvmti_sys::jni_sys::JNINativeInterface__1_2 as Functions;
use perk_jvmti_sys::{call, jvmtiError};

use crate::Jvmti;

impl Jvmti {
    /// Exchanges functions of this JVM's JNI: `change` receives the current ones, which may be
    /// another agent's. The table may be longer than the type says: only newer JVMs have more
    /// functions.
    ///
    /// # Safety
    /// Each function must do what JNI specifies, for all threads and as long as the process lives.
    pub unsafe fn exchange_functions(
        self,
        change: impl FnOnce(&mut Functions),
    ) -> Result<(), jvmtiError> {
        let mut table = null_mut();
        // SAFETY: the environment is valid; the copy is ours, the JVM copies it in turn; every JVM
        // has the functions of JNI 1.2; the caller's promise for those in it.
        unsafe {
            call!(self.raw(), GetJNIFunctionTable, &mut table).ok()?;
            change(&mut (*table).v1_2);
            let result = call!(self.raw(), SetJNIFunctionTable, table).ok();
            self.free(table);
            result
        }
    }
}
