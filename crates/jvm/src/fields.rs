//! Fields of objects, as far as the agent reads and writes them.

use std::ffi::CStr;

use perk_jvmti_sys::jni_sys::jfieldID;

use crate::{Jni, Local, Reference};

/// The bits of a field's id below the offset.
const FIELD_BITS: u32 = 2;

impl<'a> Jni<'a> {
    /// Returns a `long` field of a class's objects.
    pub fn long_field(self, class: &(impl Reference + ?Sized), name: &CStr) -> Option<LongField> {
        // SAFETY: the environment is this thread's, the reference valid; the names end in NUL.
        let field = unsafe {
            ((**self.raw()).v1_1.GetFieldID)(self.raw(), class.raw(), name.as_ptr(), c"J".as_ptr())
        };
        self.clear_exception();
        (!field.is_null()).then_some(LongField(field))
    }

    /// Returns the offset of a field in a class's objects, in bytes.
    pub fn field_offset(
        self,
        class: &(impl Reference + ?Sized),
        name: &CStr,
        descriptor: &CStr,
    ) -> Option<usize> {
        // SAFETY: the environment is this thread's, the reference valid; the texts end in NUL.
        let field = unsafe {
            let get = (**self.raw()).v1_1.GetFieldID;
            get(self.raw(), class.raw(), name.as_ptr(), descriptor.as_ptr())
        };
        self.clear_exception();
        (!field.is_null()).then(|| LongField(field).offset())
    }

    /// Returns the value of a field.
    ///
    /// # Safety
    /// The field must be one of the object's class.
    pub unsafe fn get_long(self, object: &(impl Reference + ?Sized), field: LongField) -> i64 {
        // SAFETY: the environment is this thread's, the reference valid; the caller's promise.
        unsafe { ((**self.raw()).v1_1.GetLongField)(self.raw(), object.raw(), field.0) }
    }

    /// Sets a field.
    ///
    /// # Safety
    /// The field must be one of the object's class.
    pub unsafe fn set_long(self, object: &(impl Reference + ?Sized), field: LongField, value: i64) {
        // SAFETY: the environment is this thread's, the reference valid; the caller's promise.
        unsafe { ((**self.raw()).v1_1.SetLongField)(self.raw(), object.raw(), field.0, value) }
    }

    /// Returns a field of a class's objects that holds references.
    pub fn object_field(
        self,
        class: &(impl Reference + ?Sized),
        name: &CStr,
        signature: &CStr,
    ) -> Option<ObjectField> {
        let env = self.raw();
        // SAFETY: the environment is this thread's, the reference valid; the names end in NUL.
        let field = unsafe {
            ((**env).v1_1.GetFieldID)(env, class.raw(), name.as_ptr(), signature.as_ptr())
        };
        self.clear_exception();
        (!field.is_null()).then_some(ObjectField(field))
    }

    /// Returns the value of a field; `None` for null.
    ///
    /// # Safety
    /// The field must be one of the object's class.
    pub unsafe fn get_object(
        self,
        object: &(impl Reference + ?Sized),
        field: ObjectField,
    ) -> Option<Local<'a>> {
        let env = self.raw();
        // SAFETY: the environment is this thread's, the reference valid, the new one is ours; the
        // caller's promise.
        unsafe { Local::from_raw(self, ((**env).v1_1.GetObjectField)(env, object.raw(), field.0)) }
    }

    /// Sets a field.
    ///
    /// # Safety
    /// The field must be one of the object's class, and the value of the field's type.
    pub unsafe fn set_object(
        self,
        object: &(impl Reference + ?Sized),
        field: ObjectField,
        value: Option<&dyn Reference>,
    ) {
        let value = value.map_or(std::ptr::null_mut(), Reference::raw);
        let env = self.raw();
        // SAFETY: the environment is this thread's, the references are valid; the caller's promise.
        unsafe { ((**env).v1_1.SetObjectField)(env, object.raw(), field.0, value) }
    }

    /// Returns the value of a static field of a class that holds references; `None` for null, and if
    /// there is no such field.
    pub fn static_object(
        self,
        class: &(impl Reference + ?Sized),
        name: &CStr,
        signature: &CStr,
    ) -> Option<Local<'a>> {
        let env = self.raw();
        // SAFETY: the environment is this thread's, the reference valid, the names end in NUL; the
        // new reference is ours.
        unsafe {
            let find = (**env).v1_1.GetStaticFieldID;
            let field = find(env, class.raw(), name.as_ptr(), signature.as_ptr());
            self.clear_exception();
            if field.is_null() {
                return None;
            }
            Local::from_raw(self, ((**env).v1_1.GetStaticObjectField)(env, class.raw(), field))
        }
    }

    /// Returns a new object of a class whose constructor has not run.
    pub fn allocate(self, class: &(impl Reference + ?Sized)) -> Option<Local<'a>> {
        let env = self.raw();
        // SAFETY: the environment is this thread's, the reference valid; the new one is ours.
        unsafe { self.checked(((**env).v1_1.AllocObject)(env, class.raw())) }
    }
}

/// A field of type `long`.
#[derive(Clone, Copy, Debug)]
pub struct LongField(jfieldID);

impl LongField {
    /// Returns the offset in objects, in bytes.
    pub fn offset(self) -> usize {
        offset(self.0)
    }
}

/// Returns the offset of an instance's field, in bytes, which is the id without the bits for its
/// kind.
pub(super) fn offset(id: jfieldID) -> usize {
    id as usize >> FIELD_BITS
}

// SAFETY: only the JVM looks into a field id.
unsafe impl Send for LongField {}
// SAFETY: only the JVM looks into a field id.
unsafe impl Sync for LongField {}

/// A field that holds references.
#[derive(Clone, Copy, Debug)]
pub struct ObjectField(jfieldID);

// SAFETY: only the JVM looks into a field id.
unsafe impl Send for ObjectField {}
// SAFETY: only the JVM looks into a field id.
unsafe impl Sync for ObjectField {}
