//! Reads only the heads of the objects of a heap dump, and skips their contents.

use std::io::{self, Read};

use super::records::number;
use super::{Elements, FieldType, Record, Stream, sub};

/// A receiver of the objects.
pub trait ObjectVisitor {
    /// Takes the offset in the file at which the next object begins. Each part of the file that is
    /// read at once begins so.
    fn place(&mut self, _offset: u64) {}
    /// Takes an instance: its id, the id of its class, and the bytes of its fields.
    fn instance(&mut self, id: u64, class: u64, value_bytes: u32);
    /// Takes an array of references: its id, the id of its class, and the number of its elements.
    fn object_array(&mut self, id: u64, class: u64, length: u32);
    /// Takes an array of a primitive type: its id and the number of its elements.
    fn primitive_array(&mut self, id: u64, element: FieldType, length: u32);
}

impl<R: Read> Stream<R> {
    /// Passes the next instances and arrays to `objects`, up to the first sub-record that is
    /// neither or cannot be understood. [`Stream::next`] gives that one.
    ///
    /// # Errors
    /// As [`Stream::next`].
    pub fn skim(&mut self, objects: &mut impl ObjectVisitor) -> io::Result<()> {
        match self.id_bytes() {
            8 => self.skim_ids::<8>(objects),
            4 => self.skim_ids::<4>(objects),
            _ => Ok(()),
        }
    }

    fn skim_ids<const ID: usize>(&mut self, objects: &mut impl ObjectVisitor) -> io::Result<()> {
        loop {
            objects.place(self.offset());
            let left = self.segment_bytes();
            let (taken, more) = skim_bytes::<ID>(self.sub_records(), left, objects);
            self.pass(taken as u64 + more, "a heap dump")?;
            let longest = longest_head(ID);
            if taken == 0
                && (self.sub_records().len() >= longest || left < longest as u64 || !self.fill()?)
            {
                return Ok(());
            }
        }
    }
}

/// The size of the heads of instances and arrays of references, in bytes: tag, id, trace, and the
/// class and the length in either order. The heads of other arrays are shorter.
const fn longest_head(id_bytes: usize) -> usize {
    1 + id_bytes + 4 + id_bytes + 4
}

/// Goes through objects whose heads are whole and which end among the `left` bytes that the segment
/// has from `bytes` on. Returns the number of bytes that were taken, and the number of bytes after
/// `bytes` that belong to the last object.
#[inline]
fn skim_bytes<const ID: usize>(
    bytes: &[u8],
    left: u64,
    objects: &mut impl ObjectVisitor,
) -> (usize, u64) {
    let longest = longest_head(ID);
    let mut at = 0;
    while let Some(head) = bytes.get(at..at + longest) {
        let id = number(&head[1..1 + ID]);
        let rest = &head[1 + ID + 4..];
        let fits = |bytes: usize, content: u64| content <= left - (at + bytes) as u64;
        let (head_bytes, content_bytes) = match head[0] {
            sub::INSTANCE => {
                let (class, value_bytes) = (number(&rest[..ID]), number(&rest[ID..]));
                if !fits(longest, value_bytes) {
                    break;
                }
                objects.instance(id, class, value_bytes as u32);
                (longest, value_bytes)
            }
            sub::OBJECT_ARRAY => {
                let (length, class) = (number(&rest[..4]), number(&rest[4..]));
                let content_bytes = length * ID as u64;
                if !fits(longest, content_bytes) {
                    break;
                }
                objects.object_array(id, class, length as u32);
                (longest, content_bytes)
            }
            sub::PRIMITIVE_ARRAY => {
                let (length, head_bytes) = (number(&rest[..4]), longest - ID + 1);
                let Some(element) = FieldType::from_hprof(rest[4]) else { break };
                let content_bytes = length * element.bytes(ID) as u64;
                if element == FieldType::Object || !fits(head_bytes, content_bytes) {
                    break;
                }
                objects.primitive_array(id, element, length as u32);
                (head_bytes, content_bytes)
            }
            _ => break,
        };
        at += head_bytes;
        let there = (bytes.len() - at) as u64;
        if content_bytes > there {
            return (bytes.len(), content_bytes - there);
        }
        at += content_bytes as usize;
    }
    (at, 0)
}

/// Passes on an object as [`Stream::next`] gives it, for ids that are not skimmed and the end of
/// segments.
pub fn object(record: &Record<'_>, objects: &mut impl ObjectVisitor) {
    match *record {
        Record::Instance { id, class, values, .. } => {
            objects.instance(id, class, values.len() as u32);
        }
        Record::Array { id, elements: Elements::Objects(class), length, .. } => {
            objects.object_array(id, class, length);
        }
        Record::Array { id, elements: Elements::Primitives(element), length, .. } => {
            objects.primitive_array(id, element, length);
        }
        _ => {}
    }
}
