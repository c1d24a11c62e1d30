//! The functions of JNI and JVMTI for native methods that deal with classes and their fields.

use std::ops::RangeInclusive;
use std::ptr::null_mut;

use perk_instrument::ClassFile;
use perk_jvmti_sys::jni_sys::jint;
use perk_jvmti_sys::{call, jvmtiError};
use perk_profile::mutf8;

use crate::{Jni, Jvmti, Local, ObjectRef, Reference, StackFrame};

/// The length limit of names that are looked at, in characters: perk's names are shorter.
const LONGEST_NAME: usize = 40;

/// The opcodes of the instructions that call a method, from `invokevirtual` to `invokeinterface`.
const CALLS: RangeInclusive<u8> = 0xb6..=0xb9;

/// A class file up to its constants: the magic number and a version.
const BEGINNING: [u8; 8] = [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52];

/// The rest of a class file in which everything but the constants is 0.
const END: [u8; 14] = [0; 14];

impl Jvmti {
    /// Returns the class and the name of the method that the instruction calls that a frame is at;
    /// `None` if it does not name one.
    pub fn called_method(self, jni: Jni<'_>, frame: StackFrame) -> Option<[String; 2]> {
        let (mut count, mut bytecodes) = (0, null_mut());
        // SAFETY: the environment is valid, the method id came from the JVM; the array has `count`
        // bytes and is ours to free.
        let constant = unsafe {
            let place = usize::try_from(frame.bci).ok()?;
            let (env, method) = (self.raw(), frame.method.0);
            call!(env, GetBytecodes, method, &mut count, &mut bytecodes).ok().ok()?;
            let instruction = self.slice(count, bytecodes).get(place..place + 3);
            let constant = instruction.filter(|it| CALLS.contains(&it[0]));
            let constant = constant.map(|it| u16::from_be_bytes([it[1], it[2]]));
            self.free(bytecodes);
            constant?
        };
        let class = self.class_of_constants(&self.declaring_class(jni, frame.method).ok()?)?;
        let class = ClassFile::parse(&class).ok()?;
        let called = class.pool().member_ref(constant).ok()?;
        Some([called.class, called.name].map(|text| mutf8::decode(text).into_owned()))
    }

    /// Returns a class file that has the constants of a class and nothing else.
    fn class_of_constants(self, class: &(impl Reference + ?Sized)) -> Option<Vec<u8>> {
        let (mut count, mut length, mut constants) = (0, 0, null_mut());
        // SAFETY: the environment and reference are valid; the array has `length` bytes and is ours
        // to free.
        unsafe {
            let (env, class) = (self.raw(), class.raw());
            call!(env, GetConstantPool, class, &mut count, &mut length, &mut constants)
                .ok()
                .ok()?;
            let count = u16::try_from(count).ok()?.to_be_bytes();
            let file = [&BEGINNING[..], &count, self.slice(length, constants), &END].concat();
            self.free(constants);
            Some(file)
        }
    }

    /// Returns the interfaces that a class names.
    pub fn interfaces<'a>(
        self,
        jni: Jni<'a>,
        class: &(impl Reference + ?Sized),
    ) -> Result<Vec<Local<'a>>, jvmtiError> {
        let (mut count, mut interfaces) = (0, null_mut());
        // SAFETY: the environment and reference are valid; the array and its references are ours.
        unsafe {
            let (env, class) = (self.raw(), class.raw());
            call!(env, GetImplementedInterfaces, class, &mut count, &mut interfaces).ok()?;
            Ok(self.take_references(jni, count, interfaces))
        }
    }
}

impl<'a> Jni<'a> {
    /// Whether objects of a class are objects of another one, too.
    pub fn is_subclass(
        self,
        class: &(impl Reference + ?Sized),
        of: &(impl Reference + ?Sized),
    ) -> bool {
        let env = self.raw();
        // SAFETY: the environment is this thread's, the references are valid.
        unsafe { ((**env).v1_1.IsAssignableFrom)(env, class.raw(), of.raw()) }
    }

    /// Returns a part of an array of bytes; `None` if it does not have that.
    ///
    /// # Safety
    /// The array must be one of bytes.
    pub unsafe fn bytes_of(
        self,
        array: &ObjectRef<'_>,
        offset: jint,
        length: jint,
    ) -> Option<Vec<u8>> {
        let env = self.raw();
        let mut bytes = vec![0_u8; usize::try_from(length).ok()?];
        // SAFETY: the environment is this thread's; the caller's promise; there is room for the part,
        // and JNI checks whether the array has it.
        unsafe {
            let to = bytes.as_mut_ptr().cast();
            ((**env).v1_1.GetByteArrayRegion)(env, array.raw(), offset, length, to);
        }
        let is_whole = !self.is_throwing();
        self.clear_exception();
        is_whole.then_some(bytes)
    }

    /// Returns a new array of these bytes.
    pub fn array_of_bytes(self, bytes: &[u8]) -> Option<Local<'a>> {
        let (env, length) = (self.raw(), jint::try_from(bytes.len()).ok()?);
        // SAFETY: the environment is this thread's; the new reference is ours, and the array is as
        // long as the bytes.
        unsafe {
            let array = self.checked(((**env).v1_2.NewByteArray)(env, length))?;
            let from = bytes.as_ptr().cast();
            ((**env).v1_1.SetByteArrayRegion)(env, array.raw(), 0, length, from);
            Some(array)
        }
    }

    /// Returns an array of `java.lang.reflect.Field` without the fields of the names that are left
    /// out; `None` if the array has none of these.
    ///
    /// # Safety
    /// The array must be one of fields, and the thread must have no exception.
    pub unsafe fn without_fields(
        self,
        fields: &ObjectRef<'_>,
        is_left_out: impl Fn(&str) -> bool,
    ) -> Option<Local<'a>> {
        let env = self.raw();
        // SAFETY: the environment is this thread's; the caller's promise; indexes are below the
        // array's length, new references are ours.
        unsafe {
            let count = ((**env).v1_1.GetArrayLength)(env, fields.raw());
            let get = (**env).v1_1.GetObjectArrayElement;
            let field = |index| Local::from_raw(self, get(env, fields.raw(), index));
            if count == 0 {
                return None;
            }
            let class = self.class_of(&field(0)?)?;
            let signature = c"Ljava/lang/String;".as_ptr();
            let find = (**env).v1_1.GetFieldID;
            let name_field = find(env, class.raw(), c"name".as_ptr(), signature);
            if name_field.is_null() {
                self.clear_exception();
                return None;
            }
            let is_kept = |index: &jint| {
                let Some(field) = field(*index) else { return true };
                let name = ((**env).v1_1.GetObjectField)(env, field.raw(), name_field);
                let name = Local::from_raw(self, name).and_then(|name| self.short_text(&name));
                !name.is_some_and(|name| is_left_out(&name))
            };
            let kept: Vec<_> = (0..count).filter(is_kept).collect();
            let kept_count = kept.len() as jint;
            if kept_count == count {
                return None;
            }
            let new = (**env).v1_2.NewObjectArray;
            let others = self.checked(new(env, kept_count, class.raw(), null_mut()))?;
            for (at, index) in (0..).zip(kept) {
                let field = field(index)?;
                ((**env).v1_1.SetObjectArrayElement)(env, others.raw(), at, field.raw());
            }
            Some(others)
        }
    }

    /// Returns a string of at most [`LONGEST_NAME`] characters.
    ///
    /// # Safety
    /// The object must be a string.
    unsafe fn short_text(self, string: &Local<'_>) -> Option<String> {
        let env = self.raw();
        // SAFETY: the environment is this thread's; the caller's promise; there is room for this many
        // characters.
        unsafe {
            let length = ((**env).v1_1.GetStringLength)(env, string.raw());
            let mut text = [0; LONGEST_NAME];
            let text = text.get_mut(..usize::try_from(length).ok()?)?;
            ((**env).v1_2.GetStringRegion)(env, string.raw(), 0, length, text.as_mut_ptr());
            String::from_utf16(text).ok()
        }
    }
}
