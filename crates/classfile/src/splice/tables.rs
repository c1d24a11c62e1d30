//! Writes the tables of code whose entries keep their size.

use super::contained::Trailer;
use super::layout::CodeLayout;
use super::{limit, push_u16};
use crate::reader::Reader;
use crate::{Code, Error, MethodEdit, SkipReason};

/// Appends the exception table: the entries of contained code, the method's own, and those of the
/// handler of all exceptions.
pub(super) fn write_exceptions(
    code: &Code<'_>,
    edit: &MethodEdit,
    layout: &CodeLayout,
    trailer: &Trailer,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let table = code.exception_table();
    // A JVM takes the first entry that matches.
    let contained =
        trailer.covered.iter().map(|(range, handler)| (range.start, range.end, *handler, 0));
    let mut entries: Vec<_> = contained.collect();
    // A range ends before the code inserted at its end: the types of the locals there need not be
    // those that its handler expects. javac writes handlers that cover themselves. HotSpot's C1
    // does not compile a call in such a handler ("exception handler covers itself"). Code inserted
    // at its beginning can contain a call, so that code is left out of the range.
    for entry in table {
        let (start, handler) =
            (layout.at(entry.start_pc.into())?, layout.at(entry.handler_pc.into())?);
        let end = layout.boundary(entry.end_pc.into())?.before;
        let mut add =
            |from: u32, to: u32| entries.push((from, to, handler.target, entry.catch_type));
        let covers_itself = (entry.start_pc..entry.end_pc).contains(&entry.handler_pc);
        if covers_itself && handler.target != handler.itself {
            if entry.start_pc < entry.handler_pc {
                add(start.target, handler.target);
            }
            add(handler.itself, end);
        } else {
            add(start.target, end);
        }
    }
    let count = entries.len() + edit.ranges().len();
    push_u16(out, limit("entries of the exception table", count, super::MAX_U16)?);
    for (start, end, handler, catch_type) in entries {
        push_u16(out, start as u16);
        push_u16(out, end as u16);
        push_u16(out, handler as u16);
        push_u16(out, catch_type);
    }
    for range in edit.ranges() {
        push_u16(out, layout.at(range.start.into())?.target as u16);
        push_u16(out, layout.boundary(range.end.into())?.before as u16);
        push_u16(out, layout.end() as u16);
        push_u16(out, 0);
    }
    Ok(())
}

/// Appends the contents of a LineNumberTable (JVM specification 4.7.12).
pub(super) fn write_line_numbers(
    mut reader: Reader<'_>,
    layout: &CodeLayout,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let count = reader.u16("the count of line numbers")?;
    push_u16(out, count);
    for _ in 0..count {
        let start = reader.u16("a line number's pc")?;
        let line = reader.u16("a line number")?;
        // All code has a line: the code inserted at the method's entry has the line of the entry.
        push_u16(out, if start == 0 { 0 } else { layout.at(start.into())?.target as u16 });
        push_u16(out, line);
    }
    reader.expect_end("the end of the line numbers")?;
    Ok(())
}

/// Appends the contents of a LocalVariableTable (JVM specification 4.7.13) or
/// LocalVariableTypeTable (4.7.14), which have the same form. The new code may have more local
/// variables than `max_locals`, but not these.
pub(super) fn write_local_variables(
    mut reader: Reader<'_>,
    max_locals: u16,
    layout: &CodeLayout,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let count = reader.u16("the count of local variables")?;
    push_u16(out, count);
    for _ in 0..count {
        write_range(&mut reader, layout, out)?;
        out.extend_from_slice(reader.take(4, "a local variable")?);
        let at = reader.at();
        let index = reader.u16("the index of a local variable")?;
        if index >= max_locals {
            let expected = "the index of a local variable of the method";
            return Err(Error::Unexpected { offset: at, expected, found: index.into() }.into());
        }
        push_u16(out, index);
    }
    reader.expect_end("the end of the local variables")?;
    Ok(())
}

/// Copies the start and the length of a range of pcs.
pub(super) fn write_range(
    reader: &mut Reader<'_>,
    layout: &CodeLayout,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let start = i32::from(reader.u16("a variable's first pc")?);
    let length = i32::from(reader.u16("a variable's count of bytes")?);
    let new_start = layout.boundary(start)?.before;
    let new_end = layout.boundary(start + length)?.before;
    push_u16(out, new_start as u16);
    push_u16(out, (new_end - new_start) as u16);
    Ok(())
}
