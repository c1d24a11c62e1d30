//! The rows of TIMELINE in PACKED: by trace, where neighbours are alike, and not by time.

use super::{Columns, Field, PackedColumns};
use crate::Error;
use crate::binary::cursor::{Cursor, put_varint, unzigzag, zigzag};

/// The columns of TIMELINE: numbers of traces, ticks (since the row before of the same trace), threads (0: that of the
/// trace; others one more) and samples.
pub(super) const COLUMNS: usize = 4;

/// A row. They are sorted by trace, tick and thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    trace: u64,
    tick: u64,
    thread: u64,
    samples: u64,
}

/// Puts the rows of a record into columns. Returns their number.
pub(super) fn pack(
    rest: &mut Cursor<'_>,
    columns: &mut Columns,
    thread_of: impl Fn(u64) -> u64,
) -> Result<usize, Error> {
    let (mut rows, mut last) = (Vec::new(), Row { trace: 0, tick: 0, thread: 0, samples: 0 });
    while !rest.is_empty() {
        let tick = last.tick.wrapping_add(rest.varint("a tick")?);
        let mut next = |last: u64| {
            let difference = unzigzag(rest.varint("a difference")?);
            Ok::<_, Error>(last.wrapping_add_signed(difference))
        };
        let (thread, trace) = (next(last.thread)?, next(last.trace)?);
        last = Row { trace, tick, thread, samples: rest.varint("samples")? };
        rows.push(last);
    }
    rows.sort_unstable();
    let mut last = Row { trace: u64::MAX, tick: 0, thread: 0, samples: 0 };
    for row in &rows {
        let since = if row.trace == last.trace { last.tick } else { 0 };
        let thread = if row.thread == thread_of(row.trace) { 0 } else { row.thread + 1 };
        columns.add(0, Field::Fixed(4), row.trace);
        columns.add(1, Field::Varint, row.tick - since);
        columns.add(2, Field::Varint, thread);
        columns.add(3, Field::Varint, row.samples);
        last = *row;
    }
    Ok(rows.len())
}

/// Writes the rows of a record, in order of time, that columns have.
pub(super) fn unpack(
    columns: &mut PackedColumns<'_>,
    count: u64,
    thread_of: impl Fn(u64) -> u64,
) -> Result<(), Error> {
    let mut rows = Vec::new();
    let mut last = (u64::MAX, 0_u64);
    for _ in 0..count {
        let trace = columns.next(0, Field::Fixed(4))?;
        let since = if trace == last.0 { last.1 } else { 0 };
        let tick = since.wrapping_add(columns.next(1, Field::Varint)?);
        let thread = match columns.next(2, Field::Varint)? {
            0 => thread_of(trace),
            more => more - 1,
        };
        rows.push((tick, thread, trace, columns.next(3, Field::Varint)?));
        last = (trace, tick);
    }
    rows.sort_unstable();
    let mut last = (0_u64, 0_u64, 0_u64);
    for (tick, thread, trace, samples) in rows {
        let difference = |to: u64, from: u64| zigzag(to.wrapping_sub(from).cast_signed());
        put_varint(&mut columns.out, tick.wrapping_sub(last.0));
        put_varint(&mut columns.out, difference(thread, last.1));
        put_varint(&mut columns.out, difference(trace, last.2));
        put_varint(&mut columns.out, samples);
        last = (tick, thread, trace);
    }
    Ok(())
}
