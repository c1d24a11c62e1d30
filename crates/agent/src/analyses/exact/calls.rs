//! Exact calls: the nodes of all trees, booked at each dump.

use perk_control::options::TimesForm;
use perk_profile::Accounting;

use super::tree::Tree;
use super::{ExactEngine, Timing};
use crate::analyses::{Analysis, Needs};
use crate::guard::Feature;
use crate::roster::Slot;
use crate::sync::lock;

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
        self.0.clock.refresh();
        for (thread, tree) in self.0.trees() {
            self.0.book_calls(thread, tree, last);
        }
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

impl ExactEngine {
    /// Books the calls of a tree since the last dump, if calls are counted.
    pub(super) fn book_calls(&self, thread: Option<Slot>, tree: &Tree, last: bool) {
        let Some(form) = self.common.options.cpu.times else { return };
        let calls = tree.calls(self.now_ns(tree), last);
        let mut recorder = lock(self.common.recorder);
        match form {
            TimesForm::Old => recorder.book_edges(thread, &calls, self.probe_cost()),
            TimesForm::Times => recorder.book_calls(thread, &calls, self.probe_cost()),
        }
    }
}
