//! Writes a method's `Code` with code inserted.

mod annotations;
mod bytes;
mod contained;
mod frames;
mod instructions;
mod layout;
mod tables;

use crate::code::MAX_CODE_BYTES;
use crate::{Code, MethodEdit, PoolEditor, SkipReason};
use bytes::{MAX_U16, limit, push_u16};
use contained::Trailer;
use frames::AddedLocals;
pub(crate) use frames::Signature;
use layout::CodeLayout;

/// The class file version from which on methods have frames (JVM specification 4.10).
const FIRST_WITH_FRAMES: u16 = 50;

/// Writes the code of methods; keeps its memory from one method to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Splicer {
    layout: CodeLayout,
}

impl Splicer {
    /// Appends the attribute `Code`, named as in the original, to `out`. On failure `out` may
    /// contain a part of it.
    pub(crate) fn splice(
        &mut self,
        name_index: u16,
        signature: &Signature<'_>,
        code: &Code<'_>,
        edit: &MethodEdit,
        pool: &mut PoolEditor<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), SkipReason> {
        self.layout.arrange(code, edit)?;
        let layout = &self.layout;
        let trailer = Trailer::new(code, edit, layout);
        let length = layout.end() + trailer.code.len();
        limit("bytes of code", length, MAX_CODE_BYTES)?;
        let max_stack = usize::from(code.max_stack()) + usize::from(edit.extra_stack());
        let handler_stack = edit.handler().map_or(0, |handler| usize::from(handler.stack));
        let max_stack = limit("max_stack", max_stack.max(handler_stack), MAX_U16)?;
        let added = usize::from(edit.local_words()) + usize::from(edit.scratch());
        let max_locals = usize::from(code.max_locals()) + added;
        let max_locals = limit("max_locals", max_locals.max(trailer.locals), MAX_U16)?;

        push_u16(out, name_index);
        let attribute = Length::begin(out);
        push_u16(out, max_stack);
        push_u16(out, max_locals);
        out.extend((length as u32).to_be_bytes());
        instructions::write(code, edit, layout, out)?;
        out.extend_from_slice(&trailer.code);
        tables::write_exceptions(code, edit, layout, &trailer, out)?;
        self.write_attributes(signature, code, edit, &trailer, pool, out)?;
        attribute.end(out);
        Ok(())
    }

    /// The pcs of the instructions of the last method in its original and in its new code.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = [u32; 2]> {
        self.layout.instructions()
    }

    /// The end of the last method's own code in its new code.
    pub(crate) fn end(&self) -> usize {
        self.layout.end()
    }

    fn write_attributes(
        &self,
        signature: &Signature<'_>,
        code: &Code<'_>,
        edit: &MethodEdit,
        trailer: &Trailer,
        pool: &mut PoolEditor<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), SkipReason> {
        let layout = &self.layout;
        let added = AddedLocals { at: code.max_locals().into(), types: edit.locals() };
        let attributes = code.attributes();
        let mut count = 0_usize;
        let count_at = out.len();
        push_u16(out, 0);
        let mut has_frames = false;
        for attribute in attributes.filter(|it| is_read_by_jvms(it.name)) {
            count += 1;
            push_u16(out, attribute.name_index);
            let length = Length::begin(out);
            let reader = code.contents(&attribute);
            match attribute.name {
                b"LineNumberTable" => tables::write_line_numbers(reader, layout, out)?,
                b"LocalVariableTable" | b"LocalVariableTypeTable" => {
                    tables::write_local_variables(reader, code.max_locals(), layout, out)?;
                }
                b"StackMapTable" => {
                    has_frames = true;
                    frames::write(reader, signature, layout, added, &trailer.frames, pool, out)?;
                }
                _ => annotations::write(reader, layout, out)?,
            }
            length.end(out);
        }
        let needs_frames = !trailer.frames.is_empty() && !has_frames;
        if needs_frames && code.class().version().0 >= FIRST_WITH_FRAMES {
            count += 1;
            push_u16(out, pool.utf8("StackMapTable")?);
            let length = Length::begin(out);
            frames::write_only(signature, layout, added, &trailer.frames, pool, out)?;
            length.end(out);
        }
        let count = limit("attributes of code", count, MAX_U16)?;
        out[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
        Ok(())
    }
}

/// Whether a JVM reads an attribute of code. JVMs ignore other attributes (JVM specification
/// 4.7.1), and they are left out: they may contain pcs in a form of their own, as `StackMap` (of
/// CLDC's preverifier), `CharacterRangeTable` and `CoverageTable` (of `javac -Xjcov`) do.
fn is_read_by_jvms(name: &[u8]) -> bool {
    matches!(
        name,
        b"LineNumberTable"
            | b"LocalVariableTable"
            | b"LocalVariableTypeTable"
            | b"StackMapTable"
            | b"RuntimeVisibleTypeAnnotations"
            | b"RuntimeInvisibleTypeAnnotations"
    )
}

/// The length of an attribute, which is known when the attribute is written.
struct Length {
    at: usize,
}

impl Length {
    fn begin(out: &mut Vec<u8>) -> Self {
        let at = out.len();
        out.extend([0; 4]);
        Self { at }
    }

    fn end(self, out: &mut [u8]) {
        // The contents are at most some tables of 65,535 entries each: below 4 GiB.
        let length = (out.len() - self.at - 4) as u32;
        out[self.at..self.at + 4].copy_from_slice(&length.to_be_bytes());
    }
}
