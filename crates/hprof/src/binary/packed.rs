//! PACKED: the rows of a record, or records of one kind, column by column as differences, for files that are stored.
//! A compressor finds little in rows of fixed width, as neighbours differ in a few bytes of each column.

mod columns;
mod pack;
mod timeline;
mod unpack;

pub(crate) use pack::packed;
pub(super) use unpack::{Unpacked, unpacked};

use self::columns::{Columns, PackedColumns};
use super::cursor::Cursor;
use super::{
    CLASS_SUBJECT, FIELD_SUBJECT, HAS_LABELS, HAS_SUBJECTS, LOCK_SUBJECT, STATE_SUBJECT, tag,
};
use crate::Error;

/// The most rows of a record.
const MOST_ROWS: usize = 1 << 16;
/// The most bytes of the texts of a record. A text shares its beginning with the one before it, so that texts can
/// be much longer than the record.
const MOST_TEXT_BYTES: usize = 1 << 24;
const NANOS_PER_MILLI: u64 = 1_000_000;
/// The columns of UTF8: ids, bytes shared with the text before, further bytes, and these bytes.
const TEXT_COLUMNS: usize = 4;

/// A field of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// A number of this many bytes, as the difference to the one before.
    Fixed(usize),
    /// A number of four bytes, as the number of the row less it: the distance from a node to its parent.
    Distance,
    /// The frame of a node, as the difference to a guess: the frame below the same frame that came last, or else that frame.
    Child,
    /// A number in groups of seven bits, as it is.
    Varint,
    /// Nanoseconds in groups of seven bits, as milliseconds and the rest, which is often 0.
    Nanoseconds,
    /// A [`Subject`](perk_profile::Subject): its kind, its class, and the rest.
    Subject,
}

impl Field {
    /// The number of columns that it takes.
    fn columns(self) -> usize {
        match self {
            Field::Fixed(_) | Field::Distance | Field::Child | Field::Varint => 1,
            Field::Nanoseconds => 2,
            Field::Subject => 3,
        }
    }

    /// The bytes of its number in a row, if they are always as many.
    fn bytes(self) -> Option<usize> {
        match self {
            Field::Fixed(bytes) => Some(bytes),
            Field::Distance | Field::Child => Some(4),
            Field::Varint | Field::Nanoseconds | Field::Subject => None,
        }
    }
}

/// The rows of a kind of record.
#[derive(Debug)]
struct RowShape {
    fields: Vec<Field>,
    /// The bytes of the record before its rows.
    head_bytes: usize,
}

impl RowShape {
    /// The shape of the rows of a record, which begins with `body`; `None` for kinds that are not packed.
    ///
    /// # Errors
    /// The head of the record cannot be read.
    fn of(tag: u8, body: &[u8]) -> Result<Option<Self>, Error> {
        let mut rest = Cursor::new(body, 0, 8);
        let fields = match tag {
            tag::LOAD_CLASS => [4, 8, 4, 8].map(Field::Fixed).to_vec(),
            tag::STACK_FRAME => [8, 8, 8, 8, 4, 4].map(Field::Fixed).to_vec(),
            tag::NODES => {
                rest.u1("the marks of NODES")?;
                vec![Field::Distance, Field::Child]
            }
            tag::TRACES => {
                rest.u1("the marks of TRACES")?;
                vec![Field::Fixed(4); 3]
            }
            tag::FRAME_KINDS => {
                rest.u1("the marks of FRAME KINDS")?;
                vec![Field::Fixed(4), Field::Fixed(1)]
            }
            tag::SECTION => section(&mut rest)?,
            tag::TIMELINE => {
                clock(&mut rest)?;
                rest.varint("the end of a timeline")?;
                vec![Field::Varint; timeline::COLUMNS]
            }
            tag::TIME_SERIES => {
                clock(&mut rest)?;
                vec![Field::Varint, Field::Varint, Field::Fixed(1), Field::Nanoseconds]
            }
            _ => return Ok(None),
        };
        Ok(Some(Self { fields, head_bytes: body.len() - rest.left() }))
    }

    /// The number of columns.
    fn columns(&self) -> usize {
        self.fields.iter().map(|field| field.columns()).sum()
    }

    /// Takes a row from one form to the other.
    fn row(&self, to: &mut impl Transfer) -> Result<(), Error> {
        let mut column = 0;
        for &field in &self.fields {
            if field == Field::Subject {
                let class = Field::Fixed(4);
                let rest = match to.number(column, Field::Fixed(1))? as u8 {
                    CLASS_SUBJECT => Some((class, None)),
                    LOCK_SUBJECT => Some((class, Some(Field::Fixed(1)))),
                    FIELD_SUBJECT => Some((class, Some(Field::Fixed(8)))),
                    STATE_SUBJECT => Some((Field::Fixed(1), None)),
                    _ => None,
                };
                if let Some((first, second)) = rest {
                    to.number(column + 1, first)?;
                    second.map_or(Ok(0), |second| to.number(column + 2, second))?;
                }
            } else {
                to.number(column, field)?;
            }
            column += field.columns();
        }
        Ok(())
    }
}

/// Takes numbers out of rows into columns, or the reverse.
trait Transfer {
    /// Takes the next number of a column, and returns it.
    fn number(&mut self, column: usize, field: Field) -> Result<u64, Error>;
}

/// The fields of the rows of a SECTION, from its head.
fn section(rest: &mut Cursor<'_>) -> Result<Vec<Field>, Error> {
    rest.u1("whether the section ends")?;
    let marks = rest.u1("the marks of a section")?;
    rest.u1("the span of a section")?;
    rest.u2("the selection of a section")?;
    let columns = rest.u1("the number of columns")?;
    for _ in 0..columns {
        rest.u2("the marks and the unit of a column")?;
        text(rest)?;
        rest.bytes(16, "the total and the period of a column")?;
    }
    let mut fields = vec![Field::Fixed(4)];
    if marks & HAS_SUBJECTS != 0 {
        fields.push(Field::Subject);
    }
    if marks & HAS_LABELS != 0 {
        fields.push(Field::Fixed(4));
    }
    fields.extend((0..columns).map(|_| Field::Fixed(8)));
    Ok(fields)
}

/// Skips the metric, the length of a tick and the start of tick 0.
fn clock(rest: &mut Cursor<'_>) -> Result<(), Error> {
    rest.u2("the marks and the unit of a metric")?;
    text(rest)?;
    rest.varint("the length of a tick")?;
    rest.varint("the start of a tick")?;
    Ok(())
}

fn text(rest: &mut Cursor<'_>) -> Result<(), Error> {
    let length = rest.u4("the length of a name")?;
    rest.bytes(length as usize, "a name")?;
    Ok(())
}
