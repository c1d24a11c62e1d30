//! The JNI functions that access fields and components: functions of perk replace them, count and
//! call them.
//!
//! An array whose components native code gets a pointer to is read at all of them, and written at
//! all of them when the pointer is released, unless native code says that it has not changed any.

mod critical;

use std::mem::replace;
use std::sync::OnceLock;

use perk_jvm::guard::{Feature, contain, is_guarded, uncounted};
use perk_jvm::{Functions, Jni, MethodRef, ObjectRef, Reference};
use perk_jvmti_sys::jni_sys::{
    JNI_ABORT, JNIEnv, jarray, jboolean, jbooleanArray, jbyte, jbyteArray, jchar, jcharArray,
    jdouble, jdoubleArray, jfieldID, jfloat, jfloatArray, jint, jintArray, jlong, jlongArray,
    jobject, jobjectArray, jshort, jshortArray, jsize, jvalue,
};

use super::SharedFields;

/// The kinds of an access, as PerkFields has them.
const READ: jint = 1;
const WRITE: jint = 2;
const LENGTH: jint = 4;

static INTERCEPTION: OnceLock<Interception> = OnceLock::new();

/// The data that the functions need.
#[derive(Debug)]
struct Interception {
    fields: &'static SharedFields,
    /// The methods of the helper for fields and for components.
    of_field: MethodRef,
    of_components: MethodRef,
    before: OriginalFunctions,
    critical: critical::OriginalFunctions,
}

/// An access of a function.
#[derive(Clone, Copy, Debug)]
enum Access {
    Field(jfieldID, jint),
    /// A number of components; or the length, once.
    Components(jint, jsize),
    AllComponents(jint),
    None,
}

/// Begins to count.
///
/// # Errors
/// The reason why that is not possible, in one line.
pub(super) fn begin(jni: Jni<'_>, fields: &'static SharedFields) -> Result<(), String> {
    let helper = fields.helper().ok_or("no helper class")?;
    let method = |name| jni.static_method(helper, name, c"(Ljava/lang/Object;II)J");
    let of_field = method(c"accessedUnit").ok_or("no method for fields")?;
    let of_components = method(c"accessedComponents").ok_or("no method for components")?;
    let exchange = |functions: &mut Functions| {
        INTERCEPTION.get_or_init(|| Interception {
            fields,
            of_field,
            of_components,
            before: exchange(functions),
            critical: critical::exchange(functions),
        });
    };
    // SAFETY: the functions call those that were there.
    let result = unsafe { fields.common.jvmti.exchange_functions(exchange) };
    result.map_err(|error| format!("the JVM keeps its JNI functions: {error}"))
}

/// Returns the data.
///
/// # Safety
/// The caller must be a function in JNI's table: it comes there after the data is made.
unsafe fn interception() -> &'static Interception {
    // SAFETY: the caller's promise.
    unsafe { INTERCEPTION.get().unwrap_unchecked() }
}

impl Interception {
    fn count(&self, jni: Jni<'_>, object: &ObjectRef<'_>, access: Access) {
        let Some(helper) = self.fields.helper() else { return };
        let (method, first, second) = match access {
            Access::Field(field, kind) => {
                let Some(class) = jni.class_of(object) else { return };
                let unit = self.fields.unit_of(jni, &class.borrowed(), field as usize);
                let Some(unit) = unit else { return };
                (self.of_field, unit as jint, kind)
            }
            Access::Components(kind, count) if count > 0 => (self.of_components, kind, count),
            Access::AllComponents(kind) => {
                // SAFETY: the functions with this access are for arrays.
                let length = unsafe { jni.array_length(object) };
                (self.of_components, kind, length)
            }
            Access::Components(..) | Access::None => return,
        };
        let arguments = [jvalue { l: object.raw() }, jvalue { i: first }, jvalue { i: second }];
        // SAFETY: the arguments are those of the helper's methods.
        let _ = unsafe { jni.call_long(helper, method, &arguments) };
    }
}

/// Returns the access of a function that gives back the components of an array.
fn released(mode: jint) -> Access {
    if mode == JNI_ABORT { Access::None } else { Access::AllComponents(WRITE) }
}

/// Counts an access of native code. Those of perk itself are not counted.
fn report(env: *mut JNIEnv, object: jobject, access: Access) {
    let Some(interception) = INTERCEPTION.get().filter(|_| !is_guarded()) else { return };
    uncounted(|| {
        contain(Feature::Probes, || {
            // SAFETY: the environment is that of the calling thread; the caller passes a reference.
            let (jni, object) = unsafe { (Jni::from_raw(env), ObjectRef::from_raw(object)) };
            if let Some(object) = object {
                // Some functions may be called with a pending exception.
                jni.without_exception(|| interception.count(jni, &object, access));
            }
        });
    });
}

/// Defines each function with its name here, its name, arguments and result in JNI, and its access
/// to the first argument.
macro_rules! functions {
    ($($here:ident = $function:ident($object:ident: $object_kind:ty
        $(, $argument:ident: $kind:ty)*) -> $result:ty => $access:expr;)+) => {
        /// The functions that were there before.
        #[derive(Debug)]
        struct OriginalFunctions {
            $($here: unsafe extern "system" fn(*mut JNIEnv, $object_kind $(, $kind)*) -> $result,)+
        }

        /// Installs the functions of this module. Returns the previous ones.
        fn exchange(functions: &mut Functions) -> OriginalFunctions {
            OriginalFunctions { $($here: replace(&mut functions.$function, $here),)+ }
        }

        $(unsafe extern "system" fn $here(
            env: *mut JNIEnv,
            $object: $object_kind
            $(, $argument: $kind)*
        ) -> $result {
            report(env, $object, $access);
            // SAFETY: the caller's arguments are for this function, which is in the table.
            unsafe {
                (interception().before.$here)(env, $object $(, $argument)*)
            }
        })+
    };
}

functions! {
    get_object_field = GetObjectField(object: jobject, field: jfieldID) -> jobject => Access::Field(field, READ);
    set_object_field = SetObjectField(object: jobject, field: jfieldID, value: jobject) -> () => Access::Field(field, WRITE);
    get_boolean_field = GetBooleanField(object: jobject, field: jfieldID) -> jboolean => Access::Field(field, READ);
    set_boolean_field = SetBooleanField(object: jobject, field: jfieldID, value: jboolean) -> () => Access::Field(field, WRITE);
    get_byte_field = GetByteField(object: jobject, field: jfieldID) -> jbyte => Access::Field(field, READ);
    set_byte_field = SetByteField(object: jobject, field: jfieldID, value: jbyte) -> () => Access::Field(field, WRITE);
    get_char_field = GetCharField(object: jobject, field: jfieldID) -> jchar => Access::Field(field, READ);
    set_char_field = SetCharField(object: jobject, field: jfieldID, value: jchar) -> () => Access::Field(field, WRITE);
    get_short_field = GetShortField(object: jobject, field: jfieldID) -> jshort => Access::Field(field, READ);
    set_short_field = SetShortField(object: jobject, field: jfieldID, value: jshort) -> () => Access::Field(field, WRITE);
    get_int_field = GetIntField(object: jobject, field: jfieldID) -> jint => Access::Field(field, READ);
    set_int_field = SetIntField(object: jobject, field: jfieldID, value: jint) -> () => Access::Field(field, WRITE);
    get_long_field = GetLongField(object: jobject, field: jfieldID) -> jlong => Access::Field(field, READ);
    set_long_field = SetLongField(object: jobject, field: jfieldID, value: jlong) -> () => Access::Field(field, WRITE);
    get_float_field = GetFloatField(object: jobject, field: jfieldID) -> jfloat => Access::Field(field, READ);
    set_float_field = SetFloatField(object: jobject, field: jfieldID, value: jfloat) -> () => Access::Field(field, WRITE);
    get_double_field = GetDoubleField(object: jobject, field: jfieldID) -> jdouble => Access::Field(field, READ);
    set_double_field = SetDoubleField(object: jobject, field: jfieldID, value: jdouble) -> () => Access::Field(field, WRITE);
    get_array_length = GetArrayLength(array: jarray) -> jsize => Access::Components(READ | LENGTH, 1);
    get_object_array_element = GetObjectArrayElement(array: jobjectArray, index: jsize) -> jobject => Access::Components(READ, 1);
    set_object_array_element = SetObjectArrayElement(array: jobjectArray, index: jsize, value: jobject) -> () => Access::Components(WRITE, 1);
    get_boolean_array_region = GetBooleanArrayRegion(array: jbooleanArray, start: jsize, length: jsize, to: *mut jboolean) -> () => Access::Components(READ, length);
    set_boolean_array_region = SetBooleanArrayRegion(array: jbooleanArray, start: jsize, length: jsize, from: *const jboolean) -> () => Access::Components(WRITE, length);
    get_boolean_array_elements = GetBooleanArrayElements(array: jbooleanArray, is_copy: *mut jboolean) -> *mut jboolean => Access::AllComponents(READ);
    release_boolean_array_elements = ReleaseBooleanArrayElements(array: jbooleanArray, elements: *mut jboolean, mode: jint) -> () => released(mode);
    get_byte_array_region = GetByteArrayRegion(array: jbyteArray, start: jsize, length: jsize, to: *mut jbyte) -> () => Access::Components(READ, length);
    set_byte_array_region = SetByteArrayRegion(array: jbyteArray, start: jsize, length: jsize, from: *const jbyte) -> () => Access::Components(WRITE, length);
    get_byte_array_elements = GetByteArrayElements(array: jbyteArray, is_copy: *mut jboolean) -> *mut jbyte => Access::AllComponents(READ);
    release_byte_array_elements = ReleaseByteArrayElements(array: jbyteArray, elements: *mut jbyte, mode: jint) -> () => released(mode);
    get_char_array_region = GetCharArrayRegion(array: jcharArray, start: jsize, length: jsize, to: *mut jchar) -> () => Access::Components(READ, length);
    set_char_array_region = SetCharArrayRegion(array: jcharArray, start: jsize, length: jsize, from: *const jchar) -> () => Access::Components(WRITE, length);
    get_char_array_elements = GetCharArrayElements(array: jcharArray, is_copy: *mut jboolean) -> *mut jchar => Access::AllComponents(READ);
    release_char_array_elements = ReleaseCharArrayElements(array: jcharArray, elements: *mut jchar, mode: jint) -> () => released(mode);
    get_short_array_region = GetShortArrayRegion(array: jshortArray, start: jsize, length: jsize, to: *mut jshort) -> () => Access::Components(READ, length);
    set_short_array_region = SetShortArrayRegion(array: jshortArray, start: jsize, length: jsize, from: *const jshort) -> () => Access::Components(WRITE, length);
    get_short_array_elements = GetShortArrayElements(array: jshortArray, is_copy: *mut jboolean) -> *mut jshort => Access::AllComponents(READ);
    release_short_array_elements = ReleaseShortArrayElements(array: jshortArray, elements: *mut jshort, mode: jint) -> () => released(mode);
    get_int_array_region = GetIntArrayRegion(array: jintArray, start: jsize, length: jsize, to: *mut jint) -> () => Access::Components(READ, length);
    set_int_array_region = SetIntArrayRegion(array: jintArray, start: jsize, length: jsize, from: *const jint) -> () => Access::Components(WRITE, length);
    get_int_array_elements = GetIntArrayElements(array: jintArray, is_copy: *mut jboolean) -> *mut jint => Access::AllComponents(READ);
    release_int_array_elements = ReleaseIntArrayElements(array: jintArray, elements: *mut jint, mode: jint) -> () => released(mode);
    get_long_array_region = GetLongArrayRegion(array: jlongArray, start: jsize, length: jsize, to: *mut jlong) -> () => Access::Components(READ, length);
    set_long_array_region = SetLongArrayRegion(array: jlongArray, start: jsize, length: jsize, from: *const jlong) -> () => Access::Components(WRITE, length);
    get_long_array_elements = GetLongArrayElements(array: jlongArray, is_copy: *mut jboolean) -> *mut jlong => Access::AllComponents(READ);
    release_long_array_elements = ReleaseLongArrayElements(array: jlongArray, elements: *mut jlong, mode: jint) -> () => released(mode);
    get_float_array_region = GetFloatArrayRegion(array: jfloatArray, start: jsize, length: jsize, to: *mut jfloat) -> () => Access::Components(READ, length);
    set_float_array_region = SetFloatArrayRegion(array: jfloatArray, start: jsize, length: jsize, from: *const jfloat) -> () => Access::Components(WRITE, length);
    get_float_array_elements = GetFloatArrayElements(array: jfloatArray, is_copy: *mut jboolean) -> *mut jfloat => Access::AllComponents(READ);
    release_float_array_elements = ReleaseFloatArrayElements(array: jfloatArray, elements: *mut jfloat, mode: jint) -> () => released(mode);
    get_double_array_region = GetDoubleArrayRegion(array: jdoubleArray, start: jsize, length: jsize, to: *mut jdouble) -> () => Access::Components(READ, length);
    set_double_array_region = SetDoubleArrayRegion(array: jdoubleArray, start: jsize, length: jsize, from: *const jdouble) -> () => Access::Components(WRITE, length);
    get_double_array_elements = GetDoubleArrayElements(array: jdoubleArray, is_copy: *mut jboolean) -> *mut jdouble => Access::AllComponents(READ);
    release_double_array_elements = ReleaseDoubleArrayElements(array: jdoubleArray, elements: *mut jdouble, mode: jint) -> () => released(mode);
}
