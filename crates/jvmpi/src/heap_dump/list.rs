//! The walk of level 0: all objects of the heap, also those that the program cannot reach and no
//! collection has found yet.

use std::ffi::c_void;

use perk_jvmti_sys::jni_sys::{jint, jlong};
use perk_jvmti_sys::{jvmtiError, jvmtiHeapCallbacks};

use super::super::{Bridge, Id};
use super::classes::DumpClasses;
use super::records::DumpRecords;
use super::walk::OWN;
use crate::state::objects::Objects;

/// The state of a walk.
pub(super) struct ListWalk<'a> {
    objects: &'a Objects,
    classes: DumpClasses,
    records: DumpRecords,
}

impl<'a> ListWalk<'a> {
    pub(super) fn new(objects: &'a Objects, classes: DumpClasses) -> Self {
        Self { objects, classes, records: DumpRecords::default() }
    }

    /// Lists the heap.
    pub(super) fn run(mut self, bridge: &Bridge) -> Result<DumpRecords, jvmtiError> {
        let callbacks =
            jvmtiHeapCallbacks { heap_iteration_callback: Some(object), ..Default::default() };
        let argument = std::ptr::from_mut(&mut self).cast();
        bridge.objects.walk(|| {
            // SAFETY: the callback is passed the walk, and does not call the JVM.
            unsafe { bridge.jvmti.iterate_through_heap(&callbacks, argument) }
        })?;
        Ok(self.records)
    }
}

unsafe extern "system" fn object(
    class: jlong,
    size: jlong,
    tag: *mut jlong,
    _: jint,
    list: *mut c_void,
) -> jint {
    // SAFETY: this is the walk that runs, which the requesting thread has lent; the tag is the
    // object's.
    unsafe {
        let list = &mut *list.cast::<ListWalk<'_>>();
        // Classes that were loaded after the list of them was made have no id, nor do their objects.
        if let Some(known) = list.classes.find(class).filter(|_| *tag != OWN) {
            if *tag == 0 {
                *tag = list.objects.found(&known.shape, size).0;
            }
            list.objects.publish(Id(*tag));
            list.records.u1(known.shape.kind.code());
            list.records.id(Some(Id(*tag)));
        }
    }
    0
}
