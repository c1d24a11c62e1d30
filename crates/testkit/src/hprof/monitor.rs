//! The output of `monitor=y`, which exists only in text.

/// A thread that waited, or began to wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorEvent {
    /// `WAIT`, `WAITED` or `SLEEP`.
    pub kind: &'static str,
    /// The signature of the monitor's class; empty for `SLEEP`.
    pub monitor: String,
    /// The time-out, or the duration, in milliseconds.
    pub time_ms: u64,
    /// The serial number of the thread.
    pub thread: u32,
}

/// The section MONITOR DUMP.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MonitorDump {
    /// All threads.
    pub threads: Vec<ThreadState>,
    /// The monitors, in order.
    pub monitors: Vec<OwnedMonitor>,
}

/// The state of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadState {
    /// The serial number of the thread.
    pub thread: u32,
    /// The serial number of the trace of its stack.
    pub trace: u32,
    /// The state, such as `R` or `S|intr|MW`.
    pub status: String,
}

/// A monitor and the threads that own it or wait for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedMonitor {
    /// The signature of the monitor's class.
    pub class: String,
    /// The owner and the number of its entries.
    pub owner: Option<(u32, u32)>,
    /// The threads that wait to enter.
    pub entering: Vec<u32>,
    /// The threads that wait to be notified.
    pub waiting: Vec<u32>,
}

/// The section MONITOR TIME.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MonitorTimes {
    /// The total time, in milliseconds.
    pub total_ms: u64,
    /// The rows, in order.
    pub rows: Vec<MonitorTime>,
}

/// A row of [`MonitorTimes`].
#[derive(Debug, Clone, PartialEq)]
pub struct MonitorTime {
    /// The row's share of the total, in percent.
    pub percent: f64,
    /// The number of waits.
    pub count: u64,
    /// The serial number of the trace.
    pub trace: u32,
    /// The class's name in source form.
    pub class: String,
}
