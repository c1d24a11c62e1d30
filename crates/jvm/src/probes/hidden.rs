//! Hidden classes, of lambdas and method handles for example. Agents do not receive them, but their
//! bytes are an argument of a native method of the JDK. perk replaces this method with a function
//! that passes on the class as an analysis has changed it.

use std::ffi::c_void;
use std::mem::transmute;
use std::sync::OnceLock;

use perk_jvmti_sys::jni_sys::{JNIEnv, jboolean, jbyteArray, jclass, jint, jobject, jstring};

use crate::guard::{Feature, guard};
use crate::hook;
use crate::{Jni, Jvmti, MethodRef, ObjectRef, Reference};

/// The class that has the method, by its internal name.
pub const CLASS: &str = "java/lang/ClassLoader";
const NAME: &str = "defineClass0";
const SIGNATURE: &str = "(Ljava/lang/ClassLoader;Ljava/lang/Class;Ljava/lang/String;[BII\
    Ljava/security/ProtectionDomain;ZILjava/lang/Object;)Ljava/lang/Class;";

/// The type of the method's function.
type DefineFunction = unsafe extern "system" fn(
    env: *mut JNIEnv,
    class: jclass,
    loader: jobject,
    lookup: jclass,
    name: jstring,
    bytes: jbyteArray,
    offset: jint,
    length: jint,
    domain: jobject,
    initializes: jboolean,
    flags: jint,
    data: jobject,
) -> jclass;

/// Returns a class with an analysis's additions; `None` leaves it as it is.
type ClassChange = dyn Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync;

static DEFINING: OnceLock<DefinitionHook> = OnceLock::new();

struct DefinitionHook {
    change: Box<ClassChange>,
    /// The function that was there before.
    define: DefineFunction,
}

/// Returns the function to bind instead of a method of [`CLASS`] that the JVM binds. The class file
/// that `change` is passed has the class's name without the suffix that the JVM adds.
///
/// # Safety
/// The JVM must be about to bind `function` to the method of that name and signature.
pub unsafe fn bind(
    name: &str,
    signature: &str,
    function: *mut c_void,
    change: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync + 'static,
) -> Option<*mut c_void> {
    if (name, signature) != (NAME, SIGNATURE) {
        return None;
    }
    // SAFETY: the caller's promise: it is the function of the method that has this name and signature.
    let define = unsafe { transmute::<*mut c_void, DefineFunction>(function) };
    DEFINING.get_or_init(|| DefinitionHook { change: Box::new(change), define });
    Some(define_class as *mut c_void)
}

/// Returns the function to bind instead of a native method that makes or changes classes, if it is
/// one; see [`bind`].
///
/// # Safety
/// The JVM must be about to bind `function` to `method`.
pub unsafe fn bind_makers(
    jvmti: Jvmti,
    jni: Jni<'_>,
    method: MethodRef,
    function: *mut c_void,
    change: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync + 'static,
) -> Option<*mut c_void> {
    let class = jvmti.declaring_class(jni, method).ok()?;
    let class = jvmti.class_signature(&class).ok()?;
    let class = class.strip_prefix('L')?.strip_suffix(';')?;
    let (name, signature) = jvmti.method_name(method).ok()?;
    match class {
        "sun/instrument/InstrumentationImpl" => hook::watched(&name, &signature, function),
        // SAFETY: the caller's promise, for the method that has these names.
        CLASS => unsafe { bind(&name, &signature, function, change) },
        _ => None,
    }
}

/// Replaces that function.
unsafe extern "system" fn define_class(
    env: *mut JNIEnv,
    class: jclass,
    loader: jobject,
    lookup: jclass,
    name: jstring,
    bytes: jbyteArray,
    offset: jint,
    length: jint,
    domain: jobject,
    initializes: jboolean,
    flags: jint,
    data: jobject,
) -> jclass {
    let Some(defining) = DEFINING.get() else { return std::ptr::null_mut() };
    let mut changed = None;
    // The objects made here are not the program's.
    guard(Feature::Probes, || {
        // SAFETY: the JVM passes the calling thread's environment and an array, or null.
        let (jni, bytes) = unsafe { (Jni::from_raw(env), ObjectRef::from_raw(bytes)) };
        if let Some(bytes) = bytes
            // SAFETY: by the method's signature it is an array of bytes.
            && let Some(original) = unsafe { jni.bytes_of(&bytes, offset, length) }
            && let Some(class) = (defining.change)(&original)
        {
            changed = jni.array_of_bytes(&class).map(|array| (array, class.len() as jint));
        }
    });
    let (bytes, offset, length) = match &changed {
        Some((array, length)) => (array.raw(), 0, *length),
        None => (bytes, offset, length),
    };
    // SAFETY: the arguments are the caller's, except for the class, which is the same plus additions.
    unsafe {
        (defining.define)(
            env,
            class,
            loader,
            lookup,
            name,
            bytes,
            offset,
            length,
            domain,
            initializes,
            flags,
            data,
        )
    }
}
