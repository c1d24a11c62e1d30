//! The agent's raw monitors. They are the bridge's own: they work on any thread and in any phase, before
//! the JVM can make monitors, and the agent gets events when threads contend for them.
//!
//! The agent's handle is a number that says the place of the monitor and how often the place was used
//! before. Nothing is read through it: handles of destroyed monitors and other numbers do nothing.
//!
//! Each release of a monitor that others wait to enter sends RAW_MONITOR_CONTENDED_EXIT, that of
//! `RawMonitorWait` too. A thread that enters again after `RawMonitorWait` sends nothing, as with
//! monitors of Java.

pub(crate) mod place;
mod table;

use std::ffi::c_char;
use std::ptr::null_mut;

use perk_jvmti_sys::jni_sys::{JNIEnv, jint, jlong};
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER, JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED,
    JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT, JVMPI_Event_raw_monitor, JVMPI_Event_u,
    JVMPI_RawMonitor, JVMPI_THREAD_CONDVAR_WAIT, JVMPI_THREAD_MONITOR_WAIT,
};

use self::place::{EntryWaiter, MonitorSlot};
use super::{Bridge, bridge, notify, threads};
use perk_jvm::Jni;
use perk_jvm::os::futex::Deadline;

pub(super) use self::table::all;

/// A monitor that exists, or did a moment ago.
#[derive(Clone, Copy, Debug)]
struct MonitorHandle {
    place: &'static MonitorSlot,
    /// See [`MonitorSlot`].
    generation: u32,
    handle: usize,
}

impl MonitorHandle {
    fn enter(self) {
        let (me, env) = threads::identity();
        let place = self.place;
        if place.is_owner(me) {
            // It may be another monitor by now.
            if place.is(self.generation) {
                place.enter_again();
            }
            return;
        }
        let is_contended = !place.try_lock();
        if is_contended && !self.wait_to_enter(me, true) {
            return;
        }
        if !place.is(self.generation) {
            place.unlock();
            return;
        }
        place.own(me, env, 1);
        if is_contended {
            self.send(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED);
        }
    }

    /// Waits until the place is locked for the calling thread. Whether it is: the monitor may be gone.
    #[cold]
    fn wait_to_enter(self, me: usize, is_announced: bool) -> bool {
        let env = current_env();
        let Some(entering) = EntryWaiter::begin(self.place, self.generation, me, env) else {
            return false;
        };
        if is_announced {
            self.send(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER);
        }
        threads::waiting(JVMPI_THREAD_MONITOR_WAIT, || entering.lock());
        true
    }

    fn exit(self) {
        let place = self.place;
        if self.is_mine() && place.exit_once() {
            self.release();
        }
    }

    /// Whether the calling thread owns it.
    fn is_mine(self) -> bool {
        self.place.is_owner(threads::identity().0) && self.place.is(self.generation)
    }

    fn release(self) {
        // Once it is released it can be destroyed.
        let name = self.place.name();
        if self.place.disown() {
            self.send_named(name, JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT);
        }
    }

    fn wait(self, ms: jlong) {
        if !self.is_mine() {
            return;
        }
        let deadline = u64::try_from(ms).ok().filter(|&ms| ms > 0).map(Deadline::after_ms);
        let (me, env) = threads::identity();
        let place = self.place;
        let entry_count = place.entry_count();
        let waiting = place.begin_wait(me, current_env());
        self.release();
        threads::waiting(JVMPI_THREAD_CONDVAR_WAIT, || place.wait(waiting, deadline.as_ref()));
        let is_locked = place.try_lock() || self.wait_to_enter(me, false);
        place.end_wait(me);
        if is_locked {
            place.own(me, env, entry_count);
        }
    }

    fn notify_all(self) {
        if self.is_mine() {
            self.place.notify_all();
        }
    }

    /// Destroys it, unless others use it. A thread that owns it leaves it.
    fn destroy(self) {
        let place = self.place;
        let is_mine = self.is_mine();
        if !is_mine && !place.try_lock() {
            return;
        }
        let is_destroyed = place.retire(self.generation);
        if is_destroyed || !is_mine {
            place.disown();
        }
        if is_destroyed {
            table::give_back(self.handle);
        }
    }

    fn send(self, kind: jint) {
        self.send_named(self.place.name(), kind);
    }

    /// Sends an event, except for a monitor whose name begins with `_`.
    fn send_named(self, name: *mut c_char, kind: jint) {
        // SAFETY: names end in NUL, and are kept for good.
        if !notify::is_enabled(kind) || unsafe { *name } == b'_' as c_char {
            return;
        }
        let id = self.handle as JVMPI_RawMonitor;
        let contents = || JVMPI_Event_u { raw_monitor: JVMPI_Event_raw_monitor { name, id } };
        notify::send(kind, current_env(), contents);
    }
}

/// Returns the environment of the calling thread; null if it has none.
fn current_env() -> *mut JNIEnv {
    bridge().and_then(Bridge::current_jni).map_or(null_mut(), Jni::raw)
}

/// `RawMonitorCreate`
pub(super) unsafe extern "C" fn create(name: *mut c_char) -> JVMPI_RawMonitor {
    // SAFETY: the agent passes a string that ends in NUL, or null.
    unsafe { table::create(name) as JVMPI_RawMonitor }
}

/// `RawMonitorEnter`
pub(super) unsafe extern "C" fn enter(monitor: JVMPI_RawMonitor) {
    if let Some(monitor) = table::find(monitor as usize) {
        monitor.enter();
    }
}

/// `RawMonitorExit`
pub(super) unsafe extern "C" fn exit(monitor: JVMPI_RawMonitor) {
    if let Some(monitor) = table::find(monitor as usize) {
        monitor.exit();
    }
}

/// `RawMonitorWait`; 0 milliseconds mean for ever, and so does less.
pub(super) unsafe extern "C" fn wait(monitor: JVMPI_RawMonitor, ms: jlong) {
    if let Some(monitor) = table::find(monitor as usize) {
        monitor.wait(ms);
    }
}

/// `RawMonitorNotifyAll`
pub(super) unsafe extern "C" fn notify_all(monitor: JVMPI_RawMonitor) {
    if let Some(monitor) = table::find(monitor as usize) {
        monitor.notify_all();
    }
}

/// `RawMonitorDestroy`
pub(super) unsafe extern "C" fn destroy(monitor: JVMPI_RawMonitor) {
    if let Some(monitor) = table::find(monitor as usize) {
        monitor.destroy();
    }
}
