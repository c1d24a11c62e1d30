//! OBJECT_DUMP, which the agent requests: one object, read by JNI, as level 2 of a heap dump has it.
//!
//! JNI does not give the signers of a class, its protection domain and the resolved constants of its
//! pool. Inside a handler of HEAP_DUMP they are those of that dump, so that agents can request many
//! classes there. Elsewhere the JVM reports them in a pause.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null_mut;

use perk_jvmti_sys::jni_sys::{jint, jlong};
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_OBJECT_DUMP, JVMPI_Event_object_dump, JVMPI_Event_u, jobjectID,
};
use perk_jvmti_sys::{
    JVMTI_HEAP_REFERENCE_CONSTANT_POOL, JVMTI_HEAP_REFERENCE_PROTECTION_DOMAIN,
    JVMTI_HEAP_REFERENCE_SIGNERS, call, jvmtiHeapCallbacks, jvmtiHeapReferenceInfo,
    jvmtiHeapReferenceKind,
};

use super::heap_dump::{ClassParts, DumpClasses, DumpRecords, Fields, Level, ObjectKind};
use super::{Bridge, Id, notify};
use crate::state::objects::Objects;
use perk_jvm::{Jni, Reference, TypedField, ValueType};

thread_local! {
    /// The classes of the heap dump whose handler the thread is in; they live as long.
    static DUMPED: Cell<*const DumpClasses> = const { Cell::new(std::ptr::null()) };
}

/// Runs `body`, a handler of a heap dump with these classes.
pub(super) fn with_dumped(classes: &DumpClasses, body: impl FnOnce()) {
    let outer = DUMPED.replace(classes);
    body();
    DUMPED.set(outer);
}

/// Sends OBJECT_DUMP of an object. `None` if there is no such object.
pub(super) fn request(bridge: &Bridge, jni: Jni<'_>, id: jobjectID) -> Option<()> {
    let id = Id::from_raw(id)?;
    let object = bridge.object(jni, id)?;
    let class = notify::quiet(|| jni.class_of(&object))?;
    bridge.announce_class(jni, &class);
    if notify::quiet(|| is_class(jni, &class)) {
        bridge.announce_class(jni, &object);
    }
    let mut data = notify::quiet(|| {
        let mut records = DumpRecords::default();
        record(bridge, jni, &object, id, &mut records)?;
        Some(records.0)
    })?;
    drop((object, class));
    let object_dump = JVMPI_Event_object_dump {
        data_len: jint::try_from(data.len()).ok()?,
        data: data.as_mut_ptr().cast(),
    };
    notify::answer(JVMPI_EVENT_OBJECT_DUMP, jni.raw(), JVMPI_Event_u { object_dump });
    Some(())
}

/// Whether a class is `java.lang.Class`, which is the class of itself.
pub(super) fn is_class(jni: Jni<'_>, class: &(impl Reference + ?Sized)) -> bool {
    jni.class_of(class).is_some_and(|it| jni.same(&it, class))
}

/// Writes an object's record.
fn record(
    bridge: &Bridge,
    jni: Jni<'_>,
    object: &(impl Reference + ?Sized),
    id: Id,
    records: &mut DumpRecords,
) -> Option<()> {
    let class = jni.class_of(object)?;
    if is_class(jni, &class)
        && let Some(fields) = &bridge.shape(jni, object).fields
    {
        return class_record(bridge, jni, object, id, fields, records);
    }
    let shape = bridge.shape(jni, &class);
    match shape.kind {
        ObjectKind::Instance => {
            instance(bridge, jni, object, id, Level::Whole, records);
        }
        ObjectKind::Objects(element) => {
            // SAFETY: it is an array of objects; indexes are below its length.
            unsafe {
                let length = jni.array_length(object);
                let mut at = records.begin_objects(id, element, length as u32);
                for index in 0..length {
                    let value = jni.element(object, index);
                    let value = value.map(|it| bridge.objects.id(bridge.jvmti, &it));
                    records.set_id(at, value);
                    at += Level::Whole.value_bytes(ValueType::Reference);
                }
            }
        }
        ObjectKind::Primitives(of) => {
            // SAFETY: it is an array of this type.
            let elements = unsafe {
                let length = jni.array_length(object);
                (length as u32, jni.elements(object, of, length))
            };
            records.primitives(id, of, elements.0, &elements.1, Level::Whole);
        }
    }
    Some(())
}

/// Writes the record of an object that is no array, from the fields of its class. Nothing is written
/// if that is not prepared.
pub(super) fn instance(
    bridge: &Bridge,
    jni: Jni<'_>,
    object: &(impl Reference + ?Sized),
    id: Id,
    level: Level,
    records: &mut DumpRecords,
) {
    let Some(class) = jni.class_of(object) else { return };
    let shape = bridge.shape(jni, &class);
    let Some(fields) = &shape.fields else { return };
    let at = records.begin_instance(id, shape.id, fields.instance_bytes(level));
    let values = fields.with_inherited().flat_map(|it| &it.declared).filter(|it| !it.is_static);
    // SAFETY: the fields are those of the object's class and its superclasses.
    unsafe { write_values(bridge, jni, object, values, level, at, records) };
}

/// Writes the values of fields, from a place on.
///
/// # Safety
/// The fields must be the object's, or static ones of the class that is passed as the object.
unsafe fn write_values<'a>(
    bridge: &Bridge,
    jni: Jni<'_>,
    object: &(impl Reference + ?Sized),
    fields: impl Iterator<Item = &'a TypedField>,
    level: Level,
    mut at: usize,
    records: &mut DumpRecords,
) {
    for field in fields {
        // SAFETY: the caller's promise.
        unsafe {
            if field.of == ValueType::Reference {
                let value = jni.field_object(object, field);
                records.set_id(at, value.map(|it| bridge.objects.id(bridge.jvmti, &it)));
            } else if level == Level::Whole {
                records.set_bits(at, field.of, jni.field_bits(object, field));
            }
        }
        at += level.value_bytes(field.of);
    }
}

/// Writes the record of a class.
fn class_record(
    bridge: &Bridge,
    jni: Jni<'_>,
    class: &(impl Reference + ?Sized),
    id: Id,
    fields: &Fields,
    records: &mut DumpRecords,
) -> Option<()> {
    let layout = bridge.jvmti.object_layout(jni)?;
    let dumped = DUMPED.get();
    // SAFETY: the classes live as long as the handler that the thread is in.
    let dumped = unsafe { dumped.as_ref() }.and_then(|it| it.get(id));
    let loader = bridge.jvmti.class_loader(jni, class).ok()?;
    let loader = loader.map(|it| bridge.objects.id(bridge.jvmti, &it));
    let computed = layout.object_bytes(fields.end_bytes(layout.header_bytes)) as u32;
    let edges = match dumped {
        Some(_) => ClassReferences::default(),
        None => ClassReferences::of(bridge, class),
    };
    let (constants, signers, protection_domain, instance_bytes) = match dumped {
        Some(it) => (&it.constants, it.signers, it.protection_domain, it.instance_bytes),
        None => (&edges.constants, edges.signers, edges.protection_domain, 0),
    };
    let parts = ClassParts {
        class: id,
        superclass: fields.superclass.as_ref().map(|it| it.id),
        loader,
        signers,
        protection_domain,
        instance_bytes: if instance_bytes > 0 { instance_bytes } else { computed },
        interfaces: &fields.interfaces,
        constants,
    };
    let at = records.begin_class(&parts, fields.statics_bytes(Level::Whole));
    let statics = fields.declared.iter().filter(|it| it.is_static);
    // SAFETY: the fields are those that the class declares.
    unsafe { write_values(bridge, jni, class, statics, Level::Whole, at, records) };
    Some(())
}

/// The references of a class that only the JVM's report has.
#[derive(Default)]
struct ClassReferences<'a> {
    objects: Option<&'a Objects>,
    signers: Option<Id>,
    protection_domain: Option<Id>,
    constants: Vec<(u16, Id)>,
}

impl<'a> ClassReferences<'a> {
    /// Makes the JVM report them. Objects that have no id get one.
    fn of(bridge: &'a Bridge, class: &(impl Reference + ?Sized)) -> Self {
        let mut edges = ClassReferences { objects: Some(&bridge.objects), ..Self::default() };
        let callbacks =
            jvmtiHeapCallbacks { heap_reference_callback: Some(edge), ..Default::default() };
        let (env, argument) = (bridge.jvmti.raw(), std::ptr::from_mut(&mut edges).cast());
        bridge.objects.walk(|| {
            // SAFETY: the environment and reference are valid; the callback is passed the edges and
            // does not call the JVM.
            unsafe {
                call!(env, FollowReferences, 0, null_mut(), class.raw(), &callbacks, argument)
            }
        });
        edges
    }
}

/// Notes a reference of the class; what it leads to is not followed.
unsafe extern "system" fn edge(
    kind: jvmtiHeapReferenceKind,
    info: *const jvmtiHeapReferenceInfo,
    _: jlong,
    _: jlong,
    _: jlong,
    tag: *mut jlong,
    _: *mut jlong,
    _: jint,
    edges: *mut c_void,
) -> jint {
    // SAFETY: these are the edges that the requesting thread has lent; the tag is the object's, and an
    // entry of the constant pool has its number.
    unsafe {
        let edges = &mut *edges.cast::<ClassReferences<'_>>();
        let Some(objects) = edges.objects else { return 0 };
        let id = || {
            if *tag == 0 {
                *tag = objects.next().0;
            }
            objects.publish(Id(*tag));
            Id(*tag)
        };
        match kind {
            JVMTI_HEAP_REFERENCE_SIGNERS => edges.signers = Some(id()),
            JVMTI_HEAP_REFERENCE_PROTECTION_DOMAIN => edges.protection_domain = Some(id()),
            JVMTI_HEAP_REFERENCE_CONSTANT_POOL => {
                edges.constants.push(((*info).constant_pool.index as u16, id()));
            }
            _ => {}
        }
    }
    0
}
