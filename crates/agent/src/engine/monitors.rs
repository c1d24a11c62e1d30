//! Contention: the JVM tells when a thread cannot have a monitor at once, when it has it, and when
//! it waits to be notified. A monitor that is free costs nothing, as there is no event.
//!
//! What takes time is done where a thread begins to wait, as it loses nothing by that: its stack is
//! walked there, and its row found. Where it goes on, it may have the monitor that others want, so
//! there is only a clock to be read and a number to be added, without the recorder's lock.
//!
//! Threads are told apart by themselves and not by what carries them: a virtual thread can go on on
//! another carrier than it began to wait on.

mod moment;
mod parking;

pub(crate) use parking::bind;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use perk_control::options::{Format, Options};
use perk_hotspot::since;
use perk_jvmti_sys::{Capability, jvmtiFrameInfo};
use perk_profile::{ClassId, LockKind, MonitorRow, TraceId, WaitEvent, WaitKind, Waits};
use rustc_hash::FxHashMap;

use super::MAX_FRAMES;
use crate::jvm::{Borrowed, Global, Jni, Jvmti, Reference, StackFrame, VirtualThreadFunction};
use crate::recorder::Recorder;
use crate::roster::Slot;
use crate::session::{Session, lock};
use parking::Parking;

/// See the module.
#[derive(Debug)]
pub(crate) struct Monitors {
    jvmti: Jvmti,
    depth: u32,
    /// Whether the file has a line for each wait.
    with_lines: bool,
    /// Whether parking is looked at, too.
    with_parking: bool,
    parking: OnceLock<Parking>,
    virtual_thread: Option<VirtualThreadFunction>,
    /// Whether the JVM can be asked for the monitors of virtual threads.
    asks_virtual: bool,
    rows: Mutex<FxHashMap<(TraceId, ClassId, LockKind), Arc<Row>>>,
    /// The threads that wait now.
    waiting: Mutex<FxHashMap<Slot, Waiting>>,
    /// What is still to be written: the recorder may be busy for long, and a thread that begins to
    /// wait has a monitor that others want.
    lines: Mutex<Vec<(Slot, WaitEvent)>>,
    /// The buffers of walks, used again and again.
    buffers: Mutex<Vec<Buffers>>,
}

/// What a walk needs.
#[derive(Debug)]
struct Buffers {
    frames: Vec<jvmtiFrameInfo>,
    stack: Vec<StackFrame>,
}

// SAFETY: the frames hold method ids, which are numbers to everyone but the JVM.
unsafe impl Send for Buffers {}

/// The numbers of a row since the last section.
#[derive(Debug, Default)]
struct Row {
    blocked_count: AtomicU64,
    blocked_ns: AtomicU64,
    wait_count: AtomicU64,
    waited_ns: AtomicU64,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum For {
    /// To have a lock.
    Lock,
    /// To be told of something.
    Notice,
}

/// A thread that waits.
#[derive(Debug)]
struct Waiting {
    row: Arc<Row>,
    class: ClassId,
    kind: LockKind,
    what: For,
    begun: Instant,
    /// What came before was booked.
    since: Instant,
    /// A virtual thread: nobody else knows of it.
    thread: Option<Arc<Global>>,
    /// The monitor of a virtual thread, or of one that waits to be notified: since JDK 23 the JVM does
    /// not tell.
    monitor: Option<Arc<Global>>,
}

impl Row {
    fn begin(&self, what: For) {
        match what {
            For::Lock => self.blocked_count.fetch_add(1, Relaxed),
            For::Notice => self.wait_count.fetch_add(1, Relaxed),
        };
    }

    fn add(&self, what: For, time: Duration) {
        let ns = time.as_nanos() as u64;
        match what {
            For::Lock => self.blocked_ns.fetch_add(ns, Relaxed),
            For::Notice => self.waited_ns.fetch_add(ns, Relaxed),
        };
    }

    fn take(&self) -> Waits {
        Waits {
            blocked_count: self.blocked_count.swap(0, Relaxed),
            blocked_ns: self.blocked_ns.swap(0, Relaxed),
            wait_count: self.wait_count.swap(0, Relaxed),
            waited_ns: self.waited_ns.swap(0, Relaxed),
        }
    }
}

impl Monitors {
    /// `None` where nobody wants it.
    pub(crate) fn new(jvmti: Jvmti, options: &Options) -> Option<Self> {
        options.monitor.then(|| Self {
            jvmti,
            depth: options.depth.min(MAX_FRAMES),
            with_lines: options.format == Format::Ascii,
            with_parking: options.locks,
            parking: OnceLock::new(),
            virtual_thread: jvmti.virtual_thread_function(),
            asks_virtual: jvmti.feature_version() >= since::MONITORS_OF_VIRTUAL_THREADS,
            rows: Mutex::default(),
            waiting: Mutex::default(),
            lines: Mutex::default(),
            buffers: Mutex::default(),
        })
    }

    /// What the JVM is to be able to do for it.
    pub(crate) fn capabilities(options: &Options) -> Vec<Capability> {
        let of_monitors = [
            Capability::CanGenerateMonitorEvents,
            Capability::CanGetOwnedMonitorInfo,
            Capability::CanGetCurrentContendedMonitor,
            Capability::CanGetMonitorInfo,
        ];
        // Early, as `Unsafe.park` is bound before anything else happens.
        let of_locks =
            [Capability::CanGenerateNativeMethodBindEvents, Capability::CanGenerateEarlyVmstart];
        let is_wanted = options.monitor;
        let of_monitors = of_monitors.into_iter().filter(|_| is_wanted);
        of_monitors.chain(of_locks.into_iter().filter(|_| is_wanted && options.locks)).collect()
    }

    /// The calling thread cannot have a monitor at once.
    pub(crate) fn enters(
        &self,
        session: &Session,
        jni: Jni<'_>,
        thread: Borrowed<'_>,
        monitor: Borrowed<'_>,
    ) {
        self.at_monitor(session, jni, &thread, &monitor, For::Lock);
    }

    /// It has it.
    pub(crate) fn entered(&self, session: &Session, jni: Jni<'_>, thread: Borrowed<'_>) {
        self.end(session, jni, &thread, LockKind::Monitor);
    }

    /// The calling thread waits to be notified, at most so many milliseconds if not 0.
    pub(crate) fn waits(
        &self,
        session: &Session,
        jni: Jni<'_>,
        thread: Borrowed<'_>,
        monitor: Borrowed<'_>,
        timeout_ms: u64,
    ) {
        let begun = self.at_monitor(session, jni, &thread, &monitor, For::Notice);
        if let Some((slot, class)) = begun {
            self.line(session, slot, class, WaitKind::Wait, timeout_ms);
        }
    }

    /// It goes on, as soon as it has the monitor again.
    pub(crate) fn waited(&self, session: &Session, jni: Jni<'_>, thread: Borrowed<'_>) {
        let waited = self.end(session, jni, &thread, LockKind::Monitor);
        if let Some((slot, class, time)) = waited {
            self.line(session, slot, class, WaitKind::Waited, time.as_millis() as u64);
        }
    }

    /// The calling thread begins to wait at a monitor. Answers its slot and the monitor's class.
    fn at_monitor(
        &self,
        session: &Session,
        jni: Jni<'_>,
        thread: &Borrowed<'_>,
        monitor: &Borrowed<'_>,
        what: For,
    ) -> Option<(Slot, ClassId)> {
        let class = jni.class_of(monitor)?;
        let lock = (&class as &dyn Reference, Some(monitor));
        self.begin(session, jni, thread, lock, (LockKind::Monitor, what))
    }

    /// The calling thread begins to wait for a lock, of which the class is given, and the object of a
    /// monitor. Answers its slot and the lock's class.
    fn begin(
        &self,
        session: &Session,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
        (class, monitor): (&dyn Reference, Option<&Borrowed<'_>>),
        (kind, what): (LockKind, For),
    ) -> Option<(Slot, ClassId)> {
        let begun = Instant::now();
        let slot = session.slot(jni, thread)?;
        let class = session.class(class);
        let trace = self.trace(session, jni, thread, slot);
        let row = Arc::clone(lock(&self.rows).entry((trace, class, kind)).or_default());
        row.begin(what);
        let is_virtual = jni.is_virtual(thread);
        let keeps_monitor = is_virtual || what == For::Notice;
        let thread = is_virtual.then(|| jni.global(thread)).flatten().map(Arc::new);
        let monitor = monitor.filter(|_| keeps_monitor).and_then(|monitor| jni.global(monitor));
        let monitor = monitor.map(Arc::new);
        let waiting = Waiting { row, class, kind, what, begun, since: begun, thread, monitor };
        if let Some(lost) = lock(&self.waiting).insert(slot, waiting) {
            lost.delete(jni);
        }
        Some((slot, class))
    }

    /// The calling thread goes on. Answers its slot, the lock's class and the time it waited.
    fn end(
        &self,
        session: &Session,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
        kind: LockKind,
    ) -> Option<(Slot, ClassId, Duration)> {
        let now = Instant::now();
        let slot = session.known_slot(jni, thread)?;
        let mut threads = lock(&self.waiting);
        threads.get(&slot).filter(|waiting| waiting.kind == kind)?;
        let waiting = threads.remove(&slot)?;
        drop(threads);
        waiting.row.add(waiting.what, now - waiting.since);
        let (class, time) = (waiting.class, now - waiting.begun);
        waiting.delete(jni);
        Some((slot, class, time))
    }

    /// Where the calling thread is.
    fn trace(
        &self,
        session: &Session,
        jni: Jni<'_>,
        thread: &(impl Reference + ?Sized),
        slot: Slot,
    ) -> TraceId {
        let reused = lock(&self.buffers).pop();
        let mut buffers = reused.unwrap_or_else(|| Buffers::new(self.depth));
        let Buffers { frames, stack } = &mut buffers;
        // Without an answer it is the trace without frames.
        let _ = self.jvmti.stack(thread, frames, stack);
        let trace = session.trace(jni, slot, stack);
        lock(&self.buffers).push(buffers);
        trace
    }

    fn line(&self, session: &Session, slot: Slot, class: ClassId, kind: WaitKind, time_ms: u64) {
        if self.with_lines {
            let line = WaitEvent { kind, class: Some(class), time_ms, thread: None };
            lock(&self.lines).push((slot, line));
            // If it is taken, whoever comes next writes the line.
            if let Ok(mut recorder) = session.recorder.try_lock() {
                self.write_lines(&mut recorder);
            }
        }
    }

    /// Writes the lines that could not be written yet.
    pub(crate) fn write_lines(&self, recorder: &mut Recorder) {
        for (slot, line) in std::mem::take(&mut *lock(&self.lines)) {
            recorder.write_wait(slot, line);
        }
    }

    /// A thread ends, whose slot another may get.
    pub(crate) fn thread_ended(&self, jni: Jni<'_>, slot: Slot, recorder: &mut Recorder) {
        self.write_lines(recorder);
        let lost = lock(&self.waiting).remove(&slot);
        if let Some(lost) = lost {
            lost.delete(jni);
        }
    }

    /// The waiting since the last call; that of threads which still wait is taken up to now.
    pub(crate) fn take_rows(&self) -> Vec<MonitorRow> {
        let now = Instant::now();
        for waiting in lock(&self.waiting).values_mut() {
            waiting.row.add(waiting.what, now - waiting.since);
            waiting.since = now;
        }
        let rows = lock(&self.rows);
        let rows = rows.iter().map(|(&(trace, class, kind), row)| {
            let waits = row.take();
            MonitorRow { trace, class, kind, waits }
        });
        rows.filter(|row| row.waits != Waits::default()).collect()
    }
}

impl Waiting {
    fn delete(self, jni: Jni<'_>) {
        delete(jni, self.thread);
        delete(jni, self.monitor);
    }
}

/// Deletes a reference, unless somebody else uses it.
fn delete(jni: Jni<'_>, reference: Option<Arc<Global>>) {
    if let Some(reference) = reference.and_then(Arc::into_inner) {
        jni.delete(reference);
    }
}

impl Buffers {
    fn new(depth: u32) -> Self {
        // SAFETY: a frame is a number and a pointer; zeroes are valid.
        let frame: jvmtiFrameInfo = unsafe { std::mem::zeroed() };
        Self { frames: vec![frame; depth as usize], stack: Vec::new() }
    }
}
