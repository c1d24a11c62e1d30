//! The first pass: names, classes, traces and roots, the address of each object, and where the
//! objects are in the file.

use std::io::Read;

use perk_hprof::heap::{
    self, ClassDump, FieldType, JavaStack, Record, Root as FileRoot, Stream, Tally,
};
use perk_profile::{KeyedMap, Profile, mutf8};

use crate::batch::{BATCH_BYTES, Batch};
use crate::ids::{Addresses, Ids};
use crate::input::Input;
use crate::model::ClassRefs;
use crate::{Error, Watch, ahead};

/// The record with which the files of perk and of the original agent begin.
const CONTROL_SETTINGS: u8 = 0x0E;

/// What the first pass finds.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) title: String,
    pub(crate) unix_ms: u64,
    pub(crate) id_bytes: usize,
    pub(crate) notes: Vec<String>,
    /// Whether the JVM wrote the dump, and not an agent.
    pub(crate) is_of_jvm: bool,
    /// Has the names of the classes.
    pub(crate) profile: Profile,
    pub(crate) tally: Tally,
    pub(crate) ids: Ids,
    pub(crate) batches: Vec<Batch>,
    pub(crate) names: Names,
    /// The name of each class, by its id.
    pub(crate) loaded: KeyedMap<u64, u64>,
    /// The classes' ids by serial number.
    pub(crate) serials: KeyedMap<u32, u64>,
    pub(crate) classes: Vec<RawClass>,
    pub(crate) frames: KeyedMap<u64, RawFrame>,
    pub(crate) traces: KeyedMap<u32, RawTrace>,
    pub(crate) roots: Vec<FileRoot>,
    /// Whether the file ends inside the dump.
    pub(crate) is_cut: bool,
}

/// The names of a file by their ids.
#[derive(Debug, Default)]
pub(crate) struct Names(KeyedMap<u64, Box<[u8]>>);

impl Names {
    /// Returns a name, or the empty text.
    pub(crate) fn get(&self, id: u64) -> String {
        self.0.get(&id).map_or_else(String::new, |bytes| mutf8::decode(bytes).into_owned())
    }
}

/// CLASS DUMP, with the file's ids.
#[derive(Clone, Debug)]
pub(crate) struct RawClass {
    pub(crate) id: u64,
    pub(crate) trace: u32,
    pub(crate) refs: ClassRefs,
    pub(crate) statics: Vec<(u64, FieldType, u64)>,
    pub(crate) fields: Vec<(u64, FieldType)>,
}

/// STACK FRAME.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawFrame {
    pub(crate) method: u64,
    pub(crate) source: u64,
    pub(crate) class_serial: u32,
    pub(crate) line: i32,
}

/// STACK TRACE.
#[derive(Clone, Debug)]
pub(crate) struct RawTrace {
    pub(crate) frames: Box<[u64]>,
}

/// The objects of the dump at hand.
#[derive(Debug, Default)]
struct SkimmedObjects {
    tally: Tally,
    addresses: Addresses,
    batches: Vec<Batch>,
    open: Option<Batch>,
}

impl SkimmedObjects {
    #[inline]
    fn object(&mut self, id: u64) {
        self.addresses.insert(id);
        if let Some(batch) = &mut self.open {
            batch.lowest = batch.lowest.min(id);
            batch.highest = batch.highest.max(id);
        }
    }

    /// Ends the batch at this offset.
    fn close(&mut self, offset: u64) {
        if let Some(mut batch) = self.open.take() {
            batch.bytes = offset.saturating_sub(batch.offset);
            if batch.bytes > 0 && batch.lowest <= batch.highest {
                self.batches.push(batch);
            }
        }
    }
}

impl heap::ObjectVisitor for SkimmedObjects {
    fn place(&mut self, offset: u64) {
        if self.open.is_some_and(|batch| offset - batch.offset >= BATCH_BYTES) {
            self.close(offset);
        }
        self.open.get_or_insert(Batch { offset, bytes: 0, lowest: u64::MAX, highest: 0 });
    }

    #[inline]
    fn instance(&mut self, id: u64, class: u64, value_bytes: u32) {
        self.tally.instance(id, class, value_bytes);
        self.object(id);
    }

    #[inline]
    fn object_array(&mut self, id: u64, class: u64, length: u32) {
        self.tally.object_array(id, class, length);
        self.object(id);
    }

    #[inline]
    fn primitive_array(&mut self, id: u64, element: FieldType, length: u32) {
        self.tally.primitive_array(id, element, length);
        self.object(id);
    }
}

/// Reads a file of a dump.
pub(crate) fn scan(
    input: &Input,
    thread_count: usize,
    watch: &mut dyn Watch,
) -> Result<Scan, Error> {
    match thread_count {
        1 => scan_from(input.reader(), input, watch),
        _ => ahead::read(input.reader(), |ahead| scan_from(ahead, input, watch)),
    }
}

fn scan_from(reader: impl Read, input: &Input, watch: &mut dyn Watch) -> Result<Scan, Error> {
    let (header, mut stream) = Stream::new(reader).map_err(perk_hprof::Error::from)?;
    let mut scanner = Scanner::new(&header);
    scanner.notes.extend_from_slice(input.notes());
    loop {
        let skimmed = match stream.is_in_segment() {
            true => stream.skim(&mut scanner.objects),
            false => Ok(()),
        };
        let offset = stream.offset();
        let next = match skimmed {
            Ok(()) => stream.next(),
            Err(error) => Err(error),
        };
        match next {
            Ok(None) => break,
            Ok(Some(record)) => {
                if matches!(record, Record::Segment { .. }) {
                    watch.progress("objects", offset, input.len());
                }
                scanner.record(record, offset);
            }
            Err(error) => {
                scanner.objects.close(stream.offset());
                let error = perk_hprof::Error::from(error);
                let is_fault = matches!(error, perk_hprof::Error::Binary { .. });
                if !is_fault && !matches!(error, perk_hprof::Error::Cut { .. }) {
                    return Err(error.into());
                }
                let mut note = error.to_string();
                let is_in_dump = stream.is_in_segment();
                let passed = (is_fault && is_in_dump).then(|| stream.skip_segment());
                if let Some(Ok(bytes)) = passed {
                    note += &format!("; {bytes} bytes of a heap dump skipped");
                    scanner.notes.push(note);
                    continue;
                }
                scanner.notes.push(note);
                scanner.objects.close(input.len());
                scanner.is_cut |= scanner.is_open;
                break;
            }
        }
    }
    scanner.objects.close(stream.offset());
    if let Some(failure) = stream.failure() {
        scanner.notes.push(format!("offset {}: the input ends there: {failure}", stream.offset()));
        scanner.is_cut |= scanner.is_open;
    }
    if stream.wrong_length_count() > 0 {
        let count = stream.wrong_length_count();
        scanner.notes.push(format!("{count} records HEAP DUMP are longer than they say"));
    }
    scanner.finish(header)
}

/// The state of the pass.
struct Scanner {
    /// The number of the dump at hand, from 1.
    number: usize,
    /// Whether the dump at hand has begun and not ended.
    is_open: bool,
    is_of_jvm: bool,
    is_cut: bool,
    notes: Vec<String>,
    profile: Profile,
    objects: SkimmedObjects,
    names: Names,
    loaded: KeyedMap<u64, u64>,
    serials: KeyedMap<u32, u64>,
    classes: Vec<RawClass>,
    frames: KeyedMap<u64, RawFrame>,
    traces: KeyedMap<u32, RawTrace>,
    roots: Vec<FileRoot>,
}

impl Scanner {
    fn new(header: &heap::Header) -> Self {
        let mut scanner = Self {
            number: 0,
            is_open: false,
            is_of_jvm: true,
            is_cut: false,
            notes: Vec::new(),
            profile: Profile::default(),
            objects: SkimmedObjects::default(),
            names: Names::default(),
            loaded: KeyedMap::default(),
            serials: KeyedMap::default(),
            classes: Vec::new(),
            frames: KeyedMap::default(),
            traces: KeyedMap::default(),
            roots: Vec::new(),
        };
        scanner.begin_file(header);
        scanner
    }

    fn begin_file(&mut self, header: &heap::Header) {
        self.objects.tally.begin_file(header);
        if header.title == heap::TEXT_TITLE {
            self.objects.tally.take_instance_bytes();
        }
        self.is_of_jvm = true;
        self.names = Names::default();
        self.loaded.clear();
        self.serials.clear();
        self.frames.clear();
        self.traces.clear();
    }

    fn record(&mut self, record: Record<'_>, offset: u64) {
        if !matches!(
            record,
            Record::Instance { .. } | Record::Array { .. } | Record::MoreElements(_)
        ) {
            self.objects.close(offset);
        }
        match record {
            Record::Header(header) => {
                self.is_open = false;
                self.begin_file(&header);
            }
            Record::Utf8 { id, bytes } => {
                self.names.0.insert(id, bytes.into());
            }
            Record::LoadClass { serial, class, name } => {
                let text = heap::source_form(&self.names.get(name));
                let id = self.profile.symbols.new_class(&text);
                self.objects.tally.load(class, id);
                self.loaded.insert(class, name);
                self.serials.insert(serial, class);
            }
            Record::Frame { id, method, source, class_serial, line, .. } => {
                self.frames.insert(id, RawFrame { method, source, class_serial, line });
            }
            Record::Trace { serial, frames, .. } => {
                let frames = frames.iter().collect();
                self.traces.insert(serial, RawTrace { frames });
            }
            Record::Segment { .. } => self.segment(),
            Record::DumpEnd => self.is_open = false,
            Record::Root(root) => self.root(root),
            Record::Class(class) => self.class(&class),
            Record::Instance { .. } | Record::Array { .. } => {
                heap::ObjectVisitor::place(&mut self.objects, offset);
                heap::object(&record, &mut self.objects);
            }
            Record::Body { tag: CONTROL_SETTINGS, .. } => self.is_of_jvm = false,
            _ => {}
        }
    }

    /// Begins or continues a dump.
    fn segment(&mut self) {
        if std::mem::replace(&mut self.is_open, true) {
            return;
        }
        self.number += 1;
        if self.number > 1 {
            self.objects.tally.finish(&mut self.profile, self.is_of_jvm);
            self.objects.addresses = Addresses::default();
            self.objects.batches.clear();
            self.classes.clear();
            self.roots.clear();
        }
        self.objects.tally.open();
    }

    fn root(&mut self, root: FileRoot) {
        self.objects.tally.root(root.kind);
        self.roots.push(root);
    }

    fn class(&mut self, class: &ClassDump<'_>) {
        let names = &self.names;
        let is_own = |id: u64| names.0.get(&id).is_some_and(|name| name.starts_with(b"<"));
        let statics = class.statics().filter(|field| !is_own(field.name));
        self.objects.tally.class(class, statics.map(|field| field.value.field));
        self.objects.addresses.insert(class.id);
        let is_reference = |field: FieldType| field == FieldType::Object;
        self.classes.push(RawClass {
            id: class.id,
            trace: class.trace,
            refs: ClassRefs {
                superclass: class.superclass,
                loader: class.loader,
                signers: class.signers,
                domain: class.domain,
                constants: class
                    .constants()
                    .filter(|(_, value)| is_reference(value.field))
                    .map(|(index, value)| (index, value.bits()))
                    .collect(),
            },
            statics: class
                .statics()
                .map(|field| (field.name, field.value.field, field.value.bits()))
                .collect(),
            fields: class.fields().collect(),
        });
    }

    fn finish(mut self, header: heap::Header) -> Result<Scan, Error> {
        if self.is_open {
            self.is_cut = true;
            self.notes.push("the file ends before HEAP DUMP END".to_owned());
        }
        let ids = self.objects.addresses.finish()?;
        if ids.count() == 0 {
            let mut what = "the file has no heap dump".to_owned();
            if let Some(note) = self.notes.first() {
                what = note.clone();
            } else if self.number > 0 {
                what = "the heap dump has no object".to_owned();
            }
            return Err(Error::Refused(what));
        }
        if ids.duplicate_count() > 0 {
            let count = ids.duplicate_count();
            self.notes.push(format!(
                "{count} objects have the address of another one: the first of each is used"
            ));
        }
        Ok(Scan {
            title: header.title,
            unix_ms: header.unix_ms,
            id_bytes: header.id_bytes,
            notes: self.notes,
            is_of_jvm: self.is_of_jvm,
            profile: self.profile,
            tally: self.objects.tally,
            ids,
            batches: self.objects.batches,
            names: self.names,
            loaded: self.loaded,
            serials: self.serials,
            classes: self.classes,
            frames: self.frames,
            traces: self.traces,
            roots: self.roots,
            is_cut: self.is_cut,
        })
    }
}

/// Returns the place on a thread's stack that a root gives, with the serial number of the thread.
pub(crate) fn stack_of(kind: heap::RootKind) -> Option<JavaStack> {
    match kind {
        heap::RootKind::JavaFrame(stack) | heap::RootKind::JniLocal(stack) => Some(stack),
        heap::RootKind::NativeStack(thread_serial) | heap::RootKind::ThreadBlock(thread_serial) => {
            Some(JavaStack { thread_serial, depth: u32::MAX })
        }
        _ => None,
    }
}
