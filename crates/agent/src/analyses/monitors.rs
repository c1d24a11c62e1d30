//! Contention: the JVM reports when a thread cannot enter a monitor at once, when it has entered
//! it, and when it waits to be notified. A free monitor has no cost, as there is no event.
//!
//! The slow work is done when a thread begins to wait, as the thread loses no time by that: its
//! stack is walked and its row is found. When the thread continues, it may have the monitor that
//! others want, so only a clock is read and a number is added, without the recorder's lock. Where waits
//! are sampled, a stack is walked only for a sample, at its end.
//!
//! Threads are distinguished by themselves and not by their carriers: a virtual thread can begin to
//! wait on one carrier and continue on another.

mod held;
mod holders;
mod moment;
mod parked;
mod parking;
mod sampled;
mod sections;
mod wait;

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use perk_control::options::OutputFormat;
use perk_hotspot::since;
use perk_jvm::guard::{Feature, measured};
use perk_jvm::sync::lock;
use perk_jvm::{Jni, MethodRef, ObjectRef, Reference, VirtualThreadFunction, Walker};
use perk_jvmti_sys::{Capability, JVMTI_EVENT_NATIVE_METHOD_BIND};
use perk_profile::{
    Accounting, ClassId, HolderRow, LockKind, MonitorRow, TraceId, WaitEvent, WaitKind, Waits,
};
use rustc_hash::FxHashMap;

use self::held::nanoseconds;
use self::holders::Holders;
use self::parked::ParkedThreads;
use self::parking::Parking;
use self::sampled::{SampleKind, WaitGoal, WaitSampler, WaitStart, Weight};
use self::wait::{Row, ThreadWait, delete};
use super::{Analysis, Event, Needs};
use crate::common::{Common, Life};
use crate::recorder::{Book, DumpSection, Recorder};
use crate::roster::Slot;

/// The measurement of contention; see the module.
#[derive(Debug)]
pub(crate) struct Monitors {
    common: &'static Common,
    /// Whether the file has a line for each wait.
    with_lines: bool,
    /// Whether the holders of locks are looked for: other files have no place for them.
    finds_holders: bool,
    holders: Holders,
    /// Whether no other analysis needs the events of native methods.
    is_alone_with_natives: bool,
    is_paused: AtomicBool,
    parking: OnceLock<Parking>,
    /// The platform threads that park, if waits are sampled.
    parked: ParkedThreads,
    virtual_thread: Option<VirtualThreadFunction>,
    /// Whether the JVM can be asked for the monitors of virtual threads.
    asks_virtual: bool,
    rows: Mutex<FxHashMap<(TraceId, ClassId, LockKind), Arc<Row>>>,
    /// The threads that wait now.
    waiting: Mutex<FxHashMap<Slot, ThreadWait>>,
    /// The lines that are still to be written: the recorder may be busy for long, and a thread that
    /// begins to wait has a monitor that others want.
    lines: Mutex<Vec<(Slot, WaitEvent)>>,
    /// The waits for locks so far, for a flush.
    shown: Mutex<Option<Vec<MonitorRow>>>,
    walker: Walker,
    /// Where there is a budget.
    sampled: Option<WaitSampler>,
}

impl Monitors {
    pub(crate) fn new(common: &'static Common, is_alone_with_natives: bool) -> Self {
        let jvmti = common.jvmti;
        Self {
            common,
            with_lines: common.options.format == OutputFormat::Ascii,
            finds_holders: common.options.format == OutputFormat::Extended,
            holders: Holders::default(),
            is_alone_with_natives,
            is_paused: AtomicBool::new(false),
            parking: OnceLock::new(),
            parked: ParkedThreads::default(),
            virtual_thread: jvmti.virtual_thread_function(),
            asks_virtual: jvmti.feature_version() >= since::MONITORS_OF_VIRTUAL_THREADS,
            rows: Mutex::default(),
            waiting: Mutex::default(),
            lines: Mutex::default(),
            shown: Mutex::default(),
            walker: Walker::default(),
            // Lines are of all waits.
            sampled: (common.options.budget && common.options.format == OutputFormat::Extended)
                .then(WaitSampler::default),
        }
    }

    /// Notes that the calling thread begins to wait at a monitor. Returns its slot and the
    /// monitor's class, if that is needed now.
    fn at_monitor(
        &self,
        jni: Jni<'_>,
        thread: &ObjectRef<'_>,
        monitor: &ObjectRef<'_>,
        what: WaitGoal,
    ) -> Option<(Slot, Option<ClassId>)> {
        let is_virtual = self.common.threads.is_virtual(jni, thread);
        let class = match self.sampled.is_none() || is_virtual {
            true => Some(jni.class_of(monitor)?),
            false => None,
        };
        let class = class.as_ref().map(|class| class as &dyn Reference);
        let lock: (_, Option<&dyn Reference>) = (class, Some(monitor));
        self.begin(jni, (thread, is_virtual), lock, (LockKind::Monitor, what))
    }

    /// Notes that the calling thread begins to wait for a lock; the class is given unless the wait becomes a sample,
    /// or not, at its end, and the object if it can have an owner. Returns the thread's slot and the lock's class.
    fn begin(
        &self,
        jni: Jni<'_>,
        (thread, is_virtual): (&(impl Reference + ?Sized), bool),
        (class, object): (Option<&dyn Reference>, Option<&dyn Reference>),
        (kind, what): (LockKind, WaitGoal),
    ) -> Option<(Slot, Option<ClassId>)> {
        if self.is_paused.load(Relaxed) {
            return None;
        }
        let weight = match &self.sampled {
            None => Some(1),
            Some(sampled) if is_virtual => Some(sampled.weight_of_virtual()?),
            Some(_) => None,
        };
        let begun = match &self.sampled {
            Some(sampled) => sampled.begin(what),
            None => WaitStart::now(),
        };
        let slot = self.common.threads.slot(jni, thread)?;
        let class = class.map(|class| self.common.class(class));
        let row = weight.zip(class).map(|(weight, class)| {
            let place = || self.row(self.trace(jni, thread, slot), class, kind);
            let row = measured(|| match &self.sampled {
                Some(sampled) => sampled.count(SampleKind::OfVirtual, place),
                None => place(),
            });
            row.add(what, Weight { count: weight, ns: 0 });
            (row, weight)
        });
        let is_late = self.common.life == Life::Attached;
        let keeps_object = is_late || is_virtual || what == WaitGoal::Notice || self.finds_holders;
        let thread = is_virtual.then(|| jni.global(thread)).flatten().map(Arc::new);
        let object = object.filter(|_| keeps_object).and_then(|object| jni.global(object));
        let object = object.map(Arc::new);
        let mut waiting = ThreadWait::new((class, kind), what, begun, object);
        (waiting.row, waiting.thread) = (row, thread);
        if let Some(lost) = lock(&self.waiting).insert(slot, waiting) {
            lost.delete(jni);
        }
        if what == WaitGoal::Lock {
            self.holders.wait_begins();
        }
        Some((slot, class))
    }

    /// Notes that the calling thread continues; `class` finds the lock's class where it is not known. Returns the
    /// thread's slot, the class and the time it waited.
    fn end(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
        kind: LockKind,
        class: impl FnOnce() -> Option<ClassId>,
    ) -> Option<(Slot, Option<ClassId>, Duration)> {
        let now = Instant::now();
        let slot = self.common.threads.known_slot(jni, thread)?;
        let mut threads = lock(&self.waiting);
        threads.get(&slot).filter(|waiting| waiting.kind == kind)?;
        let waiting = threads.remove(&slot)?;
        drop(threads);
        let (known, time) = (waiting.class, now - waiting.begun.at);
        if waiting.row.is_none()
            && let Some(sampled) = &self.sampled
            && let Some(weight) = sampled.end(waiting.begun, now)
        {
            let class = || Some((known.or_else(class)?, kind));
            self.sample(jni, (thread, slot), (waiting.what, weight, now - waiting.begun.at), class);
        }
        waiting.end(jni, &self.common.series, now);
        Some((slot, known, time))
    }

    /// Takes a sample of a wait of the calling platform thread that has ended, if the class and the kind of the
    /// lock are known.
    fn sample(
        &self,
        jni: Jni<'_>,
        (thread, slot): (&(impl Reference + ?Sized), Slot),
        (what, weight, lasted): (WaitGoal, Weight, Duration),
        lock: impl FnOnce() -> Option<(ClassId, LockKind)>,
    ) {
        let Some(sampled) = &self.sampled else { return };
        measured(|| {
            let Some((class, kind)) = lock() else { return };
            let place = || self.row(self.trace(jni, thread, slot), class, kind);
            let row = sampled.count(SampleKind::Of(what), place);
            row.add(what, weight);
            self.common.series.add(what.series(), row.thread, nanoseconds(lasted), weight.ns);
        });
    }

    fn class_of(&self, jni: Jni<'_>, object: &(impl Reference + ?Sized)) -> Option<ClassId> {
        Some(self.common.class(&jni.class_of(object)?))
    }

    fn row(
        &self,
        (trace, thread): (TraceId, Option<u32>),
        class: ClassId,
        kind: LockKind,
    ) -> Arc<Row> {
        let new = || Arc::new(Row::of(thread));
        Arc::clone(lock(&self.rows).entry((trace, class, kind)).or_insert_with(new))
    }

    /// Gives the waits for locks that have lasted long enough to be booked a place: those threads wait
    /// still.
    fn place_waiting(&self, jni: Jni<'_>) {
        let now = Instant::now();
        self.know_classes(jni);
        let long: Vec<_> = lock(&self.waiting)
            .iter()
            .filter(|(_, it)| it.row.is_none() && it.is_long(now))
            .filter_map(|(&slot, it)| Some((slot, it.begun.at, it.class?)))
            .collect();
        for (slot, begun, class) in long {
            let Some(thread) = self.common.threads.find(slot) else { continue };
            let trace = self.trace(jni, &*thread, slot);
            let mut threads = lock(&self.waiting);
            if let Some(waiting) = threads.get_mut(&slot).filter(|it| it.begun.at == begun) {
                let row = self.row(trace, class, waiting.kind);
                row.add(waiting.what, Weight { count: 1, ns: 0 });
                waiting.row = Some((row, 1));
            }
        }
    }

    /// Finds the classes of the locks that threads wait for, where they are not known yet.
    fn know_classes(&self, jni: Jni<'_>) {
        let unknown: Vec<_> = lock(&self.waiting)
            .iter()
            .filter(|(_, it)| it.class.is_none())
            .filter_map(|(&slot, it)| Some((slot, it.begun.at, Arc::clone(it.object.as_ref()?))))
            .collect();
        for (slot, begun, object) in unknown {
            let class = jni.class_of(&*object).map(|class| self.common.class(&class));
            let mut threads = lock(&self.waiting);
            if let Some(waiting) = threads.get_mut(&slot).filter(|it| it.begun.at == begun) {
                waiting.class = class;
            }
            drop(threads);
            delete(jni, Some(object));
        }
    }

    /// Returns the trace of the calling thread, and the thread's serial number if traces distinguish threads.
    fn trace(
        &self,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
        slot: Slot,
    ) -> (TraceId, Option<u32>) {
        let common = self.common;
        // If the stack is not available, this is the trace without frames.
        let trace = |stack: Option<&[_]>| common.trace(jni, Some(slot), stack.unwrap_or_default());
        let trace = self.walker.walk(common.jvmti, thread, common.depth(), trace);
        (trace, lock(common.recorder).profile.serial_of_trace(trace))
    }

    fn line(&self, slot: Slot, class: ClassId, kind: WaitKind, time_ms: u64) {
        if self.with_lines {
            let line = WaitEvent { kind, class: Some(class), time_ms, thread: None };
            lock(&self.lines).push((slot, line));
            // If the lock is taken, a later caller writes the line.
            if let Ok(mut recorder) = self.common.recorder.try_lock() {
                self.write_lines(&mut recorder);
            }
        }
    }

    /// Writes the lines that are still pending.
    fn write_lines(&self, recorder: &mut Recorder) {
        for (slot, line) in std::mem::take(&mut *lock(&self.lines)) {
            sections::write_wait(recorder, slot, line);
        }
    }

    /// Books the waits of threads that still wait up to now.
    fn book_waiting(&self) {
        let now = Instant::now();
        for waiting in lock(&self.waiting).values_mut() {
            waiting.book(&self.common.series, now);
            waiting.held.settle(now);
        }
    }

    /// Returns the waits since the last call, and those by the holders of the locks; the waits of threads
    /// that still wait count up to now.
    fn take_rows(&self) -> (Vec<MonitorRow>, Vec<HolderRow>) {
        self.book_waiting();
        // A wait is booked on its own row before that of the holder.
        let holders = self.holders.take();
        let rows = self.rows_of(Row::take);
        let holders = match self.finds_holders {
            true => holders::divide(holders, &rows, self.unknown_holder()),
            false => Vec::new(),
        };
        (rows, holders)
    }

    /// Returns the rows with the numbers that `read` gives of each, if they are not zero.
    fn rows_of(&self, read: impl Fn(&Row) -> Waits) -> Vec<MonitorRow> {
        let rows = lock(&self.rows);
        let rows = rows.iter().map(|(&(trace, class, kind), row)| {
            let waits = read(row);
            MonitorRow { trace, class, kind, waits }
        });
        rows.filter(|row| row.waits != Waits::default()).collect()
    }
}

impl Analysis for Monitors {
    fn name(&self) -> Option<&'static str> {
        Some("monitors")
    }

    fn feature(&self) -> Feature {
        Feature::Monitors
    }

    fn task(&self) -> &'static str {
        "look at locks"
    }

    fn needs(&self) -> Needs {
        let mut needs = Needs {
            events: vec![
                Event::VirtualThreadEnd,
                Event::MonitorEnter,
                Event::MonitorEntered,
                Event::MonitorWait,
                Event::MonitorWaited,
            ],
            capabilities: vec![Capability::CanGetMonitorInfo],
            ..Needs::default()
        };
        if self.common.life == Life::Program {
            needs.capabilities.extend([
                Capability::CanGetOwnedMonitorInfo,
                Capability::CanGetCurrentContendedMonitor,
            ]);
        }
        if self.common.options.locks {
            // Requested early, as `Unsafe.park` is bound before anything else happens.
            needs.events.push(Event::NativeBind);
            if self.common.life == Life::Program {
                needs.capabilities.push(Capability::CanGenerateEarlyVmstart);
            }
        }
        needs
    }

    fn books(&'static self) -> Vec<&'static dyn Book> {
        vec![self]
    }

    fn begin(&'static self, jni: Jni<'_>) -> Result<(), String> {
        if self.common.options.locks {
            self.begin_parking(jni)?;
        }
        if self.finds_holders { self.begin_holders(jni) } else { Ok(()) }
    }

    fn slot_freed(&self, jni: Jni<'_>, slot: Slot) {
        self.write_lines(&mut lock(self.common.recorder));
        let lost = lock(&self.waiting).remove(&slot);
        if let Some(lost) = lost {
            lost.delete(jni);
        }
    }

    fn native_bound(
        &'static self,
        jni: Jni<'_>,
        method: MethodRef,
        function: *mut c_void,
    ) -> Option<*mut c_void> {
        let park = self.park_bound(jni, method, function);
        if park.is_some() && self.is_alone_with_natives {
            let _ = self.common.jvmti.disable(JVMTI_EVENT_NATIVE_METHOD_BIND);
        }
        park
    }

    fn monitor_enter(&self, jni: Jni<'_>, thread: ObjectRef<'_>, monitor: ObjectRef<'_>) {
        self.at_monitor(jni, &thread, &monitor, WaitGoal::Lock);
    }

    fn monitor_entered(&self, jni: Jni<'_>, thread: ObjectRef<'_>, monitor: ObjectRef<'_>) {
        self.end(jni, &thread, LockKind::Monitor, || self.class_of(jni, &monitor));
    }

    fn monitor_wait(
        &self,
        jni: Jni<'_>,
        thread: ObjectRef<'_>,
        monitor: ObjectRef<'_>,
        timeout_ms: u64,
    ) {
        // A session that has ended may have left one.
        WaitSampler::take_notice();
        let is_sampled = |_: &&_| !self.common.threads.is_virtual(jni, &thread);
        if let Some(sampled) = self.sampled.as_ref().filter(is_sampled) {
            if !self.is_paused.load(Relaxed) {
                sampled.begin_notice();
            }
        } else if let Some((slot, Some(class))) =
            self.at_monitor(jni, &thread, &monitor, WaitGoal::Notice)
        {
            self.line(slot, class, WaitKind::Wait, timeout_ms);
        }
    }

    fn monitor_waited(&self, jni: Jni<'_>, thread: ObjectRef<'_>, monitor: ObjectRef<'_>) {
        let class = || self.class_of(jni, &monitor);
        if let Some(begun) = WaitSampler::take_notice() {
            let now = Instant::now();
            if let Some(sampled) = &self.sampled
                && let Some(weight) = sampled.end(begun, now)
                && let Some(slot) = self.common.threads.slot(jni, &thread)
            {
                let wait = (WaitGoal::Notice, weight, now - begun.at);
                self.sample(jni, (&thread, slot), wait, || Some((class()?, LockKind::Monitor)));
            }
        } else if let Some((slot, Some(class), time)) =
            self.end(jni, &thread, LockKind::Monitor, class)
        {
            self.line(slot, class, WaitKind::Waited, time.as_millis() as u64);
        }
    }

    fn set_paused(&'static self, jni: Jni<'_>, is_paused: bool) {
        self.is_paused.store(is_paused, Relaxed);
        if let Some(sampled) = &self.sampled {
            sampled.epoch.fetch_add(1, Relaxed);
        }
        if is_paused {
            let waiting = std::mem::take(&mut *lock(&self.waiting));
            let now = Instant::now();
            waiting.into_values().for_each(|waiting| waiting.end(jni, &self.common.series, now));
        }
    }

    fn reset(&self, _: bool) {
        self.take_rows();
    }

    fn stop(&self) {
        self.holders.stop();
    }

    fn withdraw(&self, jni: Jni<'_>) {
        if self.common.options.locks {
            self.end_parking(jni);
        }
    }

    fn release(&'static self, jni: Jni<'_>) {
        let waiting = std::mem::take(&mut *lock(&self.waiting));
        waiting.into_values().for_each(|waiting| waiting.delete(jni));
        *lock(&self.rows) = FxHashMap::default();
        self.holders.release();
        self.walker.release();
    }

    fn show(&self) {
        self.book_waiting();
        *lock(&self.shown) = Some(self.rows_of(Row::get));
    }

    fn account(&self, accounting: &mut Accounting) {
        let sampled = self.sampled.as_ref().map_or(0, |it| it.count.load(Relaxed));
        accounting.sampled_wait_count += sampled;
    }

    /// Writes MONITOR DUMP, if the JVM can be asked, and MONITOR TIME.
    fn dump(&self, jni: Option<Jni<'_>>, _: bool) {
        let mut moment = None;
        if let Some(jni) = jni {
            jni.with_room(u8::MAX, || {
                self.note_parked(jni);
                moment = Some(self.moment(jni));
                self.place_waiting(jni);
            });
        }
        let (rows, holders) = self.take_rows();
        let mut recorder = lock(self.common.recorder);
        self.write_lines(&mut recorder);
        if let Some((dump, slots)) = moment {
            sections::write_dump(&mut recorder, dump, &slots);
        }
        let times = sections::times(rows, self.common.options.cutoff);
        recorder.write_section(DumpSection::Waits(&times));
        if self.finds_holders {
            sections::write_holders(&mut recorder, holders);
        }
    }
}
