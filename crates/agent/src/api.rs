//! The class `perk.Profiler`, by which a program makes the requests of the control socket itself.
//!
//! The program calls it on threads of its own, which stay the program's: they have frames of Java below,
//! are measured, and are in no callback of the session, whose end waits for those.

use std::ffi::{CStr, c_void};

use perk_control::remote::{Answer, Request};
use perk_jvm::binder;
use perk_jvm::guard::{Feature, contain, is_guarded, requested, unheard};
use perk_jvm::{Jni, ObjectRef};
use perk_jvmti_sys::jni_sys::{JNIEnv, JNINativeMethod, jbyteArray, jclass};

use crate::remote;
use crate::session::Session;

/// `java/api/perk/Profiler.java`, compiled; a test compares the two.
const CLASS: &[u8] = include_bytes!("api/Profiler.class");
/// Its name, as in class files.
pub(crate) const NAME: &CStr = c"perk/Profiler";

/// Defines the class in the boot loader, where all loaders find it. One that is there stays.
pub(crate) fn define(jni: Jni<'_>) {
    let native = |name: &CStr, signature: &CStr, function: *const c_void| JNINativeMethod {
        name: name.as_ptr().cast_mut(),
        signature: signature.as_ptr().cast_mut(),
        fnPtr: function.cast_mut(),
    };
    let natives = [
        native(c"obey", c"([B)[B", obey as *const c_void),
        native(c"pause", c"()V", pause as *const c_void),
        native(c"bindAll", c"()V", bind_all as *const c_void),
    ];
    // It is not the program's: it gets no probes, and its calls are not counted.
    unheard(|| {
        if let Some(class) = jni.define_class(NAME, CLASS) {
            // SAFETY: the functions are as declared in the class, and this library is never unloaded.
            let _ = unsafe { jni.register_natives(&class, &natives) };
            if let Some(class) = jni.global(&class) {
                binder::set_class(class);
            }
        }
    });
}

/// `Profiler.bindAll`
unsafe extern "system" fn bind_all(env: *mut JNIEnv, _: jclass) {
    // SAFETY: the JVM passes the calling thread's environment, good until the function returns.
    let jni = unsafe { Jni::from_raw(env) };
    contain(Feature::Commands, || binder::called(jni));
}

/// `Profiler.obey`
unsafe extern "system" fn obey(env: *mut JNIEnv, _: jclass, request: jbyteArray) -> jbyteArray {
    // SAFETY: the JVM passes the calling thread's environment and a reference or null, both good until
    // the function returns.
    let (jni, request) = unsafe { (Jni::from_raw(env), ObjectRef::from_raw(request)) };
    let mut answer = Answer::error("a fault of perk's own");
    match is_guarded() {
        // Code of the program's that the JVM runs for perk, such as a security manager's.
        true => answer = Answer::error("perk is at work on this thread"),
        false => requested(Feature::Commands, || {
            answer = request.map_or_else(|| Answer::error("no request"), |it| answer_to(jni, &it));
        }),
    }
    let mut bytes = Vec::new();
    // A vector takes all bytes.
    let _ = answer.write(&mut bytes);
    jni.array_of_bytes(&bytes).map_or(std::ptr::null_mut(), |array| array.into_raw())
}

fn answer_to(jni: Jni<'_>, request: &ObjectRef<'_>) -> Answer {
    // SAFETY: by the method's signature it is an array of bytes.
    let line = unsafe { jni.bytes_of(request, 0, jni.array_length(request)) };
    let line = line.and_then(|line| String::from_utf8(line).ok());
    match line.map(|line| Request::parse(&line)) {
        Some(Ok(request @ (Request::Lease(_) | Request::Watch(_)))) => {
            Answer::error(format!("{} needs a connection", request.verb().name()))
        }
        Some(Ok(request)) => remote::obey(jni, &request),
        Some(Err(error)) => Answer::error(error),
        None => Answer::error("the request is not UTF-8"),
    }
}

/// `Profiler.pause`
unsafe extern "system" fn pause(env: *mut JNIEnv, _: jclass) {
    // SAFETY: the JVM passes the calling thread's environment, good until the function returns.
    let jni = unsafe { Jni::from_raw(env) };
    requested(Feature::Commands, || {
        remote::alone(|| {
            if let Some(session) = Session::current() {
                // It is paused already, as the caller wants.
                let _ = session.pause(jni);
            }
        });
    });
}
