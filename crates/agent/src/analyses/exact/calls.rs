//! Exact calls: the nodes of all trees, booked at each dump.

pub(super) mod book;
mod invocations;

use std::io;

use perk_control::options::TimesForm;
use perk_jvm::guard::Feature;
use perk_jvm::os;
use perk_jvm::sync::lock;
use perk_jvm::{Jni, Vm};
use perk_profile::{Accounting, CallTimes};

use self::book::{CallCounts, CallPlaces};
use super::ExactEngine;
use super::clock::Timing;
use super::cost::ProbeCost;
use super::tree::{OpenCalls, Reading, Tree};
use crate::analyses::{Analysis, Needs, Order};
use crate::recorder::{Book, CallNodes, CountedSection, Flush, PathNodes, now};
use crate::roster::Slot;

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

    fn books(&'static self) -> Vec<&'static dyn Book> {
        vec![&self.0.call_book]
    }

    fn obey(&'static self, _: Jni<'_>, order: Order) -> Result<(), String> {
        if let Order::Depth(depth) = order {
            self.0.call_book.set_depth(depth.min(self.0.common.options.depth));
        }
        Ok(())
    }

    fn settle(&self, last: bool) {
        let jni = self.0.vm.get().and_then(Vm::jni);
        self.0.clock.refresh(jni);
        if self.0.call_book.is_direct() {
            return;
        }
        let running = self.0.running(jni);
        for (thread, tree) in self.0.trees() {
            self.0.book_calls(thread, tree, &running, reading(last));
        }
    }

    fn reset(&self, _: bool) {
        if let Some(budget) = self.0.path_budget {
            budget.reset();
        }
        if !self.0.call_book.is_direct() {
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
        if !self.0.call_book.is_direct() {
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
        let (book, cost, mut section) = (&self.0.call_book, self.0.probe_cost(), new_section());
        for (_, tree) in trees {
            let calls = &mut tree.calls(&self.0.pool, &running, reading);
            book.write_tree(&mut lock(recorder), tree.address(), calls, cost, &mut section);
        }
        book.end_trees(&mut lock(recorder), &section);
    }

    fn show(&self) {
        self.0.call_book.begin_flush(&mut lock(self.0.common.recorder));
        let trees = self.0.trees();
        if self.0.call_book.is_direct() && self.0.writes_trees(&trees) {
            return;
        }
        let running = self.0.running(None);
        for (thread, tree) in trees {
            self.0.show_calls(thread, tree, &running);
        }
    }

    /// Adds the calls of trees as they are now. The recorder is locked for a part of them at a time: the
    /// threads of the program need it, too.
    fn show_more(&self, flush: &mut Flush, is_wanted: &dyn Fn() -> bool) -> io::Result<()> {
        if !self.0.call_book.is_direct() || self.0.call_book.is_shown() {
            return Ok(());
        }
        let (recorder, writer) = (self.0.common.recorder, &mut flush.writer);
        let running = self.0.running(None);
        let (mut counts, mut section) = (CallCounts::default(), new_section());
        for (_, tree) in self.0.trees() {
            let calls = &mut tree.calls(&self.0.pool, &running, Reading::Flush);
            let mut at = 0;
            while at < calls.count() && is_wanted() {
                let recorder = &mut lock(recorder);
                let known = writer.path_count(tree.address());
                let cost = ProbeCost::default();
                let part = counts.next_part(recorder, calls, &mut at, known, cost);
                section.write(writer, &recorder.profile, tree.address(), &part)?;
            }
        }
        if let Some(accounting) = &mut lock(recorder).profile.accounting {
            let (call_count, folded_count) = counts.totals();
            accounting.call_count += call_count;
            accounting.folded_call_count += folded_count;
        }
        section.end(writer)
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

fn new_section() -> CountedSection {
    CountedSection::new(CallTimes { written: Some(now()), ..CallTimes::default() }.head())
}

fn reading(last: bool) -> Reading {
    if last { Reading::LastDump } else { Reading::Dump }
}

impl ExactEngine {
    /// Whether the calls of these trees go to the file from there: of deeper ones, the paths are cut.
    fn writes_trees(&self, trees: &[(Option<Slot>, &'static Tree)]) -> bool {
        let depth = self.call_book.depth();
        !trees.iter().any(|(_, tree)| tree.is_deeper(depth))
    }

    /// Returns the times of calls that have not ended and are not booked yet.
    pub(super) fn running(&self, jni: Option<Jni<'_>>) -> OpenCalls {
        let mut running = OpenCalls::default();
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
        running: &OpenCalls,
        reading: Reading,
    ) {
        let Some(form) = self.common.options.cpu.times else {
            if let Some(bytecodes) = self.bytecodes() {
                let calls = &mut tree.calls(&self.pool, running, reading);
                self.book_invocations(bytecodes.book(), calls);
            }
            return;
        };
        let calls = &mut tree.calls(&self.pool, running, reading);
        let recorder = &mut lock(self.common.recorder);
        self.call_book.book(recorder, form, thread, calls, self.probe_cost());
    }

    /// Books the calls of a tree for a flush. A large one is booked in parts: the threads of the program
    /// need the recorder, too.
    fn show_calls(&self, thread: Option<Slot>, tree: &Tree, running: &OpenCalls) {
        let calls = &mut tree.calls(&self.pool, running, Reading::Flush);
        let recorder = self.common.recorder;
        match self.common.options.cpu.times {
            Some(TimesForm::Old) => self.call_book.show_edges(&mut lock(recorder), thread, calls),
            Some(TimesForm::Times) => {
                let count = calls.count();
                let mut places = CallPlaces::with_capacity(count);
                while places.len() < count {
                    let end = count.min(places.len() + CALLS_PER_LOCK);
                    self.call_book.show(&mut lock(recorder), thread, calls, end, &mut places);
                }
            }
            None => {}
        }
    }
}
