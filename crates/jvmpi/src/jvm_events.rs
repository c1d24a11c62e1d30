//! The JVM's events: which are on follows from what the agent wants.

use perk_jvmti_sys::jni_sys::jint;
use perk_jvmti_sys::jvmpi::*;
use perk_jvmti_sys::*;

use super::{Bridge, contended_exit, notify};
use crate::notify::Phase;
use crate::state::STATE;
use perk_jvm::os;
use std::sync::atomic::Ordering::Relaxed;

/// Returns the events of the JVM's that are switched on and off with a kind of event; none if a part of the
/// bridge does that.
pub(crate) fn sources(kind: jint) -> &'static [jvmtiEvent] {
    match kind {
        JVMPI_EVENT_CLASS_LOAD_HOOK => &[JVMTI_EVENT_CLASS_FILE_LOAD_HOOK],
        JVMPI_EVENT_MONITOR_CONTENDED_ENTER => &[JVMTI_EVENT_MONITOR_CONTENDED_ENTER],
        JVMPI_EVENT_MONITOR_CONTENDED_ENTERED => &[JVMTI_EVENT_MONITOR_CONTENDED_ENTERED],
        JVMPI_EVENT_MONITOR_WAIT => &[JVMTI_EVENT_MONITOR_WAIT],
        // The time that a thread has waited is counted from the other event.
        JVMPI_EVENT_MONITOR_WAITED => &[JVMTI_EVENT_MONITOR_WAIT, JVMTI_EVENT_MONITOR_WAITED],
        _ => &[],
    }
}

/// Brings the JVM's events to what the agent wants of a kind. Other threads may do so at the same time:
/// the last one to look sees the last wish.
pub(crate) fn apply(bridge: &Bridge, kind: jint) {
    loop {
        let on = is_wanted(kind);
        sources(kind).iter().for_each(|event| set_as_needed(bridge, *event));
        if on == is_wanted(kind) {
            return;
        }
    }
}

/// Switches an event of the JVM's on or off.
pub(crate) fn set(bridge: &Bridge, event: jvmtiEvent, on: bool) {
    let jvmti = bridge.jvmti;
    let result = if on { jvmti.enable(event) } else { jvmti.disable(event) };
    if let Err(error) = result
        && notify::phase() == Phase::Live
    {
        os::say(&format!("HPROF ERROR: the JVM refused event {event:?}: {error}\n"));
    }
}

/// Switches an event of the JVM's on or off, whichever the kinds that the agent has enabled need.
fn set_as_needed(bridge: &Bridge, event: jvmtiEvent) {
    loop {
        let on = is_needed(event);
        set(bridge, event, on);
        if on == is_needed(event) {
            return;
        }
    }
}

/// Whether a kind that the agent has enabled needs an event of the JVM's.
fn is_needed(event: jvmtiEvent) -> bool {
    (1..=JVMPI_MAX_EVENT_TYPE_VAL).any(|kind| sources(kind).contains(&event) && is_wanted(kind))
}

/// Whether a kind is enabled, or the bridge needs what is switched on with it.
pub(crate) fn is_wanted(kind: jint) -> bool {
    let has_other_use = kind == JVMPI_EVENT_CLASS_LOAD_HOOK && needs_class_files();
    notify::is_enabled(kind) || has_other_use || contended_exit::needs(kind)
}

/// Whether classes get probes as they are loaded.
pub(crate) fn needs_class_files() -> bool {
    STATE.probes.wanted.load(Relaxed) != 0
}
