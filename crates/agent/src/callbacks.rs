//! The JVM's events. Each body is one line inside [`guard`].

use std::ffi::{c_char, c_void};

use perk_jvmti_sys::jni_sys::{JNIEnv, jboolean, jclass, jint, jlong, jmethodID, jobject};
use perk_jvmti_sys::{
    JVMTI_EVENT_CLASS_LOAD, JVMTI_EVENT_DATA_DUMP_REQUEST, JVMTI_EVENT_GARBAGE_COLLECTION_START,
    JVMTI_EVENT_MONITOR_CONTENDED_ENTER, JVMTI_EVENT_MONITOR_CONTENDED_ENTERED,
    JVMTI_EVENT_MONITOR_WAIT, JVMTI_EVENT_MONITOR_WAITED, JVMTI_EVENT_NATIVE_METHOD_BIND,
    JVMTI_EVENT_OBJECT_FREE, JVMTI_EVENT_THREAD_END, JVMTI_EVENT_THREAD_START,
    JVMTI_EVENT_VIRTUAL_THREAD_END, JVMTI_EVENT_VM_DEATH, JVMTI_EVENT_VM_INIT,
    JVMTI_EVENT_VM_OBJECT_ALLOC, JVMTI_EVENT_VM_START, JvmtiEnv, jthread, jvmtiError,
    jvmtiEventCallbacks,
};

use crate::engine::{Monitors, bind};
use crate::exact::hook;
use crate::guard::{Feature, contain, guard, is_unheard};
use crate::heap_dump;
use crate::jvm::{Borrowed, Jni, Jvmti, MethodRef, NewObject};
use crate::session::{Session, Wanted};

/// Registers the callbacks, and asks for the events that come whatever the program does.
///
/// `hook` is an environment of its own for class files, where there are probes.
pub(crate) fn register(
    jvmti: Jvmti,
    hook: Option<Jvmti>,
    with_natives: bool,
) -> Result<(), jvmtiError> {
    jvmti.set_callbacks(&jvmtiEventCallbacks {
        VMStart: Some(vm_start),
        VirtualThreadEnd: Some(virtual_thread_end),
        VMInit: Some(vm_init),
        VMDeath: Some(vm_death),
        ThreadStart: Some(thread_start),
        ThreadEnd: Some(thread_end),
        ClassLoad: Some(class_load),
        SampledObjectAlloc: Some(sampled_object_alloc),
        VMObjectAlloc: Some(vm_object_alloc),
        ObjectFree: Some(object_free),
        DataDumpRequest: Some(data_dump_request),
        MonitorContendedEnter: Some(monitor_contended_enter),
        MonitorContendedEntered: Some(monitor_contended_entered),
        MonitorWait: Some(monitor_wait),
        MonitorWaited: Some(monitor_waited),
        NativeMethodBind: Some(native_method_bind),
        GarbageCollectionStart: Some(garbage_collection_start),
        ..Default::default()
    })?;
    if let Some(hook) = hook {
        jvmti.enable(JVMTI_EVENT_VM_START)?;
        hook::begin(hook, &of_hook())?;
    }
    if with_natives {
        jvmti.enable(JVMTI_EVENT_NATIVE_METHOD_BIND)?;
    }
    jvmti.enable(JVMTI_EVENT_VM_INIT)?;
    jvmti.enable(JVMTI_EVENT_VM_DEATH)
}

/// The callbacks of the environment for class files.
fn of_hook() -> jvmtiEventCallbacks {
    jvmtiEventCallbacks { ClassFileLoadHook: Some(class_file_load_hook), ..Default::default() }
}

/// Asks for the events of a running program.
fn enable_live(jvmti: Jvmti, wanted: Wanted) -> Result<(), jvmtiError> {
    if wanted.virtual_thread_ends {
        jvmti.enable(JVMTI_EVENT_VIRTUAL_THREAD_END)?;
    }
    if wanted.vm_allocations {
        jvmti.enable(JVMTI_EVENT_VM_OBJECT_ALLOC)?;
    }
    if wanted.monitors {
        jvmti.enable(JVMTI_EVENT_MONITOR_CONTENDED_ENTER)?;
        jvmti.enable(JVMTI_EVENT_MONITOR_CONTENDED_ENTERED)?;
        jvmti.enable(JVMTI_EVENT_MONITOR_WAIT)?;
        jvmti.enable(JVMTI_EVENT_MONITOR_WAITED)?;
    }
    if wanted.collections {
        jvmti.enable(JVMTI_EVENT_GARBAGE_COLLECTION_START)?;
    }
    if wanted.classes {
        jvmti.enable(JVMTI_EVENT_CLASS_LOAD)?;
    }
    if wanted.class_unloads {
        jvmti.enable(JVMTI_EVENT_OBJECT_FREE)?;
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

/// The session, for events that [`guard`] does not see.
fn heard_session() -> Option<&'static Session> {
    Session::current().filter(|_| !is_unheard())
}

/// Runs `body` with the session, the thread's environment and the event's object.
fn allocation(
    env: *mut JNIEnv,
    object: Option<NewObject<'_>>,
    body: impl FnOnce(&'static Session, Jni<'_>, &NewObject<'_>),
) {
    if let (Some(session), Some(object)) = (heard_session(), object) {
        // SAFETY: the JVM passes the calling thread's environment.
        let jni = unsafe { Jni::from_raw(env) };
        // The JVM tells of what it has made when its function ends, which may be by an exception.
        jni.without_exception(|| body(session, jni, &object));
    }
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
    jni: *mut JNIEnv,
    redefined: jclass,
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
        let Some(session) = heard_session() else { return };
        // SAFETY: the JVM passes the thread's environment, or null as long as there is none.
        if !jni.is_null() && hook::move_last(unsafe { Jni::from_raw(jni) }, &of_hook()) {
            return;
        }
        // SAFETY: the JVM passes the bytes of the class, places for new ones, and a reference to a
        // class or null.
        unsafe {
            let bytes = std::slice::from_raw_parts(bytes, length.unsigned_abs() as usize);
            let redefined = Borrowed::from_raw(redefined);
            let Some(changed) = session.transform(bytes, redefined) else { return };
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

/// No function of the JVM may be called here.
unsafe extern "system" fn object_free(_: JvmtiEnv, tag: jlong) {
    guard(Feature::Classes, || {
        if let Some(session) = Session::current() {
            session.object_freed(tag);
        }
    });
}

unsafe extern "system" fn sampled_object_alloc(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
    class: jclass,
    size: jlong,
) {
    guard(Feature::Sampling, || {
        // SAFETY: the JVM passes valid references, good until the callback returns.
        let picked = unsafe { NewObject::of_event(thread, object, class, size) };
        allocation(env, picked, |session, jni, picked| session.allocation_sampled(jni, picked));
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
        // SAFETY: as above.
        let made = unsafe { NewObject::of_event(thread, object, class, size) };
        allocation(env, made, |session, jni, made| {
            if let Some(exact) = session.exact {
                exact.made_by_jvm(jni, made);
            }
        });
    });
}

/// Nothing else may be done here: the JVM stands still.
unsafe extern "system" fn garbage_collection_start(_: JvmtiEnv) {
    heap_dump::collection_started();
}

unsafe extern "system" fn native_method_bind(
    env: JvmtiEnv,
    jni: *mut JNIEnv,
    _: jthread,
    method: jmethodID,
    address: *mut c_void,
    new_address: *mut *mut c_void,
) {
    // Before the JVM can answer any question there is no environment.
    if jni.is_null() {
        return;
    }
    // SAFETY: the JVM passes environments and a method that are good until the callback returns, and a
    // place for the address.
    let (jvmti, jni, method, new_address) = unsafe {
        (Jvmti::from_raw(env), Jni::from_raw(jni), MethodRef::from_raw(method), &mut *new_address)
    };
    let exact = Session::current().and_then(|it| it.exact.map(|exact| (it, exact)));
    contain(Feature::Monitors, || {
        if Session::current().is_some_and(Session::records_locks)
            && let Some(instead) = bind(jvmti, jni, method, address)
        {
            *new_address = instead;
            if exact.is_none() {
                let _ = jvmti.disable(JVMTI_EVENT_NATIVE_METHOD_BIND);
            }
        }
    });
    contain(Feature::Probes, || {
        if let Some((session, exact)) = exact
            && let Some(instead) = exact.bind(&session.recorder, jni, method, address)
        {
            *new_address = instead;
        }
    });
}

/// Runs `body` with the session, its monitors, the thread's environment, thread and monitor.
///
/// # Safety
/// The environment must be the calling thread's, the references valid or null.
unsafe fn monitor_event(
    env: *mut JNIEnv,
    thread: jthread,
    monitor: jobject,
    body: impl FnOnce(&'static Session, &Monitors, Jni<'_>, Borrowed<'_>, Borrowed<'_>),
) {
    // SAFETY: the caller's promise.
    let (jni, thread, monitor) =
        unsafe { (Jni::from_raw(env), Borrowed::from_raw(thread), Borrowed::from_raw(monitor)) };
    if let (Some(session), Some(thread), Some(monitor)) = (Session::current(), thread, monitor) {
        session.with_monitors(|monitors| body(session, monitors, jni, thread, monitor));
    }
}

unsafe extern "system" fn monitor_contended_enter(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    monitor: jobject,
) {
    guard(Feature::Monitors, || {
        // SAFETY: the JVM passes what is valid until the callback returns.
        unsafe {
            monitor_event(env, thread, monitor, |session, monitors, jni, thread, monitor| {
                monitors.enters(session, jni, thread, monitor);
            });
        }
    });
}

unsafe extern "system" fn monitor_contended_entered(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    monitor: jobject,
) {
    // The thread has the monitor: to read the clock of its CPU would take longer than all the rest.
    contain(Feature::Monitors, || {
        // SAFETY: as above.
        unsafe {
            monitor_event(env, thread, monitor, |session, monitors, jni, thread, _| {
                monitors.entered(session, jni, thread);
            });
        }
    });
}

unsafe extern "system" fn monitor_wait(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    monitor: jobject,
    timeout_ms: jlong,
) {
    guard(Feature::Monitors, || {
        let timeout_ms = timeout_ms.unsigned_abs();
        // SAFETY: as above.
        unsafe {
            monitor_event(env, thread, monitor, |session, monitors, jni, thread, monitor| {
                monitors.waits(session, jni, thread, monitor, timeout_ms);
            });
        }
    });
}

unsafe extern "system" fn monitor_waited(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    monitor: jobject,
    _: jboolean,
) {
    contain(Feature::Monitors, || {
        // SAFETY: as above.
        unsafe {
            monitor_event(env, thread, monitor, |session, monitors, jni, thread, _| {
                monitors.waited(session, jni, thread);
            });
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
