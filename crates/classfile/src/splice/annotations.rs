//! Writes the type annotations of code (JVM specification 4.7.20).

use super::layout::CodeLayout;
use super::{push_u16, tables};
use crate::reader::Reader;
use crate::{Error, SkipReason};

/// The maximum depth of annotations in annotations, which bounds the stack that reading them takes.
/// Deeper ones are refused.
const MAX_DEPTH: u32 = 50;

/// Appends the contents of the attribute.
pub(super) fn write(
    mut reader: Reader<'_>,
    layout: &CodeLayout,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let count = reader.u16("the count of type annotations")?;
    push_u16(out, count);
    for _ in 0..count {
        write_target(&mut reader, layout, out)?;
        let rest = reader.clone();
        skip_path(&mut reader)?;
        skip_annotation(&mut reader, 0)?;
        let length = reader.at() - rest.at();
        out.extend_from_slice(rest.clone().take(length, "an annotation")?);
    }
    reader.expect_end("the end of the type annotations")?;
    Ok(())
}

/// Copies the target of an annotation; in code targets are local variables, and types in
/// instructions.
fn write_target(
    reader: &mut Reader<'_>,
    layout: &CodeLayout,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    const WHAT: &str = "the target of a type annotation";
    let offset = reader.at();
    let target = reader.u8(WHAT)?;
    out.push(target);
    match target {
        // Local variables, resource variables.
        0x40 | 0x41 => {
            let count = reader.u16(WHAT)?;
            push_u16(out, count);
            for _ in 0..count {
                tables::write_range(reader, layout, out)?;
                push_u16(out, reader.u16(WHAT)?);
            }
        }
        // An index in the exception table.
        0x42 => push_u16(out, reader.u16(WHAT)?),
        // The pc of instanceof, new or a method reference.
        0x43..=0x46 => write_pc(reader, layout, out)?,
        // The pc of a cast or call, and the index of the type.
        0x47..=0x4B => {
            write_pc(reader, layout, out)?;
            out.push(reader.u8(WHAT)?);
        }
        found => {
            let (expected, found) = ("a type annotation of code", found.into());
            return Err(Error::Unexpected { offset, expected, found }.into());
        }
    }
    Ok(())
}

fn write_pc(
    reader: &mut Reader<'_>,
    layout: &CodeLayout,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let pc = reader.u16("the pc of a type annotation")?;
    push_u16(out, layout.at(pc.into())?.itself as u16);
    Ok(())
}

fn skip_path(reader: &mut Reader<'_>) -> Result<(), Error> {
    let length = reader.u8("the length of a type path")?;
    reader.take(usize::from(length) * 2, "a type path")?;
    Ok(())
}

/// Skips an annotation (JVM specification 4.7.16) from its type on.
fn skip_annotation(reader: &mut Reader<'_>, depth: u32) -> Result<(), Error> {
    reader.u16("the type of an annotation")?;
    for _ in 0..reader.u16("the count of an annotation's elements")? {
        reader.u16("the name of an annotation's element")?;
        skip_value(reader, depth)?;
    }
    Ok(())
}

/// Skips the value of an element (JVM specification 4.7.16.1).
fn skip_value(reader: &mut Reader<'_>, depth: u32) -> Result<(), Error> {
    let offset = reader.at();
    let tag = reader.u8("the tag of an annotation's element")?;
    match tag {
        _ if depth >= MAX_DEPTH => {
            let (expected, found) = ("annotations less deep in each other", depth);
            Err(Error::Unexpected { offset, expected, found })
        }
        b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' | b's' | b'c' => {
            reader.u16("the value of an annotation's element").map(drop)
        }
        b'e' => reader.u32("the value of an annotation's element").map(drop),
        b'@' => skip_annotation(reader, depth + 1),
        b'[' => {
            let count = reader.u16("the count of an annotation's elements")?;
            (0..count).try_for_each(|_| skip_value(reader, depth + 1))
        }
        found => {
            let (expected, found) = ("the tag of an annotation's element", found.into());
            Err(Error::Unexpected { offset, expected, found })
        }
    }
}
