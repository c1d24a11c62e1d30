//! Reads the JVM's dump and passes each of its records, with perk's names and numbers, to a writer.

use std::io::{self, Read};

use perk_profile::{Line, Profile, StrId, TraceId, mutf8};

use super::classes::{DumpNames, ID_BYTES, source_form};
use super::fillers::Fillers;
use super::records::number;
use super::threads::{DumpThreads, JvmFrame, RootedThread};
use super::{
    ClassDump, Context, Elements, FieldType, HeapClass, HeapClasses, HeapCounts, HeapOptions,
    InstanceLayout, Record, Root, Stream,
};
use crate::{Error, ThreadStart};

/// The serial number of the trace of objects whose trace is not known.
const NO_TRACE: u32 = 0;

/// The beginning of an array's record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrayHead {
    pub(crate) id: u64,
    /// The serial number of its trace.
    pub(crate) trace: u32,
    pub(crate) elements: Elements,
    pub(crate) length: u32,
    /// The size of the array, as the context counts it.
    pub(crate) object_bytes: u64,
}

/// A writer of a heap dump. The methods that write are called in this order, but the first four at
/// any time.
pub(crate) trait Sink {
    /// Whether the static fields of a class are needed after [`Sink::class`].
    const KEEPS_STATICS: bool;

    /// Whether threads and traces that come after all objects can still be written before the heap.
    fn holds_heap_back(&self) -> bool;

    /// Writes a class's address and name.
    fn load_class(&mut self, profile: &Profile, class: u64, name: StrId) -> io::Result<()>;
    /// Writes a thread that the file does not know.
    fn thread_start(&mut self, thread: &ThreadStart<'_>) -> io::Result<()>;
    /// Writes a trace that a record to come refers to.
    fn trace(&mut self, profile: &Profile, trace: TraceId) -> io::Result<()>;
    /// Writes a class.
    fn class(
        &mut self,
        profile: &Profile,
        class: &HeapClass,
        layout: &InstanceLayout,
    ) -> io::Result<()>;
    /// Writes an instance, with its id and the serial number of its trace.
    fn instance(
        &mut self,
        profile: &Profile,
        object: (u64, u32),
        class: &HeapClass,
        layout: &InstanceLayout,
        values: &[u8],
    ) -> io::Result<()>;
    /// Writes an array, with its class, if that is given, and its first elements.
    fn array(
        &mut self,
        profile: &Profile,
        array: &ArrayHead,
        class: Option<&HeapClass>,
        elements: &[u8],
    ) -> io::Result<()>;
    /// Writes more elements of that array.
    fn more_elements(&mut self, elements: &[u8]) -> io::Result<()>;
    /// Writes the roots. If the sink holds the heap back, the threads and traces that they name
    /// come next.
    fn roots(&mut self, roots: &[Root]) -> io::Result<()>;
    /// Writes all other data, which comes last.
    fn end(
        &mut self,
        profile: &Profile,
        roots: &[Root],
        classes: &HeapClasses,
        counts: &HeapCounts,
    ) -> io::Result<()>;
}

/// A dump that is being rewritten.
pub(crate) struct Rewrite<'a> {
    pub(crate) profile: &'a mut Profile,
    pub(crate) options: &'a HeapOptions,
    pub(crate) context: &'a mut dyn Context,
}

impl Rewrite<'_> {
    /// Reads the dump to its end.
    pub(crate) fn run(
        &mut self,
        input: &mut impl Read,
        sink: &mut impl Sink,
    ) -> io::Result<HeapCounts> {
        let (header, mut stream) = Stream::new(input)?;
        if header.id_bytes != ID_BYTES {
            let what = format!("ids of {} bytes, expected {ID_BYTES}", header.id_bytes);
            return Err(stream.error(what));
        }
        let mut dump = DumpData::new(self.options);
        loop {
            let offset = stream.offset();
            let Some(record) = stream.next()? else {
                return Err(stream.error("the file ends before HEAP DUMP END".to_owned()));
            };
            if matches!(record, Record::DumpEnd) {
                break;
            }
            self.record(&mut dump, sink, record).map_err(|fault| fault.at(offset))?;
        }
        let end = stream.offset();
        self.write_classes(&mut dump, sink).map_err(|fault| fault.at(end))?;
        self.write_held(&mut dump, sink)?;
        let DumpData { mut names, classes, threads, mut counts, .. } = dump;
        let (roots, threads) = threads
            .resolve(self.profile, self.context, &mut names, sink.holds_heap_back())
            .map_err(|what| RecordFault::Data(what).at(end))?;
        sink.roots(&roots)?;
        if sink.holds_heap_back() {
            threads.iter().try_for_each(|thread| self.stack(sink, thread))?;
        }
        counts.root_count = roots.len() as u64;
        counts.thread_count = threads.len() as u64;
        sink.end(self.profile, &roots, &classes, &counts)?;
        Ok(counts)
    }

    #[inline]
    fn record<S: Sink>(
        &mut self,
        dump: &mut DumpData,
        sink: &mut S,
        record: Record<'_>,
    ) -> Result<(), RecordFault> {
        match record {
            Record::Instance { id, class, values, .. } => {
                self.instance(dump, sink, id, class, values)
            }
            Record::Array { id, elements, length, bytes, .. } => {
                let array = ArrayHead { id, trace: NO_TRACE, elements, length, object_bytes: 0 };
                self.array(dump, sink, array, bytes)
            }
            Record::MoreElements(bytes) => self.more_elements(dump, sink, bytes),
            Record::Root(root) => {
                dump.fillers.referenced.insert(root.id);
                dump.threads.root(root);
                Ok(())
            }
            Record::Class(class) => self.class(dump, &class),
            Record::Utf8 { id, bytes } => {
                dump.names.insert(id, bytes);
                Ok(())
            }
            Record::LoadClass { serial, class, name } => {
                let Some(bytes) = dump.names.get(name) else {
                    return Err(RecordFault::Data(format!(
                        "no UTF8 record gives a class's name, id {name:#x}"
                    )));
                };
                let name = source_form(&mutf8::decode(bytes));
                let name = self.profile.symbols.strings.intern(&name);
                dump.threads.class(serial, name);
                // A class that is about to be defined has no object yet.
                if class != 0 && dump.classes.load(self.profile, class, name) {
                    sink.load_class(self.profile, class, name)?;
                }
                Ok(())
            }
            Record::Frame { id, method, signature, source, class_serial, line } => {
                let line = match Line::from_hprof(line) {
                    _ if !self.options.lines => Line::Unknown,
                    Line::Native if !self.options.native_lines => Line::Unknown,
                    line => line,
                };
                let frame = JvmFrame { method, signature, source, class_serial, line };
                dump.threads.frame(id, frame);
                Ok(())
            }
            Record::Trace { serial, thread_serial, frames } => {
                dump.threads.trace(serial, thread_serial, frames.iter());
                Ok(())
            }
            Record::Segment { .. } => self.stacks(dump, sink),
            Record::Header(_)
            | Record::Heap { .. }
            | Record::DumpEnd
            | Record::Body { .. }
            | Record::Other { .. } => Ok(()),
        }
    }

    /// Writes the stacks of threads before the first segment, unless the sink holds the heap back.
    fn stacks(&mut self, dump: &mut DumpData, sink: &mut impl Sink) -> Result<(), RecordFault> {
        if std::mem::replace(&mut dump.has_segment, true) || sink.holds_heap_back() {
            return Ok(());
        }
        let threads = dump.threads.before_heap(self.profile, self.context, &mut dump.names);
        for thread in &threads.map_err(RecordFault::Data)? {
            self.stack(sink, thread)?;
        }
        Ok(())
    }

    /// Writes the stack of a thread. If the file does not know the thread, its start comes first.
    fn stack(&self, sink: &mut impl Sink, thread: &RootedThread) -> io::Result<()> {
        if thread.is_new {
            sink.thread_start(&ThreadStart::of(self.profile, thread.thread))?;
        }
        sink.trace(self.profile, thread.trace)
    }

    fn class(&mut self, dump: &mut DumpData, class: &ClassDump<'_>) -> Result<(), RecordFault> {
        let statics = class.statics().filter(|it| it.value.field == FieldType::Object);
        statics.for_each(|it| dump.fillers.referenced.insert(it.value.bits()));
        dump.classes.dump(self.profile, &mut dump.names, class).map_err(RecordFault::Data)?;
        dump.unwritten.push(class.id);
        dump.counts.class_count += 1;
        Ok(())
    }

    /// Writes the classes that have come since the last object. Only now are the fields of the
    /// classes above them known.
    #[cold]
    fn write_classes<S: Sink>(
        &mut self,
        dump: &mut DumpData,
        sink: &mut S,
    ) -> Result<(), RecordFault> {
        for id in std::mem::take(&mut dump.unwritten) {
            let (class, layout) =
                dump.classes.with_layout(self.profile, id).map_err(RecordFault::Data)?;
            sink.class(self.profile, class, layout)?;
            if !S::KEEPS_STATICS {
                dump.classes.forget_statics(id);
            }
        }
        Ok(())
    }

    #[inline]
    fn instance<S: Sink>(
        &mut self,
        dump: &mut DumpData,
        sink: &mut S,
        id: u64,
        class: u64,
        values: &[u8],
    ) -> Result<(), RecordFault> {
        if !dump.unwritten.is_empty() {
            self.write_classes(dump, sink)?;
        }
        let classes = &mut dump.classes;
        let (class, layout) =
            classes.of_instance(self.profile, self.context, class).map_err(RecordFault::Data)?;
        if values.len() != layout.stream_bytes {
            let (found, expected) = (values.len(), layout.stream_bytes);
            let name = self.profile.symbols.strings.get(class.name);
            let what = format!("an instance of {name} has {found} bytes, its fields {expected}");
            return Err(RecordFault::Data(what));
        }
        if class.is_filler {
            return Ok(());
        }
        for field in layout.references() {
            dump.fillers.referenced.insert(number(&values[field.at..field.at + ID_BYTES]));
        }
        if layout.is_stack_chunk {
            dump.fillers.has_hidden_references |= !self.context.roots_parked_frames();
        }
        if let Some(at) = layout.tid_at {
            dump.threads.tid(id, number(&values[at..at + 8]));
        }
        let mut trace = NO_TRACE;
        if self.options.with_traces {
            let found = match layout.record_at.map(|at| number(&values[at..at + 4]) as u32) {
                Some(0) => None,
                Some(record) => self.context.object_trace(self.profile, class.name, record),
                None => self.context.kept_trace(self.profile, id),
            };
            if let Some(found) = found {
                trace = self.trace(sink, found)?;
            }
        }
        dump.counts.object_count += 1;
        dump.counts.object_bytes += class.object_bytes;
        Ok(sink.instance(self.profile, (id, trace), class, layout, values)?)
    }

    fn array<S: Sink>(
        &mut self,
        dump: &mut DumpData,
        sink: &mut S,
        mut array: ArrayHead,
        elements: &[u8],
    ) -> Result<(), RecordFault> {
        if !dump.unwritten.is_empty() {
            self.write_classes(dump, sink)?;
        }
        let mut is_known = false;
        if self.options.with_traces
            && let Some(found) = self.context.kept_trace(self.profile, array.id)
        {
            is_known = found != self.profile.system_trace();
            array.trace = self.trace(sink, found)?;
        }
        if array.elements == Elements::Primitives(FieldType::Int)
            && !is_known
            && !dump.fillers.is_of_program(array.id)
        {
            dump.rest = ElementsUse::Held;
            return Ok(dump.fillers.hold(&self.options.folder, &array, elements)?);
        }
        self.count_array(&mut dump.counts, &mut array);
        dump.rest = ElementsUse::Written;
        let class = match array.elements {
            Elements::Objects(class) => {
                let what = || format!("an array of class {class:#x}, which no record gives");
                let class = dump.classes.get(class).ok_or_else(|| RecordFault::Data(what()))?;
                if class.holds_int_arrays {
                    dump.rest = ElementsUse::Looked;
                    dump.fillers.refer(elements);
                }
                Some(class)
            }
            Elements::Primitives(_) => None,
        };
        Ok(sink.array(self.profile, &array, class, elements)?)
    }

    /// Takes more elements of the array that came last.
    fn more_elements(
        &self,
        dump: &mut DumpData,
        sink: &mut impl Sink,
        elements: &[u8],
    ) -> Result<(), RecordFault> {
        match dump.rest {
            ElementsUse::Held => return Ok(dump.fillers.more_elements(elements)?),
            ElementsUse::Looked => dump.fillers.refer(elements),
            ElementsUse::Written => {}
        }
        Ok(sink.more_elements(elements)?)
    }

    fn count_array(&mut self, counts: &mut HeapCounts, array: &mut ArrayHead) {
        array.object_bytes = self.context.array_bytes(array.elements.field_type(), array.length);
        counts.object_count += 1;
        counts.object_bytes += array.object_bytes;
    }

    /// Writes the arrays that have waited, except for fillers.
    fn write_held(&mut self, dump: &mut DumpData, sink: &mut impl Sink) -> io::Result<()> {
        let Some(mut held) = dump.fillers.held()? else { return Ok(()) };
        while let Some(mut array) = held.next()? {
            if !dump.fillers.is_of_program(array.id) {
                held.pass(&array)?;
                continue;
            }
            self.count_array(&mut dump.counts, &mut array);
            let mut is_begun = false;
            held.elements(&array, |elements| match std::mem::replace(&mut is_begun, true) {
                false => sink.array(self.profile, &array, None, elements),
                true => sink.more_elements(elements),
            })?;
        }
        Ok(())
    }

    /// Passes a trace to the sink, so that it is in the file, and returns its serial number.
    fn trace(&self, sink: &mut impl Sink, trace: TraceId) -> io::Result<u32> {
        sink.trace(self.profile, trace)?;
        Ok(self.profile.get_trace(trace).serial)
    }
}

/// The data that is kept of a dump while it is read.
struct DumpData {
    names: DumpNames,
    classes: HeapClasses,
    threads: DumpThreads,
    fillers: Fillers,
    counts: HeapCounts,
    has_segment: bool,
    /// The handling of the elements of the array at hand.
    rest: ElementsUse,
    /// Classes whose CLASS DUMP has come and is not written yet.
    unwritten: Vec<u64>,
}

impl DumpData {
    fn new(options: &HeapOptions) -> Self {
        Self {
            names: DumpNames::default(),
            classes: HeapClasses::new(options.own_fields),
            threads: DumpThreads::default(),
            fillers: Fillers::default(),
            counts: HeapCounts::default(),
            has_segment: false,
            rest: ElementsUse::Written,
            unwritten: Vec::new(),
        }
    }
}

/// The handling of further elements of an array.
#[derive(Clone, Copy)]
enum ElementsUse {
    Written,
    /// They are searched for references, and written.
    Looked,
    /// They wait in the temporary file.
    Held,
}

/// A failure at a record.
enum RecordFault {
    /// A fault in its data.
    Data(String),
    /// A failure to write it.
    Io(io::Error),
}

impl From<io::Error> for RecordFault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl RecordFault {
    fn at(self, offset: u64) -> io::Error {
        match self {
            Self::Data(what) => {
                let error = Error::Binary { offset: offset as usize, what };
                io::Error::new(io::ErrorKind::InvalidData, error)
            }
            Self::Io(error) => error,
        }
    }
}
