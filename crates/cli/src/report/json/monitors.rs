//! Waiting for locks, deadlocks and dumps of threads as JSON.

use perk_analysis::locks;
use perk_profile::monitors;
use perk_profile::{ClassId, LockKind, MonitorDump, Profile, Waits};
use serde::Serialize;

use super::exact::{Frame, frame};
use crate::report::monitors::{Contention, classes_waited_for};

#[derive(Serialize)]
pub(super) struct MonitorReport<'a> {
    #[serde(flatten)]
    waits: Numbers,
    locks: Vec<Lock<'a>>,
    paths: Vec<Path<'a>>,
    /// What a text file tells of waits as they happen: by class, without a path.
    waits_told: Vec<Lock<'a>>,
    dumps: Vec<Dump<'a>>,
    deadlocks: Vec<Vec<Link<'a>>>,
}

#[derive(Serialize)]
struct Numbers {
    blocked_count: u64,
    blocked_ns: u64,
    wait_count: u64,
    waited_ns: u64,
}

#[derive(Serialize)]
struct Lock<'a> {
    class: &'a str,
    kind: &'static str,
    #[serde(flatten)]
    waits: Numbers,
}

#[derive(Serialize)]
struct Path<'a> {
    #[serde(flatten)]
    lock: Lock<'a>,
    /// Innermost first.
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Dump<'a> {
    written_unix_ms: Option<u64>,
    threads: Vec<Thread<'a>>,
    monitors: Vec<Monitor<'a>>,
}

#[derive(Serialize)]
struct Thread<'a> {
    serial: u32,
    name: String,
    status: &'static str,
    is_suspended: bool,
    is_interrupted: bool,
    is_in_native: bool,
    /// Innermost first.
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Monitor<'a> {
    class: &'a str,
    kind: &'static str,
    identity: Option<u32>,
    owner_serial: Option<u32>,
    entry_count: u32,
    blocked_serials: &'a [u32],
    waiting_serials: &'a [u32],
}

#[derive(Serialize)]
struct Link<'a> {
    thread_serial: u32,
    thread: String,
    waits_for_class: &'a str,
    waits_for_identity: Option<u32>,
    owner_serial: Option<u32>,
}

pub(super) fn report<'a>(
    profile: &'a Profile,
    contention: &Contention<'a>,
    names: &'a [String],
    top: usize,
) -> MonitorReport<'a> {
    let class = |class: ClassId| profile.symbols.class_name(class);
    let lock =
        |id, kind, waits| Lock { class: class(id), kind: kind_name(kind), waits: numbers(waits) };
    let locks = locks::lock_classes(profile).into_iter().take(top);
    let paths = locks::contention(profile).into_iter().take(top);
    let told = classes_waited_for(profile).into_iter().take(top);
    let deadlocks = contention.deadlocks().into_iter().map(|deadlock| {
        let link = |link: &monitors::DeadlockLink| {
            let monitor = &deadlock.dump.monitors[link.monitor];
            Link {
                thread_serial: link.thread,
                thread: contention.thread(link.thread),
                waits_for_class: class(monitor.class),
                waits_for_identity: monitor.identity,
                owner_serial: monitor.owner,
            }
        };
        deadlock.links.iter().map(link).collect()
    });
    MonitorReport {
        waits: numbers(contention.waits),
        locks: locks.map(|(id, kind, waits)| lock(id, kind, waits)).collect(),
        paths: paths
            .map(|row| Path {
                lock: lock(row.class, row.kind, row.waits),
                frames: profile.tree.frames(row.node).map(|id| frame(profile, id, names)).collect(),
            })
            .collect(),
        waits_told: told.map(|(id, waits)| lock(id, LockKind::Monitor, waits)).collect(),
        dumps: profile
            .monitor_dumps()
            .map(|dump| self::dump(profile, contention, dump, names))
            .collect(),
        deadlocks: deadlocks.collect(),
    }
}

fn dump<'a>(
    profile: &'a Profile,
    contention: &Contention<'a>,
    dump: &'a MonitorDump,
    names: &'a [String],
) -> Dump<'a> {
    let threads = dump.threads.iter().map(|state| Thread {
        serial: state.serial,
        name: contention.thread(state.serial),
        status: state.status.title(),
        is_suspended: state.is_suspended,
        is_interrupted: state.is_interrupted,
        is_in_native: state.is_in_native,
        frames: profile.frames(state.trace).map(|id| frame(profile, id, names)).collect(),
    });
    let monitors = dump.monitors.iter().map(|monitor| Monitor {
        class: profile.symbols.class_name(monitor.class),
        kind: kind_name(monitor.kind),
        identity: monitor.identity,
        owner_serial: monitor.owner,
        entry_count: monitor.entry_count,
        blocked_serials: &monitor.blocked,
        waiting_serials: &monitor.waiting,
    });
    Dump {
        written_unix_ms: dump.written.map(|written| written.unix_ms),
        threads: threads.collect(),
        monitors: monitors.collect(),
    }
}

fn numbers(waits: Waits) -> Numbers {
    let Waits { blocked_count, blocked_ns, wait_count, waited_ns } = waits;
    Numbers { blocked_count, blocked_ns, wait_count, waited_ns }
}

fn kind_name(kind: LockKind) -> &'static str {
    match kind {
        LockKind::Monitor => "monitor",
        LockKind::Parking => "parking",
    }
}
