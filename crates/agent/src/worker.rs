//! A thread of the agent's own that works until it is stopped.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use perk_jvm::Jni;
use perk_jvm::guard::{Feature, contain};
use perk_jvm::sync::lock;
use perk_jvmti_sys::JvmtiEnv;
use perk_jvmti_sys::jni_sys::JNIEnv;

use crate::common::Common;

/// The time to wait for the work's end.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

type Body = Box<dyn FnOnce(Jni<'_>) + Send>;

/// The thread; see the module.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    life: Mutex<Life>,
    changed: Condvar,
    body: Mutex<Option<Work>>,
}

/// The work, until the thread begins it.
struct Work(Body);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Life {
    #[default]
    Idle,
    Running,
    Stopping,
    Stopped,
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Work")
    }
}

impl Worker {
    /// Starts the thread, once.
    ///
    /// # Errors
    /// The reason why it does not run, in one line.
    pub(crate) fn start(
        &'static self,
        common: &Common,
        jni: Jni<'_>,
        name: &CStr,
        body: impl FnOnce(Jni<'_>) + Send + 'static,
    ) -> Result<(), String> {
        let mut life = lock(&self.life);
        if *life != Life::Idle {
            return Ok(());
        }
        *life = Life::Running;
        drop(life);
        *lock(&self.body) = Some(Work(Box::new(body)));
        let run = || {
            let thread = common.threads.new_own(jni, name)?;
            let started = common.jvmti.run_agent_thread(&*thread, main, self);
            started.map_err(|error| format!("RunAgentThread: {error}"))
        };
        run().inspect_err(|_| self.set(Life::Stopped))
    }

    fn set(&self, now: Life) {
        *lock(&self.life) = now;
        self.changed.notify_all();
    }

    /// Waits until the deadline. Returns true if the thread must stop.
    pub(crate) fn wait_until(&self, deadline: Instant) -> bool {
        let mut life = lock(&self.life);
        while *life == Life::Running {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else { return false };
            if left.is_zero() {
                return false;
            }
            life = self.wait(life, left);
        }
        true
    }

    /// Waits while a condition holds, which is looked at anew at each [`Worker::wake`]. Returns true if the
    /// thread must stop.
    pub(crate) fn wait_while(&self, waits: impl Fn() -> bool) -> bool {
        let life = lock(&self.life);
        let waits = |life: &mut Life| *life == Life::Running && waits();
        let life = self.changed.wait_while(life, waits).unwrap_or_else(PoisonError::into_inner);
        *life != Life::Running
    }

    /// Makes the thread look again whether it must wait.
    pub(crate) fn wake(&self) {
        // It does not look and begin to wait in between.
        drop(lock(&self.life));
        self.changed.notify_all();
    }

    /// Whether the thread must stop.
    pub(crate) fn must_stop(&self) -> bool {
        *lock(&self.life) != Life::Running
    }

    /// Stops the thread, and waits for its end for a while.
    pub(crate) fn stop(&self) {
        let mut life = lock(&self.life);
        if *life != Life::Running {
            return;
        }
        *life = Life::Stopping;
        self.changed.notify_all();
        let deadline = Instant::now() + STOP_TIMEOUT;
        while *life != Life::Stopped {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else { return };
            life = self.wait(life, left);
        }
    }

    fn wait<'a>(&self, life: MutexGuard<'a, Life>, limit: Duration) -> MutexGuard<'a, Life> {
        match self.changed.wait_timeout(life, limit) {
            Ok((life, _)) => life,
            Err(poisoned) => poisoned.into_inner().0,
        }
    }
}

/// The thread's entry.
unsafe extern "system" fn main(_: JvmtiEnv, env: *mut JNIEnv, worker: *mut c_void) {
    // SAFETY: `start` passed a reference that lives as long as the process.
    let worker: &'static Worker = unsafe { &*worker.cast_const().cast() };
    // SAFETY: the JVM gives the agent thread its own environment, valid until we return.
    let jni = unsafe { Jni::from_raw(env) };
    let work = lock(&worker.body).take();
    contain(Feature::Sampling, || {
        if let Some(Work(body)) = work {
            body(jni);
        }
    });
    worker.set(Life::Stopped);
}
