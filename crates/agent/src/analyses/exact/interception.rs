//! The JNI functions that make objects: no probe sees the objects that native code makes by them,
//! and the JVM does not report these. So functions of perk replace them, call them and count.
//!
//! Functions that run a constructor (`NewObject`, `NewDirectByteBuffer`) are not among them: the
//! probe in `Object.<init>` counts their objects.
//!
//! One native method is exchanged as well, `Unsafe.allocateInstance`: see [`ALLOCATE`].

use std::ffi::c_char;
use std::mem::replace;
use std::ptr::null_mut;
use std::sync::OnceLock;

use perk_jvm::guard::{Feature, contain, is_guarded};
use perk_jvm::{Functions, Jni, Jvmti, ObjectField, ObjectRef};
use perk_jvmti_sys::jni_sys::{JNIEnv, jchar, jclass, jobject, jsize};

use super::ExactEngine;

/// The limit of local references held at a time.
const MOST_REFERENCES: u8 = 8;

static INTERCEPTION: OnceLock<Interception> = OnceLock::new();

/// The data that the functions need.
#[derive(Debug)]
struct Interception {
    engine: &'static ExactEngine,
    /// `String.value`
    value: ObjectField,
    before: OriginalFunctions,
}

/// Begins to count.
///
/// # Errors
/// The reason why that is not possible, in one line.
pub(super) fn begin(
    jvmti: Jvmti,
    jni: Jni<'_>,
    engine: &'static ExactEngine,
) -> Result<(), String> {
    let string = jni.find_class(c"java/lang/String").ok_or("no java.lang.String")?;
    let value = jni.object_field(&string, c"value", c"[B");
    let value = value.ok_or("no bytes in java.lang.String")?;
    let exchange = |functions: &mut Functions| {
        INTERCEPTION.get_or_init(|| Interception { engine, value, before: exchange(functions) });
    };
    // SAFETY: the functions call those that were there.
    let result = unsafe { jvmti.exchange_functions(exchange) };
    result.map_err(|error| format!("the JVM keeps its JNI functions: {error}"))
}

/// The name and signature of `Unsafe.allocateInstance`. The method is counted after its calls, and
/// the JVM also reports each object, which takes as long as ten such calls. JNI's function does the
/// same without a report.
pub(super) const ALLOCATE: (&str, &str) =
    ("allocateInstance", "(Ljava/lang/Class;)Ljava/lang/Object;");

/// Replaces the function of [`ALLOCATE`].
pub(super) unsafe extern "system" fn allocate_instance(
    env: *mut JNIEnv,
    _: jobject,
    class: jclass,
) -> jobject {
    // SAFETY: the caller's arguments are for this function.
    unsafe {
        match INTERCEPTION.get() {
            Some(interception) => (interception.before.alloc_object)(env, class),
            None => ((**env).v1_1.AllocObject)(env, class),
        }
    }
}

impl Interception {
    /// Counts a new object or array.
    fn object(&self, jni: Jni<'_>, object: ObjectRef<'_>) {
        self.engine.made_by_jni(jni, object);
    }

    /// Counts a new string and its bytes.
    fn string(&self, jni: Jni<'_>, string: ObjectRef<'_>) {
        self.engine.made_by_jni(jni, string);
        // SAFETY: the field is one of strings.
        if let Some(value) = unsafe { jni.get_object(&string, self.value) } {
            self.engine.made_by_jni(jni, value.borrowed());
        }
    }
}

/// Defines each function with its name here, its name and arguments in JNI, and the way in which
/// its result is counted.
macro_rules! functions {
    ($($here:ident = $function:ident($($argument:ident: $kind:ty),+) => $count:ident;)+) => {
        /// The functions that were there before.
        #[derive(Debug)]
        struct OriginalFunctions {
            $($here: unsafe extern "system" fn(*mut JNIEnv, $($kind),+) -> jobject,)+
        }

        /// Installs the functions of this module. Returns the previous ones.
        fn exchange(functions: &mut Functions) -> OriginalFunctions {
            OriginalFunctions { $($here: replace(&mut functions.$function, $here),)+ }
        }

        $(unsafe extern "system" fn $here(env: *mut JNIEnv, $($argument: $kind),+) -> jobject {
            let Some(interception) = INTERCEPTION.get() else { return null_mut() };
            // SAFETY: the caller's arguments are for this function.
            let object = unsafe { (interception.before.$here)(env, $($argument),+) };
            contain(Feature::Probes, || {
                // SAFETY: the environment is that of the calling thread, the reference is new.
                let (jni, object) = unsafe { (Jni::from_raw(env), ObjectRef::from_raw(object)) };
                // With a pending exception JNI must not be used; this is rare.
                if let Some(object) = object && !is_guarded() && !jni.is_throwing() {
                    jni.with_room(MOST_REFERENCES, || interception.$count(jni, object));
                }
            });
            object
        })+
    };
}

functions! {
    alloc_object = AllocObject(class: jclass) => object;
    new_string = NewString(text: *const jchar, length: jsize) => string;
    new_string_utf = NewStringUTF(text: *const c_char) => string;
    new_object_array = NewObjectArray(length: jsize, class: jclass, element: jobject) => object;
    new_boolean_array = NewBooleanArray(length: jsize) => object;
    new_byte_array = NewByteArray(length: jsize) => object;
    new_char_array = NewCharArray(length: jsize) => object;
    new_short_array = NewShortArray(length: jsize) => object;
    new_int_array = NewIntArray(length: jsize) => object;
    new_long_array = NewLongArray(length: jsize) => object;
    new_float_array = NewFloatArray(length: jsize) => object;
    new_double_array = NewDoubleArray(length: jsize) => object;
}
