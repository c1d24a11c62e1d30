//! The strict reader of HPROF files, text and binary, for the tests of all crates. It is written
//! from the format's description, produces one model for both formats, and is independent of perk's
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
mod recording;
mod records;
mod table;
mod text;

use recording::ensure;
pub use recording::{
    Call, Cost, Costs, Frame, HprofFormat, RecordId, Recording, Result, SYSTEM_TRACE, Section,
    Site, Sites, Thread, Trace,
};
use std::collections::BTreeSet;

pub use heap::{Class, Contents, Heap, Object, Root, Value};
pub use monitor::{MonitorDump, MonitorEvent, MonitorTimes, OwnedMonitor, ThreadState};
pub use records::tag;

impl Recording {
    /// Reads a file of either formatat.
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
        self.order.push(RecordId::Thread(serial));
        let before = self.threads.insert(serial, thread);
        ensure(before.is_none() && serial > 200_000, || format!("thread {serial} starts again"))
    }

    fn end_thread(&mut self, serial: u32) -> Result<()> {
        self.order.push(RecordId::ThreadEnd(serial));
        ensure(self.ended.insert(serial), || format!("thread {serial} ends twice"))
    }

    /// Adds a trace, which must not have been written before.
    fn add_trace(&mut self, serial: u32, trace: Trace) -> Result<()> {
        self.order.push(RecordId::Trace(serial));
        let before = self.traces.insert(serial, trace);
        ensure(before.is_none(), || format!("trace {serial} again"))
    }

    fn add_section(&mut self, section: Section) {
        self.order.push(RecordId::Section(self.sections.len()));
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
