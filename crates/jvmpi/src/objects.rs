//! The ids of objects, and what is known of each.
//!
//! Ids are given in three ways: [`Objects::id`] for an object that an event or answer names,
//! OBJECT_ALLOC for a new one ([`alloc`]), and by walks of the heap, which tag with [`Objects::next`].

mod alloc;
mod described;
pub(crate) mod kinds;
pub(crate) mod records;

use std::ptr::null_mut;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use perk_jvmti_sys::call;
use perk_jvmti_sys::jni_sys::{jlong, jobject};
use perk_jvmti_sys::jvmpi::jobjectID;

pub(super) use alloc::{sampled_object_alloc, switch};
pub(super) use kinds::InstanceKind;
pub(super) use records::ObjectRecord;

use super::notify::{self, Phase};
use super::threads::critical;
use super::{Bridge, Id, bridge};
use crate::state::objects::Objects;
use perk_jvm::{Jni, Jvmti, Local, ObjectRef, Reference};

impl Objects {
    /// Returns the id of an object, which gets one if it has none. The agent is about to get it.
    pub(super) fn id(&self, jvmti: Jvmti, object: &(impl Reference + ?Sized)) -> Id {
        let known = || Id::from_tag(jvmti.tag(object));
        let id = known().unwrap_or_else(|| {
            critical(|| {
                let _tagging = self.walks.write().unwrap_or_else(PoisonError::into_inner);
                known().unwrap_or_else(|| {
                    let id = self.next();
                    jvmti.set_tag(object, id.0);
                    id
                })
            })
        });
        self.publish(id);
        id
    }

    /// Returns an id that no object has.
    pub(super) fn next(&self) -> Id {
        self.next_many(1)
    }

    /// Returns the first of `count` ids that no object has; each is 16 more than the previous one.
    pub(super) fn next_many(&self, count: i64) -> Id {
        Id((self.given.fetch_add(count, Relaxed) + 1) << 4)
    }

    /// Returns the number of objects of which nothing is known but their ids, as there was no memory.
    pub(super) fn missing_count(&self) -> u64 {
        self.records.missing_count(self.given.load(Relaxed).cast_unsigned())
    }

    /// Whether the id was ever given.
    fn is_given(&self, id: Id) -> bool {
        id.0 & 15 == 0 && id.0 >> 4 <= self.given.load(Relaxed)
    }

    /// Enters what is known of an object. This calls neither the JVM nor the agent.
    pub(super) fn note(&self, id: Id, record: ObjectRecord) {
        self.records.note(id, record);
    }

    /// Returns what is known of an object that is not gone, without a call of the JVM.
    pub(super) fn record(&self, id: Id) -> Option<ObjectRecord> {
        self.records.get(id)
    }

    /// Notes that the agent gets an id, so that it will get the object's end, too.
    pub(super) fn publish(&self, id: Id) {
        self.records.publish(id);
    }

    /// Notes that an object is gone. Returns whether the agent has got its id.
    pub(super) fn free(&self, id: Id) -> bool {
        self.kinds.forget(id);
        self.records.free(id)
    }
}

impl Bridge {
    /// Returns a new reference to the object of an id; `None` if there is none, or no more. For
    /// objects that are neither classes nor threads this takes milliseconds.
    pub(super) fn object<'a>(&self, jni: Jni<'a>, id: Id) -> Option<Local<'a>> {
        let objects = &self.objects;
        if !objects.is_given(id) || objects.records.is_freed(id) {
            return None;
        }
        notify::quiet(|| {
            let class = self.classes.find(jni, id);
            let thread = || {
                let all = self.threads.all();
                let thread = all.iter().find(|it| self.jvmti.tag(&***it) == id.0)?;
                jni.local(&**thread)
            };
            class.or_else(thread).or_else(|| tagged(self.jvmti, jni, id))
        })
    }

    /// Sends OBJECT_ALLOC of an object that the agent asks for. `None` if there is no such object.
    pub(super) fn request_object(&self, jni: Jni<'_>, id: jobjectID) -> Option<()> {
        let id = Id::from_raw(id)?;
        let record = self.objects.record(id).or_else(|| {
            let object = self.object(jni, id)?;
            let record = self.record_of(jni, &object)?;
            self.objects.note(id, record);
            Some(record)
        })?;
        self.answer_alloc(jni, id, record);
        Some(())
    }
}

/// Returns the object with a tag.
fn tagged<'a>(jvmti: Jvmti, jni: Jni<'a>, id: Id) -> Option<Local<'a>> {
    let (mut count, mut objects): (_, *mut jobject) = (0, null_mut());
    let tag: jlong = id.0;
    // SAFETY: the environment is valid; the array has `count` references, ours to delete, and is ours
    // to free.
    let found = unsafe {
        let (env, no_tags) = (jvmti.raw(), null_mut());
        let result = call!(env, GetObjectsWithTags, 1, &tag, &mut count, &mut objects, no_tags);
        result.ok().ok()?;
        jvmti.take_references(jni, count, objects)
    };
    found.into_iter().next()
}

/// `jobjectID2jobject`: a new local reference, which ends with the JVM's call of the agent.
pub(super) unsafe extern "C" fn object_of_id(id: jobjectID) -> jobject {
    let mut object = null_mut();
    if let (Some(bridge), Some(id)) = (bridge(), Id::from_raw(id))
        && notify::phase() == Phase::Live
        && let Some(jni) = bridge.current_jni()
    {
        jni.without_exception(|| {
            object = bridge.object(jni, id).map_or(null_mut(), Local::into_raw);
        });
    }
    object
}

/// `jobject2jobjectID`
pub(super) unsafe extern "C" fn id_of_object(object: jobject) -> jobjectID {
    let id = || {
        let bridge = bridge().filter(|_| notify::phase() == Phase::Live)?;
        let jni = bridge.current_jni()?;
        let object = notify::quiet(|| {
            // SAFETY: the reference is one that the JVM knows.
            let object =
                unsafe { ObjectRef::from_raw(object).filter(|_| jni.is_reference(object))? };
            // A weak reference's object may be gone: the reference to it is a null then.
            jni.local(&object)
        })?;
        Some(bridge.objects.id(bridge.jvmti, &object))
    };
    id().map_or(null_mut(), Id::raw)
}
