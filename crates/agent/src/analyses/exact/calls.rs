//! Exact calls: the nodes of all trees, booked at each dump.

use std::io;

use perk_control::options::TimesForm;
use perk_profile::Accounting;

use super::tree::{Reading, Running, Tree};
use super::{ExactEngine, Timing};
use crate::analyses::{Analysis, Needs};
use crate::guard::Feature;
use crate::jvm::{Jni, Vm};
use crate::os;
use crate::recorder::{CallNodes, CallPlaces, CountedSection, Flush, PathNodes};
use crate::roster::Slot;
use crate::sync::lock;

/// The calls that a flush books at once: some milliseconds.
const CALLS_PER_LOCK: usize = 1 << 14;

/// The analysis of exact calls; see the module.
pub(crate) struct ExactCalls(pub(crate) &'static ExactEngine);

impl Analysis for ExactCalls {
    fn name(&self) -> Option<&'static str> {
        None
    }

    fn feature(&self) -> Feature {
        Feature::Probes
    }

    fn task(&self) -> &'static str {
        "count calls"
    }

    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn settle(&self, last: bool) {
        let jni = self.0.vm.get().and_then(Vm::jni);
        self.0.clock.refresh(jni);
        if self.0.writes_calls() {
            return;
        }
        let running = self.0.running(jni);
        for (thread, tree) in self.0.trees() {
            self.0.book_calls(thread, tree, &running, reading(last));
        }
    }

    fn reset(&self, _: bool) {
        if !self.0.writes_calls() {
            return;
        }
        let running = self.0.running(None);
        for (_, tree) in self.0.trees() {
            let mut calls = tree.calls(&self.0.pool, &running, Reading::Dump);
            (0..calls.count()).for_each(|index| {
                calls.take(index);
            });
        }
    }

    fn dump(&self, jni: Option<Jni<'_>>, last: bool) {
        if !self.0.writes_calls() {
            return;
        }
        let recorder = self.0.common.recorder;
        let running = self.0.running(jni);
        let (trees, reading) = (self.0.trees(), reading(last));
        if !self.0.writes_trees(&trees) {
            for (thread, tree) in trees {
                self.0.book_calls(thread, tree, &running, reading);
            }
            return;
        }
        let (cost, mut section) = (self.0.probe_cost(), CountedSection::of_calls());
        for (_, tree) in trees {
            let calls = &mut tree.calls(&self.0.pool, &running, reading);
            lock(recorder).write_calls(tree.address(), calls, cost, &mut section);
        }
        lock(recorder).end_calls(&section);
    }

    fn show(&self) {
        let trees = self.0.trees();
        if self.0.writes_calls() && self.0.writes_trees(&trees) {
            return;
        }
        let running = self.0.running(None);
        for (thread, tree) in trees {
            self.0.show_calls(thread, tree, &running);
        }
    }

    fn show_more(&self, flush: &mut Flush, is_wanted: &dyn Fn() -> bool) -> io::Result<()> {
        if !self.0.writes_calls() || flush.has_calls() {
            return Ok(());
        }
        let running = self.0.running(None);
        for (_, tree) in self.0.trees() {
            let calls = &mut tree.calls(&self.0.pool, &running, Reading::Flush);
            flush.show_calls(self.0.common.recorder, tree.address(), calls, is_wanted)?;
        }
        flush.end_calls()
    }

    fn account(&self, accounting: &mut Accounting) {
        let (clock, timing) = match self.0.timing {
            Timing::None => ("", "none"),
            Timing::CpuTick => ("cpu", "tick"),
            Timing::WallTick => ("wall", "tick"),
            Timing::WallExact => ("wall", "exact"),
        };
        accounting.clock = clock.to_owned();
        accounting.timing = timing.to_owned();
    }
}

fn reading(last: bool) -> Reading {
    if last { Reading::LastDump } else { Reading::Dump }
}

impl ExactEngine {
    /// Whether calls go to the file from their trees.
    fn writes_calls(&self) -> bool {
        self.common.options.cpu.times.is_some() && lock(self.common.recorder).writes_calls()
    }

    /// Whether those of these trees do: of deeper ones, the paths are cut.
    fn writes_trees(&self, trees: &[(Option<Slot>, &'static Tree)]) -> bool {
        let depth = lock(self.common.recorder).timing_depth();
        !trees.iter().any(|(_, tree)| tree.is_deeper(depth))
    }

    /// Returns the times of calls that have not ended and are not booked yet.
    pub(super) fn running(&self, jni: Option<Jni<'_>>) -> Running {
        let mut running = Running::default();
        if matches!(self.timing, Timing::WallTick | Timing::WallExact) {
            let now_ns = os::nano_time();
            self.parked.add_to(&mut running, now_ns);
            if let Some(jni) = jni.filter(|_| self.timing == Timing::WallExact) {
                self.clock.add_running(jni, &mut running, now_ns);
            }
        }
        running
    }

    /// Books the calls of a tree since the last dump, if calls are counted.
    pub(super) fn book_calls(
        &self,
        thread: Option<Slot>,
        tree: &Tree,
        running: &Running,
        reading: Reading,
    ) {
        let form = self.common.options.cpu.times;
        if form.is_none() && self.bytecodes.is_none() {
            return;
        }
        let calls = &mut tree.calls(&self.pool, running, reading);
        let mut recorder = lock(self.common.recorder);
        match form {
            Some(TimesForm::Old) => recorder.book_edges(thread, calls, self.probe_cost()),
            Some(TimesForm::Times) => recorder.book_calls(thread, calls, self.probe_cost()),
            None => {
                recorder.book_invocations(calls, &self.classes.natives(), self.common.cycles.rate())
            }
        }
    }

    /// Books the calls of a tree for a flush. A large one is booked in parts: the threads of the program
    /// need the recorder, too.
    fn show_calls(&self, thread: Option<Slot>, tree: &Tree, running: &Running) {
        let calls = &mut tree.calls(&self.pool, running, Reading::Flush);
        let recorder = self.common.recorder;
        match self.common.options.cpu.times {
            Some(TimesForm::Old) => lock(recorder).show_edges(thread, calls),
            Some(TimesForm::Times) => {
                let count = calls.count();
                let mut places = CallPlaces::with_capacity(count);
                while places.len() < count {
                    let end = count.min(places.len() + CALLS_PER_LOCK);
                    lock(recorder).show_calls(thread, calls, end, &mut places);
                }
            }
            None => {}
        }
    }
}
