//! Reads an HPROF binary record by record, the sub-records of heap dumps among them, with a buffer
//! of fixed size.

mod buffer;

use std::io::{self, Read};

use super::records::{Record, number};
use super::sub_records::{ClassParts, Fields, class, root, root_bytes, sub};
use super::{Elements, FieldType, Ids};
use crate::Error;
use crate::binary::tag;

/// The bytes read at once. The elements of longer arrays come in parts.
const BUFFER_BYTES: usize = 1 << 20;
/// The largest size of a record that must be whole: names, traces, classes, instances. The largest
/// that a JVM can make are classes with 65,535 fields and the traces of deep stacks.
const RECORD_LIMIT_BYTES: usize = 1 << 28;

/// A file's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The text before the NUL: `JAVA PROFILE 1.0.2`.
    pub title: String,
    /// The size of an id in bytes, 1 to 8.
    pub id_bytes: usize,
    /// The time when the file was begun, in milliseconds since 1970.
    pub unix_ms: u64,
}

impl Header {
    /// Whether Android wrote the file.
    pub fn is_android(&self) -> bool {
        self.title == ANDROID
    }
}

/// A file as a stream of [`Record`]s. It reads no further than the record at hand needs, so the
/// file may still be growing.
#[derive(Debug)]
pub struct Stream<R> {
    input: R,
    buffer: Vec<u8>,
    /// The part of the buffer that is read and not used yet.
    start: usize,
    end: usize,
    /// The offset of `start` in the file.
    offset: u64,
    id_bytes: usize,
    state: StreamState,
    /// The time stamp of the record at hand, including the part that does not fit its 32 bits.
    elapsed_us: u64,
    /// The failure of the input at a place where more should follow, which is taken as its end.
    failure: Option<String>,
    wrong_length_count: u64,
    is_android: bool,
    /// Whether arrays may come without their elements.
    has_bare_arrays: bool,
}

/// The kind of the data that comes next.
#[derive(Clone, Copy, Debug)]
enum StreamState {
    Records,
    Segment(Segment),
    /// A number of bytes of elements of one size, and then sub-records.
    Array {
        left: u64,
        element_bytes: usize,
        segment: Segment,
    },
}

/// The rest of a record with sub-records.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// The number of bytes.
    left: u64,
    /// Whether the dump ends with the segment, as it is HEAP DUMP.
    is_whole: bool,
    /// Whether its length cannot be the one in the record, so that 2^32 was added, once or more.
    is_overflown: bool,
}

impl Segment {
    /// Returns the segment without its first `bytes` bytes.
    fn less(self, bytes: usize) -> Self {
        Self { left: self.left - bytes as u64, ..self }
    }
}

impl<R: Read> Stream<R> {
    /// Reads the head.
    ///
    /// # Errors
    /// The errors of the input, and errors of kind [`InvalidData`](io::ErrorKind::InvalidData) with
    /// an [`Error`] that gives the offset. The same holds for all other methods.
    pub fn new(input: R) -> io::Result<(Header, Self)> {
        let mut stream = Self {
            input,
            buffer: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
            offset: 0,
            id_bytes: 8,
            state: StreamState::Records,
            elapsed_us: 0,
            failure: None,
            wrong_length_count: 0,
            is_android: false,
            has_bare_arrays: false,
        };
        let header = stream.header()?;
        Ok((header, stream))
    }

    /// Reads the head of a file.
    fn header(&mut self) -> io::Result<Header> {
        let mut length = 0;
        loop {
            self.need(length + 1, "the header")?;
            match self.peek(length + 1)[length] {
                0 => break,
                _ if length == MAGIC.len() && self.peek(length) != MAGIC => {
                    let found = format!("\"{}\"", self.peek(length).escape_ascii());
                    return Err(invalid(Error::NotHprof { found }));
                }
                _ if length == TITLE_LIMIT_BYTES => {
                    return Err(self.error("the header has no NUL".to_owned()));
                }
                _ => length += 1,
            }
        }
        let title = String::from_utf8_lossy(self.take(length)).into_owned();
        self.need(1 + 4 + 8, "the header")?;
        let head = self.take(1 + 4 + 8);
        let (id_bytes, unix_ms) = (number(&head[1..5]) as usize, number(&head[5..]));
        if !(1..=8).contains(&id_bytes) {
            return Err(self.error(format!("ids of {id_bytes} bytes; 1 to 8 are possible")));
        }
        (self.id_bytes, self.elapsed_us) = (id_bytes, 0);
        self.is_android = title == ANDROID;
        self.has_bare_arrays = self.is_android || title == TEXT_TITLE;
        Ok(Header { title, id_bytes, unix_ms })
    }

    /// Returns the next record, or `None` at the end of the file.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "a record borrows the stream's buffer")]
    pub fn next(&mut self) -> io::Result<Option<Record<'_>>> {
        match self.state {
            StreamState::Records => self.record(),
            StreamState::Segment(segment) if segment.left == 0 => self.segment_end(segment),
            StreamState::Segment(segment) => self.sub_record(segment).map(Some),
            StreamState::Array { left, element_bytes, segment } => {
                self.need(element_bytes, "an array")?;
                let available = (self.end - self.start) as u64;
                let count = available.min(left) as usize / element_bytes * element_bytes;
                self.state = match left - count as u64 {
                    0 => StreamState::Segment(segment),
                    left => StreamState::Array { left, element_bytes, segment },
                };
                Ok(Some(Record::MoreElements(self.take(count))))
            }
        }
    }

    /// Skips the rest of the segment at hand. Returns the number of bytes, which is 0 without
    /// a segment.
    pub fn skip_segment(&mut self) -> io::Result<u64> {
        let left = match self.state {
            StreamState::Records => return Ok(0),
            StreamState::Segment(segment) => segment.left,
            StreamState::Array { left, segment, .. } => left + segment.left,
        };
        self.state = StreamState::Records;
        self.skip(left, "a heap dump")?;
        Ok(left)
    }

    /// Returns the bytes of sub-records that can be read now. In the middle of an array there are
    /// none.
    #[inline]
    pub(super) fn sub_records(&self) -> &[u8] {
        match self.state {
            StreamState::Segment(segment) => {
                let there = &self.buffer[self.start..self.end];
                &there[..there.len().min(usize::try_from(segment.left).unwrap_or(usize::MAX))]
            }
            StreamState::Records | StreamState::Array { .. } => &[],
        }
    }

    /// Returns the number of bytes of sub-records left in the segment, read or not.
    pub(super) fn segment_bytes(&self) -> u64 {
        match self.state {
            StreamState::Segment(segment) => segment.left,
            StreamState::Records | StreamState::Array { .. } => 0,
        }
    }

    /// Skips this number of bytes of the segment, which has them. The input need not have
    /// them yet.
    pub(super) fn pass(&mut self, bytes: u64, what: &str) -> io::Result<()> {
        if let StreamState::Segment(segment) = &mut self.state {
            segment.left -= bytes;
        }
        self.skip(bytes, what)
    }

    /// Whether sub-records come next.
    pub fn is_in_segment(&self) -> bool {
        !matches!(self.state, StreamState::Records)
    }

    /// Whether Android wrote the file, by its head.
    pub fn is_android(&self) -> bool {
        self.is_android
    }

    /// Returns the number of dumps that were longer than their records say.
    pub fn wrong_length_count(&self) -> u64 {
        self.wrong_length_count
    }

    /// Returns the microseconds from the date in the head to the last record returned.
    pub(crate) fn elapsed_us(&self) -> u64 {
        self.elapsed_us
    }

    /// Returns the failure of the input at its end, such as a packed file that is cut off.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Returns the offset of the next data in the file, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the size of an id, in bytes.
    pub fn id_bytes(&self) -> usize {
        self.id_bytes
    }

    /// Returns an error at the offset of the next data.
    pub(super) fn error(&self, what: String) -> io::Error {
        invalid(Error::Binary { offset: self.offset as usize, what })
    }

    fn record(&mut self) -> io::Result<Option<Record<'_>>> {
        if self.start == self.end && !self.fill()? {
            return Ok(None);
        }
        self.need(HEAD_BYTES, "the head of a record")?;
        let head = self.peek(HEAD_BYTES);
        // No record has the first letter of a header as its tag.
        if MAGIC.starts_with(head) {
            return self.header().map(|header| Some(Record::Header(header)));
        }
        let (tag, elapsed_us, bytes) = (head[0], number(&head[1..5]), number(&head[5..]));
        self.elapsed(elapsed_us);
        if matches!(tag, tag::HEAP_DUMP | tag::HEAP_DUMP_SEGMENT) {
            self.take(HEAD_BYTES);
            let is_whole = tag == tag::HEAP_DUMP;
            self.state =
                StreamState::Segment(Segment { left: bytes, is_whole, is_overflown: false });
            return Ok(Some(Record::Segment { bytes }));
        }
        let ids = self.id_bytes;
        let (fixed, what) = match tag {
            tag::UTF8 => (ids, "UTF8"),
            tag::LOAD_CLASS => (4 + ids + 4 + ids, "LOAD CLASS"),
            tag::STACK_FRAME => (4 * ids + 4 + 4, "STACK FRAME"),
            tag::STACK_TRACE => (4 + 4 + 4, "STACK TRACE"),
            tag::HEAP_DUMP_END => (0, "HEAP DUMP END"),
            _ if tag::has_body(tag) && bytes <= RECORD_LIMIT_BYTES as u64 => {
                self.need(HEAD_BYTES + bytes as usize, tag::name(tag))?;
                let elapsed_us = self.elapsed_us;
                let bytes = &self.take(HEAD_BYTES + bytes as usize)[HEAD_BYTES..];
                return Ok(Some(Record::Body { tag, elapsed_us, bytes }));
            }
            _ => {
                let offset = self.offset;
                self.take(HEAD_BYTES);
                self.skip(bytes, tag::name(tag)).map_err(|error| at(offset, error))?;
                return Ok(Some(Record::Other { tag, bytes }));
            }
        };
        let length = bytes as usize;
        if length < fixed || length > RECORD_LIMIT_BYTES {
            return Err(self.error(format!("{what} of {length} bytes, {fixed} are its least")));
        }
        self.need(HEAD_BYTES + length, what)?;
        if tag == tag::STACK_TRACE {
            let count = number(&self.peek(HEAD_BYTES + fixed)[HEAD_BYTES + 8..]);
            if fixed as u64 + count * ids as u64 != bytes {
                return Err(self.error(format!("STACK TRACE of {length} bytes and {count} frames")));
            }
        } else if tag != tag::UTF8 && length != fixed {
            return Err(self.error(format!("{what} of {length} bytes, expected {fixed}")));
        }
        let mut fields =
            Fields { rest: &self.take(HEAD_BYTES + length)[HEAD_BYTES..], id_bytes: ids };
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

    /// Handles the end of a segment, by the length in its record, and returns what follows it.
    #[cold]
    fn segment_end(&mut self, segment: Segment) -> io::Result<Option<Record<'_>>> {
        self.state = StreamState::Records;
        if !segment.is_whole {
            return self.record();
        }
        // The length of a HEAP DUMP is 0 if its writer could not go back to set it, and modulo 2^32
        // if the dump is longer. In these cases a sub-record follows, not a record.
        let has_more = self.start < self.end || self.fill()?;
        if has_more && sub::is_no_record(self.buffer[self.start]) {
            let segment = self.overflown(segment, 1);
            return self.sub_record(segment).map(Some);
        }
        Ok(Some(Record::DumpEnd))
    }

    /// Continues a HEAP DUMP that has at least this many bytes, which is a multiple of 4 GiB more
    /// than its record says.
    #[cold]
    fn overflown(&mut self, segment: Segment, bytes: u64) -> Segment {
        self.wrong_length_count += u64::from(!segment.is_overflown);
        let missing = bytes.saturating_sub(segment.left);
        let left = segment.left + missing.next_multiple_of(1 << 32);
        let segment = Segment { left, is_overflown: true, ..segment };
        self.state = StreamState::Segment(segment);
        segment
    }

    #[inline]
    fn sub_record(&mut self, segment: Segment) -> io::Result<Record<'_>> {
        if segment.is_overflown && self.start == self.end && !self.fill()? {
            self.state = StreamState::Records;
            return Ok(Record::DumpEnd);
        }
        self.need(1, "a heap dump")?;
        let ids = self.id_bytes;
        let tag = self.buffer[self.start];
        match tag {
            sub::INSTANCE => {
                let head = 1 + ids + 4 + ids + 4;
                let segment = self.need_part(head, segment, "an instance")?;
                let length = number(&self.peek(head)[head - 4..]) as usize;
                let segment = self.need_part(head + length, segment, "an instance")?;
                self.state = StreamState::Segment(segment.less(head + length));
                let mut fields = Fields { rest: &self.take(head + length)[1..], id_bytes: ids };
                let (id, trace, class) = (fields.id(), fields.u4(), fields.id());
                Ok(Record::Instance { id, trace, class, values: &fields.rest[4..] })
            }
            sub::OBJECT_ARRAY | sub::PRIMITIVE_ARRAY => self.array(tag, segment),
            sub::PRIMITIVE_ARRAY_NODATA if self.has_bare_arrays => self.array(tag, segment),
            sub::HEAP_DUMP_INFO if self.is_android => {
                let length = 1 + 4 + ids;
                let segment = self.need_part(length, segment, "the name of a heap")?;
                self.state = StreamState::Segment(segment.less(length));
                let mut fields = Fields { rest: &self.take(length)[1 + 4..], id_bytes: ids };
                Ok(Record::Heap { name: fields.id() })
            }
            sub::CLASS => {
                let (parts, segment) = self.class_parts(segment)?;
                self.state = StreamState::Segment(segment.less(parts.end));
                Ok(Record::Class(class(self.take(parts.end), ids, parts)))
            }
            _ => {
                let Some(length) = root_bytes(tag, ids, self.is_android) else {
                    return Err(
                        self.error(format!("no sub-record of a heap dump has tag {tag:#04x}"))
                    );
                };
                let segment = self.need_part(length, segment, "a root")?;
                self.state = StreamState::Segment(segment.less(length));
                let fields = Fields { rest: &self.take(length)[1..], id_bytes: ids };
                Ok(Record::Root(root(tag, fields)))
            }
        }
    }

    fn array(&mut self, tag: u8, segment: Segment) -> io::Result<Record<'_>> {
        let ids = self.id_bytes;
        let last = if tag == sub::OBJECT_ARRAY { ids } else { 1 };
        let head = 1 + ids + 4 + 4 + last;
        let segment = self.need_part(head, segment, "an array")?;
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
        let has_elements = tag != sub::PRIMITIVE_ARRAY_NODATA;
        let element_bytes = elements.field_type().bytes(ids) * usize::from(has_elements);
        let total = u64::from(length) * element_bytes as u64;
        let segment = self.within(head as u64 + total, segment, || {
            format!("an array of {total} bytes runs beyond its segment")
        })?;
        let segment = Segment { left: segment.left - head as u64 - total, ..segment };
        let bytes = if head as u64 + total <= BUFFER_BYTES as u64 {
            self.need(head + total as usize, "an array")?;
            self.state = StreamState::Segment(segment);
            &self.take(head + total as usize)[head..]
        } else {
            let left = total;
            self.state = StreamState::Array { left, element_bytes, segment };
            self.take(head);
            &[]
        };
        Ok(Record::Array { id, trace, elements, length, bytes })
    }

    /// Returns the ends of the parts of the class that comes next.
    fn class_parts(&mut self, mut segment: Segment) -> io::Result<(ClassParts, Segment)> {
        const WHAT: &str = "a class";
        let ids = self.id_bytes;
        let mut at = 1 + ids + 4 + 6 * ids + 4;
        let mut ends = [0; 3];
        // An entry is a constant's index or the name of a field, a type, and a value, except for
        // the fields of instances.
        for (end, (name, has_value)) in ends.iter_mut().zip([(2, true), (ids, true), (ids, false)])
        {
            segment = self.need_part(at + 2, segment, WHAT)?;
            let count = number(&self.peek(at + 2)[at..]);
            at += 2;
            for _ in 0..count {
                segment = self.need_part(at + name + 1, segment, WHAT)?;
                let number = self.peek(at + name + 1)[at + name];
                let Some(field) = FieldType::from_hprof(number) else {
                    return Err(self.error(format!("a class has a field of type {number}")));
                };
                at += name + 1 + if has_value { field.bytes(ids) } else { 0 };
            }
            *end = at;
        }
        let [constants, statics, end] = ends;
        segment = self.need_part(end, segment, WHAT)?;
        Ok((ClassParts { constants, statics, end }, segment))
    }

    /// Makes `count` bytes available, which must lie in the segment.
    #[inline]
    fn need_part(&mut self, count: usize, segment: Segment, what: &str) -> io::Result<Segment> {
        let beyond = || format!("{what} runs beyond its segment");
        let segment = self.within(count as u64, segment, beyond)?;
        self.need(count, what)?;
        Ok(segment)
    }

    /// Returns the segment, which must have `count` bytes.
    #[inline]
    fn within(
        &mut self,
        count: u64,
        segment: Segment,
        beyond: impl FnOnce() -> String,
    ) -> io::Result<Segment> {
        match count <= segment.left {
            true => Ok(segment),
            false if segment.is_whole => Ok(self.overflown(segment, count)),
            false => Err(self.error(beyond())),
        }
    }

    /// Takes the time stamp of a record. It has 32 bits, and starts from 0 again after 71 minutes.
    /// Records that threads wrote at the same time may be in another order.
    fn elapsed(&mut self, low: u64) {
        let before = self.elapsed_us;
        let is_new_round = (before & LOW_BITS) > low + LOW_BITS / 2;
        let rounds = (before & !LOW_BITS) + if is_new_round { LOW_BITS + 1 } else { 0 };
        self.elapsed_us = rounds | low;
    }
}

/// The size of a record before its body, in bytes.
pub(crate) const HEAD_BYTES: usize = 9;
const LOW_BITS: u64 = u32::MAX as u64;
const MAGIC: &[u8] = b"JAVA PROFILE 1.0";
const ANDROID: &str = "JAVA PROFILE 1.0.3";
/// The title of a dump that was translated from HPROF text. Its CLASS DUMPs have the sizes of
/// instances, as Android's, and its arrays of primitive types no elements.
pub const TEXT_TITLE: &str = "JAVA PROFILE 1.0.1 text";
const TITLE_LIMIT_BYTES: usize = 64;

fn invalid(error: Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Returns the same error at the record's beginning.
fn at(offset: u64, error: io::Error) -> io::Error {
    match Error::from(error) {
        Error::Cut { what, .. } => invalid(Error::Cut { offset: offset as usize, what }),
        Error::Input { kind, message } => io::Error::new(kind, message),
        other => invalid(other),
    }
}
