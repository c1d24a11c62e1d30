//! The binary format. Every length must be exact, and every id must be written before it is used.

use std::collections::{BTreeMap, BTreeSet};

use self::tag::{
    ALLOC_SITES, CONTROL_SETTINGS, CPU_SAMPLES, END_THREAD, FRAME, HEAP_DUMP, HEAP_DUMP_END,
    HEAP_DUMP_SEGMENT, HEAP_SUMMARY, LOAD_CLASS, START_THREAD, TRACE, UNLOAD_CLASS, UTF8,
};
use super::cursor::Cursor;
use super::{
    Class, Contents, Cost, Costs, Frame, Heap, HprofFormat, Object, RecordId, Recording, Result,
    Root, SYSTEM_TRACE, Section, Site, Sites, Thread, Trace, Value, ensure,
};

/// The tags of records.
pub mod tag {
    #![allow(missing_docs, reason = "the description's own names")]

    pub const UTF8: u8 = 0x01;
    pub const LOAD_CLASS: u8 = 0x02;
    pub const UNLOAD_CLASS: u8 = 0x03;
    pub const FRAME: u8 = 0x04;
    pub const TRACE: u8 = 0x05;
    pub const ALLOC_SITES: u8 = 0x06;
    pub const HEAP_SUMMARY: u8 = 0x07;
    pub const START_THREAD: u8 = 0x0A;
    pub const END_THREAD: u8 = 0x0B;
    pub const HEAP_DUMP: u8 = 0x0C;
    pub const CPU_SAMPLES: u8 = 0x0D;
    pub const CONTROL_SETTINGS: u8 = 0x0E;
    pub const HEAP_DUMP_SEGMENT: u8 = 0x1C;
    pub const HEAP_DUMP_END: u8 = 0x2C;
}

/// The names of element types by their number; 2 represents references.
const ELEMENTS: [(u8, &str, usize); 8] = [
    (4, "boolean", 1),
    (5, "char", 2),
    (6, "float", 4),
    (7, "double", 8),
    (8, "byte", 1),
    (9, "short", 2),
    (10, "int", 4),
    (11, "long", 8),
];

/// The kinds of roots by their tag: the name, and whether a thread's serial number and another
/// number follow the object.
const ROOTS: [(u8, &str, bool, bool); 9] = [
    (0xFF, "unknown", false, false),
    (0x01, "JNI global ref", false, false),
    (0x02, "JNI local ref", true, true),
    (0x03, "Java stack", true, true),
    (0x04, "native stack", true, false),
    (0x05, "system class", false, false),
    (0x06, "thread block", true, false),
    (0x07, "busy monitor", false, false),
    (0x08, "thread", true, true),
];

/// A file being read.
#[derive(Default)]
struct RecordReader {
    recording: Recording,
    names: BTreeMap<u64, String>,
    used_names: BTreeSet<u64>,
    /// The names of classes by the id of the class object.
    class_names: BTreeMap<u64, String>,
    frames: BTreeMap<u64, Frame>,
    heap: Option<RawHeap>,
    /// Whether another record follows the last segment of the heap dump.
    is_behind_segments: bool,
    micros: u32,
    is_begun: bool,
}

/// A class, and the names and types of the fields that it declares for its instances.
type DumpedClass = (Class, Vec<(String, u8)>);

/// A heap dump whose objects are not yet resolved against their classes.
#[derive(Default)]
struct RawHeap {
    roots: Vec<Root>,
    objects: BTreeMap<u64, RawObject>,
    classes: BTreeMap<u64, DumpedClass>,
    late: BTreeSet<u32>,
}

enum RawObject {
    Instance { class: u64, trace: u32, bytes: Vec<u8> },
    Array(Object),
}

/// Reads a whole file.
pub(super) fn read(bytes: &[u8]) -> Result<Recording> {
    let nul = bytes.iter().position(|byte| *byte == 0).ok_or("no header")?;
    let header = String::from_utf8_lossy(&bytes[..nul]);
    let version = header.strip_prefix("JAVA PROFILE ").unwrap_or_default().to_owned();
    ensure(["1.0.1", "1.0.2"].contains(&version.as_str()), || format!("version {version}"))?;
    let mut input = Cursor { bytes: &bytes[nul + 1..], id_bytes: 4 };
    let id_bytes = input.u4()? as usize;
    ensure([4, 8].contains(&id_bytes), || format!("ids of {id_bytes} bytes"))?;
    input.id_bytes = id_bytes;
    let created_ms = input.u8()?;
    ensure(created_ms > 1_500_000_000_000, || format!("created at {created_ms} ms"))?;
    let recording = Recording {
        format: HprofFormat::Binary,
        version,
        id_bytes,
        created_ms,
        ..Recording::default()
    };
    let mut reader = RecordReader { recording, ..RecordReader::default() };
    while !input.bytes.is_empty() {
        let at = bytes.len() - input.bytes.len();
        reader.record(&mut input).map_err(|what| format!("offset {at:#x}: {what}"))?;
    }
    ensure(reader.heap.is_none(), || "a heap dump without its end".to_owned())?;
    let loose = reader.names.iter().filter(|(id, _)| !reader.used_names.contains(id));
    reader.recording.loose_names = loose.map(|(_, name)| name.clone()).collect();
    Ok(reader.recording)
}

impl RecordReader {
    fn record(&mut self, input: &mut Cursor<'_>) -> Result<()> {
        let (tag, micros, length) = (input.u1()?, input.u4()?, input.u4()?);
        ensure(micros >= self.micros, || "time runs backward".to_owned())?;
        self.micros = micros;
        let mut body = Cursor { bytes: input.take(length as usize)?, ..*input };
        ensure(self.is_begun == (tag != CONTROL_SETTINGS), || {
            "CONTROL SETTINGS is not the first record, or not the only one".to_owned()
        })?;
        self.is_begun = true;
        let is_between =
            [UTF8, LOAD_CLASS, FRAME, TRACE, START_THREAD, HEAP_DUMP_SEGMENT, HEAP_DUMP_END];
        ensure(self.heap.is_none() || is_between.contains(&tag), || {
            format!("tag {tag:#04x} in a heap dump")
        })?;
        // VisualVM treats all records between two segments as sub-records.
        ensure(
            tag != HEAP_DUMP_SEGMENT || self.heap.is_none() || !self.is_behind_segments,
            || "a record between two segments of a heap dump".to_owned(),
        )?;
        self.is_behind_segments = tag != HEAP_DUMP_SEGMENT;
        self.body(tag, &mut body)?;
        ensure(body.bytes.is_empty(), || format!("{} bytes left over", body.bytes.len()))
    }

    fn body(&mut self, tag: u8, body: &mut Cursor<'_>) -> Result<()> {
        match tag {
            UTF8 => self.utf8(body),
            LOAD_CLASS => self.load_class(body),
            UNLOAD_CLASS => {
                let serial = body.u4()?;
                if !self.recording.classes.contains_key(&serial) {
                    self.recording.unknown_classes.insert(serial);
                }
                let is_new = self.recording.unloaded.insert(serial);
                ensure(is_new, || format!("class {serial} is unloaded twice"))
            }
            FRAME => self.frame(body),
            TRACE => self.trace(body),
            ALLOC_SITES => self.alloc_sites(body),
            HEAP_SUMMARY => {
                let numbers = [body.u4()?.into(), body.u4()?.into(), body.u8()?, body.u8()?];
                self.recording.add_section(Section::HeapSummary(numbers));
                Ok(())
            }
            START_THREAD => self.start_thread(body),
            END_THREAD => self.recording.end_thread(body.u4()?),
            CPU_SAMPLES => self.cpu_samples(body),
            CONTROL_SETTINGS => {
                self.recording.settings = Some((body.u4()?, body.u2()?));
                Ok(())
            }
            HEAP_DUMP => {
                self.segment(body)?;
                self.end_heap_dump()
            }
            HEAP_DUMP_SEGMENT => self.segment(body),
            HEAP_DUMP_END => self.end_heap_dump(),
            _ => Err(format!("tag {tag:#04x}")),
        }
    }

    fn utf8(&mut self, body: &mut Cursor<'_>) -> Result<()> {
        let id = body.id()?;
        let name = body.take(body.bytes.len())?;
        ensure(!name.contains(&0), || "a NUL in a name".to_owned())?;
        let name = modified_utf8(name);
        let before = self.names.insert(id, name);
        // perk writes a new accounting at each dump.
        let is_new = before.is_none_or(|name| name.starts_with("perk accounting\n"));
        let is_used = self.used_names.contains(&id);
        ensure(id != 0 && is_new && !is_used, || format!("name {id:#x} again"))
    }

    /// Reads an id and returns its name; 0 represents no name.
    fn name(&mut self, body: &mut Cursor<'_>) -> Result<Option<String>> {
        let id = body.id()?;
        if id == 0 {
            return Ok(None);
        }
        self.used_names.insert(id);
        let name = self.names.get(&id).ok_or_else(|| format!("name {id:#x} before its UTF8"))?;
        Ok(Some(name.clone()))
    }

    fn load_class(&mut self, body: &mut Cursor<'_>) -> Result<()> {
        let (serial, object, trace) = (body.u4()?, body.id()?, body.u4()?);
        let name = self.name(body)?.ok_or("a class without a name")?;
        ensure(!name.contains(['/', ';', '[']) || name.ends_with("[]"), || {
            format!("a class name not in source form: {name}")
        })?;
        self.recording.load_traces.insert(trace);
        // With ids of four bytes, perk writes 0 for classes that are not in a heap dump.
        let is_nowhere = object == 0 && self.recording.id_bytes == 4;
        ensure(object != 0 || is_nowhere, || format!("class {serial} without object"))?;
        let before = self.class_names.insert(object, name.clone());
        if before.is_some() && !is_nowhere {
            self.recording.shared_objects.insert(object);
        }
        self.recording.order.push(RecordId::Class(serial));
        let before = self.recording.classes.insert(serial, name);
        ensure(before.is_none() && serial >= 100_000, || format!("class {serial} again"))
    }

    fn frame(&mut self, body: &mut Cursor<'_>) -> Result<()> {
        let id = body.id()?;
        let method = self.name(body)?.ok_or("a method without a name")?;
        let (signature, source) = (self.name(body)?, self.name(body)?);
        let (class, line) = (body.u4()?, body.u4()?.cast_signed());
        self.recording.frame_classes.insert(class);
        let class = self.recording.classes.get(&class);
        let class = class.ok_or("a frame before its class")?;
        ensure(line > 0 || [-1, -2, -3].contains(&line), || format!("line {line}"))?;
        let shaped = signature.as_ref().is_none_or(|it| it.starts_with('(') && it.contains(')'));
        ensure(shaped, || format!("signature {signature:?}"))?;
        let frame = Frame {
            method: format!("{class}.{method}"),
            signature,
            source: source.unwrap_or_else(|| "<Unknown Source>".to_owned()),
            line: u32::try_from(line).ok(),
            is_native: line == -3,
        };
        ensure(self.frames.insert(id, frame).is_none(), || format!("frame {id:#x} again"))
    }

    fn trace(&mut self, body: &mut Cursor<'_>) -> Result<()> {
        let (serial, thread, count) = (body.u4()?, body.u4()?, body.u4()?);
        let mut frames = Vec::new();
        for _ in 0..count {
            let id = body.id()?;
            let frame = self.frames.get(&id);
            frames.push(frame.ok_or_else(|| format!("frame {id:#x} before its record"))?.clone());
        }
        let thread = (thread != 0).then_some(thread);
        let is_known = serial >= SYSTEM_TRACE || serial == 0 && frames.is_empty();
        ensure(is_known, || format!("trace {serial}"))?;
        self.recording.add_trace(serial, Trace { thread, frames })
    }

    fn start_thread(&mut self, body: &mut Cursor<'_>) -> Result<()> {
        let (serial, object, _trace) = (body.u4()?, body.id()?, body.u4()?);
        let name = self.name(body)?.ok_or("a thread without a name")?;
        let group = self.name(body)?.unwrap_or_default();
        let parent = self.name(body)?.unwrap_or_default();
        self.recording.add_thread(serial, Thread { object, name, group, parent })
    }

    fn alloc_sites(&mut self, body: &mut Cursor<'_>) -> Result<()> {
        let (flags, cutoff_bits) = (body.u2()?, body.u4()?);
        let totals = [body.u4()?.into(), body.u4()?.into(), body.u8()?, body.u8()?];
        let by_allocated = flags & 2 != 0;
        let totals = Some(totals);
        let mut sites = Sites { by_allocated, flags, cutoff_bits, totals, rows: Vec::new() };
        for _ in 0..body.u4()? {
            let (element, class, trace) = (body.u1()?, body.u4()?, body.u4()?);
            let numbers =
                [body.u4()?.into(), body.u4()?.into(), body.u4()?.into(), body.u4()?.into()];
            let class = match self.recording.classes.get(&class) {
                Some(name) => name.clone(),
                None => {
                    self.recording.unknown_classes.insert(class);
                    unknown_class(element)?
                }
            };
            let expected = match class.strip_suffix("[]") {
                None => 0,
                Some(name) => ELEMENTS.iter().find(|it| it.1 == name).map_or(2, |it| it.0),
            };
            ensure(element == expected, || format!("{class} has elements of type {element}"))?;
            sites.rows.push(Site { numbers, trace, class });
        }
        self.recording.add_sites(sites)
    }

    fn cpu_samples(&mut self, body: &mut Cursor<'_>) -> Result<()> {
        let total = u64::from(body.u4()?);
        let mut costs = Costs { total, rows: Vec::new() };
        for _ in 0..body.u4()? {
            let (count, trace) = (u64::from(body.u4()?), body.u4()?);
            let percent = count as f64 * 100.0 / total as f64;
            costs.rows.push(Cost { percent, accumulated: None, count, trace });
        }
        self.recording.check_costs(&costs, "CPU SAMPLES")?;
        self.recording.add_section(Section::CpuSamples(costs));
        Ok(())
    }

    fn segment(&mut self, body: &mut Cursor<'_>) -> Result<()> {
        let mut heap = self.heap.take().unwrap_or_default();
        while !body.bytes.is_empty() {
            let tag = body.u1()?;
            self.part(tag, body, &mut heap).map_err(|what| format!("part {tag:#04x}: {what}"))?;
        }
        self.heap = Some(heap);
        Ok(())
    }

    fn part(&mut self, tag: u8, body: &mut Cursor<'_>, heap: &mut RawHeap) -> Result<()> {
        if let Some((_, kind, has_thread, has_number)) = ROOTS.iter().find(|root| root.0 == tag) {
            let object = body.id()?;
            let thread = if *has_thread { Some(body.u4()?) } else { None };
            let number = if *has_number { Some(body.u4()?) } else { None };
            let trace = number.filter(|_| *kind == "thread");
            if *kind == "JNI global ref" {
                body.id()?;
            }
            let Recording { threads, traces, .. } = &self.recording;
            heap.late.extend(thread.filter(|serial| !threads.contains_key(serial)));
            heap.late.extend(trace.filter(|serial| !traces.contains_key(serial)));
            heap.roots.push(Root { object, kind, thread, trace });
            return Ok(());
        }
        if tag == 0x20 {
            let (id, class) = self.class(body)?;
            let before = heap.classes.insert(id, class);
            return ensure(before.is_none(), || format!("class {id:#x} again"));
        }
        let (id, trace) = (body.id()?, body.u4()?);
        if !self.recording.traces.contains_key(&trace) {
            heap.late.insert(trace);
        }
        let object = match tag {
            0x21 => {
                let (class, length) = (body.id()?, body.u4()?);
                RawObject::Instance { class, trace, bytes: body.take(length as usize)?.to_vec() }
            }
            0x22 => {
                let (length, class) = (body.u4()?, body.id()?);
                let class = self.class_name(class)?;
                let mut elements = Vec::new();
                for index in 0..length {
                    let element = body.id()?;
                    if element != 0 {
                        elements.push((index, element));
                    }
                }
                let contents = Contents::References(length, elements);
                RawObject::Array(Object { class, bytes: None, trace, contents })
            }
            0x23 => {
                let (length, element) = (body.u4()?, body.u1()?);
                let element = ELEMENTS.iter().find(|it| it.0 == element);
                let (_, name, bytes) = element.ok_or("an unknown type of elements")?;
                let contents = body.take(length as usize * bytes)?.to_vec();
                let contents = Contents::Primitives(length, Some(contents));
                let class = format!("{name}[]");
                RawObject::Array(Object { class, bytes: None, trace, contents })
            }
            _ => return Err("an unknown tag".to_owned()),
        };
        ensure(heap.objects.insert(id, object).is_none(), || format!("object {id:#x} again"))
    }

    fn class_name(&self, id: u64) -> Result<String> {
        let name = self.class_names.get(&id);
        name.cloned().ok_or_else(|| format!("no class has the id {id:#x}"))
    }

    /// Reads a class dump: the id, the class, and the fields of its instances.
    fn class(&mut self, body: &mut Cursor<'_>) -> Result<(u64, DumpedClass)> {
        let (id, trace) = (body.id()?, body.u4()?);
        let mut class = Class { name: self.class_name(id)?, trace, ..Class::default() };
        for link in &mut class.links {
            *link = body.id()?;
        }
        let reserved = (body.id()?, body.id()?);
        ensure(reserved == (0, 0), || format!("reserved words are {reserved:?}"))?;
        body.u4()?;
        for _ in 0..body.u2()? {
            let (index, kind) = (body.u2()?, body.u1()?);
            match value(kind, body)? {
                Value::Reference(object) => class.constants.push((index.into(), object)),
                Value::Bits(_) => return Err("a primitive constant pool entry".to_owned()),
            }
        }
        for _ in 0..body.u2()? {
            let name = self.name(body)?.ok_or("a static field without name")?;
            let kind = body.u1()?;
            class.statics.push((name, value(kind, body)?));
        }
        let mut fields = Vec::new();
        for _ in 0..body.u2()? {
            let name = self.name(body)?.ok_or("a field without name")?;
            fields.push((name, body.u1()?));
        }
        Ok((id, (class, fields)))
    }

    /// Resolves the names of the fields of all instances.
    fn end_heap_dump(&mut self) -> Result<()> {
        let raw = self.heap.take().ok_or("the end of no heap dump")?;
        let mut heap = Heap { roots: raw.roots, late: raw.late, ..Heap::default() };
        for (id, object) in raw.objects {
            let object = match object {
                RawObject::Array(object) => object,
                RawObject::Instance { class, trace, bytes } => {
                    let input = Cursor { bytes: &bytes, id_bytes: self.recording.id_bytes };
                    let fields = fields(class, input, &raw.classes)?;
                    let contents = Contents::Fields(fields);
                    Object { class: self.class_name(class)?, bytes: None, trace, contents }
                }
            };
            heap.objects.insert(id, object);
        }
        heap.classes = raw.classes.into_iter().map(|(id, (class, _))| (id, class)).collect();
        for trace in heap.traces() {
            self.recording.check_trace(trace)?;
        }
        self.recording.add_section(Section::Heap(heap));
        Ok(())
    }
}

/// Reads the fields of an instance, those of its class first, then those of the superclasses.
fn fields(
    mut class: u64,
    mut input: Cursor<'_>,
    classes: &BTreeMap<u64, DumpedClass>,
) -> Result<Vec<(String, Value)>> {
    let mut fields = Vec::new();
    while class != 0 {
        let (links, own) = classes
            .get(&class)
            .map(|(class, own)| (class.links, own))
            .ok_or_else(|| format!("an instance of {class:#x}, which is not dumped"))?;
        for (name, kind) in own {
            fields.push((name.clone(), value(*kind, &mut input)?));
        }
        class = links[0];
    }
    ensure(input.bytes.is_empty(), || format!("{} bytes behind the fields", input.bytes.len()))?;
    Ok(fields)
}

/// Returns the name of an array class that was never written, as far as it is known.
fn unknown_class(element: u8) -> Result<String> {
    match ELEMENTS.iter().find(|it| it.0 == element) {
        Some((_, name, _)) => Ok(format!("{name}[]")),
        None if element == 2 => Ok("<unknown>[]".to_owned()),
        None => Err(format!("a site of no class, with elements of type {element}")),
    }
}

fn value(kind: u8, input: &mut Cursor<'_>) -> Result<Value> {
    if kind == 2 {
        return Ok(Value::Reference(input.id()?));
    }
    let element = ELEMENTS.iter().find(|it| it.0 == kind);
    let (_, _, bytes) = element.ok_or_else(|| format!("type {kind}"))?;
    Ok(Value::Bits(input.number(*bytes)?))
}

/// Decodes modified UTF-8: each unit of UTF-16 takes one to three bytes, NUL two (Java Virtual
/// Machine Specification, 4.4.7). Bytes that are not valid are decoded one by one.
fn modified_utf8(bytes: &[u8]) -> String {
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, behind @ ..] = rest {
        let low = |at: usize| behind.get(at).map_or(0, |&byte| u16::from(byte & 0x3F));
        let (unit, length) = match first {
            0xC0..=0xDF => (u16::from(first & 0x1F) << 6 | low(0), 2),
            0xE0..=0xEF => (u16::from(first & 0x0F) << 12 | low(0) << 6 | low(1), 3),
            _ => (u16::from(*first), 1),
        };
        units.push(unit);
        rest = rest.get(length..).unwrap_or_default();
    }
    String::from_utf16_lossy(&units)
}
