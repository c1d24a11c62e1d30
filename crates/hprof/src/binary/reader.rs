//! Reads HPROF binary.

mod extended;
mod monitors;

use std::mem;

use perk_profile::{
    Accounting, Allocations, ClassId, CpuSamples, Event, Frame, FrameId, HeapSummary, Line, Method,
    Profile, Settings, Site, SiteSelection, Sites, StrId, Thread, ThreadId, Timestamp, Trace,
    TraceId, mutf8,
};
use rustc_hash::FxHashMap;

use self::extended::Extended;
use super::cursor::Cursor;
use super::{
    ACCOUNTING, ACCOUNTING_ID, ESTIMATE, ESTIMATE_ID, FLAG_CPU_SAMPLES, FLAG_SITES, INTERIM,
    NO_ARRAY, OBJECT_ARRAY, tag,
};
use crate::Error;

/// Reads a file. Records other than those of CPU samples, allocation sites and, in an extended
/// file, perk's own are passed over with a note.
///
/// # Errors
/// [`Error::Binary`] with the offset of the record that cannot be understood.
pub fn read(bytes: &[u8]) -> Result<Profile, Error> {
    let nul = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let mut header = Cursor::new(bytes, nul, 4);
    header.u1("the header's NUL")?;
    let id_bytes = header.u4("the size of ids")? as usize;
    if !(1..=8).contains(&id_bytes) {
        return Err(header.error(format!("ids of {id_bytes} bytes; 1 to 8 are possible")));
    }
    let unix_ms = header.u8("the date")?;
    let mut reader = Reader::default();
    let mut records = Cursor::new(bytes, header.offset(), id_bytes);
    while !records.is_empty() {
        reader.record(&mut records)?;
    }
    reader.extended_end(&records)?;
    let utc_offset_s = reader.profile.accounting.as_ref().map_or(0, |told| told.utc_offset_s);
    Ok(reader.finish(Timestamp { unix_ms, utc_offset_s }))
}

#[derive(Default)]
struct Reader {
    profile: Profile,
    names: FxHashMap<u64, StrId>,
    classes: FxHashMap<u32, ClassId>,
    frames: FxHashMap<u64, FrameId>,
    threads: FxHashMap<u32, ThreadId>,
    /// What the record that announces estimates said; the next ALLOC SITES are meant.
    sample_interval_bytes: Option<u64>,
    /// The next CPU SAMPLES will be counted again.
    is_interim: bool,
    /// Perk's own records, once the file has said that it has them.
    extended: Option<Extended>,
    /// The time stamps of the sections.
    sections_elapsed_us: Vec<u32>,
    /// Tags that were passed over: how often, how many bytes.
    passed_over: std::collections::BTreeMap<u8, (u64, u64)>,
}

impl Reader {
    fn record(&mut self, records: &mut Cursor<'_>) -> Result<(), Error> {
        let at = records.offset();
        let tag = records.u1("a record's tag")?;
        let elapsed_us = records.u4("a record's time stamp")?;
        let length = records.u4("a record's length")? as usize;
        let name = tag_name(tag);
        if length > records.left() {
            let what = format!(
                "the file is cut off in a record {name} (tag {tag:#04x}): {length} bytes expected, {} left",
                records.left()
            );
            return Err(Error::Binary { offset: at, what });
        }
        let mut body = records.part(length, name)?;
        match tag {
            tag::UTF8 => return self.utf8(&mut body),
            tag::LOAD_CLASS => self.load_class(&mut body)?,
            tag::UNLOAD_CLASS => {
                let serial = body.u4("the class's serial number")?;
                let class = self.class(serial);
                self.profile.events.push(Event::ClassUnload(class));
            }
            tag::STACK_FRAME => self.stack_frame(&mut body)?,
            tag::STACK_TRACE => self.stack_trace(&mut body)?,
            tag::START_THREAD => self.start_thread(&mut body)?,
            tag::END_THREAD => {
                let serial = body.u4("the thread's serial number")?;
                self.profile.events.push(Event::ThreadEnd(serial));
            }
            tag::CPU_SAMPLES => {
                let samples = self.cpu_samples(&mut body)?;
                self.section(Event::CpuSamples(samples), elapsed_us);
            }
            tag::ALLOC_SITES => {
                let sites = self.alloc_sites(&mut body)?;
                self.section(Event::Sites(sites), elapsed_us);
            }
            tag::HEAP_SUMMARY => {
                let objects = totals(&mut body)?;
                let summary = HeapSummary { objects, written: None };
                self.section(Event::HeapSummary(summary), elapsed_us);
            }
            tag::CONTROL_SETTINGS => {
                let flags = body.u4("the flags")?;
                self.profile.settings = Some(Settings {
                    allocations: flags & FLAG_SITES != 0,
                    cpu_samples: flags & FLAG_CPU_SAMPLES != 0,
                });
                self.profile.depth = Some(body.u2("the stack depth")?.into());
            }
            tag::EXTENDED => self.extended_begin(&mut body)?,
            tag::NODES..=tag::WAIT if self.extended.is_some() => {
                self.extended_record(tag, &mut body, elapsed_us)?;
            }
            _ => {
                let (count, bytes) = self.passed_over.entry(tag).or_default();
                *count += 1;
                *bytes += length as u64;
                return Ok(());
            }
        }
        if body.is_empty() {
            Ok(())
        } else {
            Err(body.error(format!("{name} has {} bytes more than it should", body.left())))
        }
    }

    fn utf8(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let id = body.id("the name's id")?;
        let text = mutf8::decode(body.bytes(body.left(), "the name")?);
        match text.strip_prefix(ACCOUNTING) {
            Some(text) if id == ACCOUNTING_ID => {
                self.profile.accounting = Some(Accounting::from_text(text));
            }
            _ if text == INTERIM => self.is_interim = true,
            _ if id == ESTIMATE_ID && text.starts_with(ESTIMATE) => {
                let interval_bytes = text[ESTIMATE.len()..].trim_end().parse();
                self.sample_interval_bytes = interval_bytes.ok();
            }
            _ => {
                self.names.insert(id, self.profile.symbols.strings.intern(&text));
            }
        }
        Ok(())
    }

    fn load_class(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let serial = body.u4("the class's serial number")?;
        body.id("the class object's id")?;
        body.u4("the trace's serial number")?;
        let name = self.name(body, "the class's name")?;
        let strings = &self.profile.symbols.strings;
        let name = name.map_or("", |name| strings.get(name));
        // JDK 1.2's agent wrote slashes.
        let name = name.replace('/', ".");
        self.classes.insert(serial, self.profile.symbols.new_class(&name));
        Ok(())
    }

    fn stack_frame(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let id = body.id("the frame's id")?;
        let name = self.name(body, "the method's name")?;
        let signature = self.name(body, "the method's signature")?;
        let source = self.name(body, "the source file's name")?;
        let class = body.u4("the class's serial number")?;
        let line = Line::from_hprof(body.u4("the line")?.cast_signed());
        let class = self.class(class);
        let name = name.unwrap_or_else(|| self.profile.symbols.strings.intern("<Unknown Method>"));
        let method = self.profile.symbols.method(Method { class, name, signature, source });
        let frame = self.profile.symbols.frame(Frame { method, bci: None, line });
        self.frames.insert(id, frame);
        Ok(())
    }

    fn stack_trace(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let serial = body.u4("the trace's serial number")?;
        let thread = body.u4("the thread's serial number")?;
        let count = body.u4("the number of frames")?;
        let mut frames = Vec::new();
        for _ in 0..count {
            let id = body.id("a frame's id")?;
            let frame = self.frames.get(&id);
            frames.push(*frame.ok_or_else(|| {
                body.error(format!("trace {serial} names frame {id:#x}, which no record gives"))
            })?);
        }
        let node = self.profile.tree.insert(frames.into_iter().rev()).node;
        let thread = (thread != 0).then(|| self.thread(thread));
        let trace = Trace { serial, node, thread };
        if trace != self.profile.get_trace(self.profile.system_trace()) {
            self.profile.push_trace(trace);
        }
        Ok(())
    }

    fn start_thread(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let serial = body.u4("the thread's serial number")?;
        let object_id = body.id("the thread object's id")?;
        body.u4("the trace's serial number")?;
        let name = self.name(body, "the thread's name")?;
        let name = name.unwrap_or_else(|| self.profile.symbols.strings.intern(""));
        let group = self.name(body, "the thread group's name")?;
        let parent_group = self.name(body, "the name of the thread group's parent")?;
        let thread = Thread { serial, object_id, name, group, parent_group };
        let id = self.profile.push_thread(thread);
        self.threads.insert(serial, id);
        self.profile.events.push(Event::ThreadStart(id));
        Ok(())
    }

    fn cpu_samples(&mut self, body: &mut Cursor<'_>) -> Result<CpuSamples, Error> {
        let total = body.u4("the total of the samples")?.into();
        let count = body.u4("the number of traces")?;
        let mut rows = Vec::new();
        for _ in 0..count {
            let samples = body.u4("a trace's samples")?.into();
            rows.push((self.trace(body)?, samples));
        }
        let is_interim = mem::take(&mut self.is_interim);
        Ok(CpuSamples { total, rows, is_interim, ..CpuSamples::default() })
    }

    fn alloc_sites(&mut self, body: &mut Cursor<'_>) -> Result<Sites, Error> {
        let selection = SiteSelection::from_flags(body.u2("the flags")?);
        // The original wrote the lower half of a double here.
        body.u4("the cutoff")?;
        let total = totals(body)?;
        let count = body.u4("the number of sites")?;
        let mut rows = Vec::new();
        for _ in 0..count {
            let elements = body.u1("the type of an array's elements")?;
            let class = body.u4("the class's serial number")?;
            let class = self.class_of(class, elements);
            let trace = self.trace(body)?;
            let objects = Allocations {
                live_bytes: body.u4("a site's live bytes")?.into(),
                live_count: body.u4("a site's live objects")?.into(),
                allocated_bytes: body.u4("a site's allocated bytes")?.into(),
                allocated_count: body.u4("a site's allocated objects")?.into(),
            };
            rows.push(Site { class, trace, objects });
        }
        let sample_interval_bytes = self.sample_interval_bytes.take();
        Ok(Sites { total, rows, sample_interval_bytes, selection, written: None })
    }

    /// A section and the time stamp of its record.
    fn section(&mut self, section: Event, elapsed_us: u32) {
        self.profile.events.push(section);
        self.sections_elapsed_us.push(elapsed_us);
    }

    /// The trace of the serial number that comes next.
    fn trace(&self, body: &mut Cursor<'_>) -> Result<TraceId, Error> {
        let serial = body.u4("a trace's serial number")?;
        self.profile
            .trace_by_serial(serial)
            .ok_or_else(|| body.error(format!("a row names trace {serial}, which no record gives")))
    }

    fn class(&mut self, serial: u32) -> ClassId {
        self.class_of(serial, NO_ARRAY)
    }

    /// The class of a serial number, and what the elements are if it is an array. No record tells
    /// the name of array classes that the original missed, as they were made late.
    fn class_of(&mut self, serial: u32, elements: u8) -> ClassId {
        *self.classes.entry(serial).or_insert_with(|| {
            let array = if elements == OBJECT_ARRAY { "[]" } else { "" };
            let name = format!("<class {serial}>{array}");
            self.profile.notes.push(format!("no LOAD CLASS tells the name of class {serial}"));
            self.profile.symbols.class(&name)
        })
    }

    fn name(&self, body: &mut Cursor<'_>, what: &str) -> Result<Option<StrId>, Error> {
        let id = body.id(what)?;
        if id == 0 {
            return Ok(None);
        }
        match self.names.get(&id) {
            Some(&name) => Ok(Some(name)),
            None => Err(body.error(format!("no UTF8 record gives {what}, id {id:#x}"))),
        }
    }

    fn thread(&mut self, serial: u32) -> ThreadId {
        *self.threads.entry(serial).or_insert_with(|| {
            // Threads older than the agent's start have no START THREAD record.
            let name = self.profile.symbols.strings.intern(&format!("thread {serial}"));
            let thread = Thread { serial, object_id: 0, name, group: None, parent_group: None };
            self.profile.push_thread(thread)
        })
    }

    /// Adds what only the whole file tells: dates and notes.
    fn finish(mut self, created: Timestamp) -> Profile {
        self.profile.created = Some(created);
        let mut elapsed_us = self.sections_elapsed_us.into_iter();
        for event in &mut self.profile.events {
            let written = match event {
                Event::ThreadStart(_)
                | Event::ThreadEnd(_)
                | Event::ClassUnload(_)
                | Event::Wait(_)
                | Event::FieldAccesses(_)
                | Event::Measure(_) => continue,
                Event::HeapSummary(summary) => &mut summary.written,
                Event::CpuSamples(samples) => &mut samples.written,
                Event::CpuTimes(times) => &mut times.written,
                Event::CallEdges(edges) => &mut edges.written,
                Event::Sites(sites) => &mut sites.written,
                Event::MonitorTimes(times) => &mut times.written,
                Event::MonitorDump(dump) => &mut dump.written,
            };
            let elapsed_ms = u64::from(elapsed_us.next().unwrap_or(0)) / 1000;
            let unix_ms = created.unix_ms.saturating_add(elapsed_ms);
            *written = Some(Timestamp { unix_ms, ..created });
        }
        for (tag, (count, bytes)) in self.passed_over {
            let name = tag_name(tag);
            let note =
                format!("{count} records {name} (tag {tag:#04x}, {bytes} bytes) passed over");
            self.profile.notes.push(note);
        }
        self.profile
    }
}

/// The totals of ALLOC SITES and HEAP SUMMARY.
fn totals(body: &mut Cursor<'_>) -> Result<Allocations, Error> {
    Ok(Allocations {
        live_bytes: body.u4("the live bytes")?.into(),
        live_count: body.u4("the live objects")?.into(),
        allocated_bytes: body.u8("the allocated bytes")?,
        allocated_count: body.u8("the allocated objects")?,
    })
}

fn tag_name(tag: u8) -> &'static str {
    match tag {
        tag::UTF8 => "UTF8",
        tag::LOAD_CLASS => "LOAD CLASS",
        tag::UNLOAD_CLASS => "UNLOAD CLASS",
        tag::STACK_FRAME => "STACK FRAME",
        tag::STACK_TRACE => "STACK TRACE",
        tag::ALLOC_SITES => "ALLOC SITES",
        tag::HEAP_SUMMARY => "HEAP SUMMARY",
        tag::START_THREAD => "START THREAD",
        tag::END_THREAD => "END THREAD",
        tag::HEAP_DUMP => "HEAP DUMP",
        tag::CPU_SAMPLES => "CPU SAMPLES",
        tag::CONTROL_SETTINGS => "CONTROL SETTINGS",
        tag::HEAP_DUMP_SEGMENT => "HEAP DUMP SEGMENT",
        tag::HEAP_DUMP_END => "HEAP DUMP END",
        tag::EXTENDED => "EXTENDED",
        tag::NODES => "NODES",
        tag::TRACES => "TRACES",
        tag::ALL_CPU_SAMPLES => "ALL CPU SAMPLES",
        tag::CPU_TIMES => "CPU TIMES",
        tag::CALL_EDGES => "CALL EDGES",
        tag::ALL_SITES => "ALL SITES",
        tag::MONITOR_TIMES => "MONITOR TIMES",
        tag::MONITOR_DUMP => "MONITOR DUMP",
        tag::WAIT => "WAIT",
        _ => "of a kind unknown",
    }
}
