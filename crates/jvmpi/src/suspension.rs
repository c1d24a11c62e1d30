//! Suspending and resuming threads, and their states.
//!
//! The JVM stops a thread where it calls the JVM or returns to it, so a suspended thread continues in
//! native code: in a handler of the agent's, and in the bridge. There it must not take a lock that it
//! would hold while it stands still. Each thread has a number of its suspension: odd while another
//! thread suspends it, even once that is done, 0 for none. `threads::critical` looks at it first.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

use perk_jvmti_sys::jni_sys::{JNIEnv, jboolean, jint};
use perk_jvmti_sys::jvmpi::{
    JVMPI_FAIL, JVMPI_THREAD_CONDVAR_WAIT, JVMPI_THREAD_INTERRUPTED, JVMPI_THREAD_MONITOR_WAIT,
    JVMPI_THREAD_RUNNABLE, JVMPI_THREAD_SUSPENDED,
};
use perk_jvmti_sys::{
    JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER, JVMTI_THREAD_STATE_INTERRUPTED,
    JVMTI_THREAD_STATE_PARKED, JVMTI_THREAD_STATE_SLEEPING, JVMTI_THREAD_STATE_SUSPENDED,
    JVMTI_THREAD_STATE_WAITING,
};

use super::threads::critical;
use super::{Bridge, bridge};
use crate::state::STATE;
use crate::state::threads::Thread;
use perk_jvm::Jni;
use perk_jvm::sync::lock;

/// The JVM's states in which a thread waits for something that is not a monitor to enter.
const WAITING: jint =
    JVMTI_THREAD_STATE_WAITING | JVMTI_THREAD_STATE_SLEEPING | JVMTI_THREAD_STATE_PARKED;

impl Bridge {
    /// Suspends a thread. Returns 0, or an error.
    fn suspend(&self, thread: &Thread) -> jint {
        let mut pause = Duration::from_micros(20);
        loop {
            if let Some(result) = critical(|| self.try_to_suspend(thread)) {
                return result;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(1));
        }
    }

    /// Suspends a thread; `None` if it must not stand still now.
    fn try_to_suspend(&self, thread: &Thread) -> Option<jint> {
        let _changing = lock(&STATE.suspension.changing);
        if thread.has_ended() {
            return Some(JVMPI_FAIL);
        }
        let before = thread.suspension.load(SeqCst);
        let number = STATE.suspension.last.fetch_add(2, Relaxed) + 1;
        thread.suspension.store(number, SeqCst);
        if let Err(error) = self.jvmti.suspend(thread) {
            thread.suspension.store(before, SeqCst);
            return Some(error.0);
        }
        if thread.is_critical() || thread.has_ended() {
            // It fails only if the thread has ended, or another has resumed it.
            let _ = self.jvmti.resume(thread);
            thread.suspension.store(0, SeqCst);
            return None;
        }
        thread.suspension.store(number + 1, SeqCst);
        Some(0)
    }

    /// Resumes a thread for the agent. Returns 0, or an error.
    fn resume(&self, thread: &Thread) -> jint {
        let cpu_ns = self.jvmti.thread_cpu_ns(thread);
        let result = self.go_on(thread);
        if result == 0 {
            thread.resumed_at_ns.store(cpu_ns.unwrap_or(0), Relaxed);
        }
        result
    }

    /// Resumes a thread. Returns 0, or an error.
    fn go_on(&self, thread: &Thread) -> jint {
        critical(|| {
            let _changing = lock(&STATE.suspension.changing);
            let result = self.jvmti.resume(thread);
            if result.is_ok() {
                thread.suspension.store(0, SeqCst);
            }
            result.map_or_else(|error| error.0, |()| 0)
        })
    }

    /// Runs `body` while another thread than the calling one stands still, unless that one must not. This
    /// is no place to wait for it: it might want the same of the calling one.
    pub(super) fn suspended<T>(
        &self,
        thread: &Thread,
        body: impl FnOnce() -> Option<T>,
    ) -> Option<T> {
        critical(|| {
            let result = self.try_to_suspend(thread)?;
            let answer = body();
            if result == 0 {
                self.go_on(thread);
            }
            answer
        })
    }

    /// Returns the state of a thread as `GetThreadStatus` has it; 0 if it has ended.
    fn thread_status(&self, thread: &Thread) -> jint {
        self.jvmti.thread_state(thread).map_or(0, |state| status_of(thread, state))
    }
}

/// Returns the state of a thread as `GetThreadStatus` has it, from that of the JVM.
pub(super) fn status_of(thread: &Thread, state: jint) -> jint {
    let has = |bits| state & bits != 0;
    let status = match thread.raw_monitor_state() {
        _ if has(JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER) => JVMPI_THREAD_MONITOR_WAIT,
        _ if has(WAITING) => JVMPI_THREAD_CONDVAR_WAIT,
        0 => JVMPI_THREAD_RUNNABLE,
        raw => raw,
    };
    let bit = |is_set, bit| if is_set { bit } else { 0 };
    status
        | bit(has(JVMTI_THREAD_STATE_SUSPENDED), JVMPI_THREAD_SUSPENDED)
        | bit(has(JVMTI_THREAD_STATE_INTERRUPTED), JVMPI_THREAD_INTERRUPTED)
}

/// Runs `body` with the thread of an environment, unless there is none or it is the calling one.
fn with_other(env: *mut JNIEnv, body: impl FnOnce(&Bridge, &Thread) -> jint) -> jint {
    let other = bridge().and_then(|bridge| {
        let own = bridge.current_jni().map(Jni::raw)?;
        Some((bridge, bridge.threads.find(env).filter(|_| own != env)?))
    });
    other.map_or(JVMPI_FAIL, |(bridge, thread)| body(bridge, &thread))
}

/// Runs `body` for each thread of a list, and writes the results.
///
/// # Safety
/// The arrays must have `count` entries, or be null.
unsafe fn for_each(
    count: jint,
    list: *mut *mut JNIEnv,
    results: *mut jint,
    body: impl Fn(*mut JNIEnv) -> jint,
) {
    if list.is_null() {
        return;
    }
    for index in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the caller's promise.
        let result = body(unsafe { *list.add(index) });
        if !results.is_null() {
            // SAFETY: the caller's promise.
            unsafe { *results.add(index) = result };
        }
    }
}

/// `SuspendThread`
pub(super) unsafe extern "C" fn suspend(env: *mut JNIEnv) {
    with_other(env, Bridge::suspend);
}

/// `ResumeThread`
pub(super) unsafe extern "C" fn resume(env: *mut JNIEnv) {
    with_other(env, Bridge::resume);
}

/// `SuspendThreadList`
pub(super) unsafe extern "C" fn suspend_list(
    count: jint,
    list: *mut *mut JNIEnv,
    results: *mut jint,
) {
    // SAFETY: the agent passes arrays of this length.
    unsafe { for_each(count, list, results, |env| with_other(env, Bridge::suspend)) };
}

/// `ResumeThreadList`
pub(super) unsafe extern "C" fn resume_list(
    count: jint,
    list: *mut *mut JNIEnv,
    results: *mut jint,
) {
    // SAFETY: the agent passes arrays of this length.
    unsafe { for_each(count, list, results, |env| with_other(env, Bridge::resume)) };
}

/// `GetThreadStatus`; 0 for an environment that no thread has.
pub(super) unsafe extern "C" fn status(env: *mut JNIEnv) -> jint {
    let status = bridge().and_then(|bridge| {
        let thread = bridge.threads.find(env)?;
        Some(bridge.thread_status(&thread))
    });
    status.unwrap_or(0)
}

/// `ThreadHasRun`. A thread that stands still or waits uses no CPU time, so any is a run.
pub(super) unsafe extern "C" fn has_run(env: *mut JNIEnv) -> jboolean {
    let has_run = bridge().and_then(|bridge| {
        let thread = bridge.threads.find(env)?;
        let cpu_ns = bridge.jvmti.thread_cpu_ns(&*thread)?;
        Some(cpu_ns > thread.resumed_at_ns.load(Relaxed))
    });
    has_run.unwrap_or(false)
}
