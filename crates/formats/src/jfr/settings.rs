//! The settings with which a recording was made: `jdk.ActiveSetting`.

use std::collections::BTreeSet;

use super::types::Types;
use super::view::{StructAt, View};
use super::{SPREAD, TIMES_SETTING};

/// The events of async-profiler whose interval is a time, and not a number of other events.
const TIMED_EVENTS: [&str; 4] = ["cpu", "itimer", "ctimer", "wall"];
/// async-profiler's interval if none is set, in nanoseconds.
const DEFAULT_INTERVAL_NS: u64 = 10_000_000;

/// The settings of all chunks of a recording.
#[derive(Debug, Default)]
pub(super) struct Settings {
    execution: Option<i64>,
    allocation: Option<i64>,
    waits: [Option<i64>; 3],
    /// Whether async-profiler samples by an event that is not time.
    is_untimed: bool,
    intervals_ns: BTreeSet<u64>,
    thresholds_ns: BTreeSet<u64>,
    is_execution_on: bool,
    are_times_spread: bool,
    allocation_interval_bytes: Option<u64>,
    /// Whether the current chunk has samples of allocations, if it says so.
    samples_allocations: Option<bool>,
}

impl Settings {
    /// Takes the ids that the events with relevant settings have in the next chunk.
    pub(super) fn next_chunk(&mut self, types: &Types) {
        self.execution = types.id_of("jdk.ExecutionSample");
        self.allocation = types.id_of("jdk.ObjectAllocationSample");
        self.samples_allocations = None;
        self.waits = ["jdk.JavaMonitorEnter", "jdk.JavaMonitorWait", "jdk.ThreadPark"]
            .map(|name| types.id_of(name));
    }

    /// Takes a setting.
    pub(super) fn set(&mut self, view: &View<'_>, at: StructAt) {
        let (Some(name), Some(value)) = (view.text(at, "name"), view.text(at, "value")) else {
            return;
        };
        let id = view.number(at, "id");
        let is_execution = id.is_some() && id == self.execution;
        match &*name {
            // async-profiler writes this setting before its interval.
            "event" => self.is_untimed = !TIMED_EVENTS.contains(&&*value),
            "enabled" if is_execution => self.is_execution_on |= value == "true",
            "enabled" if id.is_some() && id == self.allocation => {
                self.samples_allocations = Some(value == "true");
            }
            "period" if is_execution => self.intervals_ns.extend(time_ns(&value)),
            TIMES_SETTING if is_execution => self.are_times_spread |= value == SPREAD,
            "interval" if id.is_some() && id == self.allocation => {
                self.allocation_interval_bytes = value.parse().ok();
            }
            "interval" if is_execution && !self.is_untimed => {
                let interval_ns = value.parse().ok();
                self.intervals_ns.extend(interval_ns.map(|ns| match ns {
                    0 => DEFAULT_INTERVAL_NS,
                    ns => ns,
                }));
            }
            "threshold" if id.is_some() && self.waits.contains(&id) => {
                self.thresholds_ns.extend(time_ns(&value));
            }
            _ => {}
        }
    }

    /// Whether samples of allocations were switched on in the chunk, if it says so.
    pub(super) fn samples_allocations(&self) -> Option<bool> {
        self.samples_allocations
    }

    /// Whether the recording was set to take execution samples.
    pub(super) fn samples_execution(&self) -> bool {
        self.is_execution_on
    }

    /// Returns the interval of execution samples, if it did not change.
    pub(super) fn execution_interval_ns(&self) -> Option<u64> {
        let first = self.intervals_ns.first().filter(|&&ns| ns > 0)?;
        (self.intervals_ns.len() == 1).then_some(*first)
    }

    /// Whether the times of execution samples are not those at which they were taken.
    pub(super) fn are_times_spread(&self) -> bool {
        self.are_times_spread
    }

    /// Returns the bytes that a sampled allocation represents, if the recording gives them; 0 if
    /// every allocation was recorded.
    pub(super) fn allocation_interval_bytes(&self) -> Option<u64> {
        self.allocation_interval_bytes
    }

    /// Returns the duration from which waits are recorded: the largest value that was set.
    pub(super) fn wait_threshold_ns(&self) -> u64 {
        self.thresholds_ns.last().copied().unwrap_or(0)
    }
}

/// Reads a time in the form of settings, `20 ms`. Values such as `everyChunk` are not times.
fn time_ns(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let ns = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, ns) in [
            ("20 ms", Some(20_000_000)),
            ("0 ns", Some(0)),
            ("1 d", Some(86_400_000_000_000)),
            ("everyChunk", None),
            ("150/s", None),
            ("-1 ms", None),
            ("99999999999999999 h", None),
        ] {
            assert_eq!(time_ns(text), ns, "{text}");
        }
    }
}
