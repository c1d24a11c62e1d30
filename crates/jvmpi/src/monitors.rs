//! The events of Java's monitors: contention, `Object.wait` and `Thread.sleep`.

use std::cell::Cell;
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use perk_jvmti_sys::jni_sys::{JNIEnv, jclass, jint, jlong};
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_MONITOR_CONTENDED_ENTER, JVMPI_EVENT_MONITOR_WAIT, JVMPI_EVENT_MONITOR_WAITED,
    JVMPI_Event_monitor, JVMPI_Event_monitor_wait, JVMPI_Event_u, jobjectID,
};

use super::{Bridge, contended_exit, cpu, notify, threads};
use crate::state::STATE;
use perk_jvm::guard::{Feature, contain};
use perk_jvm::os;
use perk_jvm::{Jni, ObjectRef};

const NS_PER_MS: i64 = 1_000_000;

thread_local! {
    /// When the calling thread began to wait, in nanoseconds; 0 if that is not known.
    static WAIT_BEGAN_NS: Cell<u64> = const { Cell::new(0) };
}

impl Bridge {
    /// Sends an event of a monitor that threads contend for.
    pub(super) fn contended(&self, jni: Jni<'_>, kind: jint, object: &ObjectRef<'_>) {
        if contended_exit::needs(kind) {
            contended_exit::note(self, object, kind == JVMPI_EVENT_MONITOR_CONTENDED_ENTER);
        }
        notify::send(kind, jni.raw(), || JVMPI_Event_u {
            monitor: JVMPI_Event_monitor { object: self.id_of(object) },
        });
    }

    /// Handles the begin of an `Object.wait`. A time limit of 0 is none.
    pub(super) fn wait_begins(&self, jni: Jni<'_>, object: &ObjectRef<'_>, limit_ms: i64) {
        notify::send(JVMPI_EVENT_MONITOR_WAIT, jni.raw(), || {
            contents(self.id_of(object), limit_ms)
        });
        WAIT_BEGAN_NS.set(os::nano_time());
    }

    /// Handles the end of an `Object.wait`.
    pub(super) fn wait_ended(&self, jni: Jni<'_>, object: &ObjectRef<'_>) {
        let waited_ms = ms_since(WAIT_BEGAN_NS.get());
        if WAIT_BEGAN_NS.replace(0) != 0 {
            notify::send(JVMPI_EVENT_MONITOR_WAITED, jni.raw(), || {
                contents(self.id_of(object), waited_ms)
            });
        }
    }

    fn id_of(&self, object: &ObjectRef<'_>) -> jobjectID {
        notify::quiet(|| self.objects.id(self.jvmti, object)).raw()
    }
}

fn contents(object: jobjectID, timeout: jlong) -> JVMPI_Event_u {
    JVMPI_Event_u { monitor_wait: JVMPI_Event_monitor_wait { object, timeout } }
}

/// Returns the whole milliseconds since a time.
fn ms_since(begin_ns: u64) -> i64 {
    os::nano_time().saturating_sub(begin_ns) as i64 / NS_PER_MS
}

/// The native method of `Thread.sleep`: it takes the time to sleep, in its own unit.
type SleepFunction = unsafe extern "system" fn(*mut JNIEnv, jclass, jlong);

/// Returns the function to bind instead of the JVM's, for a method that takes milliseconds.
pub(super) fn sleep_of_milliseconds(original: usize) -> usize {
    STATE.natives.sleep.store(original, Ordering::Release);
    sleep_ms as *const () as usize
}

/// Returns the function to bind instead of the JVM's, for a method that takes nanoseconds.
pub(super) fn sleep_of_nanoseconds(original: usize) -> usize {
    STATE.natives.sleep.store(original, Ordering::Release);
    sleep_ns as *const () as usize
}

unsafe extern "system" fn sleep_ms(env: *mut JNIEnv, class: jclass, ms: jlong) {
    // SAFETY: the arguments of the method.
    unsafe { sleep(env, class, ms, ms) };
}

unsafe extern "system" fn sleep_ns(env: *mut JNIEnv, class: jclass, ns: jlong) {
    // A part of a millisecond counts as one: 0 would mean for ever.
    let ms = ns / NS_PER_MS + i64::from(ns % NS_PER_MS > 0);
    // SAFETY: the arguments of the method.
    unsafe { sleep(env, class, ns, ms) };
}

/// Sleeps as the JVM does, and sends the agent the events of it.
///
/// # Safety
/// The arguments must be those of the method.
unsafe fn sleep(env: *mut JNIEnv, class: jclass, time: jlong, limit_ms: jlong) {
    // SAFETY: the function that the JVM would have bound, with its arguments.
    let original = || unsafe {
        let function = STATE.natives.sleep.load(Ordering::Acquire);
        transmute::<usize, SleepFunction>(function)(env, class, time);
    };
    let is_wanted = [JVMPI_EVENT_MONITOR_WAIT, JVMPI_EVENT_MONITOR_WAITED].map(notify::is_enabled);
    // The method refuses a time below 0.
    if is_wanted == [false; 2] || time < 0 {
        return original();
    }
    let send = |kind, ms| {
        let send = || {
            if let Some(bridge) = super::bridge() {
                threads::meet(bridge, env);
            }
            // SAFETY: the environment is the calling thread's.
            let jni = unsafe { Jni::from_raw(env) };
            // A thread that was interrupted has an exception.
            jni.without_exception(|| notify::send(kind, env, || contents(null_mut(), ms)));
        };
        cpu::own(|| contain(Feature::Jvmpi, send));
    };
    send(JVMPI_EVENT_MONITOR_WAIT, limit_ms);
    let begin_ns = os::nano_time();
    original();
    send(JVMPI_EVENT_MONITOR_WAITED, ms_since(begin_ns));
}
