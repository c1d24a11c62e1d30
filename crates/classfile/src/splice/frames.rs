//! Writes the StackMapTable: frames are shifted, never computed.

use super::layout::Layout;
use super::{limit, push_u16};
use crate::SkipReason;
use crate::frames::{Frame, Frames, OBJECT, Types, form};
use crate::reader::Reader;

/// The frame of the handler of all exceptions: no locals, the exception on the stack.
pub(super) struct HandlerFrame {
    /// Its pc in the new code, behind that of all other frames.
    pub(super) pc: u32,
    /// The class `java/lang/Throwable` in the constant pool.
    pub(super) throwable: u16,
}

/// Appends the contents of the attribute, and the handler's frame.
pub(super) fn write(
    reader: Reader<'_>,
    layout: &Layout,
    handler: Option<HandlerFrame>,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let mut frames = Frames::new(reader)?;
    let count = usize::from(frames.left()) + usize::from(handler.is_some());
    push_u16(out, limit("frames", count, super::MAX_U16)?);
    let mut deltas = Deltas::default();
    while let Some(frame) = frames.next()? {
        let pc = layout.at(i32::try_from(frame.pc).unwrap_or(i32::MAX))?.target;
        write_frame(&frame, deltas.next(pc), layout, out)?;
    }
    if let Some(handler) = handler {
        write_handler(&handler, deltas.next(handler.pc), out);
    }
    Ok(())
}

/// Appends the contents of an attribute that has only the handler's frame.
pub(super) fn write_only(handler: &HandlerFrame, out: &mut Vec<u8>) {
    push_u16(out, 1);
    write_handler(handler, Deltas::default().next(handler.pc), out);
}

/// The distances between frames, as they are written.
#[derive(Default)]
struct Deltas {
    last_pc: Option<u32>,
}

impl Deltas {
    fn next(&mut self, pc: u32) -> u16 {
        let first = self.last_pc.map_or(0, |last_pc| last_pc + 1);
        self.last_pc = Some(pc);
        // Frames are in the order of their pcs, which are below 65,536.
        (pc - first) as u16
    }
}

fn write_frame(
    frame: &Frame<'_>,
    delta: u16,
    layout: &Layout,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let short = u8::try_from(delta).ok().filter(|delta| *delta <= form::SAME_LAST);
    match (frame.form, short) {
        (0..=form::SAME_LAST, Some(delta)) => out.push(delta),
        (0..=form::SAME_LAST, None) => {
            out.push(form::SAME_EXTENDED);
            push_u16(out, delta);
        }
        (form::SAME_ONE..=form::SAME_ONE_LAST, Some(delta)) => out.push(form::SAME_ONE + delta),
        (form::SAME_ONE..=form::SAME_ONE_LAST, None) => {
            out.push(form::SAME_ONE_EXTENDED);
            push_u16(out, delta);
        }
        (form, _) => {
            out.push(form);
            push_u16(out, delta);
        }
    }
    let is_full = frame.form == form::FULL;
    if is_full {
        push_u16(out, frame.locals.count);
    }
    write_types(&frame.locals, layout, out)?;
    if is_full {
        push_u16(out, frame.stack.count);
    }
    write_types(&frame.stack, layout, out)
}

fn write_types(types: &Types<'_>, layout: &Layout, out: &mut Vec<u8>) -> Result<(), SkipReason> {
    let start = out.len();
    out.extend_from_slice(types.bytes);
    for at in types.uninitialized() {
        let pc = &mut out[start + at..start + at + 2];
        let new = layout.at(u16::from_be_bytes([pc[0], pc[1]]).into())?.itself as u16;
        pc.copy_from_slice(&new.to_be_bytes());
    }
    Ok(())
}

fn write_handler(handler: &HandlerFrame, delta: u16, out: &mut Vec<u8>) {
    out.push(form::FULL);
    push_u16(out, delta);
    push_u16(out, 0);
    push_u16(out, 1);
    out.push(OBJECT);
    push_u16(out, handler.throwable);
}
