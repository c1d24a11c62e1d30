//! The columns of PACKED: numbers in groups of seven bits.

use std::collections::HashMap;

use super::{Field, NANOS_PER_MILLI};
use crate::Error;
use crate::binary::cursor::{Cursor, put_varint, unzigzag, zigzag};

/// Columns that are written.
pub(super) struct Columns {
    bytes: Vec<Vec<u8>>,
    last: Vec<u64>,
    children: Children,
    /// The number of the row at hand.
    pub(super) row: u64,
}

impl Columns {
    pub(super) fn new(count: usize) -> Self {
        let (last, children) = (vec![0; count], Children::default());
        Self { bytes: vec![Vec::new(); count], last, children, row: 0 }
    }

    pub(super) fn add(&mut self, column: usize, field: Field, number: u64) {
        let last = std::mem::replace(&mut self.last[column], number);
        let bytes = &mut self.bytes[column..];
        match field {
            Field::Fixed(width) => {
                put_varint(&mut bytes[0], signed(number.wrapping_sub(last), width))
            }
            Field::Distance => put_varint(&mut bytes[0], signed(self.row.wrapping_sub(number), 4)),
            Field::Child => {
                let guess = self.children.guess(self.last[0]);
                put_varint(&mut bytes[0], signed(number.wrapping_sub(guess), 4));
                self.children.add(self.last[0], number);
            }
            Field::Varint => put_varint(&mut bytes[0], number),
            Field::Nanoseconds => {
                put_varint(&mut bytes[0], number / NANOS_PER_MILLI);
                put_varint(&mut bytes[1], number % NANOS_PER_MILLI);
            }
            Field::Subject => unreachable!("a subject has fields of its own"),
        }
    }

    pub(super) fn add_bytes(&mut self, column: usize, bytes: &[u8]) {
        self.bytes[column].extend_from_slice(bytes);
    }

    /// The body of PACKED.
    pub(super) fn body(&self, tag: u8, head: &[u8], count: usize) -> Vec<u8> {
        let mut body = vec![tag];
        put_varint(&mut body, count as u64);
        put_varint(&mut body, head.len() as u64);
        body.extend_from_slice(head);
        for bytes in &self.bytes {
            put_varint(&mut body, bytes.len() as u64);
            body.extend_from_slice(bytes);
        }
        body
    }
}

/// Columns that are read.
pub(super) struct PackedColumns<'a> {
    columns: Vec<Cursor<'a>>,
    last: Vec<u64>,
    children: Children,
    /// The number of the row at hand.
    pub(super) row: u64,
    /// The rows so far.
    pub(super) out: Vec<u8>,
}

impl<'a> PackedColumns<'a> {
    pub(super) fn read(body: &mut Cursor<'a>, count: usize) -> Result<Self, Error> {
        let mut columns = Vec::with_capacity(count);
        for _ in 0..count {
            let length = body.varint("the length of a packed column")?;
            let offset = body.offset();
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            columns.push(Cursor::new(body.bytes(length, "a packed column")?, offset, 8));
        }
        let (last, children) = (vec![0; count], Children::default());
        Ok(Self { columns, last, children, row: 0, out: Vec::new() })
    }

    /// The next number of a column.
    pub(super) fn next(&mut self, column: usize, field: Field) -> Result<u64, Error> {
        let coded = self.columns[column].varint("a packed number")?;
        let difference = unzigzag(coded).cast_unsigned();
        let number = match field {
            Field::Fixed(_) => self.last[column].wrapping_add(difference),
            Field::Distance => self.row.wrapping_sub(difference),
            Field::Child => self.children.guess(self.last[0]).wrapping_add(difference),
            Field::Varint | Field::Subject => coded,
            Field::Nanoseconds => {
                let rest = self.columns[column + 1].varint("a packed number")?;
                coded.wrapping_mul(NANOS_PER_MILLI).wrapping_add(rest)
            }
        };
        let unused = field.bytes().map_or(0, |bytes| u64::BITS - bytes as u32 * 8);
        self.last[column] = number & u64::MAX >> unused;
        if field == Field::Child {
            self.children.add(self.last[0], self.last[column]);
        }
        Ok(self.last[column])
    }

    /// The next bytes of a column.
    pub(super) fn bytes(&mut self, column: usize, count: usize) -> Result<&'a [u8], Error> {
        self.columns[column].bytes(count, "a packed text")
    }

    /// An error at the place in a column.
    pub(super) fn error(&self, column: usize, what: String) -> Error {
        self.columns[column].error(what)
    }

    /// Checks that all numbers were taken.
    pub(super) fn end(&self) -> Result<(), Error> {
        match self.columns.iter().find(|column| !column.is_empty()) {
            Some(column) => Err(column.error("more packed numbers than rows".to_owned())),
            None => Ok(()),
        }
    }
}

/// The frames of the nodes of a record so far, and what came below each frame last.
#[derive(Default)]
struct Children {
    frames: Vec<u64>,
    last: HashMap<u64, u64>,
}

impl Children {
    /// The frame of a node of this record by its number; 0 for the nodes of others. The first record of a file is meant: its
    /// nodes are numbered from 1.
    fn frame(&self, node: u64) -> u64 {
        let at = node.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.frames.get(at)).copied().unwrap_or(0)
    }

    /// The frame that is expected below a node.
    fn guess(&self, parent: u64) -> u64 {
        let frame = self.frame(parent);
        self.last.get(&frame).copied().unwrap_or(frame)
    }

    fn add(&mut self, parent: u64, frame: u64) {
        self.last.insert(self.frame(parent), frame);
        self.frames.push(frame);
    }
}

/// A difference as a number of this many bytes with a sign, so that one of -1 is as small as one of 1.
fn signed(difference: u64, bytes: usize) -> u64 {
    let unused = u64::BITS - bytes as u32 * 8;
    zigzag((difference << unused).cast_signed() >> unused)
}
