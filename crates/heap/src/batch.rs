//! The objects of a part of the file, one after the other.

use std::io;

use perk_hprof::heap::{FieldType, number, sub};
use serde::{Deserialize, Serialize};

use crate::input::Input;

/// The size from which on a batch ends at the next object.
pub(crate) const BATCH_BYTES: u64 = 1 << 20;
/// The bytes that are read at once.
const WINDOW_BYTES: u64 = 4 << 20;

/// A part of the file that consists of whole objects.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Batch {
    /// The offset of the first object.
    pub(crate) offset: u64,
    /// The size of all.
    pub(crate) bytes: u64,
    /// The lowest and the highest address of its objects.
    pub(crate) lowest: u64,
    pub(crate) highest: u64,
}

/// The head of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ObjectHead {
    /// The offset of its values or elements.
    pub(crate) content: u64,
    /// Its address.
    pub(crate) id: u64,
    /// The serial number of its trace.
    pub(crate) trace: u32,
}

/// A receiver of objects.
pub(crate) trait Objects {
    /// Takes an instance. Fewer bytes of values than there should be mean that the file is cut off.
    fn instance(&mut self, head: ObjectHead, class: u64, values: &[u8]);
    /// Takes an array of references.
    fn references(&mut self, head: ObjectHead, class: u64, length: u32);
    /// Takes elements of the array of references at hand, from this index on.
    fn elements(&mut self, first: u64, ids: &[u8]);
    /// Takes an array of a primitive type, and whether the file has its elements.
    fn primitives(&mut self, head: ObjectHead, element: FieldType, length: u32, has_content: bool);
}

/// Hands the objects of a batch to `objects`. `buffer` is kept from call to call.
pub(crate) fn walk(
    input: &Input,
    id_bytes: usize,
    batch: &Batch,
    buffer: &mut Vec<u8>,
    objects: &mut impl Objects,
) -> io::Result<()> {
    match id_bytes {
        8 => walk_ids::<8>(input, 8, batch, buffer, objects),
        4 => walk_ids::<4>(input, 4, batch, buffer, objects),
        _ => walk_ids::<0>(input, id_bytes, batch, buffer, objects),
    }
}

/// As [`walk`]; `ID` is the size of an id, or 0 if the compiler does not know it.
fn walk_ids<const ID: usize>(
    input: &Input,
    id_bytes: usize,
    batch: &Batch,
    buffer: &mut Vec<u8>,
    objects: &mut impl Objects,
) -> io::Result<()> {
    let ids = if ID == 0 { id_bytes } else { ID };
    let end = batch.offset + batch.bytes;
    let mut window = BatchWindow { input, buffer, offset: batch.offset, bytes: 0, end };
    let mut at = batch.offset;
    while at < end {
        let longest = 1 + ids + 4 + ids + 4;
        let bytes = window.bytes(at, longest)?;
        let Some(&tag) = bytes.first() else { return Ok(()) };
        let least = if matches!(tag, sub::INSTANCE | sub::OBJECT_ARRAY) {
            longest
        } else {
            longest - ids + 1
        };
        if bytes.len() < least {
            return Ok(());
        }
        let head = ObjectHead {
            content: at + least as u64,
            id: number(&bytes[1..1 + ids]),
            trace: number(&bytes[1 + ids..5 + ids]) as u32,
        };
        let rest = &bytes[5 + ids..least];
        match tag {
            sub::INSTANCE => {
                let class = number(&rest[..ids]);
                let length = number(&rest[ids..]) as usize;
                let values = window.bytes(at + longest as u64, length)?;
                objects.instance(head, class, values);
                at += (longest + length) as u64;
            }
            sub::OBJECT_ARRAY => {
                let length = number(&rest[..4]) as u32;
                objects.references(head, number(&rest[4..]), length);
                at += longest as u64;
                let mut index = 0;
                while index < u64::from(length) {
                    let part = (WINDOW_BYTES / ids as u64).min(u64::from(length) - index);
                    let elements = window.bytes(at, part as usize * ids)?;
                    let count = elements.len() / ids;
                    objects.elements(index, &elements[..count * ids]);
                    if (count as u64) < part {
                        return Ok(());
                    }
                    index += part;
                    at += part * ids as u64;
                }
            }
            sub::PRIMITIVE_ARRAY | sub::PRIMITIVE_ARRAY_NODATA => {
                let length = number(&rest[..4]) as u32;
                let Some(element) = FieldType::from_hprof(rest[4]) else { return Ok(()) };
                at += least as u64;
                let has_content = tag == sub::PRIMITIVE_ARRAY;
                objects.primitives(head, element, length, has_content);
                if has_content {
                    at += u64::from(length) * element.bytes(ids) as u64;
                }
            }
            _ => return Ok(()),
        }
    }
    Ok(())
}

/// The part of the batch that is in memory.
struct BatchWindow<'a> {
    input: &'a Input,
    buffer: &'a mut Vec<u8>,
    /// The offset of the buffer's content, and its size.
    offset: u64,
    bytes: usize,
    /// The end of the batch.
    end: u64,
}

impl BatchWindow<'_> {
    /// Returns the bytes from an offset on: the requested number, or fewer at the end.
    #[inline]
    fn bytes(&mut self, at: u64, count: usize) -> io::Result<&[u8]> {
        let start = (at - self.offset) as usize;
        if start + count > self.bytes {
            return self.read(at, count);
        }
        Ok(&self.buffer[start..start + count])
    }

    #[cold]
    fn read(&mut self, at: u64, count: usize) -> io::Result<&[u8]> {
        let left = self.end.saturating_sub(at);
        let size = (count as u64).max(WINDOW_BYTES).min(left) as usize;
        let start = (at - self.offset) as usize;
        let is_known = start <= self.bytes;
        let kept = if is_known { self.bytes - start } else { 0 };
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        if kept > 0 {
            self.buffer.copy_within(start..self.bytes, 0);
        }
        (self.offset, self.bytes) = (at, kept);
        if kept < size {
            let read = self.input.read_at(&mut self.buffer[kept..size], at + kept as u64)?;
            self.bytes += read;
        }
        Ok(&self.buffer[..count.min(self.bytes)])
    }
}
