//! MONITOR DUMP: all threads and monitors.
//!
//! No thread is stopped except for the instant in which the JVM looks at all stacks. So states and
//! traces are of one moment. The monitors that each thread has and waits for, and the owner of each
//! monitor, are asked a little later, one after the other. Threads that do not continue in between,
//! such as those of a deadlock, are shown as they are. A circle of threads that looks like a
//! deadlock but is not one, as its threads have continued, is taken apart.

use std::sync::Arc;
use std::time::Instant;

use perk_jvm::sync::lock;
use perk_jvm::{Global, Jni, Jvmti, Local, Reference, ThreadMoment};
use perk_jvmti_sys::{
    JVMTI_THREAD_STATE_ALIVE, JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER,
    JVMTI_THREAD_STATE_IN_NATIVE, JVMTI_THREAD_STATE_IN_OBJECT_WAIT,
    JVMTI_THREAD_STATE_INTERRUPTED, JVMTI_THREAD_STATE_PARKED, JVMTI_THREAD_STATE_RUNNABLE,
    JVMTI_THREAD_STATE_SLEEPING, JVMTI_THREAD_STATE_SUSPENDED, JVMTI_THREAD_STATE_TERMINATED,
    JVMTI_THREAD_STATE_WAITING,
};
use perk_profile::{LockKind, Monitor, MonitorDump, Status, ThreadState};
use rustc_hash::FxHashMap;

use super::wait::delete;
use super::{Monitors, WaitGoal};
use crate::common::Common;
use crate::roster::Slot;
use crate::threads::LiveThread;

/// The limit of frames per thread, for which the JVM reserves room.
const MOST_FRAMES: u32 = 1024;

/// A thread that is examined.
struct ThreadView<'a> {
    slot: Slot,
    serial: u32,
    reference: ThreadReference<'a>,
    /// The monitor that it is known to wait for.
    monitor: Option<Arc<Global>>,
    /// The time at which it began to wait, if it waits.
    begun: Option<Instant>,
}

enum ThreadReference<'a> {
    Platform(Arc<LiveThread>),
    /// A virtual thread that a carrier runs.
    Mounted(Local<'a>),
    /// A virtual thread that waits.
    Waiting(Arc<Global>),
}

impl ThreadReference<'_> {
    fn get(&self) -> &dyn Reference {
        match self {
            Self::Platform(thread) => &**thread,
            Self::Waiting(thread) => &**thread,
            Self::Mounted(thread) => thread,
        }
    }
}

/// The monitors and the indexes of their rows, by identity hash: an object may have several
/// references.
struct MonitorIndex<'a> {
    jni: Jni<'a>,
    common: &'static Common,
    objects: Vec<Local<'a>>,
    rows: Vec<Monitor>,
    by_identity: FxHashMap<u32, Vec<usize>>,
}

impl<'a> MonitorIndex<'a> {
    /// Returns the index of a monitor's row; a monitor that is met first gets a new row.
    fn place(&mut self, object: Local<'a>, kind: LockKind) -> Option<usize> {
        let identity = self.common.jvmti.identity(&object)?;
        let places = self.by_identity.entry(identity).or_default();
        let known = places.iter().find(|&&place| {
            self.rows[place].kind == kind && self.jni.same(&self.objects[place], &object)
        });
        if let Some(&place) = known {
            return Some(place);
        }
        let class = self.common.class(&self.jni.class_of(&object)?);
        let place = self.rows.len();
        places.push(place);
        self.objects.push(object);
        self.rows.push(Monitor {
            class,
            identity: Some(identity),
            kind,
            owner: None,
            entry_count: 0,
            blocked: Vec::new(),
            waiting: Vec::new(),
        });
        Some(place)
    }
}

impl Monitors {
    /// Returns all threads and monitors as they are, and the threads' slots in the order of the
    /// dump.
    pub(super) fn moment(&self, jni: Jni<'_>) -> (MonitorDump, Vec<Slot>) {
        let common = self.common;
        let watched = self.watched(jni);
        let references: Vec<_> = watched.iter().map(|thread| thread.reference.get()).collect();
        let depth = common.depth().min(MOST_FRAMES);
        let moments = common.jvmti.moments(&references, depth).unwrap_or_default();
        let mut dump = MonitorDump::default();
        let mut slots = Vec::new();
        let mut found = MonitorIndex {
            jni,
            common,
            objects: Vec::new(),
            rows: Vec::new(),
            by_identity: FxHashMap::default(),
        };
        let mut serials = Serials { jni, jvmti: common.jvmti, by_identity: FxHashMap::default() };
        for (thread, moment) in watched.iter().zip(&moments) {
            if moment.state & JVMTI_THREAD_STATE_ALIVE == 0 {
                continue;
            }
            slots.push(thread.slot);
            let trace = common.trace(jni, Some(thread.slot), &moment.stack);
            dump.threads.push(state(thread.serial, trace, moment));
            serials.add(thread);
            self.look_at(thread, moment, &mut found);
        }
        self.find_owners(&mut found, &serials, &watched);
        dump.monitors = found.rows;
        self.take_apart(&mut dump, &watched);
        for thread in watched {
            delete(jni, thread.monitor);
            if let ThreadReference::Waiting(thread) = thread.reference {
                delete(jni, Some(thread));
            }
        }
        (dump, slots)
    }

    /// Returns all threads: platform threads, virtual threads that carriers run, and virtual
    /// threads that wait.
    fn watched<'a>(&self, jni: Jni<'a>) -> Vec<ThreadView<'a>> {
        let mut threads: Vec<(Slot, ThreadReference<'a>)> = Vec::new();
        let mut monitors: FxHashMap<Slot, Arc<Global>> = FxHashMap::default();
        let mut begun: FxHashMap<Slot, Instant> = FxHashMap::default();
        for (&slot, waiting) in &*lock(&self.waiting) {
            begun.insert(slot, waiting.begun.at);
            let monitor = waiting.object.as_ref().filter(|_| waiting.kind == LockKind::Monitor);
            if let Some(monitor) = monitor {
                monitors.insert(slot, Arc::clone(monitor));
            }
            if let Some(thread) = &waiting.thread {
                threads.push((slot, ThreadReference::Waiting(Arc::clone(thread))));
            }
        }
        for thread in self.common.threads.all() {
            let mounted = self
                .virtual_thread
                .and_then(|function| self.common.jvmti.virtual_thread(jni, function, &*thread));
            if let Some(mounted) = mounted
                && let Some(slot) = self.common.threads.slot_of_virtual(jni, &mounted)
                && !monitors.contains_key(&slot)
            {
                threads.push((slot, ThreadReference::Mounted(mounted)));
            }
            threads.push((thread.slot, ThreadReference::Platform(thread)));
        }
        let recorder = lock(self.common.recorder);
        let mut watched: Vec<_> = threads
            .into_iter()
            .map(|(slot, reference)| {
                let serial = recorder.thread_serial(slot);
                let (monitor, begun) = (monitors.remove(&slot), begun.get(&slot).copied());
                ThreadView { slot, serial, reference, monitor, begun }
            })
            .collect();
        drop(recorder);
        watched.sort_unstable_by_key(|thread| thread.serial);
        watched
    }

    /// Finds the monitors that a thread has and waits for.
    fn look_at<'a>(
        &self,
        thread: &ThreadView<'_>,
        moment: &ThreadMoment,
        found: &mut MonitorIndex<'a>,
    ) {
        let jni = found.jni;
        let reference = thread.reference.get();
        let is_platform = matches!(thread.reference, ThreadReference::Platform(_));
        let can_ask = is_platform || self.asks_virtual;
        let owned =
            can_ask.then(|| self.common.jvmti.owned_monitors(jni, reference).ok()).flatten();
        for monitor in owned.unwrap_or_default() {
            if let Some(place) = found.place(monitor, LockKind::Monitor) {
                let row = &mut found.rows[place];
                row.owner = Some(thread.serial);
                row.entry_count = 1;
            }
        }
        let has = |flag| moment.state & flag != 0;
        if let Some(parking) = self.parking.get().filter(|_| has(JVMTI_THREAD_STATE_PARKED))
            && let Some(blocker) = parking.blocker(jni, reference)
        {
            let what = parking.what(jni, &blocker);
            if let Some(place) = found.place(blocker, LockKind::Parking) {
                let row = &mut found.rows[place];
                match what {
                    WaitGoal::Lock => row.blocked.push(thread.serial),
                    WaitGoal::Notice => row.waiting.push(thread.serial),
                }
            }
            return;
        }
        let (is_blocked, waits) = (
            has(JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER),
            has(JVMTI_THREAD_STATE_IN_OBJECT_WAIT),
        );
        if !is_blocked && !waits {
            return;
        }
        let known = thread.monitor.as_ref().and_then(|monitor| jni.local(&**monitor));
        let ask = || can_ask.then(|| self.common.jvmti.contended_monitor(jni, reference)).flatten();
        let monitor = known.or_else(ask);
        let place = monitor.and_then(|it| found.place(it, LockKind::Monitor));
        let Some(place) = place else { return };
        let row = &mut found.rows[place];
        if is_blocked { &mut row.blocked } else { &mut row.waiting }.push(thread.serial);
    }

    /// Finds the owner of each monitor, and how often it has entered it. Where that is not known, the known
    /// data on threads stays.
    fn find_owners(
        &self,
        found: &mut MonitorIndex<'_>,
        serials: &Serials<'_, '_>,
        watched: &[ThreadView<'_>],
    ) {
        let jni = found.jni;
        let is_platform =
            |it: &&ThreadView<'_>| matches!(it.reference, ThreadReference::Platform(_));
        let platform: Vec<_> =
            watched.iter().filter(is_platform).map(|thread| thread.reference.get()).collect();
        for (row, object) in found.rows.iter_mut().zip(&found.objects) {
            if row.kind == LockKind::Parking {
                let Some(parking) = self.parking.get() else { continue };
                row.owner = parking.owner(jni, object).and_then(|owner| serials.get(&owner));
                if row.owner.is_some() {
                    row.entry_count = parking.entry_count(jni, object);
                }
            } else if let Some((owner, count)) =
                self.common
                    .jvmti
                    .monitor_entries(jni, object, &platform, &|id| self.waiting_virtual(jni, id))
                && let Some(owner) = serials.get(&owner)
            {
                (row.owner, row.entry_count) = (Some(owner), count);
            }
            // The thread has entered the monitor since the JVM looked at its stack.
            let owner = row.owner.filter(|&owner| row.has_let_in(owner));
            row.blocked.retain(|&thread| Some(thread) != owner);
        }
    }

    /// Takes apart circles of threads that have not waited all the time: their parts are of
    /// different moments.
    fn take_apart(&self, dump: &mut MonitorDump, watched: &[ThreadView<'_>]) {
        let waits_still = |serial: u32| {
            let thread = watched.iter().find(|thread| thread.serial == serial);
            let waiting = lock(&self.waiting);
            let now = thread.and_then(|thread| waiting.get(&thread.slot)).map(|it| it.begun.at);
            now.is_some() && now == thread.and_then(|thread| thread.begun)
        };
        // A circle that is taken apart can reveal another.
        loop {
            let links: Vec<_> = dump.deadlocks().into_iter().flatten().collect();
            let gone_on = links.iter().find(|link| !waits_still(link.thread));
            let Some(link) = gone_on else { return };
            dump.monitors[link.monitor].blocked.retain(|&thread| thread != link.thread);
        }
    }
}

/// The threads' serial numbers, by identity.
struct Serials<'a, 't> {
    jni: Jni<'a>,
    jvmti: Jvmti,
    by_identity: FxHashMap<u32, Vec<&'t ThreadView<'t>>>,
}

impl<'t> Serials<'_, 't> {
    fn add(&mut self, thread: &'t ThreadView<'t>) {
        if let Some(identity) = self.jvmti.identity(thread.reference.get()) {
            self.by_identity.entry(identity).or_default().push(thread);
        }
    }

    fn get(&self, thread: &(impl Reference + ?Sized)) -> Option<u32> {
        let same = self.by_identity.get(&self.jvmti.identity(thread)?)?;
        let same = same.iter().find(|it| self.jni.same(it.reference.get(), thread));
        same.map(|thread| thread.serial)
    }
}

fn state(serial: u32, trace: perk_profile::TraceId, moment: &ThreadMoment) -> ThreadState {
    let has = |flag| moment.state & flag != 0;
    let status = if has(JVMTI_THREAD_STATE_TERMINATED) {
        Status::Ended
    } else if !has(JVMTI_THREAD_STATE_ALIVE) {
        Status::NotStarted
    } else if has(JVMTI_THREAD_STATE_SLEEPING) {
        Status::Sleeping
    } else if has(JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER) {
        Status::Blocked
    } else if has(JVMTI_THREAD_STATE_WAITING) {
        Status::Waiting
    } else if has(JVMTI_THREAD_STATE_RUNNABLE) {
        Status::Runnable
    } else {
        Status::Unknown
    };
    ThreadState {
        serial,
        trace,
        status,
        is_suspended: has(JVMTI_THREAD_STATE_SUSPENDED),
        is_interrupted: has(JVMTI_THREAD_STATE_INTERRUPTED),
        is_in_native: has(JVMTI_THREAD_STATE_IN_NATIVE),
    }
}
