//! The cost of the probes, measured by calling them.

use perk_jvm::{Jni, bool_flag, int_flag};
use perk_jvmti_sys::jni_sys::jvalue;

use super::ExactEngine;
use super::clock::Timing;
use super::cost::{Calibration, ProbeCost};

/// The number of counted calls and objects below which the cost is not measured. All their probes
/// together take less time than the measurement, a few milliseconds.
const FEW_COUNTS: u64 = 200_000;
/// The number of calls of a round, as in the helper, and of the rounds of one measurement.
const ROUND: f64 = 1024.0;
const ROUNDS: i32 = 128;
/// The cost of a call from which on the JIT is taken to be late: the optimizing compiler's code takes
/// less, without and with readings of the clock.
const COMPILED_PS: f64 = 12_000.0;
const COMPILED_EXACT_PS: f64 = 300_000.0;
/// The cost of a call without readings of the clock above which all measurements are made: the
/// optimizing compiler's code takes half of it (measured on one machine), that of the other one more.
const LATE_PS: f64 = 3_000.0;
/// The `TieredStopAtLevel` from which on there is an optimizing compiler.
const OPTIMIZING: i64 = 4;
/// Measurements end when this number of them in a row have not found less, as the JIT may be late.
const SAME_MEASUREMENTS: u32 = 10;
const MOST_MEASUREMENTS: u32 = 40;
const CALIBRATION_PAUSE: std::time::Duration = std::time::Duration::from_millis(3);
/// The number of the measured method, which counts an object instead if it is 0; no method of the
/// program has it, nor that of the trivial one.
const CALIBRATION_METHOD: i32 = i32::MAX - 1;
const TRIVIAL_METHOD: i32 = i32::MAX - 16;
const OBJECTS: i32 = 0;

impl ExactEngine {
    /// Measures the cost of the probes by calling them: once, before the last dump.
    pub(super) fn calibrate(&self, jni: Jni<'_>) {
        if self.calibration.get().is_none()
            && let Some(calibration) = self.measured(jni)
        {
            let _ = self.calibration.set(calibration);
        }
    }

    fn measured(&self, jni: Jni<'_>) -> Option<Calibration> {
        let &helper = self.helper.get()?;
        let trees = self.pool.trees();
        let counts: Vec<_> = trees.iter().map(|tree| tree.call_counts(&self.pool)).collect();
        let call_count: u64 = counts.iter().map(|(entered, others)| entered + others).sum();
        let object_count = self.sites.as_ref().map_or(0, |sites| sites.counted());
        if call_count + object_count < FEW_COUNTS {
            return None;
        }
        let tree = self.pool.scratch();
        let is_interpreted = bool_flag(c"UseCompiler") == Some(false);
        let limit_ps = match self.timing {
            _ if is_interpreted => f64::INFINITY,
            _ if int_flag(c"TieredStopAtLevel").is_some_and(|it| it < OPTIMIZING) => f64::INFINITY,
            Timing::WallExact => COMPILED_EXACT_PS,
            _ => COMPILED_PS,
        };
        // The least picoseconds of a call.
        let least_ps = |method: i32| {
            let run = |rounds: i32| {
                let arguments = [
                    jvalue { j: tree.address() as i64 },
                    jvalue { j: tree.number() as i64 },
                    jvalue { j: tree.root() as i64 },
                    jvalue { i: method },
                    jvalue { z: method == TRIVIAL_METHOD },
                    jvalue { i: rounds },
                ];
                // SAFETY: the arguments are those of the helper's method.
                unsafe { jni.call_static_long(helper, c"calibrate", c"(JJJIZI)J", &arguments) }
            };
            let is_plain_call = method != OBJECTS && limit_ps == COMPILED_PS;
            let patient_ps = if is_plain_call { LATE_PS } else { limit_ps };
            let mut least_ps = f64::INFINITY;
            let mut same = 0;
            for _ in 0..MOST_MEASUREMENTS {
                let ps = run(if is_interpreted { 1 } else { ROUNDS })? as f64 * 1000.0 / ROUND;
                same = if ps < least_ps * 0.95 { 0 } else { same + 1 };
                least_ps = least_ps.min(ps);
                if same >= SAME_MEASUREMENTS && least_ps < patient_ps {
                    return Some(least_ps);
                }
                // The JIT may be waiting for a CPU to compile the probes.
                std::thread::sleep(CALIBRATION_PAUSE);
            }
            (least_ps < limit_ps).then_some(least_ps)
        };
        let mut found = Calibration::default();
        if call_count > 0 {
            let (outside_before_ns, inside_before_ns) = tree.booked_ns();
            let call_ps = least_ps(CALIBRATION_METHOD)?;
            let (outside_ns, inside_ns) = tree.booked_ns();
            let trivial_ps = least_ps(TRIVIAL_METHOD)?;
            // Ticks meet no thread between the stores of a method's entry and exit: all of it is the
            // caller's. With an exact clock the probes have booked each part.
            let inside_ps = if self.timing == Timing::WallExact {
                let inside_ns = inside_ns - inside_before_ns;
                let both_ns = inside_ns + outside_ns - outside_before_ns;
                call_ps * inside_ns as f64 / both_ns.max(1) as f64
            } else {
                0.0
            };
            if self.timing != Timing::None {
                found.subtracted = ProbeCost {
                    self_ps: inside_ps as u64,
                    caller_ps: (call_ps - inside_ps) as u64,
                };
            }
            // A thread's probes have taken no more than its time.
            let probes_ns = trees.iter().zip(counts).map(|(tree, (entered, others))| {
                let ns = (entered as f64 * call_ps + others as f64 * trivial_ps) / 1000.0;
                let (outer_ns, all_ns) = tree.booked_ns();
                match self.timing {
                    Timing::CpuTick => (ns as u64).min(outer_ns + all_ns),
                    _ => ns as u64,
                }
            });
            (found.call_count, found.call_ns) = (call_count, probes_ns.sum());
        }
        if object_count > 0
            && let Some(object_ps) = least_ps(OBJECTS)
        {
            found.object_count = object_count;
            found.object_ns = (object_count as f64 * object_ps / 1000.0) as u64;
        }
        Some(found)
    }

    /// Returns the cost of the probes of a call that is subtracted from times.
    pub(super) fn probe_cost(&self) -> ProbeCost {
        self.calibration().subtracted
    }

    /// Returns the cost of the probes, as far as it is known.
    pub(super) fn calibration(&self) -> Calibration {
        self.calibration.get().copied().unwrap_or_default()
    }
}
