//! METHOD_ENTRY, METHOD_ENTRY2 and METHOD_EXIT, by [`probes`] or by the JVM itself ([`vm`]). Both send
//! them by [`calls`], which holds exits to their entries.
//!
//! Calls by virtual threads are not sent, as the carrier's brackets would not match. Probes do not send
//! those of carriers either.

mod calls;
mod numbers;
mod probes;
mod vm;

use std::ffi::CStr;

use perk_control::jvmpi::Methods as Source;
use perk_jvmti_sys::jni_sys::jint;
use perk_jvmti_sys::jvmpi::{JVMPI_EVENT_INSTRUCTION_START, JVMPI_EVENT_MONITOR_CONTENDED_EXIT};
use perk_jvmti_sys::{Capability, jvmtiEventCallbacks};

use super::Bridge;
use super::notify::{self, Phase};
use crate::account::lines::AccountText;
use perk_jvm::{Jni, Local, Reference};

pub(super) use calls::{sent_count, thread_ended};
pub(super) use numbers::of_number;
pub(super) use probes::{MONITORS, STEPS};

/// Returns the capabilities that the option needs besides those of the bridge.
pub(super) fn needed(source: Source) -> &'static [Capability] {
    match source {
        Source::Probes => &[],
        Source::Vm => &vm::NEEDED,
    }
}

/// Enters the callbacks into the table.
pub(super) fn fill(table: &mut jvmtiEventCallbacks) {
    vm::fill(table);
}

/// Handles the start of the JVM, before any Java code runs.
pub(super) fn begin(bridge: &Bridge, jni: Jni<'_>) {
    bridge.probes.begin(bridge, jni);
}

/// Handles the start of the calling thread.
pub(super) fn thread_started(bridge: &Bridge, jni: Jni<'_>, thread: &(impl Reference + ?Sized)) {
    bridge.probes.thread_started(bridge, jni, thread);
}

/// Returns a class with what events need, if they need anything; `bytes` are the class file.
pub(super) fn class_file(bridge: &Bridge, name: &CStr, bytes: &[u8]) -> Option<Vec<u8>> {
    bridge.probes.class_file(name, bytes)
}

/// Returns the number of hidden classes, which the JVM does not pass to the hook of class files.
pub(super) fn hidden_class_count(bridge: &Bridge, jni: Jni<'_>) -> u64 {
    let classes = bridge.jvmti.loaded_classes(jni).unwrap_or_default();
    // The signature has a dot before the class's number.
    let is_hidden =
        |it: &&Local<'_>| bridge.jvmti.class_signature(*it).is_ok_and(|it| it.contains('.'));
    classes.iter().filter(is_hidden).count() as u64
}

/// Whether a kind of event comes from probes, which classes are to have from their beginning.
pub(super) fn has_probes(kind: jint) -> bool {
    const OTHERS: u64 = notify::bit(JVMPI_EVENT_INSTRUCTION_START)
        | notify::bit(JVMPI_EVENT_MONITOR_CONTENDED_EXIT);
    notify::bit(kind) & (calls::ENTRIES | calls::EXIT | OTHERS) != 0
}

/// Brings the probes of another kind of event to what the agent wants, by their bit and the helper's
/// field that switches them.
pub(super) fn switch_probes(bridge: &'static Bridge, kind: jint, probes: u8, field: &CStr) {
    loop {
        let on = notify::is_enabled(kind);
        if on {
            bridge.probes.prepare(bridge, probes);
        }
        bridge.probes.set(bridge, &[(field, on)]);
        if notify::is_enabled(kind) == on {
            return;
        }
    }
}

/// Brings the source of events to what the agent wants: an event of methods has been enabled or disabled,
/// or the JVM has begun to live. Other threads may do so at the same time: the last one to look sees the
/// last wish.
pub(super) fn switch(bridge: &'static Bridge, _: bool) {
    loop {
        let wanted = notify::enabled(calls::ENTRIES | calls::EXIT);
        if wanted & calls::ENTRIES != 0 {
            calls::want_pairs();
        }
        match bridge.options.methods {
            Source::Vm if notify::phase() == Phase::Live => {
                if let Some(jni) = bridge.current_jni() {
                    notify::quiet(|| bridge.probes.know_own(bridge, jni));
                }
                vm::switch(bridge, wanted != 0);
            }
            Source::Vm => {}
            Source::Probes => {
                if wanted != 0 {
                    bridge.probes.prepare(bridge, probes::BRACKETS);
                }
                let with_objects = wanted & calls::ENTRY2 != 0;
                let fields = [(c"isOnWithObjects", with_objects), (c"isOn", wanted != 0)];
                bridge.probes.set(bridge, &fields);
            }
        }
        if notify::enabled(calls::ENTRIES | calls::EXIT) == wanted {
            return;
        }
    }
}

/// Appends the account of the calls of virtual threads.
pub(super) fn account_of_virtual(bridge: &Bridge, account: &mut AccountText) {
    account.number(
        calls::passed(),
        match bridge.options.methods {
            Source::Probes => "calls of methods by virtual threads and their carriers",
            Source::Vm => "entries and exits of methods by virtual threads",
        },
    );
}

/// Appends the account of the methods without events; `hidden_classes` is the number of hidden classes.
pub(super) fn account(bridge: &Bridge, hidden_classes: u64, account: &mut AccountText) {
    bridge.probes.account(hidden_classes, account);
}
