//! The walk of levels 1 and 2: all objects that the program can reach, in one pause.
//!
//! HotSpot reports the roots first, and then all references and values of one object before those of
//! the next, the reference to its class first. So records are written one after another. Objects
//! get their ids where they are found. Left out, with NULL for references to them, are objects whose
//! class the agent cannot know: one that was loaded after the list of classes was made, or is not
//! prepared. (The archive that the JVM starts from has a few objects of classes that nothing has used.)

use std::ffi::c_void;
use std::ptr::null_mut;

use perk_jvmti_sys::jni_sys::{jint, jlong, jvalue};
use perk_jvmti_sys::{
    JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT, JVMTI_HEAP_REFERENCE_CLASS,
    JVMTI_HEAP_REFERENCE_CLASS_LOADER, JVMTI_HEAP_REFERENCE_CONSTANT_POOL,
    JVMTI_HEAP_REFERENCE_FIELD, JVMTI_HEAP_REFERENCE_PROTECTION_DOMAIN,
    JVMTI_HEAP_REFERENCE_SIGNERS, JVMTI_HEAP_REFERENCE_STATIC_FIELD, JVMTI_VISIT_OBJECTS, call,
    jvmtiError, jvmtiHeapCallbacks, jvmtiHeapReferenceInfo, jvmtiHeapReferenceKind,
    jvmtiPrimitiveType,
};
use rustc_hash::FxHashMap;

use super::super::{Bridge, Id};
use super::classes::DumpClasses;
use super::records::{DumpRecords, ID_BYTES, Level, set_bits, set_id};
use super::roots::Roots;
use super::shapes::ObjectKind;
use crate::state::objects::Objects;
use perk_jvm::ValueType;

/// The tag of an object of the bridge's own, which is in no dump.
pub(super) const OWN: jlong = -1;

/// The state of a walk.
pub(super) struct Walk<'a> {
    level: Level,
    objects: &'a Objects,
    pub(super) classes: DumpClasses,
    pub(super) roots: Roots<'a>,
    /// The records of the objects that are no classes.
    pub(super) records: DumpRecords,
    current: LastRecord,
    /// The lengths of arrays of objects that were found and perhaps not visited yet.
    lengths: FxHashMap<i64, u32>,
}

/// The object whose record is the last one.
#[derive(Clone, Copy, Debug, Default)]
struct LastRecord {
    tag: i64,
    /// The index of its class.
    class: usize,
    /// The place of its values in the records.
    at: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        objects: &'a Objects,
        level: Level,
        classes: DumpClasses,
        roots: Roots<'a>,
    ) -> Self {
        Self {
            level,
            objects,
            classes,
            roots,
            records: DumpRecords::default(),
            current: LastRecord::default(),
            lengths: FxHashMap::default(),
        }
    }

    /// Walks the heap.
    pub(super) fn run(&mut self, bridge: &Bridge) -> Result<(), jvmtiError> {
        let callbacks = jvmtiHeapCallbacks {
            heap_reference_callback: Some(reference),
            primitive_field_callback: match self.level {
                Level::References => None,
                Level::Whole => Some(primitive_field),
            },
            array_primitive_value_callback: Some(primitive_elements),
            ..Default::default()
        };
        let (env, argument) = (bridge.jvmti.raw(), std::ptr::from_mut(self).cast());
        bridge.objects.walk(|| {
            // SAFETY: the environment is valid; no filter, no class and no object means all objects
            // that can be reached; the callbacks are passed the walk and do not call the JVM.
            unsafe {
                call!(env, FollowReferences, 0, null_mut(), null_mut(), &callbacks, argument).ok()
            }
        })
    }

    /// Handles an object that a reference leads to. Returns its id, if it is in the dump.
    fn reached(&mut self, class: jlong, size: jlong, tag: &mut jlong, length: jint) -> Option<Id> {
        if class == self.classes.of_classes {
            // A class without an id was loaded after the list was made.
            self.classes.find(*tag)?.is_reached = true;
            return Some(Id(*tag));
        }
        if *tag == OWN {
            return None;
        }
        let known = self.classes.find(class)?;
        let is_array = length >= 0;
        if !is_array {
            known.instance_bytes = size as u32;
        }
        let kind = known.shape.kind;
        if kind == ObjectKind::Instance && known.is_instance() {
            return None;
        }
        if *tag == 0 {
            *tag = self.objects.found(&known.shape, size).0;
        }
        self.objects.publish(Id(*tag));
        if is_array && matches!(kind, ObjectKind::Objects(_)) {
            self.lengths.insert(*tag, length as u32);
        }
        Some(Id(*tag))
    }

    /// Handles a reference from an object.
    fn edge(
        &mut self,
        kind: jvmtiHeapReferenceKind,
        info: *const jvmtiHeapReferenceInfo,
        referrer: jlong,
        referrer_class: jlong,
        target: Option<Id>,
    ) {
        // SAFETY: these kinds of references have an index, which the three structures begin with.
        let index = || unsafe { (*info).field.index };
        match kind {
            JVMTI_HEAP_REFERENCE_CLASS => self.begin(referrer, referrer_class),
            JVMTI_HEAP_REFERENCE_FIELD => {
                if let Some(at) = self.field_place(referrer, index()) {
                    self.records.set_id(at, target);
                }
            }
            JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT => {
                if self.current.tag == referrer {
                    let at = self.current.at + index() as usize * ID_BYTES;
                    self.records.set_id(at, target);
                }
            }
            _ => self.class_edge(kind, index, referrer, target),
        }
    }

    /// Handles a reference from a class.
    fn class_edge(
        &mut self,
        kind: jvmtiHeapReferenceKind,
        index: impl Fn() -> jint,
        referrer: jlong,
        target: Option<Id>,
    ) {
        let level = self.level;
        let Some(class) = self.classes.find(referrer) else { return };
        match kind {
            JVMTI_HEAP_REFERENCE_CLASS_LOADER => class.loader = target,
            JVMTI_HEAP_REFERENCE_SIGNERS => class.signers = target,
            JVMTI_HEAP_REFERENCE_PROTECTION_DOMAIN => class.protection_domain = target,
            JVMTI_HEAP_REFERENCE_CONSTANT_POOL => {
                class.constants.extend(target.map(|target| (index() as u16, target)));
            }
            JVMTI_HEAP_REFERENCE_STATIC_FIELD => {
                let fields = class.shape.fields.as_ref();
                if let Some(at) = fields.and_then(|it| it.static_place(index(), level)) {
                    set_id(&mut class.statics, at, target);
                }
            }
            _ => {}
        }
    }

    /// Begins the record of an object; that of an array of primitives comes with its elements.
    fn begin(&mut self, tag: jlong, class: jlong) {
        let level = self.level;
        self.current = LastRecord::default();
        let Some(index) = self.classes.index(class) else { return };
        let known = &mut self.classes.all[index];
        known.is_reached = true;
        if tag <= 0 || class == self.classes.of_classes {
            return;
        }
        let at = match (known.shape.kind, &known.shape.fields) {
            (ObjectKind::Instance, Some(fields)) => {
                self.records.begin_instance(Id(tag), Id(class), fields.instance_bytes(level))
            }
            (ObjectKind::Objects(element), _) => {
                let length = self.lengths.remove(&tag).unwrap_or(0);
                self.records.begin_objects(Id(tag), element, length)
            }
            _ => return,
        };
        self.current = LastRecord { tag, class: index, at };
    }

    /// Returns the place of the current object's field in the records.
    fn field_place(&self, object: jlong, number: jint) -> Option<usize> {
        let (current, level) = (self.current, self.level);
        if object == 0 || current.tag != object {
            return None;
        }
        let fields = self.classes.all.get(current.class)?.shape.fields.as_ref()?;
        Some(current.at + fields.instance_place(number, level)?)
    }

    /// Handles a primitive field of an object or a class.
    fn primitive(
        &mut self,
        kind: jvmtiHeapReferenceKind,
        number: jint,
        object: jlong,
        of: ValueType,
        bits: u64,
    ) {
        if kind == JVMTI_HEAP_REFERENCE_FIELD {
            if let Some(at) = self.field_place(object, number) {
                self.records.set_bits(at, of, bits);
            }
        } else if kind == JVMTI_HEAP_REFERENCE_STATIC_FIELD {
            let level = self.level;
            let Some(class) = self.classes.find(object) else { return };
            let fields = class.shape.fields.as_ref();
            if let Some(at) = fields.and_then(|it| it.static_place(number, level)) {
                set_bits(&mut class.statics, at, of, bits);
            }
        }
    }
}

unsafe extern "system" fn reference(
    kind: jvmtiHeapReferenceKind,
    info: *const jvmtiHeapReferenceInfo,
    class: jlong,
    referrer_class: jlong,
    size: jlong,
    tag: *mut jlong,
    referrer_tag: *mut jlong,
    length: jint,
    walk: *mut c_void,
) -> jint {
    // SAFETY: this is the walk that runs, which the requesting thread has lent; the tags are those of
    // the objects and may be one and the same place.
    unsafe {
        let walk = &mut *walk.cast::<Walk<'_>>();
        // The class of an object that is visited: it is noted there.
        let target = match kind {
            JVMTI_HEAP_REFERENCE_CLASS => None,
            _ => walk.reached(class, size, &mut *tag, length),
        };
        if !referrer_tag.is_null() {
            walk.edge(kind, info, *referrer_tag, referrer_class, target);
        } else if let Some(id) = target {
            let is_class = class == walk.classes.of_classes
                && walk.classes.find(id.0).is_some_and(|it| !it.is_instance());
            walk.roots.add(kind, info, id, is_class);
        }
    }
    JVMTI_VISIT_OBJECTS
}

unsafe extern "system" fn primitive_field(
    kind: jvmtiHeapReferenceKind,
    info: *const jvmtiHeapReferenceInfo,
    _: jlong,
    tag: *mut jlong,
    value: jvalue,
    of: jvmtiPrimitiveType,
    walk: *mut c_void,
) -> jint {
    // SAFETY: the JVM passes valid pointers, and the walk that was begun with; the value is of the
    // type.
    unsafe {
        let walk = &mut *walk.cast::<Walk<'_>>();
        if let Some(of) = ValueType::of_descriptor(of.0 as u8) {
            walk.primitive(kind, (*info).field.index, *tag, of, of.bits(value));
        }
    }
    JVMTI_VISIT_OBJECTS
}

unsafe extern "system" fn primitive_elements(
    _: jlong,
    _: jlong,
    tag: *mut jlong,
    count: jint,
    of: jvmtiPrimitiveType,
    elements: *const c_void,
    walk: *mut c_void,
) -> jint {
    // SAFETY: the JVM passes valid pointers, and the walk that was begun with; there are `count`
    // elements of the type.
    unsafe {
        let walk = &mut *walk.cast::<Walk<'_>>();
        let Some(of) = ValueType::of_descriptor(of.0 as u8).filter(|_| *tag > 0) else {
            return JVMTI_VISIT_OBJECTS;
        };
        let bytes = count as usize * of.primitive_bytes();
        let elements = match bytes {
            0 => &[][..],
            _ => std::slice::from_raw_parts(elements.cast::<u8>(), bytes),
        };
        walk.records.primitives(Id(*tag), of, count as u32, elements, walk.level);
    }
    JVMTI_VISIT_OBJECTS
}
