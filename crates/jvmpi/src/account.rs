//! The account of what was sent and what was not, with `verbose=y`.

pub(crate) mod lines;

use std::sync::atomic::Ordering::Relaxed;

use perk_jvmti_sys::jvmpi::table::CONSTANTS;

use self::lines::AccountText;
use super::notify::{self, Counts};
use super::{Bridge, cpu, jvm_events, methods};
use crate::state::STATE;
use perk_jvm::Jni;
use perk_jvm::os;

const NS_PER_S: f64 = 1e9;

/// Counts what only the JVM knows, at its end.
pub(super) fn close(bridge: &Bridge, jni: Jni<'_>) {
    if bridge.options.verbose && jvm_events::needs_class_files() {
        let count = notify::quiet(|| methods::hidden_class_count(bridge, jni));
        STATE.account.hidden_classes.store(count, Relaxed);
    }
}

/// Prints the account on stderr, once, if it is wanted; and what is missing, in any case.
pub(super) fn print(bridge: &Bridge) {
    if STATE.account.is_printed.swap(true, Relaxed) {
        return;
    }
    let missing = bridge.objects.missing_count();
    if missing > 0 {
        os::say(&format!(
            "HPROF WARNING: the system refused perk more address space (ulimit -v, ulimit -d): {missing} \
             objects have no OBJECT_FREE, and are not found by their ids\n"
        ));
    }
    if !bridge.options.verbose {
        return;
    }
    let kinds = kinds();
    let mut account = AccountText::default();
    account.title("JVMPI events that the profiler was sent");
    for (name, Counts { sent, carried, .. }) in &kinds {
        match carried {
            0 => account.number(*sent, name),
            _ => account.number(
                *sent,
                &format!("{name}, {carried} by virtual threads under the id of their carriers"),
            ),
        }
    }
    let before = account.0.len();
    account.title("JVMPI events that it was not sent");
    let title_end = account.0.len();
    for (name, counts) in &kinds {
        account.number(counts.nested, &format!("{name}, caused by its own handler of such events"));
        account.number(
            counts.late,
            &format!("{name}, after JVM_SHUT_DOWN, ProfilerExit or THREAD_END"),
        );
    }
    methods::account_of_virtual(bridge, &mut account);
    if account.0.len() == title_end {
        account.0.truncate(before);
    }
    methods::account(bridge, STATE.account.hidden_classes.load(Relaxed), &mut account);
    let [own, all] = [cpu::own_ns(), os::process_cpu_ns()].map(|ns| ns as f64 / NS_PER_S);
    account.title(&format!("{own:.3} s of the JVM's {all:.3} s of CPU time were perk's own"));
    os::say(&account.0);
}

/// Returns the names of the kinds of events, with their numbers.
fn kinds() -> Vec<(&'static str, Counts)> {
    let mut last = 0;
    let events = CONSTANTS.iter().flat_map(|group| group.constants).filter_map(|(name, kind)| {
        let name = name.strip_prefix("JVMPI_EVENT_").filter(|_| *kind > last)?;
        last = *kind;
        let kind = *kind as i32;
        let mut counts = notify::counts(kind);
        counts.sent += methods::sent_count(kind);
        Some((name, counts))
    });
    events.collect()
}
