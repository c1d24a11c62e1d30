//! The tables of `-Xprof`: for each thread, its ticks in interpreted, compiled and native code, by
//! method.
//!
//! The engine of signals takes the ticks and passes them on ([`Xprof::tick`]). [`places`] finds the
//! row of each, [`threads`] adds up the threads, and [`jvm`] measures the JVM's own work for the
//! summary. The tables of a thread are written once it has ended and its last tick is counted.
//!
//! A tick is one interval of CPU time. The time that a thread lived, less its ticks, is the time
//! for which it was blocked: the original looked at each thread after each interval, and could not
//! see whether a thread in native code ran.

mod jvm;
mod places;
mod threads;

use std::io::{self, Write};
use std::mem::take;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use perk_control::options::Xprof as Tables;
use perk_hotspot::vm::VmFrame;
use perk_hprof::xprof::{HOTSPOT_ROWS, ThreadTables, write_summary};
use perk_jvm::guard::Feature;
use perk_jvm::os::{self, Tid};
use perk_jvm::sync::lock;
use perk_jvm::{Jni, ObjectRef, ThreadInfo};
use perk_profile::MethodId;

use self::jvm::Jvm;
use self::threads::{Thread, Threads};
use super::{Analysis, Event, Needs, OWN_GROUPS};
use crate::common::Common;
use crate::output::Output;
use crate::recorder::cannot_write;
use crate::roster::Slot;

/// The least number of frames that ticks need: those inlined into one method are before it.
pub(crate) const LEAST_DEPTH: u32 = 128;

/// The analysis; see the module.
#[derive(Debug)]
pub(crate) struct Xprof {
    common: &'static Common,
    tables: Tables,
    threads: Mutex<Threads>,
    jvm: Jvm,
    /// The tables that are not written yet.
    pending: Mutex<Vec<u8>>,
    destination: Mutex<Destination>,
    /// Whether ticks are taken.
    is_on: AtomicBool,
}

/// Where the tables go.
#[derive(Debug)]
enum Destination {
    Stdout,
    File(Box<Output>),
    /// Nowhere any more: that has been reported.
    Lost,
}

/// A tick, as the engine has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tick<'a> {
    /// The number of the thread.
    pub(crate) thread: u64,
    /// The number of intervals that it represents.
    pub(crate) count: u64,
    /// The frames, the youngest first.
    pub(crate) frames: &'a [VmFrame],
}

/// What the engine knows of frames.
pub(crate) trait Frames {
    /// Returns a frame's method, and whether it is one of a probe's; `None` if it cannot be found.
    fn method(&mut self, frame: &VmFrame) -> Option<(MethodId, bool)>;
    /// Whether a frame is in the code of the interpreter.
    fn is_interpreter(&self, frame: &VmFrame) -> bool;
    /// Returns the name of a stub.
    fn stub_name(&self, frame: &VmFrame) -> String;
}

impl Xprof {
    /// Makes the analysis. Its tables go to a file, or else to stdout.
    pub(crate) fn new(common: &'static Common, tables: Tables, output: Option<Output>) -> Self {
        Self {
            common,
            tables,
            threads: Mutex::default(),
            jvm: Jvm::default(),
            pending: Mutex::default(),
            destination: Mutex::new(
                output.map(Box::new).map_or(Destination::Stdout, Destination::File),
            ),
            is_on: AtomicBool::new(false),
        }
    }

    /// Begins: ticks are taken from now on.
    pub(crate) fn begin(&self) {
        self.jvm.begin();
        lock(&self.threads).begin(os::nano_time());
        self.is_on.store(true, Relaxed);
    }

    /// Gives up, for a reason that is reported here: there are no tables.
    pub(crate) fn give_up(&self, reason: &str) {
        os::say(&format!("HPROF ERROR: perk cannot print the tables of xprof: {reason}\n"));
        if let Destination::File(output) =
            std::mem::replace(&mut *lock(&self.destination), Destination::Lost)
        {
            output.discard();
        }
    }

    /// Adds a thread that gets ticks from now on.
    pub(crate) fn thread_began(&self, number: u64, slot: Slot, tid: Tid) {
        let recorder = lock(self.common.recorder);
        let ThreadInfo { name, group, .. } = recorder.thread_info(slot).clone();
        drop(recorder);
        let is_programs = !group.is_some_and(|group| OWN_GROUPS.contains(&group.as_str()));
        lock(&self.threads).add(number, Thread::new(slot, tid, name, is_programs, os::nano_time()));
    }

    /// Notes that the calling thread ends; ticks of it may still come.
    pub(crate) fn thread_ends(&self, jni: Jni<'_>, thread: ObjectRef<'_>, number: u64) {
        let now_ns = os::nano_time();
        let lived_ns = lock(&self.threads).end(number, now_ns).unwrap_or(0);
        // Others have no tables, or hardly a tick in them.
        if ticks(lived_ns, self.common.options.sample_interval_ns()) > 0 {
            // It may have another name by now.
            let name = self.common.jvmti.thread_info(jni, &thread).ok().map(|info| info.name);
            let delay_ns = Tid::current().run_delay_ns();
            lock(&self.threads).describe(number, name, delay_ns);
        }
    }

    /// Counts a tick.
    pub(crate) fn tick(&self, tick: Tick<'_>, with: &mut impl Frames) {
        let has_probes = !self.common.helper_methods().is_empty();
        let place = places::place(tick.frames, self.tables, has_probes, with);
        lock(&self.threads).tick(tick.thread, place, tick.count);
    }

    /// Notes that all ticks of a thread are counted: `expired_count` of them were taken, and as many
    /// as `unseen_count` could not be.
    pub(crate) fn thread_settled(&self, number: u64, expired_count: u64, unseen_count: u64) {
        let mut threads = lock(&self.threads);
        let ended = threads.settle(number, expired_count, unseen_count);
        if let Some(tables) = ended.and_then(|ended| self.tables_of(&threads, &ended)) {
            drop(threads);
            self.print(|out| self.write_tables(&tables, out));
        }
    }

    /// Writes the tables that are complete. Stdout may have no reader at the moment, so no other lock
    /// is held.
    pub(crate) fn flush(&self) {
        self.jvm.look(os::nano_time());
        let mut destination = lock(&self.destination);
        let text = take(&mut *lock(&self.pending));
        if text.is_empty() {
            return;
        }
        let (name, written) = match &mut *destination {
            Destination::Stdout => ("stdout".to_owned(), os::write_to_stdout(&text)),
            Destination::File(output) => {
                (output.name(), output.write_all(&text).and_then(|()| output.rest()))
            }
            Destination::Lost => return,
        };
        if let Err(error) = written {
            let part = match &*destination {
                Destination::File(output) => output.part().map(|part| part.display().to_string()),
                _ => None,
            };
            *destination = Destination::Lost;
            cannot_write(&name, &error, part);
        }
    }

    /// Adds text to what is to be written.
    fn print(&self, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) {
        // Memory takes everything.
        let _ = write(&mut lock(&self.pending));
    }

    fn write_tables(&self, tables: &ThreadTables, out: &mut Vec<u8>) -> io::Result<()> {
        let most_rows = if self.tables.all { usize::MAX } else { HOTSPOT_ROWS };
        tables.write(most_rows, out)
    }

    /// Returns the tables of a thread, unless they would be empty.
    fn tables_of(&self, threads: &Threads, thread: &Thread) -> Option<ThreadTables> {
        let recorder = lock(self.common.recorder);
        let name = |method| recorder.profile.symbols.method_name(method);
        threads.tables(thread, self.common.options.sample_interval_ns(), os::nano_time(), name)
    }

    /// Prints the threads that live, and the summary.
    fn print_rest(&self) {
        let mut threads = lock(&self.threads);
        for thread in threads.take_all() {
            if let Some(tables) = self.tables_of(&threads, &thread) {
                self.print(|out| self.write_tables(&tables, out));
            }
        }
        let (elapsed_ns, interval_ns) =
            (threads.elapsed_ns(os::nano_time()), self.common.options.sample_interval_ns());
        let mut labels = self.jvm.labels(interval_ns);
        labels.extend(threads.labels());
        let labels: Vec<_> = labels
            .into_iter()
            .filter(|label| label.1 > 0)
            .map(|(it, n)| (it.to_owned(), n))
            .collect();
        drop(threads);
        let received = ticks(elapsed_ns, interval_ns);
        self.print(|out| write_summary(elapsed_ns, received, &labels, out));
    }
}

/// Returns a time in ticks.
fn ticks(ns: u64, interval_ns: u64) -> u64 {
    let interval_ns = interval_ns.max(1);
    ns.saturating_add(interval_ns / 2) / interval_ns
}

impl Analysis for Xprof {
    fn name(&self) -> Option<&'static str> {
        None
    }

    fn feature(&self) -> Feature {
        Feature::Sampling
    }

    fn task(&self) -> &'static str {
        "print the tables of xprof"
    }

    fn needs(&self) -> Needs {
        Needs { events: vec![Event::CollectionStart, Event::CollectionFinish], ..Needs::default() }
    }

    fn collection_started(&self) {
        self.jvm.collection_started();
    }

    fn collection_finished(&self) {
        self.jvm.collection_finished();
    }

    fn vm_dies(&self, jni: Jni<'_>) {
        for thread in self.common.threads.all() {
            if let Ok(info) = self.common.jvmti.thread_info(jni, &*thread) {
                lock(&self.threads).rename(thread.slot, info.name);
            }
        }
    }

    fn finish(&self) {
        if self.is_on.swap(false, Relaxed) {
            self.print_rest();
            self.flush();
        }
        match &mut *lock(&self.destination) {
            Destination::File(output) if lock(&self.threads).has_begun() => {
                if let Err(error) = output.finish() {
                    let part = output.part().map(|part| part.display().to_string());
                    cannot_write(&output.name(), &error, part);
                }
            }
            Destination::File(output) => output.discard(),
            Destination::Stdout | Destination::Lost => {}
        }
    }
}
