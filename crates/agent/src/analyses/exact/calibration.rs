//! The cost of the probes of a call, measured by calling them.

use perk_jvmti_sys::jni_sys::jvalue;

use super::tree::Tree;
use super::{ExactEngine, Timing};
use crate::jvm::Jni;
use crate::recorder::ProbeCost;

/// The number of calls made at once to measure the cost of a call's probes, and the time for which
/// they are repeated.
const CALIBRATION_CALLS: i32 = 100_000;
const FEW_CALIBRATION_CALLS: i32 = 2_000;
const CALIBRATION_NS: i64 = 8_000_000;
/// The least number of measurements. They go on until the cost stops falling: on a busy machine,
/// code is compiled late.
const FEWEST_CALIBRATIONS: u32 = 3;
const MOST_CALIBRATIONS: u32 = 12;
const CALIBRATION_PAUSE: std::time::Duration = std::time::Duration::from_millis(2);
/// The number of the measured method; no method of the program has it.
const CALIBRATION_METHOD: i32 = i32::MAX - 1;

impl ExactEngine {
    /// Measures the cost of the probes by calling them: once, before the first dump.
    pub(super) fn calibrate(&self, jni: Jni<'_>) {
        let Some(&helper) = self.helper.get() else { return };
        if self.timing == Timing::None || self.calibration.get().is_some() {
            return;
        }
        let tree = self.pool.scratch();
        let run = |calls: i32| {
            let tree = jvalue { j: tree.address() as i64 };
            let arguments = [tree, jvalue { i: CALIBRATION_METHOD }, jvalue { i: calls }];
            // SAFETY: the arguments are those of the helper's method.
            unsafe { jni.call_static_long(helper, c"calibrate", c"(JII)J", &arguments) }
        };
        // If probes are not compiled, fewer calls must do. The second calls have the loop compiled.
        let Some(few_ns) = run(FEW_CALIBRATION_CALLS) else { return };
        let is_slow = few_ns > CALIBRATION_NS / 10;
        let calls = if is_slow { FEW_CALIBRATION_CALLS } else { CALIBRATION_CALLS };
        if run(calls).is_none() {
            return;
        }
        self.clock.carry(tree);
        // The time of the first calls is left out: a dump begins where the last one ended.
        tree.calls(0, false);
        let mut least: Option<(i64, f64)> = None;
        for round in 1..=MOST_CALIBRATIONS {
            let Some(measured) = self.calibrated(tree, || run(calls)) else { break };
            let is_less = |(known, _): (i64, f64)| measured.0 * 20 < known * 19;
            let improved = least.is_none_or(is_less);
            if least.is_none_or(|least| measured.0 < least.0) {
                least = Some(measured);
            }
            if round >= FEWEST_CALIBRATIONS && !improved {
                break;
            }
            // The JIT may be waiting for a CPU to compile the probes.
            std::thread::sleep(CALIBRATION_PAUSE);
        }
        if !self.clock.put_down() {
            self.clock.thread_ended();
        }
        let Some((least_ns, inside)) = least else { return };
        let call_ps = least_ns as f64 * 1000.0 / f64::from(calls);
        let cost = ProbeCost {
            self_ps: (call_ps * inside) as u64,
            caller_ps: (call_ps * (1.0 - inside)) as u64,
        };
        let _ = self.calibration.set(cost);
    }

    /// Measures once. Returns the least time that `run` took, and the part of it between the probes
    /// of entry and exit.
    fn calibrated(&self, tree: &Tree, run: impl Fn() -> Option<i64>) -> Option<(i64, f64)> {
        let (mut all_ns, mut least_ns) = (0, i64::MAX);
        self.clock.refresh();
        let begin_ns = self.now_ns(tree);
        while all_ns < CALIBRATION_NS {
            let took_ns = run()?.max(1);
            least_ns = least_ns.min(took_ns);
            all_ns += took_ns;
        }
        self.clock.refresh();
        // The clock of the calls is used, as other threads may have had the CPU.
        let spent_ns = self.now_ns(tree).saturating_sub(begin_ns).max(1);
        let inside_ns = tree.calls(0, false).iter().map(|node| node.total_ns).sum::<u64>();
        Some((least_ns, (inside_ns as f64 / spent_ns as f64).clamp(0.0, 1.0)))
    }

    /// Returns the cost of the probes of a call, as far as it is known.
    pub(super) fn probe_cost(&self) -> ProbeCost {
        self.calibration.get().copied().unwrap_or_default()
    }
}
