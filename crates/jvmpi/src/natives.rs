//! Native methods of the JDK whose calls the bridge must see. Another function is bound to each, which
//! calls the JVM's.

use std::ffi::c_void;
use std::mem::transmute;
use std::sync::atomic::{AtomicUsize, Ordering};

use perk_jvmti_sys::jni_sys::{JNIEnv, jlong, jobject};

use super::{Bridge, lines, monitors};
use crate::state::STATE;
use perk_jvm::{Jni, MethodRef};

/// A function that takes the address of the JVM's function, and returns that of another.
type ReplaceFunction = fn(usize) -> usize;

/// The methods: class, name, signature.
const METHODS: [(&str, &str, &str, ReplaceFunction); 5] = [
    // JDK 17, 21 and 25
    (THREAD, "sleep", "(J)V", monitors::sleep_of_milliseconds),
    (THREAD, "sleep0", "(J)V", monitors::sleep_of_nanoseconds),
    (THREAD, "sleepNanos0", "(J)V", monitors::sleep_of_nanoseconds),
    (
        INSTRUMENTATION,
        "redefineClasses0",
        "(J[Ljava/lang/instrument/ClassDefinition;)V",
        redefining,
    ),
    (INSTRUMENTATION, "retransformClasses0", "(J[Ljava/lang/Class;)V", retransforming),
];

const THREAD: &str = "Ljava/lang/Thread;";
const INSTRUMENTATION: &str = "Lsun/instrument/InstrumentationImpl;";

impl Bridge {
    /// Returns the function to bind to a native method instead of the one that the JVM found.
    pub(super) fn bound(
        &self,
        jni: Jni<'_>,
        method: MethodRef,
        function: *mut c_void,
    ) -> Option<*mut c_void> {
        let (name, signature) = self.jvmti.method_name(method).ok()?;
        let (class, .., replace) = METHODS.iter().find(|it| (it.1, it.2) == (&name, &signature))?;
        let declaring = self.jvmti.declaring_class(jni, method).ok()?;
        let is_it = self.jvmti.class_signature(&declaring).is_ok_and(|it| it == *class);
        is_it.then(|| replace(function as usize) as *mut c_void)
    }
}

/// The methods of `java.lang.instrument` that change classes.
type ChangeFunction = unsafe extern "system" fn(*mut JNIEnv, jobject, jlong, jobject);

fn redefining(original: usize) -> usize {
    STATE.natives.redefine.store(original, Ordering::Release);
    redefine as *const () as usize
}

fn retransforming(original: usize) -> usize {
    STATE.natives.retransform.store(original, Ordering::Release);
    retransform as *const () as usize
}

unsafe extern "system" fn redefine(env: *mut JNIEnv, this: jobject, agent: jlong, what: jobject) {
    // SAFETY: the arguments of the method.
    unsafe { change(&STATE.natives.redefine, env, this, agent, what) };
}

unsafe extern "system" fn retransform(
    env: *mut JNIEnv,
    this: jobject,
    agent: jlong,
    what: jobject,
) {
    // SAFETY: the arguments of the method.
    unsafe { change(&STATE.natives.retransform, env, this, agent, what) };
}

/// Calls the JVM's function. Methods have other lines afterwards.
///
/// # Safety
/// The function must be one of these methods', and the arguments its own.
unsafe fn change(
    original: &AtomicUsize,
    env: *mut JNIEnv,
    this: jobject,
    agent: jlong,
    what: jobject,
) {
    let function = original.load(Ordering::Acquire);
    // SAFETY: the caller's promise.
    unsafe { transmute::<usize, ChangeFunction>(function)(env, this, agent, what) };
    lines::forget();
}
