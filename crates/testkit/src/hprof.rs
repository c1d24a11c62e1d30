//! The strict reader of HPROF files, text and binary, for the tests of all crates. It is written
//! from the format's description, produces one model for both forms, and is independent of perk's
//! own readers and writers.
//!
//! Every line and every byte must conform to the description: the widths of columns, the order of
//! records, and references only to records before. The files of the original agent and those of
//! perk both pass, so they can be compared. `Recording::check_plain` and `Recording::check_perk`
//! have further requirements on files of samples and sites and on files of perk.

mod cursor;
mod dump;
mod heap;
mod monitor;
mod plain;
mod records;
mod table;
mod text;

use std::collections::{BTreeMap, BTreeSet};

pub use heap::{Class, Contents, Heap, Object, Root, Value};
pub use monitor::{MonitorDump, MonitorEvent, MonitorTimes, OwnedMonitor, ThreadState};
pub use records::tag;

/// The serial number of the trace without frames. The original refers to it but never writes it.
pub const SYSTEM_TRACE: u32 = 300_000;

/// A result whose error describes the violation in the file.
pub type Result<T> = std::result::Result<T, String>;

/// The contents of a file that passed the checks.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// The form of the file.
    pub form: Form,
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
    pub order: Vec<Written>,
}

/// A record, identified by its serial number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
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

/// The form of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
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
    /// The caller in the same form, or `<unknown caller>`.
    pub caller: String,
    /// The milliseconds, including the time of callees.
    pub time_ms: u64,
}

impl Recording {
    /// Reads a file of either form.
    pub fn read(bytes: &[u8]) -> Result<Recording> {
        const HEADER: &[u8] = b"JAVA PROFILE 1.0.";
        if bytes.starts_with(HEADER) && bytes.get(HEADER.len() + 1) == Some(&0) {
            records::read(bytes)
        } else if bytes.starts_with(table::TITLE.as_bytes()) {
            table::read(&String::from_utf8_lossy(bytes))
        } else {
            text::read(bytes)
        }
    }

    /// Returns the frames of a written trace, or of the system trace.
    pub fn frames(&self, trace: u32) -> &[Frame] {
        self.traces.get(&trace).map_or(&[], |trace| &trace.frames)
    }

    /// Returns the name of the thread in a trace.
    pub fn thread_of(&self, trace: u32) -> Option<&str> {
        let thread = self.traces.get(&trace)?.thread?;
        Some(self.threads.get(&thread).map_or("<unknown>", |thread| &thread.name))
    }

    /// Returns the data that perk writes in the form of traces with serial numbers of their own,
    /// such as `perk.interim`.
    pub fn marks(&self) -> impl Iterator<Item = &str> {
        let marks = self.traces.range(1..SYSTEM_TRACE);
        marks.flat_map(|(_, trace)| &trace.frames).map(|frame| frame.method.as_str())
    }

    /// Returns the serial numbers of the traces that no row or object refers to.
    pub fn loose_traces(&self) -> BTreeSet<u32> {
        let traces = self.traces.keys().copied();
        let mut loose: BTreeSet<u32> = traces.filter(|it| *it > SYSTEM_TRACE).collect();
        for section in &self.sections {
            let used: Vec<u32> = match section {
                Section::CpuSamples(costs) | Section::CallTimes(costs) => {
                    costs.rows.iter().map(|row| row.trace).collect()
                }
                Section::Sites(sites) => sites.rows.iter().map(|row| row.trace).collect(),
                Section::MonitorTimes(times) => times.rows.iter().map(|row| row.trace).collect(),
                Section::MonitorDump(dump) => dump.threads.iter().map(|row| row.trace).collect(),
                Section::Heap(heap) => heap.traces().collect(),
                Section::Calls(_) | Section::HeapSummary(_) => Vec::new(),
            };
            for trace in used {
                loose.remove(&trace);
            }
        }
        loose
    }

    /// Returns the serial numbers of the traces that only roots of heap dumps refer to: the whole
    /// stacks of threads.
    pub fn heap_stacks(&self) -> BTreeSet<u32> {
        let heaps = || {
            self.sections.iter().filter_map(|section| match section {
                Section::Heap(heap) => Some(heap),
                _ => None,
            })
        };
        let roots = heaps().flat_map(|heap| heap.roots.iter().filter_map(|root| root.trace));
        let mut stacks: BTreeSet<u32> = roots.collect();
        for trace in heaps().flat_map(Heap::object_traces) {
            stacks.remove(&trace);
        }
        stacks.retain(|trace| !self.frames(*trace).is_empty());
        stacks
    }

    /// Adds a thread, which must not have been started before.
    fn add_thread(&mut self, serial: u32, thread: Thread) -> Result<()> {
        self.order.push(Written::Thread(serial));
        let before = self.threads.insert(serial, thread);
        ensure(before.is_none() && serial > 200_000, || format!("thread {serial} starts again"))
    }

    fn end_thread(&mut self, serial: u32) -> Result<()> {
        self.order.push(Written::ThreadEnd(serial));
        ensure(self.ended.insert(serial), || format!("thread {serial} ends twice"))
    }

    /// Adds a trace, which must not have been written before.
    fn add_trace(&mut self, serial: u32, trace: Trace) -> Result<()> {
        self.order.push(Written::Trace(serial));
        let before = self.traces.insert(serial, trace);
        ensure(before.is_none(), || format!("trace {serial} again"))
    }

    fn add_section(&mut self, section: Section) {
        self.order.push(Written::Section(self.sections.len()));
        self.sections.push(section);
    }

    /// Fails unless a trace that a record refers to is written before it.
    fn check_trace(&self, serial: u32) -> Result<()> {
        let is_there = serial == SYSTEM_TRACE || self.traces.contains_key(&serial);
        ensure(is_there, || format!("trace {serial} is referred to and not written before"))
    }

    /// Fails unless the numbers of a section are consistent.
    fn check_costs(&self, costs: &Costs, what: &str) -> Result<()> {
        for row in &costs.rows {
            self.check_trace(row.trace)?;
        }
        let sum: f64 = costs.rows.iter().map(|row| row.percent).sum();
        let slack = 0.006 * costs.rows.len() as f64;
        ensure(sum <= 100.0 + slack, || format!("{what}: rows of {sum} %"))?;
        let in_order = costs.rows.is_sorted_by(|a, b| a.percent >= b.percent);
        ensure(in_order, || format!("{what}: rows out of order"))
    }
}

/// Fails with the message of `what` unless `condition` holds.
fn ensure(condition: bool, what: impl FnOnce() -> String) -> Result<()> {
    if condition { Ok(()) } else { Err(what()) }
}
