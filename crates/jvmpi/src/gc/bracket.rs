//! One bracket: the events that the agent gets after a collection.

use std::time::{Duration, Instant};

use perk_jvmti_sys::jni_sys::jlong;
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_CLASS_UNLOAD, JVMPI_EVENT_GC_FINISH, JVMPI_EVENT_GC_START, JVMPI_EVENT_OBJECT_FREE,
    JVMPI_Event_class_unload, JVMPI_Event_gc_info, JVMPI_Event_obj_free, JVMPI_Event_u,
};

use super::super::{Bridge, Id, notify};
use super::freed::{freed_count, step, take_freed};
use crate::state::STATE;
use perk_jvm::Jni;
use perk_jvm::os::{self, Tid};
use perk_jvm::sync::lock;

/// The events between which references of handlers are given back, and the room for these.
const EVENTS: usize = 64;
const ROOM: u8 = 128;

/// The interval of looks at the JVM's thread, and the number of looks in a row at which it sleeps and reports nothing until it counts as done.
const LOOK: Duration = Duration::from_micros(200);
const CALM: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the ids whose objects are gone, for a bracket that is due.
pub(super) fn gather(bridge: &Bridge, jni: Jni<'_>) -> Vec<Id> {
    notify::quiet(|| bridge.jvmti.sweep_tags(jni));
    wait_for_service();
    step();
    take_freed()
}

/// Sends a bracket with the ends of these ids on the calling thread.
pub(super) fn send(bridge: &'static Bridge, jni: Jni<'_>, freed: Vec<Id>) {
    // The agent's references end with the frame.
    jni.with_room(ROOM, || notify::send_plain(JVMPI_EVENT_GC_START, jni.raw()));
    step();
    let is_class = |id: &Id| bridge.classes.is_one(*id);
    let (classes, others): (Vec<_>, Vec<_>) = freed.into_iter().partition(is_class);
    for ids in others.chunks(EVENTS) {
        jni.with_room(ROOM, || ids.iter().for_each(|id| send_end(bridge, jni, *id)));
    }
    for ids in classes.chunks(EVENTS) {
        jni.with_room(ROOM, || ids.iter().for_each(|id| send_unload(bridge, jni, *id)));
    }
    if notify::is_wanted(JVMPI_EVENT_GC_FINISH) {
        let gc_info = notify::quiet(|| usage(bridge, jni));
        jni.with_room(ROOM, || {
            notify::send(JVMPI_EVENT_GC_FINISH, jni.raw(), || JVMPI_Event_u { gc_info });
        });
    }
    step();
}

/// Waits until the JVM's own thread has reported all objects that it has found gone: it may have begun
/// before [`sweep_tags`](perk_jvm::Jvmti::sweep_tags).
fn wait_for_service() {
    let is_service = |it: &Tid| it.name().is_some_and(|name| name == "Service Thread");
    let Some(service) =
        STATE.bracket.service.get_or_init(|| os::own_tids().into_iter().find(is_service))
    else {
        return;
    };
    let (begin, mut calm, mut last) = (Instant::now(), 0, freed_count());
    while calm < CALM && begin.elapsed() < PATIENCE {
        std::thread::sleep(LOOK);
        let now = freed_count();
        let is_calm = now == last && service.is_runnable() != Some(true);
        calm = if is_calm { calm + 1 } else { 0 };
        last = now;
        // A thread that waits for the bracket continues to wait.
        step();
    }
}

/// Sends OBJECT_FREE, if the agent knows the id. The id has ended when it does.
fn send_end(bridge: &Bridge, jni: Jni<'_>, id: Id) {
    if bridge.objects.free(id) {
        notify::send(JVMPI_EVENT_OBJECT_FREE, jni.raw(), || JVMPI_Event_u {
            obj_free: JVMPI_Event_obj_free { obj_id: id.raw() },
        });
        step();
    }
}

/// Sends CLASS_UNLOAD, and OBJECT_FREE of the class's object.
fn send_unload(bridge: &Bridge, jni: Jni<'_>, id: Id) {
    bridge.shapes.forget(id);
    if bridge.classes.forget(jni, id) {
        notify::send(JVMPI_EVENT_CLASS_UNLOAD, jni.raw(), || JVMPI_Event_u {
            class_unload: JVMPI_Event_class_unload { class_id: id.raw() },
        });
        step();
    }
    send_end(bridge, jni, id);
}

/// The least time between two counts, in times of the last one.
const REST: u32 = 20;

/// Returns the numbers of GC_FINISH. The JVM stops the program to count the objects, so the number may
/// be an earlier one.
fn usage(bridge: &Bridge, jni: Jni<'_>) -> JVMPI_Event_gc_info {
    let last = *lock(&STATE.bracket.count);
    let last = last.filter(|(at, took, _)| at.elapsed() < *took * REST);
    let used_objects = last.map_or_else(
        || {
            let _collecting = lock(&STATE.gc.collecting);
            let begin = Instant::now();
            let (count, _) = bridge.jvmti.heap_totals(&[]).unwrap_or_default();
            *lock(&STATE.bracket.count) = Some((Instant::now(), begin.elapsed(), count));
            count
        },
        |(_, _, count)| count,
    );
    let [total, free] = jni.memory_bytes().unwrap_or_default();
    JVMPI_Event_gc_info {
        used_objects: used_objects as jlong,
        used_object_space: total.saturating_sub(free),
        total_object_space: total,
    }
}
