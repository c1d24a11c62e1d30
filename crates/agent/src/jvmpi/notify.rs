//! The delivery of events to the agent.

use std::cell::Cell;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use perk_jvmti_sys::jni_sys::{JNIEnv, jint};
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_INSTRUCTION_START, JVMPI_EVENT_JNI_GLOBALREF_ALLOC, JVMPI_EVENT_JNI_GLOBALREF_FREE,
    JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC, JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE,
    JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_ENTRY2, JVMPI_EVENT_METHOD_EXIT,
    JVMPI_EVENT_OBJECT_ALLOC, JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER,
    JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED, JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT, JVMPI_Event,
    JVMPI_Event_monitor, JVMPI_Event_u, JVMPI_MAX_EVENT_TYPE_VAL, JVMPI_REQUESTED_EVENT,
};

use super::{gc, interface, methods};

/// The number of kinds of events, with those that do not exist.
pub(super) const KINDS: usize = JVMPI_MAX_EVENT_TYPE_VAL as usize + 1;

/// The time from JVM_OnLoad to the JVM's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// VMInit has not come: what is enabled is only noted.
    Starting,
    /// The program runs.
    Live,
    /// JVM_SHUT_DOWN was sent, or the agent has ended the process: nothing is sent.
    Over,
}

static PHASE: AtomicU8 = AtomicU8::new(0);
/// A bit for each kind of event that the agent has enabled.
static ENABLED: AtomicU64 = AtomicU64::new(0);
/// The number of events of each kind that were delivered.
static SENT: [AtomicU64; KINDS] = [const { AtomicU64::new(0) }; KINDS];
/// The number of those that were not, as they were the doing of a handler of the same kind.
static NESTED: [AtomicU64; KINDS] = [const { AtomicU64::new(0) }; KINDS];

thread_local! {
    /// A bit for each kind whose handler this thread is in, and [`QUIET`].
    static DOING: Cell<u64> = const { Cell::new(0) };
}

/// The bit of a thread that works for the bridge: the events of its doing are not the program's. No
/// kind has this bit.
const QUIET: u64 = 1;

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
    match PHASE.load(Relaxed) {
        0 => Phase::Starting,
        1 => Phase::Live,
        _ => Phase::Over,
    }
}

/// Enters a phase; there is no way back.
pub(super) fn enter(phase: Phase) {
    PHASE.fetch_max(phase as u8, Relaxed);
}

/// Whether the agent has enabled a kind of event.
pub(super) fn is_enabled(kind: jint) -> bool {
    ENABLED.load(Relaxed) & bit(kind) != 0
}

/// Notes that the agent wants a kind of event, or does not.
pub(super) fn set_enabled(kind: jint, on: bool) {
    match on {
        true => ENABLED.fetch_or(bit(kind), Relaxed),
        false => ENABLED.fetch_and(!bit(kind), Relaxed),
    };
}

/// Runs `body`, whose events are the bridge's own and not delivered.
pub(super) fn quiet<T>(body: impl FnOnce() -> T) -> T {
    let outer = DOING.get();
    DOING.set(outer | QUIET);
    let answer = body();
    DOING.set(outer);
    answer
}

/// Whether the calling thread works for the bridge.
pub(super) fn is_quiet() -> bool {
    DOING.get() & QUIET != 0
}

/// Returns the bits of those of `kinds` that the agent has enabled.
pub(super) fn enabled(kinds: u64) -> u64 {
    ENABLED.load(Relaxed) & kinds
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
        NESTED[kind as usize].fetch_add(1, Relaxed);
    }
    is_nested
}

/// Delivers an event if the agent has enabled its kind. `env` is that of the thread.
pub(super) fn send(kind: jint, env: *mut JNIEnv, contents: impl FnOnce() -> JVMPI_Event_u) {
    ask(kind, env, contents);
}

/// Delivers an event that the agent may change. Returns its contents then; `None` if it was not
/// delivered.
pub(super) fn ask(
    kind: jint,
    env: *mut JNIEnv,
    contents: impl FnOnce() -> JVMPI_Event_u,
) -> Option<JVMPI_Event_u> {
    if is_wanted(kind) { deliver(kind, 0, env, contents()) } else { None }
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
    if phase() == Phase::Over {
        return None;
    }
    let mut event = JVMPI_Event { event_type: kind | bits, env_id: env, u: contents };
    handled(kind, |notify| {
        // SAFETY: the agent's function takes an event, which lives until the call returns.
        unsafe { notify(&mut event) };
    });
    Some(event.u)
}

/// Runs `body` with the agent's function, if it has set one, as the handler of a kind of event.
pub(super) fn handled(kind: jint, body: impl FnOnce(interface::Notify)) {
    let Some(notify) = interface::notify_event() else { return };
    SENT[kind as usize].fetch_add(1, Relaxed);
    let outer = DOING.get();
    DOING.set(outer & !QUIET | bit(kind));
    gc::during(kind, || body(notify));
    DOING.set(outer);
}

/// Whether the calling thread's methods are the program's: not those of a handler of such an event, nor
/// of the bridge.
pub(super) fn tells_methods() -> bool {
    DOING.get() & (OF_METHODS | QUIET) == 0
}

/// Returns the bits of those of `kinds`, all events of methods, that the agent has enabled; 0 if the
/// calling thread is not to tell any now.
pub(super) fn wanted_of_methods(kinds: u64) -> u64 {
    let enabled = ENABLED.load(Relaxed) & kinds;
    let doing = DOING.get();
    if doing & (OF_METHODS | QUIET) == 0 {
        return enabled;
    }
    if doing & QUIET == 0 {
        for kind in (1..KINDS).filter(|kind| enabled & 1 << kind != 0) {
            NESTED[kind].fetch_add(1, Relaxed);
        }
    }
    0
}

/// Delivers an event of [`wanted_of_methods`], in the shortest way: the caller counts it. Returns
/// whether it was delivered.
pub(super) fn tell(kind: jint, env: *mut JNIEnv, contents: JVMPI_Event_u) -> bool {
    if phase() == Phase::Over {
        return false;
    }
    let Some(notify) = interface::notify_event() else { return false };
    let mut event = JVMPI_Event { event_type: kind, env_id: env, u: contents };
    let outer = DOING.replace(bit(kind));
    // SAFETY: the agent's function takes an event, which lives until the call returns.
    gc::during(kind, || unsafe { notify(&mut event) });
    DOING.set(outer);
    true
}

/// Returns the number of events of a kind that were delivered, and of those that were not as they were
/// the doing of a handler of their kind.
pub(super) fn counts(kind: jint) -> (u64, u64) {
    let read = |counts: &[AtomicU64; KINDS]| counts[kind as usize].load(Relaxed);
    (read(&SENT) + methods::told(kind), read(&NESTED))
}
