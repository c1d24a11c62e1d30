//! The raw tables of JVMTI, the interface between a JVM and its native agents.
//!
//! The tables are generated from the newest `jvmti.h` and keep the header's names, so that each
//! of them is found in the JVMTI specification. Older JVMs have the same tables with some slots
//! empty: a call goes through [`call!`], which looks first.
//!
//! ```no_run
//! use perk_jvmti_sys::{
//!     Capabilities, Capability, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, JvmtiEnv, call, jvmtiError,
//! };
//!
//! /// # Safety
//! /// `env` must come from the JVM that runs this agent.
//! unsafe fn ask(env: JvmtiEnv) -> Result<(), jvmtiError> {
//!     let wanted = Capabilities::default().with(Capability::CanGetLineNumbers);
//!     // SAFETY: the caller's promise; the arguments live until the calls return.
//!     unsafe {
//!         call!(env, AddCapabilities, &wanted).ok()?;
//!         let all_threads = std::ptr::null_mut();
//!         call!(env, SetEventNotificationMode, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, all_threads).ok()
//!     }
//! }
//! ```

mod capabilities;
#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    clippy::type_complexity,
    reason = "the names are the specification's, which describes them"
)]
mod generated;

use std::error::Error;
use std::fmt;

pub use capabilities::Capabilities;
pub use generated::*;
pub use jni_sys;

/// The environment as JVMTI's functions take it: what `JavaVM::GetEnv` hands out.
pub type JvmtiEnv = *mut jvmtiEnv;

/// What an environment begins with: the pointer to its function table.
#[expect(non_camel_case_types, reason = "the specification's name")]
pub type jvmtiEnv = *const jvmtiInterface_1;

/// A raw monitor; only the JVM looks inside.
#[expect(non_camel_case_types, reason = "the specification's name")]
pub type jrawMonitorID = *mut RawMonitor;

/// What a [`jrawMonitorID`] points to.
#[derive(Debug)]
pub enum RawMonitor {}

/// Calls a function of the table: `call!(env, GetPhase, &mut phase)`.
///
/// A slot that the running JVM left empty answers [`JVMTI_ERROR_NOT_AVAILABLE`]. The environment
/// must be valid, and so must the arguments be for that function: the call needs `unsafe`.
#[macro_export]
macro_rules! call {
    ($env:expr, $slot:ident $(, $argument:expr)* $(,)?) => {{
        let env: $crate::JvmtiEnv = $env;
        match (**env).$slot {
            Some(function) => function(env $(, $argument)*),
            None => $crate::JVMTI_ERROR_NOT_AVAILABLE,
        }
    }};
}

impl jvmtiError {
    /// Nothing for [`JVMTI_ERROR_NONE`], the error for everything else.
    pub const fn ok(self) -> Result<(), Self> {
        if self.0 == JVMTI_ERROR_NONE.0 { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for jvmtiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)
    }
}

impl Error for jvmtiError {}

impl fmt::Debug for jvmtiHeapReferenceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Only the kind of reference, which is not in here, tells which member is set.
        f.debug_struct("jvmtiHeapReferenceInfo").finish_non_exhaustive()
    }
}
