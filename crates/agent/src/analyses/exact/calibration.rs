//! The cost of the probes, measured by calling them.

use perk_jvmti_sys::jni_sys::jvalue;

use super::tree::Tree;
use super::{ExactEngine, Timing};
use crate::jvm::{Jni, bool_flag};
use crate::recorder::ProbeCost;

/// The number of counted calls and objects below which the cost is not measured. All their probes
/// together take less time than the measurement, a few milliseconds.
const FEW_COUNTS: u64 = 200_000;
/// The number of calls made at once to measure the cost of a call's probes, and the time for which
/// they are repeated.
const CALIBRATION_CALLS: i32 = 100_000;
const FEW_CALIBRATION_CALLS: i32 = 2_000;
const CALIBRATION_NS: i64 = 8_000_000;
/// The same of what is only reported.
const REPORTED_NS: i64 = 3_000_000;
/// The cost from which on the measuring loop is taken to be interpreted, without and with readings of
/// the clock: measurements then go on, too.
const INTERPRETED_PS: f64 = 40_000.0;
const INTERPRETED_EXACT_PS: f64 = 300_000.0;
/// The least number of measurements. They go on until the cost stops falling: on a busy machine,
/// code is compiled late.
const FEWEST_CALIBRATIONS: u32 = 3;
const MOST_CALIBRATIONS: u32 = 12;
const CALIBRATION_PAUSE: std::time::Duration = std::time::Duration::from_millis(2);
/// The number of the measured method, which counts an object instead if it is 0; no method of the
/// program has it, nor the number below.
const CALIBRATION_METHOD: i32 = i32::MAX - 1;
const OBJECTS: i32 = 0;
/// Of 64 calls so many are of another method. About twice as many are then not predicted: one in
/// ten, as in javac.
const ODD_CALLS: i32 = 3;

/// The cost of the probes, as far as it was measured.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Calibration {
    /// The least cost of a call, which is subtracted from times.
    subtracted: ProbeCost,
    /// The calls that probes have counted, and the cost of one, in picoseconds; 0 if the JIT did not
    /// compile the measurement in time.
    pub(super) call_count: u64,
    pub(super) call_ps: u64,
    /// The same of objects.
    pub(super) object_count: u64,
    pub(super) object_ps: u64,
}

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
        let call_count: u64 = self.pool.trees().iter().map(|tree| tree.call_count()).sum();
        let object_count = self.sites.as_ref().map_or(0, |sites| sites.counted());
        if call_count + object_count < FEW_COUNTS {
            return None;
        }
        let tree = self.pool.scratch();
        let run = |method: i32, odd: i32, calls: i32| {
            let arguments = [
                jvalue { j: tree.address() as i64 },
                jvalue { j: tree.number() as i64 },
                jvalue { j: tree.root() as i64 },
                jvalue { i: method },
                jvalue { i: odd },
                jvalue { i: calls },
            ];
            // SAFETY: the arguments are those of the helper's method.
            unsafe { jni.call_static_long(helper, c"calibrate", c"(JJJIII)J", &arguments) }
        };
        let limit_ps = match self.timing {
            // Everything is interpreted.
            _ if bool_flag(c"UseCompiler") == Some(false) => f64::INFINITY,
            Timing::WallExact => INTERPRETED_EXACT_PS,
            _ => INTERPRETED_PS,
        };
        let mut found = Calibration::default();
        // If probes are not compiled, fewer calls must do. The second calls have the loop compiled.
        let calls_of = |method: i32| {
            let is_slow = run(method, 0, FEW_CALIBRATION_CALLS)? > CALIBRATION_NS / 10;
            let calls = if is_slow { FEW_CALIBRATION_CALLS } else { CALIBRATION_CALLS };
            run(method, 0, calls).map(|_| calls)
        };
        if call_count > 0 {
            let calls = calls_of(CALIBRATION_METHOD)?;
            if self.timing != Timing::None {
                let (ns, inside) = least(limit_ps, calls, || {
                    self.calibrated(jni, tree, || run(CALIBRATION_METHOD, 0, calls))
                })?;
                let call_ps = ps(ns, calls);
                found.subtracted = ProbeCost {
                    self_ps: (call_ps * inside) as u64,
                    caller_ps: (call_ps * (1.0 - inside)) as u64,
                };
            }
            let usual = || run(CALIBRATION_METHOD, ODD_CALLS, calls);
            usual()?;
            let (ns, _) = least(limit_ps, calls, || Some((least_ns(REPORTED_NS, usual)?, 0.0)))?;
            if ps(ns, calls) < limit_ps {
                (found.call_count, found.call_ps) = (call_count, ps(ns, calls) as u64);
            }
        }
        if object_count > 0 {
            let objects = calls_of(OBJECTS)?;
            let count = || run(OBJECTS, 0, objects);
            let (ns, _) = least(limit_ps, objects, || Some((least_ns(REPORTED_NS, count)?, 0.0)))?;
            if ps(ns, objects) < limit_ps {
                (found.object_count, found.object_ps) = (object_count, ps(ns, objects) as u64);
            }
        }
        Some(found)
    }

    /// Measures once. Returns the least time that `run` took, and the part of it between the probes of
    /// entry and exit.
    fn calibrated(
        &self,
        jni: Jni<'_>,
        tree: &Tree,
        run: impl Fn() -> Option<i64>,
    ) -> Option<(i64, f64)> {
        self.clock.refresh(Some(jni));
        let (outside_before_ns, inside_before_ns) = tree.booked_ns();
        let ns = least_ns(CALIBRATION_NS, run)?;
        let (outside_ns, inside_ns) = tree.booked_ns();
        let inside_ns = inside_ns - inside_before_ns;
        let both_ns = inside_ns + outside_ns - outside_before_ns;
        Some((ns, inside_ns as f64 / both_ns.max(1) as f64))
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

/// Measures the time of so many calls until it does not fall any more. Returns the least one.
fn least(
    limit_ps: f64,
    calls: i32,
    measured: impl Fn() -> Option<(i64, f64)>,
) -> Option<(i64, f64)> {
    let mut least: Option<(i64, f64)> = None;
    for round in 1..=MOST_CALIBRATIONS {
        let Some(measured) = measured() else { break };
        let improved = least.is_none_or(|known| measured.0 * 20 < known.0 * 19);
        let known = least.get_or_insert(measured);
        if measured.0 < known.0 {
            *known = measured;
        }
        let is_compiled = ps(known.0, calls) < limit_ps;
        if round >= FEWEST_CALIBRATIONS && !improved && is_compiled {
            break;
        }
        // The JIT may be waiting for a CPU to compile the probes.
        std::thread::sleep(CALIBRATION_PAUSE);
    }
    least
}

/// Returns the least time that `run` takes, among as many as take `window_ns`.
fn least_ns(window_ns: i64, run: impl Fn() -> Option<i64>) -> Option<i64> {
    let (mut all_ns, mut least_ns) = (0, i64::MAX);
    while all_ns < window_ns {
        let took_ns = run()?.max(1);
        least_ns = least_ns.min(took_ns);
        all_ns += took_ns;
    }
    Some(least_ns)
}

/// Returns the time of one call, in picoseconds.
fn ps(ns: i64, calls: i32) -> f64 {
    ns as f64 * 1000.0 / f64::from(calls)
}
