//! The records of a translated dump.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;

use perk_hprof::heap::{FieldType, RootKind, sub};
use perk_profile::{FrameId, Profile, mutf8, names};

use super::classes::{TextClass, TextClasses};
use super::{ID_BYTES, TITLE};
use crate::scratch::Scratch;
use crate::{Error, Options};

/// The size from which on a segment ends.
const SEGMENT_BYTES: usize = 1 << 20;
/// The size of an array of references before its elements: tag, id, trace, length, class.
const ARRAY_HEAD_BYTES: usize = 1 + ID_BYTES + 4 + 4 + ID_BYTES;
/// The most elements of an array, which a segment must hold.
const MOST_ELEMENTS: u32 = 1 << 28;
/// Classes that only traces name have ids from here on downwards.
const LAST_ID: u64 = u64::MAX;

/// Tags of records.
mod tag {
    pub(super) const UTF8: u8 = 0x01;
    pub(super) const LOAD_CLASS: u8 = 0x02;
    pub(super) const STACK_FRAME: u8 = 0x04;
    pub(super) const STACK_TRACE: u8 = 0x05;
    pub(super) const START_THREAD: u8 = 0x0A;
    pub(super) const HEAP_DUMP_SEGMENT: u8 = 0x1C;
    pub(super) const HEAP_DUMP_END: u8 = 0x2C;
}

/// A file of records that is being written.
pub(super) struct Records {
    scratch: Scratch,
    /// Sub-records of the segment at hand.
    segment: Bytes,
    name_ids: HashMap<Box<[u8]>, u64>,
    class_count: u32,
}

impl Records {
    /// Begins a file.
    pub(super) fn begin(options: &Options, profile: &Profile) -> Result<Self, Error> {
        let mut scratch = Scratch::create(options)?;
        let mut head = Bytes::default();
        head.bytes(TITLE.as_bytes()).u1(0).u4(ID_BYTES as u32);
        head.id(profile.created.map_or(0, |created| created.unix_ms));
        scratch.write(&head.0)?;
        let (segment, name_ids) = (Bytes::default(), HashMap::new());
        Ok(Self { scratch, segment, name_ids, class_count: 0 })
    }

    /// Writes the classes, and the threads and traces of the text.
    pub(super) fn classes(
        &mut self,
        classes: &TextClasses,
        profile: &Profile,
    ) -> Result<(), Error> {
        let mut serials = HashMap::new();
        for class in classes.all() {
            let serial = self.load_class(class.id, &class.name)?;
            serials.entry(source_form(&class.name)).or_insert(serial);
        }
        let strings = &profile.symbols.strings;
        for thread in &profile.threads {
            let mut body = Bytes::default();
            body.u4(thread.serial).id(thread.object_id).u4(0);
            for name in [Some(thread.name), thread.group, thread.parent_group] {
                let text = name.map(|name| mutf8::encode(strings.get(name)));
                body.id(text.map_or(Ok(0), |text| self.name(&text))?);
            }
            self.record(tag::START_THREAD, &body)?;
        }
        let mut written = HashMap::new();
        for trace in profile.traces() {
            let mut body = Bytes::default();
            let frames: Vec<_> = profile.tree.frames(trace.node).collect();
            let thread = trace.thread.map_or(0, |thread| profile.get_thread(thread).serial);
            body.u4(trace.serial).u4(thread).u4(frames.len() as u32);
            for frame in frames {
                let next = written.len() as u64 + 1;
                let id = match written.entry(frame) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(new) => {
                        self.frame(*new.insert(next), profile, frame, &mut serials)?;
                        next
                    }
                };
                body.id(id);
            }
            self.record(tag::STACK_TRACE, &body)?;
        }
        classes.all().iter().try_for_each(|class| self.class(class))
    }

    fn frame(
        &mut self,
        id: u64,
        profile: &Profile,
        frame: FrameId,
        serials: &mut HashMap<String, u32>,
    ) -> Result<(), Error> {
        let symbols = &profile.symbols;
        let frame = symbols.get_frame(frame);
        let method = symbols.get_method(frame.method);
        let class = symbols.class_name(method.class);
        let serial = match serials.get(class) {
            Some(&serial) => serial,
            None => {
                let id = LAST_ID - u64::from(self.class_count);
                let serial = self.load_class(id, class.as_bytes())?;
                *serials.entry(class.to_owned()).or_insert(serial)
            }
        };
        let mut body = Bytes::default();
        body.id(id);
        for name in [Some(method.name), method.signature, method.source] {
            let text = name.map(|name| mutf8::encode(symbols.strings.get(name)));
            body.id(text.map_or(Ok(0), |text| self.name(&text))?);
        }
        body.u4(serial).u4(frame.line.to_hprof().cast_unsigned());
        self.record(tag::STACK_FRAME, &body)
    }

    /// Writes LOAD CLASS. Returns the serial number.
    fn load_class(&mut self, id: u64, name: &[u8]) -> Result<u32, Error> {
        let source = source_form(name);
        let internal = match source.ends_with(']') {
            true => names::to_signature(&source),
            false => source.replace('.', "/"),
        };
        let name = self.name(&mutf8::encode(&internal))?;
        self.class_count += 1;
        let mut body = Bytes::default();
        body.u4(self.class_count).id(id).u4(0).id(name);
        self.record(tag::LOAD_CLASS, &body)?;
        Ok(self.class_count)
    }

    /// Writes CLASS DUMP.
    fn class(&mut self, class: &TextClass) -> Result<(), Error> {
        let most = usize::from(u16::MAX);
        let object = FieldType::Object.to_hprof();
        let mut body = Bytes::default();
        body.u1(sub::CLASS).id(class.id).u4(class.trace);
        for id in [class.superclass, class.loader, class.signers, class.domain, 0, 0] {
            body.id(id);
        }
        body.u4(u32::try_from(class.bytes).unwrap_or(u32::MAX));
        let constants = &class.constants[..class.constants.len().min(most)];
        body.u2(constants.len() as u16);
        for &(index, id) in constants {
            body.u2(index).u1(object).id(id);
        }
        let statics = &class.statics[..class.statics.len().min(most)];
        body.u2(statics.len() as u16);
        for (name, id) in statics {
            body.id(self.name(name)?).u1(object).id(*id);
        }
        let declared = &class.declared[..class.declared.len().min(most)];
        body.u2(declared.len() as u16);
        for field in declared {
            body.id(self.name(&field.name)?).u1(object);
        }
        self.sub_record(&body)
    }

    pub(super) fn root(&mut self, id: u64, kind: RootKind) -> Result<(), Error> {
        let mut body = Bytes::default();
        body.u1(kind.tag()).id(id);
        match kind {
            RootKind::JniGlobal(reference) => body.id(reference),
            RootKind::JniLocal(stack)
            | RootKind::JavaFrame(stack)
            | RootKind::JniMonitor(stack) => body.u4(stack.thread_serial).u4(stack.depth),
            RootKind::NativeStack(serial) | RootKind::ThreadBlock(serial) => body.u4(serial),
            RootKind::Thread { serial, trace } => body.u4(serial).u4(trace),
            _ => &mut body,
        };
        self.sub_record(&body)
    }

    pub(super) fn instance(
        &mut self,
        id: u64,
        trace: u32,
        class: u64,
        values: &[u64],
    ) -> Result<(), Error> {
        let segment = &mut self.segment;
        segment.u1(sub::INSTANCE).id(id).u4(trace).id(class);
        segment.u4((values.len() * ID_BYTES) as u32);
        for &value in values {
            segment.id(value);
        }
        self.segment_ends_if_full()
    }

    /// Writes an array of a primitive type, without its elements.
    pub(super) fn primitives(
        &mut self,
        id: u64,
        trace: u32,
        element: FieldType,
        length: u32,
    ) -> Result<(), Error> {
        let segment = &mut self.segment;
        segment.u1(sub::PRIMITIVE_ARRAY_NODATA).id(id).u4(trace).u4(length).u1(element.to_hprof());
        self.segment_ends_if_full()
    }

    /// Writes an array of references: of those that are not null, by their indexes.
    pub(super) fn references(
        &mut self,
        id: u64,
        trace: u32,
        class: u64,
        length: u32,
        mut elements: Vec<(u32, u64)>,
    ) -> Result<(), Error> {
        if length > MOST_ELEMENTS {
            return Err(Error::Refused(format!("array {id:#x} has {length} elements")));
        }
        elements.sort_by_key(|&(index, _)| index);
        let content_bytes = length as usize * ID_BYTES;
        let is_large = content_bytes > SEGMENT_BYTES;
        if is_large {
            // A segment of its own, which goes to the file as it is made.
            self.segment_ends()?;
            let bytes = ARRAY_HEAD_BYTES + content_bytes;
            self.segment.u1(tag::HEAP_DUMP_SEGMENT).u4(0).u4(bytes as u32);
        }
        let segment = &mut self.segment;
        segment.u1(sub::OBJECT_ARRAY).id(id).u4(trace).u4(length).id(class);
        let mut elements = elements.into_iter().peekable();
        for index in 0..length {
            let mut value = 0;
            while let Some((_, id)) = elements.next_if(|&(at, _)| at == index) {
                value = id;
            }
            segment.id(value);
            if is_large && segment.0.len() >= SEGMENT_BYTES {
                self.scratch.write(&segment.0)?;
                segment.0.clear();
            }
        }
        if is_large {
            self.scratch.write(&segment.0)?;
            segment.0.clear();
        }
        self.segment_ends_if_full()
    }

    /// Ends the dump.
    pub(super) fn finish(mut self) -> Result<File, Error> {
        self.segment_ends()?;
        self.record(tag::HEAP_DUMP_END, &Bytes::default())?;
        self.scratch.into_file()
    }

    fn sub_record(&mut self, body: &Bytes) -> Result<(), Error> {
        self.segment.bytes(&body.0);
        self.segment_ends_if_full()
    }

    fn segment_ends_if_full(&mut self) -> Result<(), Error> {
        if self.segment.0.len() < SEGMENT_BYTES { Ok(()) } else { self.segment_ends() }
    }

    fn segment_ends(&mut self) -> Result<(), Error> {
        let mut segment = std::mem::take(&mut self.segment);
        if !segment.0.is_empty() {
            self.record(tag::HEAP_DUMP_SEGMENT, &segment)?;
            segment.0.clear();
        }
        self.segment = segment;
        Ok(())
    }

    /// Returns the id of a name.
    fn name(&mut self, name: &[u8]) -> Result<u64, Error> {
        if let Some(&id) = self.name_ids.get(name) {
            return Ok(id);
        }
        let id = self.name_ids.len() as u64 + 1;
        self.name_ids.insert(name.into(), id);
        let mut body = Bytes::default();
        body.id(id).bytes(name);
        self.record(tag::UTF8, &body)?;
        Ok(id)
    }

    fn record(&mut self, tag: u8, body: &Bytes) -> Result<(), Error> {
        let mut head = Bytes::default();
        head.u1(tag).u4(0).u4(body.0.len() as u32);
        self.scratch.write(&head.0)?;
        self.scratch.write(&body.0)
    }
}

/// Returns the source form of a class's name: texts before JDK 5 have slashes and signatures.
fn source_form(name: &[u8]) -> String {
    perk_hprof::heap::source_form(&mutf8::decode(name))
}

/// Bytes that are assembled, numbers big endian.
#[derive(Debug, Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn u1(&mut self, number: u8) -> &mut Self {
        self.bytes(&[number])
    }

    fn u2(&mut self, number: u16) -> &mut Self {
        self.bytes(&number.to_be_bytes())
    }

    fn u4(&mut self, number: u32) -> &mut Self {
        self.bytes(&number.to_be_bytes())
    }

    fn id(&mut self, id: u64) -> &mut Self {
        self.bytes(&id.to_be_bytes())
    }
}
