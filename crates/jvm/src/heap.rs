//! The JVM's reports on its heap and on the sizes of objects.

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

use perk_hotspot::layout;
use perk_jvmti_sys::jni_sys::{jclass, jfieldID, jint, jlong, jmethodID, jobject};
use perk_jvmti_sys::{
    JVMTI_HEAP_FILTER_UNTAGGED, JVMTI_VISIT_OBJECTS, call, jthread, jvmtiError, jvmtiHeapCallbacks,
    jvmtiHeapReferenceInfo, jvmtiHeapReferenceKind,
};

use crate::{Jni, Jvmti, Local, MethodRef, ObjectRef, Reference};

/// A tag that no class and no thread has, for objects that a walk finds.
pub const FOUND: jlong = -1;

/// Modifiers of fields (JVM specification, table 4.5-A).
const STATIC: i32 = 0x0008;
const FINAL: i32 = 0x0010;
const VOLATILE: i32 = 0x0040;

/// A new object or array, and the thread that it was made for.
#[derive(Clone, Copy, Debug)]
pub struct NewObject<'a> {
    /// The thread that made it.
    pub thread: ObjectRef<'a>,
    /// The object.
    pub object: ObjectRef<'a>,
    /// Its class.
    pub class: ObjectRef<'a>,
    /// Its size.
    pub size_bytes: u64,
}

impl<'a> NewObject<'a> {
    /// Makes it from an event's arguments; `None` if one is null.
    ///
    /// # Safety
    /// Those that are not null must be valid references for the lifetime chosen.
    pub unsafe fn of_event(
        thread: jthread,
        object: jobject,
        class: jclass,
        size_bytes: jlong,
    ) -> Option<Self> {
        // SAFETY: the caller's promise.
        let of = |reference| unsafe { ObjectRef::from_raw(reference) };
        let (thread, object, class) = (of(thread)?, of(object)?, of(class)?);
        Some(Self { thread, object, class, size_bytes: size_bytes.unsigned_abs() })
    }
}

impl Jvmti {
    /// Calls back for each object of the heap.
    ///
    /// # Safety
    /// The callbacks must accept the arguments that they are passed, and must not call the JVM.
    pub unsafe fn iterate_through_heap(
        self,
        callbacks: &jvmtiHeapCallbacks,
        argument: *const c_void,
    ) -> Result<(), jvmtiError> {
        // SAFETY: the environment is valid; no filter and no class means all objects; the caller's
        // promise.
        unsafe { call!(self.raw(), IterateThroughHeap, 0, null_mut(), callbacks, argument).ok() }
    }

    /// Returns all objects of some classes that the program can reach. The classes must have tags.
    pub fn reachable_of<'a>(
        self,
        jni: Jni<'a>,
        classes: &[&dyn Reference],
    ) -> Result<Vec<Local<'a>>, jvmtiError> {
        unsafe extern "system" fn reference(
            _: jvmtiHeapReferenceKind,
            _: *const jvmtiHeapReferenceInfo,
            class_tag: jlong,
            _: jlong,
            _: jlong,
            tag: *mut jlong,
            _: *mut jlong,
            _: jint,
            class_tags: *mut c_void,
        ) -> jint {
            // SAFETY: these are the arguments passed below; the tag is that of the object.
            unsafe {
                if *tag == 0 && (*class_tags.cast::<Vec<jlong>>()).contains(&class_tag) {
                    *tag = FOUND;
                }
            }
            JVMTI_VISIT_OBJECTS
        }
        let mut class_tags: Vec<_> = classes.iter().map(|&class| self.tag(class)).collect();
        let callbacks =
            jvmtiHeapCallbacks { heap_reference_callback: Some(reference), ..Default::default() };
        let (env, argument) = (self.raw(), std::ptr::from_mut(&mut class_tags).cast());
        // SAFETY: the environment is valid; no filter, no class and no object means all objects
        // that can be reached; the callback does not call the JVM.
        unsafe {
            call!(env, FollowReferences, 0, null_mut(), null_mut(), &callbacks, argument).ok()?;
        }
        self.take_tagged(jni, FOUND)
    }

    /// Returns the objects with a tag, which they lose.
    pub fn take_tagged<'a>(self, jni: Jni<'a>, tag: i64) -> Result<Vec<Local<'a>>, jvmtiError> {
        let (mut count, mut objects): (_, *mut jobject) = (0, null_mut());
        // SAFETY: the environment is valid; the array has `count` references, which are ours to
        // delete, and is ours to free.
        let all = unsafe {
            let (env, no_tags) = (self.raw(), null_mut());
            call!(env, GetObjectsWithTags, 1, &tag, &mut count, &mut objects, no_tags).ok()?;
            self.take_references(jni, count, objects)
        };
        all.iter().for_each(|object| self.set_tag(object, 0));
        Ok(all)
    }

    /// Returns the data that the sizes of objects and arrays follow from. It is measured on some
    /// arrays, which are made at the first call.
    pub fn object_layout(self, jni: Jni<'_>) -> Option<layout::Jvm> {
        static LAYOUT: OnceLock<Option<layout::Jvm>> = OnceLock::new();
        *LAYOUT.get_or_init(|| self.measured_layout(jni))
    }

    fn measured_layout(self, jni: Jni<'_>) -> Option<layout::Jvm> {
        let bytes = |array: Option<Local<'_>>| u32::try_from(self.object_bytes(&array?)?).ok();
        layout::Jvm::measured(
            self.feature_version(),
            |length| bytes(jni.new_byte_array(length)),
            |length| bytes(jni.new_object_array(length)),
        )
    }

    /// Returns the number and size of all objects in the heap, reachable or not yet collected, but
    /// for those of the classes with these tags.
    pub fn heap_totals(self, without: &[i64]) -> Result<(u64, u64), jvmtiError> {
        struct Totals<'a> {
            count: u64,
            bytes: u64,
            without: &'a [i64],
        }
        unsafe extern "system" fn object(
            class_tag: jlong,
            bytes: jlong,
            _: *mut jlong,
            _: jint,
            totals: *mut c_void,
        ) -> jint {
            // SAFETY: this is the argument passed below, by the thread that has it borrowed.
            let totals = unsafe { &mut *totals.cast::<Totals<'_>>() };
            if !totals.without.contains(&class_tag) {
                totals.count += 1;
                totals.bytes += bytes.unsigned_abs();
            }
            0
        }
        let mut totals = Totals { count: 0, bytes: 0, without };
        let callbacks =
            jvmtiHeapCallbacks { heap_iteration_callback: Some(object), ..Default::default() };
        // SAFETY: the callback is passed the totals, and does not call the JVM.
        unsafe { self.iterate_through_heap(&callbacks, std::ptr::from_mut(&mut totals).cast())? };
        Ok((totals.count, totals.bytes))
    }

    /// Returns the number and size of the objects of a class that the program can reach. The class
    /// must have a tag, its objects none.
    pub fn reachable_totals(
        self,
        class: &(impl Reference + ?Sized),
    ) -> Result<(u64, u64), jvmtiError> {
        unsafe extern "system" fn reference(
            _: jvmtiHeapReferenceKind,
            _: *const jvmtiHeapReferenceInfo,
            _: jlong,
            _: jlong,
            bytes: jlong,
            tag: *mut jlong,
            _: *mut jlong,
            _: jint,
            totals: *mut c_void,
        ) -> jint {
            // SAFETY: the tag is that of the object, the totals are what is passed below.
            let (tag, totals) = unsafe { (&mut *tag, &mut *totals.cast::<(u64, u64)>()) };
            if *tag == 0 {
                *tag = FOUND;
                totals.0 += 1;
                totals.1 += bytes.unsigned_abs();
            }
            JVMTI_VISIT_OBJECTS
        }
        unsafe extern "system" fn forget(
            _: jlong,
            _: jlong,
            tag: *mut jlong,
            _: jint,
            _: *mut c_void,
        ) -> jint {
            // SAFETY: the tag is that of the object.
            unsafe { *tag = 0 };
            0
        }
        let mut totals = (0, 0);
        let (env, class) = (self.raw(), class.raw());
        let found =
            jvmtiHeapCallbacks { heap_reference_callback: Some(reference), ..Default::default() };
        let forgotten =
            jvmtiHeapCallbacks { heap_iteration_callback: Some(forget), ..Default::default() };
        let argument = std::ptr::from_mut(&mut totals).cast();
        // SAFETY: the environment and class are valid; no filter and no object means all objects of
        // the class that can be reached; the callbacks do not call the JVM, and the totals live
        // longer.
        unsafe {
            let walked = call!(env, FollowReferences, 0, class, null_mut(), &found, argument).ok();
            let filter = JVMTI_HEAP_FILTER_UNTAGGED;
            call!(env, IterateThroughHeap, filter, class, &forgotten, null_mut()).ok()?;
            walked?;
        }
        Ok(totals)
    }

    /// Returns the size of an object or array, including perk's field if it has one.
    pub fn object_bytes(self, object: &(impl Reference + ?Sized)) -> Option<u64> {
        let mut bytes = 0;
        // SAFETY: the environment and reference are valid, `bytes` lives until the call returns.
        unsafe { call!(self.raw(), GetObjectSize, object.raw(), &mut bytes).ok().ok()? };
        u64::try_from(bytes).ok()
    }

    /// Whether the bootstrap loader has defined a class.
    pub fn is_of_boot_loader(self, jni: Jni<'_>, class: &(impl Reference + ?Sized)) -> bool {
        let mut loader: jobject = null_mut();
        // SAFETY: the environment and reference are valid; the new reference is ours.
        unsafe {
            let result = call!(self.raw(), GetClassLoader, class.raw(), &mut loader);
            result.ok().is_ok() && Local::from_raw(jni, loader).is_none()
        }
    }

    /// Returns the names and descriptors of the fields that a class declares for its objects.
    pub fn instance_fields(
        self,
        class: &(impl Reference + ?Sized),
    ) -> Result<Vec<(String, String)>, jvmtiError> {
        let fields = self.declared_fields(class)?;
        Ok(fields.into_iter().map(|it| (it.name, it.descriptor)).collect())
    }

    /// Returns an `int` field that a class declares for its objects; an error if the class is not
    /// linked yet.
    pub fn declared_int_field(
        self,
        class: &(impl Reference + ?Sized),
        wanted: &str,
    ) -> Result<Option<IntField>, jvmtiError> {
        let fields = self.declared_fields(class)?;
        let field = fields.into_iter().find(|it| it.name == wanted && it.descriptor == "I");
        Ok(field.map(|it| IntField(it.id)))
    }

    /// Returns the fields that a class declares for its objects.
    pub fn declared_fields(
        self,
        class: &(impl Reference + ?Sized),
    ) -> Result<Vec<DeclaredField>, jvmtiError> {
        let (mut count, mut fields): (_, *mut jfieldID) = (0, null_mut());
        let (env, class) = (self.raw(), class.raw());
        // SAFETY: the environment and reference are valid; the array has `count` entries, which are
        // fields of the class; it and the strings are ours to free.
        unsafe {
            call!(env, GetClassFields, class, &mut count, &mut fields).ok()?;
            let mut found = Vec::new();
            for &id in self.slice(count, fields) {
                let (mut flags, mut name, mut descriptor) = (0, null_mut(), null_mut());
                call!(env, GetFieldModifiers, class, id, &mut flags).ok()?;
                call!(env, GetFieldName, class, id, &mut name, &mut descriptor, null_mut()).ok()?;
                let name = self.take_string(name).unwrap_or_default();
                let descriptor = self.take_string(descriptor).unwrap_or_default();
                if flags & STATIC == 0 {
                    let (is_final, is_volatile) = (flags & FINAL != 0, flags & VOLATILE != 0);
                    found.push(DeclaredField { id, name, descriptor, is_final, is_volatile });
                }
            }
            self.free(fields);
            Ok(found)
        }
    }

    /// Returns the calling thread, which may be virtual.
    pub fn current_thread<'a>(self, jni: Jni<'a>) -> Option<Local<'a>> {
        let mut thread: jthread = null_mut();
        // SAFETY: the environment is valid; the new reference is ours.
        unsafe {
            call!(self.raw(), GetCurrentThread, &mut thread).ok().ok()?;
            Local::from_raw(jni, thread)
        }
    }

    /// Returns the method that the calling thread runs.
    pub fn current_method(self) -> Option<MethodRef> {
        let (mut method, mut location): (jmethodID, _) = (null_mut(), 0);
        // SAFETY: the environment is valid; null means the calling thread.
        let result = unsafe {
            call!(self.raw(), GetFrameLocation, null_mut(), 0, &mut method, &mut location)
        };
        result.ok().ok().map(|()| MethodRef(method))
    }
}

impl<'a> Jni<'a> {
    /// Returns the superclass of a class; `None` for `java.lang.Object` and interfaces.
    pub fn superclass(self, class: &(impl Reference + ?Sized)) -> Option<Local<'a>> {
        let env = self.raw();
        // SAFETY: the environment is this thread's, the reference valid; the new one is ours.
        unsafe { Local::from_raw(self, ((**env).v1_2.GetSuperclass)(env, class.raw())) }
    }

    /// Returns the object that reflection has for a field that a class declares for its objects.
    pub fn reflected_field(
        self,
        class: &(impl Reference + ?Sized),
        field: &DeclaredField,
    ) -> Option<Local<'a>> {
        let env = self.raw();
        // SAFETY: the environment is this thread's, the reference valid, and the field the class's;
        // the new reference is ours.
        unsafe {
            let reflected = ((**env).v1_2.ToReflectedField)(env, class.raw(), field.id, false);
            self.checked(reflected)
        }
    }

    /// Returns the method of a class with a name; the class must have been initialised.
    pub fn method(
        self,
        class: &(impl Reference + ?Sized),
        name: &CStr,
        descriptor: &CStr,
    ) -> Option<MethodRef> {
        let env = self.raw();
        // SAFETY: the environment is this thread's, the reference valid; the names end in NUL.
        let method = unsafe {
            ((**env).v1_1.GetMethodID)(env, class.raw(), name.as_ptr(), descriptor.as_ptr())
        };
        self.clear_exception();
        (!method.is_null()).then_some(MethodRef(method))
    }

    /// Returns the class of an object.
    pub fn class_of(self, object: &(impl Reference + ?Sized)) -> Option<Local<'a>> {
        let env = self.raw();
        // SAFETY: the environment is this thread's, the reference valid; the new one is ours.
        unsafe { Local::from_raw(self, ((**env).v1_1.GetObjectClass)(env, object.raw())) }
    }

    /// Returns a new `byte[]`.
    pub(super) fn new_byte_array(self, length: i32) -> Option<Local<'a>> {
        let env = self.raw();
        // SAFETY: the environment is this thread's; the new reference is ours.
        unsafe { self.checked(((**env).v1_2.NewByteArray)(env, length)) }
    }

    /// Returns a new `Object[]`.
    pub fn new_object_array(self, length: i32) -> Option<Local<'a>> {
        let env = self.raw();
        let class = self.object_class()?;
        // SAFETY: the environment is this thread's, the reference valid; the new one is ours.
        unsafe {
            let array = ((**env).v1_2.NewObjectArray)(env, length, class.raw(), null_mut());
            self.checked(array)
        }
    }

    /// Returns an `int` field of a class's objects.
    pub fn int_field(self, class: &(impl Reference + ?Sized), name: &CStr) -> Option<IntField> {
        let env = self.raw();
        // SAFETY: the environment is this thread's, the reference valid; the names end in NUL.
        let field =
            unsafe { ((**env).v1_1.GetFieldID)(env, class.raw(), name.as_ptr(), c"I".as_ptr()) };
        self.clear_exception();
        (!field.is_null()).then_some(IntField(field))
    }

    /// Returns the value of a field.
    ///
    /// # Safety
    /// The field must be one of the object's class.
    pub unsafe fn get_int(self, object: &(impl Reference + ?Sized), field: IntField) -> i32 {
        let env = self.raw();
        // SAFETY: the environment is this thread's, the reference valid; the caller's promise.
        unsafe { ((**env).v1_1.GetIntField)(env, object.raw(), field.0) }
    }

    /// Sets a field.
    ///
    /// # Safety
    /// The field must be one of the object's class.
    pub unsafe fn set_int(self, object: &(impl Reference + ?Sized), field: IntField, value: i32) {
        let env = self.raw();
        // SAFETY: the environment is this thread's, the reference valid; the caller's promise.
        unsafe { ((**env).v1_1.SetIntField)(env, object.raw(), field.0, value) }
    }
}

/// A field that a class declares for its objects.
#[derive(Clone, Debug)]
pub struct DeclaredField {
    id: jfieldID,
    /// The field's name.
    pub name: String,
    /// The descriptor of its type.
    pub descriptor: String,
    /// Whether it is final.
    pub is_final: bool,
    /// Whether it is volatile.
    pub is_volatile: bool,
}

impl DeclaredField {
    /// The id as a number, which is the same for all subclasses.
    pub fn id_number(&self) -> usize {
        self.id as usize
    }
}

/// A field of type `int`.
#[derive(Clone, Copy, Debug)]
pub struct IntField(jfieldID);

// SAFETY: a field id is a number to everyone but the JVM.
unsafe impl Send for IntField {}
// SAFETY: a field id is a number to everyone but the JVM.
unsafe impl Sync for IntField {}
