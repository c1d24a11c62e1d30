//! The portable engine: a thread of the agent asks every thread's CPU clock, and walks the stacks
//! of those that burned CPU time and are running now.
//!
//! A clock costs a quarter of a microsecond, a walk some ten to hundred; so threads that wait cost
//! next to nothing. A walk takes effect at the thread's next safepoint poll, which biases frames
//! within a method or two, as every JVMTI profiler is; *how much* CPU time a thread gets
//! samples for is not biased, as it comes from the kernel's clock. See `docs/measuring.md`.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use perk_jvmti_sys::JvmtiEnv;
use perk_jvmti_sys::jni_sys::JNIEnv;
use perk_profile::TraceId;

use super::sampler::Sampler;
use super::threads::{ThreadTable, delete_unused};
use super::{Engine, EngineAccount, MAX_FRAMES};
use crate::guard::{Feature, contain};
use crate::jvm::{Global, Jni, Jvmti, Reference, VirtualThreadFunction};
use crate::os::{self, Tid};
use crate::roster::Slot;
use crate::session::{Session, lock};

/// How long to wait for the sampler's last sample when the JVM dies.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);
/// See the module.
pub(crate) struct PollingEngine {
    pub(super) jvmti: Jvmti,
    pub(super) interval_ns: u64,
    /// Frames of a walk; with none, there are no samples.
    pub(super) depth: AtomicU32,
    /// Whether it samples from the start on.
    starts_sampling: bool,
    pub(super) virtual_thread: Option<VirtualThreadFunction>,
    pub(super) table: Mutex<ThreadTable>,
    life: Mutex<Life>,
    life_changed: Condvar,
    /// The session, and the Java object of the sampler's thread.
    sampler: OnceLock<(&'static Session, Global)>,
    pub(super) walk_count: AtomicU64,
    pub(super) failed_walk_count: AtomicU64,
    unattributed_count: AtomicU64,
    pub(super) virtual_sample_count: AtomicU64,
    pub(super) engine_cpu_ns: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Idle,
    Running,
    Stopping,
    Stopped,
}

impl PollingEngine {
    pub(crate) fn new(jvmti: Jvmti, interval_ns: u64, depth: u32, starts_sampling: bool) -> Self {
        let seed = Instant::now().elapsed().as_nanos() as u64 ^ u64::from(std::process::id()) << 20;
        Self {
            jvmti,
            interval_ns,
            depth: AtomicU32::new(depth.min(MAX_FRAMES)),
            starts_sampling,
            virtual_thread: jvmti.virtual_thread_function(),
            table: Mutex::new(ThreadTable::new(seed, starts_sampling)),
            life: Mutex::new(Life::Idle),
            life_changed: Condvar::new(),
            sampler: OnceLock::new(),
            walk_count: AtomicU64::new(0),
            failed_walk_count: AtomicU64::new(0),
            unattributed_count: AtomicU64::new(0),
            virtual_sample_count: AtomicU64::new(0),
            engine_cpu_ns: AtomicU64::new(0),
        }
    }

    /// Starts the thread that takes samples.
    fn start_sampler(&'static self, jni: Jni<'_>, session: &'static Session) -> Result<(), String> {
        let group = self.jvmti.top_thread_group(jni).ok_or("no top thread group")?;
        let thread = jni.new_thread(&group, c"perk sampler").ok_or("no Thread object")?;
        let reference = jni.global(&thread).ok_or("no global reference")?;
        if self.sampler.set((session, reference)).is_err() {
            return Err("it is started already".to_owned());
        }
        *lock(&self.life) = Life::Running;
        let started = self.jvmti.run_agent_thread(&thread, sampler_main, self);
        started.map_err(|error| {
            *lock(&self.life) = Life::Stopped;
            format!("RunAgentThread: {error}")
        })
    }

    /// Waits for the engine's life to change, but not longer than `limit`.
    fn wait<'a>(&self, life: MutexGuard<'a, Life>, limit: Duration) -> MutexGuard<'a, Life> {
        match self.life_changed.wait_timeout(life, limit) {
            Ok((life, _)) => life,
            Err(poisoned) => poisoned.into_inner().0,
        }
    }

    /// True if it is time to stop.
    pub(super) fn wait_until(&self, deadline: Instant) -> bool {
        let mut life = lock(&self.life);
        while *life == Life::Running {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else { return false };
            if left.is_zero() {
                return false;
            }
            life = self.wait(life, left);
        }
        true
    }

    /// Deletes the references of ended threads where no sampler runs that would (`depth=0`).
    fn delete_ended(&self, jni: Jni<'_>) {
        if *lock(&self.life) != Life::Running {
            let ended = lock(&self.table).take_graveyard();
            let used = delete_unused(jni, ended);
            lock(&self.table).bury(used);
        }
    }

    /// Books samples of a thread that was not met running: on its last trace. Without one they are in
    /// the account alone: as with the original, who has no frame is no row.
    fn book(&self, session: &Session, last: Option<TraceId>, samples: u64) {
        match last {
            // As with the original, no frames means no samples.
            _ if samples == 0 || self.depth.load(Relaxed) == 0 => {}
            Some(trace) => lock(&session.recorder).book(trace, samples),
            None => _ = self.unattributed_count.fetch_add(samples, Relaxed),
        }
    }
}

impl Engine for PollingEngine {
    fn name(&self) -> &'static str {
        "polling"
    }

    fn start(&'static self, jni: Jni<'_>, session: &'static Session) -> Result<(), String> {
        if self.starts_sampling && self.depth.load(Relaxed) > 0 {
            self.start_sampler(jni, session)?;
        }
        Ok(())
    }

    fn set_sampled(
        &'static self,
        jni: Jni<'_>,
        session: &'static Session,
        thread: Option<Slot>,
        is_sampled: bool,
    ) -> Result<(), String> {
        // What was burned so far is to be sampled as it was so far.
        let without_tid = lock(&self.table).without_tid();
        let clock = |reference| self.jvmti.thread_cpu_ns(reference);
        let older = without_tid.iter().filter_map(|(slot, it)| Some((*slot, clock(&**it)?)));
        let older: Vec<_> = older.collect();
        let mut table = lock(&self.table);
        table.read_all();
        for (slot, cpu_ns) in older {
            if let Some(index) = table.find(slot) {
                table.advance(index, cpu_ns);
            }
        }
        if !table.set_sampled(thread, is_sampled) {
            return Err("no thread that lives has that id".to_owned());
        }
        drop(table);
        if is_sampled && self.sampler.get().is_none() {
            self.start_sampler(jni, session)?;
        }
        Ok(())
    }

    fn set_depth(&self, depth: u32) {
        self.depth.store(depth.min(MAX_FRAMES), Relaxed);
    }

    fn thread_started(&self, jni: Jni<'_>, thread: &dyn Reference, slot: Slot, on_it: bool) {
        let Some(reference) = jni.global(thread) else { return };
        let (tid, cpu_ns) = if on_it {
            (Some(Tid::current()), Some(os::thread_cpu_ns()))
        } else {
            (None, self.jvmti.thread_cpu_ns(&reference))
        };
        let cpu_ns = cpu_ns.unwrap_or(0);
        lock(&self.table).insert(slot, reference, tid, cpu_ns, self.interval_ns);
    }

    fn knows_current(&self, jni: Jni<'_>, thread: &dyn Reference) -> bool {
        let tid = Tid::current();
        let without_tid = lock(&self.table).without_tid();
        let older = without_tid.iter().find(|(_, reference)| jni.same(&**reference, thread));
        let mut table = lock(&self.table);
        if let Some(index) = older.and_then(|(id, _)| table.find(*id)) {
            table.set_tid(index, tid);
        }
        table.find_tid(tid).is_some()
    }

    fn thread_ended(
        &self,
        jni: Jni<'_>,
        thread: &dyn Reference,
        session: &Session,
    ) -> Option<Slot> {
        if !self.knows_current(jni, thread) {
            return None;
        }
        let mut table = lock(&self.table);
        let index = table.find_tid(Tid::current())?;
        table.advance(index, os::thread_cpu_ns());
        let mut watched = table.remove(index);
        drop(table);
        let samples = watched.take_samples(self.interval_ns);
        let slot = watched.thread;
        self.book(session, watched.last_trace, samples);
        drop(watched);
        self.delete_ended(jni);
        Some(slot)
    }

    fn threads(&self) -> Vec<(Slot, Arc<Global>)> {
        lock(&self.table).all()
    }

    fn slot(&self, tid: Tid) -> Option<Slot> {
        let mut table = lock(&self.table);
        let index = table.find_tid(tid)?;
        Some(table.get_mut(index).thread)
    }

    fn settle(&self, session: &Session) {
        let mut table = lock(&self.table);
        table.read_all();
        let mut pending = Vec::new();
        for index in 0..table.len() {
            let watched = table.get_mut(index);
            let samples = watched.take_samples(self.interval_ns);
            pending.push((watched.last_trace, samples));
        }
        drop(table);
        for (last_trace, samples) in pending {
            self.book(session, last_trace, samples);
        }
    }

    fn stop(&self) {
        let mut life = lock(&self.life);
        if *life != Life::Running {
            return;
        }
        *life = Life::Stopping;
        self.life_changed.notify_all();
        let deadline = Instant::now() + STOP_TIMEOUT;
        while *life != Life::Stopped {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else { return };
            life = self.wait(life, left);
        }
    }

    fn account(&self) -> EngineAccount {
        EngineAccount {
            walk_count: self.walk_count.load(Relaxed),
            failed_walk_count: self.failed_walk_count.load(Relaxed),
            unattributed_count: self.unattributed_count.load(Relaxed),
            virtual_sample_count: self.virtual_sample_count.load(Relaxed),
            java_cpu_ns: lock(&self.table).java_cpu_ns(),
            engine_cpu_ns: self.engine_cpu_ns.load(Relaxed),
        }
    }

    fn is_own_thread(&self, jni: Jni<'_>, thread: &dyn Reference) -> bool {
        self.sampler.get().is_some_and(|(_, own)| jni.same(own, thread))
    }
}

/// The sampler thread's entry.
unsafe extern "system" fn sampler_main(_: JvmtiEnv, env: *mut JNIEnv, engine: *mut c_void) {
    // SAFETY: `start` passed a reference to an engine that lives as long as the process.
    let engine: &'static PollingEngine = unsafe { &*engine.cast_const().cast() };
    // SAFETY: the JVM gives the agent thread its own environment, valid until we return.
    let jni = unsafe { Jni::from_raw(env) };
    contain(Feature::Sampling, || {
        if let Some((session, _)) = engine.sampler.get() {
            Sampler::new(engine, session, jni).run();
        }
    });
    *lock(&engine.life) = Life::Stopped;
    engine.life_changed.notify_all();
}
