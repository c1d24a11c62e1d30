//! The events that the agent can enable, and the JVM's events that each needs.

use std::ffi::c_void;

use perk_jvmti_sys::jni_sys::jint;
use perk_jvmti_sys::jvmpi::*;

use super::notify::{self, Phase};
use super::{Bridge, bridge, classes, gc, jvm_events, methods, objects, refs, switches};

/// What `EnableEvent` has to do for a kind of event.
#[derive(Clone, Copy, Debug)]
enum EventSource {
    /// The bridge receives it in any case.
    Always,
    /// The JVM's event is switched on and off with it.
    Jvm,
    /// A part of the bridge makes the JVM do what the agent wants.
    Part(fn(&'static Bridge, bool)),
    /// It never occurs here.
    Never,
    /// It cannot be enabled.
    Unavailable,
}

fn source(kind: jint) -> EventSource {
    use EventSource::{Always, Jvm, Never, Part, Unavailable};
    match kind {
        JVMPI_EVENT_JVM_INIT_DONE
        | JVMPI_EVENT_JVM_SHUT_DOWN
        | JVMPI_EVENT_THREAD_START
        | JVMPI_EVENT_THREAD_END
        | JVMPI_EVENT_DATA_DUMP_REQUEST
        | JVMPI_EVENT_DATA_RESET_REQUEST => Always,
        JVMPI_EVENT_CLASS_LOAD => Part(classes::switch),
        JVMPI_EVENT_OBJECT_ALLOC => Part(objects::switch),
        JVMPI_EVENT_METHOD_ENTRY | JVMPI_EVENT_METHOD_ENTRY2 | JVMPI_EVENT_METHOD_EXIT => {
            Part(methods::switch)
        }
        JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER
        | JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED
        | JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT => Always,
        JVMPI_EVENT_OBJECT_FREE
        | JVMPI_EVENT_CLASS_UNLOAD
        | JVMPI_EVENT_GC_START
        | JVMPI_EVENT_GC_FINISH => Part(gc::switch),
        JVMPI_EVENT_JNI_GLOBALREF_ALLOC
        | JVMPI_EVENT_JNI_GLOBALREF_FREE
        | JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC
        | JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE => Part(refs::switch),
        JVMPI_EVENT_COMPILED_METHOD_LOAD => Part(switches::compiled_load),
        JVMPI_EVENT_COMPILED_METHOD_UNLOAD => Part(switches::compiled_unload),
        JVMPI_EVENT_INSTRUCTION_START => Part(switches::instructions),
        JVMPI_EVENT_MONITOR_CONTENDED_EXIT => Part(switches::contended_exit),
        JVMPI_EVENT_OBJECT_MOVE | JVMPI_EVENT_ARENA_NEW | JVMPI_EVENT_ARENA_DELETE => Never,
        _ if !jvm_events::sources(kind).is_empty() => Jvm,
        _ => Unavailable,
    }
}

/// `EnableEvent`
pub(super) unsafe extern "C" fn enable_event(kind: jint, _: *mut c_void) -> jint {
    switch(kind, true)
}

/// `DisableEvent`
pub(super) unsafe extern "C" fn disable_event(kind: jint, _: *mut c_void) -> jint {
    switch(kind, false)
}

fn switch(kind: jint, on: bool) -> jint {
    let Some(bridge) = bridge() else { return JVMPI_FAIL };
    match source(kind) {
        EventSource::Unavailable => return JVMPI_NOT_AVAILABLE,
        EventSource::Never => {}
        // The JVM does not obey a thread that it does not know.
        EventSource::Jvm | EventSource::Part(_)
            if notify::phase() == Phase::Live && bridge.current_jni().is_none() =>
        {
            return JVMPI_FAIL;
        }
        EventSource::Always | EventSource::Jvm | EventSource::Part(_) => {
            notify::set_enabled(kind, on);
            // What is enabled before VMInit is switched on there, except for class files.
            let is_early = kind == JVMPI_EVENT_CLASS_LOAD_HOOK || methods::has_probes(kind);
            if notify::phase() == Phase::Live || is_early {
                apply(bridge, kind);
            }
        }
    }
    JVMPI_SUCCESS
}

/// Makes the JVM send what the agent's wishes need, at VMInit.
pub(super) fn apply_all(bridge: &'static Bridge) {
    (1..=JVMPI_MAX_EVENT_TYPE_VAL).for_each(|kind| apply(bridge, kind));
}

/// Brings the sources of a kind to what the agent wants of it. Other threads may do so at the same time:
/// the last one to look sees the last wish.
pub(super) fn apply(bridge: &'static Bridge, kind: jint) {
    match source(kind) {
        EventSource::Jvm => jvm_events::apply(bridge, kind),
        EventSource::Part(switch) => loop {
            let on = jvm_events::is_wanted(kind);
            switch(bridge, on);
            if on == jvm_events::is_wanted(kind) {
                return;
            }
        },
        EventSource::Always | EventSource::Never | EventSource::Unavailable => {}
    }
}
