//! The JVM's events. Each body is one line inside [`guard`].

use perk_jvmti_sys::jni_sys::{JNIEnv, jclass};
use perk_jvmti_sys::{
    JVMTI_EVENT_CLASS_LOAD, JVMTI_EVENT_DATA_DUMP_REQUEST, JVMTI_EVENT_THREAD_END,
    JVMTI_EVENT_THREAD_START, JVMTI_EVENT_VM_DEATH, JVMTI_EVENT_VM_INIT, JvmtiEnv, jthread,
    jvmtiError, jvmtiEventCallbacks,
};

use crate::guard::{Feature, guard};
use crate::jvm::{Borrowed, Jni, Jvmti};
use crate::session::Session;

/// Registers the callbacks, and asks for the events that come whatever the program does.
pub(crate) fn register(jvmti: Jvmti) -> Result<(), jvmtiError> {
    jvmti.set_callbacks(&jvmtiEventCallbacks {
        VMInit: Some(vm_init),
        VMDeath: Some(vm_death),
        ThreadStart: Some(thread_start),
        ThreadEnd: Some(thread_end),
        ClassLoad: Some(class_load),
        DataDumpRequest: Some(data_dump_request),
        ..Default::default()
    })?;
    jvmti.enable(JVMTI_EVENT_VM_INIT)?;
    jvmti.enable(JVMTI_EVENT_VM_DEATH)
}

/// Asks for the events of a running program.
fn enable_live(jvmti: Jvmti, classes: bool) -> Result<(), jvmtiError> {
    if classes {
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

unsafe extern "system" fn vm_death(_: JvmtiEnv, _: *mut JNIEnv) {
    guard(Feature::Dumping, || {
        if let Some(session) = Session::current() {
            session.vm_death();
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

unsafe extern "system" fn data_dump_request(_: JvmtiEnv) {
    guard(Feature::Dumping, || {
        if let Some(session) = Session::current() {
            session.dump();
        }
    });
}
