//! A writer of small dumps in HPROF's binary format. It writes any records, also invalid ones.

use std::collections::BTreeMap;
use std::path::PathBuf;

use perk_heap::Value;
use perk_hprof::heap::FieldType;
use tempfile::TempDir;

/// Tags of records.
const UTF8: u8 = 0x01;
const LOAD_CLASS: u8 = 0x02;
const FRAME: u8 = 0x04;
const TRACE: u8 = 0x05;
pub(crate) const HEAP_DUMP: u8 = 0x0C;
pub(crate) const SEGMENT: u8 = 0x1C;
const DUMP_END: u8 = 0x2C;

/// The time in the head, in milliseconds since 1970.
pub(crate) const UNIX_MS: u64 = 1_700_000_000_123;

/// A dump that is being written.
#[derive(Clone, Debug)]
pub(crate) struct Dump {
    pub(crate) id_bytes: usize,
    /// Whether HEAP DUMP SEGMENTs are written, and not one HEAP DUMP.
    pub(crate) has_segments: bool,
    /// Whether ids have their lowest byte first.
    pub(crate) is_little: bool,
    out: Vec<u8>,
    names: BTreeMap<String, u64>,
    class_count: u32,
    /// The sub-records of the segment at hand.
    segment: Vec<u8>,
}

/// CLASS DUMP.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassRecord {
    pub(crate) id: u64,
    pub(crate) trace: u32,
    pub(crate) superclass: u64,
    pub(crate) loader: u64,
    pub(crate) signers: u64,
    pub(crate) domain: u64,
    pub(crate) constants: Vec<(u16, Value)>,
    pub(crate) statics: Vec<(String, Value)>,
    pub(crate) fields: Vec<(String, FieldType)>,
    /// The size of an instance; without it, that of the fields.
    pub(crate) instance_bytes: Option<u32>,
}

/// A root as the file has it. Those of a thread have its serial number, and the index of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RootRecord {
    Unknown,
    JniGlobal,
    JniLocal(u32, u32),
    JavaFrame(u32, u32),
    NativeStack(u32),
    StickyClass,
    ThreadBlock(u32),
    Monitor,
    Thread { serial: u32, trace: u32 },
}

impl Dump {
    /// Begins a dump with segments.
    pub(crate) fn new(id_bytes: usize) -> Self {
        Self::with_title("JAVA PROFILE 1.0.2", id_bytes)
    }

    pub(crate) fn with_title(title: &str, id_bytes: usize) -> Self {
        let mut out = title.as_bytes().to_vec();
        out.push(0);
        out.extend((id_bytes as u32).to_be_bytes());
        out.extend(UNIX_MS.to_be_bytes());
        let names = BTreeMap::new();
        let (has_segments, is_little, segment) = (true, false, Vec::new());
        Self { id_bytes, has_segments, is_little, out, names, class_count: 0, segment }
    }

    fn id(&self, id: u64) -> impl Iterator<Item = u8> + use<> {
        let id = if self.is_little { id.swap_bytes() >> (64 - 8 * self.id_bytes) } else { id };
        id.to_be_bytes().into_iter().skip(8 - self.id_bytes)
    }

    fn put_id(&mut self, id: u64) {
        let bytes = self.id(id);
        self.segment.extend(bytes);
    }

    fn put_u4(&mut self, value: u32) {
        self.segment.extend(value.to_be_bytes());
    }

    fn put_u2(&mut self, value: usize) {
        self.segment.extend(u16::try_from(value).unwrap().to_be_bytes());
    }

    fn put_value(&mut self, value: Value) {
        match value {
            Value::Reference(id) => self.put_id(id),
            value => self.segment.extend(primitive(value)),
        }
    }

    /// Writes a record outside of segments.
    pub(crate) fn record(&mut self, tag: u8, body: &[u8]) {
        self.record_of_length(tag, body.len() as u32, body);
    }

    /// Writes a record with any length in its head.
    pub(crate) fn record_of_length(&mut self, tag: u8, length: u32, body: &[u8]) {
        self.out.push(tag);
        self.out.extend(0_u32.to_be_bytes());
        self.out.extend(length.to_be_bytes());
        self.out.extend(body);
    }

    /// Returns the id of a name, which is written when it is first used.
    pub(crate) fn name(&mut self, text: &str) -> u64 {
        if let Some(&id) = self.names.get(text) {
            return id;
        }
        let id = self.names.len() as u64 + 1;
        let body: Vec<u8> = self.id(id).chain(text.bytes()).collect();
        self.record(UTF8, &body);
        self.names.insert(text.to_owned(), id);
        id
    }

    /// Writes LOAD CLASS. The name is in the JVM's form. Returns the serial number.
    pub(crate) fn load_class(&mut self, class: u64, name: &str) -> u32 {
        let name = self.name(name);
        self.class_count += 1;
        let mut body = self.class_count.to_be_bytes().to_vec();
        body.extend(self.id(class));
        body.extend(0_u32.to_be_bytes());
        body.extend(self.id(name));
        self.record(LOAD_CLASS, &body);
        self.class_count
    }

    /// Writes STACK FRAME.
    pub(crate) fn frame(&mut self, id: u64, class_serial: u32, method: &str, line: i32) {
        let (method, signature) = (self.name(method), self.name("()V"));
        let source = self.name("Source.java");
        let mut body: Vec<u8> =
            [id, method, signature, source].into_iter().flat_map(|id| self.id(id)).collect();
        body.extend(class_serial.to_be_bytes());
        body.extend(line.to_be_bytes());
        self.record(FRAME, &body);
    }

    /// Writes STACK TRACE.
    pub(crate) fn trace(&mut self, serial: u32, thread_serial: u32, frames: &[u64]) {
        let mut body: Vec<u8> =
            [serial, thread_serial, frames.len() as u32].map(u32::to_be_bytes).concat();
        body.extend(frames.iter().flat_map(|&id| self.id(id)));
        self.record(TRACE, &body);
    }

    pub(crate) fn root(&mut self, kind: RootRecord, id: u64) {
        let (tag, numbers) = match kind {
            RootRecord::Unknown => (0xFF, vec![]),
            RootRecord::JniGlobal => (0x01, vec![]),
            RootRecord::JniLocal(thread, frame) => (0x02, vec![thread, frame]),
            RootRecord::JavaFrame(thread, frame) => (0x03, vec![thread, frame]),
            RootRecord::NativeStack(thread) => (0x04, vec![thread]),
            RootRecord::StickyClass => (0x05, vec![]),
            RootRecord::ThreadBlock(thread) => (0x06, vec![thread]),
            RootRecord::Monitor => (0x07, vec![]),
            RootRecord::Thread { serial, trace } => (0x08, vec![serial, trace]),
        };
        self.segment.push(tag);
        self.put_id(id);
        if kind == RootRecord::JniGlobal {
            self.put_id(1);
        }
        numbers.into_iter().for_each(|number| self.put_u4(number));
    }

    pub(crate) fn class(&mut self, class: &ClassRecord) {
        let statics: Vec<_> =
            class.statics.iter().map(|(name, value)| (self.name(name), *value)).collect();
        let fields: Vec<_> =
            class.fields.iter().map(|(name, field)| (self.name(name), *field)).collect();
        self.segment.push(0x20);
        self.put_id(class.id);
        self.put_u4(class.trace);
        for id in [class.superclass, class.loader, class.signers, class.domain, 0, 0] {
            self.put_id(id);
        }
        let bytes = fields.iter().map(|(_, field)| field.bytes(self.id_bytes) as u32);
        self.put_u4(class.instance_bytes.unwrap_or_else(|| bytes.sum()));
        self.put_u2(class.constants.len());
        for &(index, value) in &class.constants {
            self.put_u2(index.into());
            self.segment.push(type_of(value).to_hprof());
            self.put_value(value);
        }
        self.put_u2(statics.len());
        for (name, value) in statics {
            self.put_id(name);
            self.segment.push(type_of(value).to_hprof());
            self.put_value(value);
        }
        self.put_u2(fields.len());
        for (name, field) in fields {
            self.put_id(name);
            self.segment.push(field.to_hprof());
        }
    }

    /// Writes an instance. The values of the class itself come first, then those of the class above.
    pub(crate) fn instance(&mut self, id: u64, trace: u32, class: u64, values: &[Value]) {
        let bytes: usize = values.iter().map(|it| type_of(*it).bytes(self.id_bytes)).sum();
        self.instance_of_length(id, trace, class, bytes as u32, values);
    }

    /// Writes an instance with any length in its head.
    pub(crate) fn instance_of_length(
        &mut self,
        id: u64,
        trace: u32,
        class: u64,
        length: u32,
        values: &[Value],
    ) {
        self.segment.push(0x21);
        self.put_id(id);
        self.put_u4(trace);
        self.put_id(class);
        self.put_u4(length);
        values.iter().for_each(|&value| self.put_value(value));
    }

    pub(crate) fn objects(&mut self, id: u64, trace: u32, class: u64, elements: &[u64]) {
        self.segment.push(0x22);
        self.put_id(id);
        self.put_u4(trace);
        self.put_u4(elements.len() as u32);
        self.put_id(class);
        elements.iter().for_each(|&id| self.put_id(id));
    }

    pub(crate) fn primitives(&mut self, id: u64, trace: u32, element: FieldType, bytes: &[u8]) {
        self.segment.push(0x23);
        self.put_id(id);
        self.put_u4(trace);
        self.put_u4((bytes.len() / element.bytes(self.id_bytes)) as u32);
        self.segment.push(element.to_hprof());
        self.segment.extend(bytes);
    }

    /// Returns the number of bytes before the next sub-record.
    pub(crate) fn len(&self) -> usize {
        self.out.len() + 9 + self.segment.len()
    }

    /// Ends the segment at hand, if the dump has segments.
    pub(crate) fn end_segment(&mut self) {
        if self.has_segments && !self.segment.is_empty() {
            let segment = std::mem::take(&mut self.segment);
            self.record(SEGMENT, &segment);
        }
    }

    /// Returns the file.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.end_segment();
        if self.has_segments {
            self.record(DUMP_END, &[]);
        } else {
            let segment = std::mem::take(&mut self.segment);
            self.record(HEAP_DUMP, &segment);
        }
        self.out
    }
}

/// Returns the type of a value.
pub(crate) fn type_of(value: Value) -> FieldType {
    match value {
        Value::Reference(_) => FieldType::Object,
        Value::Boolean(_) => FieldType::Boolean,
        Value::Char(_) => FieldType::Char,
        Value::Float(_) => FieldType::Float,
        Value::Double(_) => FieldType::Double,
        Value::Byte(_) => FieldType::Byte,
        Value::Short(_) => FieldType::Short,
        Value::Int(_) => FieldType::Int,
        Value::Long(_) => FieldType::Long,
    }
}

/// Returns the bytes of a value that is no reference.
fn primitive(value: Value) -> Vec<u8> {
    match value {
        Value::Reference(_) => unreachable!("its size depends on the file"),
        Value::Boolean(value) => vec![value.into()],
        Value::Char(value) => value.to_be_bytes().to_vec(),
        Value::Float(value) => value.to_be_bytes().to_vec(),
        Value::Double(value) => value.to_be_bytes().to_vec(),
        Value::Byte(value) => value.to_be_bytes().to_vec(),
        Value::Short(value) => value.to_be_bytes().to_vec(),
        Value::Int(value) => value.to_be_bytes().to_vec(),
        Value::Long(value) => value.to_be_bytes().to_vec(),
    }
}

/// Writes a file into a new folder, which is removed with the first of the pair.
pub(crate) fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.hprof");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}
