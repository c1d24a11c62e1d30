//! The events of the JVM. One table ([`TABLE`]) says how each event is requested. Each event has
//! one callback, one line inside [`guard`], which passes it on to the session or to the analyses
//! that asked for it.

use std::ffi::{CStr, c_char, c_void};

use perk_jvm::archive;
use perk_jvm::guard::{Feature, brief, contain, guard, is_unheard};
use perk_jvm::hook;
use perk_jvm::os;
use perk_jvm::{Jni, Jvmti, MethodRef, NewObject, ObjectRef};
use perk_jvmti_sys::jni_sys::{JNIEnv, jboolean, jclass, jint, jlong, jmethodID, jobject};
use perk_jvmti_sys::{
    Capability, JVMTI_ERROR_NOT_AVAILABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
    JVMTI_EVENT_CLASS_LOAD, JVMTI_EVENT_COMPILED_METHOD_LOAD, JVMTI_EVENT_COMPILED_METHOD_UNLOAD,
    JVMTI_EVENT_DATA_DUMP_REQUEST, JVMTI_EVENT_DYNAMIC_CODE_GENERATED, JVMTI_EVENT_EXCEPTION,
    JVMTI_EVENT_GARBAGE_COLLECTION_FINISH, JVMTI_EVENT_GARBAGE_COLLECTION_START,
    JVMTI_EVENT_MONITOR_CONTENDED_ENTER, JVMTI_EVENT_MONITOR_CONTENDED_ENTERED,
    JVMTI_EVENT_MONITOR_WAIT, JVMTI_EVENT_MONITOR_WAITED, JVMTI_EVENT_NATIVE_METHOD_BIND,
    JVMTI_EVENT_OBJECT_FREE, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, JVMTI_EVENT_THREAD_END,
    JVMTI_EVENT_THREAD_START, JVMTI_EVENT_VIRTUAL_THREAD_END, JVMTI_EVENT_VM_DEATH,
    JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_OBJECT_ALLOC, JVMTI_EVENT_VM_START, JvmtiEnv, jlocation,
    jthread, jvmtiAddrLocationMap, jvmtiError, jvmtiEvent, jvmtiEventCallbacks,
};

use crate::analyses::{Analysis, Event, ExceptionEvent, Needs};
use crate::common::{Common, Life};
use crate::session::Session;
use crate::threads::is_own_thread;
use crate::{api, remote};

/// The time from which an event is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventPhase {
    /// From the agent's load.
    Load,
    /// From VMInit.
    Init,
    /// From the agent's load, through an environment of its own: see [`hook`].
    Hook,
}

/// The way in which an event is requested.
struct Row {
    event: Event,
    number: jvmtiEvent,
    since: EventPhase,
    /// The capability that the event needs.
    capability: Option<Capability>,
    set: fn(&mut jvmtiEventCallbacks),
}

const fn row(
    event: Event,
    number: jvmtiEvent,
    since: EventPhase,
    capability: Option<Capability>,
    set: fn(&mut jvmtiEventCallbacks),
) -> Row {
    Row { event, number, since, capability, set }
}

/// The events, in the order in which they are enabled.
const TABLE: [Row; Event::COUNT] = {
    use EventPhase::{Hook, Init, Load};
    const OF_MONITORS: Option<Capability> = Some(Capability::CanGenerateMonitorEvents);
    const OF_CODE: Option<Capability> = Some(Capability::CanGenerateCompiledMethodLoadEvents);
    [
        row(Event::VmStart, JVMTI_EVENT_VM_START, Load, None, |it| it.VMStart = Some(vm_start)),
        row(Event::ClassFile, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, Hook, None, |it| {
            it.ClassFileLoadHook = Some(class_file_load_hook);
        }),
        row(
            Event::NativeBind,
            JVMTI_EVENT_NATIVE_METHOD_BIND,
            Load,
            Some(Capability::CanGenerateNativeMethodBindEvents),
            |it| it.NativeMethodBind = Some(native_method_bind),
        ),
        row(Event::VmInit, JVMTI_EVENT_VM_INIT, Load, None, |it| it.VMInit = Some(vm_init)),
        row(Event::VmDeath, JVMTI_EVENT_VM_DEATH, Load, None, |it| it.VMDeath = Some(vm_death)),
        row(
            Event::VirtualThreadEnd,
            JVMTI_EVENT_VIRTUAL_THREAD_END,
            Init,
            Some(Capability::CanSupportVirtualThreads),
            |it| it.VirtualThreadEnd = Some(virtual_thread_end),
        ),
        row(
            Event::ObjectMade,
            JVMTI_EVENT_VM_OBJECT_ALLOC,
            Init,
            Some(Capability::CanGenerateVmObjectAllocEvents),
            |it| it.VMObjectAlloc = Some(vm_object_alloc),
        ),
        row(
            Event::ObjectSampled,
            JVMTI_EVENT_SAMPLED_OBJECT_ALLOC,
            Init,
            Some(Capability::CanGenerateSampledObjectAllocEvents),
            |it| it.SampledObjectAlloc = Some(sampled_object_alloc),
        ),
        row(Event::MonitorEnter, JVMTI_EVENT_MONITOR_CONTENDED_ENTER, Init, OF_MONITORS, |it| {
            it.MonitorContendedEnter = Some(monitor_contended_enter)
        }),
        row(
            Event::MonitorEntered,
            JVMTI_EVENT_MONITOR_CONTENDED_ENTERED,
            Init,
            OF_MONITORS,
            |it| it.MonitorContendedEntered = Some(monitor_contended_entered),
        ),
        row(Event::MonitorWait, JVMTI_EVENT_MONITOR_WAIT, Init, OF_MONITORS, |it| {
            it.MonitorWait = Some(monitor_wait);
        }),
        row(Event::MonitorWaited, JVMTI_EVENT_MONITOR_WAITED, Init, OF_MONITORS, |it| {
            it.MonitorWaited = Some(monitor_waited);
        }),
        row(
            Event::CollectionStart,
            JVMTI_EVENT_GARBAGE_COLLECTION_START,
            Init,
            Some(Capability::CanGenerateGarbageCollectionEvents),
            |it| it.GarbageCollectionStart = Some(garbage_collection_start),
        ),
        row(
            Event::CollectionFinish,
            JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
            Init,
            Some(Capability::CanGenerateGarbageCollectionEvents),
            |it| it.GarbageCollectionFinish = Some(garbage_collection_finish),
        ),
        row(
            Event::Exception,
            JVMTI_EVENT_EXCEPTION,
            Init,
            Some(Capability::CanGenerateExceptionEvents),
            |it| it.Exception = Some(exception),
        ),
        row(Event::Compiled, JVMTI_EVENT_COMPILED_METHOD_LOAD, Load, OF_CODE, |it| {
            it.CompiledMethodLoad = Some(compiled_method_load);
        }),
        row(Event::CodeDropped, JVMTI_EVENT_COMPILED_METHOD_UNLOAD, Load, OF_CODE, |it| {
            it.CompiledMethodUnload = Some(compiled_method_unload);
        }),
        row(Event::StubMade, JVMTI_EVENT_DYNAMIC_CODE_GENERATED, Init, None, |it| {
            it.DynamicCodeGenerated = Some(dynamic_code_generated);
        }),
        row(Event::ClassLoad, JVMTI_EVENT_CLASS_LOAD, Init, None, |it| {
            it.ClassLoad = Some(class_load);
        }),
        row(
            Event::ObjectFree,
            JVMTI_EVENT_OBJECT_FREE,
            Init,
            Some(Capability::CanGenerateObjectFreeEvents),
            |it| it.ObjectFree = Some(object_free),
        ),
        row(Event::ThreadStart, JVMTI_EVENT_THREAD_START, Init, None, |it| {
            it.ThreadStart = Some(thread_start);
        }),
        row(Event::ThreadEnd, JVMTI_EVENT_THREAD_END, Init, None, |it| {
            it.ThreadEnd = Some(thread_end);
        }),
        row(Event::DataDump, JVMTI_EVENT_DATA_DUMP_REQUEST, Init, None, |it| {
            it.DataDumpRequest = Some(data_dump_request);
        }),
    ]
};

/// Capabilities that only newer JVMs have. An event that needs one is not delivered without it.
const WISHED: [Capability; 1] = [Capability::CanSupportVirtualThreads];

/// Adds the capabilities that all needs together require, and those that improve the numbers if the
/// JVM has them. That of sampled allocations is left to the analysis where the program
/// [may lack them](Common::may_lack_samples).
pub(crate) fn add_capabilities(common: &Common, needs: &[Needs]) -> Result<(), jvmtiError> {
    let jvmti = common.jvmti;
    let of_events = TABLE.iter().filter(|row| {
        let asks =
            |it: &Needs| it.events.contains(&row.event) || it.later_events.contains(&row.event);
        needs.iter().any(asks) && !(row.event == Event::ObjectSampled && common.may_lack_samples())
    });
    let of_events = of_events.filter_map(|row| row.capability).filter(|it| !WISHED.contains(it));
    let others = needs.iter().flat_map(|needs| &needs.capabilities).copied();
    jvmti.add_capabilities(of_events.chain(others).collect())?;
    jvmti.add_capabilities(jvmti.potential(WISHED.into_iter().collect())?)
}

/// Registers the callbacks and requests the events that come before VMInit. `new_jvmti` makes
/// environments.
pub(crate) fn register(
    session: &Session,
    new_jvmti: impl Fn() -> Option<Jvmti>,
) -> Result<(), jvmtiError> {
    let mut callbacks = jvmtiEventCallbacks::default();
    TABLE
        .iter()
        .filter(|row| row.since != EventPhase::Hook)
        .for_each(|row| (row.set)(&mut callbacks));
    let jvmti = session.jvmti();
    jvmti.set_callbacks(&callbacks)?;
    for row in TABLE.iter().filter(|row| session.enables(row.event)) {
        match row.since {
            EventPhase::Load => jvmti.enable(row.number)?,
            EventPhase::Hook => {
                let hook = new_jvmti().ok_or(JVMTI_ERROR_NOT_AVAILABLE)?;
                hook::begin(hook, &of_hook(), session.common().life == Life::Program)?;
            }
            EventPhase::Init => {}
        }
    }
    Ok(())
}

/// Returns the callbacks of the environment for class files.
fn of_hook() -> jvmtiEventCallbacks {
    let mut callbacks = jvmtiEventCallbacks::default();
    TABLE
        .iter()
        .filter(|row| row.since == EventPhase::Hook)
        .for_each(|row| (row.set)(&mut callbacks));
    callbacks
}

/// Requests the events of a running program.
pub(crate) fn enable_live(session: &Session) -> Result<(), jvmtiError> {
    let jvmti = session.jvmti();
    let is_given = |row: &&Row| {
        row.capability != Some(Capability::CanSupportVirtualThreads) || jvmti.has_virtual_threads()
    };
    let asked = TABLE.iter().filter(|it| it.since == EventPhase::Init && session.enables(it.event));
    asked.filter(is_given).try_for_each(|row| jvmti.enable(row.number))
}

/// Ends all events of a session.
pub(crate) fn unregister(session: &Session) {
    let numbers = TABLE.iter().filter(|row| row.since != EventPhase::Hook).map(|row| row.number);
    numbers.for_each(|number| _ = session.jvmti().disable(number));
}

/// Runs `body` with the session, the thread's environment and the event's thread or class.
fn event(
    feature: Feature,
    env: *mut JNIEnv,
    object: jobject,
    body: impl FnOnce(&'static Session, Jni<'_>, ObjectRef<'_>),
) {
    guard(feature, || {
        // SAFETY: the JVM passes the calling thread's environment and a valid reference, both
        // good until the callback returns.
        let (jni, object) = unsafe { (Jni::from_raw(env), ObjectRef::from_raw(object)) };
        if let (Some(session), Some(object)) = (Session::current(), object) {
            body(session, jni, object);
        }
    });
}

/// Returns the analyses that asked for an event.
fn asked(event: Event) -> &'static [&'static dyn Analysis] {
    Session::current().map_or(&[], |session| session.asked(event))
}

/// Runs `body` with the analyses that asked for an event, the thread's environment and the object.
fn allocation(
    event: Event,
    env: *mut JNIEnv,
    object: Option<NewObject<'_>>,
    body: impl Fn(&'static dyn Analysis, Jni<'_>, &NewObject<'_>),
) {
    if let Some(object) = object.filter(|_| !is_unheard() && !is_own_thread()) {
        // SAFETY: the JVM passes the calling thread's environment.
        let jni = unsafe { Jni::from_raw(env) };
        // The JVM reports an object that it made when its function ends, possibly with an
        // exception.
        jni.without_exception(|| asked(event).iter().for_each(|it| body(*it, jni, &object)));
    }
}

unsafe extern "system" fn vm_init(_: JvmtiEnv, env: *mut JNIEnv, main: jthread) {
    event(Feature::Starting, env, main, |session, jni, main| {
        // Classes and threads that appear while the existing ones are listed must not be missed. So
        // the events are enabled first, and the lists follow.
        if let Err(error) = enable_live(session) {
            os::say(&format!("HPROF ERROR: the JVM refused events: {error}\n"));
        }
        // The JVM would name the class on stdout, as one that cannot be in the cache.
        if !archive::is_recorded() {
            api::define(jni);
        }
        // In a program that is about to start, faults are on stderr.
        let _ = session.begin(jni, Some(main));
        if let Some(vm) = jni.vm() {
            // Without it the program is measured all the same.
            let _ = remote::open(vm, None);
        }
    });
}

unsafe extern "system" fn vm_start(_: JvmtiEnv, env: *mut JNIEnv) {
    guard(Feature::Starting, || {
        // SAFETY: the JVM passes the calling thread's environment.
        let jni = unsafe { Jni::from_raw(env) };
        for analysis in asked(Event::VmStart) {
            if let Err(reason) = analysis.vm_started(jni) {
                os::say(&format!("HPROF ERROR: {reason}\n"));
                std::process::exit(1);
            }
        }
    });
}

unsafe extern "system" fn class_file_load_hook(
    env: JvmtiEnv,
    jni: *mut JNIEnv,
    redefined: jclass,
    _: jobject,
    name: *const c_char,
    _: jobject,
    length: jint,
    bytes: *const u8,
    new_length: *mut jint,
    new_bytes: *mut *mut u8,
) {
    // The CPU time is booked where the class is transformed.
    contain(Feature::Probes, || {
        // SAFETY: the JVM passes a string that ends in NUL, or null.
        let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) });
        // Another agent may have the class retransformed, which must stay as it was defined.
        if is_unheard() || name == Some(api::NAME) {
            return;
        }
        // SAFETY: the JVM passes the thread's environment, or null as long as there is none.
        if !jni.is_null() && hook::move_last(unsafe { Jni::from_raw(jni) }, &of_hook()) {
            return;
        }
        // SAFETY: the JVM passes the bytes of the class, places for new ones, and a reference to a
        // class or null.
        unsafe {
            let bytes = std::slice::from_raw_parts(bytes, length.unsigned_abs() as usize);
            let redefined = ObjectRef::from_raw(redefined);
            let mut asked = asked(Event::ClassFile).iter();
            let changed = asked.find_map(|analysis| analysis.class_file(bytes, redefined));
            let Some(changed) = changed else { return };
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
        allocation(Event::ObjectSampled, env, picked, |it, jni, picked| {
            it.object_sampled(jni, picked);
        });
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
    // This is the work of a probe, and like that it is not timed.
    contain(Feature::Probes, || {
        // SAFETY: the JVM passes references that are valid until the callback returns.
        let made = unsafe { NewObject::of_event(thread, object, class, size) };
        allocation(Event::ObjectMade, env, made, |it, jni, made| it.object_made(jni, made));
    });
}

/// Nothing else may be done here: the JVM stands still.
unsafe extern "system" fn garbage_collection_start(_: JvmtiEnv) {
    if let Some(session) = Session::current() {
        session.collection_started();
    }
}

/// As above.
unsafe extern "system" fn garbage_collection_finish(_: JvmtiEnv) {
    if let Some(session) = Session::current() {
        session.collection_finished();
    }
}

unsafe extern "system" fn native_method_bind(
    _: JvmtiEnv,
    jni: *mut JNIEnv,
    _: jthread,
    method: jmethodID,
    address: *mut c_void,
    new_address: *mut *mut c_void,
) {
    // There is no environment until the JVM can answer questions.
    if jni.is_null() || is_unheard() {
        return;
    }
    // SAFETY: the JVM passes an environment and a method that are good until the callback returns,
    // and a place for the address.
    let (jni, method, new_address) =
        unsafe { (Jni::from_raw(jni), MethodRef::from_raw(method), &mut *new_address) };
    for analysis in asked(Event::NativeBind) {
        contain(analysis.feature(), || {
            if let Some(instead) = analysis.native_bound(jni, method, address) {
                *new_address = instead;
            }
        });
    }
}

/// Runs `body` with each analysis that asked for an event of a monitor, the thread's environment,
/// thread and monitor. Such events are frequent, and most of their callbacks brief.
///
/// # Safety
/// The environment must be the calling thread's, the references valid or null.
unsafe fn monitor_event(
    event: Event,
    env: *mut JNIEnv,
    thread: jthread,
    monitor: jobject,
    body: impl Fn(&'static dyn Analysis, Jni<'_>, ObjectRef<'_>, ObjectRef<'_>),
) {
    brief(Feature::Monitors, || {
        // SAFETY: the caller's promise.
        let (jni, thread, monitor) = unsafe {
            (Jni::from_raw(env), ObjectRef::from_raw(thread), ObjectRef::from_raw(monitor))
        };
        if let (Some(thread), Some(monitor)) = (thread, monitor) {
            asked(event).iter().for_each(|it| body(*it, jni, thread, monitor));
        }
    });
}

unsafe extern "system" fn exception(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    _: jmethodID,
    _: jlocation,
    _: jobject,
    catch_method: jmethodID,
    catch_location: jlocation,
) {
    guard(Feature::Probes, || {
        // SAFETY: the JVM passes the environment, a reference and a method, or null.
        let (jni, thread, caught) = unsafe {
            let caught = (!catch_method.is_null()).then(|| MethodRef::from_raw(catch_method));
            (Jni::from_raw(env), ObjectRef::from_raw(thread), caught)
        };
        let caught = caught.zip(u16::try_from(catch_location).ok());
        if let Some(thread) = thread {
            let asked = asked(Event::Exception).iter();
            asked.for_each(|analysis| analysis.exception(jni, thread, ExceptionEvent { caught }));
        }
    });
}

unsafe extern "system" fn monitor_contended_enter(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    monitor: jobject,
) {
    // SAFETY: the JVM passes what is valid until the callback returns.
    unsafe {
        monitor_event(Event::MonitorEnter, env, thread, monitor, |it, jni, thread, monitor| {
            it.monitor_enter(jni, thread, monitor);
        });
    }
}

unsafe extern "system" fn monitor_contended_entered(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    monitor: jobject,
) {
    // SAFETY: the JVM passes what is valid until the callback returns.
    unsafe {
        monitor_event(Event::MonitorEntered, env, thread, monitor, |it, jni, thread, monitor| {
            it.monitor_entered(jni, thread, monitor);
        });
    }
}

unsafe extern "system" fn monitor_wait(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    monitor: jobject,
    timeout_ms: jlong,
) {
    let timeout_ms = timeout_ms.unsigned_abs();
    // SAFETY: the JVM passes what is valid until the callback returns.
    unsafe {
        monitor_event(Event::MonitorWait, env, thread, monitor, |it, jni, thread, monitor| {
            it.monitor_wait(jni, thread, monitor, timeout_ms);
        });
    }
}

unsafe extern "system" fn monitor_waited(
    _: JvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    monitor: jobject,
    _: jboolean,
) {
    // SAFETY: the JVM passes what is valid until the callback returns.
    unsafe {
        monitor_event(Event::MonitorWaited, env, thread, monitor, |it, jni, thread, monitor| {
            it.monitor_waited(jni, thread, monitor);
        });
    }
}

unsafe extern "system" fn compiled_method_load(
    _: JvmtiEnv,
    method: jmethodID,
    _: jint,
    _: *const c_void,
    _: jint,
    _: *const jvmtiAddrLocationMap,
    _: *const c_void,
) {
    guard(Feature::Sampling, || {
        // SAFETY: the JVM passes a method.
        let method = unsafe { MethodRef::from_raw(method) };
        asked(Event::Compiled).iter().for_each(|analysis| analysis.compiled(method));
    });
}

unsafe extern "system" fn compiled_method_unload(_: JvmtiEnv, method: jmethodID, _: *const c_void) {
    guard(Feature::Sampling, || {
        // SAFETY: the JVM passes a method.
        let method = unsafe { MethodRef::from_raw(method) };
        asked(Event::CodeDropped).iter().for_each(|analysis| analysis.code_dropped(method));
    });
}

unsafe extern "system" fn dynamic_code_generated(
    _: JvmtiEnv,
    name: *const c_char,
    address: *const c_void,
    length: jint,
) {
    guard(Feature::Sampling, || {
        // SAFETY: the JVM passes a string that is valid until the callback returns.
        let name = unsafe { CStr::from_ptr(name) };
        let begin = address.addr();
        let addresses = begin..begin.saturating_add(length.unsigned_abs() as usize);
        let asked = asked(Event::StubMade).iter();
        asked.for_each(|analysis| analysis.stub_made(name, addresses.clone()));
    });
}

unsafe extern "system" fn data_dump_request(_: JvmtiEnv) {
    guard(Feature::Dumping, || {
        if let Some(session) = Session::current() {
            session.dump();
        }
    });
}
