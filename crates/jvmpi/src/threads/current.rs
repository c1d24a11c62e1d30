//! The calling thread, and where it must not stand still.

use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use perk_jvmti_sys::jni_sys::{JNIEnv, jint};

use crate::state::bridge;
use crate::state::bridge::Bridge;
use crate::state::threads::{Thread, Threads};
use perk_jvm::sync::lock;
use perk_jvm::{Jni, Reference};

impl Thread {
    /// Returns the thread's environment, which is its id.
    pub(crate) fn env(&self) -> *mut JNIEnv {
        self.env as *mut JNIEnv
    }

    /// Whether the thread is in [`critical`].
    pub(crate) fn is_critical(&self) -> bool {
        self.is_critical.load(SeqCst)
    }

    /// Whether its THREAD_END was sent.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(SeqCst)
    }

    /// Returns the state that [`waiting`] has set.
    pub(crate) fn raw_monitor_state(&self) -> jint {
        self.raw_monitor_state.load(Relaxed)
    }
}

thread_local! {
    /// The calling thread, once it has been looked up: its environment, and its record. The record
    /// lives as long as the thread.
    pub(super) static CURRENT: Cell<(usize, *const Thread)> = const { Cell::new((0, std::ptr::null())) };
    /// How many times the calling thread is in [`critical`].
    static CRITICAL: Cell<u32> = const { Cell::new(0) };
}

impl Threads {
    /// Returns the thread of an environment, if it is one.
    pub(crate) fn find(&self, env: *mut JNIEnv) -> Option<Arc<Thread>> {
        lock(&self.by_env).get(&(env as usize)).cloned()
    }

    /// Returns all threads that have begun and not ended.
    pub(crate) fn all(&self) -> Vec<Arc<Thread>> {
        lock(&self.by_env).values().cloned().collect()
    }

    /// Returns the environment of a thread, by its object; null if it is not known.
    pub(crate) fn env_of(&self, jni: Jni<'_>, object: &(impl Reference + ?Sized)) -> *mut JNIEnv {
        let all = self.all();
        all.iter().find(|it| jni.same(&***it, object)).map_or(null_mut(), |it| it.env())
    }
}

/// Notes which thread the calling one is; `env` is its environment.
pub(crate) fn meet(bridge: &Bridge, env: *mut JNIEnv) {
    if CURRENT.get().0 != env as usize
        && let Some(thread) = bridge.threads.find(env)
    {
        CURRENT.set((thread.env, Arc::as_ptr(&thread)));
    }
}

/// Whether THREAD_START of the calling thread was sent; `env` is its environment.
pub(crate) fn is_announced(env: *mut JNIEnv) -> bool {
    let is_announced = |thread: &Thread| thread.is_announced.load(Relaxed);
    with_current(env, is_announced).unwrap_or(false)
}

/// Runs `body` with the calling thread's record, if it is a known thread.
pub(super) fn with_current<T>(env: *mut JNIEnv, body: impl FnOnce(&Thread) -> T) -> Option<T> {
    let (known, thread) = CURRENT.get();
    if known == env as usize && known != 0 {
        // SAFETY: the record lives until the thread's end, which clears the place.
        return Some(body(unsafe { &*thread }));
    }
    let thread = bridge()?.threads.find(env)?;
    Some(body(&thread))
}

/// Returns what distinguishes the calling thread from others that live, and its environment, 0 if it
/// is not known. Neither asks the JVM.
#[inline]
pub(crate) fn identity() -> (usize, usize) {
    CURRENT.with(|current| (std::ptr::from_ref(current) as usize, current.get().0))
}

/// Whether a thread is the calling one.
pub(crate) fn is_current(thread: &Thread) -> bool {
    identity().1 == thread.env
}

/// Returns the calling thread's record, if it is a known thread.
fn current<'a>() -> Option<&'a Thread> {
    // SAFETY: the record lives until the thread's end, which clears the place.
    unsafe { CURRENT.get().1.as_ref() }
}

/// Runs `body`, which waits in a function of raw monitors.
pub(crate) fn waiting<T>(state: jint, body: impl FnOnce() -> T) -> T {
    let set = |state| {
        if let Some(thread) = current() {
            thread.raw_monitor_state.store(state, Relaxed);
        }
    };
    set(state);
    let answer = body();
    set(0);
    answer
}

/// Runs `body`, which holds a lock while it calls the JVM. `SuspendThread` does not stop a thread in
/// here, as others might wait for the lock.
pub(crate) fn critical<T>(body: impl FnOnce() -> T) -> T {
    let _critical = CriticalSection::begin();
    body()
}

/// Whether the calling thread is in [`critical`].
pub(crate) fn is_in_critical() -> bool {
    CRITICAL.get() > 0
}

/// A call of [`critical`].
struct CriticalSection;

impl CriticalSection {
    fn begin() -> Self {
        if CRITICAL.replace(CRITICAL.get() + 1) == 0
            && let Some(thread) = current()
        {
            // Either this sees the suspension, or the suspending thread sees this.
            loop {
                thread.is_critical.store(true, SeqCst);
                let suspension = thread.suspension.load(SeqCst);
                if suspension == 0 {
                    break;
                }
                thread.is_critical.store(false, SeqCst);
                stand_still(thread, suspension);
            }
        }
        Self
    }
}

impl Drop for CriticalSection {
    fn drop(&mut self) {
        CRITICAL.set(CRITICAL.get() - 1);
        if CRITICAL.get() == 0
            && let Some(thread) = current()
        {
            thread.is_critical.store(false, SeqCst);
        }
    }
}

/// Stands still while the calling thread has this suspension, which others might not know of yet.
fn stand_still(thread: &Thread, suspension: u64) {
    // A suspended thread does not return from a call of the JVM's.
    if let Some(bridge) = bridge() {
        bridge.jvmti.thread_state(thread);
    }
    if suspension.is_multiple_of(2) {
        // Another than the agent may have resumed it.
        let _ = thread.suspension.compare_exchange(suspension, 0, SeqCst, SeqCst);
    } else {
        std::thread::yield_now();
    }
}
