//! OBJECT_ALLOC: the JVM samples allocations at an interval of 0 bytes, so it reports each.

use std::cell::Cell;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use perk_jvmti_sys::jni_sys::{JNIEnv, jclass, jint, jlong, jobject};
use perk_jvmti_sys::jvmpi::{JVMPI_EVENT_OBJECT_ALLOC, JVMPI_Event_obj_alloc, JVMPI_Event_u};
use perk_jvmti_sys::{JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, JvmtiEnv, jthread};

use super::super::notify;
use super::super::threads::critical;
use super::super::{Bridge, Id, arrival, gc, jvm_events};
use super::{InstanceKind, ObjectRecord};
use crate::state::STATE;
use perk_jvm::{Jni, NewObject};

/// The arena of all objects.
const ARENA: jint = 1;

thread_local! {
    /// The number of walks of the heap up to this thread's last new object.
    static WALKS: Cell<u64> = const { Cell::new(0) };
}

/// Switches the JVM's reports of new objects on or off.
pub(crate) fn switch(bridge: &'static Bridge, on: bool) {
    let jvmti = bridge.jvmti;
    jvm_events::set(bridge, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, on);
    if on && !STATE.objects.is_on.swap(on, Relaxed) {
        // The JVM does not report objects in the buffers that threads have now: a collection takes
        // the buffers away.
        gc::collect_quietly(jvmti);
    }
    STATE.objects.is_on.store(on, Relaxed);
}

/// `SampledObjectAlloc`
pub(crate) unsafe extern "system" fn sampled_object_alloc(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
    class: jclass,
    size_bytes: jlong,
) {
    // SAFETY: the JVM passes the calling thread's environment; the references are good until the
    // callback returns.
    unsafe {
        arrival::frequent_event(env, thread, |bridge, jni| {
            if let Some(new) = NewObject::of_event(thread, object, class, size_bytes) {
                bridge.allocated(jni, &new);
            }
        });
    }
}

impl Bridge {
    /// Handles an allocation of the calling thread. Those in a handler of the same event are not sent,
    /// but known on request.
    fn allocated(&self, jni: Jni<'_>, new: &NewObject<'_>) {
        let InstanceKind { class, kind } = self.instances(jni, &new.class);
        let id = critical(|| self.new_id(new));
        let record = ObjectRecord { class, kind, size_bytes: new.size_bytes };
        self.objects.note(id, record);
        if notify::is_wanted(JVMPI_EVENT_OBJECT_ALLOC) {
            // A waiting event publishes the id when it is sent.
            if notify::has_started(jni.raw()) {
                self.objects.publish(id);
            }
            let record = self.with_known_class(jni, record);
            notify::send(JVMPI_EVENT_OBJECT_ALLOC, jni.raw(), || contents(id, record));
        }
    }

    /// Gives a new object its id, unless a walk of the heap has done so.
    fn new_id(&self, new: &NewObject<'_>) -> Id {
        let walks = self.objects.walks.read().unwrap_or_else(PoisonError::into_inner);
        if WALKS.replace(*walks) != *walks
            && let Some(id) = Id::from_tag(self.jvmti.tag(&new.object))
        {
            return id;
        }
        let id = self.objects.next();
        self.jvmti.set_tag(&new.object, id.0);
        id
    }

    /// Returns what is known of an object, with its class only if the agent can know that. It gets
    /// CLASS_LOAD now, if it had none.
    fn with_known_class(&self, jni: Jni<'_>, record: ObjectRecord) -> ObjectRecord {
        let class = record.class.filter(|class| self.announce_id(jni, *class));
        ObjectRecord { class, ..record }
    }

    /// Sends OBJECT_ALLOC as requested.
    pub(super) fn answer_alloc(&self, jni: Jni<'_>, id: Id, record: ObjectRecord) {
        self.objects.publish(id);
        if let Some(class) = record.class {
            self.objects.publish(class);
        }
        notify::answer(JVMPI_EVENT_OBJECT_ALLOC, jni.raw(), contents(id, record));
    }
}

fn contents(id: Id, record: ObjectRecord) -> JVMPI_Event_u {
    JVMPI_Event_u {
        obj_alloc: JVMPI_Event_obj_alloc {
            arena_id: ARENA,
            class_id: record.class.map_or(std::ptr::null_mut(), Id::raw),
            is_array: record.kind.into(),
            size: jint::try_from(record.size_bytes).unwrap_or(jint::MAX),
            obj_id: id.raw(),
        },
    }
}
