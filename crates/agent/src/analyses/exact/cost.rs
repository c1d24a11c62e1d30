//! The cost of the probes.

/// The cost of the probes of a call, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ProbeCost {
    /// The part within the time of the call.
    pub(super) self_ps: u64,
    /// The part within the time of its caller.
    pub(super) caller_ps: u64,
}

/// The cost of the probes, as far as it was measured.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Calibration {
    /// The least cost of a call, which is subtracted from times.
    pub(super) subtracted: ProbeCost,
    /// The calls that probes have counted, and the least time that these take; 0 if the JIT did not
    /// compile the measurement in time.
    pub(super) call_count: u64,
    pub(super) call_ns: u64,
    /// The same of objects.
    pub(super) object_count: u64,
    pub(super) object_ns: u64,
}
