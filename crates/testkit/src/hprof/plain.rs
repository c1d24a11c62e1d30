//! Requirements on files of CPU samples and sites, and on files that perk wrote, beyond the
//! format's description. Also the counts in such files.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Costs, HprofFormat, RecordId, Recording, Result, SYSTEM_TRACE, Section, Sites, Trace, ensure,
};

impl Trace {
    /// Returns the name that a row shows for the trace.
    pub fn top(&self) -> &str {
        self.frames.first().map_or("<empty trace>", |frame| &frame.method)
    }

    /// Whether a method, as `class.method`, is on the stack.
    pub fn has(&self, method: &str) -> bool {
        self.frames.iter().any(|frame| frame.method == method)
    }
}

impl Recording {
    /// Returns the sections of CPU samples.
    pub fn samples(&self) -> impl DoubleEndedIterator<Item = &Costs> {
        self.sections.iter().filter_map(|section| match section {
            Section::CpuSamples(samples) => Some(samples),
            _ => None,
        })
    }

    /// Returns the sections of sites.
    pub fn sites(&self) -> impl DoubleEndedIterator<Item = &Sites> {
        self.sections.iter().filter_map(|section| match section {
            Section::Sites(sites) => Some(sites),
            _ => None,
        })
    }

    /// Returns the number of all samples, including those of rows that are cut off.
    pub fn sample_count(&self) -> u64 {
        self.samples().map(|samples| samples.total).sum()
    }

    /// Returns the number of samples by trace, over all sections.
    pub fn samples_by_trace(&self) -> BTreeMap<u32, u64> {
        let mut counts = BTreeMap::new();
        for row in self.samples().flat_map(|samples| &samples.rows) {
            *counts.entry(row.trace).or_default() += row.count;
        }
        counts
    }

    /// Returns the serial number of the only thread with a name. Panics unless there is exactly
    /// one.
    #[track_caller]
    pub fn thread_named(&self, name: &str) -> u32 {
        let named = self.threads.iter().filter(|(_, thread)| thread.name == name);
        let found: Vec<u32> = named.map(|(serial, _)| *serial).collect();
        assert_eq!(found.len(), 1, "threads named {name:?}: {found:?} in {:?}", self.threads);
        found[0]
    }

    /// Fails unless this is a file of the original or of perk that contains only samples (and, in
    /// binary, sites and summaries). Each row's trace and class must be written, nothing may be cut
    /// off, and in text each trace must be used by a row.
    pub fn check_plain(&self) -> Result<()> {
        for section in &self.sections {
            let rows: Vec<u32> = match section {
                Section::CpuSamples(samples) => {
                    check_counts(samples)?;
                    samples.rows.iter().map(|row| row.trace).collect()
                }
                Section::Sites(sites) if self.format == HprofFormat::Binary => {
                    sites.rows.iter().map(|row| row.trace).collect()
                }
                Section::HeapSummary(_) => Vec::new(),
                _ => return Err(format!("a section {}", section.title())),
            };
            let missing = rows.iter().find(|serial| !self.traces.contains_key(serial));
            ensure(missing.is_none(), || format!("a row of {missing:?}, which is not written"))?;
        }
        let odd = self.traces.keys().find(|serial| **serial < SYSTEM_TRACE);
        ensure(odd.is_none(), || format!("trace {odd:?}"))?;
        ensure(self.monitor_events.is_empty(), || "events of monitors".to_owned())?;
        ensure(!self.has_cut_lines, || "lines that are cut off".to_owned())?;
        ensure(self.shared_objects.is_empty(), || {
            format!("objects of several classes: {:x?}", self.shared_objects)
        })?;
        ensure(self.unknown_classes.is_empty(), || {
            format!("classes that are not loaded: {:?}", self.unknown_classes)
        })?;
        if self.format == HprofFormat::Text {
            self.check_new_traces()
        } else {
            self.check_threads()
        }
    }

    /// Fails unless new traces are in the order of the rows, and each of them is used by a row.
    fn check_new_traces(&self) -> Result<()> {
        let mut new = Vec::new();
        for written in &self.order {
            match written {
                RecordId::Trace(serial) => new.push(*serial),
                RecordId::Section(index) => {
                    let Section::CpuSamples(samples) = &self.sections[*index] else { continue };
                    let rows = samples.rows.iter().map(|row| row.trace);
                    let named: Vec<u32> = rows.filter(|trace| new.contains(trace)).collect();
                    ensure(named == new, || format!("traces {new:?}, rows name {named:?}"))?;
                    new.clear();
                }
                RecordId::Thread(_) | RecordId::ThreadEnd(_) | RecordId::Class(_) => {}
            }
        }
        ensure(new.is_empty(), || format!("traces that nothing uses: {new:?}"))
    }

    /// Fails unless each thread is started before a trace names it.
    fn check_threads(&self) -> Result<()> {
        let mut started = BTreeSet::new();
        for written in &self.order {
            match written {
                RecordId::Thread(serial) => drop(started.insert(*serial)),
                RecordId::Trace(serial) => {
                    let thread = self.traces[serial].thread;
                    ensure(thread.is_none_or(|thread| started.contains(&thread)), || {
                        format!("trace {serial} names thread {thread:?} before its start")
                    })?;
                }
                RecordId::ThreadEnd(_) | RecordId::Class(_) | RecordId::Section(_) => {}
            }
        }
        Ok(())
    }

    /// Fails unless this can be a file of perk: it names each thread before it refers to it,
    /// numbers only what it writes, and never shows perk's own threads or those of the compiler.
    pub fn check_perk(&self) -> Result<()> {
        self.check_threads()?;
        let unknown = self.ended.iter().find(|serial| !self.threads.contains_key(serial));
        ensure(unknown.is_none(), || format!("thread {unknown:?} ends unknown"))?;
        let mut objects = BTreeSet::new();
        for thread in self.threads.values() {
            let object = thread.object;
            ensure(objects.insert(object), || format!("two threads are obj={object:x}"))?;
            let hidden = ["perk", "CompilerThread", "HPROF"];
            ensure(!hidden.iter().any(|name| thread.name.contains(name)), || {
                format!("the thread {:?} is not the program's", thread.name)
            })?;
        }
        let first = self.threads.get(&200_001).map(|thread| thread.name.as_str());
        ensure(first == Some("main"), || format!("thread 200001 is {first:?}, not main"))
    }
}

/// Fails unless shares and order agree with the counts. (With `cpu=samples,cpu=times` those of the
/// original do not.)
fn check_counts(samples: &Costs) -> Result<()> {
    let share = |count: u64| format!("{:.2}", count as f64 * 100.0 / samples.total as f64);
    let mut sum = 0;
    for row in &samples.rows {
        ensure(row.count > 0, || "a row without samples".to_owned())?;
        sum += row.count;
        let shown = (format!("{:.2}", row.percent), row.accumulated.map(|it| format!("{it:.2}")));
        let expected = (share(row.count), row.accumulated.map(|_| share(sum)));
        ensure(shown == expected, || format!("shares {shown:?}, expected {expected:?}"))?;
    }
    ensure(sum <= samples.total, || format!("{sum} samples in rows of {}", samples.total))?;
    let in_order = samples.rows.is_sorted_by(|a, b| a.count >= b.count);
    ensure(in_order, || "CPU SAMPLES: counts out of order".to_owned())
}
