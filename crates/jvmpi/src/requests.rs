//! What the agent asks for: the defining event of an id, a dump, the class of a method, the end.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;

use perk_jvmti_sys::jni_sys::{jint, jmethodID};
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_HEAP_DUMP, JVMPI_EVENT_MONITOR_DUMP,
    JVMPI_EVENT_OBJECT_ALLOC, JVMPI_EVENT_OBJECT_DUMP, JVMPI_EVENT_THREAD_START, JVMPI_FAIL,
    JVMPI_NOT_AVAILABLE, JVMPI_SUCCESS, jobjectID,
};

use super::notify::{self, Phase};
use super::object_dump::is_class;
use super::{Bridge, Id, account, bridge, cpu, gc, heap_dump, monitor_dump, object_dump};
use crate::state::STATE;
use perk_jvm::os::checked;
use perk_jvm::{Jni, Local, MethodRef};

/// `RequestEvent`
pub(super) unsafe extern "C" fn request_event(kind: jint, argument: *mut c_void) -> jint {
    const KNOWN: [jint; 6] = [
        JVMPI_EVENT_CLASS_LOAD,
        JVMPI_EVENT_THREAD_START,
        JVMPI_EVENT_OBJECT_ALLOC,
        JVMPI_EVENT_HEAP_DUMP,
        JVMPI_EVENT_MONITOR_DUMP,
        JVMPI_EVENT_OBJECT_DUMP,
    ];
    if !KNOWN.contains(&kind) {
        return JVMPI_NOT_AVAILABLE;
    }
    let Some(bridge) = bridge().filter(|_| notify::phase() == Phase::Live) else {
        return JVMPI_FAIL;
    };
    let Some(jni) = bridge.current_jni() else { return JVMPI_FAIL };
    let mut is_done = None;
    // The request may come in the handler of an event with an exception under way.
    let answer = || {
        is_done = match kind {
            JVMPI_EVENT_CLASS_LOAD => bridge.request_class(jni, argument.cast()),
            JVMPI_EVENT_THREAD_START => bridge.request_thread(jni, argument.cast()),
            JVMPI_EVENT_OBJECT_ALLOC => bridge.request_object(jni, argument.cast()),
            // SAFETY: the agent passes the level, or null.
            JVMPI_EVENT_HEAP_DUMP => unsafe { heap_dump::request(bridge, jni, argument.cast()) },
            JVMPI_EVENT_MONITOR_DUMP => monitor_dump::request(bridge, jni),
            _ => object_dump::request(bridge, jni, argument.cast()),
        };
    };
    // No id ends between its place in a dump and the handler.
    cpu::own_often(|| gc::during_request(kind, || jni.without_exception(answer)));
    if is_done.is_some() { JVMPI_SUCCESS } else { JVMPI_FAIL }
}

impl Bridge {
    fn request_class(&self, jni: Jni<'_>, id: jobjectID) -> Option<()> {
        let id = Id::from_raw(id)?;
        let class = self.classes.find(jni, id).or_else(|| self.class_as_object(jni, id))?;
        self.with_class(jni, &class, id, |load| {
            notify::answer(JVMPI_EVENT_CLASS_LOAD, jni.raw(), load);
        });
        Some(())
    }

    /// Returns a class whose id the agent has from elsewhere than an event of classes: as that of an object.
    fn class_as_object<'a>(&self, jni: Jni<'a>, id: Id) -> Option<Local<'a>> {
        let object = self.object(jni, id)?;
        let is_class = notify::quiet(|| is_class(jni, &jni.class_of(&object)?).then_some(()));
        is_class.map(|()| {
            self.class_id(jni, &object);
            object
        })
    }

    fn request_thread(&self, jni: Jni<'_>, id: jobjectID) -> Option<()> {
        let id = Id::from_raw(id)?;
        let is_it = |thread: &_| Id::from_tag(self.jvmti.tag(thread)) == Some(id);
        let thread = notify::quiet(|| self.threads.all().into_iter().find(|it| is_it(&**it)))?;
        self.with_start(jni, &thread, |start| {
            notify::answer(JVMPI_EVENT_THREAD_START, jni.raw(), start);
        });
        Some(())
    }
}

/// Returns the first of the virtual functions of what a method's id leads to, which is the same for all
/// methods; `None` if it leads nowhere.
fn first_function(method: jmethodID) -> Option<usize> {
    (0..3).try_fold(method as usize, |address, _| checked::word(address))
}

/// Whether an id is that of a method, for all that can be seen: the JVM looks into it as it is.
fn is_method(bridge: &Bridge, jni: Jni<'_>, method: jmethodID) -> bool {
    if STATE.requests.of_methods.load(Relaxed) == 0 {
        let of_object = || {
            let methods = bridge.jvmti.class_methods(jni.object_class()?).ok()?;
            first_function(methods.first()?.raw())
        };
        STATE.requests.of_methods.store(of_object().unwrap_or(1), Relaxed);
    }
    let of_methods = STATE.requests.of_methods.load(Relaxed);
    of_methods == 1 || first_function(method) == Some(of_methods)
}

/// `GetMethodClass`
pub(super) unsafe extern "C" fn method_class(method: jmethodID) -> jobjectID {
    let found = || {
        let bridge = bridge().filter(|_| notify::phase() == Phase::Live)?;
        let jni = bridge.current_jni()?;
        let class = notify::quiet(|| {
            // SAFETY: it is a method, whose class may be unloaded; the JVM looks for that.
            let method =
                is_method(bridge, jni, method).then(|| unsafe { MethodRef::from_raw(method) })?;
            bridge.jvmti.declaring_class(jni, method).ok()
        })?;
        Some(bridge.class_id(jni, &class))
    };
    found().map_or(null_mut(), Id::raw)
}

/// `ProfilerExit`
pub(super) unsafe extern "C" fn profiler_exit(code: jint) {
    notify::enter(Phase::Over);
    if let Some(bridge) = bridge() {
        if let Some(jni) = bridge.current_jni() {
            account::close(bridge, jni);
        }
        account::print(bridge);
    }
    std::process::exit(code);
}
