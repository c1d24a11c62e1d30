//! Writes heap dumps: HEAP DUMP SEGMENT records and HEAP DUMP END.
//!
//! VisualVM takes everything from the first segment to the last as one sequence of sub-records, so
//! no other record may be between two segments. Names, classes, the traces of objects and the
//! stacks of threads come before the first.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::Path;

use perk_profile::{Profile, StrId, TraceId};

use super::Writer;
use crate::binary::tag;
use crate::heap::{
    ArrayHead, Context, Elements, FieldPlace, FieldType, HeapClass, HeapClasses, HeapCounts,
    HeapOptions, InstanceLayout, Rewrite, Root, RootKind, Sink, number, sub,
};
use crate::{IdSize, ThreadStart, Version};

/// A segment ends with the object that brings it to this size.
const SEGMENT_BYTES: usize = 1 << 20;
/// The serial numbers of the classes of heap dumps begin above those of all others.
const FIRST_CLASS_SERIAL: u32 = 1_000_000_000;

/// The state of heap dumps in a file.
#[derive(Clone, Debug, Default)]
pub(super) struct HeapState {
    /// Whether trace 0 is written. It is the trace of objects whose trace is not known.
    has_no_trace: bool,
    class_count: u32,
}

impl<W: Write> Writer<W> {
    /// Rewrites the JVM's heap dump: see [`crate::Writer::heap_dump`].
    pub fn heap_dump(
        &mut self,
        profile: &mut Profile,
        input: &mut impl Read,
        options: &HeapOptions,
        context: &mut dyn Context,
    ) -> io::Result<HeapCounts> {
        if !std::mem::replace(&mut self.heap.has_no_trace, true) {
            self.record(tag::STACK_TRACE, self.body().u4(0).u4(0).u4(0))?;
        }
        let spool = match self.form.version {
            Version::V1_0_1 => Some(Spool::new(&options.folder)?),
            Version::V1_0_2 => None,
        };
        if options.with_traces {
            (0..profile.traces().len())
                .try_for_each(|index| self.trace(profile, TraceId::new(index)))?;
        }
        let mut segments = Segments {
            id_size: self.form.id_size,
            writer: self,
            segment: Vec::new(),
            options,
            spool,
            large: None,
            jni_global_count: 0,
        };
        let counts = Rewrite { profile, options, context }.run(input, &mut segments);
        match &counts {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                segments.complete_array()?
            }
            _ => {}
        }
        counts
    }
}

/// The sub-records, gathered into segments.
struct Segments<'w, W: Write> {
    writer: &'w mut Writer<W>,
    options: &'w HeapOptions,
    id_size: IdSize,
    /// The sub-records that are not written yet.
    segment: Vec<u8>,
    /// All other sub-records, if the dump is to be one record.
    spool: Option<Spool>,
    /// The type and number of the elements that are not written yet, if their array has its own
    /// segment.
    large: Option<(FieldType, u32)>,
    jni_global_count: u32,
}

/// The body of a HEAP DUMP.
struct Spool {
    file: BufWriter<File>,
    bytes: u64,
}

impl Spool {
    fn new(folder: &Path) -> io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 16, perk_files::nameless(folder)?);
        Ok(Self { file, bytes: 0 })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        if self.bytes > u32::MAX.into() {
            return Err(invalid(
                "the heap dump is larger than 4 GiB, which version 1.0.1 has no place for: leave \
                 out version=1.0.1"
                    .to_owned(),
            ));
        }
        self.file.write_all(bytes)
    }
}

impl<W: Write> Segments<'_, W> {
    /// Begins a sub-record of an object or root.
    fn begin(&mut self, tag: u8, address: u64) -> io::Result<()> {
        if self.segment.len() >= SEGMENT_BYTES {
            self.flush()?;
        }
        self.segment.push(tag);
        self.object(address)
    }

    fn u2(&mut self, value: u16) {
        self.segment.extend_from_slice(&value.to_be_bytes());
    }

    fn u4(&mut self, value: u32) {
        self.segment.extend_from_slice(&value.to_be_bytes());
    }

    /// Writes the id of an object, given by its address.
    #[inline]
    fn object(&mut self, address: u64) -> io::Result<()> {
        if self.id_size == IdSize::Eight {
            self.segment.extend_from_slice(&address.to_be_bytes());
            return Ok(());
        }
        let id = self.id_of(address)?;
        self.u4(id as u32);
        Ok(())
    }

    fn id_of(&self, address: u64) -> io::Result<u64> {
        self.id_size.of_address(address).ok_or_else(|| {
            invalid(format!(
                "an object at {address:#x} has no id of 4 bytes, which reach to 32 GiB: leave out \
                 idsize=4"
            ))
        })
    }

    /// Writes the id of a name.
    fn name(&mut self, profile: &Profile, name: StrId) -> io::Result<()> {
        let id = self.id_size.own(self.writer.name(profile, Some(name))?);
        let bytes = self.id_size.bytes();
        self.segment.extend_from_slice(&id.to_be_bytes()[8 - bytes..]);
        Ok(())
    }

    /// Writes values of the JVM's dump. They are all of one type or, with ids of eight bytes, of
    /// any type.
    fn values(&mut self, field: FieldType, bytes: &[u8]) -> io::Result<()> {
        if field == FieldType::Object && self.id_size == IdSize::Four {
            return bytes.chunks_exact(8).try_for_each(|id| self.object(number(id)));
        }
        self.segment.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes the sub-records gathered so far.
    fn flush(&mut self) -> io::Result<()> {
        if self.segment.is_empty() {
            return Ok(());
        }
        match &mut self.spool {
            Some(spool) => spool.write(&self.segment)?,
            None => {
                self.writer.record_of(tag::HEAP_DUMP_SEGMENT, &self.segment)?;
                // A reader of the growing file must find only whole records.
                self.writer.out.flush()?;
            }
        }
        self.segment.clear();
        self.segment.shrink_to(2 * SEGMENT_BYTES);
        Ok(())
    }

    /// Writes a part of a segment whose head is written.
    fn flush_part(&mut self) -> io::Result<()> {
        match &mut self.spool {
            Some(spool) => spool.write(&self.segment)?,
            None => self.writer.out.write_all(&self.segment)?,
        }
        self.segment.clear();
        Ok(())
    }

    /// Fills up an array whose head is written, if the input ends within it. Its length must be
    /// right for the records after it to be found.
    fn complete_array(&mut self) -> io::Result<()> {
        static ZEROES: [u8; 1 << 12] = [0; 1 << 12];
        while let Some((element, left_count)) = self.large.filter(|large| large.1 > 0) {
            let count = (left_count as usize).min(ZEROES.len() / element.bytes(8));
            self.more_elements(&ZEROES[..count * element.bytes(8)])?;
        }
        Ok(())
    }

    /// Returns the size of an instance's values in the file, in bytes.
    #[inline]
    fn instance_bytes(&self, layout: &InstanceLayout) -> u32 {
        let bytes = match self.id_size {
            IdSize::Eight => layout.kept_bytes,
            IdSize::Four => layout.kept_bytes - 4 * layout.references().len(),
        };
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    fn root(&mut self, root: Root) -> io::Result<()> {
        self.begin(root.kind.tag(), root.id)?;
        match root.kind {
            RootKind::JniGlobal(reference) if self.id_size == IdSize::Eight => {
                self.segment.extend_from_slice(&reference.to_be_bytes());
            }
            RootKind::JniGlobal(_) => {
                self.jni_global_count += 1;
                self.u4(self.jni_global_count);
            }
            RootKind::JniLocal(stack)
            | RootKind::JavaFrame(stack)
            | RootKind::JniMonitor(stack) => {
                self.u4(stack.thread_serial);
                self.u4(stack.depth);
            }
            RootKind::NativeStack(serial) | RootKind::ThreadBlock(serial) => self.u4(serial),
            RootKind::Thread { serial, trace } => {
                self.u4(serial);
                self.u4(trace);
            }
            _ => {}
        }
        Ok(())
    }
}

impl<W: Write> Sink for Segments<'_, W> {
    const KEEPS_STATICS: bool = false;

    fn holds_heap_back(&self) -> bool {
        self.spool.is_some()
    }

    fn load_class(&mut self, profile: &Profile, class: u64, name: StrId) -> io::Result<()> {
        let serial = FIRST_CLASS_SERIAL + self.writer.heap.class_count;
        self.writer.heap.class_count += 1;
        let name = self.writer.name(profile, Some(name))?;
        let body = self.writer.body().u4(serial).id(self.id_of(class)?).u4(0).id(name);
        self.writer.record(tag::LOAD_CLASS, body)
    }

    fn thread_start(&mut self, thread: &ThreadStart<'_>) -> io::Result<()> {
        let object_id = self.id_of(thread.object_id)?;
        self.writer.thread_start(&ThreadStart { object_id, ..*thread })
    }

    fn trace(&mut self, profile: &Profile, trace: TraceId) -> io::Result<()> {
        self.writer.trace(profile, trace)
    }

    fn class(
        &mut self,
        profile: &Profile,
        class: &HeapClass,
        layout: &InstanceLayout,
    ) -> io::Result<()> {
        // No segment ends while names may still have to be written.
        self.segment.push(sub::CLASS);
        self.object(class.id)?;
        self.u4(0);
        for id in [class.superclass, class.loader, class.signers, class.domain, 0, 0] {
            self.object(id)?;
        }
        self.u4(self.instance_bytes(layout));
        self.u2(0);
        self.u2(class.statics.len() as u16);
        for &(name, field, bits) in &class.statics {
            self.name(profile, name)?;
            self.segment.push(field.to_hprof());
            let has_value = field == FieldType::Object || self.options.primitive_fields;
            let bits = if has_value { bits } else { 0 };
            self.values(field, &bits.to_be_bytes()[8 - field.bytes(8)..])?;
        }
        self.u2(class.fields().count() as u16);
        for (name, field) in class.fields() {
            self.name(profile, name)?;
            self.segment.push(field.to_hprof());
        }
        Ok(())
    }

    #[inline]
    fn instance(
        &mut self,
        _: &Profile,
        (id, trace): (u64, u32),
        class: &HeapClass,
        layout: &InstanceLayout,
        values: &[u8],
    ) -> io::Result<()> {
        if self.id_size == IdSize::Eight && self.options.primitive_fields {
            // Instances are nearly all of a dump: one piece for the head, and mostly one for the
            // values.
            if self.segment.len() >= SEGMENT_BYTES {
                self.flush()?;
            }
            let mut head = [sub::INSTANCE; 1 + 8 + 4 + 8 + 4];
            head[1..9].copy_from_slice(&id.to_be_bytes());
            head[9..13].copy_from_slice(&trace.to_be_bytes());
            head[13..21].copy_from_slice(&class.id.to_be_bytes());
            head[21..].copy_from_slice(&(layout.kept_bytes as u32).to_be_bytes());
            self.segment.extend_from_slice(&head);
            for part in &layout.kept {
                self.segment.extend_from_slice(&values[part.clone()]);
            }
            return Ok(());
        }
        self.begin(sub::INSTANCE, id)?;
        self.u4(trace);
        self.object(class.id)?;
        self.u4(self.instance_bytes(layout));
        for &FieldPlace { field, at, .. } in &layout.fields {
            let value = &values[at..at + field.bytes(8)];
            if field == FieldType::Object || self.options.primitive_fields {
                self.values(field, value)?;
            } else {
                self.segment.resize(self.segment.len() + value.len(), 0);
            }
        }
        Ok(())
    }

    fn array(
        &mut self,
        _: &Profile,
        array: &ArrayHead,
        _: Option<&HeapClass>,
        elements: &[u8],
    ) -> io::Result<()> {
        let is_written =
            self.options.primitive_arrays || matches!(array.elements, Elements::Objects(_));
        let length = if is_written { array.length } else { 0 };
        let element = array.elements.field_type();
        let is_large =
            is_written && u64::from(length) * element.bytes(8) as u64 > elements.len() as u64;
        self.large = None;
        if is_large {
            self.flush()?;
        }
        let tag = match array.elements {
            Elements::Objects(_) => sub::OBJECT_ARRAY,
            Elements::Primitives(_) => sub::PRIMITIVE_ARRAY,
        };
        self.begin(tag, array.id)?;
        self.u4(array.trace);
        self.u4(length);
        match array.elements {
            Elements::Objects(class) => self.object(class)?,
            Elements::Primitives(element) => self.segment.push(element.to_hprof()),
        }
        if is_large && self.spool.is_none() {
            let left = u64::from(length) * element.bytes(self.id_size.bytes()) as u64;
            self.writer.head(tag::HEAP_DUMP_SEGMENT, self.segment.len() as u64 + left)?;
        }
        if is_large {
            self.large = Some((element, length));
            return self.more_elements(elements);
        }
        if is_written { self.values(element, elements) } else { Ok(()) }
    }

    fn more_elements(&mut self, elements: &[u8]) -> io::Result<()> {
        let Some((element, left_count)) = &mut self.large else { return Ok(()) };
        let element = *element;
        *left_count = left_count.saturating_sub((elements.len() / element.bytes(8)) as u32);
        self.values(element, elements)?;
        self.flush_part()
    }

    fn roots(&mut self, roots: &[Root]) -> io::Result<()> {
        for &root in roots {
            self.root(root)?;
        }
        self.flush()
    }

    fn end(&mut self, _: &Profile, _: &[Root], _: &HeapClasses, _: &HeapCounts) -> io::Result<()> {
        let Some(Spool { mut file, bytes }) = self.spool.take() else {
            return self.writer.record_of(tag::HEAP_DUMP_END, &[]);
        };
        file.flush()?;
        let file = file.get_mut();
        file.rewind()?;
        self.writer.head(tag::HEAP_DUMP, bytes)?;
        io::copy(file, &mut self.writer.out)?;
        Ok(())
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}
