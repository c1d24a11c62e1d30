//! Switches the sources of events that are no event of the JVM's alone.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_INSTRUCTION_START, JVMPI_EVENT_MONITOR_CONTENDED_ENTER,
    JVMPI_EVENT_MONITOR_CONTENDED_ENTERED, JVMPI_EVENT_MONITOR_CONTENDED_EXIT,
};
use perk_jvmti_sys::{JVMTI_EVENT_COMPILED_METHOD_LOAD, JVMTI_EVENT_COMPILED_METHOD_UNLOAD};

use super::notify::{self, Phase};
use super::{Bridge, gc, jvm_events, methods};
use crate::state::STATE;
use perk_jvm::os;
use perk_jvm::sync::lock;

/// Brings the probes, and the JVM's events, to what the agent wants.
pub(super) fn contended_exit(bridge: &'static Bridge, on: bool) {
    let kind = JVMPI_EVENT_MONITOR_CONTENDED_EXIT;
    if !on {
        // The ends of these are not sent.
        lock(&STATE.contention.waiting).clear();
        STATE.contention.objects.store(0, Relaxed);
    }
    methods::switch_probes(bridge, kind, methods::MONITORS, c"isReleasing");
    for kind in [JVMPI_EVENT_MONITOR_CONTENDED_ENTER, JVMPI_EVENT_MONITOR_CONTENDED_ENTERED] {
        jvm_events::apply(bridge, kind);
    }
}

/// Brings the probes to what the agent wants.
pub(super) fn instructions(bridge: &'static Bridge, on: bool) {
    if !bridge.options.instructions {
        if on && notify::phase() == Phase::Live && !STATE.instructions.is_said.swap(true, Relaxed) {
            os::say(
                "HPROF WARNING: the profiler has enabled INSTRUCTION_START, which is not sent \
                 without perk's option instructions=y\n",
            );
        }
    } else {
        methods::switch_probes(
            bridge,
            JVMPI_EVENT_INSTRUCTION_START,
            methods::STEPS,
            c"isStepping",
        );
    }
}

/// Makes the JVM report compiled methods, existing ones first.
pub(super) fn compiled_load(bridge: &'static Bridge, on: bool) {
    if on {
        require(bridge);
    }
    jvm_events::set(bridge, JVMTI_EVENT_COMPILED_METHOD_LOAD, on);
    if STATE.compiled.is_on.swap(on, SeqCst) == on {
        return;
    }
    if on {
        let _ = bridge.jvmti.generate_events(JVMTI_EVENT_COMPILED_METHOD_LOAD);
    } else {
        lock(&STATE.compiled.known).clear();
    }
}

/// Makes the JVM report code that it drops.
pub(super) fn compiled_unload(bridge: &'static Bridge, on: bool) {
    if on {
        require(bridge);
    }
    jvm_events::set(bridge, JVMTI_EVENT_COMPILED_METHOD_UNLOAD, on);
}

fn require(bridge: &'static Bridge) {
    if let Some(jni) = bridge.current_jni() {
        jni.without_exception(|| gc::require(bridge, jni));
    }
}
