//! The fields in which objects hold the index of their record.

use perk_jvmti_sys::jni_sys::jvalue;
use perk_profile::ClassId;
use rustc_hash::FxHashMap;

use crate::jvm::{IntField, Jni, Jvmti, Reference};

/// The field of a class's objects, declared by the class or a superclass.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordField {
    field: IntField,
    /// The offset in an object, in bytes; not 0.
    pub(super) offset: u32,
}

/// The fields of the classes. Classes of different loaders can have the same name, but different
/// fields.
#[derive(Debug, Default)]
pub(super) struct RecordFields {
    by_offset: FxHashMap<(ClassId, u32), IntField>,
    /// Whether all classes of the name have the field.
    is_with: FxHashMap<ClassId, bool>,
}

impl RecordFields {
    /// Adds the field of a class, or that it does not have one.
    pub(super) fn add(&mut self, class: ClassId, field: Option<RecordField>) {
        *self.is_with.entry(class).or_insert(true) &= field.is_some();
        if let Some(RecordField { field, offset }) = field {
            self.by_offset.insert((class, offset), field);
        }
    }

    /// Returns the field at an offset.
    pub(super) fn get(&self, class: ClassId, offset: u32) -> Option<IntField> {
        self.by_offset.get(&(class, offset)).copied()
    }

    /// Returns whether objects have the field, by the number of their class.
    pub(super) fn by_number(&self) -> Vec<bool> {
        let mut has_field = Vec::new();
        for (class, is_with) in &self.is_with {
            *crate::recorder::entry(&mut has_field, class.index() + 1) = *is_with;
        }
        has_field
    }
}

/// Finds the field of a class, by the class's name; objects of the class exist.
pub(super) fn find(
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
