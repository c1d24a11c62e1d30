//! Threads that stand still for a moment.

use perk_jvmti_sys::{Capability, JVMTI_ERROR_NONE, call, jthread, jvmtiError};

use crate::{Jni, Jvmti, Local, Reference};

/// The class of the threads that virtual threads run on. These must continue: a virtual thread that is
/// about to leave its thread holds up other functions of JVMTI.
const CARRIER: &str = "Ljdk/internal/misc/CarrierThread;";

/// Threads that stand still until this is dropped. They are in Java code where the JVM knows their
/// frames and all their writes to memory are done, or in native code, from which they do not return.
#[derive(Debug)]
pub struct StoppedThreads<'a> {
    jvmti: Jvmti,
    threads: Vec<Local<'a>>,
}

impl Jvmti {
    /// Requests the right to stop threads. A JVM gives it to one environment, and a debugger does not
    /// start without it: so perk takes it when it needs it.
    pub(super) fn request_stops(self) -> Result<(), jvmtiError> {
        self.add_capabilities([Capability::CanSuspend].into_iter().collect())
    }

    /// Stops all platform threads but the calling one, agents' own and those that virtual threads run
    /// on; `None` if only another agent may. While they stand still, no lock may be waited for that is
    /// held during calls to the JVM.
    pub fn stop_threads<'a>(self, jni: Jni<'a>) -> Option<StoppedThreads<'a>> {
        self.request_stops().ok()?;
        let mut threads = self.all_threads(jni).unwrap_or_default();
        let current = self.current_thread(jni);
        threads.retain(|thread| {
            let class = jni.class_of(thread).and_then(|it| self.class_signature(&it).ok());
            let is_current = current.as_ref().is_none_or(|it| jni.same(it, thread));
            !is_current && class.is_some_and(|it| it != CARRIER)
        });
        let mut results = vec![JVMTI_ERROR_NONE; threads.len()];
        // SAFETY: the environment and references are valid; there is a result for each thread.
        unsafe {
            call!(
                self.raw(),
                SuspendThreadList,
                count(&threads),
                raw(&threads).as_ptr(),
                results.as_mut_ptr()
            )
        };
        // Others may have stopped some of the threads already.
        let mut is_stopped = results.iter().map(|result: &jvmtiError| *result == JVMTI_ERROR_NONE);
        threads.retain(|_| is_stopped.next().unwrap_or(false));
        Some(StoppedThreads { jvmti: self, threads })
    }
}

impl Drop for StoppedThreads<'_> {
    fn drop(&mut self) {
        let threads = &self.threads;
        let mut results = vec![JVMTI_ERROR_NONE; threads.len()];
        // SAFETY: as in `stop_threads`.
        unsafe {
            call!(
                self.jvmti.raw(),
                ResumeThreadList,
                count(threads),
                raw(threads).as_ptr(),
                results.as_mut_ptr()
            )
        };
    }
}

fn count(threads: &[Local<'_>]) -> i32 {
    threads.len() as i32
}

fn raw(threads: &[Local<'_>]) -> Vec<jthread> {
    threads.iter().map(Reference::raw).collect()
}
