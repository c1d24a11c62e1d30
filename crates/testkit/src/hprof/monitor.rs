//! What `monitor=y` writes, in text only.

/// A thread that waited, or began to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorEvent {
    /// `WAIT`, `WAITED` or `SLEEP`.
    pub kind: &'static str,
    /// The signature of the monitor's class; empty for `SLEEP`.
    pub monitor: String,
    /// The time-out, or the time it took, in milliseconds.
    pub time_ms: u64,
    /// Serial number of the thread.
    pub thread: u32,
}

/// MONITOR DUMP.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MonitorDump {
    /// All threads.
    pub threads: Vec<ThreadState>,
    /// Monitors in order.
    pub monitors: Vec<OwnedMonitor>,
}

/// What a thread did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadState {
    /// Serial number.
    pub thread: u32,
    /// Serial number of its stack's trace.
    pub trace: u32,
    /// Such as `R` or `S|intr|MW`.
    pub status: String,
}

/// A monitor and its threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedMonitor {
    /// The signature of its class.
    pub class: String,
    /// The owner and how often it entered.
    pub owner: Option<(u32, u32)>,
    /// Threads that wait to enter.
    pub entering: Vec<u32>,
    /// Threads that wait to be notified.
    pub waiting: Vec<u32>,
}

/// MONITOR TIME.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MonitorTimes {
    /// Milliseconds.
    pub total_ms: u64,
    /// Rows in order.
    pub rows: Vec<MonitorTime>,
}

/// A row of [`MonitorTimes`].
#[derive(Debug, Clone, PartialEq)]
pub struct MonitorTime {
    /// Its share of the total, in percent.
    pub percent: f64,
    /// How often a thread waited.
    pub count: u64,
    /// Serial number of the trace.
    pub trace: u32,
    /// The class's name in source form.
    pub class: String,
}
