//! HEAP_DUMP, which the agent requests.
//!
//! [`shapes`] knows what records of a class look like. A dump begins with the list of the loaded
//! [`classes`], all of which get ids, and with the [`traces`] of the threads. Then one pause of the JVM
//! gives all objects: a [`walk`] of those that can be reached, or a [`list`] of all at level 0. The
//! buffer has the [`roots`], the classes, superclasses first, and the other objects.
//!
//! A class that the agent has no CLASS_LOAD of, as those of arrays, is an instance of
//! `java.lang.Class`. JVMTI does not report the fields of such an instance, so JNI reads them before
//! the pause. What those fields of any class lead to is held by an array of the bridge's meanwhile,
//! from which the walk comes to it.

mod classes;
mod list;
mod records;
mod roots;
pub(crate) mod shapes;
mod shaping;
mod traces;
mod walk;

use std::ffi::c_int;
use std::sync::PoisonError;

use perk_jvmti_sys::jni_sys::jint;
use perk_jvmti_sys::jvmpi::{
    JVMPI_CallTrace, JVMPI_DUMP_LEVEL_0, JVMPI_DUMP_LEVEL_2, JVMPI_EVENT_HEAP_DUMP,
    JVMPI_Event_heap_dump, JVMPI_Event_u, JVMPI_HeapDumpArg,
};

pub(super) use self::classes::DumpClasses;
pub(super) use self::records::{ClassParts, DumpRecords, Level};
pub(super) use self::shapes::{Fields, ObjectKind};

use self::list::ListWalk;
use self::roots::Roots;
use self::traces::Traces;
use self::walk::{OWN, Walk};
use super::threads::critical;
use super::{Bridge, notify, object_dump};
use crate::state::objects::Objects;
use perk_jvm::{Jni, Local, ValueType};

/// Sends HEAP_DUMP. `None` if it cannot.
///
/// # Safety
/// The argument must be the agent's, or null.
pub(super) unsafe fn request(
    bridge: &Bridge,
    jni: Jni<'_>,
    argument: *const JVMPI_HeapDumpArg,
) -> Option<()> {
    // SAFETY: the caller's promise.
    let level = unsafe { argument.as_ref() }.map_or(JVMPI_DUMP_LEVEL_2, |it| it.heap_dump_level);
    let values = Level::of(level);
    if values.is_none() && level != JVMPI_DUMP_LEVEL_0 {
        return None;
    }
    let (classes, objects) =
        notify::quiet(|| DumpClasses::of(bridge, jni, values.unwrap_or(Level::References)));
    // What the list has as prepared is what the agent must know.
    let known = classes.all.iter().zip(&objects).filter(|(class, _)| !class.is_instance());
    known.for_each(|(_, object)| bridge.announce_class(jni, object));
    let Some(values) = values else {
        drop(objects);
        let listed = notify::quiet(|| ListWalk::new(&bridge.objects, classes).run(bridge));
        deliver(jni, level, &mut listed.ok()?.0, &mut []);
        return Some(());
    };
    let mut dump = notify::quiet(|| walked(bridge, jni, values, classes, objects))?;
    object_dump::with_dumped(&dump.classes, || {
        deliver(jni, level, &mut dump.records.0, dump.traces.raw());
    });
    Some(())
}

impl Objects {
    /// Runs `body`, which walks the heap and gives objects ids. Nobody else gives one meanwhile.
    pub(super) fn walk<T>(&self, body: impl FnOnce() -> T) -> T {
        critical(|| {
            let mut walks = self.walks.write().unwrap_or_else(PoisonError::into_inner);
            *walks += 1;
            body()
        })
    }
}

fn deliver(jni: Jni<'_>, level: jint, records: &mut [u8], traces: &mut [JVMPI_CallTrace]) {
    let ends = records.as_mut_ptr_range();
    let heap_dump = JVMPI_Event_heap_dump {
        dump_level: level as c_int,
        begin: ends.start.cast(),
        end: ends.end.cast(),
        num_traces: traces.len() as jint,
        traces: traces.as_mut_ptr(),
    };
    notify::answer(JVMPI_EVENT_HEAP_DUMP, jni.raw(), JVMPI_Event_u { heap_dump });
}

/// A dump of level 1 or 2.
struct Dump {
    records: DumpRecords,
    traces: Traces,
    classes: DumpClasses,
}

/// Walks the heap. `None` if the JVM refuses.
fn walked(
    bridge: &Bridge,
    jni: Jni<'_>,
    level: Level,
    classes: DumpClasses,
    objects: Vec<Local<'_>>,
) -> Option<Dump> {
    let layout = bridge.jvmti.object_layout(jni)?;
    let mut before = DumpRecords::default();
    for (class, object) in classes.all.iter().zip(&objects) {
        if class.is_instance() {
            object_dump::instance(bridge, jni, object, class.shape.id, level, &mut before);
        }
    }
    let held = hold_fields(bridge, jni, &objects);
    drop(objects);
    let traces = Traces::take(bridge, jni);
    let mut walk =
        Walk::new(&bridge.objects, level, classes, Roots::new(&traces, bridge.own_references()));
    let is_walked = walk.run(bridge).is_ok();
    drop(held);
    if !is_walked {
        return None;
    }
    let Walk { classes, roots, mut records, .. } = walk;
    let mut first = roots.records;
    classes.write(&mut first, layout.header_bytes, |end| layout.object_bytes(end));
    first.0.append(&mut before.0);
    records.put_first(&first);
    Some(Dump { records, traces, classes })
}

/// Returns an array with what the fields of classes refer to.
fn hold_fields<'a>(bridge: &Bridge, jni: Jni<'a>, classes: &[Local<'_>]) -> Option<Local<'a>> {
    let class = jni.class_of(classes.first()?)?;
    let mut fields = bridge.jvmti.typed_fields(&class).ok()?;
    fields.retain(|it| !it.is_static && it.of == ValueType::Reference);
    let array = jni.new_object_array(jint::try_from(classes.len() * fields.len()).ok()?)?;
    bridge.jvmti.set_tag(&array, OWN);
    let mut count = 0;
    for (class, field) in classes.iter().flat_map(|it| fields.iter().map(move |of| (it, of))) {
        // SAFETY: the field is one of java.lang.Class and holds references; the array has an element
        // for each.
        unsafe {
            if let Some(value) = jni.field_object(class, field) {
                jni.set_element(&array, count, &value);
                count += 1;
            }
        }
    }
    Some(array)
}
