//! The calls that are sent to the agent, by thread: each METHOD_EXIT is that of the last METHOD_ENTRY
//! without one.
//!
//! A thread has a stack of the calls that have begun while events of methods were on. It is the order
//! of the methods' own frames, except for frames whose end was not seen: the JVM's stack was full at their
//! exit, or a constructor was ended in the one of its superclass. These are ended when a call below
//! them is seen again.

use std::cell::{Cell, UnsafeCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use perk_jvmti_sys::jni_sys::{JNIEnv, jint, jmethodID};
use perk_jvmti_sys::jvmpi::{
    JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_ENTRY2, JVMPI_EVENT_METHOD_EXIT,
    JVMPI_Event_method, JVMPI_Event_method_entry2, JVMPI_Event_u, jobjectID,
};

use super::super::notify::{self, bit};
use crate::state::STATE;
use crate::state::entries::Calls;
use perk_jvm::sync::lock;

/// The bits of the events of an entry, and of an exit.
pub(super) const ENTRIES: u64 = bit(JVMPI_EVENT_METHOD_ENTRY) | ENTRY2;
pub(super) const ENTRY2: u64 = bit(JVMPI_EVENT_METHOD_ENTRY2);
pub(super) const EXIT: u64 = bit(JVMPI_EVENT_METHOD_EXIT);

/// The bit of an open call whose entry was sent. Methods are pointers, so it is free.
const IS_SENT: usize = 1;

thread_local! {
    /// The calls of the thread, once it has any; they live as long as the thread.
    static CALLS: Cell<*const Calls> = const { Cell::new(std::ptr::null()) };
}

/// Returns the calls of the calling thread.
fn calls() -> &'static Calls {
    let known = CALLS.get();
    // SAFETY: they live until `thread_ended` on this thread, after which no method of it is sent.
    match unsafe { known.as_ref() } {
        Some(known) => known,
        None => begin(),
    }
}

#[cold]
fn begin() -> &'static Calls {
    let calls = Arc::new(Calls {
        // Numbers of calls are positive.
        serial: (STATE.calls.last_serial.fetch_add(1, Relaxed) + 1) & 0x7fff_ffff,
        open: UnsafeCell::default(),
        entries: AtomicU64::new(0),
        exits: AtomicU64::new(0),
        passed: AtomicU64::new(0),
    });
    let begun = Arc::as_ptr(&calls);
    lock(&STATE.calls.all).push(calls);
    CALLS.set(begun);
    // SAFETY: the list keeps them.
    unsafe { &*begun }
}

/// Forgets the calls of the calling thread, which ends.
pub(crate) fn thread_ended() {
    let ended = CALLS.replace(std::ptr::null());
    let mut all = lock(&STATE.calls.all);
    if let Some(index) = all.iter().position(|it| Arc::as_ptr(it) == ended) {
        let calls = all.swap_remove(index);
        STATE.calls.ended_entries.fetch_add(calls.entries.load(Relaxed), Relaxed);
        STATE.calls.ended_exits.fetch_add(calls.exits.load(Relaxed), Relaxed);
        STATE.calls.ended_passed.fetch_add(calls.passed.load(Relaxed), Relaxed);
    }
}

/// Returns the number of events of a kind that were delivered from here.
pub(crate) fn sent_count(kind: jint) -> u64 {
    let sum = |ended: &AtomicU64, of: fn(&Calls) -> &AtomicU64| {
        let all = lock(&STATE.calls.all);
        ended.load(Relaxed) + all.iter().map(|it| of(it).load(Relaxed)).sum::<u64>()
    };
    match kind {
        JVMPI_EVENT_METHOD_ENTRY => sum(&STATE.calls.ended_entries, |it| &it.entries),
        JVMPI_EVENT_METHOD_EXIT => sum(&STATE.calls.ended_exits, |it| &it.exits),
        _ => 0,
    }
}

/// Returns the number of methods that virtual threads have entered.
pub(super) fn passed() -> u64 {
    let all = lock(&STATE.calls.all);
    STATE.calls.ended_passed.load(Relaxed)
        + all.iter().map(|it| it.passed.load(Relaxed)).sum::<u64>()
}

/// Counts a method that a virtual thread enters.
pub(super) fn pass() {
    add_one(&calls().passed);
}

/// Adds to a number that only this thread changes.
fn add_one(number: &AtomicU64) {
    number.store(number.load(Relaxed) + 1, Relaxed);
}

/// Notes that the agent enables an event of entries.
pub(super) fn want_pairs() {
    STATE.calls.wants_pairs.store(true, Relaxed);
}

/// Begins a call, and sends it to the agent. `object` is asked for METHOD_ENTRY2. Returns the number of the
/// call, for [`leave`]; 0 if its end is not sent to the agent either.
pub(super) fn enter(
    env: *mut JNIEnv,
    method: jmethodID,
    object: impl FnOnce() -> jobjectID,
) -> i64 {
    let wanted = notify::wanted_of_methods(ENTRIES | EXIT);
    if wanted == 0 || method.is_null() {
        return 0;
    }
    let calls = calls();
    let is_sent = if wanted & ENTRIES != 0 { IS_SENT } else { 0 };
    // SAFETY: only this thread uses them, and nothing that is called here does.
    let depth = unsafe {
        let open = &mut *calls.open.get();
        open.push(method as usize | is_sent);
        open.len()
    };
    if wanted & bit(JVMPI_EVENT_METHOD_ENTRY) != 0
        && notify::send_call(JVMPI_EVENT_METHOD_ENTRY, env, of_method(method))
    {
        add_one(&calls.entries);
    }
    if wanted & ENTRY2 != 0 {
        notify::send(JVMPI_EVENT_METHOD_ENTRY2, env, || JVMPI_Event_u {
            method_entry2: JVMPI_Event_method_entry2 { method_id: method, obj_id: object() },
        });
    }
    i64::from(calls.serial) << 32 | depth as i64
}

/// Ends the call with a number, and all calls above it.
pub(super) fn leave(env: *mut JNIEnv, number: i64) {
    let Some(depth) = depth_of(number) else { return };
    end_above(env, depth - 1);
}

/// Ends all calls above the one with a number.
pub(super) fn keep(env: *mut JNIEnv, number: i64) {
    if let Some(depth) = depth_of(number) {
        end_above(env, depth);
    }
}

/// Returns the number of open calls up to one. A frame of a virtual thread that came from another
/// carrier has none.
fn depth_of(number: i64) -> Option<usize> {
    let is_own = number >> 32 == i64::from(calls().serial);
    Some((number & 0xffff_ffff) as usize).filter(|depth| is_own && *depth > 0)
}

/// Ends the calls above `depth`, the last one first.
#[inline(never)]
fn end_above(env: *mut JNIEnv, count: usize) {
    let calls = calls();
    let next = || {
        // SAFETY: only this thread uses them; the borrow ends here.
        let open = unsafe { &mut *calls.open.get() };
        if open.len() > count { open.pop() } else { None }
    };
    while let Some(call) = next() {
        exit(env, calls, (call & !IS_SENT) as jmethodID, call & IS_SENT != 0);
    }
}

/// Ends the last open call of a method, and all above it. Without one, the entry was not sent.
pub(super) fn leave_method(env: *mut JNIEnv, method: jmethodID) {
    let calls = calls();
    // SAFETY: only this thread uses them; the borrow ends here.
    let found = unsafe {
        let open = &*calls.open.get();
        open.iter().rposition(|it| it & !IS_SENT == method as usize)
    };
    match found {
        Some(index) => end_above(env, index),
        None => exit(env, calls, method, false),
    }
}

/// Forgets the open calls of the calling thread, whose ends are not sent.
pub(super) fn forget() {
    // SAFETY: only this thread uses them; the borrow ends here.
    unsafe { &mut *calls().open.get() }.clear();
}

fn exit(env: *mut JNIEnv, calls: &Calls, method: jmethodID, is_sent: bool) {
    if (is_sent || !STATE.calls.wants_pairs.load(Relaxed))
        && notify::wanted_of_methods(EXIT) != 0
        && notify::send_call(JVMPI_EVENT_METHOD_EXIT, env, of_method(method))
    {
        add_one(&calls.exits);
    }
}

fn of_method(method: jmethodID) -> JVMPI_Event_u {
    JVMPI_Event_u { method: JVMPI_Event_method { method_id: method } }
}
