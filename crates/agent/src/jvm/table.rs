//! The table of JNI functions, which an agent may exchange.

use std::fmt;
use std::ptr::null_mut;

use perk_jvmti_sys::jni_sys::{JNIEnv, JNINativeInterface_, JNINativeMethod, jclass, jint};
use perk_jvmti_sys::{call, jvmtiError};

use super::Jvmti;

/// `RegisterNatives`
pub(crate) type RegisterNatives =
    unsafe extern "system" fn(*mut JNIEnv, jclass, *const JNINativeMethod, jint) -> jint;

/// A copy of the functions of this JVM's JNI. It may be shorter than the type says: an older JVM has
/// fewer functions. It is never freed.
#[derive(Clone, Copy)]
pub(crate) struct FunctionTable(*mut JNINativeInterface_);

// SAFETY: the table is not changed once it is made.
unsafe impl Send for FunctionTable {}
// SAFETY: as above.
unsafe impl Sync for FunctionTable {}

impl fmt::Debug for FunctionTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FunctionTable").field(&self.0).finish()
    }
}

impl FunctionTable {
    /// The function `RegisterNatives`.
    pub(crate) fn register_natives(self) -> RegisterNatives {
        // SAFETY: every JVM has this function.
        unsafe { (*self.0).v1_1.RegisterNatives }
    }
}

impl Jvmti {
    /// A copy of the functions in use.
    pub(crate) fn function_table(self) -> Result<FunctionTable, jvmtiError> {
        let mut table = null_mut();
        // SAFETY: the environment is valid; the copy is ours.
        unsafe { call!(self.raw(), GetJNIFunctionTable, &mut table).ok()? };
        Ok(FunctionTable(table))
    }

    /// Has these functions used from now on.
    pub(crate) fn set_function_table(self, table: FunctionTable) -> Result<(), jvmtiError> {
        // SAFETY: the environment is valid; the table came from this JVM, which copies it.
        unsafe { call!(self.raw(), SetJNIFunctionTable, table.0).ok() }
    }

    /// As [`Jvmti::function_table`], with another `RegisterNatives`.
    pub(crate) fn function_table_with(
        self,
        register_natives: RegisterNatives,
    ) -> Result<FunctionTable, jvmtiError> {
        let table = self.function_table()?;
        // SAFETY: the copy is ours alone, and every JVM has this function.
        unsafe { (*table.0).v1_1.RegisterNatives = register_natives };
        Ok(table)
    }
}
