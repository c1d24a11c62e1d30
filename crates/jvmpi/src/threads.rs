//! The threads that the agent knows: by their environments, which are their ids.

use std::cell::Cell;
use std::ffi::{CString, c_void};
use std::mem::ManuallyDrop;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU64};
use std::sync::{Arc, Mutex};

use perk_jvmti_sys::jni_sys::{JNIEnv, jint, jlong};
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_THREAD_END, JVMPI_EVENT_THREAD_START, JVMPI_Event_thread_start, JVMPI_Event_u,
    jobjectID,
};
use perk_profile::mutf8;
use rustc_hash::FxHashMap;

use super::notify::{self, Phase};
use super::{Bridge, Id, bridge, gc, methods, suspension};
use perk_jvm::os;
use perk_jvm::sync::lock;
use perk_jvm::{Borrowed, Global, Jni, LongField, Reference};

/// A thread from its start to its end.
#[derive(Debug)]
pub(super) struct Thread {
    env: usize,
    /// It is deleted when nobody uses the record any more.
    reference: ManuallyDrop<Global>,
    /// The id of the thread's object; 0 while it has none.
    id: AtomicI64,
    /// The agent's word.
    storage: AtomicPtr<c_void>,
    /// Whether the thread does what no other may wait for: see [`critical`].
    is_critical: AtomicBool,
    /// Whether THREAD_START was sent, or would have been if it were enabled.
    is_announced: AtomicBool,
    /// Whether its THREAD_END was sent. It is not suspended any more: the agent could not resume it.
    has_ended: AtomicBool,
    /// Its suspension by the agent: see [`suspension`](super::suspension). 0 for none.
    pub(super) suspension: AtomicU64,
    /// The CPU time when the agent last resumed the thread, in nanoseconds.
    pub(super) resumed_at_ns: AtomicU64,
    /// Its state in a function of raw monitors, as `GetThreadStatus` has it; 0 outside.
    raw_monitor_state: AtomicI32,
}

impl Thread {
    /// Returns the thread's environment, which is its id.
    pub(super) fn env(&self) -> *mut JNIEnv {
        self.env as *mut JNIEnv
    }

    /// Whether the thread is in [`critical`].
    pub(super) fn is_critical(&self) -> bool {
        self.is_critical.load(SeqCst)
    }

    /// Whether its THREAD_END was sent.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(SeqCst)
    }

    /// Returns the state that [`waiting`] has set.
    pub(super) fn raw_monitor_state(&self) -> jint {
        self.raw_monitor_state.load(Relaxed)
    }
}

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

thread_local! {
    /// The calling thread, once it has been looked up: its environment, and its record. The record
    /// lives as long as the thread.
    static CURRENT: Cell<(usize, *const Thread)> = const { Cell::new((0, std::ptr::null())) };
    /// How many times the calling thread is in [`critical`].
    static CRITICAL: Cell<u32> = const { Cell::new(0) };
}

/// The registry.
#[derive(Debug, Default)]
pub(super) struct Threads {
    by_env: Mutex<FxHashMap<usize, Arc<Thread>>>,
}

impl Threads {
    /// Returns the thread of an environment, if it is one.
    pub(super) fn find(&self, env: *mut JNIEnv) -> Option<Arc<Thread>> {
        lock(&self.by_env).get(&(env as usize)).cloned()
    }

    /// Returns all threads that have begun and not ended.
    pub(super) fn all(&self) -> Vec<Arc<Thread>> {
        lock(&self.by_env).values().cloned().collect()
    }

    /// Returns the environment of a thread, by its object; null if it is not known.
    pub(super) fn env_of(&self, jni: Jni<'_>, object: &(impl Reference + ?Sized)) -> *mut JNIEnv {
        let all = self.all();
        all.iter().find(|it| jni.same(&***it, object)).map_or(null_mut(), |it| it.env())
    }

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

/// Notes which thread the calling one is; `env` is its environment.
pub(super) fn meet(bridge: &Bridge, env: *mut JNIEnv) {
    if CURRENT.get().0 != env as usize
        && let Some(thread) = bridge.threads.find(env)
    {
        CURRENT.set((thread.env, Arc::as_ptr(&thread)));
    }
}

/// Whether THREAD_START of the calling thread was sent; `env` is its environment.
pub(super) fn is_announced(env: *mut JNIEnv) -> bool {
    let is_announced = |thread: &Thread| thread.is_announced.load(Relaxed);
    with_current(env, is_announced).unwrap_or(false)
}

/// Runs `body` with the calling thread's record, if it is a known thread.
fn with_current<T>(env: *mut JNIEnv, body: impl FnOnce(&Thread) -> T) -> Option<T> {
    let (known, thread) = CURRENT.get();
    if known == env as usize && known != 0 {
        // SAFETY: the record lives until the thread's end, which clears the place.
        return Some(body(unsafe { &*thread }));
    }
    let thread = bridge()?.threads.find(env)?;
    Some(body(&thread))
}

/// Returns what distinguishes the calling thread from others that live, and its environment, 0 if it
/// is not known. Neither asks the JVM.
#[inline]
pub(super) fn identity() -> (usize, usize) {
    CURRENT.with(|current| (std::ptr::from_ref(current) as usize, current.get().0))
}

/// Whether a thread is the calling one.
pub(super) fn is_current(thread: &Thread) -> bool {
    identity().1 == thread.env
}

/// Returns the calling thread's record, if it is a known thread.
fn current<'a>() -> Option<&'a Thread> {
    // SAFETY: the record lives until the thread's end, which clears the place.
    unsafe { CURRENT.get().1.as_ref() }
}

/// Runs `body`, which waits in a function of raw monitors.
pub(super) fn waiting<T>(state: jint, body: impl FnOnce() -> T) -> T {
    let set = |state| {
        if let Some(thread) = current() {
            thread.raw_monitor_state.store(state, Relaxed);
        }
    };
    set(state);
    let answer = body();
    set(0);
    answer
}

/// Runs `body`, which holds a lock while it calls the JVM. `SuspendThread` does not stop a thread in
/// here, as others might wait for the lock.
pub(super) fn critical<T>(body: impl FnOnce() -> T) -> T {
    let _critical = Critical::begin();
    body()
}

/// Whether the calling thread is in [`critical`].
pub(super) fn is_in_critical() -> bool {
    CRITICAL.get() > 0
}

/// A call of [`critical`].
struct Critical;

impl Critical {
    fn begin() -> Self {
        if CRITICAL.replace(CRITICAL.get() + 1) == 0
            && let Some(thread) = current()
        {
            // Either this sees the suspension, or the suspending thread sees this.
            loop {
                thread.is_critical.store(true, SeqCst);
                let suspension = thread.suspension.load(SeqCst);
                if suspension == 0 {
                    break;
                }
                thread.is_critical.store(false, SeqCst);
                suspension::stand_still(thread, suspension);
            }
        }
        Self
    }
}

impl Drop for Critical {
    fn drop(&mut self) {
        CRITICAL.set(CRITICAL.get() - 1);
        if CRITICAL.get() == 0
            && let Some(thread) = current()
        {
            thread.is_critical.store(false, SeqCst);
        }
    }
}

impl Bridge {
    /// Handles the start of the calling thread.
    pub(super) fn thread_started(&self, jni: Jni<'_>, thread: Borrowed<'_>) {
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
    pub(super) fn announce_main(&self, jni: Jni<'_>, main: &Borrowed<'_>) {
        if let Some(main) = self.threads.add(jni, jni.raw(), main) {
            CURRENT.set((main.env, Arc::as_ptr(&main)));
            self.announce(jni, &main);
        }
    }

    /// Announces the other threads that exist at VMInit. The agent knows the classes on their stacks.
    pub(super) fn announce_threads(&self, jni: Jni<'_>, main: &Borrowed<'_>) {
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
    fn of(jni: Jni<'_>, current: &Borrowed<'_>) -> Option<Self> {
        let class = jni.find_class(c"java/lang/Thread")?;
        let field = jni.long_field(&class, c"eetop")?;
        // SAFETY: the field is java.lang.Thread's, and this is a thread.
        let address = unsafe { jni.get_long(current, field) };
        // SAFETY: this is the address of the JVM's own thread.
        unsafe { jni.find_pending(address as usize) };
        Some(Self { field, offset: jni.raw() as i64 - address })
    }

    fn env(&self, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) -> Option<*mut JNIEnv> {
        // SAFETY: as above.
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
