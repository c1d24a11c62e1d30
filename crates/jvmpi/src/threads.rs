//! The threads that the agent knows: by their environments, which are their ids.

mod current;

use std::ffi::{CString, c_void};
use std::mem::ManuallyDrop;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU64};

use perk_jvmti_sys::jni_sys::{JNIEnv, jlong};
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_THREAD_END, JVMPI_EVENT_THREAD_START, JVMPI_Event_thread_start, JVMPI_Event_u,
    jobjectID,
};
use perk_profile::mutf8;

use self::current::{CURRENT, with_current};
pub(super) use self::current::{
    critical, identity, is_announced, is_current, is_in_critical, meet, waiting,
};
use super::notify::{self, Phase};
use super::{Bridge, Id, bridge, gc, methods};
use crate::state::threads::{Thread, Threads};
use perk_jvm::os;
use perk_jvm::sync::lock;
use perk_jvm::{Jni, LongField, ObjectRef, Reference};

impl Drop for Thread {
    fn drop(&mut self) {
        let Some(jni) = bridge().and_then(Bridge::current_jni) else { return };
        // SAFETY: it is taken once, here.
        let reference = unsafe { ManuallyDrop::take(&mut self.reference) };
        notify::quiet(|| jni.delete(reference));
    }
}

impl Reference for Thread {
    fn raw(&self) -> perk_jvmti_sys::jni_sys::jobject {
        self.reference.raw()
    }
}

impl Threads {
    /// Adds a thread. Returns it if it is new.
    fn add(
        &self,
        jni: Jni<'_>,
        env: *mut JNIEnv,
        object: &(impl Reference + ?Sized),
    ) -> Option<Arc<Thread>> {
        let known = self.find(env);
        if known.as_ref().is_some_and(|known| jni.same(&**known, object)) {
            return None;
        }
        let reference = notify::quiet(|| jni.global(object))?;
        let thread = Arc::new(Thread {
            env: env as usize,
            reference: ManuallyDrop::new(reference),
            id: AtomicI64::new(0),
            storage: AtomicPtr::new(null_mut()),
            is_critical: AtomicBool::new(false),
            is_announced: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            suspension: AtomicU64::new(0),
            resumed_at_ns: AtomicU64::new(0),
            raw_monitor_state: AtomicI32::new(0),
        });
        // One that is there has ended without an event. It is dropped when the lock is free.
        let _replaced = lock(&self.by_env).insert(env as usize, Arc::clone(&thread));
        Some(thread)
    }
}

impl Bridge {
    /// Handles the start of the calling thread.
    pub(super) fn thread_started(&self, jni: Jni<'_>, thread: ObjectRef<'_>) {
        notify::quiet(|| methods::thread_started(self, jni, &thread));
        let Some(thread) = self.threads.add(jni, jni.raw(), &thread) else { return };
        CURRENT.set((thread.env, Arc::as_ptr(&thread)));
        // Before VMInit it has no name; VMInit announces it.
        if notify::phase() == Phase::Live {
            self.announce(jni, &thread);
        }
    }

    /// Handles the end of the calling thread.
    pub(super) fn thread_ended(&self, jni: Jni<'_>) {
        let Some(thread) = self.threads.find(jni.raw()) else { return };
        if notify::has_started(thread.env()) {
            notify::send_plain(JVMPI_EVENT_THREAD_END, thread.env());
        }
        notify::thread_ended();
        methods::thread_ended();
        gc::thread_ended();
        // Nobody may have suspended it now, nor do so later.
        critical(|| {
            thread.has_ended.store(true, SeqCst);
            lock(&self.threads.by_env).remove(&thread.env);
        });
        CURRENT.set((0, std::ptr::null()));
    }

    /// Announces `main` at VMInit, which calls this.
    pub(super) fn announce_main(&self, jni: Jni<'_>, main: &ObjectRef<'_>) {
        if let Some(main) = self.threads.add(jni, jni.raw(), main) {
            CURRENT.set((main.env, Arc::as_ptr(&main)));
            self.announce(jni, &main);
        }
    }

    /// Announces the other threads that exist at VMInit. The agent knows the classes on their stacks.
    pub(super) fn announce_threads(&self, jni: Jni<'_>, main: &ObjectRef<'_>) {
        let envs = notify::quiet(|| Environments::of(jni, main));
        for object in notify::quiet(|| self.jvmti.all_threads(jni)).unwrap_or_default() {
            let known = self.threads.all().into_iter().find(|it| jni.same(&**it, &object));
            let thread = known.or_else(|| {
                let env = envs.as_ref()?.env(jni, &object)?;
                self.threads.add(jni, env, &object)
            });
            if let Some(thread) = thread {
                self.announce(jni, &thread);
            }
        }
    }

    /// Sends THREAD_START of a thread, once.
    fn announce(&self, jni: Jni<'_>, thread: &Thread) {
        if !thread.is_announced.swap(true, Relaxed) {
            self.with_start(jni, thread, |start| {
                notify::send(JVMPI_EVENT_THREAD_START, jni.raw(), || start);
            });
            // What has waited for it on this thread is sent now.
            notify::has_started(jni.raw());
        }
    }

    /// Returns the id of a thread's object.
    fn thread_id(&self, thread: &Thread) -> Id {
        let id = self.objects.id(self.jvmti, thread);
        thread.id.store(id.0, Relaxed);
        id
    }

    /// Runs `body` with the contents of a thread's THREAD_START.
    pub(super) fn with_start(
        &self,
        jni: Jni<'_>,
        thread: &Thread,
        body: impl FnOnce(JVMPI_Event_u),
    ) {
        let (info, id) = notify::quiet(|| {
            let info = self.jvmti.thread_info(jni, thread).unwrap_or_default();
            (info, self.thread_id(thread))
        });
        let [name, group, parent] = [Some(info.name), info.group, info.parent_group]
            .map(|it| text(&it.unwrap_or_default()));
        body(JVMPI_Event_u {
            thread_start: JVMPI_Event_thread_start {
                thread_name: name.as_ptr().cast_mut(),
                group_name: group.as_ptr().cast_mut(),
                parent_name: parent.as_ptr().cast_mut(),
                thread_id: id.raw(),
                thread_env_id: thread.env(),
            },
        });
    }
}

/// Returns a text as the agent has it: in modified UTF-8, which has no NUL.
pub(super) fn text(text: &str) -> CString {
    CString::new(mutf8::encode(text).into_owned()).unwrap_or_default()
}

/// The environments of threads that were there before the agent, from the field of `Thread` that has
/// the address of the JVM's own thread: the environment is a member of it.
struct Environments {
    field: LongField,
    offset: i64,
}

impl Environments {
    /// Measures the offset on the calling thread.
    fn of(jni: Jni<'_>, current: &ObjectRef<'_>) -> Option<Self> {
        let class = jni.find_class(c"java/lang/Thread")?;
        let field = jni.long_field(&class, c"eetop")?;
        // SAFETY: the field is java.lang.Thread's, and this is a thread.
        let address = unsafe { jni.get_long(current, field) };
        // SAFETY: this is the address of the JVM's own thread.
        unsafe { jni.find_pending(address as usize) };
        Some(Self { field, offset: jni.raw() as i64 - address })
    }

    fn env(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) -> Option<*mut JNIEnv> {
        // SAFETY: the field is java.lang.Thread's, and this is a thread.
        let address = unsafe { jni.get_long(thread, self.field) };
        (address != 0).then(|| (address + self.offset) as *mut JNIEnv)
    }
}

/// `GetCurrentThreadCpuTime`, in nanoseconds
pub(super) unsafe extern "C" fn current_cpu_time() -> jlong {
    os::thread_cpu_ns() as jlong
}

/// `SetThreadLocalStorage`
pub(super) unsafe extern "C" fn set_storage(env: *mut JNIEnv, word: *mut c_void) {
    with_current(env, |thread| thread.storage.store(word, Relaxed));
}

/// `GetThreadLocalStorage`
pub(super) unsafe extern "C" fn storage(env: *mut JNIEnv) -> *mut c_void {
    with_current(env, |thread| thread.storage.load(Relaxed)).unwrap_or(null_mut())
}

/// `GetThreadObject`
pub(super) unsafe extern "C" fn thread_object(env: *mut JNIEnv) -> jobjectID {
    let id = bridge().and_then(|bridge| {
        let thread = bridge.threads.find(env)?;
        // A thread that the JVM does not know can give no id.
        let new = || bridge.current_jni().map(|_| notify::quiet(|| bridge.thread_id(&thread)));
        Id::from_tag(thread.id.load(Relaxed)).or_else(new)
    });
    id.map_or(null_mut(), Id::raw)
}
