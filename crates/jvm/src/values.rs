//! The values of fields and of elements of arrays, by their types.

use std::ptr::null_mut;

use perk_jvmti_sys::jni_sys::{jclass, jfieldID, jint, jvalue};
use perk_jvmti_sys::{call, jvmtiError};

use crate::{Jni, Jvmti, Local, Reference};

/// The modifier of a static field (JVM specification, table 4.5-A).
const STATIC: jint = 0x0008;

/// The type of a field or element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// `boolean`
    Boolean,
    /// `byte`
    Byte,
    /// `char`
    Char,
    /// `short`
    Short,
    /// `int`
    Int,
    /// `float`
    Float,
    /// `long`
    Long,
    /// `double`
    Double,
    /// An object or array.
    Reference,
}

impl ValueType {
    /// Returns the type of a descriptor by its first byte, which is also JVMTI's number of it.
    pub fn of_descriptor(first: u8) -> Option<Self> {
        Some(match first {
            b'Z' => Self::Boolean,
            b'B' => Self::Byte,
            b'C' => Self::Char,
            b'S' => Self::Short,
            b'I' => Self::Int,
            b'F' => Self::Float,
            b'J' => Self::Long,
            b'D' => Self::Double,
            b'L' | b'[' => Self::Reference,
            _ => return None,
        })
    }

    /// Returns the size of a primitive value in bytes; 0 for a reference.
    pub fn primitive_bytes(self) -> usize {
        match self {
            Self::Boolean | Self::Byte => 1,
            Self::Char | Self::Short => 2,
            Self::Int | Self::Float => 4,
            Self::Long | Self::Double => 8,
            Self::Reference => 0,
        }
    }

    /// Returns the bits of a primitive value; those above its size mean nothing.
    ///
    /// # Safety
    /// The value must be of the type.
    pub unsafe fn bits(self, value: jvalue) -> u64 {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Boolean | Self::Byte => value.b as u64,
                Self::Char => u64::from(value.c),
                Self::Short => value.s as u64,
                Self::Int | Self::Float => value.i as u64,
                Self::Long | Self::Double => value.j as u64,
                Self::Reference => 0,
            }
        }
    }
}

/// A field that a class declares.
#[derive(Clone, Copy, Debug)]
pub struct TypedField {
    id: jfieldID,
    /// Whether the field is static.
    pub is_static: bool,
    /// The type of its value.
    pub of: ValueType,
}

// SAFETY: only the JVM looks into a field id.
unsafe impl Send for TypedField {}
// SAFETY: only the JVM looks into a field id.
unsafe impl Sync for TypedField {}

impl TypedField {
    /// Returns the offset of an instance's field, in bytes.
    pub fn offset(&self) -> usize {
        crate::fields::offset(self.id)
    }
}

impl Jvmti {
    /// Returns the fields that a class declares, in JVMTI's order; an error if the class is not
    /// prepared.
    pub fn typed_fields(
        self,
        class: &(impl Reference + ?Sized),
    ) -> Result<Vec<TypedField>, jvmtiError> {
        let (mut count, mut fields): (_, *mut jfieldID) = (0, null_mut());
        let class: jclass = class.raw();
        // SAFETY: the environment and reference are valid; the array has `count` fields of the class;
        // it and the strings are ours to free.
        unsafe {
            call!(self.raw(), GetClassFields, class, &mut count, &mut fields).ok()?;
            let typed = |id: &jfieldID| {
                let (mut flags, mut descriptor) = (0, null_mut());
                let (env, no_text) = (self.raw(), null_mut());
                call!(env, GetFieldModifiers, class, *id, &mut flags).ok()?;
                call!(env, GetFieldName, class, *id, no_text, &mut descriptor, no_text).ok()?;
                let of = ValueType::of_descriptor(*descriptor.cast::<u8>())
                    .unwrap_or(ValueType::Reference);
                self.free(descriptor);
                Ok(TypedField { id: *id, is_static: flags & STATIC != 0, of })
            };
            let found = self.slice(count, fields).iter().map(typed).collect();
            self.free(fields);
            found
        }
    }
}

impl<'a> Jni<'a> {
    /// Returns the bits of a primitive field, 0 if it holds a reference; those above its size mean
    /// nothing.
    ///
    /// # Safety
    /// The field must be the object's, or a static one of the class that is passed as the object.
    pub unsafe fn field_bits(self, object: &(impl Reference + ?Sized), field: &TypedField) -> u64 {
        let (env, it, id) = (self.raw(), object.raw(), field.id);
        // SAFETY: the environment is this thread's, the reference valid; the caller's promise.
        unsafe {
            let functions = &(**env).v1_1;
            match (field.of, field.is_static) {
                (ValueType::Boolean, false) => u64::from((functions.GetBooleanField)(env, it, id)),
                (ValueType::Byte, false) => (functions.GetByteField)(env, it, id) as u64,
                (ValueType::Char, false) => u64::from((functions.GetCharField)(env, it, id)),
                (ValueType::Short, false) => (functions.GetShortField)(env, it, id) as u64,
                (ValueType::Int, false) => (functions.GetIntField)(env, it, id) as u64,
                (ValueType::Float, false) => {
                    u64::from((functions.GetFloatField)(env, it, id).to_bits())
                }
                (ValueType::Long, false) => (functions.GetLongField)(env, it, id) as u64,
                (ValueType::Double, false) => (functions.GetDoubleField)(env, it, id).to_bits(),
                (ValueType::Boolean, true) => {
                    u64::from((functions.GetStaticBooleanField)(env, it, id))
                }
                (ValueType::Byte, true) => (functions.GetStaticByteField)(env, it, id) as u64,
                (ValueType::Char, true) => u64::from((functions.GetStaticCharField)(env, it, id)),
                (ValueType::Short, true) => (functions.GetStaticShortField)(env, it, id) as u64,
                (ValueType::Int, true) => (functions.GetStaticIntField)(env, it, id) as u64,
                (ValueType::Float, true) => {
                    u64::from((functions.GetStaticFloatField)(env, it, id).to_bits())
                }
                (ValueType::Long, true) => (functions.GetStaticLongField)(env, it, id) as u64,
                (ValueType::Double, true) => {
                    (functions.GetStaticDoubleField)(env, it, id).to_bits()
                }
                (ValueType::Reference, _) => 0,
            }
        }
    }

    /// Returns the object that a field holds; `None` for null.
    ///
    /// # Safety
    /// As for [`Jni::field_bits`]; the field must hold references.
    pub unsafe fn field_object(
        self,
        object: &(impl Reference + ?Sized),
        field: &TypedField,
    ) -> Option<Local<'a>> {
        let (env, it, id) = (self.raw(), object.raw(), field.id);
        // SAFETY: the environment is this thread's, the reference valid, the new one is ours; the
        // caller's promise.
        unsafe {
            let get = match field.is_static {
                true => (**env).v1_1.GetStaticObjectField,
                false => (**env).v1_1.GetObjectField,
            };
            Local::from_raw(self, get(env, it, id))
        }
    }

    /// Returns an element of an array of objects; `None` for null.
    ///
    /// # Safety
    /// The object must be an array of objects, and have the element.
    pub unsafe fn element(
        self,
        array: &(impl Reference + ?Sized),
        index: jint,
    ) -> Option<Local<'a>> {
        let env = self.raw();
        // SAFETY: the environment is this thread's, the reference valid, the new one is ours; the
        // caller's promise.
        unsafe {
            let get = (**env).v1_1.GetObjectArrayElement;
            Local::from_raw(self, get(env, array.raw(), index))
        }
    }

    /// Sets an element of an array.
    ///
    /// # Safety
    /// The object must be an `Object[]`, and have the element.
    pub unsafe fn set_element(
        self,
        array: &(impl Reference + ?Sized),
        index: jint,
        value: &(impl Reference + ?Sized),
    ) {
        let env = self.raw();
        // SAFETY: the environment is this thread's, the references are valid; the caller's promise.
        unsafe { ((**env).v1_1.SetObjectArrayElement)(env, array.raw(), index, value.raw()) }
    }

    /// Returns the elements of an array of primitives, in the machine's order of bytes.
    ///
    /// # Safety
    /// The object must be an array of this type and length.
    pub unsafe fn elements(
        self,
        array: &(impl Reference + ?Sized),
        of: ValueType,
        length: jint,
    ) -> Vec<u8> {
        let count = usize::try_from(length).unwrap_or(0);
        let (env, it) = (self.raw(), array.raw());
        let mut bytes = vec![0_u8; count * of.primitive_bytes()];
        let to = bytes.as_mut_ptr();
        // SAFETY: the environment is this thread's, the reference valid; there is room for the
        // elements, which the JVM copies byte by byte; the caller's promise.
        unsafe {
            let functions = &(**env).v1_1;
            match of {
                ValueType::Boolean => {
                    (functions.GetBooleanArrayRegion)(env, it, 0, length, to.cast());
                }
                ValueType::Byte => (functions.GetByteArrayRegion)(env, it, 0, length, to.cast()),
                ValueType::Char => (functions.GetCharArrayRegion)(env, it, 0, length, to.cast()),
                ValueType::Short => (functions.GetShortArrayRegion)(env, it, 0, length, to.cast()),
                ValueType::Int => (functions.GetIntArrayRegion)(env, it, 0, length, to.cast()),
                ValueType::Float => (functions.GetFloatArrayRegion)(env, it, 0, length, to.cast()),
                ValueType::Long => (functions.GetLongArrayRegion)(env, it, 0, length, to.cast()),
                ValueType::Double => {
                    (functions.GetDoubleArrayRegion)(env, it, 0, length, to.cast())
                }
                ValueType::Reference => {}
            }
        }
        bytes
    }
}
