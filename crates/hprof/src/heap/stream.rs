//! Reads an HPROF binary record by record, the sub-records of heap dumps among them, with a buffer
//! of fixed size.

use std::io::{self, Read};

use super::records::{Record, Root, RootKind, number};
use super::{ClassDump, Elements, FieldType, Ids, JavaStack};
use crate::Error;
use crate::binary::tag;

/// The bytes read at once. Elements of arrays that are longer come in parts.
const BUFFER_BYTES: usize = 1 << 20;
/// What a record that must be whole may have: names, traces, classes, instances. The largest that
/// a JVM can make are classes with 65,535 fields and the traces of deep stacks.
const RECORD_LIMIT_BYTES: usize = 1 << 28;

/// A file's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Whatever stands before the NUL: `JAVA PROFILE 1.0.2`.
    pub title: String,
    /// The bytes of an id, 1 to 8.
    pub id_bytes: usize,
    /// When the file was begun, in milliseconds since 1970.
    pub unix_ms: u64,
}

/// A file as a stream of [`Record`]s. It reads no further than the record at hand needs it to, so
/// the file may still be growing.
#[derive(Debug)]
pub struct Stream<R> {
    input: R,
    buffer: Vec<u8>,
    /// The part of the buffer that is read and not used yet.
    start: usize,
    end: usize,
    /// Where `start` is in the file.
    offset: u64,
    id_bytes: usize,
    state: State,
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum State {
    Records,
    /// Sub-records, of so many bytes; whether the dump ends with them.
    Segment(u64, bool),
    /// So many bytes of elements, of that size each; then sub-records.
    Array {
        left: u64,
        element_bytes: usize,
        segment: u64,
        is_whole: bool,
    },
}

impl<R: Read> Stream<R> {
    /// Reads the head.
    ///
    /// # Errors
    /// As the input fails; or of kind [`InvalidData`](io::ErrorKind::InvalidData), with an [`Error`]
    /// that tells the offset. So do all other methods.
    pub fn new(input: R) -> io::Result<(Header, Self)> {
        let mut stream = Self {
            input,
            buffer: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
            offset: 0,
            id_bytes: 8,
            state: State::Records,
        };
        let mut length = 0;
        loop {
            stream.need(length + 1, "the header")?;
            match stream.buffer[length] {
                0 => break,
                _ if length == MAGIC.len() && stream.buffer[..length] != *MAGIC => {
                    let found = format!("\"{}\"", stream.buffer[..length].escape_ascii());
                    return Err(invalid(Error::NotHprof { found }));
                }
                _ if length == TITLE_LIMIT_BYTES => {
                    return Err(stream.error("the header has no NUL".to_owned()));
                }
                _ => length += 1,
            }
        }
        let title = String::from_utf8_lossy(stream.take(length)).into_owned();
        stream.need(1 + 4 + 8, "the header")?;
        let head = stream.take(1 + 4 + 8);
        let (id_bytes, unix_ms) = (number(&head[1..5]) as usize, number(&head[5..]));
        if !(1..=8).contains(&id_bytes) {
            return Err(stream.error(format!("ids of {id_bytes} bytes; 1 to 8 are possible")));
        }
        stream.id_bytes = id_bytes;
        Ok((Header { title, id_bytes, unix_ms }, stream))
    }

    /// The next record; `None` at the end of the file.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "a record borrows the stream's buffer")]
    pub fn next(&mut self) -> io::Result<Option<Record<'_>>> {
        match self.state {
            State::Records => self.record(),
            State::Segment(0, is_whole) => {
                self.state = State::Records;
                if is_whole { Ok(Some(Record::DumpEnd)) } else { self.record() }
            }
            State::Segment(left, is_whole) => self.sub_record(left, is_whole).map(Some),
            State::Array { left, element_bytes, segment, is_whole } => {
                self.need(element_bytes, "an array")?;
                let available = (self.end - self.start) as u64;
                let count = available.min(left) as usize / element_bytes * element_bytes;
                self.state = match left - count as u64 {
                    0 => State::Segment(segment, is_whole),
                    left => State::Array { left, element_bytes, segment, is_whole },
                };
                Ok(Some(Record::MoreElements(self.take(count))))
            }
        }
    }

    /// Bytes from the beginning of the file to what comes next.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes of an id.
    pub fn id_bytes(&self) -> usize {
        self.id_bytes
    }

    /// An error at what comes next.
    pub(super) fn error(&self, what: String) -> io::Error {
        invalid(Error::Binary { offset: self.offset as usize, what })
    }

    fn record(&mut self) -> io::Result<Option<Record<'_>>> {
        if self.start == self.end && !self.fill()? {
            return Ok(None);
        }
        self.need(9, "the head of a record")?;
        let tag = self.buffer[self.start];
        let bytes = number(&self.peek(9)[5..]);
        if matches!(tag, tag::HEAP_DUMP | tag::HEAP_DUMP_SEGMENT) {
            self.take(9);
            self.state = State::Segment(bytes, tag == tag::HEAP_DUMP);
            return Ok(Some(Record::Segment { bytes }));
        }
        let ids = self.id_bytes;
        let (fixed, what) = match tag {
            tag::UTF8 => (ids, "UTF8"),
            tag::LOAD_CLASS => (4 + ids + 4 + ids, "LOAD CLASS"),
            tag::STACK_FRAME => (4 * ids + 4 + 4, "STACK FRAME"),
            tag::STACK_TRACE => (4 + 4 + 4, "STACK TRACE"),
            tag::HEAP_DUMP_END => (0, "HEAP DUMP END"),
            _ => {
                self.take(9);
                self.skip(bytes)?;
                return Ok(Some(Record::Other { tag, bytes }));
            }
        };
        let length = bytes as usize;
        if length < fixed || length > RECORD_LIMIT_BYTES {
            return Err(self.error(format!("{what} of {length} bytes, {fixed} are its least")));
        }
        self.need(9 + length, what)?;
        if tag == tag::STACK_TRACE {
            let count = number(&self.peek(9 + fixed)[9 + 8..]);
            if fixed as u64 + count * ids as u64 != bytes {
                return Err(self.error(format!("STACK TRACE of {length} bytes and {count} frames")));
            }
        } else if tag != tag::UTF8 && length != fixed {
            return Err(self.error(format!("{what} of {length} bytes, expected {fixed}")));
        }
        let mut fields = Fields { rest: &self.take(9 + length)[9..], id_bytes: ids };
        Ok(Some(match tag {
            tag::UTF8 => Record::Utf8 { id: fields.id(), bytes: fields.rest },
            tag::LOAD_CLASS => {
                let (serial, class, _trace) = (fields.u4(), fields.id(), fields.u4());
                Record::LoadClass { serial, class, name: fields.id() }
            }
            tag::STACK_FRAME => Record::Frame {
                id: fields.id(),
                method: fields.id(),
                signature: fields.id(),
                source: fields.id(),
                class_serial: fields.u4(),
                line: fields.u4().cast_signed(),
            },
            tag::STACK_TRACE => {
                let (serial, thread_serial, _count) = (fields.u4(), fields.u4(), fields.u4());
                let frames = Ids { bytes: fields.rest, id_bytes: ids };
                Record::Trace { serial, thread_serial, frames }
            }
            _ => Record::DumpEnd,
        }))
    }

    #[inline]
    fn sub_record(&mut self, left: u64, is_whole: bool) -> io::Result<Record<'_>> {
        self.need(1, "a heap dump")?;
        let ids = self.id_bytes;
        let tag = self.buffer[self.start];
        match tag {
            sub::INSTANCE => {
                let head = 1 + ids + 4 + ids + 4;
                self.need_part(head, left, "an instance")?;
                let length = number(&self.peek(head)[head - 4..]) as usize;
                self.need_part(head + length, left, "an instance")?;
                self.state = State::Segment(left - (head + length) as u64, is_whole);
                let mut fields = Fields { rest: &self.take(head + length)[1..], id_bytes: ids };
                let (id, trace, class) = (fields.id(), fields.u4(), fields.id());
                Ok(Record::Instance { id, trace, class, values: &fields.rest[4..] })
            }
            sub::OBJECT_ARRAY | sub::PRIMITIVE_ARRAY => self.array(tag, left, is_whole),
            sub::CLASS => {
                let parts = self.class_parts(left)?;
                self.state = State::Segment(left - parts.end as u64, is_whole);
                Ok(Record::Class(class(self.take(parts.end), ids, parts)))
            }
            _ => {
                let Some(length) = root_bytes(tag, ids) else {
                    return Err(
                        self.error(format!("no sub-record of a heap dump has tag {tag:#04x}"))
                    );
                };
                self.need_part(length, left, "a root")?;
                self.state = State::Segment(left - length as u64, is_whole);
                let fields = Fields { rest: &self.take(length)[1..], id_bytes: ids };
                Ok(Record::Root(root(tag, fields)))
            }
        }
    }

    fn array(&mut self, tag: u8, left: u64, is_whole: bool) -> io::Result<Record<'_>> {
        let ids = self.id_bytes;
        let last = if tag == sub::OBJECT_ARRAY { ids } else { 1 };
        let head = 1 + ids + 4 + 4 + last;
        self.need_part(head, left, "an array")?;
        let mut fields = Fields { rest: &self.peek(head)[1..], id_bytes: ids };
        let (id, trace, length) = (fields.id(), fields.u4(), fields.u4());
        let elements = match tag {
            sub::OBJECT_ARRAY => Elements::Objects(fields.id()),
            _ => match FieldType::from_hprof(fields.rest[0]) {
                Some(element) if element != FieldType::Object => Elements::Primitives(element),
                _ => {
                    let what = format!("an array's elements have type {}", fields.rest[0]);
                    return Err(self.error(what));
                }
            },
        };
        let element_bytes = elements.field_type().bytes(ids);
        let total = u64::from(length) * element_bytes as u64;
        if total > left - head as u64 {
            let what = format!("an array of {total} bytes runs beyond its segment");
            return Err(self.error(what));
        }
        let segment = left - head as u64 - total;
        self.state = State::Segment(segment, is_whole);
        let bytes = if head as u64 + total <= BUFFER_BYTES as u64 {
            self.need(head + total as usize, "an array")?;
            &self.take(head + total as usize)[head..]
        } else {
            let left = total;
            self.state = State::Array { left, element_bytes, segment, is_whole };
            self.take(head);
            &[]
        };
        Ok(Record::Array { id, trace, elements, length, bytes })
    }

    /// Where the parts of the class that comes next end.
    fn class_parts(&mut self, left: u64) -> io::Result<ClassParts> {
        const WHAT: &str = "a class";
        let ids = self.id_bytes;
        let mut at = 1 + ids + 4 + 6 * ids + 4;
        let mut ends = [0; 3];
        // An entry is a constant's index or the name of a field, a type, and a value but for those
        // of instances.
        for (end, (name, has_value)) in ends.iter_mut().zip([(2, true), (ids, true), (ids, false)])
        {
            self.need_part(at + 2, left, WHAT)?;
            let count = number(&self.peek(at + 2)[at..]);
            at += 2;
            for _ in 0..count {
                self.need_part(at + name + 1, left, WHAT)?;
                let number = self.peek(at + name + 1)[at + name];
                let Some(field) = FieldType::from_hprof(number) else {
                    return Err(self.error(format!("a class has a field of type {number}")));
                };
                at += name + 1 + if has_value { field.bytes(ids) } else { 0 };
            }
            *end = at;
        }
        let [constants, statics, end] = ends;
        self.need_part(end, left, WHAT)?;
        Ok(ClassParts { constants, statics, end })
    }

    /// Makes `count` bytes available, which must lie in what is left of the segment.
    #[inline]
    fn need_part(&mut self, count: usize, left: u64, what: &str) -> io::Result<()> {
        if count as u64 > left {
            return Err(self.error(format!("{what} runs beyond its segment")));
        }
        self.need(count, what)
    }

    /// Makes `count` bytes available.
    #[inline]
    fn need(&mut self, count: usize, what: &str) -> io::Result<()> {
        if self.end - self.start >= count { Ok(()) } else { self.wait(count, what) }
    }

    #[cold]
    fn wait(&mut self, count: usize, what: &str) -> io::Result<()> {
        if count > RECORD_LIMIT_BYTES {
            return Err(self.error(format!("{what} of {count} bytes")));
        }
        while self.end - self.start < count {
            if !self.fill()? {
                let left = self.end - self.start;
                let what =
                    format!("the file is cut off in {what}: {count} bytes expected, {left} left");
                return Err(self.error(what));
            }
        }
        Ok(())
    }

    /// Reads once; false at the end of the file.
    fn fill(&mut self) -> io::Result<bool> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.buffer.len() {
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            } else {
                self.buffer.resize(2 * self.buffer.len(), 0);
            }
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The next bytes, which are available.
    #[inline]
    fn peek(&self, count: usize) -> &[u8] {
        &self.buffer[self.start..self.start + count]
    }

    /// As [`Stream::peek`]; what comes next is behind them.
    #[inline]
    fn take(&mut self, count: usize) -> &[u8] {
        let start = self.start;
        self.start += count;
        self.offset += count as u64;
        &self.buffer[start..self.start]
    }

    fn skip(&mut self, mut count: u64) -> io::Result<()> {
        while count > 0 {
            self.need(1, "a record")?;
            let part = count.min((self.end - self.start) as u64);
            self.take(part as usize);
            count -= part;
        }
        Ok(())
    }
}

const MAGIC: &[u8] = b"JAVA PROFILE 1.0";
const TITLE_LIMIT_BYTES: usize = 64;

/// Tags of sub-records.
pub(crate) mod sub {
    pub(crate) const UNKNOWN: u8 = 0xFF;
    pub(crate) const JNI_GLOBAL: u8 = 0x01;
    pub(crate) const JNI_LOCAL: u8 = 0x02;
    pub(crate) const JAVA_FRAME: u8 = 0x03;
    pub(crate) const NATIVE_STACK: u8 = 0x04;
    pub(crate) const STICKY_CLASS: u8 = 0x05;
    pub(crate) const THREAD_BLOCK: u8 = 0x06;
    pub(crate) const MONITOR: u8 = 0x07;
    pub(crate) const THREAD: u8 = 0x08;
    pub(crate) const CLASS: u8 = 0x20;
    pub(crate) const INSTANCE: u8 = 0x21;
    pub(crate) const OBJECT_ARRAY: u8 = 0x22;
    pub(crate) const PRIMITIVE_ARRAY: u8 = 0x23;
}

/// The bytes of a root, its tag among them.
fn root_bytes(tag: u8, id_bytes: usize) -> Option<usize> {
    let rest = match tag {
        sub::UNKNOWN | sub::STICKY_CLASS | sub::MONITOR => 0,
        sub::JNI_GLOBAL => id_bytes,
        sub::JNI_LOCAL | sub::JAVA_FRAME | sub::THREAD => 8,
        sub::NATIVE_STACK | sub::THREAD_BLOCK => 4,
        _ => return None,
    };
    Some(1 + id_bytes + rest)
}

fn root(tag: u8, mut fields: Fields<'_>) -> Root {
    let id = fields.id();
    let mut stack = || JavaStack { thread_serial: fields.u4(), depth: fields.u4() };
    let kind = match tag {
        sub::JNI_LOCAL => RootKind::JniLocal(stack()),
        sub::JAVA_FRAME => RootKind::JavaFrame(stack()),
        sub::JNI_GLOBAL => RootKind::JniGlobal(fields.id()),
        sub::NATIVE_STACK => RootKind::NativeStack(fields.u4()),
        sub::STICKY_CLASS => RootKind::StickyClass,
        sub::THREAD_BLOCK => RootKind::ThreadBlock(fields.u4()),
        sub::MONITOR => RootKind::Monitor,
        sub::THREAD => RootKind::Thread { serial: fields.u4(), trace: fields.u4() },
        _ => RootKind::Unknown,
    };
    Root { id, kind }
}

/// Where the tables of a class end, from its tag on.
struct ClassParts {
    constants: usize,
    statics: usize,
    end: usize,
}

fn class(bytes: &[u8], id_bytes: usize, parts: ClassParts) -> ClassDump<'_> {
    let mut fields = Fields { rest: &bytes[1..], id_bytes };
    let (id, trace, superclass, loader) = (fields.id(), fields.u4(), fields.id(), fields.id());
    let (signers, domain, _, _) = (fields.id(), fields.id(), fields.id(), fields.id());
    let instance_bytes = fields.u4();
    let begin = bytes.len() - fields.rest.len();
    ClassDump {
        id,
        trace,
        superclass,
        loader,
        signers,
        domain,
        instance_bytes,
        constants: &bytes[begin + 2..parts.constants],
        statics: &bytes[parts.constants + 2..parts.statics],
        fields: &bytes[parts.statics + 2..parts.end],
        id_bytes,
    }
}

/// The fields of a record whose length has been checked.
struct Fields<'a> {
    rest: &'a [u8],
    id_bytes: usize,
}

impl Fields<'_> {
    #[inline]
    fn u4(&mut self) -> u32 {
        let (bytes, rest) = self.rest.split_at(4);
        self.rest = rest;
        number(bytes) as u32
    }

    #[inline]
    fn id(&mut self) -> u64 {
        let (bytes, rest) = self.rest.split_at(self.id_bytes);
        self.rest = rest;
        number(bytes)
    }
}

fn invalid(error: Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
