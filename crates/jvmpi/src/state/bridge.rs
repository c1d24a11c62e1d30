//! What a bridge has that is there once the library is loaded.

use perk_control::jvmpi::Jvmpi;
use perk_jvm::{Jni, Jvmti, Vm};
use perk_jvmti_sys::jni_sys::JavaVM;

use super::classes::Classes;
use super::probes::Probes;
use super::threads::Threads;
use crate::heap_dump::shapes::Shapes;
use crate::state::objects::Objects;

/// The state of the bridge. It is made at load and lives as long as the process.
#[derive(Debug)]
pub(crate) struct Bridge {
    pub(crate) jvmti: Jvmti,
    pub(crate) vm: Vm,
    pub(crate) options: Jvmpi,
    pub(crate) threads: Threads,
    pub(crate) objects: Objects,
    pub(crate) classes: Classes,
    pub(crate) probes: Probes,
    pub(crate) shapes: Shapes,
}

impl Bridge {
    /// # Safety
    /// `vm` must be the running JVM.
    pub(crate) unsafe fn new(vm: *mut JavaVM, jvmti: Jvmti, options: Jvmpi) -> Self {
        Self {
            jvmti,
            // SAFETY: the caller's promise.
            vm: unsafe { Vm::from_raw(vm) },
            options,
            threads: Threads::default(),
            objects: Objects::default(),
            classes: Classes::default(),
            probes: Probes::default(),
            shapes: Shapes::default(),
        }
    }

    /// Returns the environment of the calling thread; `None` if it is not one of the JVM's.
    pub(crate) fn current_jni(&self) -> Option<Jni<'_>> {
        self.vm.jni()
    }
}
