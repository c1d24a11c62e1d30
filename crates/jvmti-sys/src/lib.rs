//! The raw function tables of JVMTI, the interface between a JVM and its native agents.
//!
//! The tables are generated from the newest `jvmti.h` and keep the header's names, so that each of
//! them can be found in the JVMTI specification. Older JVMs have the same tables with some empty
//! slots. A call goes through [`call!`], which checks the slot first.
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
pub mod jvmpi;

use std::error::Error;
use std::fmt;

pub use capabilities::Capabilities;
pub use generated::*;
pub use jni_sys;

/// The environment in the form that JVMTI's functions take and `JavaVM::GetEnv` returns.
pub type JvmtiEnv = *mut jvmtiEnv;

/// The beginning of an environment: the pointer to its function table.
#[expect(non_camel_case_types, reason = "the specification's name")]
pub type jvmtiEnv = *const jvmtiInterface_1;

/// A raw monitor, which is opaque to agents.
#[expect(non_camel_case_types, reason = "the specification's name")]
pub type jrawMonitorID = *mut RawMonitor;

/// The target type of a [`jrawMonitorID`].
#[derive(Debug)]
pub enum RawMonitor {}

/// Calls a function of the table: `call!(env, GetPhase, &mut phase)`.
///
/// If the running JVM left the slot empty, the result is [`JVMTI_ERROR_NOT_AVAILABLE`]. The
/// environment and the arguments must be valid for that function, so the call needs `unsafe`.
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
    /// Returns `Ok` for [`JVMTI_ERROR_NONE`], and the error for every other value.
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
        // The member that is set depends on the kind of reference, which is not stored here.
        f.debug_struct("jvmtiHeapReferenceInfo").finish_non_exhaustive()
    }
}
