//! The thread that sends what the JVM reports where no agent of JVMPI can run: the brackets of collections,
//! and compiled methods.

use std::ffi::c_void;
use std::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};
use std::time::{Duration, Instant};

use perk_jvmti_sys::JvmtiEnv;
use perk_jvmti_sys::jni_sys::JNIEnv;

use super::super::notify::{self, Phase};
use super::super::{Bridge, Id, bridge, compiled, cpu};
use super::bracket;
use super::freed::freed_count;
use super::hold::{self, Handlers};
use super::waking::{STILL, is_current, wake};
use crate::state::STATE;
use perk_jvm::Jni;
use perk_jvm::guard::{Feature, contain};
use perk_jvm::os::{self, Tid};
use perk_jvm::sync::lock;

/// How long the thread sleeps while it waits for a handler's end.
const LOOK: Duration = Duration::from_millis(2);
/// The time for which ids that come without a collection wait for one.
const GATHER: Duration = Duration::from_millis(20);
/// A handler that does not end may wait for a thread that is in `RunGC`.
const HANDLERS: Duration = Duration::from_millis(500);
/// Starts the thread unless it runs.
pub(crate) fn require(bridge: &'static Bridge, jni: Jni<'_>) {
    static ARGUMENT: u8 = 0;
    if STATE.gc_thread.is_required.swap(true, SeqCst) {
        return;
    }
    let started = notify::quiet(|| {
        let group = bridge.jvmti.top_thread_group(jni).ok_or("no top thread group")?;
        let thread = jni.new_thread(&group, c"perk GC").ok_or("no Thread object")?;
        let result = bridge.jvmti.run_agent_thread(&thread, main, &ARGUMENT);
        result.map_err(|error| format!("RunAgentThread: {error}"))
    });
    if let Err(reason) = started {
        os::say(&format!("HPROF ERROR: no events of garbage collections: {reason}\n"));
    }
}

/// Waits until the thread runs, and so was announced.
pub(super) fn wait_for_start() {
    let begin = Instant::now();
    let mut answered = lock(&STATE.gc_thread.answered);
    while STATE.gc_thread.handle.get().is_none() && begin.elapsed() < STILL {
        answered = wait(answered);
    }
}

/// Whether a bracket waits for its begin, or is under way.
pub(super) fn is_due() -> bool {
    STATE.gc_thread.is_due.load(SeqCst)
}

/// Returns the number of collections whose bracket has ended.
pub(super) fn reported() -> u64 {
    STATE.gc_thread.reported.load(SeqCst)
}

fn wait<T>(guard: std::sync::MutexGuard<'_, T>) -> std::sync::MutexGuard<'_, T> {
    match STATE.gc_thread.changed.wait_timeout(guard, Duration::from_millis(50)) {
        Ok((guard, _)) => guard,
        Err(error) => error.into_inner().0,
    }
}

/// Has the thread send a bracket, and waits for its end.
pub(super) fn deliver() {
    let ticket = STATE.gc_thread.asked.fetch_add(1, SeqCst) + 1;
    wake();
    // A thread that is ready and has not run since the last look waits for a CPU.
    let run_ns = || {
        let tid = STATE.gc_thread.tid.get().filter(|it| it.is_runnable() == Some(true))?;
        tid.run_ns()
    };
    let (mut last, mut last_run_ns, mut since) =
        (STATE.gc.steps.load(Relaxed), None, Instant::now());
    let mut answered = lock(&STATE.gc_thread.answered);
    while *answered < ticket && since.elapsed() < STILL {
        answered = wait(answered);
        let (now, now_run_ns) = (STATE.gc.steps.load(Relaxed), run_ns());
        if now != last || now_run_ns.is_some() && now_run_ns == last_run_ns {
            (last, since) = (now, Instant::now());
        }
        last_run_ns = now_run_ns;
    }
}

/// Waits until the thread has sent the compiled methods that it was handed.
pub(super) fn settle() {
    let begin = Instant::now();
    while STATE.gc_thread.handle.get().is_some()
        && !is_current()
        && !compiled::is_settled()
        && begin.elapsed() < STILL
    {
        wake();
        std::thread::sleep(LOOK);
    }
}

unsafe extern "system" fn main(_: JvmtiEnv, env: *mut JNIEnv, _: *mut c_void) {
    contain(Feature::Jvmpi, || {
        let _ = STATE.gc_thread.tid.set(Tid::current());
        let _ = STATE.gc_thread.handle.set(std::thread::current());
        drop(lock(&STATE.gc_thread.answered));
        STATE.gc_thread.changed.notify_all();
        if let Some(bridge) = bridge() {
            // SAFETY: the JVM passes the calling thread's environment.
            work(bridge, unsafe { Jni::from_raw(env) });
        }
    });
}

/// A bracket that waits for its begin.
struct PendingBracket {
    /// The ids that end in it.
    freed: Vec<Id>,
    /// The handlers that it waits for. They began before the ids were known to end, or do not have them.
    handlers: Handlers,
    /// The values of `STATE.gc_thread.asked` and `STATE.gc.collections` that it answers.
    asked: u64,
    collections: u64,
}

impl PendingBracket {
    fn now(bridge: &Bridge, jni: Jni<'_>) -> Self {
        let (asked, collections) =
            (STATE.gc_thread.asked.load(SeqCst), STATE.gc.collections.load(SeqCst));
        let freed = bracket::gather(bridge, jni);
        Self { freed, handlers: Handlers::running(), asked, collections }
    }
}

/// Sends what there is, until the end.
fn work(bridge: &'static Bridge, jni: Jni<'_>) {
    let mut next: Option<PendingBracket> = None;
    let mut gathering: Option<Instant> = None;
    while notify::phase() != Phase::Over {
        cpu::own(|| compiled::send(bridge, jni));
        let is_asked = STATE.gc_thread.asked.load(SeqCst) > *lock(&STATE.gc_thread.answered);
        let is_due =
            next.is_some() || is_asked || STATE.gc.collections.load(SeqCst) > reported() || {
                match freed_count() {
                    0 => gathering = None,
                    _ => _ = gathering.get_or_insert_with(Instant::now),
                }
                gathering.is_some_and(|since| since.elapsed() >= GATHER)
            };
        if !is_due {
            match gathering {
                Some(_) => std::thread::park_timeout(GATHER),
                None => std::thread::park(),
            }
            continue;
        }
        STATE.gc_thread.is_due.store(true, SeqCst);
        let due = next.get_or_insert_with(|| cpu::own(|| PendingBracket::now(bridge, jni)));
        let limit = is_asked.then_some(HANDLERS);
        STATE.gc_thread.is_waiting.store(true, SeqCst);
        if !(due.handlers.have_ended(limit) && hold::open()) {
            // EnableGC wakes the thread; handlers do not.
            std::thread::park_timeout(if hold::is_held() { 20 * LOOK } else { LOOK });
            continue;
        }
        STATE.gc_thread.is_waiting.store(false, SeqCst);
        let (asked, collections) = (due.asked, due.collections);
        let freed = std::mem::take(&mut due.freed);
        cpu::own(|| bracket::send(bridge, jni, freed));
        hold::close();
        (next, gathering) = (None, None);
        STATE.gc_thread.reported.store(collections, SeqCst);
        STATE.gc_thread.is_due.store(false, SeqCst);
        *lock(&STATE.gc_thread.answered) = asked;
        STATE.gc_thread.changed.notify_all();
    }
}
