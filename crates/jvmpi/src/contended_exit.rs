//! MONITOR_CONTENDED_EXIT: the JVM has no event for it. While it is enabled, probes look at each release
//! of a monitor whether threads wait to enter it, which the JVM's events of contention show.
//!
//! The event comes just before the release. Releases by `JNI MonitorExit`, and those by
//! `Object.wait`, have no probe; virtual threads and their carriers do not send theirs.

use std::sync::atomic::Ordering::Relaxed;

use perk_jvmti_sys::jni_sys::{JNIEnv, jclass, jint, jobject};
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_MONITOR_CONTENDED_ENTER, JVMPI_EVENT_MONITOR_CONTENDED_ENTERED,
    JVMPI_EVENT_MONITOR_CONTENDED_EXIT, JVMPI_Event_monitor, JVMPI_Event_u,
};

use super::{Bridge, Id, bridge, notify};
use crate::state::STATE;
use perk_jvm::guard::{Feature, contain};
use perk_jvm::sync::lock;
use perk_jvm::{Jni, ObjectRef, Reference};

/// Whether a kind of event has its source in an event of the JVM's that is needed here.
pub(super) fn needs(kind: jint) -> bool {
    matches!(kind, JVMPI_EVENT_MONITOR_CONTENDED_ENTER | JVMPI_EVENT_MONITOR_CONTENDED_ENTERED)
        && notify::is_enabled(JVMPI_EVENT_MONITOR_CONTENDED_EXIT)
}

/// Notes that a thread begins or ends to wait for a monitor.
pub(super) fn note(bridge: &Bridge, object: &(impl Reference + ?Sized), waits: bool) {
    let id = notify::quiet(|| bridge.objects.id(bridge.jvmti, object));
    let mut waiting = lock(&STATE.contention.waiting);
    match (waiting.iter().position(|it| it.0 == id), waits) {
        (Some(index), true) => waiting[index].1 += 1,
        (Some(index), false) => {
            waiting[index].1 -= 1;
            waiting.retain(|it| it.1 > 0);
        }
        (None, true) => waiting.push((id, 1)),
        (None, false) => {}
    }
    STATE.contention.objects.store(waiting.len(), Relaxed);
}

/// `PerkEvents.released`
pub(super) extern "system" fn released(env: *mut JNIEnv, _: jclass, object: jobject) {
    if STATE.contention.objects.load(Relaxed) == 0
        || !notify::is_wanted(JVMPI_EVENT_MONITOR_CONTENDED_EXIT)
    {
        return;
    }
    contain(Feature::Jvmpi, || {
        // SAFETY: the JVM passes the thread's environment, and a reference or null.
        let (jni, object) = unsafe { (Jni::from_raw(env), ObjectRef::from_raw(object)) };
        let Some((bridge, object)) = bridge().zip(object) else { return };
        jni.without_exception(|| {
            let Some(id) = notify::quiet(|| Id::from_tag(bridge.jvmti.tag(&object))) else {
                return;
            };
            let has_waiting = || lock(&STATE.contention.waiting).iter().any(|it| it.0 == id);
            // An inner release of a monitor that the thread has entered twice does not free it.
            let is_last = || {
                let owner = notify::quiet(|| {
                    let thread = bridge.jvmti.current_thread(jni)?;
                    bridge.jvmti.monitor_entries(jni, &object, &[&thread], &|_| None)
                });
                owner.is_some_and(|(_, entries)| entries == 1)
            };
            if has_waiting() && is_last() {
                notify::send(JVMPI_EVENT_MONITOR_CONTENDED_EXIT, env, || JVMPI_Event_u {
                    monitor: JVMPI_Event_monitor { object: id.raw() },
                });
            }
        });
    });
}
