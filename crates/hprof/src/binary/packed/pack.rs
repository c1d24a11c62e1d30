//! Makes a file with PACKED of one without.

use std::io;

use super::columns::Columns;
use super::{Field, MOST_ROWS, MOST_TEXT_BYTES, RowShape, TEXT_COLUMNS, Transfer, timeline};
use crate::Error;
use crate::binary::cursor::Cursor;
use crate::binary::{PACKED_FORM, tag};
use crate::heap::HEAD_BYTES;

/// The bytes of a row of FRAME KINDS, which are in any order.
const FRAME_KIND_BYTES: usize = 5;

/// A record of the file.
struct Plain<'a> {
    tag: u8,
    /// The time stamp, as in the file.
    elapsed: &'a [u8],
    body: &'a [u8],
}

/// A file of perk's extended form with its rows packed. Names, classes and frames come first, as all other records refer
/// to them.
///
/// # Errors
/// The file is none of perk's.
pub(crate) fn packed(file: &[u8]) -> io::Result<Vec<u8>> {
    let end = file.iter().position(|&byte| byte == 0).map_or(0, |nul| nul + 13);
    let (header, rest) = file.split_at(end.min(file.len()));
    let mut packer = Packer { out: header.to_vec(), threads: vec![0] };
    let faulty = |error: Error| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
    packer.records(&records(rest).map_err(faulty)?).map_err(faulty)?;
    Ok(packer.out)
}

fn records(file: &[u8]) -> Result<Vec<Plain<'_>>, Error> {
    let mut rest = Cursor::new(file, 0, 8);
    let mut records = Vec::new();
    while !rest.is_empty() {
        let head = rest.bytes(HEAD_BYTES - 4, "the head of a record")?;
        let length = rest.u4("the length of a record")?;
        let body = rest.bytes(length as usize, "a record")?;
        records.push(Plain { tag: head[0], elapsed: &head[1..], body });
    }
    Ok(records)
}

struct Packer {
    out: Vec<u8>,
    /// The serial number of the thread of each trace of the file so far; 0: none.
    threads: Vec<u64>,
}

impl Packer {
    fn records(&mut self, records: &[Plain<'_>]) -> Result<(), Error> {
        for record in records.iter().take(1) {
            self.put(record.tag, record.elapsed, &PACKED_FORM.to_be_bytes());
        }
        self.texts(records)?;
        for tag in [tag::LOAD_CLASS, tag::STACK_FRAME] {
            // They begin with their numbers.
            let mut bodies: Vec<_> =
                records.iter().filter(|it| it.tag == tag).map(|it| it.body).collect();
            bodies.sort_unstable();
            for rows in bodies.chunks(MOST_ROWS) {
                self.rows(&Plain { tag, elapsed: &[0; 4], body: &rows.concat() })?;
            }
        }
        let is_done = |tag| matches!(tag, tag::UTF8 | tag::LOAD_CLASS | tag::STACK_FRAME);
        let mut rest = records.iter().skip(1).filter(|it| !is_done(it.tag));
        rest.try_for_each(|record| self.rows(record))
    }

    /// Writes all UTF8 records, in order of their ids.
    fn texts(&mut self, records: &[Plain<'_>]) -> Result<(), Error> {
        let mut texts = Vec::new();
        for record in records.iter().filter(|it| it.tag == tag::UTF8) {
            let mut body = Cursor::new(record.body, 0, 8);
            let id = body.id("the id of a text")?;
            texts.push((id, body.bytes(body.left(), "a text")?));
        }
        texts.sort_by_key(|it| it.0);
        let mut rest = &texts[..];
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |it: &&(u64, &[u8])| {
                bytes += it.1.len();
                bytes <= MOST_TEXT_BYTES
            };
            let count = rest.iter().take(MOST_ROWS).take_while(fits).count().max(1);
            let (some, others) = rest.split_at(count);
            rest = others;
            let mut columns = Columns::new(TEXT_COLUMNS);
            let mut last: &[u8] = &[];
            for &(id, text) in some {
                let shared = text.iter().zip(last).take_while(|(a, b)| a == b).count();
                columns.add(0, Field::Fixed(8), id);
                columns.add(1, Field::Varint, shared as u64);
                columns.add(2, Field::Varint, (text.len() - shared) as u64);
                columns.add_bytes(3, &text[shared..]);
                last = text;
            }
            self.columns(&Plain { tag: tag::UTF8, elapsed: &[0; 4], body: &[] }, count, &columns);
        }
        Ok(())
    }

    /// Writes a record, packed if it is of rows.
    fn rows(&mut self, record: &Plain<'_>) -> Result<(), Error> {
        let Plain { tag, elapsed, body } = *record;
        let Some(shape) = RowShape::of(tag, body)? else {
            self.put(tag, elapsed, body);
            return Ok(());
        };
        let (head, rows) = body.split_at(shape.head_bytes);
        let mut sorted;
        let rows = if tag == tag::FRAME_KINDS {
            sorted = rows.to_vec();
            sorted.as_chunks_mut::<FRAME_KIND_BYTES>().0.sort_unstable();
            &sorted
        } else {
            rows
        };
        let mut rest = Cursor::new(rows, 0, 8);
        let mut columns = Columns::new(shape.columns());
        let count = if tag == tag::TIMELINE {
            let thread_of = |trace| self.threads.get(trace as usize).copied().unwrap_or(0);
            timeline::pack(&mut rest, &mut columns, thread_of)?
        } else {
            let mut rows = Rows { rest, columns, last: 0 };
            while !rows.rest.is_empty() {
                shape.row(&mut rows)?;
                rows.columns.row += 1;
                if tag == tag::TRACES {
                    self.threads.push(rows.last);
                }
            }
            columns = rows.columns;
            columns.row as usize
        };
        if count > MOST_ROWS {
            self.put(tag, elapsed, body);
        } else {
            self.columns(&Plain { tag, elapsed, body: head }, count, &columns);
        }
        Ok(())
    }

    /// Writes PACKED, of a record whose body is its head alone.
    fn columns(&mut self, record: &Plain<'_>, count: usize, columns: &Columns) {
        let body = columns.body(record.tag, record.body, count);
        self.put(tag::PACKED, record.elapsed, &body);
    }

    fn put(&mut self, tag: u8, elapsed: &[u8], body: &[u8]) {
        self.out.push(tag);
        self.out.extend_from_slice(elapsed);
        self.out.extend_from_slice(&(body.len() as u32).to_be_bytes());
        self.out.extend_from_slice(body);
    }
}

/// Takes numbers from the rows of a record to columns.
struct Rows<'a> {
    rest: Cursor<'a>,
    columns: Columns,
    /// The number that was taken last: of a trace its thread.
    last: u64,
}

impl Transfer for Rows<'_> {
    fn number(&mut self, column: usize, field: Field) -> Result<u64, Error> {
        self.last = match field.bytes() {
            Some(bytes) => self.rest.number(bytes, "a number of a row")?,
            None => self.rest.varint("a number of a row")?,
        };
        self.columns.add(column, field, self.last);
        Ok(self.last)
    }
}
