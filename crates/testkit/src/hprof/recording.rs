//! What a file has.

use std::collections::{BTreeMap, BTreeSet};

use super::heap::Heap;
use super::monitor::{MonitorDump, MonitorEvent, MonitorTimes};

/// The serial number of the trace without frames. The original refers to it but never writes it.
pub const SYSTEM_TRACE: u32 = 300_000;

/// A result whose error describes the violation in the file.
pub type Result<T> = std::result::Result<T, String>;

/// The contents of a file that passed the checks.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// The format of the file.
    pub format: HprofFormat,
    /// The version in its header, such as `1.0.1`.
    pub version: String,
    /// The size of ids; 0 in text.
    pub id_bytes: usize,
    /// The time of its creation, in milliseconds since 1970 (binary).
    pub created_ms: u64,
    /// The text between the header and the line of dashes.
    pub prelude: String,
    /// The flags and stack depth of CONTROL SETTINGS.
    pub settings: Option<(u32, u16)>,
    /// The threads that started, by serial number.
    pub threads: BTreeMap<u32, Thread>,
    /// The serial numbers of the threads that ended.
    pub ended: BTreeSet<u32>,
    /// Whether lines are cut off, as the original does with long ones (text).
    pub has_cut_lines: bool,
    /// The names of the loaded classes, by serial number (binary).
    pub classes: BTreeMap<u32, String>,
    /// The serial numbers of classes that records refer to without an earlier load (binary).
    pub unknown_classes: BTreeSet<u32>,
    /// The ids of class objects that belong to more than one class, because they move in the heap
    /// (binary).
    pub shared_objects: BTreeSet<u64>,
    /// The serial numbers of the classes that were unloaded (binary).
    pub unloaded: BTreeSet<u32>,
    /// The serial numbers of the classes that frames name (binary).
    pub frame_classes: BTreeSet<u32>,
    /// The traces of the stacks at which classes were loaded (binary).
    pub load_traces: BTreeSet<u32>,
    /// The traces by serial number.
    pub traces: BTreeMap<u32, Trace>,
    /// The sections in the order of the file.
    pub sections: Vec<Section>,
    /// The events that `monitor=y` wrote when they happened.
    pub monitor_events: Vec<MonitorEvent>,
    /// The names that no record refers to (binary).
    pub loose_names: Vec<String>,
    /// The records in the order of the file.
    pub order: Vec<RecordId>,
}

/// A record, identified by its serial number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordId {
    /// The start of a thread.
    Thread(u32),
    /// The end of a thread.
    ThreadEnd(u32),
    /// A class (binary).
    Class(u32),
    /// A trace.
    Trace(u32),
    /// A section, by its index.
    Section(usize),
}

/// The format of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HprofFormat {
    /// `format=a`
    #[default]
    Text,
    /// `format=b`
    Binary,
    /// The table of `cpu=old`.
    Table,
}

/// A thread that started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// The id of the thread's object.
    pub object: u64,
    /// The thread's name.
    pub name: String,
    /// The name of the thread's group.
    pub group: String,
    /// The name of the parent of that group (binary).
    pub parent: String,
}

/// The stack of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The thread, with `thread=y`.
    pub thread: Option<u32>,
    /// The frames, from the innermost outward.
    pub frames: Vec<Frame>,
}

/// A frame of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// `class.method`
    pub method: String,
    /// The method's signature, if it is written (binary).
    pub signature: Option<String>,
    /// The source file's name, or `<Unknown Source>`.
    pub source: String,
    /// The line's number; `None` for `Unknown line`, and for native methods in binary.
    pub line: Option<u32>,
    /// Whether the method is marked as native.
    pub is_native: bool,
}

/// A part of a dump.
#[derive(Debug, Clone, PartialEq)]
pub enum Section {
    /// CPU SAMPLES.
    CpuSamples(Costs),
    /// CPU TIME (ms).
    CallTimes(Costs),
    /// SITES, or ALLOC SITES.
    Sites(Sites),
    /// The table of `cpu=old`.
    Calls(Vec<Call>),
    /// HEAP DUMP.
    Heap(Heap),
    /// HEAP SUMMARY: live bytes and objects, allocated bytes and objects.
    HeapSummary([u64; 4]),
    /// MONITOR DUMP.
    MonitorDump(MonitorDump),
    /// MONITOR TIME.
    MonitorTimes(MonitorTimes),
}

impl Section {
    /// Returns the section's title in text.
    pub fn title(&self) -> &'static str {
        match self {
            Section::CpuSamples(_) => "CPU SAMPLES",
            Section::CallTimes(_) => "CPU TIME",
            Section::Sites(_) => "SITES",
            Section::Calls(_) => "count callee caller time",
            Section::Heap(_) => "HEAP DUMP",
            Section::HeapSummary(_) => "HEAP SUMMARY",
            Section::MonitorDump(_) => "MONITOR DUMP",
            Section::MonitorTimes(_) => "MONITOR TIME",
        }
    }
}

/// The section CPU SAMPLES or CPU TIME.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Costs {
    /// The number of samples, or of milliseconds.
    pub total: u64,
    /// The rows, in order.
    pub rows: Vec<Cost>,
}

/// A row of [`Costs`].
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// The row's share of the total, in percent.
    pub percent: f64,
    /// The share of all rows up to this one, as the row gives it (text).
    pub accumulated: Option<f64>,
    /// The number of samples, or of calls.
    pub count: u64,
    /// The serial number of the trace.
    pub trace: u32,
}

/// The section SITES.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sites {
    /// Whether the rows are ordered by allocated bytes instead of live bytes.
    pub by_allocated: bool,
    /// The flags of the record (binary).
    pub flags: u16,
    /// The bits of the cutoff in the record (binary).
    pub cutoff_bits: u32,
    /// The live bytes and objects, and the allocated bytes and objects, of all sites (binary).
    pub totals: Option<[u64; 4]>,
    /// The rows, in order.
    pub rows: Vec<Site>,
}

/// A row of [`Sites`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The live bytes and objects, and the allocated bytes and objects.
    pub numbers: [u64; 4],
    /// The serial number of the trace.
    pub trace: u32,
    /// The name of the class in source form.
    pub class: String,
}

/// A row of the table of `cpu=old`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The number of calls.
    pub count: u64,
    /// The callee, as `class.method` with signature, or `<unknown callee>`.
    pub callee: String,
    /// The caller in the same format, or `<unknown caller>`.
    pub caller: String,
    /// The milliseconds, including the time of callees.
    pub time_ms: u64,
}

/// Fails with the message of `what` unless `condition` holds.
pub(super) fn ensure(condition: bool, what: impl FnOnce() -> String) -> Result<()> {
    if condition { Ok(()) } else { Err(what()) }
}
