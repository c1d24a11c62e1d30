//! The engine in a program that runs already: see [`late`](crate::analyses::late). Calls that began before are not
//! counted, and their callers continue without probes.
//!
//! What the JVM only allows before it has loaded its first class is done in other ways:
//!
//! * `java.lang.Thread` cannot get a field: the states of threads are in a table of the helper class.
//! * The helper class cannot wait for a class of java.base that binds its native methods:
//!   `perk.Profiler` binds them.
//! * Native methods of the program are bound already, and have no trampolines: they are not counted, and named
//!   among the methods without probes.
//!
//! At the end the helper class forgets the threads' states: probes that are left find none, and nothing to count in.
//! The memory of the trees is freed once no thread is inside of the helper.

use perk_jvm::probes;
use perk_jvm::{Global, Jni};

use super::{ExactEngine, natives};
use crate::analyses::late::{self, LateAnalysis, LateProbes};
use crate::common::Common;
use crate::selection::Selection;

impl ExactEngine {
    /// Gives the classes probes.
    ///
    /// # Errors
    /// The reason why that cannot be, in one line.
    pub(super) fn begin_late(&'static self, late: &LateProbes, jni: Jni<'_>) -> Result<(), String> {
        late::free_retired(jni);
        let helper = probes::define_late(jni, self.names(), natives::helper(self))?;
        let _ = self.helper.set(helper);
        self.start(jni)?;
        // The class is initialised by now, so that the JVM has its methods.
        self.common.set_helpers([helper]);
        if self.common.helper_methods().is_empty() {
            return Err("the helper class has no methods".to_owned());
        }
        late.give(self, jni);
        Ok(())
    }

    /// Takes the probes away, and counts nothing any more.
    pub(super) fn withdraw_late(&self, late: &LateProbes, jni: Jni<'_>) {
        self.end_counting(jni);
        late.take(self, jni);
        if let Some(states) = self.states.get() {
            states.take_all(jni);
        }
    }

    /// Frees what is large, as soon as that is safe. The thread has no state any more.
    pub(super) fn release_late(&'static self, jni: Jni<'_>) {
        natives::leave(self);
        late::free_when_left(self, jni);
    }
}

impl LateAnalysis for ExactEngine {
    fn common(&self) -> &'static Common {
        self.common
    }

    fn helper(&self) -> Option<&'static Global> {
        self.helper.get().copied()
    }

    fn selection(&self) -> &Selection {
        self.classes.selection()
    }

    fn follows_virtual_threads(&self) -> bool {
        true
    }

    fn may_have_unlisted_threads(&self, _: Jni<'_>) -> bool {
        self.clock.has_guests()
    }

    fn skip(&self, class: String) {
        self.classes.skip(class);
    }

    fn free(&self, jni: Jni<'_>) {
        self.clock.release(jni);
        if let Some(states) = self.states.get() {
            states.release(jni);
        }
        self.classes.release();
        self.parked.release();
        // SAFETY: no probe counts in them, as no thread has a state or is inside of the helper, and the
        // engine's own threads have ended.
        unsafe { self.pool.free() };
    }
}
