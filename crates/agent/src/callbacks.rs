//! The JVM's events. Each body is one line inside [`guard`].

use std::ffi::c_char;

use perk_jvmti_sys::jni_sys::{JNIEnv, jclass, jint, jlong, jobject};
use perk_jvmti_sys::{
    JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, JVMTI_EVENT_CLASS_LOAD, JVMTI_EVENT_DATA_DUMP_REQUEST,
    JVMTI_EVENT_THREAD_END, JVMTI_EVENT_THREAD_START, JVMTI_EVENT_VIRTUAL_THREAD_END,
    JVMTI_EVENT_VM_DEATH, JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_OBJECT_ALLOC, JVMTI_EVENT_VM_START,
    JvmtiEnv, jthread, jvmtiError, jvmtiEventCallbacks,
};

use crate::engine::Picked;
use crate::exact::Made;
use crate::guard::{Feature, contain, guard};
use crate::jvm::{Borrowed, Jni, Jvmti};
use crate::session::{Session, Wanted};

/// Registers the callbacks, and asks for the events that come whatever the program does.
pub(crate) fn register(jvmti: Jvmti, with_probes: bool) -> Result<(), jvmtiError> {
    jvmti.set_callbacks(&jvmtiEventCallbacks {
        VMStart: Some(vm_start),
        ClassFileLoadHook: Some(class_file_load_hook),
        VirtualThreadEnd: Some(virtual_thread_end),
        VMInit: Some(vm_init),
        VMDeath: Some(vm_death),
        ThreadStart: Some(thread_start),
        ThreadEnd: Some(thread_end),
        ClassLoad: Some(class_load),
        SampledObjectAlloc: Some(sampled_object_alloc),
        VMObjectAlloc: Some(vm_object_alloc),
        DataDumpRequest: Some(data_dump_request),
        ..Default::default()
    })?;
    if with_probes {
        jvmti.enable(JVMTI_EVENT_VM_START)?;
        jvmti.enable(JVMTI_EVENT_CLASS_FILE_LOAD_HOOK)?;
    }
    jvmti.enable(JVMTI_EVENT_VM_INIT)?;
    jvmti.enable(JVMTI_EVENT_VM_DEATH)
}

/// Asks for the events of a running program.
fn enable_live(jvmti: Jvmti, wanted: Wanted) -> Result<(), jvmtiError> {
    if wanted.virtual_thread_ends {
        jvmti.enable(JVMTI_EVENT_VIRTUAL_THREAD_END)?;
    }
    if wanted.vm_allocations {
        jvmti.enable(JVMTI_EVENT_VM_OBJECT_ALLOC)?;
    }
    if wanted.classes {
        jvmti.enable(JVMTI_EVENT_CLASS_LOAD)?;
    }
    jvmti.enable(JVMTI_EVENT_THREAD_START)?;
    jvmti.enable(JVMTI_EVENT_THREAD_END)?;
    jvmti.enable(JVMTI_EVENT_DATA_DUMP_REQUEST)
}

/// Runs `body` with the session, the thread's environment and the event's thread.
fn event(
    feature: Feature,
    env: *mut JNIEnv,
    object: jthread,
    body: impl FnOnce(&'static Session, Jni<'_>, Borrowed<'_>),
) {
    guard(feature, || {
        // SAFETY: the JVM passes the calling thread's environment and a valid reference, both
        // good until the callback returns.
        let (jni, object) = unsafe { (Jni::from_raw(env), Borrowed::from_raw(object)) };
        if let (Some(session), Some(object)) = (Session::current(), object) {
            body(session, jni, object);
        }
    });
}

unsafe extern "system" fn vm_init(_: JvmtiEnv, env: *mut JNIEnv, main: jthread) {
    event(Feature::Starting, env, main, |session, jni, main| {
        // Classes and threads that come while those that are there are being listed must not be
        // missed: events first, then the lists.
        session.enable_events(enable_live);
        session.vm_init(jni, main);
    });
}

unsafe extern "system" fn vm_start(_: JvmtiEnv, env: *mut JNIEnv) {
    guard(Feature::Starting, || {
        if let Some(session) = Session::current() {
            // SAFETY: the JVM passes the calling thread's environment.
            session.vm_start(unsafe { Jni::from_raw(env) });
        }
    });
}

unsafe extern "system" fn class_file_load_hook(
    env: JvmtiEnv,
    _: *mut JNIEnv,
    _: jclass,
    _: jobject,
    _: *const c_char,
    _: jobject,
    length: jint,
    bytes: *const u8,
    new_length: *mut jint,
    new_bytes: *mut *mut u8,
) {
    // Its CPU time is booked where the class is transformed.
    contain(Feature::Probes, || {
        let Some(session) = Session::current() else { return };
        // SAFETY: the JVM passes the bytes of the class, and places for new ones.
        unsafe {
            let bytes = std::slice::from_raw_parts(bytes, length.unsigned_abs() as usize);
            let Some(changed) = session.transform(bytes) else { return };
            let Ok(length) = jint::try_from(changed.len()) else { return };
            if let Some(copy) = Jvmti::from_raw(env).copy(&changed) {
                *new_length = length;
                *new_bytes = copy;
            }
        }
    });
}

unsafe extern "system" fn virtual_thread_end(_: JvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    event(Feature::Threads, env, thread, |session, jni, thread| {
        session.virtual_thread_ended(jni, thread);
    });
}

unsafe extern "system" fn vm_death(_: JvmtiEnv, env: *mut JNIEnv) {
    guard(Feature::Dumping, || {
        if let Some(session) = Session::current() {
            // SAFETY: the JVM passes the calling thread's environment.
            session.vm_death(unsafe { Jni::from_raw(env) });
        }
    });
}

unsafe extern "system" fn thread_start(_: JvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    event(Feature::Threads, env, thread, |session, jni, thread| {
        session.thread_started(jni, thread);
    });
}

unsafe extern "system" fn thread_end(_: JvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    event(Feature::Threads, env, thread, |session, jni, thread| {
        session.thread_ended(jni, thread);
    });
}

unsafe extern "system" fn class_load(_: JvmtiEnv, env: *mut JNIEnv, _: jthread, class: jclass) {
    event(Feature::Classes, env, class, |session, _, class| session.class_loaded(&class));
}

unsafe extern "system" fn sampled_object_alloc(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
    class: jclass,
    size: jlong,
) {
    event(Feature::Sampling, env, thread, |session, jni, thread| {
        // SAFETY: the JVM passes valid references, good until the callback returns.
        let (object, class) = unsafe { (Borrowed::from_raw(object), Borrowed::from_raw(class)) };
        if let (Some(object), Some(class)) = (object, class) {
            let size_bytes = size.unsigned_abs();
            session.allocation_sampled(jni, &Picked { thread, object, class, size_bytes });
        }
    });
}

unsafe extern "system" fn vm_object_alloc(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
    class: jclass,
    size: jlong,
) {
    // It is a probe's work, and like that is not timed.
    contain(Feature::Probes, || {
        // SAFETY: the JVM passes the calling thread's environment and valid references, all good
        // until the callback returns.
        let (jni, thread, object, class) = unsafe {
            let of = |reference| Borrowed::from_raw(reference);
            (Jni::from_raw(env), of(thread), of(object), of(class))
        };
        if let (Some(thread), Some(object), Some(class)) = (thread, object, class)
            && let Some(exact) = Session::current().and_then(|session| session.exact)
        {
            let size_bytes = size.unsigned_abs();
            exact.made_by_jvm(jni, &Made { thread, object, class, size_bytes });
        }
    });
}

unsafe extern "system" fn data_dump_request(_: JvmtiEnv) {
    guard(Feature::Dumping, || {
        if let Some(session) = Session::current() {
            session.dump();
        }
    });
}
