//! Reads HPROF binary.

mod extended;
mod fields;
mod increments;
mod monitors;
mod packed;
mod timeline;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::Read;
use std::mem;

use perk_profile::{
    Accounting, Allocations, ClassId, CpuSamples, Event, Frame, FrameId, HeapHistogram,
    HeapSummary, KeyedMap, KeyedSet, Line, Method, Profile, Settings, Site, SiteSelection, Sites,
    StrId, Thread, ThreadId, Timestamp, Trace, TraceId, mutf8,
};

use self::extended::ExtendedTables;
pub use self::increments::{GrowingSymbols, Increments};
use super::cursor::Cursor;
use super::{
    ACCOUNTING, ACCOUNTING_ID, ESTIMATE, ESTIMATE_ID, FLAG_CPU_SAMPLES, FLAG_SITES, INTERIM,
    NO_ARRAY, OBJECT_ARRAY, WIDE, tag,
};
use crate::Error;
use crate::heap::{
    ClassDump, DumpNames, FieldType, HEAD_BYTES, Header, Ids, Record, Stream, Tally, skim,
    source_form,
};

/// The serial number of an unknown trace.
const NO_TRACE: u32 = 0;

/// Reads a file of any size. Of heap dumps only the number of objects per class is kept. Records of
/// unknown kinds, and parts of heap dumps that make no sense, are skipped with a note. A file
/// that is cut off is read with a note, unless nothing of it can be read.
///
/// # Errors
/// [`Error::Binary`] with the offset of the record that cannot be understood, and the errors of the
/// input.
pub fn read(input: impl Read) -> Result<Profile, Error> {
    let (header, mut stream) = Stream::new(input)?;
    let mut reader = BinaryReader::default();
    reader.tally.begin_file(&header);
    reader.id_bytes = header.id_bytes;
    loop {
        let skimmed = stream.skim(&mut reader.tally);
        let offset = stream.offset();
        let next = match skimmed {
            Ok(()) => stream.next(),
            Err(error) => Err(error),
        };
        match next {
            Ok(None) => break,
            Ok(Some(Record::Header(next))) => {
                reader.next_file(offset, &header, &next)?;
            }
            Ok(Some(record)) => {
                reader.record_count += 1;
                reader.record(record, offset)?;
            }
            Err(error) => {
                if !reader.fault(error.into(), &mut stream)? {
                    break;
                }
            }
        }
        reader.elapsed_us = reader.file_begun_us + stream.elapsed_us();
    }
    if let Some(failure) = stream.failure() {
        let what = format!("offset {}: the input ends there: {failure}", stream.offset());
        reader.profile.notes.push(what);
        reader.tally_end(true)?;
    }
    reader.note_wrong_lengths(stream.wrong_length_count());
    let utc_offset_s =
        reader.profile.accounting.as_ref().map_or(0, |accounting| accounting.utc_offset_s);
    reader.finish(Timestamp { unix_ms: header.unix_ms, utc_offset_s })
}

#[derive(Default)]
struct BinaryReader {
    profile: Profile,
    id_bytes: usize,
    record_count: u64,
    names: DumpNames,
    classes: KeyedMap<u32, ClassId>,
    frames: KeyedMap<u64, FrameId>,
    threads: KeyedMap<u32, ThreadId>,
    /// The threads that traces have named, and START THREAD has not yet.
    unnamed: KeyedSet<u32>,
    /// The interval that the record announcing estimates gave. It holds for the next ALLOC SITES.
    sample_interval_bytes: Option<u64>,
    /// Whether the next CPU SAMPLES will be counted again.
    is_interim: bool,
    /// The numbers that the next record has as 2^32 - 1, in their order.
    wide: VecDeque<u64>,
    /// Whether the accounting was read since an increment began.
    has_accounting: bool,
    /// Perk's own records, once the file has announced them.
    extended: Option<ExtendedTables>,
    /// The entries of the FIELD ACCESSES at hand.
    known_fields: fields::FieldEntries,
    /// The heap dump that is being read.
    tally: Tally,
    /// The first fault in this dump.
    tally_fault: Option<Error>,
    /// The names of the heaps that its objects belong to.
    heaps: BTreeSet<StrId>,
    /// Whether the file at hand has CONTROL SETTINGS. Files of perk and of the original agent begin
    /// with this record.
    is_of_agent: bool,
    /// The time from the date in the first file's head to that in the head of the file at hand.
    file_begun_us: u64,
    /// The time stamp of the record at hand, or of the heap dump's last one.
    elapsed_us: u64,
    /// The time stamps of the sections.
    sections_elapsed_us: Vec<u64>,
    /// Tags that were skipped, with the number of their records and bytes.
    skipped: BTreeMap<u8, (u64, u64)>,
    /// The count of numbers that are the largest of 32 bits, without a record that gives the larger
    /// ones.
    full_count: u64,
}

impl BinaryReader {
    fn record(&mut self, record: Record<'_>, offset: u64) -> Result<(), Error> {
        match record {
            Record::Utf8 { id, bytes } => self.utf8(id, bytes),
            Record::LoadClass { serial, class, name } => {
                let name = self.name_of(name, "the class's name", offset)?;
                let strings = &self.profile.symbols.strings;
                // JVMs and JDK 1.2's agent write slashes.
                let name = source_form(name.map_or("", |name| strings.get(name)));
                let id = self.profile.symbols.new_class(&name);
                self.classes.insert(serial, id);
                self.tally.load(class, id);
            }
            Record::Frame { id, method, signature, source, class_serial, line } => {
                let name = self.name_of(method, "the method's name", offset)?;
                let signature = self.name_of(signature, "the method's signature", offset)?;
                let source = self.name_of(source, "the source file's name", offset)?;
                let class = self.class(class_serial);
                let symbols = &mut self.profile.symbols;
                let name = name.unwrap_or_else(|| symbols.strings.intern("<Unknown Method>"));
                let method = symbols.method(Method { class, name, signature, source });
                let line = Line::from_hprof(line);
                self.frames.insert(id, symbols.frame(Frame::new(method, line)));
            }
            Record::Trace { serial, thread_serial, frames } => {
                self.stack_trace(serial, thread_serial, frames, offset)?;
            }
            Record::Segment { .. } => self.tally.open(),
            Record::DumpEnd => self.tally_end(false)?,
            Record::Heap { name } => {
                let name = self.name_of(name, "the heap's name", offset)?;
                self.heaps.extend(name);
            }
            Record::Root(root) => self.tally.root(root.kind),
            Record::Class(class) => self.tally.class(&class, statics(&class, &self.names)),
            Record::Instance { .. } | Record::Array { .. } => {
                skim::object(&record, &mut self.tally);
            }
            Record::Header(_) | Record::MoreElements(_) => {}
            Record::Body { tag, elapsed_us, bytes } => {
                self.elapsed_us = self.file_begun_us + elapsed_us;
                let mut body = Cursor::new(bytes, offset as usize + HEAD_BYTES, self.id_bytes);
                self.body(tag, &mut body)?;
            }
            Record::Other { tag, bytes } => self.skip(tag, bytes),
        }
        Ok(())
    }

    /// Begins another file. Its ids and serial numbers are its own. Its sections are added to the
    /// others.
    fn next_file(&mut self, offset: u64, first: &Header, next: &Header) -> Result<(), Error> {
        self.file_end()?;
        self.profile.notes.push(format!("offset {offset}: another file begins, and is read, too"));
        self.file_begun_us = next.unix_ms.saturating_sub(first.unix_ms).saturating_mul(1000);
        self.id_bytes = next.id_bytes;
        self.names = DumpNames::default();
        self.classes.clear();
        self.frames.clear();
        self.threads.clear();
        self.unnamed.clear();
        self.sample_interval_bytes = None;
        self.is_interim = false;
        self.is_of_agent = false;
        self.extended = None;
        self.tally.begin_file(next);
        Ok(())
    }

    /// Handles an error: a file that is cut off, or a segment that cannot be understood further.
    /// Returns whether more can be read.
    fn fault(&mut self, error: Error, stream: &mut Stream<impl Read>) -> Result<bool, Error> {
        let mut note = error.to_string();
        let is_cut = match error {
            Error::Cut { .. } if self.record_count > 0 => true,
            Error::Binary { .. } if stream.is_in_segment() => {
                self.tally_fault.get_or_insert(error);
                match stream.skip_segment() {
                    Ok(bytes) => {
                        note += &format!("; {bytes} bytes of a heap dump skipped");
                        false
                    }
                    Err(_) => true,
                }
            }
            error => return Err(error),
        };
        self.profile.notes.push(note);
        if is_cut {
            self.tally_end(true)?;
        }
        Ok(!is_cut)
    }

    /// Ends the heap dump that is being read, if one is.
    ///
    /// # Errors
    /// The first fault of the dump, if nothing of it was understood and the file has no section so
    /// far.
    fn tally_end(&mut self, is_cut: bool) -> Result<(), Error> {
        let fault = self.tally_fault.take();
        let heaps = mem::take(&mut self.heaps);
        if !self.tally.is_open() {
            return Ok(());
        }
        if let Some(fault) = fault.filter(|_| self.tally.is_empty() && self.has_no_section()) {
            return Err(fault);
        }
        let heap = self.tally.finish(&mut self.profile, !self.is_of_agent);
        if !heaps.is_empty() {
            let names = heaps.iter().map(|&name| self.profile.symbols.strings.get(name));
            let names = names.collect::<Vec<_>>().join(", ");
            let note = format!("objects of the heaps {names} are counted together");
            if !self.profile.notes.contains(&note) {
                self.profile.notes.push(note);
            }
        }
        self.section(Event::Heap(HeapHistogram { is_cut, ..heap }));
        Ok(())
    }

    fn has_no_section(&self) -> bool {
        let is_section = |event: &Event| {
            !matches!(event, Event::ThreadStart(_) | Event::ThreadEnd(_) | Event::ClassUnload(_))
        };
        !self.profile.events.iter().any(is_section)
    }

    fn note_wrong_lengths(&mut self, count: u64) {
        if count > 0 {
            let note = format!("{count} records HEAP DUMP are longer than they say");
            self.profile.notes.push(note);
        }
    }

    fn skip(&mut self, tag: u8, length: u64) {
        let (count, bytes) = self.skipped.entry(tag).or_default();
        *count += 1;
        *bytes = bytes.saturating_add(length);
    }

    fn body(&mut self, tag: u8, body: &mut Cursor<'_>) -> Result<(), Error> {
        match tag {
            tag::UNLOAD_CLASS => {
                let serial = body.u4("the class's serial number")?;
                let class = self.class(serial);
                self.profile.events.push(Event::ClassUnload(class));
            }
            tag::START_THREAD => self.start_thread(body)?,
            tag::END_THREAD => {
                let serial = body.u4("the thread's serial number")?;
                self.profile.events.push(Event::ThreadEnd(serial));
            }
            tag::CPU_SAMPLES => {
                let samples = self.cpu_samples(body)?;
                self.section(samples.into());
            }
            tag::ALLOC_SITES => {
                let sites = self.alloc_sites(body)?;
                self.section(sites.into());
            }
            tag::HEAP_SUMMARY => {
                let objects = self.totals(body)?;
                self.wide.clear();
                self.section(Event::HeapSummary(HeapSummary { objects, written: None }));
            }
            tag::CONTROL_SETTINGS => {
                let flags = body.u4("the flags")?;
                self.is_of_agent = true;
                self.profile.settings = Some(Settings {
                    allocations: flags & FLAG_SITES != 0,
                    cpu_samples: flags & FLAG_CPU_SAMPLES != 0,
                });
                self.profile.depth = Some(body.u2("the stack depth")?.into());
            }
            tag::PACKED => self.packed(body)?,
            tag::TIMELINE => self.timeline(body)?,
            tag::TIME_SERIES => self.time_series(body)?,
            tag::PAUSES => self.pauses(body)?,
            tag::EXTENDED => self.extended_begin(body)?,
            tag::LABELS | tag::NODES..=tag::FIELD_ACCESSES if self.extended.is_some() => {
                self.extended_record(tag, body)?;
            }
            _ => {
                self.skip(tag, body.left() as u64);
                return Ok(());
            }
        }
        if body.is_empty() {
            Ok(())
        } else {
            let (name, left) = (tag::name(tag), body.left());
            Err(body.error(format!("{name} has {left} bytes more than it should")))
        }
    }

    fn utf8(&mut self, id: u64, bytes: &[u8]) {
        let text = || mutf8::decode(bytes);
        if id == ACCOUNTING_ID && bytes.starts_with(ACCOUNTING.as_bytes()) {
            self.profile.accounting = Some(Accounting::from_text(&text()[ACCOUNTING.len()..]));
            self.has_accounting = true;
        } else if bytes == INTERIM.as_bytes() {
            self.is_interim = true;
        } else if id == ESTIMATE_ID && bytes.starts_with(ESTIMATE.as_bytes()) {
            let interval_bytes = text()[ESTIMATE.len()..].trim_end().parse();
            self.sample_interval_bytes = interval_bytes.ok();
        } else if bytes.starts_with(WIDE.as_bytes()) {
            let numbers = text();
            self.wide = numbers[WIDE.len()..].lines().map_while(|it| it.parse().ok()).collect();
        } else {
            self.names.insert(id, bytes);
        }
    }

    fn stack_trace(
        &mut self,
        serial: u32,
        thread: u32,
        ids: Ids<'_>,
        offset: u64,
    ) -> Result<(), Error> {
        let mut frames = Vec::new();
        for id in ids.iter() {
            let frame = self.frames.get(&id);
            frames.push(*frame.ok_or_else(|| {
                fault(offset, format!("trace {serial} names frame {id:#x}, which no record gives"))
            })?);
        }
        let node = self.profile.tree.insert(frames.into_iter().rev());
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
        let id = if self.unnamed.remove(&serial) {
            let id = self.thread(serial);
            self.profile.threads[id.index()] = thread;
            id
        } else {
            self.profile.push_thread(thread)
        };
        self.threads.insert(serial, id);
        self.profile.events.push(Event::ThreadStart(id));
        Ok(())
    }

    fn cpu_samples(&mut self, body: &mut Cursor<'_>) -> Result<CpuSamples, Error> {
        let total = self.up_to_u4(body, "the total of the samples")?;
        let count = body.u4("the number of traces")?;
        let mut rows = Vec::new();
        for _ in 0..count {
            let samples = self.up_to_u4(body, "a trace's samples")?;
            rows.push((self.trace(body)?, samples));
        }
        self.wide.clear();
        let is_interim = mem::take(&mut self.is_interim);
        Ok(CpuSamples { total, rows, is_interim, ..CpuSamples::default() })
    }

    fn alloc_sites(&mut self, body: &mut Cursor<'_>) -> Result<Sites, Error> {
        let selection = SiteSelection::from_flags(body.u2("the flags")?);
        // The original agent wrote the lower half of a double here.
        body.u4("the cutoff")?;
        let total = self.totals(body)?;
        let count = body.u4("the number of sites")?;
        let mut rows = Vec::new();
        for _ in 0..count {
            let elements = body.u1("the type of an array's elements")?;
            let class = body.u4("the class's serial number")?;
            let class = self.class_of(class, elements);
            let trace = self.trace(body)?;
            let objects = Allocations {
                live_bytes: self.up_to_u4(body, "a site's live bytes")?,
                live_count: self.up_to_u4(body, "a site's live objects")?,
                allocated_bytes: self.up_to_u4(body, "a site's allocated bytes")?,
                allocated_count: self.up_to_u4(body, "a site's allocated objects")?,
            };
            rows.push(Site { class, trace, objects });
        }
        self.wide.clear();
        let sample_interval_bytes = self.sample_interval_bytes.take();
        Ok(Sites { total, rows, sample_interval_bytes, selection, ..Sites::default() })
    }

    /// Reads the totals of ALLOC SITES and HEAP SUMMARY.
    fn totals(&mut self, body: &mut Cursor<'_>) -> Result<Allocations, Error> {
        Ok(Allocations {
            live_bytes: self.up_to_u4(body, "the live bytes")?,
            live_count: self.up_to_u4(body, "the live objects")?,
            allocated_bytes: body.u8("the allocated bytes")?,
            allocated_count: body.u8("the allocated objects")?,
        })
    }

    /// Reads a number that has 32 bits in the record. If it is larger, the record before may give
    /// it.
    fn up_to_u4(&mut self, body: &mut Cursor<'_>, what: &'static str) -> Result<u64, Error> {
        let number = body.u4(what)?;
        if number < u32::MAX {
            return Ok(number.into());
        }
        Ok(self.wide.pop_front().unwrap_or_else(|| {
            self.full_count += 1;
            number.into()
        }))
    }

    /// Adds a section with the time stamp of its record.
    fn section(&mut self, section: Event) {
        self.sections_elapsed_us.push(self.elapsed_us);
        self.profile.events.push(section);
    }

    /// Reads a serial number and returns its trace.
    fn trace(&mut self, body: &mut Cursor<'_>) -> Result<TraceId, Error> {
        let serial = body.u4("a trace's serial number")?;
        self.trace_of(serial, body)
    }

    /// Returns the trace of a serial number. No record gives trace 0 of JVMPI's agents: it is that of
    /// objects from before the agent, and of threads without frames.
    fn trace_of(&mut self, serial: u32, body: &Cursor<'_>) -> Result<TraceId, Error> {
        match self.profile.trace_by_serial(serial) {
            Some(trace) => Ok(trace),
            None if serial == NO_TRACE => {
                let node = self.profile.tree.root();
                Ok(self.profile.push_trace(Trace { serial, node, thread: None }))
            }
            None => Err(body.error(format!("a row names trace {serial}, which no record gives"))),
        }
    }

    fn class(&mut self, serial: u32) -> ClassId {
        self.class_of(serial, NO_ARRAY)
    }

    /// Returns the class of a serial number. `elements` is the type of the elements if it is an
    /// array. No record gives the name of array classes that the original agent missed because they
    /// were made late.
    fn class_of(&mut self, serial: u32, elements: u8) -> ClassId {
        *self.classes.entry(serial).or_insert_with(|| {
            let array = if elements == OBJECT_ARRAY { "[]" } else { "" };
            let name = format!("<class {serial}>{array}");
            self.profile.notes.push(format!("no LOAD CLASS gives the name of class {serial}"));
            self.profile.symbols.class(&name)
        })
    }

    fn name(&mut self, body: &mut Cursor<'_>, what: &str) -> Result<Option<StrId>, Error> {
        let id = body.id(what)?;
        self.name_of(id, what, body.offset() as u64)
    }

    /// Returns the name with an id, or `None` for the id 0.
    fn name_of(&mut self, id: u64, what: &str, offset: u64) -> Result<Option<StrId>, Error> {
        if id == 0 {
            return Ok(None);
        }
        let name = self.names.intern(&mut self.profile, id);
        let missing = || fault(offset, format!("no UTF8 record gives {what}, id {id:#x}"));
        name.map(Some).ok_or_else(missing)
    }

    fn thread(&mut self, serial: u32) -> ThreadId {
        *self.threads.entry(serial).or_insert_with(|| {
            // Threads that started before the agent have no START THREAD record, and traces of several
            // processes are written before the threads of the later ones.
            self.unnamed.insert(serial);
            let name = self.profile.symbols.strings.intern(&format!("thread {serial}"));
            let thread = Thread { serial, object_id: 0, name, group: None, parent_group: None };
            self.profile.push_thread(thread)
        })
    }

    /// Ends an open section and an open heap dump.
    fn file_end(&mut self) -> Result<(), Error> {
        self.extended_end();
        if self.tally.is_open() {
            self.profile.notes.push("the file ends before HEAP DUMP END".to_owned());
            self.tally_end(true)?;
        }
        Ok(())
    }

    /// Adds the facts that are known only at the end of the file: dates and notes.
    fn finish(mut self, created: Timestamp) -> Result<Profile, Error> {
        self.file_end()?;
        self.profile.created = Some(created);
        let mut elapsed_us = self.sections_elapsed_us.into_iter();
        for event in &mut self.profile.events {
            let written = match event {
                Event::ThreadStart(_)
                | Event::ThreadEnd(_)
                | Event::ClassUnload(_)
                | Event::Wait(_)
                | Event::Timeline(_)
                | Event::Pauses(_)
                | Event::TimeSeries(_)
                | Event::FieldAccesses(_) => continue,
                Event::Section(section) => &mut section.head.written,
                Event::Heap(heap) => &mut heap.written,
                Event::HeapSummary(summary) => &mut summary.written,
                Event::MonitorDump(dump) => &mut dump.written,
            };
            let elapsed_ms = elapsed_us.next().unwrap_or(0) / 1000;
            let unix_ms = created.unix_ms.saturating_add(elapsed_ms);
            *written = Some(Timestamp { unix_ms, ..created });
        }
        if self.full_count > 0 {
            let numbers = if self.full_count == 1 { "number is" } else { "numbers are" };
            let note = format!(
                "{} {numbers} 2^32 - 1, the largest that HPROF's records hold: may be larger",
                self.full_count
            );
            self.profile.notes.push(note);
        }
        for (tag, (count, bytes)) in self.skipped {
            let name = tag::name(tag);
            let note = format!("{count} records {name} (tag {tag:#04x}, {bytes} bytes) skipped");
            self.profile.notes.push(note);
        }
        Ok(self.profile)
    }
}

/// Returns the types of a class's static fields, without the pseudo fields that the JVM adds.
fn statics<'a>(
    class: &ClassDump<'a>,
    names: &'a DumpNames,
) -> impl Iterator<Item = FieldType> + 'a {
    let is_own = |id| names.get(id).is_some_and(|name| name.starts_with(b"<"));
    class.statics().filter(move |field| !is_own(field.name)).map(|field| field.value.field)
}

fn fault(offset: u64, what: String) -> Error {
    Error::Binary { offset: offset as usize, what }
}
