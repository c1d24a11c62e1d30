//! The JVM's events, which go to the part of the bridge that each concerns.

use std::ffi::c_void;
use std::ptr::null_mut;

use perk_jvmti_sys::jni_sys::{JNIEnv, jboolean, jclass, jlong, jmethodID, jobject};
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_DATA_DUMP_REQUEST, JVMPI_EVENT_JVM_INIT_DONE,
    JVMPI_EVENT_MONITOR_CONTENDED_ENTER, JVMPI_EVENT_MONITOR_CONTENDED_ENTERED,
};
use perk_jvmti_sys::{
    JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, JVMTI_EVENT_DATA_DUMP_REQUEST,
    JVMTI_EVENT_NATIVE_METHOD_BIND, JVMTI_EVENT_THREAD_END, JVMTI_EVENT_THREAD_START,
    JVMTI_EVENT_VM_DEATH, JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_START, JvmtiEnv, jthread, jvmtiError,
    jvmtiEventCallbacks,
};

use super::arrival::{any_event, event, object_event};
use super::notify::{self, Phase};
use super::{
    Bridge, account, bridge, class_files, compiled, cpu, events, gc, library, methods, objects,
};
use perk_jvm::guard::{Feature, contain};
use perk_jvm::os;
use perk_jvm::{Jni, Jvmti, MethodRef, ObjectRef};

/// Enters the callbacks into the table.
pub(super) fn fill(table: &mut jvmtiEventCallbacks) {
    table.VMStart = Some(vm_start);
    table.VMInit = Some(vm_init);
    table.VMDeath = Some(vm_death);
    table.ThreadStart = Some(thread_start);
    table.ThreadEnd = Some(thread_end);
    table.ClassPrepare = Some(class_prepare);
    table.SampledObjectAlloc = Some(objects::sampled_object_alloc);
    table.GarbageCollectionFinish = Some(gc::collection_finished);
    table.ClassFileLoadHook = Some(class_files::class_file_load_hook);
    table.CompiledMethodLoad = Some(compiled::compiled_method_load);
    table.CompiledMethodUnload = Some(compiled::compiled_method_unload);
    table.ObjectFree = Some(gc::object_free);
    table.DataDumpRequest = Some(data_dump_request);
    methods::fill(table);
    table.MonitorContendedEnter = Some(monitor_contended_enter);
    table.MonitorContendedEntered = Some(monitor_contended_entered);
    table.MonitorWait = Some(monitor_wait);
    table.MonitorWaited = Some(monitor_waited);
    table.NativeMethodBind = Some(native_method_bind);
}

/// Makes the JVM send what the bridge needs in any case. Without a library of its own it needs the class
/// files, too: `-Xrun` starts its library later, which may want those that follow.
pub(super) fn enable_always(jvmti: Jvmti, has_library: bool) -> Result<(), jvmtiError> {
    for event in [
        JVMTI_EVENT_VM_START,
        JVMTI_EVENT_VM_INIT,
        JVMTI_EVENT_VM_DEATH,
        JVMTI_EVENT_THREAD_START,
        JVMTI_EVENT_THREAD_END,
        JVMTI_EVENT_DATA_DUMP_REQUEST,
        JVMTI_EVENT_NATIVE_METHOD_BIND,
    ] {
        jvmti.enable(event)?;
    }
    if !has_library {
        jvmti.enable(JVMTI_EVENT_CLASS_FILE_LOAD_HOOK)?;
    }
    Ok(())
}

unsafe extern "system" fn vm_start(_: JvmtiEnv, env: *mut JNIEnv) {
    contain(Feature::Jvmpi, || {
        // SAFETY: the JVM passes the calling thread's environment.
        let jni = unsafe { Jni::from_raw(env) };
        if let Some(bridge) = bridge() {
            cpu::own(|| notify::quiet(|| methods::begin(bridge, jni)));
        }
    });
}

unsafe extern "system" fn vm_init(_: JvmtiEnv, env: *mut JNIEnv, main: jthread) {
    // SAFETY: the JVM passes the calling thread's environment, and its thread.
    let main = unsafe { ObjectRef::from_raw(main) };
    let run = |bridge: &'static Bridge, jni: Jni<'_>| {
        if let Err(reason) = library::check_one_agent() {
            os::say(&format!("HPROF ERROR: {reason}\n"));
            std::process::exit(1);
        }
        let Some(main) = main else { return };
        // From here on the agent may have threads stand still, and this class must be there then.
        notify::quiet(|| _ = jni.object_class());
        notify::enter(Phase::Live);
        bridge.announce_main(jni, &main);
        gc::begin(bridge, jni);
        // From here on the JVM reports new ones.
        events::apply(bridge, JVMPI_EVENT_CLASS_LOAD);
        bridge.announce_classes(jni);
        bridge.announce_threads(jni, &main);
        events::apply_all(bridge);
        notify::send_plain(JVMPI_EVENT_JVM_INIT_DONE, env);
    };
    // SAFETY: the JVM passes the calling thread's environment.
    unsafe { event(env, null_mut(), run) };
}

unsafe extern "system" fn vm_death(_: JvmtiEnv, env: *mut JNIEnv) {
    // SAFETY: the JVM passes the calling thread's environment.
    unsafe {
        event(env, null_mut(), |bridge, jni| {
            gc::end();
            notify::send_shut_down(env);
            account::close(bridge, jni);
        });
    }
}

unsafe extern "system" fn thread_start(_: JvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    // SAFETY: the JVM passes the calling thread's environment; the thread is good until the
    // callback returns.
    unsafe {
        event(env, thread, |bridge, jni| {
            if let Some(thread) = ObjectRef::from_raw(thread) {
                bridge.thread_started(jni, thread);
            }
        });
    }
}

unsafe extern "system" fn thread_end(_: JvmtiEnv, env: *mut JNIEnv, _: jthread) {
    // SAFETY: the JVM passes the calling thread's environment.
    unsafe { event(env, null_mut(), |bridge, jni| bridge.thread_ended(jni)) };
}

unsafe extern "system" fn class_prepare(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    class: jclass,
) {
    // SAFETY: the JVM passes the calling thread's environment; the class is good until the callback
    // returns.
    cpu::own(|| unsafe {
        any_event(env, thread, |bridge, jni| match ObjectRef::from_raw(class) {
            Some(class) if notify::is_quiet() || !notify::has_started(env) => {
                bridge.class_noted(jni, &class);
            }
            Some(class) => bridge.class_prepared(jni, &class),
            None => {}
        });
    });
}

unsafe extern "system" fn data_dump_request(_: JvmtiEnv) {
    contain(Feature::Jvmpi, || {
        let env = bridge().and_then(Bridge::current_jni).map_or(std::ptr::null_mut(), Jni::raw);
        notify::send_plain(JVMPI_EVENT_DATA_DUMP_REQUEST, env);
    });
}

unsafe extern "system" fn monitor_contended_enter(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
) {
    let kind = JVMPI_EVENT_MONITOR_CONTENDED_ENTER;
    // SAFETY: the JVM passes the calling thread's environment; the thread and the object are good
    // until the callback returns.
    unsafe { object_event(env, thread, object, |bridge, jni, it| bridge.contended(jni, kind, it)) };
}

unsafe extern "system" fn monitor_contended_entered(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
) {
    let kind = JVMPI_EVENT_MONITOR_CONTENDED_ENTERED;
    // SAFETY: the JVM passes the calling thread's environment; the thread and the object are good
    // until the callback returns.
    unsafe { object_event(env, thread, object, |bridge, jni, it| bridge.contended(jni, kind, it)) };
}

unsafe extern "system" fn monitor_wait(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
    limit_ms: jlong,
) {
    // SAFETY: the JVM passes the calling thread's environment; the thread and the object are good
    // until the callback returns.
    unsafe {
        object_event(env, thread, object, |bridge, jni, it| bridge.wait_begins(jni, it, limit_ms))
    };
}

unsafe extern "system" fn monitor_waited(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
    _: jboolean,
) {
    // SAFETY: the JVM passes the calling thread's environment; the thread and the object are good
    // until the callback returns.
    unsafe { object_event(env, thread, object, |bridge, jni, it| bridge.wait_ended(jni, it)) };
}

unsafe extern "system" fn native_method_bind(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    _: jthread,
    method: jmethodID,
    function: *mut c_void,
    place: *mut *mut c_void,
) {
    // The first methods are bound before there are threads.
    if env.is_null() || method.is_null() {
        return;
    }
    // SAFETY: the JVM passes the calling thread's environment, a method of its own, and a place for
    // another function.
    unsafe {
        event(env, null_mut(), |bridge, jni| {
            if let Some(other) = bridge.bound(jni, MethodRef::from_raw(method), function) {
                *place = other;
            }
        });
    }
}
