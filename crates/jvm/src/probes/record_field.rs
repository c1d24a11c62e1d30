//! The field in which objects hold the index of their record.

use perk_instrument::Names;
use perk_instrument::fields::OBJECT_RECORD;
use perk_jvmti_sys::jni_sys::jvalue;

use crate::{IntField, Jni, Jvmti, ObjectRef, Reference};

/// The field of a class's objects, declared by the class or a superclass.
#[derive(Clone, Copy, Debug)]
pub struct RecordField {
    /// The field.
    pub field: IntField,
    /// The offset in an object, in bytes; not 0.
    pub offset: u32,
}

/// Whether the objects of a class that is redefined hold the field, which the class must keep;
/// `None` for a new class.
pub fn kept_record(jvmti: Jvmti, names: Names, redefined: Option<ObjectRef<'_>>) -> Option<bool> {
    let field = jvmti.declared_int_field(&redefined?, &names.of(OBJECT_RECORD));
    // A class for which the JVM does not report this is treated as a new one.
    Some(field.map_or(true, |field| field.is_some()))
}

/// Finds the field of a class, by the class's name; objects of the class exist.
pub fn find(
    jvmti: Jvmti,
    jni: Jni<'_>,
    helper: &dyn Reference,
    class: &(impl Reference + ?Sized),
    name: &str,
) -> Option<RecordField> {
    if let Ok(Some(field)) = jvmti.declared_int_field(class, name) {
        let arguments = [jvalue { l: class.raw() }];
        let signature = c"(Ljava/lang/Class;)J";
        // SAFETY: the arguments are those of the helper's method.
        let offset = unsafe { jni.call_static_long(helper, c"offset", signature, &arguments) };
        let offset = u32::try_from(offset?).ok().filter(|&offset| offset != 0)?;
        return Some(RecordField { field, offset });
    }
    let superclass = jni.superclass(class)?;
    find(jvmti, jni, helper, &superclass, name)
}
