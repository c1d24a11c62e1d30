//! The cost of the probes of a call, measured by calling them.

use perk_jvmti_sys::jni_sys::jvalue;

use super::tree::Tree;
use super::{ExactEngine, Timing};
use crate::jvm::Jni;
use crate::recorder::ProbeCost;

/// The number of counted calls below which the cost is not measured. All their probes together take
/// less time than the measurement, a few milliseconds.
const FEW_CALLS: u64 = 200_000;
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
    /// Measures the cost of the probes by calling them: once, before the last dump.
    pub(super) fn calibrate(&self, jni: Jni<'_>) {
        let Some(&helper) = self.helper.get() else { return };
        if self.timing == Timing::None || self.calibration.get().is_some() {
            return;
        }
        let counted: u64 = self.pool.trees().iter().map(|tree| tree.call_count()).sum();
        if counted < FEW_CALLS {
            return;
        }
        let tree = self.pool.scratch();
        let run = |calls: i32| {
            let arguments = [
                jvalue { j: tree.address() as i64 },
                jvalue { j: tree.number() as i64 },
                jvalue { j: tree.root() as i64 },
                jvalue { i: CALIBRATION_METHOD },
                jvalue { i: calls },
            ];
            // SAFETY: the arguments are those of the helper's method.
            unsafe { jni.call_static_long(helper, c"calibrate", c"(JJJII)J", &arguments) }
        };
        // If probes are not compiled, fewer calls must do. The second calls have the loop compiled.
        let Some(few_ns) = run(FEW_CALIBRATION_CALLS) else { return };
        let is_slow = few_ns > CALIBRATION_NS / 10;
        let calls = if is_slow { FEW_CALIBRATION_CALLS } else { CALIBRATION_CALLS };
        if run(calls).is_none() {
            return;
        }
        let mut least: Option<(i64, f64)> = None;
        for round in 1..=MOST_CALIBRATIONS {
            let Some(measured) = self.calibrated(jni, tree, || run(calls)) else { break };
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
    fn calibrated(
        &self,
        jni: Jni<'_>,
        tree: &Tree,
        run: impl Fn() -> Option<i64>,
    ) -> Option<(i64, f64)> {
        let (mut all_ns, mut least_ns) = (0, i64::MAX);
        self.clock.refresh(Some(jni));
        let (outside_before_ns, inside_before_ns) = tree.booked_ns();
        while all_ns < CALIBRATION_NS {
            let took_ns = run()?.max(1);
            least_ns = least_ns.min(took_ns);
            all_ns += took_ns;
        }
        let (outside_ns, inside_ns) = tree.booked_ns();
        let inside_ns = inside_ns - inside_before_ns;
        let both_ns = inside_ns + outside_ns - outside_before_ns;
        Some((least_ns, inside_ns as f64 / both_ns.max(1) as f64))
    }

    /// Returns the cost of the probes of a call, as far as it is known.
    pub(super) fn probe_cost(&self) -> ProbeCost {
        self.calibration.get().copied().unwrap_or_default()
    }
}
