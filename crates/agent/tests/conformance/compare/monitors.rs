//! The output of `monitor=y` for the program's own threads: as they wait, and at a dump.

use std::collections::{BTreeMap, BTreeSet};

use perk_testkit::hprof::{MonitorDump, OwnedMonitor, Recording};

use super::sections;
use super::stacks::{self, Detail};
use crate::case::Case;
use crate::differences::Findings;

/// Returns the name of a thread of the program itself.
fn own_thread(recording: &Recording, serial: u32) -> Option<&str> {
    let thread = recording.threads.get(&serial)?;
    let is_own = !sections::is_jvms(thread) && thread.name != "DestroyJavaVM";
    is_own.then_some(thread.name.as_str())
}

/// Compares the waits by thread and monitor, and their greatest timeouts; their numbers are chance.
pub(super) fn compare_events(
    case: &Case,
    perk: &Recording,
    original: &Recording,
    found: &mut Findings<'_>,
) {
    let events = |recording: &Recording| -> BTreeSet<String> {
        let own = recording.monitor_events.iter().filter_map(|event| {
            let thread = own_thread(recording, event.thread)?;
            let class = event.monitor.trim_start_matches(['[', 'L']).trim_end_matches(';');
            // In another version, a class of the JDK may wait for another monitor of its own.
            let is_known = case.is_own(class) || event.monitor.starts_with("Ljava/lang/");
            let time = if event.kind == "WAIT" { event.time_ms } else { 0 };
            is_known.then(|| format!("{} {} {time} {thread}", event.kind, event.monitor))
        });
        own.collect()
    };
    found.equal("events of monitors", events(perk), events(original));
}

/// Compares states and stacks of threads, and monitors with owners.
pub(super) fn compare(
    case: &Case,
    (perk, perk_dump): (&Recording, &MonitorDump),
    (original, original_dump): (&Recording, &MonitorDump),
    found: &mut Findings<'_>,
) {
    let states = |recording: &Recording, dump: &MonitorDump| -> BTreeMap<String, String> {
        let own = dump.threads.iter().filter_map(|row| {
            let stack = stacks::own(case, recording, row.trace, Detail::Lines);
            let name = own_thread(recording, row.thread)?;
            Some((name.to_owned(), format!("{} {stack}", row.status)))
        });
        own.collect()
    };
    let (mine, theirs) = (states(perk, perk_dump), states(original, original_dump));
    for (thread, state) in &theirs {
        match mine.get(thread) {
            None if state.starts_with("ZO") => {
                found.differs("monitor-ended", || format!("{thread} has ended"));
            }
            Some(_) if case.is_timed() => {}
            mine => found.equal(thread, mine, Some(state)),
        }
    }
    for thread in mine.keys().filter(|thread| !theirs.contains_key(*thread)) {
        found.fault(format!("the original has no thread {thread}"));
    }
    let (mine, theirs) = (monitors(perk, perk_dump), monitors(original, original_dump));
    for monitor in theirs.difference(&mine) {
        found.fault(format!("no monitor {monitor}, there are {mine:?}"));
    }
    for monitor in mine.difference(&theirs) {
        if monitor.contains("unowned") {
            found.differs("monitor-waiters", || monitor.clone());
        } else {
            found.fault(format!("the original has no monitor {monitor}"));
        }
    }
}

/// Returns the monitors with the names of their threads, if one of these is the program's own.
fn monitors(recording: &Recording, dump: &MonitorDump) -> BTreeSet<String> {
    let name = |serial: u32| own_thread(recording, serial).unwrap_or("?").to_owned();
    let monitor = |monitor: &OwnedMonitor| {
        let owner = monitor.owner.map(|(thread, count)| format!("{} {count}", name(thread)));
        let owner = owner.unwrap_or_else(|| "unowned".to_owned());
        let entering: Vec<String> = monitor.entering.iter().map(|it| name(*it)).collect();
        let waiting: Vec<String> = monitor.waiting.iter().map(|it| name(*it)).collect();
        format!("{}: {owner}, to enter {entering:?}, to be notified {waiting:?}", monitor.class)
    };
    let all = dump.monitors.iter().filter(|monitor| {
        let threads = monitor.owner.map(|it| it.0).into_iter();
        let mut threads = threads.chain(monitor.entering.clone()).chain(monitor.waiting.clone());
        threads.any(|thread| own_thread(recording, thread).is_some())
    });
    all.map(monitor).collect()
}
