//! The delivery of events to the agent.

mod waiting;

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

use perk_jvmti_sys::jni_sys::{JNIEnv, jint};
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_INSTRUCTION_START, JVMPI_EVENT_JNI_GLOBALREF_ALLOC,
    JVMPI_EVENT_JNI_GLOBALREF_FREE, JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC,
    JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE, JVMPI_EVENT_JVM_SHUT_DOWN, JVMPI_EVENT_METHOD_ENTRY,
    JVMPI_EVENT_METHOD_ENTRY2, JVMPI_EVENT_METHOD_EXIT, JVMPI_EVENT_OBJECT_ALLOC,
    JVMPI_EVENT_OBJECT_FREE, JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER,
    JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED, JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT, JVMPI_Event,
    JVMPI_Event_monitor, JVMPI_Event_u, JVMPI_REQUESTED_EVENT,
};

use super::{agent, cpu, gc, threads};
use crate::state::STATE;
use crate::state::entries::Notify;
use crate::state::parts::KINDS;
use perk_jvm::Jni;

pub(super) use waiting::{has_started, thread_ended};

/// The time from JVM_OnLoad to the JVM's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// VMInit has not come: what is enabled is only noted.
    Starting,
    /// The program runs.
    Live,
    /// The handler of JVM_SHUT_DOWN has returned, or the agent has ended the process: nothing is sent.
    Over = 3,
}

/// The value of `STATE.delivery.phase` while the handler of JVM_SHUT_DOWN runs, which may still make requests.
const ENDING: u8 = 2;

thread_local! {
    /// A bit for each kind whose handler this thread is in, [`QUIET`] and [`HAS_CLASSES`].
    static DOING: Cell<u64> = const { Cell::new(0) };
    /// Whether a virtual thread runs on this one, and causes the events.
    static IS_VIRTUAL: Cell<bool> = const { Cell::new(false) };
}

/// The bit of a thread that works for the bridge: the events of its doing are not the program's. No
/// kind has this bit.
const QUIET: u64 = 1;
/// The bit of a thread that has prepared classes for the bridge, of which the agent does not know yet.
const HAS_CLASSES: u64 = 1 << 63;

/// The kinds that a handler's calls of Java would cause without end.
const OF_METHODS: u64 = bit(JVMPI_EVENT_METHOD_ENTRY)
    | bit(JVMPI_EVENT_METHOD_ENTRY2)
    | bit(JVMPI_EVENT_METHOD_EXIT)
    | bit(JVMPI_EVENT_INSTRUCTION_START);
const OF_OBJECTS: u64 = bit(JVMPI_EVENT_OBJECT_ALLOC);
/// The kinds that a handler's raw monitors would cause without end.
const OF_RAW_MONITORS: u64 = bit(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER)
    | bit(JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED)
    | bit(JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT);
const OF_REFERENCES: u64 = bit(JVMPI_EVENT_JNI_GLOBALREF_ALLOC)
    | bit(JVMPI_EVENT_JNI_GLOBALREF_FREE)
    | bit(JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC)
    | bit(JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE);

/// Returns the bit of a kind.
pub(super) const fn bit(kind: jint) -> u64 {
    1 << kind
}

/// Returns the phase.
pub(super) fn phase() -> Phase {
    match STATE.delivery.phase.load(Relaxed) {
        0 => Phase::Starting,
        1 | ENDING => Phase::Live,
        _ => Phase::Over,
    }
}

/// Sends JVM_SHUT_DOWN. Only answers to requests follow it, and the CLASS_LOAD that these need.
pub(super) fn send_shut_down(env: *mut JNIEnv) {
    STATE.delivery.phase.fetch_max(ENDING, SeqCst);
    send_plain(JVMPI_EVENT_JVM_SHUT_DOWN, env);
    enter(Phase::Over);
}

/// Whether an event may be sent; counts it if not.
fn may_send(kind: jint, is_requested: bool) -> bool {
    const LAST: u64 = bit(JVMPI_EVENT_JVM_SHUT_DOWN) | bit(JVMPI_EVENT_CLASS_LOAD);
    let phase = STATE.delivery.phase.load(Relaxed);
    let may = phase < ENDING || phase == ENDING && (is_requested || bit(kind) & LAST != 0);
    if !may {
        STATE.delivery.late[kind as usize].fetch_add(1, Relaxed);
    }
    may
}

/// Enters a phase; there is no way back.
pub(super) fn enter(phase: Phase) {
    STATE.delivery.phase.fetch_max(phase as u8, Relaxed);
}

/// Whether the agent has enabled a kind of event.
pub(super) fn is_enabled(kind: jint) -> bool {
    STATE.delivery.enabled.load(Relaxed) & bit(kind) != 0
}

/// Notes that the agent wants a kind of event, or does not.
pub(super) fn set_enabled(kind: jint, on: bool) {
    match on {
        true => STATE.delivery.enabled.fetch_or(bit(kind), Relaxed),
        false => STATE.delivery.enabled.fetch_and(!bit(kind), Relaxed),
    };
}

/// Runs `body`, whose events are the bridge's own and not delivered. The classes that it prepares are the
/// program's, too: they are announced when neither the bridge nor a handler runs on the thread.
pub(super) fn quiet<T>(body: impl FnOnce() -> T) -> T {
    let outer = DOING.get();
    DOING.set(outer | QUIET);
    let answer = body();
    return_to(outer);
    answer
}

/// Goes back to what the calling thread did before.
fn return_to(outer: u64) {
    let classes = DOING.get() & HAS_CLASSES;
    DOING.set(outer | classes);
    if (outer | classes) == HAS_CLASSES {
        announce_classes();
    }
}

/// Notes that the calling thread has a class to announce.
pub(super) fn expect_classes() {
    DOING.set(DOING.get() | HAS_CLASSES);
}

/// Announces the classes, unless the thread holds a lock of the bridge's or was not announced itself.
#[cold]
fn announce_classes() {
    let has_begun = || waiting::is_announced() || STATE.delivery.phase.load(Relaxed) >= ENDING;
    if !threads::is_in_critical() && has_begun() {
        DOING.set(DOING.get() & !HAS_CLASSES);
        if let Some(announce) = STATE.delivery.announce_noted.get() {
            announce();
        }
    }
}

/// Runs `body`, whose events are those of a virtual thread, or not.
pub(super) fn of_thread<T>(is_virtual: bool, body: impl FnOnce() -> T) -> T {
    let outer = IS_VIRTUAL.replace(is_virtual);
    let answer = body();
    IS_VIRTUAL.set(outer);
    answer
}

/// Whether the calling thread works for the bridge.
pub(super) fn is_quiet() -> bool {
    DOING.get() & QUIET != 0
}

/// Returns the bits of those of `kinds` that the agent has enabled.
pub(super) fn enabled(kinds: u64) -> u64 {
    STATE.delivery.enabled.load(Relaxed) & kinds
}

/// Whether an event of this kind would be delivered on the calling thread: what it needs has a cost.
pub(super) fn is_wanted(kind: jint) -> bool {
    is_enabled(kind) && !is_quiet() && !is_nested(kind)
}

/// Whether this thread is in a handler that caused the event.
fn is_nested(kind: jint) -> bool {
    let handled = DOING.get();
    let of_its_kind = match bit(kind) {
        it if it & OF_METHODS != 0 => OF_METHODS,
        it if it & OF_OBJECTS != 0 => OF_OBJECTS,
        it if it & OF_RAW_MONITORS != 0 => OF_RAW_MONITORS,
        it if it & OF_REFERENCES != 0 => OF_REFERENCES,
        _ => return false,
    };
    let is_nested = handled & of_its_kind != 0;
    if is_nested {
        STATE.delivery.nested[kind as usize].fetch_add(1, Relaxed);
    }
    is_nested
}

/// Delivers an event if the agent has enabled its kind. `env` is that of the thread.
pub(super) fn send(kind: jint, env: *mut JNIEnv, contents: impl FnOnce() -> JVMPI_Event_u) {
    if is_wanted(kind) {
        deliver(kind, 0, env, contents());
    }
}

/// Delivers an event that the agent may change, also one of the bridge's own doing. Returns its contents
/// then; `None` if it was not delivered.
pub(super) fn ask(
    kind: jint,
    env: *mut JNIEnv,
    contents: impl FnOnce() -> JVMPI_Event_u,
) -> Option<JVMPI_Event_u> {
    if is_enabled(kind) { deliver(kind, 0, env, contents()) } else { None }
}

/// Does so for an event that has no contents.
pub(super) fn send_plain(kind: jint, env: *mut JNIEnv) {
    let object = std::ptr::null_mut();
    send(kind, env, || JVMPI_Event_u { monitor: JVMPI_Event_monitor { object } });
}

/// Delivers an event that the agent has requested.
pub(super) fn answer(kind: jint, env: *mut JNIEnv, contents: JVMPI_Event_u) {
    deliver(kind, JVMPI_REQUESTED_EVENT, env, contents);
}

/// Returns the contents as the agent leaves them.
fn deliver(
    kind: jint,
    bits: jint,
    env: *mut JNIEnv,
    contents: JVMPI_Event_u,
) -> Option<JVMPI_Event_u> {
    if !may_send(kind, bits != 0) {
        return None;
    }
    if bits == 0 && waiting::must_wait(kind, env) {
        waiting::add(kind, contents);
        return None;
    }
    if bits == 0 && IS_VIRTUAL.get() {
        STATE.delivery.carried[kind as usize].fetch_add(1, Relaxed);
    }
    let mut event = JVMPI_Event { event_type: kind | bits, env_id: env, u: contents };
    handled(kind, |notify| call(notify, &mut event));
    Some(event.u)
}

/// Runs `body` with the agent's function, if it has set one, as the handler of a kind of event.
pub(super) fn handled(kind: jint, body: impl FnOnce(Notify)) {
    let Some(notify) = agent::notify_event() else { return };
    STATE.delivery.sent[kind as usize].fetch_add(1, Relaxed);
    let outer = DOING.get();
    DOING.set(outer & !QUIET | bit(kind));
    let handler = || gc::during(kind, || body(notify));
    match kind {
        JVMPI_EVENT_OBJECT_FREE => cpu::of_agent_often(handler),
        _ => cpu::of_agent(handler),
    }
    return_to(outer);
}

/// Calls the agent's function. An exception that it leaves is none of the program's, and is dropped.
fn call(notify: Notify, event: &mut JVMPI_Event) {
    let env = event.env_id;
    // SAFETY: the environment is the calling thread's, if it has one.
    let jni = (!env.is_null()).then(|| unsafe { Jni::from_raw(env) });
    let may_leave = jni.filter(|jni| !jni.has_pending());
    // SAFETY: the agent's function takes an event, which lives until the call returns.
    unsafe { notify(event) };
    if let Some(jni) = may_leave
        && jni.has_pending()
    {
        jni.clear_exception();
    }
}

/// Whether the calling thread's methods are the program's: not those of a handler of such an event, nor
/// of the bridge. If not, the events of these kinds are not sent.
pub(super) fn sends_methods(kinds: u64) -> bool {
    let doing = DOING.get();
    if doing & (OF_METHODS | QUIET) == 0 {
        return true;
    }
    if doing & QUIET == 0 {
        let enabled = enabled(kinds);
        for kind in (1..KINDS).filter(|kind| enabled & 1 << kind != 0) {
            STATE.delivery.nested[kind].fetch_add(1, Relaxed);
        }
    }
    false
}

/// Returns the bits of those of `kinds`, all events of methods, that the agent has enabled; 0 if the
/// calling thread sends none now.
pub(super) fn wanted_of_methods(kinds: u64) -> u64 {
    if sends_methods(kinds) { enabled(kinds) } else { 0 }
}

/// Delivers an event of [`wanted_of_methods`], in the shortest way: the caller counts it. Returns
/// whether it was delivered, or is counted elsewhere.
pub(super) fn send_call(kind: jint, env: *mut JNIEnv, contents: JVMPI_Event_u) -> bool {
    if !may_send(kind, false) {
        return false;
    }
    if !has_started(env) {
        waiting::add(kind, contents);
        return false;
    }
    let Some(notify) = agent::notify_event() else { return false };
    let mut event = JVMPI_Event { event_type: kind, env_id: env, u: contents };
    let outer = DOING.replace(bit(kind));
    gc::during(kind, || call(notify, &mut event));
    return_to(outer);
    true
}

/// The numbers of events of a kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    /// Those that were delivered.
    pub(super) sent: u64,
    /// Those of them that were the doing of virtual threads.
    pub(super) carried: u64,
    /// Those that were not delivered, as they were the doing of a handler of their kind.
    pub(super) nested: u64,
    /// Those that were not delivered, as they came after JVM_SHUT_DOWN or ProfilerExit.
    pub(super) late: u64,
}

/// Returns the numbers of events of a kind, without those that [`send_call`] has delivered.
pub(super) fn counts(kind: jint) -> Counts {
    let read = |counts: &[AtomicU64; KINDS]| counts[kind as usize].load(Relaxed);
    Counts {
        sent: read(&STATE.delivery.sent),
        carried: read(&STATE.delivery.carried),
        nested: read(&STATE.delivery.nested),
        late: read(&STATE.delivery.late),
    }
}
