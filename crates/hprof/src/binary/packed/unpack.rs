//! Takes the rows out of PACKED.

use super::columns::PackedColumns;
use super::{Field, MOST_ROWS, MOST_TEXT_BYTES, RowShape, TEXT_COLUMNS, Transfer, timeline};
use crate::Error;
use crate::binary::cursor::{Cursor, put_varint};
use crate::binary::tag;

/// What a record PACKED has: the body of a record, or the bodies of several that follow each other.
pub(in crate::binary) struct Unpacked {
    /// The kind of record.
    pub(in crate::binary) tag: u8,
    /// The bodies. Of UTF8, each is after its length, four bytes.
    pub(in crate::binary) body: Vec<u8>,
}

/// Reads the body of PACKED. `thread_of` gives the serial number of the thread of a trace of the file, 0 without one.
///
/// # Errors
/// It has too few numbers, or too many.
pub(in crate::binary) fn unpacked(
    body: &mut Cursor<'_>,
    thread_of: impl Fn(u64) -> u64,
) -> Result<Unpacked, Error> {
    let tag = body.u1("the kind of the packed rows")?;
    let count = body.varint("the number of packed rows")?;
    if count > MOST_ROWS as u64 {
        return Err(body.error(format!("{count} packed rows in a record, of at most {MOST_ROWS}")));
    }
    let head_bytes = body.varint("the length of the head of packed rows")?;
    let head = body.bytes(usize::try_from(head_bytes).unwrap_or(usize::MAX), "a packed head")?;
    let shape = if tag == tag::UTF8 { None } else { RowShape::of(tag, head)? };
    if tag != tag::UTF8 && shape.as_ref().is_none_or(|it| it.head_bytes != head.len()) {
        return Err(body.error(format!("packed rows of the kind {tag:#x}, which perk cannot read")));
    }
    let width = shape.as_ref().map_or(TEXT_COLUMNS, RowShape::columns);
    let mut columns = PackedColumns::read(body, width)?;
    columns.out.extend_from_slice(head);
    match &shape {
        None => texts(&mut columns, count)?,
        Some(_) if tag == tag::TIMELINE => timeline::unpack(&mut columns, count, thread_of)?,
        Some(shape) => {
            for row in 0..count {
                columns.row = row;
                shape.row(&mut columns)?;
            }
        }
    }
    columns.end()?;
    Ok(Unpacked { tag, body: columns.out })
}

/// Writes the records of UTF8, each after its length.
fn texts(columns: &mut PackedColumns<'_>, count: u64) -> Result<(), Error> {
    let (mut last, mut text_bytes) = (Vec::new(), 0);
    for _ in 0..count {
        let id = columns.next(0, Field::Fixed(8))?;
        let shared = columns.next(1, Field::Varint)?;
        let more = columns.next(2, Field::Varint)?;
        let there = last.len() as u64;
        if shared > there {
            let what = format!("a text has {shared} bytes of the one before it, of {there}");
            return Err(columns.error(1, what));
        }
        last.truncate(shared as usize);
        last.extend_from_slice(columns.bytes(3, usize::try_from(more).unwrap_or(usize::MAX))?);
        text_bytes += last.len();
        if text_bytes > MOST_TEXT_BYTES.max(last.len()) {
            let what = format!("packed texts of more than {MOST_TEXT_BYTES} bytes in a record");
            return Err(columns.error(3, what));
        }
        columns.out.extend_from_slice(&(8 + last.len() as u32).to_be_bytes());
        columns.out.extend_from_slice(&id.to_be_bytes());
        columns.out.extend_from_slice(&last);
    }
    Ok(())
}

/// Takes numbers from columns to rows.
impl Transfer for PackedColumns<'_> {
    fn number(&mut self, column: usize, field: Field) -> Result<u64, Error> {
        let number = self.next(column, field)?;
        match field.bytes() {
            Some(bytes) => self.out.extend_from_slice(&number.to_be_bytes()[8 - bytes..]),
            None => put_varint(&mut self.out, number),
        }
        Ok(number)
    }
}
